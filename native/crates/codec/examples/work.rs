//! Encodes and decodes the same rows several times, for counting instructions (with the generic kernels: valgrind does
//! not know every AVX instruction):
//!
//! `valgrind --tool=callgrind target/release/examples/work TABLE CODEC ENCODES DECODES`
//!
//! Tables: lineitem, bench, text4k, text16k, text160k, tails. Codecs: none, lz4, zstd, snappy.

use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, Kernels, Level};
use sluice_testkit::{Value, bench_table, lineitem, unsafe_row, xorshift};

/// Rows with one text of about `bytes` bytes.
fn texts(rows: u64, bytes: u64) -> Vec<Vec<u8>> {
    let text =
        |i: u64| (0..bytes / 8).flat_map(|j| format!("{:07} ", xorshift(i * 64 + j) % 300_000).into_bytes()).collect();
    (0..rows).map(|i| unsafe_row(&[Value::Word(i), Value::Bytes(text(i))])).collect()
}

fn rows(table: &str) -> (Vec<Vec<u8>>, u32) {
    let of = |t: sluice_testkit::Table| ((0..t.rows()).map(|i| t.row(i).to_vec()).collect(), t.fields);
    match table {
        "lineitem" => of(lineitem(4000)),
        "bench" => of(bench_table(4000)),
        "text4k" => (texts(60, 64), 2),
        "text16k" => (texts(200, 80), 2),
        "text160k" => (texts(2000, 80), 2),
        "tails" => {
            ((0..2000u64).map(|i| [&i.to_le_bytes()[..], &vec![i as u8; 8 + (i % 90) as usize]].concat()).collect(), 0)
        }
        _ => panic!("unknown table {table}"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [table, codec, encodes, decodes] = &args[..] else { panic!("TABLE CODEC ENCODES DECODES") };
    let codec = match &codec[..] {
        "none" => Codec::None,
        "lz4" => Codec::Lz4,
        "zstd" => Codec::Zstd,
        _ => Codec::Snappy,
    };
    let (rows, fields) = rows(table);
    let rows: Vec<&[u8]> = rows.iter().map(|r| &r[..]).collect();
    let mut encoder = Encoder::with_kernels(CodecOptions { codec, level: Level::Small }, Kernels::all()[0]);
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for _ in 0..encodes.parse::<u32>().expect("a number") {
        frames.clear();
        let done: Result<(), ()> = encoder.encode(&rows, fields, |f| {
            frames.push(f.to_vec());
            Ok(())
        });
        done.expect("no sink error");
    }
    let mut decoder = Decoder::with_kernels(Kernels::all()[0]);
    let (mut target, mut lengths) = (vec![0; 1 << 20], vec![0; 1 << 16]);
    for _ in 0..decodes.parse::<u32>().expect("a number") {
        for frame in &frames {
            decoder.decode(frame, &mut target, &mut lengths).expect("own frame");
        }
    }
    let bytes: usize = frames.iter().map(Vec::len).sum();
    let raw: usize = rows.iter().map(|r| r.len()).sum();
    let first = FrameHeader::parse(&frames[0]).expect("own header");
    println!("{table} {codec:?}: {raw} bytes of rows in {} frames of {bytes} bytes; first {first:?}", frames.len());
}
