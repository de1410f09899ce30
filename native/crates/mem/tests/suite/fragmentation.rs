//! An arena that is 95 % full, with the size distribution of the seed.

use crate::subject::{Held, Make, Subject};
use crate::support::{Random, options};
use sluice_mem::SEGMENT_BYTES;

/// What the arenas under test may lease, or map.
pub const FULL: usize = 4 * SEGMENT_BYTES;
const TARGET: usize = FULL / 100 * 95;
/// More than any size of the distribution counts.
const LARGEST: usize = 5 << 20;

/// Leases and releases at random around [`TARGET`] bytes: (leases tried, refused).
pub fn churn(arena: &dyn Subject, steps: usize) -> (usize, usize) {
    let mut random = Random(7);
    let mut leases: Vec<Held<'_>> = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    for step in 0..steps {
        while arena.leased_bytes() + LARGEST > TARGET {
            leases.swap_remove(random.below(leases.len()));
        }
        tried += 1;
        match Held::lease(arena, random.seed_size()) {
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

/// `make` makes an arena whose provider maps at most [`FULL`] bytes.
pub fn a_pool_of_fixed_size_works_at_95_percent(make: Make<'_>, steps: usize) {
    let arena = &*make(&options(usize::MAX));
    let (tried, refused) = churn(arena, steps);
    println!("{refused} of {tried} leases refused for fragmentation");
    // A quarter of the leases is above 2 MB in a pool of 256 MiB that cannot grow: the last 5 % of it are many small
    // gaps. Best fit, this arena's, was measured at 8 %; address-ordered first fit at 27 %.
    assert!(refused * 8 <= tried, "{refused} of {tried}");
    let whole: Vec<_> = (0..4).map(|_| Held::lease(arena, SEGMENT_BYTES).unwrap()).collect();
    assert_eq!(arena.statistics().refused_by_provider, refused as u64);
    drop(whole);
    arena.trim(0);
    assert_eq!(arena.reserved_bytes(), 0);
}
