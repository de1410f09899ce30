//! What a test asks of the simulator in the library, by functions that are found like the driver's.

use crate::kernel::{Kernel, KernelFunction};
use crate::machine::{self, lock};

/// How many numbers [`sluice_sim_counts`] writes, in the order of `Counts`.
pub(crate) const COUNTS: usize = 10;

/// The number of what these functions take and give: to be changed with their types or with `KernelCall`.
pub(crate) const ABI: u64 = 2;

/// A kernel as it is handed to the library.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RegisteredKernel {
    name: *const u8,
    name_bytes: usize,
    parameter_bytes: *const usize,
    parameter_count: usize,
    function: KernelFunction,
    raw: bool,
}

impl From<Kernel> for RegisteredKernel {
    fn from(kernel: Kernel) -> Self {
        let Kernel { name, parameter_bytes, function, raw } = kernel;
        Self {
            name: name.as_ptr(),
            name_bytes: name.len(),
            parameter_bytes: parameter_bytes.as_ptr(),
            parameter_count: parameter_bytes.len(),
            function,
            raw,
        }
    }
}

/// Which [`ABI`] the library has.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_sim_abi() -> u64 {
    ABI
}

/// A text of a caller in this process.
///
/// # Safety
/// `text .. text + bytes` is readable.
unsafe fn text_of<'a>(text: *const u8, bytes: usize) -> std::borrow::Cow<'a, str> {
    // SAFETY: the caller's promise.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text, bytes) })
}

/// Writes as much of a text as there is room for; its whole length.
fn give(text: &str, place: *mut u8, room: usize) -> usize {
    // SAFETY: `Simulator` gives a place with that much room.
    unsafe { place.copy_from_nonoverlapping(text.as_ptr(), text.len().min(room)) };
    text.len()
}

/// Changes settings and adds faults; 0, or the length of what is wrong, which is written.
///
/// # Safety
/// Called by `Simulator`, with a text and a place that have the lengths it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sim_configure(text: *const u8, bytes: usize, place: *mut u8, room: usize) -> usize {
    // SAFETY: the caller's promise.
    let text = unsafe { text_of(text, bytes) };
    match lock().configure(&text) {
        Ok(()) => 0,
        Err(why) => give(&why, place, room),
    }
}

/// Lets modules have a kernel.
///
/// # Safety
/// The kernel is one of this process, and its function stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sim_register(kernel: RegisteredKernel) {
    // SAFETY: made of a `Kernel`, whose name and sizes are constants of this process.
    let kernel = unsafe {
        let name = std::slice::from_raw_parts(kernel.name, kernel.name_bytes);
        let Ok(name) = std::str::from_utf8(name) else { return };
        let parameter_bytes = std::slice::from_raw_parts(kernel.parameter_bytes, kernel.parameter_count);
        Kernel { name, parameter_bytes, function: kernel.function, raw: kernel.raw }
    };
    lock().kernels.push(kernel);
}

/// How often a function of the driver was called.
///
/// # Safety
/// `text .. text + bytes` is readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sim_calls(text: *const u8, bytes: usize) -> u64 {
    // SAFETY: the caller's promise.
    let function = unsafe { text_of(text, bytes) };
    lock().faults.calls(&function)
}

/// Writes the counts.
///
/// # Safety
/// There is room for [`COUNTS`] numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sim_counts(place: *mut u64) {
    let machine = lock();
    let allocations = machine.devices.iter().map(|device| device.memory.allocations());
    let (live, bytes) = allocations.fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    let streams: usize = (0..machine.devices.len()).map(|device| machine.schedule.made_streams(device)).sum();
    let counts: [u64; COUNTS] = [
        live,
        bytes,
        streams,
        machine.schedule.events.len(),
        machine.modules.len(),
        machine.registered.len(),
        machine.devices.iter().map(|device| device.retained).sum(),
        machine.schedule.pending_count(),
        machine.executed as usize,
        machine.waits as usize,
    ]
    .map(|count| count as u64);
    // SAFETY: the caller's promise.
    unsafe { place.cast::<[u64; COUNTS]>().write_unaligned(counts) };
}

/// The mistakes that were found, one a line. Returns the length of the text.
///
/// # Safety
/// There is as much room as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sim_mistakes(place: *mut u8, room: usize) -> usize {
    let text = lock().mistakes.join("\n");
    give(&text, place, room)
}

/// The work that was done, in order, one a line: stream, function and place in the order of the calls, with tabs
/// between. Returns the length of the text.
///
/// # Safety
/// There is as much room as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sim_timeline(place: *mut u8, room: usize) -> usize {
    let machine = lock();
    let lines = machine.timeline.iter().map(|done| format!("{}\t{}\t{}", done.stream, done.function, done.put));
    give(&lines.collect::<Vec<_>>().join("\n"), place, room)
}

/// Lets blocked calls go on.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_sim_release() {
    machine::release();
}
