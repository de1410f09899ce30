//! Many threads: leases made here and released there, with cookies in the memory and the checker running beside them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, Lease, MemError};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex, mpsc};
use support::{Random, host_arena};

const THREADS: usize = 4;
const RACES: usize = 2_000;

/// Fills the first, a middle and the last 64 bytes with a value that only this lease has.
fn sign(lease: &mut Lease, salt: u64) {
    let cookie = (lease.as_ptr() as u64 ^ salt.rotate_left(32)).to_le_bytes();
    let bytes = lease.as_mut_slice();
    let ends = [0, (bytes.len() / 2) & !7, bytes.len().saturating_sub(64) & !7];
    for start in ends {
        for word in bytes[start..].chunks_exact_mut(8).take(8) {
            word.copy_from_slice(&cookie);
        }
    }
}

fn verify(lease: &Lease, salt: u64) {
    let cookie = (lease.as_ptr() as u64 ^ salt.rotate_left(32)).to_le_bytes();
    let bytes = lease.as_slice();
    for start in [0, (bytes.len() / 2) & !7, bytes.len().saturating_sub(64) & !7] {
        assert!(bytes[start..].chunks_exact(8).take(8).all(|word| word == cookie), "lease overwritten");
    }
}

/// Counts a thread that ended, also by a panic.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// One thread's part: leases, keeps some, swaps others with the pool that all threads share.
fn churn(arena: &std::sync::Arc<Arena>, pool: &Mutex<Vec<(Lease, u64)>>, seed: u64, rounds: usize) {
    let mut random = Random(seed);
    let mut own: Vec<(Lease, u64)> = Vec::new();
    for _ in 0..rounds {
        let salt = random.next();
        if let Ok(mut lease) = arena.lease(random.seed_size() / (1 + random.below(4))) {
            sign(&mut lease, salt);
            own.push((lease, salt));
        }
        if own.len() > 1 + random.below(40) {
            let given = own.swap_remove(random.below(own.len()));
            let mut pool = pool.lock().unwrap();
            pool.push(given);
            let at = random.below(pool.len());
            let taken = (pool.len() > 20).then(|| pool.swap_remove(at));
            drop(pool);
            if let Some((lease, salt)) = taken {
                verify(&lease, salt);
            }
        }
    }
    own.iter().for_each(|(lease, salt)| verify(lease, *salt));
}

#[test]
fn cookies_survive_cross_thread_traffic() {
    let arena = host_arena(96 << 20);
    let (pool, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let (arena, pool, done) = (&arena, &pool, &done);
            scope.spawn(move || {
                let _done = Done(done);
                churn(arena, pool, seed, 15_000);
            });
        }
        let mut random = Random(99);
        while done.load(SeqCst) < THREADS {
            arena.check().unwrap();
            // Inside whatever superblock or large lease comes and goes there: never the start of a lease.
            let near = pool.lock().unwrap().first().map_or(0, |(lease, _)| lease.as_ptr() as usize);
            for _ in 0..1_000 {
                let address = (near + random.below(1 << 20)) | (1 + random.below(63));
                assert_eq!(arena.release_raw(address), Err(MemError::NotLeased { address }));
            }
        }
    });
    pool.into_inner().unwrap().iter().for_each(|(lease, salt)| verify(lease, *salt));
    arena.check_quiet().unwrap();
    assert_eq!(arena.leased_bytes(), 0);
    arena.trim(0);
    arena.check_quiet().unwrap();
    assert_eq!(arena.reserved_bytes(), 0);
}

#[test]
fn one_of_two_racing_releases_succeeds() {
    let arena = host_arena(64 << 20);
    let (turn, target) = (Barrier::new(2), AtomicUsize::new(0));
    let won = AtomicUsize::new(0);
    let race = || {
        turn.wait();
        if arena.release_raw(target.load(SeqCst)).is_ok() {
            won.fetch_add(1, SeqCst);
        }
        turn.wait();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..RACES).for_each(|_| race()));
        for round in 0..RACES {
            let size = [100, 5_000, 100_000, 300_000][round % 4];
            target.store(arena.lease_raw(size).unwrap().as_ptr() as usize, SeqCst);
            race();
            assert_eq!((won.swap(0, SeqCst), arena.leased_bytes()), (1, 0));
        }
    });
    arena.check_quiet().unwrap();
    assert_eq!(arena.statistics().invalid_releases, RACES as u64);
}

#[test]
fn ending_threads_strand_nothing() {
    let arena = host_arena(64 << 20);
    let (send, receive) = mpsc::channel();
    for _ in 0..100 {
        let (arena, send) = (&arena, send.clone());
        std::thread::scope(|scope| {
            scope.spawn(move || send.send([64, 4_000, 65_536].map(|size| arena.lease(size).unwrap())).unwrap());
        });
    }
    let leases: Vec<_> = receive.try_iter().flatten().collect();
    let statistics = arena.statistics();
    assert_eq!(statistics.live_leases(), 300);
    // 100 blocks of 64 KiB and of 4 KiB, packed as one thread would have packed them (two classes may split in two).
    assert!(statistics.superblock_bytes <= 9 << 20, "{statistics:?}");
    drop(leases);
    arena.trim(0);
    arena.check_quiet().unwrap();
    assert_eq!(arena.reserved_bytes(), 0);
}

#[test]
fn the_limit_holds_with_many_threads() {
    const LIMIT: usize = 8 << 20;
    let arena = host_arena(LIMIT);
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let arena = &arena;
            scope.spawn(move || {
                let mut random = Random(seed);
                let mut own = Vec::new();
                for _ in 0..2_000 {
                    match arena.lease(random.below(400_000)) {
                        Ok(lease) => own.push(lease),
                        Err(_) => own.truncate(own.len() / 2),
                    }
                    assert!(arena.leased_bytes() <= LIMIT);
                }
            });
        }
    });
    let statistics = arena.statistics();
    assert!(statistics.peak_leased_bytes <= LIMIT && statistics.refused_by_limit > 0, "{statistics:?}");
    assert_eq!(statistics.leased_bytes, 0);
    arena.check_quiet().unwrap();
}
