//! The arena's figures: every cause of a refusal, the last one, and releases by other threads.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, ArenaOptions, Provider, RefusalCause, SEGMENT_BYTES, Statistics};
use std::sync::{Arc, Barrier};
use support::{FixedProvider, PLAIN_HOST, options};

/// Cause, bytes asked for, leased and limit of the last refusal.
fn last_refusal(statistics: &Statistics) -> (u64, usize, usize, usize) {
    let requested = statistics.last_refusal_requested_bytes;
    (
        statistics.last_refusal_cause,
        requested,
        statistics.last_refusal_leased_bytes,
        statistics.last_refusal_limit_bytes,
    )
}

fn refusals(statistics: &Statistics) -> (u64, u64, u64) {
    (statistics.refused_by_limit, statistics.refused_by_provider, statistics.refused_by_size)
}

#[test]
fn every_refusal_is_counted_by_its_cause_and_the_last_one_is_kept() {
    let provider = Arc::new(FixedProvider::new(SEGMENT_BYTES));
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options(100 << 20));
    assert_eq!((refusals(&arena.statistics()), last_refusal(&arena.statistics())), ((0, 0, 0), (0, 0, 0, 0)));
    let lease = arena.lease(60 << 20).unwrap();
    assert!(arena.lease(50 << 20).is_err());
    let expected = (RefusalCause::Limit as u64, 50 << 20, 60 << 20, 100 << 20);
    assert_eq!((refusals(&arena.statistics()), last_refusal(&arena.statistics())), ((1, 0, 0), expected));
    assert!(arena.lease(10 << 20).is_err());
    // What was refused is part of what is leased while the provider is asked.
    let expected = (RefusalCause::Provider as u64, 10 << 20, 70 << 20, 100 << 20);
    assert_eq!((refusals(&arena.statistics()), last_refusal(&arena.statistics())), ((1, 1, 0), expected));
    assert!(arena.lease(1 << 41).is_err());
    let expected = (RefusalCause::Size as u64, 1 << 41, 60 << 20, 100 << 20);
    assert_eq!((refusals(&arena.statistics()), last_refusal(&arena.statistics())), ((1, 1, 1), expected));
    assert!(arena.last_map_error().unwrap().contains("67108864 bytes are mapped already"));
    drop(lease);
}

#[test]
fn releases_by_another_thread_are_counted() {
    let options = ArenaOptions { shards: 8, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(PLAIN_HOST), &options);
    let leases = [100, 50_000, 1 << 20].map(|bytes| arena.lease(bytes).unwrap());
    drop([200, 60_000, 2 << 20].map(|bytes| arena.lease(bytes).unwrap()));
    assert_eq!(arena.statistics().cross_thread_releases, 0, "its own");
    // The other thread lives beside this one, so that it has another number.
    let turn = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            drop(arena.lease(1 << 20).unwrap());
            drop(leases);
            turn.wait();
        });
        turn.wait();
    });
    let statistics = arena.statistics();
    // The million bytes that the other thread leases lie in the first thread's region, which has room.
    assert_eq!((statistics.cross_thread_releases, statistics.live_leases()), (4, 0), "{statistics:?}");
    arena.check_quiet().unwrap();
}
