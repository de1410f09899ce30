//! Work in streams: what is in order with what.

use std::sync::Barrier;
use std::time::Duration;

use sluice_cuda::{ErrorKind, Launch, StreamKind, Wait, Waited};
use sluice_cuda_sim::Simulator;

use crate::{ADD, RAW_ADD, allocate, context, driver, get, long, put};

#[test]
fn a_stream_s_work_is_done_in_order() {
    let simulator = Simulator::start("memory=4m");
    for seed in 0..20 {
        simulator.configure(&format!("seed={seed}"));
        let context = context(&simulator);
        let (memory, copy) = (allocate(&context, 4), allocate(&context, 4));
        let stream = context.thread_stream();
        assert_eq!(stream.kind(), StreamKind::PerThread);
        put(&stream, memory.address(), &[1, 2, 3, 4]);
        // SAFETY: all in one stream, and the memory is there until it has finished.
        unsafe {
            stream.copy_on_device(copy.address(), memory.address(), 32).expect("put");
            stream.fill(memory.address().plus(8), 0xff, 8).expect("put");
            stream.copy_on_device(copy.address().plus(16), memory.address(), 16).expect("put");
        }
        assert_eq!(get(&stream, copy.address(), 4), [1, 2, 1, u64::MAX]);
        assert_eq!(simulator.violations(), [""; 0]);
    }
}

#[test]
fn nothing_is_done_before_somebody_waits() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    put(&stream, memory.address(), &[7]);
    assert_eq!((simulator.counts().pending, simulator.counts().executed), (1, 0));
    stream.finish(long()).expect("done");
    assert_eq!((simulator.counts().pending, simulator.counts().executed), (0, 1));
}

/// As the driver does it with `pageable_waits=1`: a copy to memory that is not pinned returns when it is done.
#[test]
fn a_copy_to_memory_that_is_not_pinned_may_wait_in_the_call() {
    let simulator = Simulator::start("memory=4m pageable_waits=1");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 512), context.thread_stream());
    let page: &'static mut [u64; 1024] = Box::leak(Box::new([0; 1024]));
    let start = std::ptr::NonNull::from(page).cast::<u8>();
    // SAFETY: the memory is never freed.
    let registration = unsafe { context.register_host(start, 4096) }.expect("pinned");
    put(&stream, memory.address(), &[7]);
    for (offset, bytes, pending) in [(0, 8, 2), (4088, 8, 3), (4088, 16, 0), (4096, 8, 0)] {
        // SAFETY: both ranges are there for as long as the device, and nobody looks at the host's.
        unsafe { stream.copy_to_host(start.as_ptr().add(offset), memory.address(), bytes) }.expect("put");
        assert_eq!(simulator.counts().pending, pending, "{bytes} bytes at {offset}");
    }
    stream.finish(long()).expect("done");
    assert!(registration.end());
}

#[test]
fn kernels_read_and_write_what_their_parameters_say() {
    for (kernel, raw) in [(ADD, false), (RAW_ADD, true)] {
        let simulator = Simulator::start("memory=4m");
        simulator.register(kernel);
        let context = context(&simulator);
        let module = context.load(&Simulator::image(&["add", "raw_add"])).expect("loaded");
        let add = module.kernel(kernel.name).expect("there");
        let (source, target) = (allocate(&context, 3), allocate(&context, 3));
        let stream = context.thread_stream();
        put(&stream, source.address(), &[1, 2, 3]);
        let (mut to, mut from, mut addend, mut words) = (target.address().0, source.address().0, 10u64, 3u32);
        let mut parameters =
            [(&raw mut to).cast(), (&raw mut from).cast(), (&raw mut addend).cast(), (&raw mut words).cast()];
        // SAFETY: the kernel's parameters; the memory is there until the stream has finished.
        unsafe { stream.launch(&add, Launch::linear(1, 256), &mut parameters) }.expect("put");
        // The values were copied.
        (to, addend) = (0, 99);
        assert_eq!((get(&stream, target.address(), 3), to, addend), (vec![11, 12, 13], 0, 99), "raw: {raw}");
        assert_eq!(simulator.violations(), [""; 0]);
    }
}

#[test]
fn launches_and_modules_that_cannot_be_are_refused() {
    let simulator = Simulator::start("memory=4m");
    simulator.register(ADD);
    let context = context(&simulator);
    assert_eq!(context.load(b"\x7fELF").expect_err("no module").kind(), ErrorKind::Rejected);
    let module = context.load(&Simulator::image(&["add"])).expect("loaded");
    assert!(module.kernel("sub").expect_err("none").to_string().contains("CUDA_ERROR_NOT_FOUND"));
    assert_eq!(module.kernel("a\0b").expect_err("none").kind(), ErrorKind::Rejected);
    let kernel = module.kernel("add").expect("there");
    drop(module);
    assert_eq!((kernel.max_threads().expect("told"), kernel.registers().expect("told")), (1024, 32));
    assert_eq!(kernel.blocks_per_multiprocessor(256, 0).expect("told"), 8);
    let stream = context.thread_stream();
    let mut values = [0u64; 4];
    let mut parameters = values.each_mut().map(|value| std::ptr::from_mut(value).cast());
    let large = Launch { shared_bytes: 64 << 10, ..Launch::linear(1, 32) };
    let high = Launch { grid: [1, 65_536, 1], ..Launch::linear(1, 32) };
    for launch in [Launch::linear(0, 32), Launch::linear(1, 2048), large, high] {
        // SAFETY: it adds no words, if it is launched at all.
        let refused = unsafe { stream.launch(&kernel, launch, &mut parameters) };
        assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Rejected, "{launch:?}");
    }
    kernel.allow_shared_bytes(64 << 10).expect("a block can have so much");
    // SAFETY: as above.
    unsafe { stream.launch(&kernel, large, &mut parameters) }.expect("allowed now");
    assert!(stream.finish(long()).is_err() && simulator.violations()[0].contains("0 bytes at 0x0"), "at no address");
    assert!(kernel.allow_shared_bytes(1 << 20).is_err());
}

#[test]
fn an_event_orders_two_streams() {
    let simulator = Simulator::start("memory=4m");
    for seed in 0..20 {
        simulator.configure(&format!("seed={seed}"));
        let context = context(&simulator);
        let memory = allocate(&context, 1);
        let (first, second) = (context.new_stream().expect("made"), context.new_stream().expect("made"));
        let event = context.event().expect("made");
        assert!(event.is_done().expect("told"), "never recorded");
        put(&first, memory.address(), &[5]);
        event.record(&first).expect("put");
        second.wait_for(&event).expect("put");
        assert_eq!(get(&second, memory.address(), 1), [5]);
        assert_eq!(event.wait(long()).expect("told"), Waited::Done);
        assert_eq!(simulator.violations(), [""; 0]);
    }
}

#[test]
fn an_event_belongs_to_the_streams_of_its_device() {
    let simulator = Simulator::start("devices=2 memory=4m");
    let driver = driver(&simulator);
    let [first, second] = ["0", "1"].map(|number| driver.select(Some(number)).expect("there").context().expect("made"));
    let event = first.event().expect("made");
    let refused = event.record(&second.thread_stream()).expect_err("the other device's stream");
    assert_eq!(refused.kind(), ErrorKind::Rejected);
    assert!(simulator.violations()[0].contains("is of another device"));
    // Both have a default stream of this thread; the event stands for the work of its own device's.
    let (memory, other) = (allocate(&first, 1), allocate(&second, 1));
    put(&first.thread_stream(), memory.address(), &[1]);
    event.record(&first.thread_stream()).expect("put");
    second.thread_stream().wait_for(&event).expect("waits on the other device");
    put(&second.thread_stream(), other.address(), &[2]);
    assert_eq!(get(&second.thread_stream(), other.address(), 1), [2]);
    assert_eq!(event.wait(long()).expect("told"), Waited::Done);
    assert_eq!(get(&first.thread_stream(), memory.address(), 1), [1]);
}

#[test]
fn copies_up_and_down_the_same_memory_of_the_host() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    let mut word = [7u64];
    // SAFETY: the word is here until the stream has finished, and nobody looks at it before.
    unsafe {
        stream.copy_to_device(memory.address(), word.as_ptr().cast(), 8).expect("put");
        stream.copy_to_host(word.as_mut_ptr().cast(), memory.address(), 8).expect("put");
    }
    stream.finish(long()).expect("done");
    assert_eq!(word, [7]);
}

#[test]
fn the_legacy_stream_waits_for_all_blocking_streams_and_they_for_it() {
    let simulator = Simulator::start("memory=4m");
    for seed in 0..20 {
        simulator.configure(&format!("seed={seed}"));
        let context = context(&simulator);
        let memory = allocate(&context, 1);
        let (mine, legacy) = (context.thread_stream(), context.legacy_stream());
        put(&mine, memory.address(), &[1]);
        put(&legacy, memory.address(), &[2]);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let theirs = context.thread_stream();
                put(&theirs, memory.address(), &[3]);
                get(&theirs, memory.address(), 1)
            });
            assert_eq!(other.join().expect("ends"), [3]);
        });
        assert_eq!(get(&legacy, memory.address(), 1), [3]);
        assert_eq!(simulator.violations(), [""; 0]);
    }
}

/// Work of the streams of two threads, as letters in the order in which it was done.
fn order(seed: u64, legacy: bool) -> String {
    let simulator = Simulator::start(&format!("memory=4m timeline=1 seed={seed}"));
    let context = context(&simulator);
    let memories = [allocate(&context, 1), allocate(&context, 1)];
    let put_all = Barrier::new(2);
    std::thread::scope(|scope| {
        for memory in &memories {
            let (context, put_all) = (&context, &put_all);
            scope.spawn(move || {
                let stream = if legacy { context.legacy_stream() } else { context.thread_stream() };
                for _ in 0..4 {
                    put(&stream, memory.address(), &[1]);
                }
                put_all.wait();
                stream.finish(long()).expect("done");
            });
        }
    });
    let steps = simulator.timeline();
    assert_eq!((steps.len(), simulator.violations()), (8, Vec::new()));
    let first = steps[0].stream.clone();
    steps.iter().map(|step| if step.stream == first { 'a' } else { 'b' }).collect()
}

#[test]
fn threads_streams_overlap_and_the_legacy_stream_does_not() {
    let orders: Vec<String> = (0..10).map(|seed| order(seed, false)).collect();
    let mixed = |order: &&String| order.as_str() != "aaaabbbb";
    assert!(orders.iter().any(|order| mixed(&order)), "{orders:?}");
    for seed in 0..3 {
        assert_eq!(order(seed, true), "aaaaaaaa", "all work is one stream's");
    }
}

#[test]
fn memory_of_the_pool_is_there_in_the_stream_s_order() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let stream = context.thread_stream();
    let memory = stream.allocate_from_pool(4096).expect("room");
    put(&stream, memory, &[9]);
    // SAFETY: after the stream's work, once.
    unsafe { stream.free_to_pool(memory) }.expect("put");
    assert_eq!(simulator.counts().allocations, 1, "not yet");
    stream.finish(long()).expect("done");
    assert_eq!((simulator.counts().allocations, simulator.counts().waits), (0, 0));
    assert_eq!(simulator.violations(), [""; 0]);
}

#[test]
fn events_have_times_if_they_were_made_for_it() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    let (before, after) = (context.timing_event().expect("made"), context.timing_event().expect("made"));
    before.record(&stream).expect("put");
    put(&stream, memory.address(), &[1]);
    after.record(&stream).expect("put");
    after.finish(long()).expect("done");
    assert_eq!(after.elapsed_since(&before).expect("told"), Duration::from_millis(2));
    let other = context.event().expect("made");
    assert_eq!(after.elapsed_since(&other).expect_err("no time").kind(), ErrorKind::Rejected);
}

#[test]
fn putting_work_into_streams_never_waits() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream, event) = (allocate(&context, 1), context.thread_stream(), context.event().expect("made"));
    for _ in 0..100 {
        put(&stream, memory.address(), &[1]);
        event.record(&stream).expect("put");
    }
    assert_eq!((simulator.counts().executed, simulator.counts().waits), (0, 0));
    let _ = stream.wait(Wait::at_most(Duration::ZERO)).expect("told");
    stream.finish(long()).expect("done");
    assert_eq!(context.statistics().waits, 2);
    drop(memory);
    assert_eq!(simulator.counts().waits, 1, "giving memory back to the driver does");
}

#[test]
fn memory_is_freed_while_other_threads_go_on() {
    let simulator = Simulator::start("memory=64m");
    let context = context(&simulator);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = context.thread_stream();
                for _ in 0..200 {
                    let memory = allocate(&context, 64);
                    put(&stream, memory.address(), &[1; 64]);
                }
            });
        }
    });
    let counts = simulator.counts();
    assert_eq!((counts.waits, counts.allocations, counts.pending), (800, 0, 0));
    assert_eq!(simulator.violations(), [""; 0]);
}

const IN_C: &str = r#"
#include "sluice_cuda_sim.h"
static void add(const struct sluice_kernel_call *call) {
    uint64_t *target = *(uint64_t *const *)call->parameters[0], addend = *(const uint64_t *)call->parameters[1];
    for (uint32_t i = 0; i < call->grid[0] * call->block[0]; i++) target[i] += addend;
}
static const size_t sizes[] = {8, 8};
const struct sluice_kernel sluice_kernel_add = {2, sizes, add, true};
"#;

/// Compiles a module; none if there is no compiler, which is said.
fn compile(name: &str, source: &str) -> Option<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("sluice-kernels-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    let (file, object) = (folder.join("kernels.c"), folder.join("kernels.so"));
    std::fs::write(&file, source).expect("written");
    let include = sluice_cuda_sim::checkout().join("native/crates/cuda-sim/include");
    let mut compiler = std::process::Command::new("cc");
    compiler
        .args(["-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(include)
        .arg("-o")
        .args([&object, &file]);
    match compiler.status() {
        Ok(status) => assert!(status.success(), "cc: {status}"),
        Err(why) => {
            eprintln!("skipped: {name}: no C compiler (cc): {why}");
            return None;
        }
    }
    let image = std::fs::read(&object).expect("compiled");
    std::fs::remove_dir_all(&folder).expect("removed");
    Some(image)
}

#[test]
fn each_shared_object_that_is_loaded_is_a_module_of_its_own() {
    let counting = IN_C
        .replace("+= addend;", "= counter += addend;")
        .replace("static void", "static uint64_t counter;\nstatic void");
    let (Some(image), Some(other)) = (compile("counting", &counting), compile("adding", IN_C)) else { return };
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    // Two of the same image, each with a counter of its own, and another one.
    for (image, expected) in [(&image, 5), (&image, 5), (&other, 10)] {
        let kernel = context.load(image).expect("loaded").kernel("add").expect("there");
        let (mut address, mut addend) = (memory.address().0, 5u64);
        let mut parameters = [(&raw mut address).cast(), (&raw mut addend).cast()];
        // SAFETY: the kernel's parameters; memory and kernel are there until the stream has finished.
        unsafe { stream.launch(&kernel, Launch::linear(1, 1), &mut parameters) }.expect("put");
        assert_eq!(get(&stream, memory.address(), 1), [expected]);
    }
}

#[test]
fn a_shared_object_of_the_host_is_a_module() {
    let Some(image) = compile("a_shared_object_of_the_host_is_a_module", IN_C) else { return };
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let module = context.load(&image).expect("loaded");
    assert!(module.kernel("sub").expect_err("none").to_string().contains("CUDA_ERROR_NOT_FOUND"));
    let (kernel, memory, stream) =
        (module.kernel("add").expect("there"), allocate(&context, 4), context.thread_stream());
    put(&stream, memory.address(), &[1, 2, 3, 4]);
    let (mut address, mut addend) = (memory.address().0, 40u64);
    let mut parameters = [(&raw mut address).cast(), (&raw mut addend).cast()];
    // SAFETY: the kernel's parameters; memory and kernel are there until the stream has finished.
    unsafe { stream.launch(&kernel, Launch::linear(2, 2), &mut parameters) }.expect("put");
    assert_eq!(get(&stream, memory.address(), 4), [41, 42, 43, 44]);
}
