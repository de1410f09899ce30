//! The arena beside a pool behind a mutex, the system's allocator and mimalloc: time per lease and release with 1 to 16
//! threads, footprint over live bytes, and success when memory is 95 % full. `cargo bench -p sluice-mem --bench
//! allocators`; prints a table in Markdown. Sizes are those of the seed's recording, with a long tail up to 64 MiB.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/support/mod.rs"]
mod support;

#[path = "support/mutex_pool.rs"]
mod mutex_pool;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use mimalloc::MiMalloc;
use mutex_pool::MutexPool;
use sluice_mem::{Arena, ArenaOptions};
use support::{FixedProvider, Random};

/// Live allocations of a thread.
const WORKING_SET: usize = 64;
const ALIGN: usize = 64;
const CAPACITY: usize = 16 << 30;
/// What the pressure benchmark fills.
const SMALL_CAPACITY: usize = 1 << 30;
const TIME: Duration = Duration::from_millis(1500);
const REPEATS: usize = 5;
/// Of a hundred allocations, so many are of the long tail.
const TAIL: usize = 2;

/// A size of the seed's table, or of the tail behind it: evenly over the powers of two from 8 KiB to 64 MiB.
fn size(random: &mut Random) -> usize {
    if random.below(100) < TAIL {
        let power = 13 + random.below(13);
        (1 << power) + random.below(1 << power)
    } else {
        random.seed_size()
    }
}

/// What is compared. Addresses as numbers, 0 for none.
trait Allocator: Sync {
    fn allocate(&self, thread: usize, bytes: usize) -> usize;
    fn free(&self, thread: usize, address: usize, bytes: usize);
    /// Bytes taken from the system's side that nobody else can have, if the allocator can tell.
    fn footprint(&self) -> Option<usize>;
}

impl Allocator for Arc<Arena> {
    fn allocate(&self, _: usize, bytes: usize) -> usize {
        self.lease_raw(bytes).map_or(0, |start| start.as_ptr().expose_provenance())
    }

    fn free(&self, _: usize, address: usize, _: usize) {
        self.release_raw(address).unwrap();
    }

    fn footprint(&self) -> Option<usize> {
        let statistics = self.statistics();
        Some(statistics.reserved_bytes - statistics.free_bytes)
    }
}

impl Allocator for MutexPool {
    fn allocate(&self, thread: usize, bytes: usize) -> usize {
        MutexPool::allocate(self, thread, bytes).unwrap_or(0)
    }

    fn free(&self, thread: usize, address: usize, bytes: usize) {
        MutexPool::free(self, thread, address, bytes);
    }

    fn footprint(&self) -> Option<usize> {
        Some(self.taken_bytes())
    }
}

struct General<A>(A);

impl<A: GlobalAlloc + Sync> Allocator for General<A> {
    fn allocate(&self, _: usize, bytes: usize) -> usize {
        // SAFETY: sizes are above zero, the alignment is a power of two.
        unsafe { self.0.alloc(Layout::from_size_align(bytes, ALIGN).unwrap()) }.expose_provenance()
    }

    fn free(&self, _: usize, address: usize, bytes: usize) {
        // SAFETY: allocated with this layout, freed once.
        unsafe {
            self.0.dealloc(
                std::ptr::with_exposed_provenance_mut(address),
                Layout::from_size_align(bytes, ALIGN).unwrap(),
            );
        }
    }

    fn footprint(&self) -> Option<usize> {
        None
    }
}

/// Nanoseconds per release and lease, all threads together (the inverse of the throughput), and the largest footprint over
/// live bytes.
fn churn(allocator: &dyn Allocator, threads: usize) -> (f64, Option<f64>) {
    let (start, live, steps) = (Barrier::new(threads + 1), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut worst: Option<f64> = None;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, live, steps) = (&start, &live, &steps);
            scope.spawn(move || {
                let mut random = Random(thread as u64 * 7 + 1);
                let mut slots = vec![(0usize, 0usize); WORKING_SET];
                let fill = |slot: &mut (usize, usize), random: &mut Random| {
                    if slot.0 != 0 {
                        allocator.free(thread, slot.0, slot.1);
                        live.fetch_sub(slot.1, Relaxed);
                    }
                    let bytes = size(random);
                    *slot = (allocator.allocate(thread, bytes), bytes);
                    assert_ne!(slot.0, 0, "there is room");
                    live.fetch_add(bytes, Relaxed);
                    // SAFETY: ours, at least one byte. Who allocates writes.
                    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(slot.0).write_volatile(1) };
                };
                slots.iter_mut().for_each(|slot| fill(slot, &mut random));
                start.wait();
                let begun = Instant::now();
                let mut count = 0;
                while begun.elapsed() < TIME {
                    for _ in 0..64 {
                        let slot = random.below(WORKING_SET);
                        fill(&mut slots[slot], &mut random);
                    }
                    count += 64;
                }
                steps.fetch_add(count, Relaxed);
                for (address, bytes) in slots {
                    allocator.free(thread, address, bytes);
                    live.fetch_sub(bytes, Relaxed);
                }
            });
        }
        start.wait();
        let begun = Instant::now();
        while begun.elapsed() < TIME - Duration::from_millis(100) {
            std::thread::sleep(Duration::from_millis(10));
            if let Some(taken) = allocator.footprint() {
                let ratio = taken as f64 / live.load(Relaxed) as f64;
                worst = Some(worst.map_or(ratio, |worst| worst.max(ratio)));
            }
        }
    });
    (TIME.as_secs_f64() * 1e9 / steps.load(Relaxed) as f64, worst)
}

/// Of a thousand allocations around 95 % of the capacity, how many fail.
fn pressure(allocator: &dyn Allocator, threads: usize) -> f64 {
    let mut random = Random(11);
    let (mut live, mut slots) = (0, Vec::<(usize, usize, usize)>::new());
    let (mut tried, mut failed) = (0u64, 0u64);
    for step in 0..40_000 {
        let (thread, bytes) = (step % threads, support::Random::seed_size(&mut random));
        while live + bytes > SMALL_CAPACITY / 100 * 95 {
            let (thread, address, bytes) = slots.swap_remove(random.below(slots.len()));
            allocator.free(thread, address, bytes);
            live -= bytes;
        }
        tried += 1;
        match allocator.allocate(thread, bytes) {
            0 => failed += 1,
            address => {
                slots.push((thread, address, bytes));
                live += bytes;
            }
        }
    }
    slots.into_iter().for_each(|(thread, address, bytes)| allocator.free(thread, address, bytes));
    failed as f64 * 1000.0 / tried as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // Criterion's arguments, which cargo passes on, mean nothing here; a test run is over at once.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("| threads | arena ns | mutex pool ns | system ns | mimalloc ns | pool / arena | arena / mimalloc |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let (mut arenas, mut pools) = (0.0f64, 0.0f64);
    for threads in [1, 2, 4, 8, 16] {
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..REPEATS {
            let arena = Arena::host(CAPACITY);
            let pool = MutexPool::new(CAPACITY, threads);
            let allocators: [&dyn Allocator; 4] = [&arena, &pool, &General(System), &General(MiMalloc)];
            for (allocator, times) in allocators.iter().zip(&mut times) {
                times.push(churn(*allocator, threads));
            }
        }
        let ns = times.each_ref().map(|times| median(times.iter().map(|(ns, _)| *ns).collect()));
        let worst = |times: &Vec<(f64, Option<f64>)>| times.iter().filter_map(|time| time.1).fold(0.0, f64::max);
        arenas = arenas.max(worst(&times[0]));
        pools = pools.max(worst(&times[1]));
        let [arena, pool, system, mi] = ns;
        let (gain, loss) = (pool / arena, arena / mi);
        println!("| {threads} | {arena:.0} | {pool:.0} | {system:.0} | {mi:.0} | {gain:.1} | {loss:.2} |");
    }
    println!("\nLargest footprint over live bytes: arena {arenas:.3}, mutex pool {pools:.3}.");
    let options = ArenaOptions { region_bytes: SMALL_CAPACITY, ..ArenaOptions::with_limit(SMALL_CAPACITY) };
    let arena = Arena::with_provider(Arc::new(FixedProvider::new(SMALL_CAPACITY)), &options);
    let pool = MutexPool::new(SMALL_CAPACITY, 16);
    let (arena, pool) = (pressure(&arena, 16), pressure(&pool, 16));
    println!("Of 1,000 allocations at 95 % full: arena refuses {arena:.2}, mutex pool {pool:.2}.");
}
