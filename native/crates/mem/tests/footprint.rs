//! How much memory other threads cannot lease, with the seed's sizes. Nothing is timed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, Lease};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use support::{PLAIN_HOST, Random, options};

const WORKING_SET: usize = 64;
const ROUNDS: usize = 40;
const STEPS: usize = 250;
/// A superblock of most classes; of some it is two or three times as much.
const SUPERBLOCK: usize = 256 << 10;
/// Above this, a lease has no superblock.
const MEDIUM: usize = 120 << 10;

/// Live bytes, and superblocks that are allowed: one per class that the thread has used.
#[derive(Default)]
struct SuperblockCounts {
    live: AtomicUsize,
    superblocks: AtomicUsize,
}

/// Replaces leases at random and stops at the barrier, twice, every [`STEPS`].
fn churn(arena: &Arc<Arena>, seed: u64, turn: &Barrier, tally: &SuperblockCounts) {
    let (mut random, mut slots) = (Random(seed), Vec::<Lease>::new());
    let mut classes = BTreeSet::new();
    for _ in 0..ROUNDS {
        for _ in 0..STEPS {
            if slots.len() == WORKING_SET {
                slots.swap_remove(random.below(WORKING_SET));
            }
            let bytes = random.seed_size();
            slots.push(arena.lease(bytes).unwrap());
            // Eight classes to a doubling, and one per 64 bytes below 512.
            if bytes <= MEDIUM {
                let step = (bytes.next_power_of_two() / 16).max(64);
                classes.insert(bytes.next_multiple_of(step));
            }
        }
        tally.live.fetch_add(slots.iter().map(Lease::len).sum(), Relaxed);
        tally.superblocks.fetch_add(classes.len(), Relaxed);
        turn.wait();
        turn.wait();
    }
}

fn worst(threads: usize) -> f64 {
    let options = sluice_mem::ArenaOptions { shards: 64, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(PLAIN_HOST), &options);
    let (turn, tally) = (Barrier::new(threads + 1), SuperblockCounts::default());
    let mut worst = 0f64;
    std::thread::scope(|scope| {
        for seed in 0..threads as u64 {
            let (arena, turn, tally) = (&arena, &turn, &tally);
            scope.spawn(move || churn(arena, seed, turn, tally));
        }
        for _ in 0..ROUNDS {
            turn.wait();
            let statistics = arena.statistics();
            let taken = statistics.reserved_bytes - statistics.free_bytes;
            let (live, superblocks) = (tally.live.swap(0, Relaxed), tally.superblocks.swap(0, Relaxed));
            assert!(
                taken as f64 <= 1.1 * live as f64 + (superblocks * SUPERBLOCK) as f64,
                "{taken} bytes taken for {live} live ones and {superblocks} superblocks: {statistics:?}"
            );
            worst = worst.max(taken as f64 / live as f64);
            turn.wait();
        }
    });
    arena.check_quiet().unwrap();
    worst
}

#[test]
fn a_tenth_more_than_is_live_and_a_superblock_per_thread_and_class() {
    for threads in [1, 4, 16] {
        println!("{threads} threads: at worst {:.3} of the live bytes", worst(threads));
    }
}
