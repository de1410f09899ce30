//! The committed test vectors of `docs/block-format.md`: `<name>.frame` and the `<name>.rows` it stands for (u32 length
//! and bytes of each row). `SLUICE_WRITE_VECTORS=1 cargo test -p sluice-codec --test vectors` writes them anew: do this
//! when the encoder chooses other encodings than before, and only if the old frames still decode to the same rows.

use std::fs;
use std::path::PathBuf;

use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, Kernels, Level};
use sluice_testkit::{Value, bench_table, incompressible, lineitem, unsafe_row, xorshift};

struct Vector {
    name: &'static str,
    fields: u32,
    options: CodecOptions,
    rows: Vec<Vec<u8>>,
}

fn options(codec: Codec, level: Level) -> CodecOptions {
    CodecOptions { codec, level }
}

fn vectors() -> Vec<Vector> {
    let table = |t: sluice_testkit::Table| (0..t.rows()).map(|i| t.row(i).to_vec()).collect::<Vec<_>>();
    let fast = options(Codec::None, Level::Fast);
    let long_text = |i: u64| Value::Bytes(format!("line {i}: {}", "the same words again ".repeat(3)).into_bytes());
    let mut dirty: Vec<Vec<u8>> = (0..40).map(|i| unsafe_row(&[Value::Word(i), long_text(i)])).collect();
    for row in &mut dirty {
        if let Some(last) = row.last_mut() {
            *last = 0xD1;
        }
    }
    let mixed = |i: u64| {
        let wide = (!i.is_multiple_of(3)).then(|| xorshift(i).to_le_bytes().to_vec());
        unsafe_row(&[Value::Null, Value::Wide(wide), Value::Bytes(vec![b'z'; (i % 30) as usize]), Value::Word(!i)])
    };
    vec![
        Vector { name: "plain", fields: 8, options: options(Codec::None, Level::Plain), rows: table(bench_table(20)) },
        Vector { name: "bench-table", fields: 8, options: fast, rows: table(bench_table(1100)) },
        Vector { name: "lineitem", fields: 16, options: fast, rows: table(lineitem(700)) },
        Vector { name: "random", fields: 2, options: fast, rows: table(incompressible(50)) },
        Vector { name: "one-row", fields: 16, options: fast, rows: table(lineitem(1)) },
        Vector { name: "no-fields", fields: 0, options: fast, rows: vec![Vec::new(); 5] },
        Vector { name: "wide-and-null", fields: 4, options: fast, rows: (0..300).map(mixed).collect() },
        Vector {
            name: "tails",
            fields: 1,
            options: fast,
            rows: (0..20u8).map(|i| vec![i; 8 + 8 + usize::from(i)]).collect(),
        },
        Vector { name: "dirty-padding", fields: 2, options: options(Codec::Lz4, Level::Small), rows: dirty },
        Vector {
            name: "zstd",
            fields: 1,
            options: options(Codec::Zstd, Level::Fast),
            rows: (0..100).map(|i| unsafe_row(&[long_text(i)])).collect(),
        },
        Vector {
            name: "snappy",
            fields: 1,
            options: options(Codec::Snappy, Level::Fast),
            rows: (0..100).map(|i| unsafe_row(&[long_text(i)])).collect(),
        },
    ]
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/block-format/vectors")
}

fn rows_file(rows: &[Vec<u8>]) -> Vec<u8> {
    rows.iter().flat_map(|r| (r.len() as u32).to_le_bytes().into_iter().chain(r.iter().copied())).collect()
}

#[test]
fn vectors_are_made_and_read_exactly() {
    for v in vectors() {
        let refs: Vec<&[u8]> = v.rows.iter().map(|r| &r[..]).collect();
        let (frame_path, rows_path) =
            (folder().join(v.name).with_extension("frame"), folder().join(v.name).with_extension("rows"));
        if std::env::var_os("SLUICE_WRITE_VECTORS").is_some() {
            fs::write(&frame_path, Encoder::new(v.options).encode_frame(&refs, v.fields)).expect("vector");
            fs::write(&rows_path, rows_file(&v.rows)).expect("vector");
        }
        let (frame, rows) = (fs::read(frame_path).expect("vector"), fs::read(rows_path).expect("vector"));
        assert_eq!(rows, rows_file(&v.rows), "{}: the rows changed", v.name);
        for k in Kernels::all() {
            assert!(
                Encoder::with_kernels(v.options, k).encode_frame(&refs, v.fields) == frame,
                "{}: {} makes other bytes",
                v.name,
                k.name
            );
            let (mut target, mut lengths) = (vec![0; v.rows.concat().len()], vec![0; v.rows.len()]);
            let n = Decoder::with_kernels(k).decode(&frame, &mut target, &mut lengths).expect("vector");
            assert_eq!((n, target), (v.rows.len(), v.rows.concat()), "{}", v.name);
            assert!(lengths.iter().zip(&v.rows).all(|(l, r)| *l as usize == r.len()));
        }
    }
}

/// A short fuzz run from the vectors: header fields and payload bytes changed at random, checksums not looked at.
#[test]
fn mutated_vectors_decode_or_fail() {
    use sluice_codec::{FrameHeader, HEADER_BYTES};
    let mut random = 0x5EED;
    let mut next = move |below: usize| {
        random = xorshift(random);
        (random >> 20) as usize % below.max(1)
    };
    let frames: Vec<Vec<u8>> =
        vectors().iter().map(|v| fs::read(folder().join(v.name).with_extension("frame")).expect("vector")).collect();
    let mut decoder = Decoder::new();
    let (mut target, mut lengths) = (vec![0u8; 400_000], vec![0u32; 1 << 16]);
    let mut decoded = 0;
    for round in 0..40_000 {
        let frame = &frames[round % frames.len()];
        let mut header = FrameHeader::parse(frame).expect("vector");
        let mut payload = frame[HEADER_BYTES..].to_vec();
        for _ in 0..next(4) {
            let len = payload.len();
            match next(4) {
                0 => payload[next(len)] = next(256) as u8,
                1 => payload[next(len)] ^= 1 << next(8),
                2 => payload.truncate(next(len + 1).max(1)),
                _ => {
                    let (at, from) = (next(len), next(len));
                    payload[at] = payload[from];
                }
            }
        }
        match next(8) {
            0 => header.records = 1 + next(1 << 16) as u32,
            1 => header.fields = next(100) as u32,
            2 => header.decoded_bytes = next(400_000) as u32,
            _ => {}
        }
        decoded += usize::from(decoder.decode_payload(&header, &payload, &mut target, &mut lengths).is_ok());
    }
    assert!(decoded > 1000, "most mutations must not stop at the first check: {decoded}");
}
