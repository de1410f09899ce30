//! The engine: its self-test, and what it counts.

use std::collections::BTreeSet;

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::Page;
use sluice_gpu_engine::{Batch, Counts, Declined};
use sluice_testkit::{Value, unsafe_row};

use crate::setting::{Setting, long};
use crate::tables::{FAST, Row, page, table};

#[test]
fn work_is_counted_and_so_is_what_is_declined() {
    let Some(setting) = Setting::new() else { return };
    let engine = setting.engine().unwrap();
    let stream = engine.attach();
    let encode = |rows: &[Row], fields, options| {
        let (memory, used) = (page(rows, 0), rows.iter().map(|row| row.1.len()).sum());
        let pages = [Page { memory: &memory, used, entries: rows.len() }];
        let batch = Batch { fields, partitions: 3, pages: &pages, hash_rows: false };
        engine.encode(&stream, batch, options, long())
    };
    let rows = table(&[1, 6, 8], 300, 3, 0, 1);
    let made = encode(&rows.rows, 3, FAST).unwrap();
    let frames: Vec<&[u8]> = made.frames.iter().map(|frame| &made.bytes[frame.start..][..frame.bytes]).collect();
    let bytes = rows.rows.iter().map(|row| row.1.len()).sum::<usize>();
    let (mut target, mut lengths) = (vec![0; bytes], vec![0; 300]);
    engine.decode(&stream, &frames, &mut target, &mut lengths, long()).unwrap();
    engine.sort_pairs(&stream, &mut [[2, 0], [1, 1]], long()).unwrap();
    let text = [(0, unsafe_row(&[Value::Bytes(vec![b'a'; 100])]))];
    let zstd = CodecOptions { codec: Codec::Zstd, level: Level::Fast };
    let by_cpu = encode(&text, 1, zstd).unwrap();
    assert!(by_cpu.frames[0].by_cpu);
    let (mut back, mut length) = (vec![0; text[0].1.len()], [0]);
    let decoded = engine.decode(&stream, &[&by_cpu.bytes], &mut back, &mut length, long());
    assert_eq!(decoded, Err(Declined::NeedsCodec));
    assert!(matches!(encode(&[(9, vec![0; 16])], 1, FAST), Err(Declined::CheckFailed(_))));
    assert!(matches!(encode(&[(0, vec![0; 70_000])], 1, FAST), Err(Declined::TooLarge(_))));
    let short = &frames[0][..frames[0].len() - 1];
    assert!(engine.decode(&stream, &[short], &mut [], &mut [], long()).is_err());
    let expected = Counts {
        encoded_batches: 2,
        encoded_bytes: (bytes + text[0].1.len()) as u64,
        frames_by_cpu: 1,
        decodes: 1,
        sorts: 1,
        too_large: 1,
        checks_failed: 2,
        codec_needed: 1,
        ..Counts::default()
    };
    assert_eq!(engine.counts(), expected);
    drop((stream, engine));
    setting.finish();
}

/// Kernels that make other bytes are found by the self-test: here because a barrier is left out.
#[test]
fn kernels_that_make_other_bytes_do_not_pass_the_self_test() {
    let Some(setting) = Setting::simulated() else { return };
    setting.engine().unwrap();
    let sites = setting.told().1;
    setting.finish();
    // The parts of a checksum are joined behind this barrier.
    let site = sites.iter().find(|site| site.starts_with("crc.cuh") && site.ends_with(" barrier")).unwrap();
    let broken = Setting::simulated().unwrap();
    broken.skip(site);
    assert!(matches!(broken.engine(), Err(Declined::WrongResult(_))), "without {site}");
}

/// The self-test comes to all places where threads wait for each other, as a bit of everything does. That it needs each
/// kernel: `faults`.
#[test]
fn the_self_test_comes_to_all_places_where_threads_wait() {
    let sites = |work: &dyn Fn(&Setting)| {
        let setting = Setting::simulated()?;
        work(&setting);
        let sites: BTreeSet<String> = setting.told().1.into_iter().collect();
        setting.finish();
        Some(sites)
    };
    let Some(tested) = sites(&|setting: &Setting| drop(setting.engine().unwrap())) else { return };
    let worked = sites(&crate::orders::work).unwrap();
    let missing: Vec<&String> = worked.difference(&tested).collect();
    assert!(missing.is_empty(), "the self-test leaves out {missing:#?}");
}

/// A device that is lost in the middle is declined as such, and nothing is called any more.
#[test]
fn a_lost_device_is_counted() {
    let Some(setting) = Setting::simulated() else { return };
    let engine = setting.engine().unwrap();
    let stream = engine.attach();
    let rows = table(&[1], 100, 1, 0, 1).rows;
    let (memory, used) = (page(&rows, 0), rows.iter().map(|row| row.1.len()).sum());
    let pages = [Page { memory: &memory, used, entries: rows.len() }];
    let batch = Batch { fields: 1, partitions: 1, pages: &pages, hash_rows: false };
    setting.simulator().configure("lose=cuLaunchKernel@4");
    for _ in 0..2 {
        let lost = engine.encode(&stream, batch, FAST, long()).unwrap_err();
        assert!(lost.is_lost(), "{lost}");
    }
    assert_eq!(engine.counts().device_lost, 2);
}
