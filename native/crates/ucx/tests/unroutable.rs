//! A peer whose address leads nowhere: its blocks fail in time and those of other peers are read. UCX reads from the
//! environment which interfaces it may use (none but the network's, because a worker's address has all of them), so it
//! is this program again, started for one ignored test. Needs a UCX, as `two_workers`; without, the test says that it
//! was skipped.

mod common;

use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Failure, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Of a network that is set apart for documents: nobody answers there.
const NOWHERE: [u8; 4] = [192, 0, 2, 1];
/// How the line begins that the other process ends with.
const SKIPPED: &str = "skipped: ";
const RAN: &str = "ran: ";

fn start(ucx: &Arc<Ucx>, arena: &Arc<Arena>) -> Transport {
    let ucx = Arc::clone(ucx);
    let options = TransportOptions { timeout: TIMEOUT, ..TransportOptions::default() };
    Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started")
}

/// The address of this machine's interface to elsewhere; nothing is sent.
fn own_address() -> Option<[u8; 4]> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect((IpAddr::from(NOWHERE), 9)).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) => Some(address.octets()),
        IpAddr::V6(_) => None,
    }
}

#[test]
#[ignore = "the other process of the test below"]
fn reads_from_nowhere_and_from_a_peer() {
    let Some(ucx) = common::ucx() else { return println!("\n{SKIPPED}no UCX") };
    let Some(own) = own_address() else { return println!("\n{SKIPPED}no IPv4 route to elsewhere") };
    let arena = Arena::host(64 << 20);
    let [gone, owner, reader] = [(); 3].map(|()| start(&ucx, &arena));
    let mut address = gone.address().to_vec();
    let places: Vec<usize> = (0..address.len() - 3).filter(|at| address[*at..*at + 4] == own).collect();
    if places.is_empty() {
        return println!("\n{SKIPPED}there is no {own:?} in a worker's address");
    }
    places.into_iter().for_each(|at| address[at..at + 4].copy_from_slice(&NOWHERE));
    let (path, content) = (std::env::temp_dir().join(format!("sluice-nowhere-{}", std::process::id())), [7; 1000]);
    std::fs::write(&path, content).expect("written");
    owner.publish(1, 1, path.clone(), None, vec![0, 1000]).expect("good offsets");
    let fetch = |peer: u64, address: &[u8]| {
        reader.connect(peer, address);
        reader.fetch(peer, vec![Block { shuffle: 1, map: 1, first: 0, end: 1 }]).expect("known")
    };
    let (nowhere, there, end) = (fetch(1, &address), fetch(2, owner.address()), Instant::now() + 4 * TIMEOUT);
    let mut ended = Vec::new();
    while ended.len() < 2 {
        assert!(Instant::now() < end, "{ended:?}");
        ended.extend(reader.poll(2, Duration::from_millis(100)).expect("running"));
    }
    ended.sort_by_key(|completion| completion.request);
    assert_eq!([ended[0].request, ended[1].request], [nowhere, there]);
    assert!(matches!(ended[0].result, Err(Failure::Timeout | Failure::Peer)), "{:?}", ended[0]);
    assert_ne!(reader.peer_error(1), "");
    let lease = ended[1].result.as_ref().expect("read").as_ref().expect("it has bytes");
    assert!(lease.as_slice() == content && reader.peer_error(2).is_empty());
    std::fs::remove_file(path).expect("removed");
    println!("\n{RAN}{}", reader.peer_error(1));
}

#[test]
fn an_address_that_is_not_routable_fails_its_own_blocks_in_time() {
    let mut process = Command::new(std::env::current_exe().expect("this program"));
    process.args(["reads_from_nowhere_and_from_a_peer", "--exact", "--ignored", "--nocapture"]);
    process.env("UCX_TLS", "tcp").env("UCX_NET_DEVICES", "^lo");
    let output = process.output().expect("started");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    // A program that is asked for a test that it does not have succeeds, too.
    let end = said.lines().find(|line| [RAN, SKIPPED].iter().any(|word| line.starts_with(word)));
    eprintln!("{}", end.unwrap_or_else(|| panic!("it ran no test: {said}{errors}")));
}
