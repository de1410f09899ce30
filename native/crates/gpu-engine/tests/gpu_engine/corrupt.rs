//! Frames that were changed: what the GPU decodes the CPU decodes to the same rows, and the other way round.

use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, HEADER_BYTES, Level};
use sluice_cuda_sim::long_tests;
use sluice_gpu_engine::{Declined, decode};
use sluice_testkit::{Value, unsafe_row, xorshift};

use crate::decode::decoded;
use crate::setting::{Setting, long};
use crate::tables::{FAST, table};

fn frames() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (kinds, rows) in
        [(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12][..], 90), (&[4, 6], 300), (&[8, 8], 20), (&[11, 0], 60), (&[3], 1)]
    {
        all.extend(table(kinds, rows, 1, 0, 6).frames_of_cpu(FAST).into_iter().map(|frame| frame.1));
    }
    let tails: Vec<Vec<u8>> = (0..40u8).map(|i| vec![i; 16 + usize::from(i % 9)]).collect();
    let tails: Vec<&[u8]> = tails.iter().map(|row| &row[..]).collect();
    all.push(Encoder::new(FAST).encode_frame(&tails, 1).to_vec());
    all.push(Encoder::new(CodecOptions { level: Level::Plain, ..FAST }).encode_frame(&tails, 1).to_vec());
    let text: Vec<Vec<u8>> = (0..50).map(|i| unsafe_row(&[Value::Bytes(vec![b'a' + i % 3; 60])])).collect();
    let text: Vec<&[u8]> = text.iter().map(|row| &row[..]).collect();
    let lz4 = CodecOptions { codec: Codec::Lz4, level: Level::Small };
    all.push(Encoder::new(lz4).encode_frame(&text, 1).to_vec());
    all
}

/// Changes bytes of the payload and numbers of the header, and makes the checksums right again.
fn mutate(frame: &[u8], mut random: u64) -> Vec<u8> {
    let mut next = |below: usize| {
        random = xorshift(random);
        (random >> 20) as usize % below.max(1)
    };
    let mut header = FrameHeader::parse(frame).unwrap();
    let mut payload = frame[HEADER_BYTES..].to_vec();
    for _ in 0..1 + next(3) {
        let length = payload.len();
        // Half of the changes are where the columns' heads are dense.
        let at = if next(2) == 0 { next(length) } else { next(length.min(60)) };
        match next(5) {
            0 => payload[at] = next(256) as u8,
            1 => payload[at] ^= 1 << next(8),
            2 => payload.truncate(next(length + 1).max(1)),
            3 => payload.push(next(256) as u8),
            _ => payload[at] = payload[next(length)],
        }
    }
    match next(8) {
        0 => header.records = 1 + next(400) as u32,
        1 => header.fields = next(20) as u32,
        2 => header.decoded_bytes = next(20_000) as u32,
        _ => {}
    }
    frame_of(header, &payload)
}

/// A frame with another payload, and the checksums and the length of this one.
pub fn frame_of(mut header: FrameHeader, payload: &[u8]) -> Vec<u8> {
    header.encoded_bytes = payload.len() as u32;
    header.payload_crc = crc32c(payload);
    [&header.to_bytes()[..], payload].concat()
}

/// Bit by bit, not as the kernels or the codec do.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 })
    })
}

#[test]
fn changed_frames_are_judged_as_by_the_cpu() {
    let Some(setting) = Setting::new() else { return };
    let (frames, mut judged) = (frames(), Judged::default());
    for round in 0..if long_tests() { 60_000 } else { 1500 } {
        let frame = mutate(&frames[round % frames.len()], round as u64);
        judged.compare(&setting, &frame, &format!("round {round}"));
    }
    let Judged { good, bad, codec, .. } = judged;
    assert!(good > 50 && bad > 500 && codec > 50, "{good} decoded, {bad} refused, {codec} with a codec");
    setting.finish();
}

/// Frames by what became of them.
#[derive(Default)]
struct Judged {
    decoder: Decoder,
    good: usize,
    bad: usize,
    codec: usize,
}

impl Judged {
    /// The GPU decodes the frame to what the CPU does, or both refuse it, or it needs a codec.
    fn compare(&mut self, setting: &Setting, frame: &[u8], what: &str) {
        let Ok(header) = FrameHeader::parse(frame) else {
            let refused = decode(&setting.kernels, &setting.stream, &[frame], &mut [], &mut [], long());
            assert!(matches!(refused, Err(Declined::CheckFailed(_))), "{what}");
            return;
        };
        let (mut target, mut lengths) = (vec![0; header.decoded_bytes as usize], vec![0; header.records as usize]);
        let expected = self.decoder.decode(frame, &mut target, &mut lengths);
        match (decoded(setting, &[frame]), &expected) {
            (Ok(rows), Ok(_)) => {
                let same = rows.iter().map(Vec::len).eq(lengths.iter().map(|length| *length as usize));
                assert!(same && rows.concat() == target, "{what}");
                self.good += 1;
            }
            (Err(Declined::CheckFailed(_)), Err(_)) => self.bad += 1,
            (Err(Declined::NeedsCodec), _) => self.codec += 1,
            (made, _) => panic!("{what}: GPU {:?}, CPU {expected:?}", made.map(|rows| rows.len())),
        }
    }
}

/// The frames that fuzzing has kept, as they are and with right checksums.
#[test]
fn the_corpus_of_the_cpu_s_fuzzing() {
    let Some(setting) = Setting::new() else { return };
    let folder = sluice_cuda_sim::checkout().join("native/fuzz/corpus/frame");
    let mut judged = Judged::default();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let mut frame = std::fs::read(&path).unwrap();
        judged.compare(&setting, &frame, &format!("{path:?}"));
        if frame.len() >= HEADER_BYTES {
            let payload = crc32c(&frame[HEADER_BYTES..]).to_le_bytes();
            frame[24..28].copy_from_slice(&payload);
            let header = crc32c(&frame[..28]).to_le_bytes();
            frame[28..32].copy_from_slice(&header);
            judged.compare(&setting, &frame, &format!("{path:?}, with right checksums"));
        }
    }
    assert!(judged.good > 5 && judged.bad > 0 && judged.codec > 0);
    setting.finish();
}

#[test]
fn a_flipped_bit_fails_the_checksum() {
    let Some(setting) = Setting::new() else { return };
    let frame = &table(&[0, 6], 200, 1, 0, 1).frames_of_cpu(FAST)[0].1;
    for bit in (HEADER_BYTES * 8..frame.len() * 8).step_by(61) {
        let mut bad = frame.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(decoded(&setting, &[&bad]), Err(Declined::CheckFailed(_))), "bit {bit}");
    }
    setting.finish();
}
