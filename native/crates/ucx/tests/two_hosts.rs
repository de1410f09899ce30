//! Reads from an owner on another host. `tools/rdma-test` starts these tests in two virtual machines that a link joins:
//! [`owner`] in one of them, the others, which get its address in a variable, in the other. What is to happen to the
//! owner's host, the program that started them does when a test prints [`READING`] or [`FAILED`].

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Failure, Transport, TransportOptions};

const TIMEOUT: Duration = Duration::from_secs(5);
/// By when blocks must have ended whose owner is gone: the timeout, and a slow machine's turns.
const ENDED: Duration = Duration::from_secs(8);
/// By when the device has given up its reads, so that their memory can be used again, or a link is used again.
const PATIENCE: Duration = Duration::from_secs(120);
const PARTITION: usize = 256 << 10;
const BLOCKS: usize = 64;
const ADDRESS: &str = "address ";
/// As the owner has printed it, in hexadecimal digits.
const OWNERS_ADDRESS: &str = "SLUICE_TEST_OWNERS_ADDRESS";
/// Printed when blocks come.
const READING: &str = "reading";
/// Printed when they come no more.
const FAILED: &str = "failed";

fn content() -> Vec<u8> {
    (0..BLOCKS * PARTITION).map(|i| (i / 7 + i) as u8).collect()
}

fn start() -> (Transport, Arc<Arena>) {
    let ucx = common::ucx().expect("a UCX");
    let (arena, regions) = common::receive_arena(1 << 30);
    let options = TransportOptions { secret: b"s".to_vec(), timeout: TIMEOUT, ..TransportOptions::default() };
    let make = move || sluice_ucx::wire(ucx, regions, Arc::default(), TIMEOUT);
    (Transport::start(make, Arc::clone(&arena), options).expect("started"), arena)
}

#[test]
#[ignore = "on the other host of tools/rdma-test"]
fn owner() {
    let (owner, _arena) = start();
    let file = std::env::temp_dir().join(format!("sluice-two-hosts-{}", std::process::id()));
    std::fs::write(&file, content()).expect("written");
    let offsets = (0..=BLOCKS).map(|block| (block * PARTITION) as u64).collect();
    owner.publish(1, 1, file, None, offsets).expect("good offsets");
    let address: String = owner.address().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("\n{ADDRESS}{address}");
    // Until its process or its machine is ended.
    std::thread::sleep(Duration::from_secs(3600));
}

/// A transport that is connected to the owner, and what it reads.
struct Reader {
    transport: Transport,
    arena: Arc<Arena>,
    owner: Vec<u8>,
    content: Vec<u8>,
}

impl Reader {
    fn start() -> Self {
        let (transport, arena) = start();
        let digits = std::env::var(OWNERS_ADDRESS).expect("the owner's address");
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
        let owner: Vec<u8> = digits.trim().as_bytes().chunks(2).map(byte).collect();
        transport.connect(1, &owner);
        Self { transport, arena, owner, content: content() }
    }

    /// Asks for all blocks once; how many were read, the others have failed. It panics over wrong bytes, over failures
    /// of another kind than that of a peer, and if they have not all ended within `longest` of the last that was read.
    fn round(&self, longest: Duration) -> usize {
        let block = |first| Block { shuffle: 1, map: 1, first, end: first + 1 };
        let Ok(_) = self.transport.fetch(1, (0..BLOCKS as u32).map(block).collect()) else { return 0 };
        let (mut ended, mut read, mut end) = (0, 0, Instant::now() + longest);
        while ended < BLOCKS {
            assert!(Instant::now() < end, "{ended} of {BLOCKS} blocks have ended");
            for completion in self.transport.poll(BLOCKS, Duration::from_millis(50)).expect("running") {
                ended += 1;
                match completion.result {
                    Ok(lease) => {
                        let at = completion.index as usize * PARTITION;
                        let right = &self.content[at..at + PARTITION];
                        assert!(lease.expect("it has bytes").as_slice() == right, "block {}", completion.index);
                        (read, end) = (read + 1, Instant::now() + longest);
                    }
                    Err(why) => assert!(matches!(why, Failure::Peer | Failure::Timeout), "{why:?}"),
                }
            }
        }
        read
    }

    /// Reads until a round fails; how long that round took.
    fn read_until_it_fails(&self) -> Duration {
        let end = Instant::now() + PATIENCE;
        for rounds in 0.. {
            assert!(Instant::now() < end, "{rounds} rounds were read, and nothing happened to the owner");
            let begun = Instant::now();
            if self.round(ENDED) < BLOCKS {
                assert!(rounds > 0, "nothing was read before");
                return begun.elapsed();
            }
            if rounds == 0 {
                println!("\n{READING}");
            }
        }
        unreachable!("it is over after some time")
    }

    /// Waits until no read holds memory any more; how long.
    fn until_nothing_is_leased(&self) -> Duration {
        let begun = Instant::now();
        while self.arena.leased_bytes() > 0 {
            assert!(begun.elapsed() < PATIENCE, "{} bytes are still leased", self.arena.leased_bytes());
            std::thread::sleep(Duration::from_millis(50));
        }
        begun.elapsed()
    }
}

#[test]
#[ignore = "needs another host: tools/rdma-test"]
fn all_blocks_of_another_host_are_read() {
    let reader = Reader::start();
    assert_eq!(reader.round(4 * TIMEOUT), BLOCKS);
    assert_eq!(reader.arena.leased_bytes(), 0);
}

/// Its blocks end within the transport's timeout, however long UCX and the device try; so do those asked for later.
#[test]
#[ignore = "needs another host: tools/rdma-test"]
fn a_host_that_vanishes_ends_its_blocks_in_time() {
    let reader = Reader::start();
    let failed = reader.read_until_it_fails();
    let begun = Instant::now();
    assert_eq!(reader.round(ENDED), 0);
    let (again, released) = (begun.elapsed(), reader.until_nothing_is_leased());
    println!(
        "\nblocks ended after {failed:.1?}, later ones after {again:.1?}, memory was released after {released:.1?}"
    );
}

/// Longer than the device tries: its blocks have failed by then, and it is connected again.
#[test]
#[ignore = "needs another host: tools/rdma-test"]
fn a_host_that_stood_still_is_read_again() {
    let reader = Reader::start();
    let failed = reader.read_until_it_fails();
    println!("\n{FAILED}");
    let begun = Instant::now();
    while reader.round(ENDED) < BLOCKS {
        assert!(begun.elapsed() < PATIENCE, "nothing was read for {PATIENCE:?}: {}", reader.transport.peer_error(1));
        std::thread::sleep(Duration::from_millis(500));
        reader.transport.connect(1, &reader.owner);
    }
    let (again, released) = (begun.elapsed(), reader.until_nothing_is_leased());
    println!(
        "\nblocks ended after {failed:.1?}, were read again {again:.1?} later, memory was released after {released:.1?}"
    );
}
