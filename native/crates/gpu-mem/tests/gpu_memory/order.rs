//! Frees are ordered on streams: who gets the memory when, and what that costs in calls of the driver.

use crate::setting::{MIB, Setting, fill, long, number, read};
use sluice_cuda::Waited;
use sluice_gpu_mem::{ArenaStream, StreamLease};
use std::sync::mpsc;
use std::time::Duration;

/// A lease that two streams cannot have at the same time in one region.
const MOST: usize = 40 * MIB;

#[test]
fn a_stream_leases_what_it_has_freed_without_a_call_of_the_driver() {
    let setting = Setting::new(1, 2);
    let stream = setting.arena.attach(setting.context.thread_stream());
    for bytes in [0, 1_000, 100_000, 5 * MIB] {
        let first = stream.lease(bytes, long()).unwrap();
        let address = first.address();
        fill(stream.stream(), address, 7);
        stream.free(first);
        let calls = setting.calls();
        for _ in 0..1_000 {
            let again = stream.lease(bytes, long()).unwrap();
            assert_eq!((again.address(), again.len()), (address, bytes));
            stream.free(again);
        }
        assert_eq!(setting.calls(), calls, "{bytes}");
    }
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.leases_from_limbo, statistics.leases_from_arena, statistics.events), (4_000, 4, 0));
    setting.check();
}

#[test]
fn an_event_is_recorded_behind_64_leases_or_8_mib() {
    let setting = Setting::new(1, 2);
    let stream = setting.stream();
    let free = |bytes: usize, count: usize| {
        let leases: Vec<StreamLease> = (0..count).map(|_| stream.lease(bytes, long()).unwrap()).collect();
        leases.into_iter().for_each(|lease| stream.free(lease));
        setting.arena.statistics().events
    };
    assert_eq!((free(1_000, 63), free(500, 1)), (0, 1));
    assert_eq!((free(5 * MIB, 1), free(2 * MIB, 1), free(MIB, 1)), (1, 1, 2));
    assert_eq!(free(MIB, 20), 4);
    stream.flush();
    assert_eq!(setting.arena.statistics().events, 5);
    stream.flush();
    assert_eq!(
        (setting.arena.statistics().events, setting.simulator.calls("cuEventRecord")),
        (5, 5),
        "nothing is left"
    );
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.limbo_leases, statistics.limbo_bytes, setting.arena.memory().leased_bytes()), (0, 0, 0));
    setting.check();
}

/// A task's stream that frees a lease and ends; waits until nobody has to look at it any more.
fn task(setting: &Setting) {
    let stream = setting.arena.attach(setting.context.thread_stream());
    let lease = stream.lease(MIB, long()).unwrap();
    fill(stream.stream(), lease.address(), 1);
    stream.free(lease);
    stream.flush();
    stream.stream().finish(long()).unwrap();
    drop(stream);
    until_over(setting);
}

fn until_over(setting: &Setting) {
    let over = long().until(|| setting.arena.poll().map(|_| setting.arena.statistics().streams == 0));
    assert_eq!(over.unwrap(), Waited::Done);
}

#[test]
fn events_of_streams_that_are_over_are_those_of_the_next_ones() {
    let setting = Setting::new(1, 1);
    task(&setting);
    assert_eq!(setting.simulator.calls("cuEventCreate"), 2, "for the free, and for the stream's end");
    (0..100).for_each(|_| task(&setting));
    assert_eq!(setting.simulator.calls("cuEventCreate"), 2);
    let streams: Vec<ArenaStream> = (0..70).map(|_| setting.stream()).collect();
    assert_eq!(setting.simulator.counts().events, 70);
    drop(streams);
    until_over(&setting);
    assert_eq!(setting.simulator.counts().events, 64, "the driver has the others back");
    setting.check();
    setting.finish();
}

/// One stream fills a lease, reads it back and frees it by `free`; another leases as much, and does the same. The
/// mistakes that the simulator has seen, and whether both have read what they wrote.
fn hand_over(seed: u64, free: impl Fn(&Setting, &ArenaStream, StreamLease)) -> (Vec<String>, bool) {
    let setting = Setting::new(seed, 1);
    let (one, other) = (setting.stream(), setting.stream());
    let first = one.lease(MOST, long()).unwrap();
    let address = first.address();
    fill(one.stream(), address, 1);
    let of_one = read(one.stream(), address);
    free(&setting, &one, first);
    let second = other.lease(MOST, long()).unwrap();
    assert_eq!(second.address(), address, "there is no room for another one");
    fill(other.stream(), address, 2);
    let of_other = read(other.stream(), address);
    one.stream().finish(long()).unwrap();
    other.stream().finish(long()).unwrap();
    other.free(second);
    (setting.simulator.violations(), of_one.iter().all(|&byte| byte == 1) && of_other.iter().all(|&byte| byte == 2))
}

#[test]
fn another_stream_leases_memory_when_the_work_before_its_free_has_ended() {
    for seed in 0..20 {
        let (mistakes, intact) = hand_over(seed, |_, stream, lease| stream.free(lease));
        assert!(mistakes.is_empty() && intact, "{seed}: {mistakes:?}");
    }
}

/// The same with an arena that does not wait: what the test above would find.
#[test]
fn memory_that_another_stream_leases_too_early_is_found() {
    let mut destroyed = 0;
    for seed in 0..20 {
        let (mistakes, intact) = hand_over(seed, |setting, _, lease| {
            setting.arena.memory().release_raw(number(&lease)).unwrap();
            std::mem::forget(lease);
        });
        assert!(mistakes.iter().any(|mistake| mistake.contains("no order")), "{seed}: {mistakes:?}");
        destroyed += usize::from(!intact);
    }
    assert!(destroyed > 0, "the streams' work is done in some order; in one of 20 it matters");
}

#[test]
fn a_free_on_another_stream_waits_for_that_ones_work() {
    for seed in 0..20 {
        let setting = Setting::new(seed, 1);
        let (one, other) = (setting.stream(), setting.stream());
        let lease = one.lease(MOST, long()).unwrap();
        fill(one.stream(), lease.address(), 3);
        let event = setting.context.event().unwrap();
        event.record(one.stream()).unwrap();
        other.stream().wait_for(&event).unwrap();
        let bytes = read(other.stream(), lease.address());
        other.free(lease);
        let again = one.lease(MOST, long()).unwrap();
        fill(one.stream(), again.address(), 4);
        one.stream().finish(long()).unwrap();
        other.stream().finish(long()).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 3), "{seed}");
        one.free(again);
        setting.check();
    }
}

#[test]
fn a_limbo_whose_events_do_not_end_is_bounded_and_costs_no_wait() {
    let setting = Setting::new(1, 2);
    let stream = setting.stream();
    let leases: Vec<StreamLease> = (0..10_000).map(|_| stream.lease(1_000, long()).unwrap()).collect();
    setting.simulator.configure("hang=cuMemsetD8Async@1");
    fill(stream.stream(), leases[0].address(), 1);
    leases.into_iter().for_each(|lease| stream.free(lease));
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.limbo_leases, statistics.events), (10_000, 156));
    assert_eq!(setting.simulator.counts().events, 65, "the newest takes in the rest; one is for the stream's end");
    assert_eq!(setting.simulator.calls("cuEventRecord"), 156, "and its event is recorded again each time");
    assert_eq!(stream.lease(1_000, long()).unwrap().len(), 1_000, "its own it can still have");
    setting.check();
}

#[test]
fn dropped_leases_wait_for_the_stream_that_leased_them() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    let lease = |bytes: usize| stream.lease(bytes, long()).unwrap();
    let (elsewhere, later, last) = (lease(5_000), lease(5_000), lease(5_000));
    fill(stream.stream(), elsewhere.address(), 1);
    std::thread::scope(|scope| scope.spawn(move || drop(elsewhere)).join().unwrap());
    assert_eq!((setting.arena.poll().unwrap(), setting.arena.statistics().limbo_leases), (0, 1), "without an event");
    fill(stream.stream(), later.address(), 2);
    drop(stream);
    drop(later);
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    assert_eq!(setting.arena.memory().statistics().live_leases(), 1);
    drop(last);
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.drops, statistics.frees, statistics.streams, statistics.events), (3, 3, 0, 1));
    assert_eq!(setting.arena.memory().statistics().live_leases(), 0, "its stream's work has ended long ago");
    setting.check();
    setting.finish();
}

#[test]
fn memory_goes_back_to_the_driver_when_it_is_told_to() {
    let setting = Setting::new(1, 3);
    let stream = setting.stream();
    let leases: Vec<StreamLease> = (0..3).map(|_| stream.lease(MOST, long()).unwrap()).collect();
    leases.into_iter().for_each(|lease| stream.free(lease));
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    setting.check();
    assert_eq!((setting.arena.map_statistics().maps, setting.simulator.counts().allocations), (3, 3), "they stay");
    setting.arena.trim(64 * MIB);
    assert_eq!((setting.arena.map_statistics().unmaps, setting.simulator.counts().allocations), (2, 1));
    drop(stream);
    setting.finish();
}

#[test]
fn chunks_are_a_gigabyte_and_fill_the_limit() {
    let options = sluice_gpu_mem::StreamArenaOptions::with_limit(2 << 30);
    let setting = Setting::with(1, options);
    let stream = setting.stream();
    let lease = stream.lease(1, long()).unwrap();
    assert_eq!(setting.simulator.counts().allocated_bytes, 1 << 30, "of two, each with its padding");
    let now = sluice_cuda::Wait::at_most(std::time::Duration::ZERO);
    assert!(stream.lease(970 * MIB, now).is_err(), "more than a chunk has, where there is no room for a larger one");
    let most = stream.lease(960 * MIB, long()).unwrap();
    assert_eq!(setting.simulator.counts().allocated_bytes, 2 << 30);
    [lease, most].into_iter().for_each(|lease| stream.free(lease));
    setting.check();
}

/// `work` on another thread: whether it ended while the driver still blocks a call of this test's.
fn ends_meanwhile(setting: &Setting, work: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        scope.spawn(move || {
            work();
            send.send(()).unwrap();
        });
        let ended = receive.recv_timeout(Duration::from_secs(20)).is_ok();
        setting.simulator.release();
        ended
    })
}

#[test]
fn a_stream_whose_call_of_the_driver_blocks_stops_no_other_thread() {
    let setting = Setting::new(1, 2);
    setting.simulator.configure("block=cuEventRecord@1");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stream = setting.stream();
            stream.free(stream.lease(MIB, long()).unwrap());
            stream.flush();
        });
        while setting.simulator.calls("cuEventRecord") == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = ends_meanwhile(&setting, || {
            let stream = setting.stream();
            let lease = stream.lease(MIB, long()).unwrap();
            setting.arena.poll().unwrap();
            stream.free(lease);
        });
        assert!(ended, "another thread attaches, leases, polls and frees");
    });
    setting.check();
}

#[test]
fn a_lease_that_is_dropped_late_ends_the_batches_of_its_stream() {
    let mut pending = 0;
    for seed in 0..20 {
        let setting = Setting::new(seed, 1);
        let stream = setting.stream();
        let kept: Vec<StreamLease> = (0..300).map(|_| stream.lease(1_000, long()).unwrap()).collect();
        let freed = stream.lease(MIB, long()).unwrap();
        (0..50).for_each(|_| fill(stream.stream(), freed.address(), 1));
        stream.free(freed);
        drop(stream);
        pending += setting.arena.statistics().limbo_leases;
        // The simulator does some work whenever an event is asked.
        drop(kept);
        assert_eq!(setting.arena.memory().leased_bytes(), 0, "{seed}: nobody else asks");
        setting.check();
        setting.finish();
    }
    assert!(pending > 0, "otherwise this test shows nothing");
}

#[test]
fn a_lease_of_another_arena_goes_back_to_its_own() {
    let (setting, other) = (Setting::new(1, 1), Setting::new(2, 1));
    let (own, foreign) = (setting.stream(), other.stream());
    foreign.free(own.lease(MIB, long()).unwrap());
    foreign.flush();
    let statistics = other.arena.statistics();
    assert_eq!((statistics.limbo_leases, statistics.foreign_frees), (0, 1), "its memory is not that arena's");
    own.flush();
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    assert_eq!(setting.arena.memory().leased_bytes(), 0);
    [&setting, &other].into_iter().for_each(Setting::check);
}

#[test]
#[should_panic(expected = "another context")]
fn a_stream_of_another_context_is_not_attached() {
    let (setting, other) = (Setting::new(1, 1), Setting::new(2, 1));
    drop(setting.arena.attach(other.context.new_stream().unwrap()));
}

/// One stream fills a lease and drops it after another one has used it, with or without saying so, and leases again:
/// the mistakes that the simulator has seen.
fn drop_after_use_elsewhere(seed: u64, said: bool) -> Vec<String> {
    let setting = Setting::new(seed, 1);
    let (one, other) = (setting.stream(), setting.stream());
    let mut lease = one.lease(MOST, long()).unwrap();
    fill(one.stream(), lease.address(), 1);
    let event = setting.context.event().unwrap();
    event.record(one.stream()).unwrap();
    other.stream().wait_for(&event).unwrap();
    if said {
        lease.used_by(&other);
    }
    fill(other.stream(), lease.address(), 2);
    drop(lease);
    other.flush();
    let again = one.lease(MOST, long()).unwrap();
    fill(one.stream(), again.address(), 3);
    [&one, &other].into_iter().for_each(|stream| stream.stream().finish(long()).unwrap());
    one.free(again);
    setting.simulator.violations()
}

#[test]
fn a_lease_that_is_dropped_waits_for_the_stream_that_used_it_last() {
    for seed in 0..20 {
        assert_eq!(drop_after_use_elsewhere(seed, true), Vec::<String>::new(), "{seed}");
        let mistakes = drop_after_use_elsewhere(seed, false);
        assert!(mistakes.iter().any(|mistake| mistake.contains("no order")), "{seed}: {mistakes:?}");
    }
}

#[test]
#[should_panic(expected = "another one")]
fn a_lease_is_not_used_by_a_stream_of_another_arena() {
    let (setting, other) = (Setting::new(1, 1), Setting::new(2, 1));
    setting.stream().lease(MIB, long()).unwrap().used_by(&other.stream());
}
