//! The arena beside a pool behind a mutex, the system's allocator and mimalloc: time per release and lease with 1 to 16
//! threads, footprint over live bytes, and success when memory is 95 % full. `cargo bench -p sluice-mem --bench
//! allocators`; prints tables in Markdown. Sizes are those of the seed's recording, with a long tail up to 64 MiB. With
//! `-- --trace FILE` it replays a recording of our own instead (`SLUICE_ARENA_TRACE=FILE`, plain or compressed to
//! `.zst`); with `-- --threads N` it times that many threads and nothing else, and `--only 0` the arena alone.
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
use churn::Cost;
use mutex_pool::MutexPool;
use replay::Trace;
use sluice_mem::{Arena, ArenaOptions};
use support::FixedProvider;

const CAPACITY: usize = 16 << 30;
/// What the pressure benchmark fills.
const SMALL_CAPACITY: usize = 1 << 30;
const TIME: Duration = Duration::from_millis(400);
const REPEATS: usize = 11;
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// The argument after `name`.
fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

/// The best of runs that take turns, so that other load on the machine affects all of them alike: arena, pool, system,
/// mimalloc, the loop.
fn compare(threads: usize, measure: &dyn Fn(&dyn Candidate) -> Cost) -> [Cost; 5] {
    let mut best = [Cost { wall: f64::MAX, cpu: f64::MAX }; 5];
    let only = argument("--only").map(|nth| nth.parse::<usize>().unwrap());
    let (arena, pool) = (Arena::host(CAPACITY), MutexPool::new(CAPACITY, threads));
    for _ in 0..REPEATS {
        let candidates: [&dyn Candidate; 5] = [&arena, &pool, &SYSTEM, &MIMALLOC, &Nothing::new()];
        for (nth, (candidate, best)) in candidates.iter().zip(&mut best).enumerate() {
            if only.is_none_or(|only| nth == only) {
                *best = best.min(measure(*candidate));
            }
        }
    }
    best
}

fn print_head(what: &str) {
    println!(
        "| {what} | | arena ns | mutex pool ns | system ns | mimalloc ns | the loop ns | pool / arena | \
         arena / mimalloc |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
}

fn print_costs(name: &str, costs: &[Cost; 5]) {
    for (kind, costs) in [("clock", costs.map(|cost| cost.wall)), ("processor", costs.map(|cost| cost.cpu))] {
        let [arena, pool, system, mi, nothing] = costs.map(|cost| if cost == f64::MAX { f64::NAN } else { cost });
        let (gain, loss) = (pool / arena, arena / mi);
        println!(
            "| {name} | {kind} | {arena:.0} | {pool:.0} | {system:.0} | {mi:.0} | {nothing:.0} | {gain:.1} | \
             {loss:.2} |"
        );
    }
}

fn speed() {
    print_head("threads");
    let only = argument("--threads").map(|threads| threads.parse().unwrap());
    for threads in THREADS.into_iter().filter(|&threads| only.is_none_or(|only| threads == only)) {
        let costs = compare(threads, &|candidate| churn::cost(candidate, threads, TIME));
        print_costs(&threads.to_string(), &costs);
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
    print_head("calls");
    print_costs("in order", &compare(threads, &|candidate| trace.in_order(candidate)));
    print_costs("all threads at once", &compare(threads, &|candidate| trace.at_once(candidate)));
    let held = |candidate: &dyn Candidate| trace.footprint(candidate).unwrap();
    let (arena, pool) = (held(&Arena::host(CAPACITY)), held(&MutexPool::new(CAPACITY, threads)));
    println!(
        "\nLargest bytes over live bytes: arena takes {:.3} and maps {:.3}, pool {:.3} and {:.3}.",
        arena.taken, arena.reserved, pool.taken, pool.reserved
    );
}

fn main() {
    // Criterion's arguments, which cargo passes on, mean nothing here; a test run is over at once.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if let Some(file) = argument("--trace") {
        return replay(&Trace::read(Path::new(&file)));
    }
    speed();
    if argument("--threads").is_none() {
        footprints();
        refusals();
    }
}
