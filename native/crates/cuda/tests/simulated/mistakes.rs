//! Mistakes of the driver's users that a GPU often hides: the simulator finds each.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use sluice_cuda::{DeviceAddress, ErrorKind, Launch};
use sluice_cuda_sim::Simulator;

use crate::{ADD, allocate, context, get, long, put};

/// The one mistake that was found.
fn only(simulator: &Simulator) -> String {
    let found = simulator.violations();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap_or_default()
}

#[test]
fn a_missing_wait_of_the_host() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 1), context.thread_stream());
    put(&stream, memory.address(), &[7]);
    let mut found = [0u64];
    // SAFETY: the word is here until the stream has finished, below; looking at it before is the mistake.
    unsafe { stream.copy_to_host(found.as_mut_ptr().cast(), memory.address(), 8) }.expect("put");
    // SAFETY: a word of this thread.
    let early = unsafe { (&raw const found).read_volatile() };
    assert_eq!(early, [0x5e5e_5e5e_5e5e_5e5e], "not copied yet, on any seed, and not as it was");
    stream.finish(long()).expect("done");
    // SAFETY: as above.
    assert_eq!(unsafe { (&raw const found).read_volatile() }, [7]);
}

#[test]
fn a_missing_wait_between_streams() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..16 {
        let simulator = Simulator::start(&format!("memory=4m seed={seed}"));
        let context = context(&simulator);
        let memory = allocate(&context, 1);
        let (writer, reader) = (context.new_stream().expect("made"), context.new_stream().expect("made"));
        put(&writer, memory.address(), &[7]);
        seen.insert(get(&reader, memory.address(), 1)[0] == 7);
        writer.finish(long()).expect("done");
        let words = only(&simulator);
        assert!(words.starts_with("no order: ") && words.contains("cuMemcpyHtoDAsync_v2"), "{words}");
    }
    assert_eq!(seen.len(), 2, "both orders come up among the seeds");
}

#[test]
fn memory_that_is_used_on_another_stream_than_it_was_freed_on() {
    for (waits, mistakes) in [(true, 0), (false, 1)] {
        let simulator = Simulator::start("memory=4m");
        let context = context(&simulator);
        let memory = allocate(&context, 512);
        let (first, second) = (context.new_stream().expect("made"), context.new_stream().expect("made"));
        let event = context.event().expect("made");
        put(&first, memory.address(), &[1; 512]);
        // An arena takes the lease back here, and has it for the first stream at once.
        event.record(&first).expect("put");
        if waits {
            event.finish(long()).expect("done");
        }
        put(&second, memory.address().plus(4000), &[2; 4]);
        second.finish(long()).expect("done");
        first.finish(long()).expect("done");
        let found = simulator.violations();
        assert_eq!(found.len(), mistakes, "waits: {waits}: {found:?}");
    }
}

#[test]
fn use_after_free() {
    for (kernel, function) in [(false, "cuMemsetD8Async"), (true, "cuLaunchKernel")] {
        let simulator = Simulator::start("memory=4m");
        simulator.register(ADD);
        let context = context(&simulator);
        let add = context.load(&Simulator::image(&["add"])).expect("loaded").kernel("add").expect("there");
        let memory = allocate(&context, 8);
        let (mut address, mut addend, mut words) = (memory.address().0, 1u64, 8u32);
        drop(memory);
        let stream = context.thread_stream();
        let mut parameters =
            [(&raw mut address).cast(), (&raw mut address).cast(), (&raw mut addend).cast(), (&raw mut words).cast()];
        // SAFETY: the simulator looks at the addresses.
        let put = unsafe {
            match kernel {
                true => stream.launch(&add, Launch::linear(1, 32), &mut parameters),
                false => stream.fill(DeviceAddress(address), 1, 64),
            }
        };
        put.expect("only seen when it is done");
        let lost = stream.finish(long()).expect_err("an illegal address");
        assert_eq!(lost.kind(), ErrorKind::DeviceLost);
        assert!(context.lost().expect("lost").to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"));
        let found = simulator.violations();
        assert!(found[0].starts_with(function) && found[0].contains("memory that was freed"), "{found:?}");
    }
}

#[test]
fn what_was_freed_does_not_look_as_before() {
    let simulator = Simulator::start("memory=4m");
    for seed in 0..20 {
        simulator.configure(&format!("seed={seed}"));
        let context = context(&simulator);
        let stream = context.thread_stream();
        let first = allocate(&context, 8);
        put(&stream, first.address(), &[7; 8]);
        drop(first);
        let second = allocate(&context, 8);
        assert_eq!(get(&stream, second.address(), 8), [0xa5a5_a5a5_a5a5_a5a5; 8], "a pattern, wherever it lies");
    }
}

#[test]
fn a_use_beyond_the_end() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 64), context.thread_stream());
    // SAFETY: the simulator looks at the addresses.
    unsafe { stream.fill(memory.address(), 0, 513) }.expect("only seen when it is done");
    assert_eq!(stream.finish(long()).expect_err("an illegal address").kind(), ErrorKind::DeviceLost);
    assert!(only(&simulator).contains("513 bytes"));
}

#[test]
fn a_second_free() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let stream = context.thread_stream();
    let memory = stream.allocate_from_pool(4096).expect("room");
    for _ in 0..2 {
        // SAFETY: the second is the mistake, which the simulator finds.
        unsafe { stream.free_to_pool(memory) }.expect("only seen when it is done");
    }
    assert!(stream.finish(long()).is_err());
    assert!(only(&simulator).contains("was freed before"));
}

#[test]
fn host_memory_that_goes_while_it_is_copied() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 8), context.thread_stream());
    let mut page = Box::new([0u8; 4096]);
    let start = std::ptr::NonNull::from(&mut *page).cast();
    // SAFETY: the page is there until the end of the test.
    let registration = unsafe { context.register_host(start, 4096) }.expect("pinned");
    // SAFETY: the page is there until the end of the test; that its registration ends before is the mistake.
    unsafe { stream.copy_to_device(memory.address(), start.as_ptr(), 64) }.expect("put");
    assert!(registration.end());
    assert!(only(&simulator).contains("which pending work uses"));
    stream.finish(long()).expect("done");
}

#[test]
fn what_is_left_when_the_context_ends() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    std::mem::forget(context.event().expect("made"));
    // The event holds the context, so that another user's release is needed to end it.
    let library = simulator.path();
    // SAFETY: the simulator, which is loaded already.
    let library = unsafe { libloading::Library::new(library) }.expect("open");
    // SAFETY: the type of `cuDevicePrimaryCtxRelease_v2`.
    let release: libloading::Symbol<'_, unsafe extern "C" fn(i32) -> i32> =
        unsafe { library.get(b"cuDevicePrimaryCtxRelease_v2\0") }.expect("there");
    drop(context);
    // SAFETY: takes a number.
    assert_eq!(unsafe { release(0) }, 0);
    assert!(only(&simulator).contains("1 events"));
}

#[test]
fn code_that_is_unloaded_before_it_has_run() {
    let simulator = Simulator::start("memory=4m");
    simulator.register(ADD);
    let context = context(&simulator);
    let add = context.load(&Simulator::image(&["add"])).expect("loaded").kernel("add").expect("there");
    let (memory, stream) = (allocate(&context, 8), context.thread_stream());
    put(&stream, memory.address(), &[0; 8]);
    let (mut address, mut addend, mut words) = (memory.address().0, 1u64, 8u32);
    let mut parameters =
        [(&raw mut address).cast(), (&raw mut address).cast(), (&raw mut addend).cast(), (&raw mut words).cast()];
    // SAFETY: the kernel's parameters; that the kernel is dropped before the work is done is the mistake.
    unsafe { stream.launch(&add, Launch::linear(1, 32), &mut parameters) }.expect("put");
    drop(add);
    assert!(only(&simulator).contains("was unloaded while pending work uses it"));
    stream.finish(long()).expect("done");
}

#[test]
fn memory_that_is_still_registered_when_the_last_context_ends() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let page = Box::leak(Box::new([0u8; 4096]));
    // SAFETY: the page stays for ever.
    let registration = unsafe { context.register_host(std::ptr::NonNull::from(page).cast(), 4096) }.expect("pinned");
    std::mem::forget(registration);
    release_once(&simulator);
    drop(context);
    assert!(only(&simulator).contains("1 registrations"));
}

#[test]
#[should_panic(expected = "which pending work uses")]
fn a_mistake_that_no_test_asks_for_ends_the_test() {
    let simulator = Simulator::start("memory=4m");
    let context = context(&simulator);
    let (memory, stream) = (allocate(&context, 8), context.thread_stream());
    let page = Box::leak(Box::new([0u8; 4096]));
    let start = std::ptr::NonNull::from(page).cast();
    // SAFETY: the page stays for ever.
    let registration = unsafe { context.register_host(start, 4096) }.expect("pinned");
    // SAFETY: the page stays for ever; that its registration ends before is the mistake.
    unsafe { stream.copy_to_device(memory.address(), start.as_ptr(), 64) }.expect("put");
    drop((registration, memory, stream, context));
}

/// Gives back what a value that was forgotten holds of the context.
fn release_once(simulator: &Simulator) {
    // SAFETY: the simulator, which is loaded already.
    let library = unsafe { libloading::Library::new(simulator.path()) }.expect("open");
    // SAFETY: the type of `cuDevicePrimaryCtxRelease_v2`.
    let release: libloading::Symbol<'_, unsafe extern "C" fn(i32) -> i32> =
        unsafe { library.get(b"cuDevicePrimaryCtxRelease_v2\0") }.expect("there");
    // SAFETY: takes a number.
    assert_eq!(unsafe { release(0) }, 0);
}

/// The variable by which a test tells the same test in another process to make the mistake.
const MISTAKEN: &str = "SLUICE_CUDA_TEST_READS_DEVICE_MEMORY";

/// What that process writes right before.
const READS: &str = "reads device memory now\n";

#[test]
fn access_of_the_host_to_device_memory() {
    if std::env::var_os(MISTAKEN).is_some() {
        let simulator = Simulator::start("memory=4m");
        let memory = allocate(&context(&simulator), 1);
        let address: *const u64 = std::ptr::with_exposed_provenance(memory.address().0 as usize);
        // Not by `println!`, which the test's harness keeps.
        // SAFETY: writes a text of this length.
        unsafe { libc::write(1, READS.as_ptr().cast(), READS.len()) };
        // SAFETY: none: it is the mistake, and ends this process.
        println!("read {}", unsafe { address.read_volatile() });
        return;
    }
    let program = std::env::current_exe().expect("this test");
    let name = "mistakes::access_of_the_host_to_device_memory";
    // For what a process that dies leaves behind.
    let folder = std::env::temp_dir().join(format!("sluice-cuda-dies-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    let mut command = Command::new(program);
    let ended = command.args(["--exact", name]).env(MISTAKEN, "1").env("TMPDIR", &folder).output().expect("runs");
    std::fs::remove_dir_all(&folder).expect("removed");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(said.contains(READS), "it came to the mistake: {said}");
    assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{said}");
}
