//! A connection over which nothing passes is closed on both sides and opened again when it is needed, over real UCX:
//! the other side hears that it was closed although UCX does not tell it. Needs a UCX, as `two_workers`; without, the
//! test says that it was skipped.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Statistic, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

const IDLE: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(20);

/// Each side measures idle time by itself, so one of them closes the connection and the other is told.
fn start(ucx: &Arc<Ucx>, arena: &Arc<Arena>, connection_idle: Duration) -> Transport {
    let options = TransportOptions { timeout: PATIENCE, connection_idle, ..TransportOptions::default() };
    let ucx = Arc::clone(ucx);
    Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started")
}

fn open(transport: &Transport) -> u64 {
    transport.statistics()[Statistic::Connections as usize]
}

/// Reads one block; how long it took.
fn read(reader: &Transport, content: &[u8]) -> Duration {
    let begun = Instant::now();
    reader.fetch(1, vec![Block { shuffle: 1, map: 1, first: 0, end: 1 }]).expect("known");
    let ended = reader.poll(1, 2 * PATIENCE).expect("running").pop().expect("it ends");
    let lease = ended.result.unwrap_or_else(|why| panic!("{why:?}: {}", reader.peer_error(1)));
    assert_eq!(lease.expect("it has bytes").as_slice(), content);
    begun.elapsed()
}

#[test]
fn an_idle_connection_is_closed_on_both_sides_and_comes_back() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(64 << 20);
    let content: Vec<u8> = (0..100_000u32).map(|i| (i / 7 + i) as u8).collect();
    let path = std::env::temp_dir().join(format!("sluice-idle-{}", std::process::id()));
    std::fs::write(&path, &content).expect("written");
    for (reader_idle, owner_idle) in [(IDLE, 100 * IDLE), (100 * IDLE, IDLE)] {
        let (reader, owner) = (start(&ucx, &arena, reader_idle), start(&ucx, &arena, owner_idle));
        owner.publish(1, 1, path.clone(), None, vec![0, content.len() as u64]).expect("good offsets");
        reader.connect(1, owner.address());
        for round in 0..3 {
            let time = read(&reader, &content);
            eprintln!("note: round {round}: a block with its connection took {time:?}");
            assert_eq!((open(&reader), open(&owner)), (1, 1));
            let end = Instant::now() + PATIENCE;
            while open(&reader) + open(&owner) > 0 {
                assert!(Instant::now() < end, "round {round}: {} and {} are open", open(&reader), open(&owner));
                assert_eq!(reader.poll(1, Duration::from_millis(20)).expect("running").len(), 0);
            }
            assert_eq!(reader.peer_error(1), "");
        }
    }
    std::fs::remove_file(path).expect("removed");
    assert_eq!(arena.leased_bytes(), 0);
}
