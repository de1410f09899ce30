//! A lease and its free on a GPU's streams, one per thread: this crate's stream arena beside a pool behind a mutex and
//! beside the driver's own stream-ordered pool (`cuMemAllocAsync`). `cargo bench -p sluice-gpu-mem --bench streams --
//! [--threads N] [--seconds S]` prints tables in Markdown.
//!
//! - *one size*: each thread leases 1 MiB and frees it at once, what a loop over equal batches does;
//! - *the seed's sizes*: each thread replaces one of its 16 leases at random.
//!
//! The mutex pool is compared twice: with an event recorded at each free, as RMM's pools do, so that other streams can
//! have the block; and without any event, which is wrong on a GPU and shows what the lock alone costs.
//!
//! No kernel and no copy runs: the device has nothing to do but events. Every 64 leases a thread asks whether its
//! stream is done, as a task with batches under way does; the simulator does its work then. On the simulator only the
//! counts mean anything.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

#[allow(dead_code, reason = "a part of it is used")]
#[path = "../../mem/benches/support/mutex_pool.rs"]
mod mutex_pool;
#[path = "../../mem/tests/support/mod.rs"]
mod support;

use mutex_pool::MutexPool;
use sluice_cuda::{Context, DeviceAddress, Driver, Event, Stream, Wait};
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions, StreamLease, StreamStatistics};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use support::Random;

const LIMIT: usize = 4 << 30;
const SLOTS: usize = 16;
const ONE_SIZE: usize = 1 << 20;
const REPEATS: usize = 5;
/// Leases between two questions to the stream.
const STEPS: u64 = 64;

/// One thread's leases; slot by slot they are replaced.
trait Worker {
    fn replace(&mut self, slot: usize, bytes: usize);
    fn free(&mut self, slot: usize);
    fn stream(&self) -> &Stream;
}

/// What is compared.
trait Candidate: Sync {
    fn name(&self) -> &'static str;
    /// For the thread with this number, on its default stream.
    fn worker<'a>(&'a self, thread: usize, stream: Stream) -> Box<dyn Worker + 'a>;
}

struct Ours(Arc<StreamArena>);

struct OurWorker {
    stream: ArenaStream,
    slots: [Option<StreamLease>; SLOTS],
}

impl Candidate for Ours {
    fn name(&self) -> &'static str {
        "stream arena"
    }

    fn worker<'a>(&'a self, _: usize, stream: Stream) -> Box<dyn Worker + 'a> {
        Box::new(OurWorker { stream: self.0.attach(stream), slots: [const { None }; SLOTS] })
    }
}

impl Worker for OurWorker {
    fn replace(&mut self, slot: usize, bytes: usize) {
        self.free(slot);
        self.slots[slot] = Some(self.stream.lease(bytes, Wait::at_most(Duration::from_secs(10))).unwrap());
    }

    fn free(&mut self, slot: usize) {
        self.slots[slot].take().into_iter().for_each(|lease| self.stream.free(lease));
    }

    fn stream(&self) -> &Stream {
        self.stream.stream()
    }
}

/// The pool's addresses are host memory that nobody touches: it is the bookkeeping that is timed.
struct Pool {
    pool: MutexPool,
    context: Context,
    events: bool,
}

struct PoolWorker<'a> {
    pool: &'a MutexPool,
    thread: usize,
    stream: Stream,
    event: Option<Event>,
    slots: [Option<(usize, usize)>; SLOTS],
}

impl Candidate for Pool {
    fn name(&self) -> &'static str {
        if self.events { "mutex pool" } else { "mutex pool without events" }
    }

    fn worker<'a>(&'a self, thread: usize, stream: Stream) -> Box<dyn Worker + 'a> {
        let event = self.events.then(|| self.context.event().unwrap());
        Box::new(PoolWorker { pool: &self.pool, thread, stream, event, slots: [None; SLOTS] })
    }
}

impl Worker for PoolWorker<'_> {
    fn replace(&mut self, slot: usize, bytes: usize) {
        self.free(slot);
        self.slots[slot] = Some((self.pool.allocate(self.thread, bytes).unwrap(), bytes));
    }

    fn free(&mut self, slot: usize) {
        if let Some((address, bytes)) = self.slots[slot].take() {
            self.event.iter().for_each(|event| event.record(&self.stream).unwrap());
            self.pool.free(self.thread, address, bytes);
        }
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }
}

struct DriversPool;

struct DriversWorker {
    stream: Stream,
    slots: [Option<DeviceAddress>; SLOTS],
}

impl Candidate for DriversPool {
    fn name(&self) -> &'static str {
        "cuMemAllocAsync"
    }

    fn worker<'a>(&'a self, _: usize, stream: Stream) -> Box<dyn Worker + 'a> {
        Box::new(DriversWorker { stream, slots: [None; SLOTS] })
    }
}

impl Worker for DriversWorker {
    fn replace(&mut self, slot: usize, bytes: usize) {
        self.free(slot);
        self.slots[slot] = Some(self.stream.allocate_from_pool(bytes).unwrap());
    }

    fn free(&mut self, slot: usize) {
        // SAFETY: allocated from the pool, given back once, and no work uses it.
        self.slots[slot].take().into_iter().for_each(|at| unsafe { self.stream.free_to_pool(at).unwrap() });
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }
}

/// How leases are made.
#[derive(Debug, Clone, Copy)]
enum Load {
    OneSize,
    SeedSizes,
}

impl Load {
    fn steps(self, worker: &mut dyn Worker, random: &mut Random) {
        (0..STEPS).for_each(|_| self.step(worker, random));
        worker.stream().is_done().unwrap();
    }

    fn step(self, worker: &mut dyn Worker, random: &mut Random) {
        match self {
            Self::OneSize => {
                worker.replace(0, ONE_SIZE);
                worker.free(0);
            }
            Self::SeedSizes => worker.replace(random.below(SLOTS), random.seed_size()),
        }
    }
}

/// Leases with their frees of all threads together in a second.
fn per_second(candidate: &dyn Candidate, context: &Context, load: Load, threads: usize, time: Duration) -> f64 {
    let (start, steps) = (Barrier::new(threads), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, steps) = (&start, &steps);
            scope.spawn(move || {
                let mut worker = candidate.worker(thread, context.thread_stream());
                let mut random = Random(thread as u64);
                let mut run = |time: Duration| {
                    let (begun, mut steps) = (Instant::now(), 0);
                    while begun.elapsed() < time {
                        load.steps(&mut *worker, &mut random);
                        steps += STEPS;
                    }
                    steps
                };
                run(time / 4);
                start.wait();
                let own = run(time);
                steps.fetch_add(own, Relaxed);
                // No thread gives its leases back while others are timed.
                start.wait();
                (0..SLOTS).for_each(|slot| worker.free(slot));
            });
        }
    });
    steps.into_inner() as f64 / time.as_secs_f64()
}

fn print_counts(name: &str, counts: StreamStatistics) {
    let leases = (counts.leases_from_limbo + counts.leases_from_arena) as f64;
    println!(
        "\n{name}: {leases:.0} leases, {:.1} % from the stream's limbo, {:.1} leases an event, {:.2} questions an \
         event, {} waits.",
        100.0 * counts.leases_from_limbo as f64 / leases,
        leases / counts.events.max(1) as f64,
        counts.polls as f64 / counts.events.max(1) as f64,
        counts.waits
    );
}

fn compare(context: &Context, load: Load, threads: usize, time: Duration) {
    let arena = StreamArena::new(context.clone(), StreamArenaOptions::with_limit(LIMIT));
    let pool = |events| Pool { pool: MutexPool::new(LIMIT, threads), context: context.clone(), events };
    let candidates: [&dyn Candidate; 4] = [&Ours(Arc::clone(&arena)), &pool(true), &pool(false), &DriversPool];
    let mut best = [0f64; 4];
    // They take turns, so that other load on the machine affects all of them alike.
    for _ in 0..REPEATS {
        for (candidate, best) in candidates.iter().zip(&mut best) {
            *best = best.max(per_second(*candidate, context, load, threads, time));
        }
    }
    println!("\n| {load:?}, {threads} threads | million a second | ns a thread | ours is |");
    println!("| --- | --- | --- | --- |");
    for (candidate, best_of) in candidates.iter().zip(best) {
        let (millions, ns) = (best_of / 1e6, threads as f64 * 1e9 / best_of);
        println!("| {} | {millions:.2} | {ns:.0} | {:.1} × |", candidate.name(), best[0] / best_of);
    }
    print_counts("stream arena", arena.statistics());
}

/// The number after `name`.
fn argument(name: &str) -> Option<f64> {
    std::env::args().skip_while(|argument| argument != name).nth(1).and_then(|value| value.parse().ok())
}

fn main() {
    // A test run is over at once.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let device = match Driver::open().and_then(|driver| driver.select(None)) {
        Ok(device) => device,
        Err(error) => return println!("no GPU, so nothing is measured: {error}"),
    };
    println!("{}, driver {}", device.describe(), device.driver().describe());
    let context = device.context().unwrap();
    let time = Duration::from_secs_f64(argument("--seconds").unwrap_or(1.0));
    let threads = argument("--threads").map_or(vec![1, 4, 16], |threads| vec![threads as usize]);
    for load in [Load::OneSize, Load::SeedSizes] {
        threads.iter().for_each(|&threads| compare(&context, load, threads, time));
    }
}
