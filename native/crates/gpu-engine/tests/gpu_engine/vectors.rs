//! The golden vectors of the block format, which the CPU's encoder and decoder are tested with too.

use std::fs;

use sluice_codec::{CodecOptions, FrameHeader, Level};
use sluice_cuda_sim::checkout;
use sluice_gpu_engine::{Declined, decode};

use crate::setting::{Setting, long};
use crate::tables::{FAST, Rows};

/// Name, fields, whether it was compressed by a general codec.
const VECTORS: [(&str, bool); 11] = [
    ("plain", false),
    ("bench-table", false),
    ("lineitem", false),
    ("random", false),
    ("one-row", false),
    ("no-fields", false),
    ("wide-and-null", false),
    ("tails", false),
    ("dirty-padding", true),
    ("zstd", true),
    ("snappy", true),
];

fn read(name: &str, extension: &str) -> Vec<u8> {
    let folder = checkout().join("docs/block-format/vectors");
    fs::read(folder.join(name).with_extension(extension)).unwrap()
}

fn rows(name: &str) -> Vec<Vec<u8>> {
    let (file, mut rows) = (read(name, "rows"), Vec::new());
    let mut rest = &file[..];
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (row, later) = behind.split_at(u32::from_le_bytes(*length) as usize);
        rows.push(row.to_vec());
        rest = later;
    }
    rows
}

#[test]
fn golden_vectors_are_made_and_read() {
    let Some(setting) = Setting::new() else { return };
    for (name, compressed) in VECTORS {
        let (frame, rows) = (read(name, "frame"), rows(name));
        let header = FrameHeader::parse(&frame).unwrap();
        let (mut target, mut lengths) = (vec![0; header.decoded_bytes as usize], vec![0; rows.len()]);
        let decoded = decode(&setting.kernels, &setting.stream, &[&frame], &mut target, &mut lengths, long());
        if compressed {
            assert_eq!(decoded, Err(Declined::NeedsCodec), "{name}");
            continue;
        }
        decoded.unwrap();
        assert_eq!(target, rows.concat(), "{name}");
        assert!(lengths.iter().zip(&rows).all(|(length, row)| *length as usize == row.len()), "{name}");
        let level = if name == "plain" { Level::Plain } else { Level::Fast };
        let rows = rows.into_iter().map(|row| (0, row)).collect();
        let batch = Rows { fields: header.fields, partitions: 1, rows, page_rows: 1000 };
        let made = batch.encode(&setting, CodecOptions { level, ..FAST }).unwrap();
        assert!(made.bytes == frame, "{name}");
    }
    setting.finish();
}
