//! The committed sealed block of `docs/block-format.md`: partition 5 of map output 77 of shuffle 3, two frames and an
//! end mark. `SLUICE_WRITE_VECTORS=1 cargo test -p sluice-codec --test sealed_vector` writes it anew.

use std::fs;
use std::path::PathBuf;

use sluice_codec::{
    Codec, CodecOptions, Decoder, Encoder, EndMarkKey, FrameKey, HEADER_BYTES, Level, OutputId, Sealer,
};
use sluice_testkit::{Value, unsafe_row};

const OUTPUT: OutputId = OutputId { shuffle: 3, map: 77 };
/// As `io.sluice.spark.seal` derives them of Spark's key 00 01 … 0f.
const FRAME_KEY: &str = "9e4398c730af48ef2d7c231abf6c328e";
const END_MARK_KEY: &str = "1f40ec7a7071a39afc46450cd3c5476cac5dc2c99281912236168b8176f59a16";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn rows() -> Vec<Vec<u8>> {
    (0..40u64).map(|i| unsafe_row(&[Value::Word(i), Value::Bytes(format!("needle {i}").into_bytes())])).collect()
}

fn frame_key() -> FrameKey {
    FrameKey::new(OUTPUT, &bytes(FRAME_KEY)).expect("16 bytes")
}

fn block() -> Vec<u8> {
    let sealer = Sealer::new(frame_key(), 0x1122_3344_5566_7788);
    let mut encoder = Encoder::new(CodecOptions { codec: Codec::None, level: Level::Fast });
    let mut mark = EndMarkKey::new(OUTPUT, &bytes(END_MARK_KEY)).start(5);
    let mut block = Vec::new();
    for rows in rows().chunks(30) {
        let slices: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let mut frame = encoder.encode_frame(&slices, 2).to_vec();
        mark.add(&sealer.seal(5, &mut frame).expect("sealed"));
        block.extend_from_slice(&frame);
    }
    block.extend_from_slice(&mark.finish());
    block
}

#[test]
fn the_committed_block_is_made_again_and_opened() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/block-format/sealed-vectors");
    let (block_file, rows_file) = (folder.join("partition-5.block"), folder.join("partition-5.rows"));
    let expected: Vec<u8> =
        rows().iter().flat_map(|row| [&(row.len() as u32).to_le_bytes()[..], row].concat()).collect();
    if std::env::var_os("SLUICE_WRITE_VECTORS").is_some() {
        fs::create_dir_all(&folder).expect("folder");
        fs::write(&block_file, block()).expect("written");
        fs::write(&rows_file, &expected).expect("written");
    }
    let committed = fs::read(block_file).expect("a vector");
    assert_eq!(committed, block());
    assert_eq!(fs::read(rows_file).expect("its rows"), expected);
    let (mut at, mut found) = (0, 0);
    for count in [30, 10] {
        let length = HEADER_BYTES + u32::from_le_bytes(committed[at + 20..at + 24].try_into().expect("four")) as usize;
        let (mut target, mut lengths) = (vec![0; 4096], vec![0; count]);
        let mut frame = committed[at..at + length].to_vec();
        let decoded = Decoder::new().decode_sealed(&mut frame, &frame_key(), &mut target, &mut lengths);
        assert_eq!(decoded, Ok(count));
        let expected: Vec<u8> = rows()[found..found + count].concat();
        assert_eq!(target[..expected.len()], expected[..]);
        (at, found) = (at + length, found + count);
    }
}
