//! Regions that several threads mapped: every thread can lease the free memory of every sub-arena, and free memory of
//! different sub-arenas is never joined.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, ArenaOptions, Lease, MapError, MappedRegion, MemoryKind, Provider, SEGMENT_BYTES};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use support::{AdjacentProvider, FixedProvider, PLAIN_HOST, Random, options};

const THREADS: usize = 6;

fn arena<P: Provider + 'static>(provider: P) -> Arc<Arena> {
    let options = ArenaOptions { slack_bytes: Some(16 * SEGMENT_BYTES), shards: 8, ..options(usize::MAX) };
    Arena::with_provider(Arc::new(provider), &options)
}

/// Leases made by threads that all live at the same time, so that each has a sub-arena of its own.
fn lease_apart(arena: &Arc<Arena>, bytes: &[usize]) -> Vec<Lease> {
    let (turn, made) = (std::sync::Barrier::new(bytes.len()), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for &bytes in bytes {
            let (turn, made) = (&turn, &made);
            scope.spawn(move || {
                let lease = arena.lease(bytes).unwrap();
                made.lock().unwrap().push(lease);
                turn.wait();
            });
        }
    });
    made.into_inner().unwrap()
}

#[test]
fn memory_freed_by_one_thread_is_used_by_others_before_a_region_is_mapped() {
    let arena = arena(FixedProvider::new(SEGMENT_BYTES));
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| drop(arena.lease(SEGMENT_BYTES / THREADS - 4096).unwrap()));
            }
        });
        drop(arena.lease(SEGMENT_BYTES).unwrap());
    }
    assert_eq!(arena.statistics().regions, 1);
    arena.check_quiet().unwrap();
}

#[test]
fn a_full_pool_refuses_nothing_while_any_sub_arena_has_room() {
    let arena = arena(FixedProvider::new(THREADS * SEGMENT_BYTES));
    // Every sub-arena gets a region, wholly on lease.
    let mut regions = lease_apart(&arena, &[SEGMENT_BYTES; THREADS]);
    assert!(arena.lease(1).is_err(), "full");
    let mut parts = Vec::new();
    while let Some(region) = regions.pop() {
        drop(region);
        parts.extend((0..16).map(|_| arena.lease(SEGMENT_BYTES / 16).unwrap()));
        assert!(arena.lease(200_000).is_err(), "full again");
        arena.check_quiet().unwrap();
    }
    assert_eq!(arena.leased_bytes(), THREADS * SEGMENT_BYTES);
}

#[test]
fn neighbours_of_different_sub_arenas_do_not_join() {
    let arena = arena(AdjacentProvider::new(16));
    for round in 0..50 {
        let mut random = Random(round);
        let mut leases = lease_apart(&arena, &[SEGMENT_BYTES; THREADS]);
        assert_eq!(arena.reserved_bytes() / SEGMENT_BYTES, THREADS);
        while !leases.is_empty() {
            leases.swap_remove(random.below(leases.len()));
            arena.check_quiet().unwrap();
        }
    }
    assert_eq!(arena.statistics().free_bytes, THREADS * SEGMENT_BYTES, "the slack keeps all of them");
    arena.trim(2 * SEGMENT_BYTES);
    assert_eq!(arena.reserved_bytes(), 2 * SEGMENT_BYTES);
    arena.trim(0);
    arena.check_quiet().unwrap();
    assert_eq!(arena.reserved_bytes(), 0);
}

#[test]
fn regions_come_and_go_beside_each_other_while_threads_work() {
    let options = ArenaOptions { slack_bytes: Some(0), shards: 8, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(AdjacentProvider::new(64)), &options);
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let arena = &arena;
            scope.spawn(move || {
                let mut random = Random(seed);
                for _ in 0..3_000 {
                    let first = arena.lease_raw(130_000 + random.below(30 << 20)).unwrap().as_ptr() as usize;
                    let second = arena.lease_raw(random.below(100_000)).unwrap().as_ptr() as usize;
                    assert!(arena.release_raw(first + 64).is_err(), "inside a lease");
                    arena.release_raw(first).unwrap();
                    arena.release_raw(second).unwrap();
                }
            });
        }
        (0..50).for_each(|_| arena.check().unwrap());
    });
    arena.trim(0);
    arena.check_quiet().unwrap();
    assert_eq!((arena.leased_bytes(), arena.reserved_bytes()), (0, 0));
}

/// Host memory; while a region is mapped, a lease ends that another call has put here.
#[derive(Debug, Default)]
struct SlowProvider(Mutex<Option<Lease>>);

impl Provider for SlowProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        drop(self.0.lock().unwrap().take());
        PLAIN_HOST.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        PLAIN_HOST.unmap(region);
    }
}

#[test]
fn a_region_that_is_not_needed_any_more_once_it_is_mapped_is_not_kept() {
    let provider = Arc::new(SlowProvider::default());
    let options = ArenaOptions { slack_bytes: Some(0), ..options(usize::MAX) };
    let arena = Arena::with_provider(provider.clone(), &options);
    let half = SEGMENT_BYTES / 2;
    let (first, second) = (arena.lease(half).unwrap(), arena.lease(half).unwrap());
    *provider.0.lock().unwrap() = Some(first);
    let third = arena.lease(half).unwrap();
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES, "it lies where the first was");
    arena.check_quiet().unwrap();
    drop((second, third));
    assert_eq!((arena.leased_bytes(), arena.reserved_bytes()), (0, 0));
}

#[test]
fn regions_of_threads_that_ended_are_used_by_all() {
    let arena = arena(FixedProvider::new(2 * SEGMENT_BYTES));
    let (send, receive) = mpsc::channel();
    for _ in 0..100 {
        let (arena, send) = (&arena, send.clone());
        let made = std::thread::scope(|scope| scope.spawn(move || send.send(arena.lease(1 << 20).unwrap())).join());
        made.unwrap().unwrap();
    }
    assert_eq!(arena.statistics().regions, 2, "as one thread would have packed them");
    drop(receive.try_iter().collect::<Vec<_>>());
    drop([0, 1].map(|_| arena.lease(SEGMENT_BYTES).unwrap()));
    arena.check_quiet().unwrap();
}

/// While it maps its second region, the lease that fills the first one is released.
#[derive(Debug)]
struct ReleasingProvider {
    arena: OnceLock<Arc<Arena>>,
    lease: AtomicUsize,
    unmaps: AtomicUsize,
}

impl Provider for ReleasingProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        match self.lease.swap(0, SeqCst) {
            0 => {}
            lease => self.arena.get().unwrap().release_raw(lease).unwrap(),
        }
        PLAIN_HOST.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        self.unmaps.fetch_add(1, SeqCst);
        PLAIN_HOST.unmap(region);
    }
}

#[test]
fn a_region_that_turns_out_not_to_be_needed_is_kept_within_the_slack() {
    for (slack, kept) in [(4, 2), (0, 1)] {
        let zero = || AtomicUsize::new(0);
        let provider = Arc::new(ReleasingProvider { arena: OnceLock::new(), lease: zero(), unmaps: zero() });
        let slack_bytes = Some(slack * SEGMENT_BYTES);
        let options = ArenaOptions { slack_bytes, purge_interval: None, ..options(usize::MAX) };
        let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options);
        provider.arena.set(Arc::clone(&arena)).unwrap();
        let small = arena.lease(1 << 20).unwrap();
        let first = arena.lease_raw(60 << 20).unwrap();
        provider.lease.store(first.as_ptr().expose_provenance(), SeqCst);
        let second = arena.lease(40 << 20).unwrap();
        assert_eq!(second.as_ptr(), first.as_ptr(), "the second region was not needed");
        assert_eq!((arena.reserved_bytes() / SEGMENT_BYTES, provider.unmaps.load(SeqCst)), (kept, 2 - kept));
        arena.check_quiet().unwrap();
        drop((small, second));
        arena.trim(0);
        arena.check_quiet().unwrap();
        assert_eq!(arena.reserved_bytes(), 0);
    }
}
