//! A thousand busy peers within one budget of memory: what the agent has on the heap for them, and the memory of the
//! blocks that are being received.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_mem::Arena;
use sluice_transport::crowd::Crowd;
use sluice_transport::{Block, Statistic, TransportOptions};

/// Counts the bytes of the heap.
struct Counting;

static HEAP_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; only a number is kept beside.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HEAP_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PEERS: usize = 1000;
const MIB: usize = 1 << 20;

/// Each peer is asked for 512 blocks of 64 KiB (32 GiB in all) while none of them answers a read, and each asks for 512
/// blocks itself.
#[test]
fn a_thousand_busy_peers_take_less_than_256_mib_with_the_blocks_that_are_received() {
    let options = TransportOptions { max_connections: 2 * PEERS, ..TransportOptions::default() };
    let before = HEAP_BYTES.load(Ordering::Relaxed);
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
    let heap = HEAP_BYTES.load(Ordering::Relaxed) - before;
    let leased = crowd.arena().leased_bytes();
    println!("{PEERS} busy peers: {} KiB of heap, {} MiB of blocks", heap >> 10, leased / MIB);
    assert!(heap + leased <= 256 * MIB, "{heap} bytes of heap, {leased} of blocks");
    assert!(crowd.gets_in_flight() >= PEERS, "each peer is read from: {}", crowd.gets_in_flight());
}
