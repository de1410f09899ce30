//! Programs that are not Sluice connect to the TCP ports of UCX and send what they like: nothing crashes, and blocks
//! are read as before. Needs a UCX, as `two_workers`; without, the test says that it was skipped.

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Completion, Transport, TransportOptions};
use sluice_ucx::UcxWire;

const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(30);
const SCANS: u64 = 40;
/// Connections that stay open and send nothing while others come.
const SILENT: usize = 16;
const PARTITION: usize = 1000;
const LISTENS: &str = "0A";

/// Where this process listens for TCP, as Linux says it.
fn listening() -> Vec<SocketAddr> {
    let sockets: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .expect("Linux")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string()))
        .collect();
    // A kernel without IPv6 has no second table.
    let table = |name| std::fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default();
    let tables = [table("tcp"), table("tcp6")];
    let address = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let (host, port) = local.split_once(':')?;
        let host = host_of(host)?;
        let ours = *state == LISTENS && sockets.iter().any(|socket| socket == inode);
        ours.then_some(SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?))
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(address).collect()
}

/// An address as Linux's tables write it, 32 bits a number; where to connect to reach it.
fn host_of(hex: &str) -> Option<IpAddr> {
    let number = |digits| Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes());
    let bytes = (0..hex.len() / 8).map(|i| number(hex.get(8 * i..8 * i + 8)?)).collect::<Option<Vec<_>>>()?.concat();
    let host = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
    };
    Some(match host {
        IpAddr::V4(host) if host.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(host) if host.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        host => host,
    })
}

fn start(arena: &Arc<Arena>) -> Option<Transport> {
    let ucx = common::ucx()?;
    let options = TransportOptions { secret: b"s".to_vec(), timeout: TIMEOUT, ..TransportOptions::default() };
    Some(Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started"))
}

fn read_one(reader: &Transport) -> Completion {
    let block = Block { shuffle: 1, map: 1, first: 0, end: 1 };
    reader.fetch(1, vec![block]).expect("known");
    let end = Instant::now() + LONGEST;
    loop {
        assert!(Instant::now() < end, "no block has ended");
        if let Some(completion) = reader.poll(1, Duration::from_millis(100)).expect("running").pop() {
            return completion;
        }
    }
}

/// What a scanner sends first.
fn greeting(scan: u64) -> Vec<u8> {
    match scan % 6 {
        0 => Vec::new(),
        1 => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        2 => vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3],
        3 => vec![0; 4096],
        4 => vec![0xFF; 70_000],
        _ => (0..scan * 331).map(|i| (i * i + scan) as u8).collect(),
    }
}

/// Sends something and waits a moment for an answer. The other side may close the connection at any point.
fn scan(at: SocketAddr, scan: u64) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&at, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(5))).expect("set");
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("set");
    let _ = stream.write_all(&greeting(scan));
    let _ = stream.read(&mut [0; 256]);
    Some(stream)
}

#[test]
fn who_connects_and_is_not_sluice_disturbs_no_reads() {
    let arena = Arena::host(1 << 26);
    let (Some(owner), Some(reader)) = (start(&arena), start(&arena)) else { return };
    let path = std::env::temp_dir().join(format!("sluice-ucx-{}-scanner", std::process::id()));
    std::fs::write(&path, vec![7; PARTITION]).expect("written");
    owner.publish(1, 1, path.clone(), None, vec![0, PARTITION as u64]).expect("good offsets");
    reader.connect(1, owner.address());
    let is_right = |completion: &Completion| {
        completion.result.as_ref().expect("read").as_ref().expect("bytes").as_slice() == [7; PARTITION]
    };
    assert!(is_right(&read_one(&reader)));
    let ports = listening();
    if ports.is_empty() {
        return eprintln!("skipped: this UCX listens for no TCP (UCX_TLS={:?})", std::env::var_os("UCX_TLS"));
    }
    let silent: Vec<_> = ports.iter().flat_map(|at| (0..SILENT).filter_map(|_| scan(*at, 0))).collect();
    assert!(!silent.is_empty(), "no connection was accepted");
    for number in 0..SCANS {
        ports.iter().for_each(|at| drop(scan(*at, number)));
        assert!(is_right(&read_one(&reader)), "after scan {number}: {}", reader.peer_error(1));
    }
    drop(silent);
    assert!(is_right(&read_one(&reader)));
    assert_eq!(arena.leased_bytes(), 0);
    std::fs::remove_file(path).expect("removed");
}
