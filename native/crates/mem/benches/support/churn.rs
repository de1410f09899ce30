//! Threads that replace allocations of the seed's sizes at random: how long one takes, and how much memory is held
//! meanwhile.

use crate::candidates::{Candidate, Footprint};
use crate::support::Random;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Live allocations of a thread.
const WORKING_SET: usize = 64;
/// Of a hundred allocations, so many are of the long tail.
const TAIL: usize = 2;
/// Rounds of the footprint's run, and replacements between two looks at it.
const ROUNDS: usize = 60;
const STEPS: usize = 250;

/// A size of the seed's table, or of the tail behind it: evenly over the powers of two from 8 KiB to 64 MiB.
fn size(random: &mut Random) -> usize {
    if random.below(100) < TAIL {
        let power = 13 + random.below(13);
        (1 << power) + random.below(1 << power)
    } else {
        random.seed_size()
    }
}

/// One thread's allocations.
struct Churner<'a> {
    candidate: &'a dyn Candidate,
    thread: usize,
    random: Random,
    slots: Vec<(usize, usize)>,
    live: usize,
}

impl<'a> Churner<'a> {
    /// Fills its working set.
    fn new(candidate: &'a dyn Candidate, thread: usize) -> Self {
        let (random, slots) = (Random(thread as u64 * 7 + 1), vec![(0, 0); WORKING_SET]);
        let mut churner = Self { candidate, thread, random, slots, live: 0 };
        (0..WORKING_SET).for_each(|slot| churner.replace(slot));
        churner
    }

    /// Replaces allocations for `time`: how many.
    fn run(&mut self, time: Duration) -> u64 {
        let (begun, mut steps) = (Instant::now(), 0);
        while begun.elapsed() < time {
            (0..64).for_each(|_| self.step());
            steps += 64;
        }
        steps
    }

    fn step(&mut self) {
        let slot = self.random.below(WORKING_SET);
        self.replace(slot);
    }

    fn replace(&mut self, slot: usize) {
        let (address, bytes) = self.slots[slot];
        if address != 0 {
            self.candidate.free(self.thread, address, bytes);
            self.live -= bytes;
        }
        let bytes = size(&mut self.random);
        let address = self.candidate.allocate(self.thread, bytes);
        assert_ne!(address, 0, "there is room");
        self.slots[slot] = (address, bytes);
        self.live += bytes;
        // SAFETY: at least one byte, just allocated and not yet known to other threads.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(1) };
    }
}

impl Drop for Churner<'_> {
    fn drop(&mut self) {
        self.slots.iter().for_each(|&(address, bytes)| self.candidate.free(self.thread, address, bytes));
    }
}

/// How long threads churn before they are timed, so that what they time is not the kernel clearing pages on first
/// touch: it backs the arena by pages of 2 MiB, of which the loop touches a byte, where the system's allocator and
/// mimalloc get 4 KiB.
const WARM_UP: Duration = Duration::from_millis(400);

/// What a release and a lease cost, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Of the clock, all threads together: the inverse of the throughput.
    pub wall: f64,
    /// Of a processor: what other processes take does not count, nor does waiting for a lock.
    pub cpu: f64,
}

impl Cost {
    /// Of many runs the best.
    pub fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

/// The calling thread's processor time in nanoseconds.
pub fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes the timespec, which lives on this stack.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(rc, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Has `threads` threads replace allocations for `time`.
pub fn cost(candidate: &dyn Candidate, threads: usize, time: Duration) -> Cost {
    let (start, steps, cpu) = (Barrier::new(threads), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, steps, cpu) = (&start, &steps, &cpu);
            scope.spawn(move || {
                let mut churner = Churner::new(candidate, thread);
                start.wait();
                churner.run(WARM_UP);
                start.wait();
                let before = cpu_ns();
                steps.fetch_add(churner.run(time), Relaxed);
                cpu.fetch_add(cpu_ns() - before, Relaxed);
                // No thread releases memory while others still measure.
                start.wait();
            });
        }
    });
    let steps = steps.into_inner() as f64;
    Cost { wall: time.as_secs_f64() * 1e9 / steps, cpu: cpu.into_inner() as f64 / steps }
}

/// What was held at the worst moment, over the bytes then live.
#[derive(Debug, Clone, Copy, Default)]
pub struct Worst {
    /// [`Footprint::taken`] over live bytes.
    pub taken: f64,
    /// [`Footprint::reserved`] over live bytes.
    pub reserved: f64,
}

/// Looks at the footprint while all threads stand still, every [`STEPS`] replacements of each; `None` if the candidate
/// cannot tell.
pub fn footprint(candidate: &dyn Candidate, threads: usize) -> Option<Worst> {
    candidate.footprint()?;
    let (turn, live) = (Barrier::new(threads + 1), AtomicUsize::new(0));
    let mut worst = Worst::default();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (turn, live) = (&turn, &live);
            scope.spawn(move || {
                let mut churner = Churner::new(candidate, thread);
                for _ in 0..ROUNDS {
                    (0..STEPS).for_each(|_| churner.step());
                    live.fetch_add(churner.live, Relaxed);
                    turn.wait();
                    turn.wait();
                }
            });
        }
        for _ in 0..ROUNDS {
            turn.wait();
            let (live, held) = (live.swap(0, Relaxed) as f64, candidate.footprint().unwrap_or_default());
            worst.note(held, live);
            turn.wait();
        }
    });
    Some(worst)
}

impl Worst {
    /// Takes what is held now over `live` bytes into account.
    pub fn note(&mut self, held: Footprint, live: f64) {
        self.taken = self.taken.max(held.taken as f64 / live);
        self.reserved = self.reserved.max(held.reserved as f64 / live);
    }
}
