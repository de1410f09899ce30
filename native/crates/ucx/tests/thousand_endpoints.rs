//! What UCX's endpoints take of a process's memory. Needs a UCX, as `two_workers.rs` does.

mod common;

use std::time::{Duration, Instant};

use sluice_transport::{Endpoint, Event, Wire};
use sluice_ucx::UcxWire;

const ENDPOINTS: usize = 1000;
/// Both ends of each connection are in this process. A thousand of its own are to take 16 MiB at most: the agent's
/// heap, received blocks (`sluice-transport`'s `tests/thousand_peers.rs`) and unpacked keys (20 MiB, `MAX_KEYS`) have
/// the rest of 256 MiB.
const MOST_BYTES: usize = 2 * (16 << 20);

/// Of this process's memory, what is not of files.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().expect("a number") << 10
}

/// A message on each connection of `from`; until all have come at the other end.
fn greet(from: &mut UcxWire, to: &mut UcxWire, endpoints: &[Endpoint]) {
    endpoints.iter().for_each(|endpoint| from.send(*endpoint, vec![1; 100]));
    let (end, mut events, mut came) = (Instant::now() + Duration::from_secs(60), Vec::new(), 0);
    while came < endpoints.len() {
        assert!(Instant::now() < end, "{came} messages of {} have come", endpoints.len());
        from.progress(&mut events);
        assert!(!events.iter().any(|event| matches!(event, Event::Failed { .. })), "{events:?}");
        to.progress(&mut events);
        came += events.drain(..).filter(|event| matches!(event, Event::Message(_))).count();
    }
}

/// As many open files as this process may have: over TCP each end of a connection is one.
fn allow_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes to the structure.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: reads the structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    limit.rlim_cur
}

#[test]
fn a_thousand_connections_stay_within_their_part_of_the_budget() {
    let Some(ucx) = common::ucx() else { return };
    let files = allow_open_files();
    if files < 4 * ENDPOINTS as u64 {
        println!("skipped: this process may have {files} open files (ulimit -Hn), {} are needed", 4 * ENDPOINTS);
        return;
    }
    let wire = || UcxWire::new(ucx.clone()).expect("a wire");
    let (mut one, mut other) = (wire(), wire());
    let (address, other_address) = (one.address().to_vec(), other.address().to_vec());
    let before = resident_bytes();
    let open = |wire: &mut UcxWire, address: &[u8]| wire.open(address).expect("opened").endpoint;
    let endpoints: Vec<Endpoint> = (0..ENDPOINTS).map(|_| open(&mut one, &other_address)).collect();
    greet(&mut one, &mut other, &endpoints);
    let back: Vec<Endpoint> = (0..ENDPOINTS).map(|_| open(&mut other, &address)).collect();
    greet(&mut other, &mut one, &back);
    let bytes = resident_bytes().saturating_sub(before);
    let an_end = bytes / ENDPOINTS / 2;
    println!("{}: {ENDPOINTS} connections, {} MiB at both ends, {an_end} bytes an end", ucx.describe(), bytes >> 20);
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}
