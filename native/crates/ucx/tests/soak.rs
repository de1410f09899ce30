//! Peers that connect and disconnect many times: no memory and no descriptor is left of them. In a process of its own,
//! because it counts what the process holds. `SLUICE_SOAK_CYCLES` says how many; 10,000 take a minute.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

const BYTES: usize = 1 << 16;
const MOST_GROWTH_KIB: usize = 32 << 10;
const MOST_DESCRIPTORS: usize = 16;

fn start(ucx: &Arc<Ucx>, arena: &Arc<Arena>) -> Transport {
    let options =
        TransportOptions { secret: b"s".to_vec(), timeout: Duration::from_secs(10), ..TransportOptions::default() };
    let ucx = Arc::clone(ucx);
    Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started")
}

/// Resident memory, and open descriptors.
fn held() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
    let kib = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    (kib, std::fs::read_dir("/proc/self/fd").expect("Linux").count())
}

fn cycle(owner: &Transport, reader: &Transport, map: u64, path: &std::path::Path, content: &[u8]) {
    owner.publish(1, map, path.to_path_buf(), None, vec![0, content.len() as u64]).expect("good offsets");
    reader.connect(1, owner.address());
    reader.fetch(1, vec![Block { shuffle: 1, map, first: 0, end: 1 }]).expect("connected");
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        assert!(Instant::now() < end, "cycle {map}: nothing came");
        let ended = reader.poll(1, Duration::from_millis(200)).expect("running");
        if let Some(completion) = ended.first() {
            let lease = completion.result.as_ref();
            let lease = lease.unwrap_or_else(|e| panic!("cycle {map}: {e:?} {}", reader.peer_error(1)));
            assert!(lease.as_ref().expect("it has bytes").as_slice() == content);
            break;
        }
    }
    assert_eq!(owner.withdraw(1, map), 1);
    reader.disconnect(1);
}

#[test]
fn connections_and_regions_come_and_go() {
    let Some(ucx) = common::ucx() else { return };
    let cycles: u64 = std::env::var("SLUICE_SOAK_CYCLES").map_or(200, |text| text.parse().expect("a number"));
    let arena = Arena::host(1 << 30);
    let (owner, reader) = (start(&ucx, &arena), start(&ucx, &arena));
    let path = std::env::temp_dir().join(format!("sluice-soak-{}", std::process::id()));
    let content: Vec<u8> = (0..BYTES).map(|i| (i / 7 + i) as u8).collect();
    std::fs::write(&path, &content).expect("written");
    let mut settled = held();
    for map in 0..cycles {
        cycle(&owner, &reader, map, &path, &content);
        if map == cycles / 5 {
            settled = held();
        }
    }
    let (kib, descriptors) = held();
    std::fs::remove_file(path).expect("removed");
    assert_eq!(arena.leased_bytes(), 0);
    assert!(kib <= settled.0 + MOST_GROWTH_KIB, "{kib} KiB are resident, after a fifth of the cycles {}", settled.0);
    assert!(descriptors <= settled.1 + MOST_DESCRIPTORS, "{descriptors} descriptors are open, were {}", settled.1);
}
