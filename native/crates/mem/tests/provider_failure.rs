//! A provider that refuses, or breaks its contract.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, MapError, MappedRegion, MemError, MemoryKind, Provider, SEGMENT_BYTES};
use std::sync::Arc;
use support::{FixedProvider, PLAIN_HOST, options};

#[test]
fn a_refusal_is_out_of_memory_and_changes_nothing() {
    let provider = Arc::new(FixedProvider::new(0));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(1 << 30));
    for size in [1, 100_000, 1 << 20, 100 << 20] {
        let refused = arena.lease_raw(size).unwrap_err();
        assert_eq!(refused, MemError::OutOfMemory { requested: size, leased: leased(&refused), limit: 1 << 30 });
        assert_eq!(arena.leased_bytes(), 0);
    }
    let statistics = arena.statistics();
    assert_eq!((statistics.refused_by_provider, statistics.refused_by_limit), (4, 0));
    assert!(arena.last_map_error().unwrap().contains("0 bytes are mapped already"));
    provider.set_capacity(SEGMENT_BYTES);
    drop(arena.lease(1).unwrap());
    arena.check_quiet().unwrap();
}

#[test]
fn where_there_is_no_ordinary_region_a_smaller_one_does() {
    let provider = Arc::new(FixedProvider::new(3 * SEGMENT_BYTES));
    let options = sluice_mem::ArenaOptions { region_bytes: 2 * SEGMENT_BYTES, ..options(1 << 30) };
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options);
    let leases = [2, 1].map(|segments| arena.lease(segments * SEGMENT_BYTES).unwrap());
    assert_eq!((arena.statistics().regions, provider.mapped_bytes()), (2, 3 * SEGMENT_BYTES));
    assert!(arena.lease(1).is_err() && arena.last_map_error().unwrap().contains("67108864 bytes"), "of the second try");
    drop(leases);
    arena.check_quiet().unwrap();
}

fn leased(error: &MemError) -> usize {
    match error {
        MemError::OutOfMemory { leased, .. } => *leased,
        MemError::NotLeased { .. } => panic!("{error}"),
    }
}

#[test]
fn cached_superblocks_give_way_to_a_large_lease() {
    let provider = Arc::new(FixedProvider::new(SEGMENT_BYTES));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(1 << 30));
    let small: Vec<_> = [64, 512, 4096, 65_536].iter().map(|&size| arena.lease(size).unwrap()).collect();
    drop(small);
    assert!(arena.statistics().cached_bytes > 0, "otherwise this test shows nothing");
    let whole = arena.lease(SEGMENT_BYTES).unwrap();
    assert_eq!(arena.statistics().cached_bytes, 0);
    arena.check_quiet().unwrap();
    drop(whole);
    drop(arena);
    assert_eq!(provider.mapped_bytes(), 0, "a dropped arena gives everything back");
}

#[test]
fn cached_superblocks_do_not_keep_a_dropped_arena_mapped() {
    let provider = Arc::new(FixedProvider::new(1 << 30));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(1 << 30));
    drop(arena.lease(100).unwrap());
    assert!(arena.statistics().cached_bytes > 0);
    drop(arena);
    assert_eq!(provider.mapped_bytes(), 0);
}

#[test]
fn memory_under_a_raw_lease_outlives_the_arena() {
    let provider = Arc::new(FixedProvider::new(1 << 30));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(1 << 30));
    let leaked = arena.lease(1 << 20).unwrap().into_raw();
    drop(arena.lease(100 << 20).unwrap());
    drop(arena.lease(100).unwrap());
    drop(arena);
    assert_eq!(provider.mapped_bytes(), SEGMENT_BYTES);
    // SAFETY: a lease that was never released; the provider still has its region mapped, as just asserted.
    unsafe { leaked.as_ptr().write(1) };
}

/// Maps regions that are not what was asked for.
#[derive(Debug)]
struct WrongSizeProvider {
    inner: FixedProvider,
    surplus: usize,
}

impl Provider for WrongSizeProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        self.inner.map(bytes + self.surplus)
    }

    fn unmap(&self, region: MappedRegion) {
        self.inner.unmap(region);
    }
}

#[test]
fn a_region_of_another_shape_is_refused_and_given_back() {
    let provider = Arc::new(WrongSizeProvider { inner: FixedProvider::new(1 << 30), surplus: SEGMENT_BYTES });
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(1 << 30));
    assert!(matches!(arena.lease_raw(1 << 20), Err(MemError::OutOfMemory { .. })));
    assert_eq!((provider.inner.mapped_bytes(), arena.reserved_bytes()), (0, 0));
    arena.check_quiet().unwrap();
}

#[test]
fn memory_fresh_from_the_host_is_zero() {
    let arena = Arena::with_provider(Arc::new(PLAIN_HOST), &options(1 << 30));
    assert!(arena.lease(1 << 20).unwrap().as_slice().iter().all(|&byte| byte == 0));
}
