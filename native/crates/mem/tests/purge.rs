//! Free memory goes back to the system when it has not been used for a while, and only then.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, ArenaOptions, Lease, MapError, MappedRegion, MemError, MemoryKind, Provider, SEGMENT_BYTES};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;
use support::{AdjacentProvider, FixedProvider, PLAIN_HOST, options};

const MIB: usize = 1 << 20;

/// Bytes of `start .. start + bytes` that are resident, both multiples of the page size.
fn resident(start: usize, bytes: usize) -> usize {
    let mut pages = vec![0u8; bytes / 4096];
    // SAFETY: `pages` has a byte for each page of the range; mincore reads and writes nothing else.
    let result = unsafe { libc::mincore(std::ptr::without_provenance_mut(start), bytes, pages.as_mut_ptr()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    pages.iter().filter(|&&page| page & 1 == 1).count() * 4096
}

/// An arena with a step of a purge at each large release, that keeps its regions.
fn arena() -> Arc<Arena> {
    let options = ArenaOptions { slack_bytes: Some(16 * SEGMENT_BYTES), ..options(usize::MAX) };
    Arena::with_provider(Arc::new(PLAIN_HOST), &options)
}

/// Leases and fills `bytes` bytes, checks that they are resident and releases them: their address.
fn burst(arena: &Arc<Arena>, bytes: usize) -> usize {
    let mut lease = arena.lease(bytes).unwrap();
    lease.as_mut_slice().fill(0xAB);
    let start = lease.as_ptr() as usize;
    assert_eq!(resident(start, bytes), bytes);
    start
}

#[test]
fn resident_memory_falls_after_a_burst() {
    let arena = arena();
    let start = burst(&arena, 100 * MIB);
    assert_eq!(resident(start, 100 * MIB), 100 * MIB, "not in the pass in which it was released");
    assert_eq!(arena.statistics().touched_bytes, 100 * MIB);
    for _ in 0..40 {
        drop(arena.lease(MIB).unwrap());
    }
    let statistics = arena.statistics();
    assert!(resident(start, 100 * MIB) <= 2 * MIB, "{statistics:?}");
    assert!(statistics.purged_bytes >= 98 * MIB as u64 && statistics.touched_bytes <= 2 * MIB, "{statistics:?}");
    assert_eq!((arena.reserved_bytes(), statistics.purge_failures), (128 * MIB, 0), "it stays mapped");
    let again = arena.lease(100 * MIB).unwrap();
    assert_eq!(again.as_ptr() as usize, start);
    assert!(again.as_slice()[2 * MIB..].iter().all(|&byte| byte == 0));
    drop(again);
    arena.check_quiet().unwrap();
}

#[test]
fn memory_that_is_leased_again_and_again_is_never_purged() {
    let arena = arena();
    for _ in 0..1_000 {
        drop(arena.lease(20 * MIB).unwrap());
    }
    let statistics = arena.statistics();
    assert_eq!((statistics.purged_bytes, statistics.touched_bytes), (0, 20 * MIB), "{statistics:?}");
    assert_eq!(statistics.purge_passes, 1_000, "otherwise this test shows nothing");
}

#[test]
fn no_purge_is_due_before_the_interval_is_over() {
    let options = ArenaOptions { purge_interval: Some(Duration::from_secs(1 << 30)), ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(PLAIN_HOST), &options);
    let start = burst(&arena, 40 * MIB);
    (0..100).for_each(|_| drop(arena.lease(MIB).unwrap()));
    arena.purge_if_due();
    let statistics = arena.statistics();
    assert_eq!((statistics.purge_passes, statistics.purged_bytes), (0, 0));
    assert_eq!(resident(start, 40 * MIB), 40 * MIB);
}

#[test]
fn an_explicit_purge_gives_everything_free_back_at_once() {
    let options = ArenaOptions { slack_bytes: Some(4 * SEGMENT_BYTES), purge_interval: None, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(PLAIN_HOST), &options);
    let mut kept = arena.lease(3 * MIB).unwrap();
    kept.as_mut_slice().fill(7);
    let start = burst(&arena, 40 * MIB);
    (0..100).for_each(|_| drop(arena.lease(1_000).unwrap()));
    assert!(arena.statistics().cached_bytes > 0, "otherwise this test shows less");
    let purged = arena.purge();
    let statistics = arena.statistics();
    // The first and the last unit are shared with what is on lease and with what was never touched.
    assert!(purged >= 38 * MIB as u64 && purged == statistics.purged_bytes, "{statistics:?}");
    assert!(resident(start, 40 * MIB) <= 2 * MIB && statistics.cached_bytes == 0, "{statistics:?}");
    assert!(kept.as_slice().iter().all(|&byte| byte == 7), "what is on lease stays");
    assert_eq!(arena.purge(), 0, "once");
    arena.check_quiet().unwrap();
}

#[test]
fn a_provider_that_does_not_purge_is_asked_once_a_pass() {
    let options = ArenaOptions { slack_bytes: Some(4 * SEGMENT_BYTES), purge_interval: None, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::new(AdjacentProvider::new(4)), &options);
    drop([30, 60, 50].map(|mib| arena.lease(mib * MIB).unwrap()));
    assert_eq!((arena.purge(), arena.purge()), (0, 0));
    let statistics = arena.statistics();
    assert_eq!((statistics.purge_failures, statistics.purge_passes, statistics.purged_bytes), (2, 2, 0));
    drop(arena.lease(60 * MIB).unwrap());
    arena.check_quiet().unwrap();
}

/// One region of host memory. A purge of it has another thread lease all of it, which must wait for the purge.
#[derive(Debug)]
struct ContendedProvider {
    inner: FixedProvider,
    arena: OnceLock<Arc<Arena>>,
    other: Mutex<Option<mpsc::Receiver<Result<Lease, MemError>>>>,
}

impl Provider for ContendedProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        self.inner.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        self.inner.unmap(region);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let (arena, (send, receive)) = (self.arena.get().unwrap().clone(), mpsc::channel());
        // The lease is sent, and so kept: released, it would be free memory that the purge finds next.
        std::thread::spawn(move || send.send(arena.lease(SEGMENT_BYTES)));
        let early = receive.recv_timeout(Duration::from_millis(100));
        assert!(matches!(early, Err(mpsc::RecvTimeoutError::Timeout)), "the other thread did not wait: {early:?}");
        *self.other.lock().unwrap() = Some(receive);
        // SAFETY: the caller's promise.
        unsafe { self.inner.purge(start, bytes) }
    }
}

#[test]
fn a_lease_waits_for_memory_that_is_being_purged_and_is_not_refused() {
    let inner = FixedProvider::new(SEGMENT_BYTES);
    let provider = Arc::new(ContendedProvider { inner, arena: OnceLock::new(), other: Mutex::default() });
    let options = ArenaOptions { purge_interval: None, ..options(usize::MAX) };
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options);
    provider.arena.set(Arc::clone(&arena)).unwrap();
    burst(&arena, 10 * MIB);
    assert_eq!(arena.purge(), 10 * MIB as u64);
    let other = provider.other.lock().unwrap().take().unwrap();
    let lease = other.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(lease.unwrap().len(), SEGMENT_BYTES);
}

#[test]
fn the_slack_is_an_eighth_of_the_limit_and_at_least_a_region() {
    let options = ArenaOptions { shards: 2, ..ArenaOptions::with_limit(1 << 30) };
    let arena = Arena::with_provider(Arc::new(PLAIN_HOST), &options);
    let fill = |count: usize| drop((0..count).map(|_| arena.lease(SEGMENT_BYTES).unwrap()).collect::<Vec<_>>());
    fill(8);
    assert_eq!(arena.reserved_bytes(), 2 * SEGMENT_BYTES);
    arena.set_limit(4 << 30);
    fill(20);
    assert_eq!(arena.reserved_bytes(), 8 * SEGMENT_BYTES);
    arena.set_limit(2 << 30);
    assert_eq!(arena.reserved_bytes(), 4 * SEGMENT_BYTES, "a lower limit has its surplus unmapped at once");
    arena.check_quiet().unwrap();
    arena.set_limit(1 << 20);
    assert_eq!(arena.reserved_bytes(), SEGMENT_BYTES);
    arena.check_quiet().unwrap();
}
