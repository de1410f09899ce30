//! What must hold whatever the bytes are.

use std::cell::RefCell;

use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, HEADER_BYTES, Kernels, Level};

use super::reference;

/// Larger claims are not tried: the decoder is given the room that the header asks for.
const MOST_BYTES: usize = 1 << 20;
/// Around the target and the row lengths.
const GUARD_BYTES: usize = 64;
const GUARD: u8 = 0xA5;
const GUARD_LENGTH: u32 = 0xA5A5_A5A5;

thread_local! {
    /// One for each set of kernels, kept, as engines keep them: what a bad payload leaves behind must not harm the
    /// next.
    static DECODERS: RefCell<Vec<(&'static str, Decoder)>> =
        RefCell::new(Kernels::all().into_iter().map(|k| (k.name, Decoder::with_kernels(k))).collect());
}

/// Decodes a payload with every set of kernels. Panics unless each gives the rows of the reference decoder, or fails
/// where that fails, and writes nothing but the rows and their lengths; and unless the rows come back from the encoder.
pub fn check(header: &FrameHeader, payload: &[u8]) {
    if header.decoded_bytes as usize > MOST_BYTES {
        return;
    }
    let expected = reference::decode(header, payload);
    DECODERS.with_borrow_mut(|decoders| {
        for (name, decoder) in decoders {
            let decode =
                |target: &mut [u8], lengths: &mut [u32]| decoder.decode_payload(header, payload, target, lengths).ok();
            compare(name, header, expected.as_deref(), decode);
            if expected.is_some() {
                refuse_without_room(name, header, |target, lengths| {
                    decoder.decode_payload(header, payload, target, lengths).is_ok()
                });
            }
        }
    });
    if let Some(rows) = expected {
        check_round_trip(&rows, header.fields, payload.len());
    }
}

/// The same of a whole frame, header and checksums included.
pub fn check_frame(frame: &[u8]) {
    let mut decoder = Decoder::new();
    let header = reference::header(frame);
    assert_eq!(FrameHeader::parse(frame).ok(), header, "a header, and what the specification says of its bytes");
    let Some(header) = header else {
        assert!(decoder.decode(frame, &mut [0; 64], &mut [0; 64]).is_err(), "a header that cannot be read is an error");
        return;
    };
    if header.decoded_bytes as usize > MOST_BYTES {
        return;
    }
    let payload = &frame[HEADER_BYTES..];
    let whole = payload.len() == header.encoded_bytes as usize && crc32c::crc32c(payload) == header.payload_crc;
    let expected = if whole { reference::decode(&header, payload) } else { None };
    compare("best", &header, expected.as_deref(), |t, l| decoder.decode(frame, t, l).ok());
}

/// Sets payload length, payload checksum and header checksum to what they must be for the bytes that are there; of a
/// frame of at least a header.
pub fn repair_checksums(frame: &mut [u8]) {
    let (header, payload) = frame.split_at_mut(HEADER_BYTES);
    header[20..24].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[24..28].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    let crc = crc32c::crc32c(&header[..28]);
    header[28..32].copy_from_slice(&crc.to_le_bytes());
}

/// Decodes into exactly the room that the header asks for, between guard bytes, and compares.
fn compare(
    name: &str,
    header: &FrameHeader,
    expected: Option<&[Vec<u8>]>,
    decode: impl FnOnce(&mut [u8], &mut [u32]) -> Option<usize>,
) {
    let (bytes, records) = (header.decoded_bytes as usize, (header.records as usize).min(1 << 17));
    // The target starts at any alignment, as arena memory behind other rows does.
    let start = GUARD_BYTES + records % 8;
    let mut target = vec![GUARD; start + bytes + GUARD_BYTES];
    let mut lengths = vec![GUARD_LENGTH; records + GUARD_BYTES];
    let got = decode(&mut target[start..start + bytes], &mut lengths[..records]);
    assert!(
        target[..start].iter().chain(&target[start + bytes..]).all(|b| *b == GUARD),
        "{name}: wrote outside the target of {bytes} bytes"
    );
    assert!(lengths[records..].iter().all(|n| *n == GUARD_LENGTH), "{name}: wrote more than {records} lengths");
    assert_eq!(got, expected.map(<[_]>::len), "{name}: rows decoded, rows that the specification gives");
    let Some(rows) = expected else { return };
    let mut at = start;
    for (i, (row, length)) in rows.iter().zip(&lengths).enumerate() {
        assert_eq!(row.len(), *length as usize, "{name}: length of row {i}");
        assert!(target[at..at + row.len()] == row[..], "{name}: row {i} is not what the specification gives");
        at += row.len();
    }
}

/// A payload that decodes must be an error where the room is one row length, or one byte, too small.
fn refuse_without_room(name: &str, header: &FrameHeader, mut decodes: impl FnMut(&mut [u8], &mut [u32]) -> bool) {
    let (bytes, records) = (header.decoded_bytes as usize, header.records as usize);
    let (mut target, mut lengths) = (vec![0; bytes], vec![0; records]);
    assert!(!decodes(&mut target, &mut lengths[1..]), "{name}: {records} rows, room for one length fewer");
    if bytes > 0 {
        assert!(!decodes(&mut target[1..], &mut lengths), "{name}: {bytes} bytes, room for one fewer");
    }
}

/// Encodes rows, as one of the encoder's options, and decodes the frames. Panics unless the rows come back.
pub fn check_round_trip(rows: &[Vec<u8>], fields: u32, option: usize) {
    let codec = [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy][option % 4];
    let level = [Level::Small, Level::Fast, Level::Plain][option / 4 % 3];
    let refs: Vec<&[u8]> = rows.iter().map(|r| &r[..]).collect();
    let mut encoder = Encoder::new(CodecOptions { codec, level });
    let mut next = 0;
    let done: Result<(), ()> = encoder.encode(&refs, fields, |frame| {
        let header = FrameHeader::parse(frame).map_err(|_| ())?;
        let later = next + header.records as usize;
        let expected = reference::decode(&header, &frame[HEADER_BYTES..]).ok_or(())?;
        assert!(expected[..] == rows[next..later], "{codec:?} {level:?}: the encoder's frame means other rows");
        compare("own frame", &header, Some(&rows[next..later]), |t, l| Decoder::new().decode(frame, t, l).ok());
        next = later;
        Ok(())
    });
    assert!(done.is_ok() && next == rows.len(), "{codec:?} {level:?}: the encoder's own frame is corrupt");
}
