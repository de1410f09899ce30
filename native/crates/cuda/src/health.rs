//! Whether a device can still be used by this process, and what was left behind when it could not.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{CudaError, ErrorKind};
use crate::reclaim::Reclaimer;

/// One per device and process, kept until the process ends: a lost device does not come back.
#[derive(Debug, Default)]
pub(crate) struct Health {
    lost: OnceLock<CudaError>,
    refused: AtomicU64,
    waits: AtomicU64,
    waits_timed_out: AtomicU64,
    leaked_objects: AtomicU64,
    leaked_bytes: AtomicU64,
    pub(crate) reclaimer: Reclaimer,
}

/// What happened on a device in this process so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls that were refused because the device is lost.
    pub refused: u64,
    /// Waits for the device: of events, of streams.
    pub waits: u64,
    /// Those of them that reached their limit.
    pub waits_timed_out: u64,
    /// Events, streams, modules, contexts, allocations and registrations that were not given back to the driver,
    /// because the device is lost, the driver refused, or it did not answer in time (it may still do it then).
    pub leaked_objects: u64,
    /// Bytes of such allocations and registrations.
    pub leaked_bytes: u64,
}

impl Health {
    /// Why the device was lost, if it was.
    pub(crate) fn lost(&self) -> Option<&CudaError> {
        self.lost.get()
    }

    /// The device is lost from now on. The first reason stays.
    pub(crate) fn lose(&self, why: CudaError) {
        let _ = self.lost.set(why);
    }

    /// The same error; the device is lost from now on if it is one that no later call survives.
    pub(crate) fn noted(&self, error: CudaError) -> CudaError {
        if error.kind() == ErrorKind::DeviceLost {
            self.lose(error.clone());
        }
        error
    }

    /// Refuses the call of a lost device.
    pub(crate) fn check(&self) -> Result<(), CudaError> {
        match self.lost() {
            None => Ok(()),
            Some(why) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(CudaError::new(ErrorKind::DeviceLost, format!("the device was lost: {why}")))
            }
        }
    }

    pub(crate) fn count_wait(&self, timed_out: bool) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waits_timed_out.fetch_add(timed_out.into(), Ordering::Relaxed);
    }

    pub(crate) fn count_leak(&self, bytes: usize) {
        self.leaked_objects.fetch_add(1, Ordering::Relaxed);
        self.leaked_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            refused: self.refused.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            waits_timed_out: self.waits_timed_out.load(Ordering::Relaxed),
            leaked_objects: self.leaked_objects.load(Ordering::Relaxed),
            leaked_bytes: self.leaked_bytes.load(Ordering::Relaxed),
        }
    }
}
