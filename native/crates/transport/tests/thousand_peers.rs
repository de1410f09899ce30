//! A thousand busy peers within one budget of memory: what the agent has on the heap for them, and the memory of the
//! blocks that are being received.

use sluice_mem::Arena;
use sluice_testkit::memory::{HeapCountingAllocator, heap_bytes};
use sluice_transport::crowd::Crowd;
use sluice_transport::{Block, Statistic, TransportOptions};

#[global_allocator]
static ALLOCATOR: HeapCountingAllocator = HeapCountingAllocator;

const PEERS: usize = 1000;
const MIB: usize = 1 << 20;

/// Each peer is asked for 512 blocks of 64 KiB (32 GiB in all) while none of them answers a read, and each asks for 512
/// blocks itself.
#[test]
fn a_thousand_busy_peers_take_less_than_256_mib_with_the_blocks_that_are_received() {
    let options = TransportOptions { max_connections: 2 * PEERS, ..TransportOptions::default() };
    let before = heap_bytes();
    let mut crowd = Crowd::new(PEERS, 64 << 10, Arena::host(144 * MIB), &options).expect("good options");
    (0..PEERS).for_each(|peer| crowd.connect(peer));
    crowd.settle();
    crowd.set_common_rate(0);
    (0..PEERS).for_each(|peer| _ = crowd.fetch(peer, 512));
    (0..PEERS).for_each(|peer| crowd.greet(peer));
    crowd.settle();
    for peer in 0..PEERS {
        crowd.ask(peer, 1, (0..512).map(|map| Block { shuffle: 1, map, first: 0, end: 1 }).collect());
    }
    crowd.settle();
    assert_eq!(crowd.statistic(Statistic::Connections), PEERS as u64, "no reader was refused");
    let heap = heap_bytes() - before;
    let leased = crowd.arena().leased_bytes();
    println!("{PEERS} busy peers: {} KiB of heap, {} MiB of blocks", heap >> 10, leased / MIB);
    assert!(heap + leased <= 256 * MIB, "{heap} bytes of heap, {leased} of blocks");
    assert!(crowd.gets_in_flight() >= PEERS, "each peer is read from: {}", crowd.gets_in_flight());
}
