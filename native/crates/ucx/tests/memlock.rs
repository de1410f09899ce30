//! Reads in a process that may pin little memory. `./sluice rdma-test` runs it below limits of its own, as a user whom
//! they hold for: SLUICE_TEST_MEMLOCK says what must happen, `reads` or `refuses`. Otherwise every read must arrive.
//! Needs a UCX, as `two_workers`; without, the test says that it was skipped.

mod common;

use std::path::PathBuf;
use std::time::Duration;

use sluice_mem::Arena;
use sluice_transport::{Block, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

const PATIENCE: Duration = Duration::from_secs(40);
const PARTITION: usize = 600_000;
const PARTITIONS: u32 = 12;

#[test]
fn reads_arrive_or_the_start_says_which_limit_is_too_low() {
    let refuses = std::env::var("SLUICE_TEST_MEMLOCK").is_ok_and(|must| must == "refuses");
    let configured = std::env::var_os("SLUICE_UCX_LIBRARY").map(PathBuf::from);
    let ucx = match Ucx::open(configured.as_deref(), None) {
        Err(why) if refuses => return assert!(why.to_string().contains("ulimit -l"), "{why}"),
        Ok(_) if refuses => panic!("it starts"),
        _ => common::ucx(),
    };
    let Some(ucx) = ucx else { return };
    let start = || {
        let (ucx, arena) = (ucx.clone(), Arena::host(64 << 20));
        let options = TransportOptions { timeout: PATIENCE, ..TransportOptions::default() };
        Transport::start(move || UcxWire::new(ucx), arena, options).expect("started")
    };
    let (owner, reader) = (start(), start());
    println!("warnings: {:?}", owner.warnings());
    let content: Vec<u8> = (0..PARTITION * PARTITIONS as usize).map(|i| (i / 7 + i) as u8).collect();
    let path = std::env::temp_dir().join(format!("sluice-memlock-test-{}", std::process::id()));
    std::fs::write(&path, &content).expect("written");
    let offsets = (0..=PARTITIONS).map(|i| u64::from(i) * PARTITION as u64).collect();
    owner.publish(1, 1, path.clone(), None, offsets).expect("good offsets");
    reader.connect(1, owner.address());
    for first in 0..PARTITIONS {
        reader.fetch(1, vec![Block { shuffle: 1, map: 1, first, end: first + 1 }]).expect("known");
        let read = reader.poll(1, PATIENCE).expect("running").pop().expect("it ends").result;
        let lease = read.unwrap_or_else(|why| panic!("partition {first}: {why:?}"));
        let expected = &content[first as usize * PARTITION..][..PARTITION];
        assert!(lease.expect("it has bytes").as_slice() == expected, "partition {first}");
    }
    std::fs::remove_file(path).expect("removed");
}
