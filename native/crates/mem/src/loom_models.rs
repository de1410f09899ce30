//! Models of threads for loom, which runs each in every order in which its threads can take turns (up to a number of
//! forced switches) and with every value that relaxed loads may read. `tools/verify-native loom` runs them.
//!
//! Each thread says its number ([`thread_slot::set`]), which decides its shard and its sub-arena. Memory is never
//! touched, so addresses are made up.

use crate::arena::{Arena, ArenaOptions};
use crate::budget::{Budget, QUOTA_BYTES};
use crate::geometry::{MEDIUM_BYTES, SEGMENT_BYTES};
use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use crate::thread_slot;
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::Mutex;

/// Runs a model with at most so many switches away from a thread that could go on. Two find nearly every fault, at a
/// cost that a test can pay.
fn model(switches: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 100_000;
    builder.check(run);
}

/// Up to so many regions at made-up addresses; all can be purged.
#[derive(Debug)]
struct FakeProvider(Mutex<Vec<bool>>);

impl Provider for FakeProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let mut taken = self.0.lock().expect("lock");
        let units = bytes / SEGMENT_BYTES;
        let first = taken.windows(units).position(|run| !run.contains(&true));
        let first = first.ok_or_else(|| MapError { bytes, reason: "full".to_owned() })?;
        taken[first..first + units].fill(true);
        let start = NonNull::new(std::ptr::without_provenance_mut((first + 1) * SEGMENT_BYTES)).expect("not zero");
        // SAFETY: no model touches memory; no other region has these units until `unmap`.
        Ok(unsafe { MappedRegion::new(start, bytes) })
    }

    fn unmap(&self, region: MappedRegion) {
        let (first, units) = (region.address() / SEGMENT_BYTES - 1, region.bytes() / SEGMENT_BYTES);
        self.0.lock().expect("lock")[first..first + units].fill(false);
    }

    unsafe fn purge(&self, _: NonNull<u8>, _: usize) -> bool {
        true
    }
}

/// An arena with two shards and room for `segments` segments, that keeps `slack` of them.
fn arena(segments: usize, slack: usize) -> Arc<Arena> {
    let options = ArenaOptions {
        limit_bytes: 1 << 30,
        region_bytes: SEGMENT_BYTES,
        slack_bytes: Some(slack * SEGMENT_BYTES),
        purge_interval: None,
        shards: 2,
        trace: None,
    };
    Arena::with_provider(Arc::new(FakeProvider(Mutex::new(vec![false; segments]))), &options)
}

fn lease(arena: &Arena, bytes: usize) -> usize {
    arena.lease_raw(bytes).expect("memory").as_ptr().addr()
}

/// Runs `other` as thread number 1 beside `own`, which is number 0.
fn beside<T: 'static>(arena: &Arc<Arena>, other: impl FnOnce(&Arena) -> T + 'static, own: impl FnOnce(&Arena)) -> T {
    let shared = Arc::clone(arena);
    let thread = thread::spawn(move || {
        thread_slot::set(1);
        other(&shared)
    });
    own(arena);
    thread.join().expect("no panic")
}

const LARGE: usize = MEDIUM_BYTES + 1;

#[test]
fn quota_that_another_shard_fetches_is_no_reason_to_refuse() {
    model(3, || {
        let limit = 4 * QUOTA_BYTES;
        let budget = Arc::new(Budget::new(limit, 2));
        let other = Arc::clone(&budget);
        let thread = thread::spawn(move || assert!(other.charge(0, 64)));
        assert!(budget.charge(1, limit - 64), "64 bytes are on lease");
        thread.join().expect("no panic");
        assert_eq!(budget.leased(), limit);
        assert!(!budget.charge(1, 1));
    });
}

#[test]
fn quota_that_another_shard_gives_up_is_no_reason_to_refuse() {
    model(3, || {
        let limit = 4 * QUOTA_BYTES;
        let budget = Arc::new(Budget::new(limit, 2));
        let lease = QUOTA_BYTES / 4;
        // Five leases, of which three are released: shard 0 then has all the quota that it may have, so the next
        // release gives some up.
        (0..5).for_each(|_| assert!(budget.charge(0, lease)));
        (0..3).for_each(|_| budget.refund(0, lease));
        assert_eq!((budget.leased(), budget.charged()), (2 * lease, 2 * lease + QUOTA_BYTES));
        let other = Arc::clone(&budget);
        let thread = thread::spawn(move || other.refund(0, lease));
        assert!(budget.charge(1, limit - 2 * lease), "no more than two are on lease");
        thread.join().expect("no panic");
        assert_eq!(budget.leased(), limit - lease);
    });
}

#[test]
fn charges_of_two_threads_never_exceed_the_limit() {
    model(3, || {
        let budget = Arc::new(Budget::new(100, 2));
        let other = Arc::clone(&budget);
        let thread = thread::spawn(move || other.charge(0, 60));
        let own = budget.charge(1, 60);
        assert_eq!(u8::from(own) + u8::from(thread.join().expect("no panic")), 1);
        budget.refund(0, 60);
        assert_eq!((budget.leased(), budget.refusals()), (0, 1));
    });
}

#[test]
fn another_thread_releases_a_block_while_its_shard_leases_one() {
    model(2, || {
        let arena = arena(2, 1);
        let given = lease(&arena, 64);
        beside(&arena, move |arena| arena.release_raw(given).expect("a valid release"), |arena| _ = lease(arena, 64));
        assert_eq!(arena.statistics().live_leases(), 1);
        assert_eq!(arena.check_quiet(), Ok(()));
    });
}

#[test]
fn two_releases_of_one_block_one_succeeds() {
    for bytes in [64, LARGE] {
        model(2, move || {
            let arena = arena(2, 1);
            let address = lease(&arena, bytes);
            let won = std::cell::Cell::new(false);
            let other = beside(
                &arena,
                move |arena| arena.release_raw(address).is_ok(),
                |arena| won.set(arena.release_raw(address).is_ok()),
            );
            assert!(other != won.get());
            assert_eq!((arena.leased_bytes(), arena.check_quiet()), (0, Ok(())));
        });
    }
}

#[test]
fn a_late_second_release_does_not_free_what_was_leased_there_since() {
    model(2, || {
        let arena = arena(2, 1);
        let (first, second) = (lease(&arena, 64), lease(&arena, 64));
        // The shard keeps the superblock, which is empty then.
        [first, second].iter().for_each(|&address| arena.release_raw(address).expect("a valid release"));
        let late = beside(
            &arena,
            move |arena| arena.release_raw(second).is_ok(),
            |arena| {
                // The superblock goes to the global arena, and from there to the bin of another class.
                arena.trim(SEGMENT_BYTES);
                assert_eq!([192, 192].map(|bytes| lease(arena, bytes)), [first, first + 192]);
            },
        );
        assert!(!late, "no lease starts there");
        assert_eq!((arena.statistics().live_leases(), arena.check_quiet()), (2, Ok(())));
    });
}

#[test]
fn another_thread_releases_a_regions_last_lease_while_its_owner_leases() {
    model(2, || {
        let arena = arena(2, 0);
        let given = lease(&arena, SEGMENT_BYTES / 2);
        beside(
            &arena,
            move |arena| arena.release_raw(given).expect("a valid release"),
            |arena| _ = lease(arena, SEGMENT_BYTES / 2),
        );
        assert_eq!((arena.reserved_bytes(), arena.check_quiet()), (SEGMENT_BYTES, Ok(())));
    });
}

#[test]
fn two_threads_share_the_region_that_one_of_them_maps() {
    model(2, || {
        let arena = arena(1, 1);
        beside(&arena, |arena| _ = lease(arena, SEGMENT_BYTES / 2), |arena| _ = lease(arena, SEGMENT_BYTES / 2));
        assert_eq!((arena.reserved_bytes(), arena.check_quiet()), (SEGMENT_BYTES, Ok(())));
    });
}

#[test]
fn a_lease_is_not_refused_while_its_memory_is_being_purged() {
    model(2, || {
        let arena = arena(1, 1);
        let used = lease(&arena, SEGMENT_BYTES);
        arena.release_raw(used).expect("a valid release");
        let purged = beside(&arena, |arena| arena.purge(), |arena| _ = lease(arena, SEGMENT_BYTES));
        assert!(purged == 0 || purged == SEGMENT_BYTES as u64);
        assert_eq!((arena.reserved_bytes(), arena.check_quiet()), (SEGMENT_BYTES, Ok(())));
    });
}
