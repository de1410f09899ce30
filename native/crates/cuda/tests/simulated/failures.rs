//! Devices and drivers that fail, and what is left then.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluice_cuda::{Context, ErrorKind, Waited};
use sluice_cuda_sim::Simulator;

use crate::{allocate, context, driver, long, put, short};

#[test]
fn a_device_without_memory_declines_and_goes_on() {
    let simulator = Simulator::start("memory=8m");
    let context = context(&simulator);
    let held = context.allocate(6 << 20).expect("room");
    let refused = context.allocate(4 << 20).expect_err("full");
    assert_eq!((refused.kind(), refused.status()), (ErrorKind::OutOfMemory, 2));
    assert!(context.lost().is_none());
    assert_eq!(context.free_memory().expect("told").free_bytes, 2 << 20);
    drop(held);
    context.allocate(4 << 20).expect("room again");
}

#[test]
fn memory_beyond_the_limit_on_pinned_memory_is_refused() {
    let simulator = Simulator::start("pinned=64k");
    let context = context(&simulator);
    let mut memory = vec![0u8; 128 << 10];
    let start = NonNull::new(memory.as_mut_ptr()).expect("an address");
    // SAFETY: the memory is there until the end of the test.
    let register = |bytes| unsafe { context.register_host(start, bytes) };
    let refused = register(128 << 10).expect_err("too much");
    assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
    assert!(refused.to_string().contains("container's memory limit"), "{refused}");
    let held = register(64 << 10).expect("within the limit");
    assert_eq!(register(4096).expect_err("registered already").kind(), ErrorKind::Rejected);
    assert!(held.end());
    register(4096).expect("free again");
}

/// As the driver: a process maps what others have allocated, never its own; what is no handle is refused.
#[test]
fn memory_is_named_to_other_processes_and_handles_are_checked() {
    let simulator = Simulator::start("memory=8m");
    let context = context(&simulator);
    let memory = context.allocate(4096).expect("room");
    let handle = memory.ipc_handle().expect("named");
    assert_eq!(handle, memory.ipc_handle().expect("the same again"));
    for (handle, status) in [(handle, 201), (sluice_cuda::IpcHandle([7; 64]), 1)] {
        let refused = context.open_ipc(&handle).expect_err("refused");
        assert_eq!((refused.kind(), refused.status()), (ErrorKind::Rejected, status), "{refused}");
    }
    assert!(context.lost().is_none());
    assert_eq!(memory.ordinal(), 0);
}

/// Every call is refused at once, without the driver being asked, and all that there is can be dropped.
fn check_lost(simulator: &Simulator, context: Context) {
    assert_eq!(context.lost().expect("lost").kind(), ErrorKind::DeviceLost);
    let before = (simulator.calls("cuMemAlloc_v2"), context.statistics().waits);
    for _ in 0..10 {
        let refused = context.allocate(4096).expect_err("lost");
        assert_eq!(refused.kind(), ErrorKind::DeviceLost);
        assert!(refused.to_string().starts_with("the device was lost: "), "{refused}");
    }
    assert_eq!((simulator.calls("cuMemAlloc_v2"), context.statistics().waits), before);
    assert!(context.statistics().refused >= 10);
    let device = context.device().clone();
    assert_eq!(device.context().expect_err("for good").kind(), ErrorKind::DeviceLost);
    let released = simulator.calls("cuDevicePrimaryCtxRelease_v2");
    drop(context);
    assert_eq!(simulator.calls("cuDevicePrimaryCtxRelease_v2"), released, "the driver is left alone");
    assert!(device.statistics().leaked_objects > 0);
}

#[test]
fn an_error_that_stays_loses_the_device() {
    for (fault, text) in [
        ("sticky=cuMemcpyHtoDAsync_v2@2:719", "CUDA_ERROR_LAUNCH_FAILED"),
        ("sticky=cuEventQuery@1:214", "CUDA_ERROR_ECC_UNCORRECTABLE"),
        ("lose=cuEventRecord@1", "CUDA_ERROR_UNKNOWN"),
        ("lose=cuCtxPushCurrent_v2@3", "CUDA_ERROR_UNKNOWN"),
    ] {
        let simulator = Simulator::start("memory=4m");
        let context = context(&simulator);
        let (memory, event, stream) = (allocate(&context, 8), context.event().expect("made"), context.thread_stream());
        simulator.configure(fault);
        let work = || {
            for _ in 0..2 {
                // SAFETY: the words stay for ever, and nobody else uses the memory.
                unsafe { stream.copy_to_device(memory.address(), [1u64; 8].as_ptr().cast(), 0) }?;
            }
            event.record(&stream)?;
            event.finish(long())
        };
        assert_eq!(work().expect_err(fault).kind(), ErrorKind::DeviceLost);
        let why = context.lost().expect("lost").to_string();
        assert!(why.contains(text) && why.contains("Xid"), "{why}");
        drop((memory, event, stream));
        assert_eq!((context.statistics().leaked_objects, context.statistics().leaked_bytes), (2, 64));
        check_lost(&simulator, context);
    }
}

#[test]
fn one_failed_call_loses_nothing() {
    let simulator = Simulator::start("memory=4m fail=cuEventCreate@2:2 fail=cuMemcpyHtoDAsync_v2@1:1");
    let context = context(&simulator);
    context.event().expect("the first");
    assert_eq!(context.event().expect_err("the second").kind(), ErrorKind::OutOfMemory);
    context.event().expect("the third");
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    // SAFETY: the word stays for ever, and nobody else uses the memory.
    let put = || unsafe { stream.copy_to_device(memory.address(), [1u64; 1].as_ptr().cast(), 0) };
    assert_eq!(put().expect_err("rejected").kind(), ErrorKind::Rejected);
    put().expect("the second");
    assert!(context.lost().is_none());
}

#[test]
fn work_that_never_ends_is_given_up_at_the_limit() {
    let simulator = Simulator::start("memory=4m hang=cuMemcpyHtoDAsync_v2@1");
    let context = context(&simulator);
    let (memory, event, stream) = (allocate(&context, 1), context.event().expect("made"), context.thread_stream());
    put(&stream, memory.address(), &[1]);
    event.record(&stream).expect("put");
    assert_eq!(event.wait(short()).expect("told"), Waited::TimedOut);
    assert!(context.lost().is_none(), "a wait that one can do without");
    assert_eq!(event.finish(short()).expect_err("a wait that one cannot").kind(), ErrorKind::DeviceLost);
    assert!(context.lost().expect("lost").to_string().contains("did not end in 30ms"));
    assert_eq!((context.statistics().waits, context.statistics().waits_timed_out), (2, 2));
    let frees = simulator.calls("cuMemFree_v2");
    drop((memory, event));
    assert_eq!(simulator.calls("cuMemFree_v2"), frees, "giving back would wait for the work");
    drop(stream);
    check_lost(&simulator, context);
}

#[test]
fn other_streams_go_on_beside_work_that_never_ends() {
    let simulator = Simulator::start("memory=4m hang=cuMemsetD8Async@1");
    let context = context(&simulator);
    let (memory, other) = (allocate(&context, 1), allocate(&context, 1));
    let (stuck, stream) = (context.new_stream().expect("made"), context.thread_stream());
    // SAFETY: nobody else uses the memory.
    unsafe { stuck.fill(memory.address(), 1, 8) }.expect("put");
    put(&stream, other.address(), &[1]);
    stream.finish(long()).expect("not its work");
    assert_eq!(stuck.wait(short()).expect("told"), Waited::TimedOut);
    context.lose("the test knows that it hangs");
}

#[test]
fn a_killed_task_gives_its_wait_up() {
    let simulator = Simulator::start("memory=4m hang=cuMemsetD8Async@1");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    // SAFETY: nobody else uses the memory.
    unsafe { stream.fill(memory.address(), 1, 8) }.expect("put");
    let killed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            killed.store(true, Ordering::Relaxed);
        });
        let given_up = stream.finish(long().unless(&killed)).expect_err("killed");
        assert_eq!(given_up.kind(), ErrorKind::Killed);
    });
    assert!(context.lost().is_none(), "the next task may still wait for it");
    context.lose("the test knows that it hangs");
}

#[test]
fn a_killed_task_drops_what_work_that_never_ends_uses() {
    let simulator = Simulator::start("memory=4m hang=cuMemsetD8Async@1");
    let context = context(&simulator);
    context.set_give_back_limit(Duration::from_millis(30));
    let (memory, other, stream) = (allocate(&context, 1), allocate(&context, 2), context.thread_stream());
    // SAFETY: nobody else uses the memory.
    unsafe { stream.fill(memory.address(), 1, 8) }.expect("put");
    let given_up = stream.finish(long().unless(&AtomicBool::new(true))).expect_err("killed");
    assert_eq!(given_up.kind(), ErrorKind::Killed);
    let began = Instant::now();
    context.set_give_back_limit(Duration::from_millis(30));
    drop((memory, other, stream));
    // The simulator blocks a free for 60 s.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let statistics = context.statistics();
    assert_eq!((statistics.leaked_objects, statistics.leaked_bytes), (2, 24));
    assert!(context.lost().is_none() && context.event().is_ok(), "other tasks go on");
    simulator.release();
    let until = Instant::now() + Duration::from_secs(600);
    while simulator.counts().allocations > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(simulator.counts().allocations, 0, "the driver gets to it when the work has ended");
}

#[test]
fn a_context_that_another_library_reset_is_lost() {
    for status in [201, 709] {
        let simulator = Simulator::start("memory=4m");
        let context = context(&simulator);
        simulator.configure(&format!("fail=cuCtxPushCurrent_v2@1:{status}"));
        assert_eq!(context.event().expect_err("reset").kind(), ErrorKind::DeviceLost);
        let why = context.lost().expect("lost").to_string();
        assert!(why.contains("the primary context was reset"), "{why}");
    }
}

#[test]
fn a_context_that_cannot_be_made_loses_nothing() {
    for (status, kind) in [
        (999, ErrorKind::DriverFailed),
        (805, ErrorKind::DriverFailed),
        (806, ErrorKind::DriverFailed),
        (808, ErrorKind::DeviceBusy),
        (2, ErrorKind::OutOfMemory),
    ] {
        let simulator = Simulator::start(&format!("fail=cuDevicePrimaryCtxRetain@1:{status}"));
        let device = driver(&simulator).select(None).expect("there");
        assert_eq!(device.context().expect_err("fails").kind(), kind, "{status}");
        device.context().expect("the next attempt");
    }
}

#[test]
fn all_threads_learn_that_the_device_is_lost() {
    let simulator = Simulator::start("memory=64m");
    let context = context(&simulator);
    let memories: Vec<_> = (0..8).map(|_| allocate(&context, 16)).collect();
    simulator.configure("lose=cuMemsetD8Async@200");
    std::thread::scope(|scope| {
        for memory in &memories {
            let context = context.clone();
            scope.spawn(move || {
                let stream = context.thread_stream();
                let lost = (0..1000).find_map(|_| {
                    // SAFETY: each thread has its own memory.
                    let put = unsafe { stream.fill(memory.address(), 1, 128) };
                    put.and_then(|()| stream.finish(long())).err()
                });
                assert_eq!(lost.expect("lost").kind(), ErrorKind::DeviceLost);
            });
        }
    });
    drop(memories);
    check_lost(&simulator, context);
}

#[test]
fn a_lost_device_leaves_the_others() {
    let simulator = Simulator::start("devices=2 memory=4m");
    let driver = driver(&simulator);
    let [first, second] =
        ["0", "1"].map(|address| driver.select(Some(address)).expect("there").context().expect("made"));
    first.lose("its results are wrong");
    first.count_leak(100);
    assert_eq!(first.event().expect_err("lost").kind(), ErrorKind::DeviceLost);
    second.event().expect("not lost");
    assert_eq!((first.statistics().leaked_bytes, second.statistics().leaked_bytes), (100, 0));
}

#[test]
fn a_driver_that_does_not_answer_holds_up_only_its_callers() {
    let simulator = Simulator::start("memory=4m block=cuMemAlloc_v2@2");
    let context = context(&simulator);
    let memory = allocate(&context, 1);
    std::thread::scope(|scope| {
        let blocked = scope.spawn(|| context.allocate(4096).map(|memory| memory.bytes()));
        let until = Instant::now() + Duration::from_secs(600);
        while simulator.calls("cuMemAlloc_v2") < 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let stream = context.thread_stream();
        put(&stream, memory.address(), &[1]);
        stream.finish(long()).expect("done");
        simulator.release();
        assert_eq!(blocked.join().expect("ends").expect("room"), 4096);
    });
}
