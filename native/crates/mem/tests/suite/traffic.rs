//! Many threads: leases made here and released there, with cookies in the memory and the checker running beside them.

use crate::subject::{Held, Make, Subject};
use crate::support::{Random, options};
use sluice_mem::MemError;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

const THREADS: usize = 4;

type Pool<'a> = Mutex<Vec<(Held<'a>, u64)>>;

/// Counts a thread that ended, also by a panic.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// One thread's part: leases, keeps some, swaps others with the pool that all threads share.
fn churn<'a>(arena: &'a dyn Subject, pool: &Pool<'a>, seed: u64, rounds: usize) {
    let mut random = Random(seed);
    let mut own: Vec<(Held<'_>, u64)> = Vec::new();
    for _ in 0..rounds {
        let salt = random.next();
        if let Ok(lease) = Held::lease(arena, random.seed_size() / (1 + random.below(4))) {
            lease.sign(salt);
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
                assert!(lease.is_signed(salt), "lease overwritten");
            }
        }
    }
    assert!(own.iter().all(|(lease, salt)| lease.is_signed(*salt)), "lease overwritten");
}

/// Looks at the arena while the threads work.
fn check_beside(arena: &dyn Subject, pool: &Pool<'_>, done: &AtomicUsize) {
    let mut random = Random(99);
    while done.load(SeqCst) < THREADS {
        arena.check().unwrap();
        // Inside whatever superblock or large lease comes and goes there: never the start of a lease.
        let near = pool.lock().unwrap().first().map_or(0, |(lease, _)| lease.address);
        for _ in 0..1_000 {
            let address = (near + random.below(1 << 20)) | (1 + random.below(63));
            assert_eq!(arena.release_raw(address), Err(MemError::NotLeased { address }));
        }
    }
}

/// Threads of two such tests at once could get their numbers in turns, and those of one test then all have one shard.
static ALONE: Mutex<()> = Mutex::new(());

/// So many rounds of each thread.
pub fn cookies_survive_cross_thread_traffic(make: Make<'_>, rounds: usize) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let arena = &*make(&options(96 << 20));
    let (pool, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let (pool, done) = (&pool, &done);
            scope.spawn(move || {
                let _done = Done(done);
                churn(arena, pool, seed, rounds);
            });
        }
        check_beside(arena, &pool, &done);
    });
    pool.into_inner().unwrap().iter().for_each(|(lease, salt)| assert!(lease.is_signed(*salt)));
    arena.check_quiet().unwrap();
    let statistics = arena.statistics();
    assert!(statistics.cross_thread_releases > 0, "otherwise this test shows less: {statistics:?}");
    assert_eq!(arena.leased_bytes(), 0);
    arena.trim(0);
    arena.check_quiet().unwrap();
    assert_eq!(arena.reserved_bytes(), 0);
}
