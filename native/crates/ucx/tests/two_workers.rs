//! Transports over real UCX: the cases of the loopback tests that depend on what UCX does. Needs a UCX, in the folder
//! that SLUICE_UCX_LIBRARY names or the system's; without one, each test says that it was skipped.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Completion, Failure, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

const TIMEOUT: Duration = Duration::from_secs(5);

fn start(ucx: &Arc<Ucx>, arena: &Arc<Arena>, secret: &str) -> Transport {
    let options = TransportOptions { secret: secret.into(), timeout: TIMEOUT, ..TransportOptions::default() };
    let ucx = Arc::clone(ucx);
    Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started")
}

/// A file of `bytes` bytes, and what is in it.
fn file(name: &str, bytes: usize) -> (PathBuf, Vec<u8>) {
    let path = std::env::temp_dir().join(format!("sluice-ucx-{}-{name}", std::process::id()));
    let content: Vec<u8> = (0..bytes).map(|i| (i / 7 + i) as u8).collect();
    std::fs::write(&path, &content).expect("written");
    (path, content)
}

fn publish(owner: &Transport, map: u64, path: &Path, partition: usize, content: &[u8]) {
    let offsets = (0..=content.len() / partition).map(|i| (i * partition) as u64).collect();
    owner.publish(1, map, path.to_path_buf(), None, offsets).expect("good offsets");
}

fn blocks(map: u64, count: u32) -> Vec<Block> {
    (0..count).map(|first| Block { shuffle: 1, map, first, end: first + 1 }).collect()
}

fn take(reader: &Transport, count: usize) -> Vec<Completion> {
    let end = Instant::now() + 4 * TIMEOUT;
    let mut taken = Vec::new();
    while taken.len() < count {
        assert!(Instant::now() < end, "{} of {count} blocks have ended", taken.len());
        taken.extend(reader.poll(count, Duration::from_millis(100)).expect("running"));
    }
    taken.sort_by_key(|completion| completion.index);
    taken
}

#[test]
fn blocks_of_all_sizes_are_read() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let (owner, reader) = (start(&ucx, &arena, "s"), start(&ucx, &arena, "s"));
    reader.connect(1, owner.address());
    for (map, partition, count) in [(1, 1, 300), (2, 8191, 100), (3, 1 << 20, 20), (4, 9_000_001, 3)] {
        let (path, content) = file(&format!("sizes-{map}"), partition * count);
        publish(&owner, map, &path, partition, &content);
        reader.fetch(1, blocks(map, count as u32)).expect("known");
        for (completion, expected) in take(&reader, count).iter().zip(content.chunks(partition)) {
            let lease = completion.result.as_ref().expect("read").as_ref().expect("it has bytes");
            assert!(lease.as_slice() == expected, "block {} of map {map}", completion.index);
        }
        std::fs::remove_file(path).expect("removed");
    }
    assert_eq!(arena.leased_bytes(), 0);
}

#[test]
fn both_read_at_once_over_one_connection() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let sides = [start(&ucx, &arena, "s"), start(&ucx, &arena, "s")];
    let (path, content) = file("both", 4 << 20);
    for (side, other) in [(0, 1), (1, 0)] {
        publish(&sides[side], 1, &path, 1 << 16, &content);
        sides[side].connect(0, sides[other].address());
    }
    for _ in 0..5 {
        for side in &sides {
            side.fetch(0, blocks(1, 64)).expect("known");
        }
        for side in &sides {
            for (completion, expected) in take(side, 64).iter().zip(content.chunks(1 << 16)) {
                let lease = completion.result.as_ref().expect("read").as_ref().expect("it has bytes");
                assert!(lease.as_slice() == expected);
            }
        }
    }
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn a_wrong_secret_reads_nothing() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let (owner, reader) = (start(&ucx, &arena, "right"), start(&ucx, &arena, "wrong"));
    let (path, content) = file("secret", 1000);
    publish(&owner, 1, &path, 1000, &content);
    reader.connect(1, owner.address());
    reader.fetch(1, blocks(1, 1)).expect("known");
    assert_eq!(take(&reader, 1)[0].result.as_ref().err(), Some(&Failure::Timeout));
    assert!(reader.peer_error(1).contains("secret"), "{}", reader.peer_error(1));
    assert!(reader.fetch(1, blocks(1, 1)).is_err(), "it stays failed");
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn a_peer_that_stops_fails_and_another_at_its_place_is_read() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let reader = start(&ucx, &arena, "");
    let (path, content) = file("stops", 1000);
    for life in 0..3 {
        let owner = start(&ucx, &arena, "");
        publish(&owner, 1, &path, 1000, &content);
        reader.connect(1, owner.address());
        reader.fetch(1, blocks(1, 1)).expect("known");
        let ended = take(&reader, 1);
        assert!(ended[0].result.is_ok(), "life {life}: {ended:?} {}", reader.peer_error(1));
        owner.stop();
        let begun = Instant::now();
        if reader.fetch(1, blocks(1, 1)).is_ok() {
            let ended = take(&reader, 1);
            assert!(matches!(ended[0].result, Err(Failure::Peer | Failure::Timeout)), "{ended:?}");
        }
        assert!(begun.elapsed() < 2 * TIMEOUT);
    }
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn blocks_of_many_outputs_are_read_in_one_request() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let (owner, reader) = (start(&ucx, &arena, "s"), start(&ucx, &arena, "s"));
    reader.connect(1, owner.address());
    let (path, content) = file("many", 1000 * 100);
    for map in 0..1000 {
        let start = map * 100;
        owner.publish(1, map, path.clone(), None, vec![start, start + 100]).expect("good offsets");
    }
    let wanted = (0..1000).map(|map| Block { shuffle: 1, map, first: 0, end: 1 }).collect();
    reader.fetch(1, wanted).expect("known");
    for (completion, expected) in take(&reader, 1000).iter().zip(content.chunks(100)) {
        let lease = completion.result.as_ref().expect("read").as_ref().expect("it has bytes");
        assert!(lease.as_slice() == expected, "map {}", completion.index);
    }
    std::fs::remove_file(path).expect("removed");
}
