//! A device that is lost: nothing waits for it, nothing of it is used again, and what is left behind is counted.

use crate::setting::{MIB, Setting, fill, long};
use sluice_cuda::Waited;
use sluice_gpu_mem::{Declined, StreamLease};
use std::time::{Duration, Instant};

/// Loses the device by `fault` while one lease is live and others are in limbo, and looks at what is left.
fn lose(fault: &str) {
    let setting = Setting::new(1, 2);
    let (stream, other) = (setting.stream(), setting.stream());
    let live = stream.lease(5 * MIB, long()).unwrap();
    let rest: Vec<StreamLease> = (0..100).map(|nth| stream.lease(nth * 1_000, long()).unwrap()).collect();
    fill(stream.stream(), live.address(), 1);
    setting.simulator.configure(fault);
    let begun = Instant::now();
    rest.into_iter().for_each(|lease| stream.free(lease));
    let _ = setting.arena.poll();
    assert!(setting.context.lost().is_some(), "{fault}");
    let calls = setting.calls();
    for _ in 0..10 {
        assert_eq!(stream.lease(1_000, long()).unwrap_err(), Declined::DeviceLost, "nor what is in its limbo");
        assert_eq!(other.lease(1_000, long()).unwrap_err(), Declined::DeviceLost);
    }
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.leaked_leases, statistics.declined_lost), (101, 20), "{fault}");
    stream.free(live);
    stream.flush();
    drop((stream, other));
    for _ in 0..100 {
        let late = setting.arena.attach(setting.context.thread_stream());
        assert_eq!(late.lease(1, long()).unwrap_err(), Declined::DeviceLost);
    }
    setting.arena.trim(0);
    assert!(setting.arena.settle(long()).is_err());
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.leaked_leases, statistics.streams), (101, 0), "{fault}");
    assert!(statistics.leaked_bytes > 5 * MIB);
    assert_eq!(setting.calls(), calls, "{fault}: the driver is left alone");
    setting.check();
    let Setting { arena, context, simulator } = setting;
    drop(arena);
    assert!(context.statistics().leaked_bytes >= 5 * MIB as u64, "{:?}", context.statistics());
    drop(context);
    assert_eq!((simulator.calls("cuMemFree_v2"), simulator.counts().allocations), (0, 1));
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn by_an_event_that_cannot_be_recorded() {
    lose("lose=cuEventRecord@1");
}

#[test]
fn by_work_that_an_event_tells_of() {
    lose("sticky=cuEventQuery@1:700");
}

#[test]
fn by_an_event_that_cannot_be_made() {
    lose("sticky=cuEventCreate@1:719");
}

#[test]
fn a_lease_that_waits_for_memory_ends_when_the_device_is_lost() {
    let setting = Setting::new(1, 1);
    let stream = setting.arena.attach(setting.context.thread_stream());
    let lease = stream.lease(40 * MIB, long()).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| setting.arena.attach(setting.context.thread_stream()).lease(40 * MIB, long()));
        while setting.arena.statistics().shortages == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        setting.context.lose("a test");
        assert_eq!(waiting.join().unwrap().unwrap_err(), Declined::DeviceLost);
    });
    drop(lease);
    assert_eq!(setting.arena.statistics().leaked_leases, 1);
}

#[test]
fn an_event_that_cannot_be_made_for_want_of_memory_is_made_at_the_next_free() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    let leases: Vec<StreamLease> = (0..70).map(|_| stream.lease(64, long()).unwrap()).collect();
    setting.simulator.configure("fail=cuEventCreate@1:2");
    leases.into_iter().for_each(|lease| stream.free(lease));
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.event_failures, statistics.events, statistics.limbo_leases), (1, 1, 70));
    assert!(setting.context.lost().is_none());
    drop(stream);
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    assert_eq!(setting.arena.memory().leased_bytes(), 0);
    setting.check();
    setting.finish();
}

#[test]
fn a_stream_ends_also_when_its_last_event_cannot_be_made() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    let lease = stream.lease(MIB, long()).unwrap();
    fill(stream.stream(), lease.address(), 1);
    setting.simulator.configure("fail=cuEventCreate@1:2");
    stream.free(lease);
    drop(stream);
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    assert_eq!((setting.arena.memory().leased_bytes(), setting.arena.statistics().streams), (0, 0));
    setting.check();
    setting.finish();
}

#[test]
fn an_event_that_cannot_be_asked_keeps_no_other_stream() {
    let setting = Setting::new(1, 1);
    let streams = [setting.stream(), setting.stream()];
    for stream in &streams {
        stream.free(stream.lease(MIB, long()).unwrap());
        stream.flush();
        stream.stream().finish(long()).unwrap();
    }
    setting.simulator.configure("fail=cuEventQuery@1:1");
    assert!(setting.arena.poll().is_err(), "of the first stream");
    assert_eq!((setting.arena.statistics().limbo_leases, setting.context.lost()), (1, None));
    assert_eq!(setting.arena.poll().unwrap(), 1);
    setting.check();
}

#[test]
fn an_event_is_recorded_also_when_the_one_before_cannot_be_asked() {
    let setting = Setting::new(1, 1);
    let stream = setting.stream();
    let leases: Vec<StreamLease> = (0..192).map(|_| stream.lease(64, long()).unwrap()).collect();
    setting.simulator.configure("fail=cuEventQuery@1+:1");
    leases.into_iter().for_each(|lease| stream.free(lease));
    let statistics = setting.arena.statistics();
    assert_eq!((statistics.events, statistics.event_failures), (3, 2), "two events were there to be asked");
    assert!(setting.context.lost().is_none());
}
