//! The primary context of a device, made current for one call at a time.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::device::{ComputeMode, Device};
use crate::error::{CudaError, ErrorKind};
use crate::health::{Health, Statistics};
use crate::reclaim::Late;
use crate::sys::{self, Functions, Status};
use crate::wait::{Wait, Waited};

/// A device's primary context, held until the last copy of this value and all that was made in it are gone. Used from
/// any thread.
#[derive(Clone)]
pub struct Context {
    held: Arc<Held>,
}

struct Held {
    device: Device,
    handle: sys::Context,
    health: Arc<Health>,
}

// SAFETY: a context's handle may be used by any thread, by several at a time (`cuda.h`, since CUDA 4.0).
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context of {}", self.held.device.describe())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.health.lost().is_some() {
            return self.health.count_leak(0);
        }
        let device = self.device.clone();
        let release = move || {
            // SAFETY: given back once for the one time that it was retained; nothing that was made in it is left,
            // because all such values hold this one.
            unsafe { (device.driver().calls.primary_release)(device.handle()) == sys::SUCCESS }
        };
        if !self.health.reclaimer.make(Late::Made, release) {
            self.health.count_leak(0);
        }
    }
}

/// The context is current on this thread until this is dropped; what was current before is current again then. Not for
/// others, who could drop two of them in the wrong order.
#[derive(Debug)]
struct Current<'a> {
    context: &'a Context,
    /// Of this thread.
    not_send: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // The driver only fails here when it is being unloaded at the end of the process.
        // SAFETY: `enter` pushed one context on this thread's stack; this takes it off.
        let _ = unsafe { (self.context.calls().ctx_pop)(&mut popped) };
    }
}

impl Context {
    pub(crate) fn retain(device: &Device) -> Result<Self, CudaError> {
        let health = device.driver().health(device.facts().ordinal);
        health.check()?;
        // The driver answers "unknown error" to the call below then, as to much else.
        if device.compute_mode()? == ComputeMode::Prohibited {
            let message =
                format!("the compute mode of {} is PROHIBITED: set it (nvidia-smi -c 0)", device.facts().name);
            return Err(CudaError::new(ErrorKind::DeviceBusy, message));
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: writes a handle.
        let status = unsafe { (device.driver().calls.primary_retain)(&mut handle, device.handle()) };
        device.driver().check("cuDevicePrimaryCtxRetain", status).map_err(|error| match status {
            // Nothing is lost that was not there: the next attempt may work.
            sys::UNKNOWN | sys::MPS_CONNECTION_FAILED | sys::MPS_RPC_FAILURE => error.of_kind(ErrorKind::DriverFailed),
            _ => health.noted(error),
        })?;
        Ok(Self { held: Arc::new(Held { device: device.clone(), handle, health }) })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.held.device
    }

    /// Does something while the context is current on this thread. Calls of this crate need no such thing; those of
    /// other libraries may.
    ///
    /// # Errors
    /// The device is lost: then nothing is done.
    pub fn with_current<R>(&self, work: impl FnOnce() -> R) -> Result<R, CudaError> {
        let _current = self.enter()?;
        Ok(work())
    }

    fn enter(&self) -> Result<Current<'_>, CudaError> {
        self.held.health.check()?;
        // SAFETY: the handle is valid as long as it is retained.
        let status = unsafe { (self.calls().ctx_push)(self.held.handle) };
        if matches!(status, sys::INVALID_CONTEXT | sys::CONTEXT_IS_DESTROYED) {
            let words = self.device().driver().words(status);
            self.lose(&format!("cuCtxPushCurrent_v2: {words}; the primary context was reset by another library"));
            self.held.health.check()?;
        }
        self.check("cuCtxPushCurrent_v2", status)?;
        Ok(Current { context: self, not_send: PhantomData })
    }

    /// Why the device was lost, if it was.
    pub fn lost(&self) -> Option<&CudaError> {
        self.held.health.lost()
    }

    /// Gives the device up for this process, because of something that the driver does not report: results that are
    /// wrong, work that does not end. Later calls are refused.
    pub fn lose(&self, why: &str) {
        self.held.health.lose(CudaError::new(ErrorKind::DeviceLost, why));
    }

    /// What happened on the device in this process so far.
    pub fn statistics(&self) -> Statistics {
        self.held.health.statistics()
    }

    /// Counts bytes of device or pinned memory that are left as they are because the device is lost: what arenas
    /// above have on lease then.
    pub fn count_leak(&self, bytes: usize) {
        self.held.health.count_leak(bytes);
    }

    pub(crate) fn calls(&self) -> &Functions {
        &self.held.device.driver().calls
    }

    /// Makes one call in the context.
    pub(crate) fn call(&self, name: &str, call: impl FnOnce(&Functions) -> Status) -> Result<(), CudaError> {
        let _current = self.enter()?;
        self.check(name, call(self.calls()))
    }

    /// Makes a call that answers whether work is done.
    pub(crate) fn ask(&self, name: &str, call: impl FnOnce(&Functions) -> Status) -> Result<bool, CudaError> {
        let _current = self.enter()?;
        match call(self.calls()) {
            sys::NOT_READY => Ok(false),
            status => self.check(name, status).map(|()| true),
        }
    }

    /// How long one who drops memory, a registration, code or the context waits for the driver to take it back, at
    /// most; 10 s unless it is set. After that it is counted as left.
    pub fn set_give_back_limit(&self, limit: Duration) {
        self.held.health.reclaimer.set_limit(limit);
    }

    /// Makes the last call for something that the driver may let wait for work of the device; see [`crate::reclaim`].
    /// False, and counted, if it was not made, failed or did not end in time.
    pub(crate) fn give_back_waiting(
        &self,
        name: &'static str,
        bytes: usize,
        late: Late,
        call: impl FnOnce(&Functions) -> Status + Send + 'static,
    ) -> bool {
        let context = self.clone();
        let make = move || context.lost().is_none() && context.call(name, call).is_ok();
        let done = self.lost().is_none() && self.held.health.reclaimer.make(late, make);
        if !done {
            self.count_leak(bytes);
        }
        done
    }

    /// Makes the last call for something. False, and counted, if it was not made or failed: then it is left as it is.
    pub(crate) fn give_back(&self, name: &str, bytes: usize, call: impl FnOnce(&Functions) -> Status) -> bool {
        let done = self.lost().is_none() && self.call(name, call).is_ok();
        if !done {
            self.count_leak(bytes);
        }
        done
    }

    pub(crate) fn wait(
        &self,
        wait: Wait<'_>,
        is_done: impl FnMut() -> Result<bool, CudaError>,
    ) -> Result<Waited, CudaError> {
        let waited = wait.until(is_done)?;
        self.held.health.count_wait(waited == Waited::TimedOut);
        Ok(waited)
    }

    /// What a wait means for one that cannot go on without it.
    pub(crate) fn finished(&self, waited: Waited, limit: Duration) -> Result<(), CudaError> {
        match waited {
            Waited::Done => Ok(()),
            Waited::Killed => {
                Err(CudaError::new(ErrorKind::Killed, "the wait for the device was given up: the task is being killed"))
            }
            Waited::TimedOut => {
                self.lose(&format!("work on {} did not end in {limit:?}", self.device().facts().name));
                self.held.health.check()
            }
        }
    }

    fn check(&self, name: &str, status: Status) -> Result<(), CudaError> {
        self.device().driver().check(name, status).map_err(|e| self.held.health.noted(e))
    }
}
