//! Work for a stream, and the wait for it.

use std::ffi::c_void;

use sluice_cuda::{DeviceAddress, ErrorKind, Kernel, Launch, Stream, Wait};

use crate::declined::Declined;

/// Threads of a block, as most kernels have them.
pub(crate) const THREADS: u32 = 256;

/// A value that kernels take as a parameter.
///
/// # Safety
/// It has the layout of the kernel's parameter.
pub(crate) unsafe trait Parameter: Copy {}
// SAFETY: `u64`, and every pointer of the kernels.
unsafe impl Parameter for u64 {}
// SAFETY: `u32`.
unsafe impl Parameter for u32 {}

/// Starts a kernel with so many blocks of so many threads.
///
/// # Safety
/// The parameters are the kernel's, and as it needs them until the stream's work is done.
pub(crate) unsafe fn launch(
    stream: &Stream,
    kernel: &Kernel,
    (blocks, threads): (u64, u32),
    parameters: &mut [*mut c_void],
) -> Result<(), Declined> {
    let blocks = u32::try_from(blocks).map_err(|_| Declined::TooLarge("blocks of a launch"))?;
    // SAFETY: the caller's promise.
    unsafe { stream.launch(kernel, Launch::linear(blocks, threads), parameters)? };
    Ok(())
}

/// Starts a kernel with values as its parameters, which the driver copies before the call returns. To be called in
/// `unsafe`, with the promise of [`launch`]. Blocks have [`THREADS`] threads, unless others are named behind a
/// semicolon.
macro_rules! start {
    ($stream:expr, $kernel:expr, $blocks:expr, $($value:expr),+) => {
        // The values are temporaries of this one expression, so they are there during the call.
        start!($stream, $kernel, $blocks; $crate::submit::THREADS, $($value),+)
    };
    ($stream:expr, $kernel:expr, $blocks:expr; $threads:expr, $($value:expr),+) => {
        $crate::submit::launch(
            $stream,
            $kernel,
            ($blocks, $threads),
            &mut [$($crate::submit::parameter(&mut { $value })),+],
        )
    };
}
pub(crate) use start;

pub(crate) fn parameter<T: Parameter>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// Copies a slice to the device.
///
/// # Safety
/// Until the stream's work is done the slice is not written to, and the target is allocated and used in this order
/// only.
pub(crate) unsafe fn put<T: Copy>(stream: &Stream, target: u64, values: &[T]) -> Result<(), Declined> {
    if !values.is_empty() {
        // SAFETY: the caller's promise.
        unsafe { stream.copy_to_device(DeviceAddress(target), values.as_ptr().cast(), size_of_val(values))? };
    }
    Ok(())
}

/// Does `work`, which puts work into the stream and waits for it. If it fails halfway, waits for what is in the stream,
/// since that may use memory of the host.
pub(crate) fn settled<T>(
    stream: &Stream,
    wait: Wait<'_>,
    work: impl FnOnce() -> Result<T, Declined>,
) -> Result<T, Declined> {
    work().inspect_err(|_| {
        // Why the work failed says more than why the wait did.
        let _ = finish(stream, wait);
    })
}

/// Waits for the stream's work, also when the task is being killed: the host's memory is in use until then. A wait that
/// fails, for whatever reason, leaves work that may still use that memory: the device is lost then, so that nobody
/// gives the memory to other work.
pub(crate) fn finish(stream: &Stream, wait: Wait<'_>) -> Result<(), Declined> {
    let (finished, killed) = match stream.finish(wait) {
        Err(error) if error.kind() == ErrorKind::Killed => (stream.finish(Wait::at_most(wait.limit())), Some(error)),
        answer => (answer, None),
    };
    if let Err(why) = finished {
        let context = stream.context();
        context.lose(&format!("a wait for its work failed: {why}"));
        return Err(context.lost().cloned().unwrap_or(why).into());
    }
    killed.map_or(Ok(()), |error| Err(error.into()))
}
