//! Pages that Spark has made (`SLUICE_PAGE_TRACE`): both sides make the same frames of them, and each reads the
//! other's.
//!
//! `tests/pages.zst` has eleven batches, one for each kind of rows, of `SLUICE_PAGE_TRACE=FOLDER ./sluice bench` with
//! 4,000 rows (repartition, sort-strings, sort-multi, aggregate, join, collect-list) and of `tpch` at scale 0.002.

use std::fs;

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_cuda_sim::checkout;

use crate::decode::decoded;
use crate::setting::Setting;
use crate::tables::{FAST, Row, Rows};

const LZ4: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };

/// The batches of a file, each as it was recorded: its length u32 and its bytes, one after another.
fn batches(file: &[u8]) -> Vec<Rows> {
    let (mut all, mut rest) = (Vec::new(), file);
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (batch, later) = behind.split_at(u32::from_le_bytes(*length) as usize);
        all.push(rows(batch));
        rest = later;
    }
    all
}

fn rows(batch: &[u8]) -> Rows {
    let (head, mut rest) = batch.split_at(8);
    assert_eq!(head, b"SLPAGES1");
    let number = |rest: &mut &[u8]| {
        let (number, later) = rest.split_first_chunk::<4>().unwrap();
        *rest = later;
        u32::from_le_bytes(*number)
    };
    let [fields, partitions, pages] = [(); 3].map(|()| number(&mut rest));
    let mut rows: Vec<Row> = Vec::new();
    let mut page_rows = 1;
    for _ in 0..pages {
        let [used, entries] = [(); 2].map(|()| number(&mut rest) as usize);
        let (bytes, behind) = rest.split_at(used);
        let (entries, later) = behind.split_at(entries * 8);
        rest = later;
        page_rows = page_rows.max(entries.len() / 8);
        let mut end = used;
        let mut page: Vec<Row> = Vec::new();
        // The last row's entry comes first.
        for mut entry in entries.chunks_exact(8) {
            let (offset, partition) = (number(&mut entry) as usize, number(&mut entry));
            page.push((partition, bytes[offset..end].to_vec()));
            end = offset;
        }
        rows.extend(page.into_iter().rev());
    }
    Rows { fields, partitions, rows, page_rows }
}

#[test]
fn pages_of_spark() {
    let Some(setting) = Setting::new() else { return };
    let path = checkout().join("native/crates/gpu-engine/tests/pages.zst");
    let file = zstd::decode_all(&fs::read(path).unwrap()[..]).unwrap();
    let batches = batches(&file);
    assert!(batches.len() >= 8);
    for rows in batches {
        let frames = rows.check(&setting, FAST);
        rows.check(&setting, LZ4);
        let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame.1[..]).collect();
        let mut sorted: Vec<&Row> = rows.rows.iter().collect();
        sorted.sort_by_key(|row| row.0);
        assert!(decoded(&setting, &frames).unwrap().iter().eq(sorted.iter().map(|row| &row.1)));
    }
    setting.finish();
}
