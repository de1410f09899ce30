//! What an arena guarantees with regions of any kind of memory: one test for each sentence.

use crate::subject::{Held, Make, Subject};
use crate::support::options;
use sluice_mem::{ArenaOptions, MemError, SEGMENT_BYTES};

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

fn roomy() -> ArenaOptions {
    options(1 << 30)
}

fn lease(arena: &dyn Subject, bytes: usize) -> Held<'_> {
    Held::lease(arena, bytes).unwrap()
}

pub fn leases_are_apart_aligned_and_writable(make: Make<'_>) {
    let arena = &*make(&roomy());
    let mut leases = Vec::new();
    for (nth, size) in SIZES.into_iter().enumerate() {
        let lease = lease(arena, size);
        assert_eq!(lease.address % 64, 0, "{size}");
        for at in [0, size / 2, size.saturating_sub(1)].into_iter().filter(|&at| at < size) {
            arena.write(lease.address + at, &[nth as u8]);
        }
        leases.push(lease);
        arena.check_quiet().unwrap();
    }
    for (nth, lease) in leases.iter().enumerate() {
        for at in [0, lease.bytes / 2, lease.bytes.saturating_sub(1)].into_iter().filter(|&at| at < lease.bytes) {
            let mut byte = [0];
            arena.read(lease.address + at, &mut byte);
            assert_eq!(usize::from(byte[0]), nth, "at {at} of {}", lease.bytes);
        }
    }
    assert_eq!(arena.statistics().live_leases(), SIZES.len() as u64);
}

pub fn everything_comes_back(make: Make<'_>) {
    let arena = make(&roomy());
    let leases: Vec<_> = SIZES.iter().map(|&size| arena.lease_raw(size).unwrap()).collect();
    for lease in leases {
        arena.release_raw(lease).unwrap();
        arena.check_quiet().unwrap();
    }
    assert_eq!(arena.leased_bytes(), 0);
    assert!(arena.statistics().cached_bytes <= 4 * MIB, "{:?}", arena.statistics());
    arena.trim(0);
    arena.check_quiet().unwrap();
    let statistics = arena.statistics();
    assert_eq!((statistics.reserved_bytes, statistics.regions, statistics.superblock_bytes), (0, 0, 0));
}

pub fn slack_is_kept_and_the_rest_goes_back(make: Make<'_>) {
    let arena = &*make(&roomy());
    let leases: Vec<_> = (0..4).map(|_| lease(arena, 48 * MIB)).collect();
    assert_eq!(arena.reserved_bytes(), 4 * SEGMENT_BYTES);
    drop(leases);
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES, "the slack of these tests");
    let again = lease(arena, 48 * MIB);
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES, "the kept region is used");
    drop(again);
    arena.trim(0);
    assert_eq!(arena.reserved_bytes(), 0);
    arena.check_quiet().unwrap();
}

pub fn regions_do_not_join(make: Make<'_>) {
    let arena = &*make(&roomy());
    let first = lease(arena, SEGMENT_BYTES);
    let second = lease(arena, SEGMENT_BYTES);
    drop(second);
    arena.check_quiet().unwrap();
    drop(first);
    arena.check_quiet().unwrap();
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES);
}

pub fn a_region_joins_over_the_borders_of_regions_gone(make: Make<'_>) {
    let arena = &*make(&roomy());
    drop([0, 1].map(|_| lease(arena, SEGMENT_BYTES)));
    arena.trim(0);
    let wide = lease(arena, SEGMENT_BYTES + MIB);
    let behind = lease(arena, MIB);
    drop(wide);
    let unit = lease(arena, SEGMENT_BYTES);
    assert_eq!(arena.reserved_bytes(), 2 * SEGMENT_BYTES);
    drop(unit);
    arena.check_quiet().unwrap();
    drop(behind);
    arena.check_quiet().unwrap();
}

pub fn the_limit_is_hard(make: Make<'_>) {
    let arena = &*make(&options(4 * MIB));
    let first = lease(arena, 3 * MIB);
    let refused = arena.lease_raw(MIB + 1).unwrap_err();
    assert_eq!(refused, MemError::OutOfMemory { requested: MIB + 1, leased: 3 * MIB, limit: 4 * MIB });
    let second = lease(arena, MIB);
    assert_eq!((arena.leased_bytes(), arena.lease_raw(0).is_err()), (4 * MIB, true));
    arena.set_limit(MIB);
    drop(first);
    assert!(arena.lease_raw(1).is_err(), "a lowered limit holds");
    drop(second);
    drop(lease(arena, MIB));
    for size in [usize::MAX, usize::MAX - 63, isize::MAX as usize, 1 << 47, 1 << 41] {
        arena.set_limit(usize::MAX);
        assert!(matches!(arena.lease_raw(size), Err(MemError::OutOfMemory { requested, .. }) if requested == size));
    }
    assert_eq!(arena.leased_bytes(), 0);
    arena.check_quiet().unwrap();
}

pub fn garbage_is_refused(make: Make<'_>) {
    let arena = make(&roomy());
    let small = arena.lease_raw(1_000).unwrap();
    let medium = arena.lease_raw(100_000).unwrap();
    let large = arena.lease_raw(5 * MIB).unwrap();
    let gone = arena.lease_raw(70 * MIB).unwrap();
    arena.release_raw(gone).unwrap();
    arena.trim(0);
    let on_stack = 0u64;
    let mut garbage = vec![0, 1, 63, 64, 4096, gone, gone + 4096, 1 << 46, 1 << 47, 1 << 48, usize::MAX];
    garbage.extend([&raw const on_stack as usize, garbage_is_refused as *const () as usize]);
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

/// A module of tests for each way to make an arena.
macro_rules! conformance {
    ($($kind:ident => $make:expr;)*) => { $(
        mod $kind {
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
            crate::suite::$test(&$make);
        }
    )* };
}
