//! Host memory that is pinned: registered with the driver, so that the device's copy engines read and write it.

use std::ptr::NonNull;

use crate::context::Context;
use crate::error::CudaError;
use crate::sys;

/// Registered host memory; the registration ends when this is dropped.
///
/// Ending it lets the driver wait, as for [`crate::DeviceMemory`]. On a device that is lost it does not end: the pages
/// stay where they are until the process ends, even if they are unmapped.
#[derive(Debug)]
pub struct HostRegistration {
    context: Context,
    start: NonNull<u8>,
    bytes: usize,
    /// Whether there still is something to end.
    live: bool,
}

// SAFETY: the pointer is only a number for the driver here, which takes it from any thread.
unsafe impl Send for HostRegistration {}
// SAFETY: as above.
unsafe impl Sync for HostRegistration {}

impl HostRegistration {
    /// The first byte of the memory.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Ends the registration. False if the driver refused or the device is lost: then the memory must not be given to
    /// anyone else, since the device could still write to it.
    #[must_use = "memory that is still registered must not be used for something else"]
    pub fn end(mut self) -> bool {
        self.end_once()
    }

    fn end_once(&mut self) -> bool {
        let start = self.start.as_ptr().cast();
        self.live = false;
        // SAFETY: `start` is what was registered, and this is done once.
        self.context.give_back("cuMemHostUnregister", self.bytes, |calls| unsafe { (calls.host_unregister)(start) })
    }
}

impl Drop for HostRegistration {
    fn drop(&mut self) {
        if self.live {
            self.end_once();
        }
    }
}

impl Context {
    /// Pins host memory for all contexts of the process. All its pages are made resident and locked: about 0.3 s a GiB.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`] or [`crate::ErrorKind::NoPermission`] at the limit on locked memory;
    /// [`crate::ErrorKind::Rejected`] if part of it is registered already; the device is lost.
    ///
    /// # Safety
    /// `start .. start + bytes` is mapped, readable and writable, until the registration has ended, and is neither
    /// unmapped nor mapped anew before.
    pub unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<HostRegistration, CudaError> {
        let flags = sys::MEMHOSTREGISTER_PORTABLE;
        self.call("cuMemHostRegister_v2", |calls| {
            // SAFETY: the caller promises that the memory is mapped.
            unsafe { (calls.host_register)(start.as_ptr().cast(), bytes, flags) }
        })?;
        Ok(HostRegistration { context: self.clone(), start, bytes, live: true })
    }
}
