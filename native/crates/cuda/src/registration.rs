//! Host memory that is pinned: registered with the driver, so that the device's copy engines read and write it.

use std::ptr::NonNull;

use crate::context::Context;
use crate::error::CudaError;
use crate::reclaim::Late;
use crate::sys::{self, Functions};

/// Registered host memory; the registration ends when this is dropped.
///
/// Ending it lets the driver wait, as for [`crate::DeviceMemory`]. It does not end on a device that is lost, if the
/// driver refuses, or if the driver does not answer in time: then the range must stay mapped, and its memory unused,
/// until the process ends, since the device could still write to it. Only [`HostRegistration::end`] tells; who drops
/// this value must leave the range mapped in any case.
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

    /// Ends the registration. False if it did not end: then the range must stay mapped, and not be used for anything
    /// else, until the process ends.
    #[must_use = "memory that is still registered must not be used for something else"]
    pub fn end(mut self) -> bool {
        self.end_once()
    }

    fn end_once(&mut self) -> bool {
        let start = self.start.as_ptr().expose_provenance();
        self.live = false;
        let end = move |calls: &Functions| {
            // SAFETY: `start` is what was registered, and this is done once.
            unsafe { (calls.host_unregister)(std::ptr::with_exposed_provenance_mut(start)) }
        };
        self.context.give_back_waiting("cuMemHostUnregister", self.bytes, Late::Dropped, end)
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
    /// Pins host memory for all contexts of the process. All its pages are made resident and locked, which takes time
    /// for each page.
    ///
    /// # Errors
    /// The driver cannot pin so much; [`crate::ErrorKind::Rejected`] if part of it is registered already; the device is
    /// lost.
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
