//! What a lease does when the arena has no memory: it ends batches, has caches dropped, waits, and gives up in time.

use crate::setting::{MIB, Setting, fill, long, options};
use sluice_cuda::Wait;
use sluice_gpu_mem::{ArenaStream, Declined, StreamArenaOptions, StreamLease};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

#[test]
fn a_wait_for_memory_ends_in_time_and_the_device_is_not_lost() {
    let setting = Setting::new(1, 1);
    let (one, other) = (setting.stream(), setting.stream());
    let lease = one.lease(40 * MIB, long()).unwrap();
    setting.simulator.configure("hang=cuMemsetD8Async@1");
    fill(one.stream(), lease.address(), 1);
    one.free(lease);
    let begun = Instant::now();
    let declined = other.lease(40 * MIB, Wait::at_most(Duration::from_millis(30))).unwrap_err();
    assert!(matches!(declined, Declined::Memory(_)) && declined.to_string().contains("41943040 bytes"), "{declined}");
    assert!((Duration::from_millis(30)..Duration::from_secs(30)).contains(&begun.elapsed()));
    let killed = AtomicBool::new(true);
    assert_eq!(other.lease(40 * MIB, long().unless(&killed)).unwrap_err(), Declined::Killed);
    assert!(setting.context.lost().is_none());
    other.free(other.lease(MIB, long()).unwrap());
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.shortages, statistics.waits, statistics.declined, statistics.killed), (2, 2, 1, 1));
    assert!(statistics.wait_ns >= 30_000_000, "{statistics:?}");
    setting.check();
}

#[test]
fn what_can_never_be_leased_is_declined_at_once() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    for bytes in [1 << 30, usize::MAX] {
        let begun = Instant::now();
        assert!(matches!(stream.lease(bytes, long()), Err(Declined::Memory(_))));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    assert_eq!((setting.arena.statistics().waits, setting.arena.statistics().declined), (0, 2));
}

#[test]
fn caches_are_dropped_on_the_stream_that_needs_memory() {
    let cache: Arc<Mutex<Vec<StreamLease>>> = Arc::default();
    let (dropping, asked) = (Arc::clone(&cache), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&asked);
    let drop_caches = move |stream: &ArenaStream, bytes: usize| {
        counted.store(bytes, SeqCst);
        dropping.lock().unwrap().pop().map(|copy| stream.free(copy)).is_some()
    };
    let options = StreamArenaOptions { drop_caches: Some(Box::new(drop_caches)), ..options(1) };
    let setting = Setting::with(1, options);
    // The stream that made the copy goes on, and nobody makes it record an event.
    let made = setting.stream();
    cache.lock().unwrap().push(made.lease(40 * MIB, long()).unwrap());
    let stream = setting.stream();
    let lease = stream.lease(60 * MIB, long()).unwrap();
    assert_eq!((asked.load(SeqCst), cache.lock().unwrap().len()), (60 * MIB, 0));
    assert!(stream.lease(60 * MIB, Wait::at_most(Duration::ZERO)).is_err(), "nothing is left to be dropped");
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.cache_drops, statistics.declined, statistics.shortages), (1, 1, 2));
    stream.free(lease);
    setting.check();
}

#[test]
fn caches_are_dropped_until_there_is_room() {
    let cache: Arc<Mutex<Vec<StreamLease>>> = Arc::default();
    let dropping = Arc::clone(&cache);
    let drop_caches =
        move |stream: &ArenaStream, _| dropping.lock().unwrap().pop().map(|copy| stream.free(copy)).is_some();
    let options = StreamArenaOptions { drop_caches: Some(Box::new(drop_caches)), ..options(1) };
    let setting = Setting::with(1, options);
    let stream = setting.stream();
    let copies = (0..6).map(|_| stream.lease(10 * MIB, long()).unwrap());
    cache.lock().unwrap().extend(copies);
    let lease = stream.lease(35 * MIB, Wait::at_most(Duration::ZERO)).unwrap();
    assert_eq!((cache.lock().unwrap().len(), setting.arena.statistics().cache_drops), (2, 4));
    stream.free(lease);
    cache.lock().unwrap().clear();
    setting.check();
}

/// The other stream's batch is not full, and only its own thread can record an event there.
#[test]
fn streams_record_events_at_once_while_somebody_looks_for_memory() {
    let setting = Setting::new(1, 1);
    let stream = setting.arena.attach(setting.context.thread_stream());
    let small = stream.lease(100, long()).unwrap();
    let held = stream.lease(7 * MIB, long()).unwrap();
    fill(stream.stream(), held.address(), 1);
    stream.free(held);
    assert_eq!(setting.arena.statistics().events, 0, "otherwise this test shows nothing");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = setting.arena.attach(setting.context.thread_stream());
            let lease = other.lease(60 * MIB, long());
            done.store(true, SeqCst);
            other.free(lease.unwrap());
        });
        let begun = Instant::now();
        while !done.load(SeqCst) && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
            let lease = stream.lease(100, long()).unwrap();
            stream.free(lease);
        }
    });
    assert!(done.load(SeqCst));
    stream.free(small);
    setting.check();
}

#[test]
fn what_others_drop_while_a_thread_waits_comes_to_it() {
    let setting = Setting::new(1, 1);
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let stream = setting.arena.attach(setting.context.thread_stream());
            let lease = stream.lease(40 * MIB, long()).unwrap();
            fill(stream.stream(), lease.address(), 1);
            send.send(lease).unwrap();
            // Its home is this stream, which nobody else can record an event on.
            stream.lease(60 * MIB, Wait::at_most(Duration::from_secs(10))).map(|lease| stream.free(lease))
        });
        let lease = receive.recv().unwrap();
        while setting.arena.statistics().shortages == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(50));
        drop(lease);
        waiting.join().unwrap().unwrap();
    });
    setting.check();
}

/// The limit is on what the driver gives, and that is 64 MiB more than the region of such a lease.
#[test]
fn what_the_padding_keeps_from_being_leased_is_declined_at_once() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    assert!(matches!(stream.lease(100 * MIB, Wait::at_most(Duration::from_secs(1))), Err(Declined::Memory(_))));
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.waits, statistics.declined), (0, 1));
}

#[test]
fn leases_that_are_dropped_get_their_event_at_the_next_lease() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    drop((0..200).map(|_| stream.lease(1_000, long()).unwrap()).collect::<Vec<StreamLease>>());
    assert_eq!(setting.arena.statistics().events, 0, "not by a drop, which may be on another thread");
    let lease = stream.lease(5_000, long()).unwrap();
    assert_eq!(setting.arena.statistics().events, 1);
    stream.free(lease);
    setting.check();
}

#[test]
fn a_thread_that_waits_does_not_search_the_arena_again_and_again() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    let held = stream.lease(40 * MIB, long()).unwrap();
    assert!(stream.lease(60 * MIB, Wait::at_most(Duration::from_secs(1))).is_err());
    let refusals = setting.arena.map_statistics().refusals;
    assert!((2..500).contains(&refusals), "{refusals} searches in a second in which nothing was released");
    stream.free(held);
    setting.check();
}
