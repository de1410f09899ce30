//! What must hold whatever the bytes are.

use std::cell::RefCell;

use sluice_codec::{
    Codec, CodecOptions, DecodedColumns, Decoder, Encoder, FrameHeader, HEADER_BYTES, Kernels, Level, Slots,
    bitset_words,
};

use super::reference::{self, Meaning};

/// Larger claims are not tried: the decoder is given the room that the header asks for.
const MOST_BYTES: usize = 1 << 20;
/// Rows of more fields are not decoded to columns: a kind for each of a million fields takes longer than all the rest.
const MOST_FIELDS: u32 = 2000;
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
    let meaning = reference::meaning(header, payload);
    let expected = meaning.as_ref().map(|meaning| &meaning.rows[..]);
    DECODERS.with_borrow_mut(|decoders| {
        for (name, decoder) in decoders {
            let decode =
                |target: &mut [u8], lengths: &mut [u32]| decoder.decode_payload(header, payload, target, lengths).ok();
            compare(name, header, expected, decode);
            check_columns(name, decoder, header, payload, meaning.as_ref());
            if expected.is_some() {
                refuse_without_room(name, header, |target, lengths| {
                    decoder.decode_payload(header, payload, target, lengths).is_ok()
                });
            }
        }
    });
    if let Some(rows) = expected {
        check_round_trip(rows, header.fields, payload.len());
    }
}

/// Decodes to columns, as if fields had slots of several kinds. Panics unless there are columns where the fields have
/// these slots, and those of the rows; and unless a payload that the specification permits is no error.
fn check_columns(name: &str, decoder: &mut Decoder, header: &FrameHeader, payload: &[u8], meaning: Option<&Meaning>) {
    const CHOICES: [fn(usize) -> Slots; 4] = [
        |_| Slots::None,
        |_| Slots::Rounded,
        |_| Slots::Sixteen,
        |field| if field % 2 == 0 { Slots::None } else { Slots::Rounded },
    ];
    if header.fields > MOST_FIELDS {
        return;
    }
    for choice in CHOICES {
        let slots: Vec<Slots> = (0..header.fields as usize).map(choice).collect();
        match (decoder.decode_payload_columns(header, payload, &slots), meaning) {
            (Ok(Some(columns)), Some(meaning)) => {
                assert!(has_slots(meaning, &slots), "{name}: columns of rows that have other slots");
                compare_columns(name, &columns, &slots, &meaning.rows);
            }
            (Ok(Some(_)), None) => panic!("{name}: columns of a payload that the specification refuses"),
            (Ok(None), Some(meaning)) => {
                assert!(!has_slots(meaning, &slots), "{name}: no columns of rows that have them")
            }
            (Err(e), Some(_)) => panic!("{name}: no columns of a payload that the specification permits: {e}"),
            (Ok(None) | Err(_), None) => {}
        }
    }
}

/// Whether the fields have these slots: by their kinds, or because a field of words says that no row has a value.
fn has_slots(meaning: &Meaning, slots: &[Slots]) -> bool {
    let Some(kinds) = &meaning.kinds else { return false };
    let sizes_are = |field: usize, permitted: fn(u32) -> bool| {
        let at = (bitset_words(slots.len()) + field) * 8;
        let size = |row: &Vec<u8>| row[at..].first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        meaning.rows.iter().map(size).all(permitted)
    };
    slots.iter().zip(kinds).enumerate().all(|(field, (slots, kind))| match (slots, kind) {
        (Slots::None, kind) => *kind == 0,
        (Slots::Rounded, 0) => sizes_are(field, |size| size == 0),
        (Slots::Sixteen, 0) => false,
        (_, 2) => sizes_are(field, |size| size <= 16),
        _ => true,
    })
}

fn compare_columns(name: &str, columns: &DecodedColumns<'_>, slots: &[Slots], rows: &[Vec<u8>]) {
    let word = |row: &[u8], w: usize| row[w * 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let first = bitset_words(slots.len());
    assert_eq!(columns.rows(), rows.len(), "{name}: rows in columns");
    for w in 0..first {
        assert!(
            rows.iter().zip(columns.null_words(w)).all(|(row, bits)| word(row, w) == *bits),
            "{name}: null bits {w}"
        );
    }
    for (field, slots) in slots.iter().enumerate() {
        let words = columns.words(field);
        assert!(
            rows.iter().zip(words).all(|(row, w)| word(row, first + field) == *w),
            "{name}: words of field {field}"
        );
        for (i, value) in columns.values(field).enumerate() {
            let (at, size) = ((words[i] >> 32) as usize, (words[i] & 0xFFFF_FFFF) as usize);
            let expected = if *slots == Slots::None || size == 0 { &[] } else { &rows[i][at..at + size] };
            assert!(value.bytes() == expected, "{name}: value of field {field} in row {i}");
        }
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
