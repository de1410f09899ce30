//! Points in a stream's work that can be asked for and waited for.

use std::ffi::c_void;
use std::time::Duration;

use crate::context::Context;
use crate::error::CudaError;
use crate::stream::Stream;
use crate::sys;
use crate::wait::{Wait, Waited};

/// An event. It stands for the work that was in a stream when it was last recorded; one that was never recorded is
/// done. Asked and waited for by any thread.
#[derive(Debug)]
pub struct Event {
    context: Context,
    handle: sys::Event,
}

// SAFETY: an event's handle may be used by any thread, by several at a time.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Lets it stand for all work that is in the stream now. Never waits.
    ///
    /// # Errors
    /// The device is lost, or the stream is of another device.
    pub fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        // In the stream's context: a thread's default stream is that of the context which is current.
        // SAFETY: both handles are valid: the values that own them are here.
        stream.context().call("cuEventRecord", |calls| unsafe { (calls.event_record)(self.handle, stream.handle()) })
    }

    /// Whether the work is done. Never waits.
    ///
    /// # Errors
    /// The device is lost, by this work or by other.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the handle is valid.
        self.context.ask("cuEventQuery", |calls| unsafe { (calls.event_query)(self.handle) })
    }

    /// Waits for the work. The device counts as working still when the limit is reached: what it means is up to the
    /// caller (see [`Event::finish`]).
    ///
    /// # Errors
    /// The device is lost.
    pub fn wait(&self, wait: Wait<'_>) -> Result<Waited, CudaError> {
        self.context.wait(wait, || self.is_done())
    }

    /// Waits for work that must end: when the limit is reached the device is given up.
    ///
    /// # Errors
    /// The device is lost, now or before; [`crate::ErrorKind::Killed`].
    pub fn finish(&self, wait: Wait<'_>) -> Result<(), CudaError> {
        self.context.finished(self.wait(wait)?, wait.limit())
    }

    /// The time on the device between two events of [`Context::timing_event`], both of which are done.
    ///
    /// # Errors
    /// One is not done or has no time; the device is lost.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration, CudaError> {
        let mut milliseconds = 0.0;
        self.context.call("cuEventElapsedTime", |calls| {
            // SAFETY: writes a number; the handles are valid.
            unsafe { (calls.event_elapsed)(&mut milliseconds, earlier.handle, self.handle) }
        })?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }

    /// The driver's handle (`CUevent`), valid as long as this value.
    pub fn handle(&self) -> *mut c_void {
        self.handle
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The driver keeps what it needs of an event that streams still have.
        // SAFETY: the handle is given back once.
        self.context.give_back("cuEventDestroy_v2", 0, |calls| unsafe { (calls.event_destroy)(self.handle) });
    }
}

impl Context {
    /// Makes an event that has no time, which is the cheap kind.
    ///
    /// # Errors
    /// The device is lost.
    pub fn event(&self) -> Result<Event, CudaError> {
        self.event_of(sys::EVENT_DISABLE_TIMING)
    }

    /// Makes an event for [`Event::elapsed_since`].
    ///
    /// # Errors
    /// The device is lost.
    pub fn timing_event(&self) -> Result<Event, CudaError> {
        self.event_of(sys::EVENT_DEFAULT)
    }

    fn event_of(&self, flags: u32) -> Result<Event, CudaError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: writes a handle.
        self.call("cuEventCreate", |calls| unsafe { (calls.event_create)(&mut handle, flags) })?;
        Ok(Event { context: self.clone(), handle })
    }
}
