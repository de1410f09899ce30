//! A limit, counts and a callback around a provider, each alone and one around the other.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, Counted, Lease, Limited, OnRefusal, Provider, ProviderCounts, REGION_UNIT_BYTES};
use std::sync::{Arc, Mutex};
use support::{PLAIN_HOST, options};

#[test]
fn a_limit_is_free_again_after_a_refusal_and_an_unmap() {
    let limited = Limited::new(Limited::new(PLAIN_HOST, REGION_UNIT_BYTES), 3 * REGION_UNIT_BYTES);
    let region = limited.map(REGION_UNIT_BYTES).unwrap();
    let refused = limited.map(REGION_UNIT_BYTES).unwrap_err();
    assert!(refused.reason.contains("67108864 bytes of 67108864"), "the inner limit's words: {refused}");
    limited.unmap(region);
    let region = limited.map(REGION_UNIT_BYTES).unwrap();
    limited.unmap(region);
}

#[test]
fn counts_see_every_region_of_an_arena() {
    let counted = Arc::new(Counted::new(Limited::new(PLAIN_HOST, 2 * REGION_UNIT_BYTES)));
    let arena = Arena::with_provider(Arc::clone(&counted) as Arc<dyn Provider>, &options(usize::MAX));
    let first = arena.lease(REGION_UNIT_BYTES).unwrap();
    let second = arena.lease(1 << 20).unwrap();
    assert!(arena.lease(REGION_UNIT_BYTES).is_err());
    drop((first, second));
    drop(arena);
    let counts = ProviderCounts { maps: 2, unmaps: 2, peak_mapped_bytes: 2 * REGION_UNIT_BYTES, ..counted.counts() };
    assert_eq!((counted.counts(), counts.mapped_bytes), (counts, 0));
    assert!(counts.refusals > 0);
}

#[test]
fn a_callback_makes_room_and_the_lease_succeeds() {
    let kept: Arc<Mutex<Vec<Lease>>> = Arc::default();
    let spill = Arc::clone(&kept);
    let provider = OnRefusal::new(Limited::new(PLAIN_HOST, REGION_UNIT_BYTES), move |_| {
        let lease = spill.lock().unwrap().pop();
        lease.is_some()
    });
    // No slack: what the callback releases is unmapped, so that the limit has room for another region.
    let options = sluice_mem::ArenaOptions { slack_bytes: 0, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(provider), &options);
    kept.lock().unwrap().extend([0, 1].map(|_| arena.lease(REGION_UNIT_BYTES / 2).unwrap()));
    let whole = arena.lease(REGION_UNIT_BYTES).unwrap();
    assert!(kept.lock().unwrap().is_empty());
    assert!(arena.lease(1).is_err(), "nothing is left to give up");
    drop(whole);
    arena.check_quiet().unwrap();
}
