//! A peer that sent nothing for too long and then goes on: it learns that it was given up, and both read each other as
//! before. UCX does not tell it: over TCP, a connection that is closed by force on one side goes on receiving there.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Failure, Statistic, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(60);

fn start(ucx: &Arc<Ucx>, arena: &Arc<Arena>, timeout: Duration) -> Transport {
    let ucx = Arc::clone(ucx);
    let options = TransportOptions { timeout, ..TransportOptions::default() };
    Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started")
}

/// Reads the one block of a map output of peer 1.
fn read(reader: &Transport, map: u64) -> Result<(), Failure> {
    reader.fetch(1, vec![Block { shuffle: 1, map, first: 0, end: 1 }]).map_err(|_| Failure::Peer)?;
    let ended = reader.poll(1, 2 * LONG).expect("running").pop().expect("each block ends");
    ended.result.map(drop)
}

fn publish(owner: &Transport, map: u64, path: &Path) {
    owner.publish(1, map, path.to_path_buf(), None, vec![0, 100]).expect("good offsets");
}

/// A named pipe: opening it for reading waits until another process opens it for writing.
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("coreutils").success());
}

fn both_read(one: &Transport, other: &Transport) {
    one.connect(1, other.address());
    other.connect(1, one.address());
    assert_eq!(read(one, 1), Ok(()), "{}", one.peer_error(1));
    assert_eq!(read(other, 1), Ok(()), "{}", other.peer_error(1));
}

#[test]
fn a_disconnected_peer_is_told_and_both_can_read_again() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let (impatient, late) = (start(&ucx, &arena, SHORT), start(&ucx, &arena, LONG));
    let path = std::env::temp_dir().join(format!("sluice-given-up-{}", std::process::id()));
    std::fs::write(&path, [7; 100]).expect("written");
    let stuck = path.with_extension("pipe");
    pipe(&stuck);
    publish(&impatient, 1, &path);
    publish(&late, 1, &path);
    publish(&late, 2, &stuck);
    both_read(&impatient, &late);

    // The owner's thread waits for a writer and says nothing meanwhile.
    assert_eq!(read(&impatient, 2), Err(Failure::Timeout));
    let writer = std::fs::OpenOptions::new().write(true).open(&stuck).expect("there is a reader");
    let begun = Instant::now();
    // It had nothing under way, so it connects again, instead of waiting for an answer over the old connection.
    assert_eq!(read(&late, 1), Ok(()), "{}", late.peer_error(1));
    assert!(begun.elapsed() < LONG / 4, "it took {:?}", begun.elapsed());
    assert_eq!(late.statistics()[Statistic::ConnectionsLostIdle as usize], 1);

    // Nothing arrives late.
    assert!([&impatient, &late].iter().all(|it| it.poll(1, SHORT).is_ok_and(|ended| ended.is_empty())));
    impatient.connect(1, late.address());
    assert_eq!(read(&impatient, 1), Ok(()), "{}", impatient.peer_error(1));
    assert_eq!(read(&late, 1), Ok(()), "{}", late.peer_error(1));
    drop(writer);
    std::fs::remove_file(path).and_then(|()| std::fs::remove_file(stuck)).expect("removed");
}
