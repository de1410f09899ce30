//! An arena that is 95 % full, with the size distribution of the seed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, Lease, Provider, SEGMENT_BYTES};
use std::sync::Arc;
use support::{FixedProvider, Random, host_arena, options};

const FULL: usize = 4 * SEGMENT_BYTES;
const TARGET: usize = FULL / 100 * 95;
/// More than any size of the distribution counts.
const LARGEST: usize = 5 << 20;

/// Leases and releases at random around [`TARGET`] bytes: (leases tried, refused).
fn churn(arena: &Arc<Arena>, steps: usize) -> (usize, usize) {
    let mut random = Random(7);
    let mut leases: Vec<Lease> = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    for step in 0..steps {
        while arena.leased_bytes() + LARGEST > TARGET {
            leases.swap_remove(random.below(leases.len()));
        }
        tried += 1;
        match arena.lease(random.seed_size()) {
            Ok(lease) => leases.push(lease),
            Err(_) => refused += 1,
        }
        if step % 500 == 0 {
            arena.check_quiet().unwrap();
        }
    }
    drop(leases);
    arena.check_quiet().unwrap();
    (tried, refused)
}

#[test]
fn within_the_limit_nothing_is_refused_and_little_is_wasted() {
    let arena = host_arena(FULL);
    let (tried, refused) = churn(&arena, 30_000);
    assert_eq!((refused, tried), (0, 30_000));
    arena.trim(0);
    assert_eq!((arena.leased_bytes(), arena.reserved_bytes()), (0, 0));
}

#[test]
fn reserved_memory_stays_near_what_is_leased() {
    let arena = host_arena(FULL);
    let mut random = Random(3);
    let mut leases = Vec::new();
    let mut worst = 0;
    for _ in 0..30_000 {
        while arena.leased_bytes() + LARGEST > TARGET {
            leases.swap_remove(random.below(leases.len()));
        }
        leases.push(arena.lease(random.seed_size()).unwrap());
        worst = worst.max(arena.reserved_bytes());
    }
    // Fragmentation and rounding to regions together cost at most one region more than the limit.
    assert!(worst <= FULL + SEGMENT_BYTES, "{} MiB for {} MiB", worst >> 20, FULL >> 20);
}

#[test]
fn a_pool_of_fixed_size_works_at_95_percent() {
    let provider = Arc::new(FixedProvider::new(FULL));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(usize::MAX));
    let (tried, refused) = churn(&arena, 30_000);
    println!("{refused} of {tried} leases refused for fragmentation");
    // A quarter of the leases is above 2 MB in a pool of 256 MiB that cannot grow: the last 5 % of it are many small
    // gaps. Best fit, this arena's, was measured at 8 %; address-ordered first fit at 27 %.
    assert!(refused * 8 <= tried, "{refused} of {tried}");
    let whole: Vec<_> = (0..4).map(|_| arena.lease(SEGMENT_BYTES).unwrap()).collect();
    assert_eq!(arena.statistics().refused_by_provider, refused as u64);
    drop(whole);
    arena.trim(0);
    assert_eq!(provider.mapped_bytes(), 0);
}
