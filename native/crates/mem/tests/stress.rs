//! Many threads: leases made here and released there, with cookies in the memory and the checker running beside them.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "suite/subject.rs"]
mod subject;
#[path = "suite/traffic.rs"]
mod suite;
mod support;

use sluice_mem::Arena;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use support::{PLAIN_HOST, Random, host_arena};

const THREADS: usize = 4;
const RACES: usize = 2_000;

#[test]
fn cookies_survive_cross_thread_traffic() {
    suite::cookies_survive_cross_thread_traffic(
        &|options| Box::new(Arena::with_provider(Arc::new(PLAIN_HOST), options)),
        15_000,
    );
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
