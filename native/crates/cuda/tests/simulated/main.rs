//! The driver's interface on a simulated driver: what works, what fails, and which mistakes of its users are found.

mod failures;
mod mistakes;
mod opening;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use sluice_cuda::{Context, DeviceAddress, DeviceMemory, Driver, Stream, Wait};
use sluice_cuda_sim::{Kernel, KernelCall, Simulator};

/// Longer than any work here takes on a busy machine, or on one where the tests are stopped for a while.
fn long() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(600))
}

/// For work that does not end.
fn short() -> Wait<'static> {
    Wait::at_most(Duration::from_millis(30))
}

fn driver(simulator: &Simulator) -> Arc<Driver> {
    Driver::open_at(&simulator.path()).expect("the simulated driver opens")
}

fn context(simulator: &Simulator) -> Context {
    driver(simulator).select(None).expect("one device").context().expect("a context")
}

/// Copies words to the device, and waits for nothing.
fn put(stream: &Stream, target: DeviceAddress, words: &'static [u64]) {
    // SAFETY: the words stay as they are for ever; each test orders its uses of the target, or is about not doing so.
    unsafe { stream.copy_to_device(target, words.as_ptr().cast(), size_of_val(words)) }.expect("put")
}

/// Copies words from the device, when the stream's work so far is done.
fn get(stream: &Stream, source: DeviceAddress, words: usize) -> Vec<u64> {
    let mut found = vec![0u64; words];
    // SAFETY: nobody looks at the words before the stream has finished.
    unsafe { stream.copy_to_host(found.as_mut_ptr().cast(), source, words * 8) }.expect("put");
    stream.finish(long()).expect("done");
    found
}

fn allocate(context: &Context, words: usize) -> DeviceMemory {
    context.allocate(words * 8).expect("room")
}

/// `target[i] = source[i] + addend` for `words` words.
const ADD: Kernel = Kernel { name: "add", parameter_bytes: &[8, 8, 8, 4], function: add, raw: false };
/// The same by the addresses themselves.
const RAW_ADD: Kernel = Kernel { name: "raw_add", function: raw_add, raw: true, ..ADD };

unsafe extern "C" fn add(call: *const KernelCall) {
    // SAFETY: a call of the simulator's.
    let call = unsafe { &*call };
    // SAFETY: the parameters that the kernel declares.
    let (target, source, addend, words) = unsafe {
        (call.parameter::<u64>(0), call.parameter::<u64>(1), call.parameter::<u64>(2), call.parameter::<u32>(3))
    };
    let words = words as usize;
    let (from, to) = (call.memory(source, words * 8, false), call.memory(target, words * 8, true));
    if !from.is_null() && !to.is_null() {
        // SAFETY: both ranges are allocated.
        unsafe { add_words(to.cast(), from.cast(), addend, words) };
    }
}

unsafe extern "C" fn raw_add(call: *const KernelCall) {
    // SAFETY: a call of the simulator's.
    let call = unsafe { &*call };
    // SAFETY: the parameters that the kernel declares; the test gives addresses of allocated memory.
    unsafe {
        let (target, source) = (call.parameter::<*mut u64>(0), call.parameter::<*const u64>(1));
        add_words(target, source, call.parameter::<u64>(2), call.parameter::<u32>(3) as usize);
    }
}

/// # Safety
/// Both ranges can be used.
unsafe fn add_words(target: *mut u64, source: *const u64, addend: u64, words: usize) {
    for i in 0..words {
        // SAFETY: the caller's promise.
        unsafe { target.add(i).write(source.add(i).read().wrapping_add(addend)) };
    }
}
