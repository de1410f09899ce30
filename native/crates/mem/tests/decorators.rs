//! Limits, counts and calls before a refusal, around a provider of any kind.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{
    Arena, CallbackProvider, Lease, LimitedProvider, MapError, MappedRegion, MemoryKind, MeteredProvider,
};
use sluice_mem::{Provider, SEGMENT_BYTES};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use support::{FixedProvider, PLAIN_HOST, options};

/// Host memory that takes a segment more than its length, as a provider does that cuts aligned regions.
#[derive(Debug)]
struct Padded;

impl Provider for Padded {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        PLAIN_HOST.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        PLAIN_HOST.unmap(region);
    }

    fn footprint(&self, bytes: usize) -> usize {
        bytes + SEGMENT_BYTES
    }
}

#[test]
fn a_limit_counts_what_regions_take_and_not_what_is_on_lease() {
    let provider = Arc::new(LimitedProvider::new(Padded, 4 * SEGMENT_BYTES));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(usize::MAX));
    let leases: Vec<Lease> = (0..2).map(|_| arena.lease(SEGMENT_BYTES).unwrap()).collect();
    assert_eq!(provider.mapped_bytes(), 4 * SEGMENT_BYTES);
    assert!(arena.lease(1).is_err());
    assert!(arena.last_map_error().unwrap().contains("the limit is 268435456"), "{:?}", arena.last_map_error());
    drop(leases);
    assert_eq!((provider.mapped_bytes(), arena.reserved_bytes()), (2 * SEGMENT_BYTES, SEGMENT_BYTES), "the slack");
    provider.set_limit(5 * SEGMENT_BYTES);
    let wide = arena.lease(2 * SEGMENT_BYTES).unwrap();
    assert_eq!(provider.mapped_bytes(), 5 * SEGMENT_BYTES);
    provider.set_limit(0);
    drop(wide);
    arena.trim(0);
    assert!(arena.lease(1).is_err());
    assert_eq!(provider.mapped_bytes(), 0);
}

#[test]
fn a_refusal_below_does_not_count_against_the_limit() {
    let provider = LimitedProvider::new(FixedProvider::new(SEGMENT_BYTES), usize::MAX);
    assert!(provider.map(2 * SEGMENT_BYTES).is_err());
    assert_eq!(provider.mapped_bytes(), 0);
    let region = provider.map(SEGMENT_BYTES).unwrap();
    assert_eq!(provider.mapped_bytes(), SEGMENT_BYTES);
    provider.unmap(region);
    assert_eq!(provider.mapped_bytes(), 0);
}

#[test]
fn regions_refusals_and_purges_are_counted() {
    let provider = MeteredProvider::new(FixedProvider::new(3 * SEGMENT_BYTES));
    let regions = [2, 1].map(|segments| provider.map(segments * SEGMENT_BYTES).unwrap());
    assert!(provider.map(SEGMENT_BYTES).is_err());
    let start = NonNull::new(std::ptr::with_exposed_provenance_mut(regions[0].address())).unwrap();
    // SAFETY: a part of a mapped region that this test alone has.
    assert!(unsafe { provider.purge(start, 2 << 20) });
    regions.into_iter().for_each(|region| provider.unmap(region));
    let statistics = provider.statistics();
    assert_eq!((statistics.maps, statistics.refusals, statistics.unmaps), (2, 1, 2));
    assert_eq!((statistics.mapped_bytes, statistics.peak_mapped_bytes), (0, 3 * SEGMENT_BYTES));
    assert_eq!((statistics.purged_bytes, provider.below().mapped_bytes()), (2 << 20, 0));
    assert!(statistics.map_ns > 0);
}

#[test]
fn a_callback_that_frees_memory_has_the_provider_asked_again() {
    let caches: Arc<Mutex<Vec<Lease>>> = Arc::default();
    let dropped = Arc::clone(&caches);
    // Only a region that is wholly free is unmapped; without slack that is at once.
    let drop_one = move |_: &MapError| {
        let cache = dropped.lock().unwrap().pop();
        cache.is_some()
    };
    let provider = CallbackProvider::new(FixedProvider::new(2 * SEGMENT_BYTES), drop_one);
    let options = sluice_mem::ArenaOptions { slack_bytes: Some(0), ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(provider), &options);
    *caches.lock().unwrap() = (0..2).map(|_| arena.lease(SEGMENT_BYTES).unwrap()).collect();
    let wide = arena.lease(2 * SEGMENT_BYTES).unwrap();
    assert!(caches.lock().unwrap().is_empty() && wide.len() == 2 * SEGMENT_BYTES);
    assert!(arena.lease(1).is_err(), "nothing is left to be dropped");
    arena.check_quiet().unwrap();
}

#[test]
fn a_callback_that_always_says_yes_is_not_asked_for_ever() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let provider = CallbackProvider::new(FixedProvider::new(0), move |refusal| {
        assert_eq!(refusal.bytes, SEGMENT_BYTES);
        counted.fetch_add(1, SeqCst) < usize::MAX
    });
    assert!(provider.map(SEGMENT_BYTES).is_err());
    assert_eq!(asked.load(SeqCst), 7);
}
