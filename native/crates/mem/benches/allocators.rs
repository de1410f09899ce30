//! The arena beside a pool behind a mutex, the system's allocator and mimalloc: time per release and lease with 1 to 16
//! threads, footprint over live bytes, and success when memory is 95 % full. `cargo bench -p sluice-mem --bench
//! allocators`; prints tables in Markdown. Sizes are those of the seed's recording, with a long tail up to 64 MiB. With `--
//! --trace FILE` it replays a recording of our own instead (`SLUICE_ARENA_TRACE=FILE`, plain or compressed to `.zst`).
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/support/mod.rs"]
mod support;

#[path = "support/candidates.rs"]
mod candidates;
#[path = "support/churn.rs"]
mod churn;
#[path = "support/mutex_pool.rs"]
mod mutex_pool;
#[path = "support/pressure.rs"]
mod pressure;
#[path = "support/replay.rs"]
mod replay;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use candidates::{Candidate, MIMALLOC, Nothing, SYSTEM};
use mutex_pool::MutexPool;
use replay::Trace;
use sluice_mem::{Arena, ArenaOptions};
use support::FixedProvider;

const CAPACITY: usize = 16 << 30;
/// What the pressure benchmark fills.
const SMALL_CAPACITY: usize = 1 << 30;
const TIME: Duration = Duration::from_millis(1000);
const REPEATS: usize = 5;
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Medians of runs that take turns, so that what else the machine does meets all of them: arena, pool, system, mimalloc, the loop.
fn compare(threads: usize, measure: &dyn Fn(&dyn Candidate) -> f64) -> [f64; 5] {
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..REPEATS {
        let (arena, pool) = (Arena::host(CAPACITY), MutexPool::new(CAPACITY, threads));
        let candidates: [&dyn Candidate; 5] = [&arena, &pool, &SYSTEM, &MIMALLOC, &Nothing::new()];
        for (candidate, times) in candidates.iter().zip(&mut times) {
            times.push(measure(*candidate));
        }
    }
    times.map(median)
}

fn print_speed(name: &str, [arena, pool, system, mi, nothing]: &[f64; 5]) {
    let (gain, loss) = (pool / arena, arena / mi);
    println!("| {name} | {arena:.0} | {pool:.0} | {system:.0} | {mi:.0} | {nothing:.0} | {gain:.1} | {loss:.2} |");
}

fn speed() {
    println!(
        "| threads | arena ns | mutex pool ns | system ns | mimalloc ns | the loop itself ns | pool / arena | arena / mimalloc |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for threads in THREADS {
        let medians = compare(threads, &|candidate| churn::nanoseconds(candidate, threads, TIME));
        print_speed(&threads.to_string(), &medians);
    }
}

fn footprints() {
    println!("\n| threads | arena, taken | arena, mapped | pool, taken | pool, ever handed out |");
    println!("| --- | --- | --- | --- | --- |");
    for threads in THREADS {
        let arena = churn::footprint(&Arena::host(CAPACITY), threads).unwrap();
        let pool = churn::footprint(&MutexPool::new(CAPACITY, threads), threads).unwrap();
        let (taken, reserved) = (arena.taken, arena.reserved);
        println!("| {threads} | {taken:.3} | {reserved:.3} | {:.3} | {:.3} |", pool.taken, pool.reserved);
    }
    println!("\nLargest bytes over live bytes, all threads standing still.");
}

fn refusals() {
    let options = ArenaOptions { region_bytes: SMALL_CAPACITY, ..ArenaOptions::with_limit(SMALL_CAPACITY) };
    let arena = Arena::with_provider(Arc::new(FixedProvider::new(SMALL_CAPACITY)), &options);
    let arena = pressure::refusals(&arena, 16, SMALL_CAPACITY);
    let pool = pressure::refusals(&MutexPool::new(SMALL_CAPACITY, 16), 16, SMALL_CAPACITY);
    println!("\nOf 1,000 allocations at 95 % full: arena refuses {arena:.2}, mutex pool {pool:.2}.");
}

fn replay(trace: &Trace) {
    let (leases, threads, peak) = (trace.leases(), trace.threads, trace.peak_bytes() >> 20);
    println!("{leases} leases by {threads} threads, at most {peak} MiB live\n");
    println!(
        "| calls | arena ns | mutex pool ns | system ns | mimalloc ns | the loop itself ns | pool / arena | arena / mimalloc |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let ways: [(&str, &dyn Fn(&dyn Candidate) -> f64); 2] = [
        ("in order", &|candidate| trace.in_order(candidate)),
        ("all threads at once", &|candidate| trace.at_once(candidate)),
    ];
    for (name, way) in ways {
        print_speed(name, &compare(threads, &|candidate| way(candidate)));
    }
    let held = |candidate: &dyn Candidate| trace.footprint(candidate).unwrap();
    let (arena, pool) = (held(&Arena::host(CAPACITY)), held(&MutexPool::new(CAPACITY, threads)));
    println!(
        "\nLargest bytes over live bytes: arena takes {:.3} and maps {:.3}, pool {:.3} and {:.3}.",
        arena.taken, arena.reserved, pool.taken, pool.reserved
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // Criterion's arguments, which cargo passes on, mean nothing here; a test run is over at once.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--trace") {
        return replay(&Trace::read(Path::new(&arguments[at + 1])));
    }
    speed();
    footprints();
    refusals();
}
