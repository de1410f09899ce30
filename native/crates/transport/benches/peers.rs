//! What an agent costs with so many peers: `cargo bench -p sluice-transport --bench peers`. The peers are simulated
//! (`crowd.rs`): no network, no copy of bytes, so these are the agent's own time and memory.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_testkit::memory::{HeapCountingAllocator, heap_bytes};
use sluice_transport::TransportOptions;
use sluice_transport::crowd::Crowd;

#[global_allocator]
static ALLOCATOR: HeapCountingAllocator = HeapCountingAllocator;

const BLOCK_BYTES: usize = 64 << 10;
const BLOCKS: usize = 512;
const TURNS: usize = 20_000;
const MIB: usize = 1 << 20;

fn main() {
    println!("Microseconds; connecting: of the processor, the others: the median of the clock.\n");
    println!(
        "| peers | connecting | heap a peer: idle, busy | idle turn | reads under way | a ready get | each of 64 |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    [1, 10, 100, 1000].into_iter().for_each(measure);
    println!("\n| memory for received blocks | time, ms | waits | waited together, ms | most leased |");
    println!("| --- | --- | --- | --- | --- |");
    [8, 32, 128, 512, 1024].into_iter().for_each(|limit| wait_within(limit * MIB));
}

fn measure(peers: usize) {
    let options = TransportOptions { max_connections: 2 * peers, ..TransportOptions::default() };
    let before = heap_bytes();
    let mut crowd = Crowd::new(peers, BLOCK_BYTES, Arena::host(16 << 30), &options).expect("good options");
    let start = processor_time();
    (0..peers).for_each(|peer| crowd.connect(peer));
    crowd.settle();
    let connecting = (processor_time() - start).as_secs_f64() * 1e6 / peers as f64;
    let idle_bytes = heap_bytes().saturating_sub(before) / peers;
    let idle = turn(&mut crowd, |_| {});
    crowd.set_common_rate(0);
    (0..peers).for_each(|peer| _ = crowd.fetch(peer, BLOCKS));
    crowd.settle();
    let busy_bytes = heap_bytes().saturating_sub(before) / peers;
    let waiting = turn(&mut crowd, |_| {});
    crowd.set_common_rate(BLOCK_BYTES);
    let one = turn(&mut crowd, |crowd| refill(crowd, peers));
    crowd.set_common_rate(64 * BLOCK_BYTES);
    let many = turn(&mut crowd, |crowd| refill(crowd, peers));
    println!(
        "| {peers} | {connecting:.1} | {:.1} KB, {:.1} KB | {idle:.2} | {waiting:.2} | {one:.2} | {:.2} |",
        idle_bytes as f64 / 1e3,
        busy_bytes as f64 / 1e3,
        many / 64.0
    );
}

/// Gives back what was read, and has as much read again.
fn refill(crowd: &mut Crowd, peers: usize) {
    drop(crowd.take());
    if crowd.gets_in_flight() < peers * 4 {
        (0..peers).for_each(|peer| _ = crowd.fetch(peer, BLOCKS));
        crowd.settle_for(4);
    }
}

/// The median time of a turn, in microseconds; what is done between turns does not count.
fn turn(crowd: &mut Crowd, between: impl Fn(&mut Crowd)) -> f64 {
    let mut times: Vec<Duration> = (0..TURNS)
        .map(|_| {
            between(crowd);
            crowd.pass(Duration::from_micros(2));
            let start = Instant::now();
            crowd.turn();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Ten peers, 256 blocks of each; in 10 us of the test's time all of them serve 192 KiB (20 GB/s), and a block is given
/// back 2 ms after it has come.
fn wait_within(limit: usize) {
    let mut crowd =
        Crowd::new(10, BLOCK_BYTES, Arena::host(limit), &TransportOptions::default()).expect("good options");
    (0..10).for_each(|peer| crowd.connect(peer));
    crowd.settle();
    crowd.set_common_rate(3 * BLOCK_BYTES);
    (0..10).for_each(|peer| _ = crowd.fetch(peer, 256));
    let (mut kept, mut ended, mut turns, mut most) = (VecDeque::new(), 0, 0, 0);
    while ended < 2560 {
        crowd.turn_for(Duration::from_micros(10));
        turns += 1;
        let taken = crowd.take();
        assert!(taken.iter().all(|completion| completion.result.is_ok()), "{taken:?}");
        ended += taken.len();
        kept.push_back(taken);
        if kept.len() > 200 {
            drop(kept.pop_front());
        }
        most = most.max(crowd.arena().leased_bytes());
    }
    let waits = crowd.waits();
    println!(
        "| {} MiB | {:.1} | {} | {:.1} | {} MiB |",
        limit / MIB,
        f64::from(turns) / 100.0,
        waits.waits,
        waits.time.as_secs_f64() * 1e3,
        most / MIB
    );
}

/// That of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
