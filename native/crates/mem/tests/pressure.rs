//! An arena that is 95 % full, with the size distribution of the seed.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "suite/subject.rs"]
mod subject;
#[path = "suite/fragmentation.rs"]
mod suite;
mod support;

use sluice_mem::{Arena, Provider, SEGMENT_BYTES};
use std::sync::Arc;
use suite::{FULL, churn};
use support::{FixedProvider, Random, host_arena};

const TARGET: usize = FULL / 100 * 95;
/// More than any size of the distribution counts.
const LARGEST: usize = 5 << 20;

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
    let make = |options: &sluice_mem::ArenaOptions| -> Box<dyn subject::Subject> {
        Box::new(Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, options))
    };
    suite::a_pool_of_fixed_size_works_at_95_percent(&make, 30_000);
    assert_eq!(provider.mapped_bytes(), 0);
}
