//! Sealed frames that somebody has changed who has no key, but can make checksums fit, and has recorded frames of other
//! map outputs and applications.

use sluice_codec::{
    Codec, CodecOptions, Decoder, Encoder, FrameKey, HEADER_BYTES, Level, OutputId, SEAL_BYTES, Sealer,
};
use sluice_testkit::{Value, unsafe_row};

use crate::Choices;
use crate::payload::repair_checksums;

const OUTPUT: OutputId = OutputId { shuffle: 3, map: 77 };
const FIELDS: u32 = 2;

/// Seals a frame for a map output, changes it, and opens it. Panics unless exactly the frame as it was sealed opens,
/// and gives the rows that went in.
pub fn run(data: &[u8]) {
    let mut c = Choices::new(data);
    let key = [c.byte(); 32];
    let key = &key[..c.pick(&[16, 32])];
    let rows = rows(&mut c);
    let sealed = sealed(OUTPUT, key, c.below(3) as u32, &rows);
    let tampered = tamper(&mut c, &sealed, key, &rows);
    let (mut bytes, mut lengths) = (vec![0; rows.concat().len()], vec![0; rows.len()]);
    let key = FrameKey::new(OUTPUT, key).expect("a key");
    let opened = Decoder::new().decode_sealed(&mut tampered.clone(), &key, &mut bytes, &mut lengths);
    assert_eq!(opened.is_ok(), tampered == sealed, "opened, and as it was sealed: {opened:?}");
    assert!(opened.is_err() || bytes == rows.concat(), "other rows than were sealed");
}

fn rows(c: &mut Choices<'_>) -> Vec<Vec<u8>> {
    let row = |c: &mut Choices<'_>, i: usize| {
        let bytes = (0..c.below(20)).map(|_| c.byte()).collect();
        unsafe_row(&[Value::Word(i as u64), Value::Bytes(bytes)])
    };
    (0..1 + c.below(20)).map(|i| row(c, i)).collect()
}

/// The rows as a frame of that map output and partition.
fn sealed(output: OutputId, key: &[u8], partition: u32, rows: &[Vec<u8>]) -> Vec<u8> {
    let mut encoder = Encoder::new(CodecOptions { codec: Codec::Lz4, level: Level::Fast });
    let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    let mut frame = encoder.encode_frame(&rows, FIELDS).to_vec();
    let key = FrameKey::new(output, key).expect("a key");
    Sealer::new(key, 1).seal(partition, &mut frame).expect("sealed");
    frame
}

/// The frame as it is, changed, cut or continued, with the seal of another, or one that was recorded elsewhere.
fn tamper(c: &mut Choices<'_>, frame: &[u8], key: &[u8], rows: &[Vec<u8>]) -> Vec<u8> {
    let other = OutputId { shuffle: OUTPUT.shuffle + c.below(2) as u32, map: OUTPUT.map + c.below(2) as u64 };
    let mut other_key = key.to_vec();
    other_key[0] ^= u8::from(other == OUTPUT);
    let recorded = sealed(other, &other_key, 0, rows);
    let mut tampered = frame.to_vec();
    match c.below(7) {
        0 => {}
        1 => tampered = recorded,
        // The seals have one length and end the frames.
        2 => {
            tampered.splice(frame.len() - SEAL_BYTES.., recorded[recorded.len() - SEAL_BYTES..].to_vec()).for_each(drop)
        }
        3 => tampered.truncate(HEADER_BYTES + c.below(frame.len() - HEADER_BYTES + 1)),
        4 => (0..1 + c.below(40)).for_each(|_| tampered.push(c.byte())),
        _ => {
            for _ in 0..1 + c.below(3) {
                let at = c.below(frame.len());
                tampered[at] ^= c.byte();
            }
        }
    }
    if !c.one_in(4) {
        repair_checksums(&mut tampered);
    }
    tampered
}
