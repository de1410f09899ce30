//! One suite for every provider: what an arena guarantees with regions of any kind of memory.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, ArenaOptions, HostProvider, MemError, Provider, RegistrableProvider, SEGMENT_BYTES};
use std::sync::Arc;
use support::{AdjacentProvider, FixedProvider, PLAIN_HOST, options};

const MIB: usize = 1 << 20;
/// Sizes around every border of the arena.
const SIZES: [usize; 17] = [
    0,
    1,
    63,
    64,
    65,
    512,
    4_096,
    65_536,
    122_879,
    122_880,
    122_881,
    131_072,
    262_144,
    262_145,
    MIB,
    SEGMENT_BYTES,
    SEGMENT_BYTES + 1,
];

fn arena<P: Provider + 'static>(provider: P, options: &ArenaOptions) -> Arc<Arena> {
    Arena::with_provider(Arc::new(provider), options)
}

fn roomy() -> ArenaOptions {
    options(1 << 30)
}

fn leases_are_apart_aligned_and_writable<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &roomy());
    let mut leases = Vec::new();
    for (nth, size) in SIZES.into_iter().enumerate() {
        let mut lease = arena.lease(size).unwrap();
        assert_eq!((lease.len(), lease.is_empty(), lease.as_ptr() as usize % 64), (size, size == 0, 0));
        for at in [0, size / 2, size.saturating_sub(1)].into_iter().filter(|&at| at < size) {
            lease.as_mut_slice()[at] = nth as u8;
        }
        leases.push(lease);
        arena.check_quiet().unwrap();
    }
    for (nth, lease) in leases.iter().enumerate() {
        let bytes = lease.as_slice();
        assert!(
            [0, bytes.len() / 2, bytes.len().saturating_sub(1)]
                .iter()
                .all(|&at| { bytes.get(at).is_none_or(|&byte| byte == nth as u8) })
        );
    }
    assert_eq!(arena.statistics().live_leases(), SIZES.len() as u64);
}

fn everything_comes_back<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &roomy());
    let leases: Vec<_> = SIZES.iter().map(|&size| arena.lease_raw(size).unwrap()).collect();
    for lease in leases {
        arena.release_raw(lease.as_ptr() as usize).unwrap();
        arena.check_quiet().unwrap();
    }
    assert_eq!(arena.leased_bytes(), 0);
    assert!(arena.statistics().cached_bytes <= 4 * MIB, "{:?}", arena.statistics());
    arena.trim(0);
    arena.check_quiet().unwrap();
    let statistics = arena.statistics();
    assert_eq!((statistics.reserved_bytes, statistics.regions, statistics.superblock_bytes), (0, 0, 0));
}

fn slack_is_kept_and_the_rest_goes_back<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &roomy());
    let leases: Vec<_> = (0..4).map(|_| arena.lease(48 * MIB).unwrap()).collect();
    assert_eq!(arena.reserved_bytes(), 4 * SEGMENT_BYTES);
    drop(leases);
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES, "the slack of these tests");
    let again = arena.lease(48 * MIB).unwrap();
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES, "the kept region is used");
    drop(again);
    arena.trim(0);
    assert_eq!(arena.reserved_bytes(), 0);
    arena.check_quiet().unwrap();
}

fn regions_do_not_join<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &roomy());
    let first = arena.lease(SEGMENT_BYTES).unwrap();
    let second = arena.lease(SEGMENT_BYTES).unwrap();
    drop(second);
    arena.check_quiet().unwrap();
    drop(first);
    arena.check_quiet().unwrap();
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES);
}

fn a_region_joins_over_the_borders_of_regions_gone<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &roomy());
    drop([0, 1].map(|_| arena.lease(SEGMENT_BYTES).unwrap()));
    arena.trim(0);
    let wide = arena.lease(SEGMENT_BYTES + MIB).unwrap();
    let behind = arena.lease(MIB).unwrap();
    drop(wide);
    let unit = arena.lease(SEGMENT_BYTES).unwrap();
    assert_eq!(arena.reserved_bytes(), 2 * SEGMENT_BYTES);
    drop(unit);
    arena.check_quiet().unwrap();
    drop(behind);
    arena.check_quiet().unwrap();
}

fn the_limit_is_hard<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &options(4 * MIB));
    let first = arena.lease(3 * MIB).unwrap();
    let refused = arena.lease_raw(MIB + 1).unwrap_err();
    assert_eq!(refused, MemError::OutOfMemory { requested: MIB + 1, leased: 3 * MIB, limit: 4 * MIB });
    let second = arena.lease(MIB).unwrap();
    assert_eq!((arena.leased_bytes(), arena.lease_raw(0).is_err()), (4 * MIB, true));
    arena.set_limit(MIB);
    drop(first);
    assert!(arena.lease_raw(1).is_err(), "a lowered limit holds");
    drop(second);
    assert!(arena.lease(MIB).is_ok());
    for size in [usize::MAX, usize::MAX - 63, isize::MAX as usize, 1 << 47, 1 << 41] {
        arena.set_limit(usize::MAX);
        assert!(matches!(arena.lease_raw(size), Err(MemError::OutOfMemory { requested, .. }) if requested == size));
    }
    assert_eq!(arena.leased_bytes(), 0);
    arena.check_quiet().unwrap();
}

fn garbage_is_refused<P: Provider + 'static>(provider: P) {
    let arena = arena(provider, &roomy());
    let small = arena.lease_raw(1_000).unwrap().as_ptr() as usize;
    let medium = arena.lease_raw(100_000).unwrap().as_ptr() as usize;
    let large = arena.lease_raw(5 * MIB).unwrap().as_ptr() as usize;
    let gone = arena.lease_raw(70 * MIB).unwrap().as_ptr() as usize;
    arena.release_raw(gone).unwrap();
    arena.trim(0);
    let on_stack = 0u64;
    let mut garbage = vec![0, 1, 63, 64, 4096, gone, gone + 4096, 1 << 46, 1 << 47, 1 << 48, usize::MAX];
    garbage.extend([&raw const on_stack as usize, garbage_is_refused::<P> as *const () as usize]);
    for start in [small, medium, large] {
        garbage.extend([start + 1, start + 8, start + 64, start + 4096, start + 262_144, start - 1]);
        garbage.extend([start + 100_352, start ^ (1 << 40), start & !(SEGMENT_BYTES - 1), start + (5 << 20)]);
    }
    garbage.retain(|address| ![small, medium, large].contains(address));
    for address in garbage {
        assert_eq!(arena.release_raw(address), Err(MemError::NotLeased { address }), "{address:#x}");
        arena.check_quiet().unwrap();
    }
    for start in [small, medium, large] {
        arena.release_raw(start).unwrap();
        assert_eq!(arena.release_raw(start), Err(MemError::NotLeased { address: start }), "twice");
    }
    arena.check_quiet().unwrap();
}

macro_rules! conformance {
    ($($provider:ident => $make:expr;)*) => { $(
        mod $provider {
            use super::*;
            conformance!(@tests $make;
                leases_are_apart_aligned_and_writable everything_comes_back slack_is_kept_and_the_rest_goes_back
                regions_do_not_join a_region_joins_over_the_borders_of_regions_gone
                the_limit_is_hard garbage_is_refused);
        }
    )* };
    (@tests $make:expr; $($test:ident)*) => { $(
        #[test]
        fn $test() {
            super::$test($make);
        }
    )* };
}

conformance! {
    host => HostProvider::default();
    host_without_huge_pages => PLAIN_HOST;
    fixed => FixedProvider::new(1 << 30);
    adjacent => AdjacentProvider::new(16);
    registrable => RegistrableProvider::new(FixedProvider::new(1 << 30));
}
