//! Batches of rows of many shapes.

use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Level};
use sluice_cuda_sim::long_tests;
use sluice_engine::Page;
use sluice_gpu_engine::{Batch, Declined, encode};
use sluice_testkit::{Value, bench_table, incompressible, lineitem, unsafe_row};

use crate::setting::{Setting, long};
use crate::tables::{FAST, KINDS, Row, Rows, page, table};

pub fn cases(few: u32, many: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if long_tests() { many } else { few }) }
}

fn of(table: &sluice_testkit::Table, partitions: u32) -> Rows {
    let rows = (0..table.rows()).map(|i| (i as u32 * 7 % partitions, table.row(i).to_vec())).collect();
    Rows { fields: table.fields, partitions, rows, page_rows: 5000 }
}

#[test]
fn tables_of_benchmarks() {
    let Some(setting) = Setting::new() else { return };
    let rows = if long_tests() { 200_000 } else { 6_000 };
    for partitions in [1, 3, 50] {
        for table in [bench_table(rows), lineitem(rows / 2), incompressible(rows / 4)] {
            assert!(!of(&table, partitions).check(&setting, FAST).is_empty());
        }
    }
    of(&bench_table(3000), 5).check(&setting, CodecOptions { codec: Codec::None, level: Level::Plain });
    setting.finish();
}

/// As many as a large map task has at a time. On a GPU only: the host's kernels would take hours.
#[test]
fn ten_million_rows() {
    let Some(setting) = Setting::on_gpu() else { return };
    table(&[0, 1], 10_000_000, 1000, 0, 6).check(&setting, FAST);
    setting.finish();
}

#[test]
fn from_one_to_a_hundred_thousand_partitions() {
    let Some(setting) = Setting::new() else { return };
    for (partitions, rows) in [(1, 1), (2, 1), (255, 300), (256, 300), (257, 300), (65_537, 200), (100_000, 500)] {
        table(&[0, 6, 2], rows, partitions, 0, 5).check(&setting, FAST);
    }
    setting.finish();
}

/// Frames end where their rows have 160 KiB, at 4,096 rows, and then at a multiple of 512: one row more or less.
#[test]
fn frames_end_where_the_cpu_ends_them() {
    let Some(setting) = Setting::new() else { return };
    for rows in [511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097, 8200] {
        table(&[1], rows, 1, 0, 3).check(&setting, FAST);
    }
    let long = |bytes: usize, count: usize| Rows {
        fields: 1,
        partitions: 1,
        rows: (0..count).map(|i| (0, unsafe_row(&[Value::Bytes(vec![i as u8; bytes])]))).collect(),
        page_rows: 100,
    };
    for bytes in [40, 64 << 10 >> 1, (160 << 10) / 512 - 16, (160 << 10) / 512 - 8, (160 << 10) / 513 - 16] {
        long(bytes, 1100).check(&setting, FAST);
    }
    setting.finish();
}

#[test]
fn rows_without_fields_and_of_many() {
    let Some(setting) = Setting::new() else { return };
    Rows { fields: 0, partitions: 3, rows: vec![(1, Vec::new()); 5000], page_rows: 999 }.check(&setting, FAST);
    for fields in [63, 64, 65, 400] {
        let kinds: Vec<u8> = (0..fields).map(|field| (field % 13) as u8).collect();
        table(&kinds, 60, 2, 0, 8).check(&setting, FAST);
    }
    setting.finish();
}

#[test]
fn what_the_kernels_do_not_take_is_declined() {
    let Some(setting) = Setting::new() else { return };
    let strings = |bytes: usize, options| {
        let rows: Vec<Row> = (0..50u8).map(|i| (0, unsafe_row(&[Value::Bytes(vec![i; bytes])]))).collect();
        Rows { fields: 1, partitions: 1, rows, page_rows: 10 }.encode(&setting, options)
    };
    assert!(strings((64 << 10) - 16, FAST).is_ok());
    assert_eq!(strings((64 << 10) - 8, FAST), Err(Declined::TooLarge("bytes of a row")));
    let wide = table(&[5; 1100], 3, 1, 0, 1);
    assert_eq!(wide.encode(&setting, FAST), Err(Declined::TooLarge("fields of a row")));
    let batch = |memory: &[u8], used, entries, partitions| {
        let pages = [Page { memory, used, entries }];
        let batch = Batch { fields: 1, partitions, pages: &pages, hash_rows: false };
        encode(&setting.kernels, &setting.stream, batch, FAST, long()).map(|made| made.frames.len())
    };
    let good = page(&[(0, vec![1; 16]), (2, vec![2; 24])], 0);
    assert_eq!(batch(&good, 40, 2, 3), Ok(2));
    assert_eq!(batch(&good, 0, 0, 0), Ok(0));
    assert_eq!(batch(&good, 40, 2, 2), Err(Declined::CheckFailed("a row's partition, or its place in a page")));
    assert_eq!(
        batch(&good, 8, 2, 3),
        Err(Declined::CheckFailed("a row's partition, or its place in a page")),
        "a row behind the page's end"
    );
    assert!(matches!(batch(&good, 41, 2, 3), Err(Declined::CheckFailed(_))), "more than the page has");
    assert!(matches!(batch(&good, 40, usize::MAX / 4, 3), Err(Declined::CheckFailed(_))));
    assert!(matches!(batch(&good, 40, 2, 0), Err(Declined::CheckFailed(_))));
    setting.finish();
}

/// Long values are compressed by the GPU with LZ4. With another codec their frames are made by the CPU, and lie between
/// those of the GPU.
#[test]
fn frames_for_another_codec_than_lz4_are_made_by_the_cpu() {
    let Some(setting) = Setting::new() else { return };
    for codec in [Codec::Lz4, Codec::Zstd, Codec::Snappy] {
        for level in [Level::Fast, Level::Small] {
            let options = CodecOptions { codec, level };
            of(&lineitem(1200), 3).check(&setting, options);
            // Long values in some partitions only, one of them alone.
            let mut rows = table(&[1, 6], 900, 6, 0, 2);
            for (i, (partition, row)) in rows.rows.iter_mut().enumerate().filter(|(_, row)| row.0 % 3 == 1) {
                let text = format!("row {i} of partition {partition}, again and again and again and again");
                *row = unsafe_row(&[Value::Word(i as u64), Value::Bytes(text.into_bytes())]);
            }
            rows.rows.push((6, unsafe_row(&[Value::Word(1), Value::Bytes(vec![b'x'; 80])])));
            rows.partitions = 7;
            rows.check(&setting, options);
            let made = rows.encode(&setting, options).unwrap();
            let by_cpu: Vec<u32> =
                made.frames.iter().filter(|frame| frame.by_cpu).map(|frame| frame.partition).collect();
            assert_eq!(by_cpu, if codec == Codec::Lz4 { vec![] } else { vec![1, 4, 6] });
        }
    }
    let plain = CodecOptions { codec: Codec::Lz4, level: Level::Plain };
    of(&lineitem(300), 2).check(&setting, plain);
    setting.finish();
}

#[test]
fn without_memory_it_is_declined_and_nothing_is_left() {
    let Some(module) = crate::setting::module() else { return };
    let rows = table(&[0, 1, 2, 3], 20_000, 4, 0, 2);
    let pages = page(&rows.rows, 0);
    let used = rows.rows.iter().map(|row| row.1.len()).sum();
    let pages = [Page { memory: &pages, used, entries: rows.rows.len() }];
    let batch = Batch { fields: 4, partitions: 4, pages: &pages, hash_rows: false };
    let wait = sluice_cuda::Wait::at_most(std::time::Duration::from_millis(5));
    // The limit has no room for any lease; or for this one, until others are free.
    for (limit, never) in [(1 << 20, true), (128 << 20, false)] {
        let small = Setting::with_module(module, limit);
        let mut held = Vec::new();
        for bytes in [64 << 20, 4 << 20, 256 << 10, 16 << 10] {
            while let Ok(lease) = small.stream.lease(bytes, wait) {
                held.push(lease);
            }
        }
        assert_eq!(held.is_empty(), never);
        let leased = small.arena.memory().leased_bytes();
        let refused = encode(&small.kernels, &small.stream, batch, FAST, wait);
        assert_eq!(matches!(refused, Err(Declined::TooLarge(_))), never, "{refused:?}");
        assert_eq!(matches!(refused, Err(Declined::Memory(_))), !never, "{refused:?}");
        assert_eq!(small.arena.memory().leased_bytes(), leased);
        held.into_iter().for_each(|lease| small.stream.free(lease));
    }
}

/// A call of the driver that fails in the middle: declined, whichever it is, and the next batch works.
#[test]
fn a_call_that_fails_is_declined() {
    let Some(setting) = Setting::simulated() else { return };
    let rows = table(&[0, 6, 8], 700, 3, 0, 4);
    for nth in [1, 2, 5, 9, 14] {
        setting.simulator().configure(&format!("fail=cuLaunchKernel@{nth}:1"));
        assert!(matches!(rows.encode(&setting, FAST), Err(Declined::Device(_))), "launch {nth}");
    }
    setting.simulator().configure("fail=cuMemcpyHtoDAsync_v2@2:1");
    assert!(matches!(rows.encode(&setting, FAST), Err(Declined::Device(_))));
    rows.check(&setting, FAST);
    setting.finish();
}

fn small_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (0u64..100).prop_map(Value::Word),
        any::<u64>().prop_map(Value::Word),
        prop::collection::vec(any::<u8>(), 0..80).prop_map(Value::Bytes),
        prop::option::of(prop::collection::vec(any::<u8>(), 0..=16)).prop_map(Value::Wide),
    ]
}

#[test]
fn mixed_schemas() {
    let Some(setting) = Setting::new() else { return };
    let rows = (0usize..9).prop_flat_map(|fields| {
        prop::collection::vec((0u32..6, prop::collection::vec(small_value(), fields..=fields)), 1..150)
    });
    proptest!(cases(40, 3000), |(rows in rows, page_rows in 1usize..60)| {
        let fields = rows[0].1.len() as u32;
        let rows = rows.iter().map(|(partition, row)| (*partition, unsafe_row(row))).collect();
        Rows { fields, partitions: 6, rows, page_rows }.check(&setting, FAST);
    });
    setting.finish();
}

#[test]
fn regular_schemas() {
    let Some(setting) = Setting::new() else { return };
    let kinds = prop::collection::vec(0u8..KINDS, 1..30);
    let strategy = (kinds, 1u64..1500, prop::sample::select(vec![1u32, 2, 7, 200, 70_000]), 0u8..3, any::<u64>());
    proptest!(cases(15, 2000), |((kinds, rows, partitions, skew, seed) in strategy)| {
        // A block for each column of each frame: few frames where there may be as many as rows.
        let rows = if partitions >= 200 { rows.min(150) } else { rows };
        table(&kinds, rows, partitions, skew, seed).check(&setting, FAST);
    });
    setting.finish();
}

/// Bytes that are no rows at all, and rows with a corrupted slot or dirty padding.
#[test]
fn damaged_rows() {
    let Some(setting) = Setting::new() else { return };
    let rows = prop::collection::vec((0u32..3, prop::collection::vec(any::<u8>(), 0..100)), 1..80);
    proptest!(cases(40, 3000), |(mut rows in rows, fields in 0u32..6, long in any::<bool>())| {
        for (i, (_, row)) in rows.iter_mut().enumerate().filter(|(i, _)| long || i % 3 == 0) {
            let mut made = unsafe_row(&vec![Value::Bytes(vec![i as u8; i * 3 % 50]); fields as usize]);
            if let (Some(last), Some(byte)) = (made.last_mut(), row.first()) {
                *last = *byte;
            }
            if let (Some(at), Some(byte)) = (row.get(1), row.get(2)) {
                let at = usize::from(*at) % made.len().max(1);
                if let Some(there) = made.get_mut(at) {
                    *there ^= byte & 8;
                }
            }
            // A tail behind the slots.
            made.extend_from_slice(&row[..row.len().min(5)]);
            *row = made;
        }
        Rows { fields, partitions: 3, rows, page_rows: 17 }.check(&setting, FAST);
    });
    setting.finish();
}
