//! How many encodes are under way at a time, and the host's memory for each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluice_cuda::Context;

use crate::declined::Declined;
use crate::driver_calls::DriverCalls;
use crate::encode_scratch::{EncodeScratch, STAGING_BYTES};
use crate::staging::Staging;

/// More keep a device no busier: it copies one at a time each way, and a batch has blocks for all multiprocessors.
const MOST: usize = 16;

/// Scratch memory for encodes, made once. Any thread may take one. All of it is pinned: a copy to memory that is not
/// would be made within the call, when the work before it has ended, and no limit would apply to work that hangs.
pub(crate) struct Lanes {
    free: Mutex<Vec<EncodeScratch>>,
    /// Of all lanes.
    calls: Vec<Arc<DriverCalls>>,
    /// How many the limit allows.
    wanted: usize,
    /// Why there are fewer.
    lacking: Option<Declined>,
}

impl Lanes {
    /// As many as `bytes` of pinned memory allow, at least one, and as the driver pins.
    ///
    /// # Errors
    /// The driver pins none, or the system has no memory.
    pub(crate) fn new(context: &Context, bytes: usize) -> Result<Self, Declined> {
        let wanted = (bytes / STAGING_BYTES).clamp(1, MOST);
        let (mut free, mut lacking) = (Vec::with_capacity(wanted), None);
        while free.len() < wanted && lacking.is_none() {
            match EncodeScratch::pinned(context) {
                Ok(scratch) => free.push(scratch),
                Err(why) => lacking = Some(why),
            }
        }
        match lacking {
            Some(why) if free.is_empty() => Err(why),
            lacking => {
                let calls = free.iter().map(|scratch| Arc::clone(scratch.staging.calls())).collect();
                Ok(Self { free: Mutex::new(free), calls, wanted, lacking })
            }
        }
    }

    /// One that nobody uses; none if there is none.
    pub(crate) fn take(&self) -> Option<Lane<'_>> {
        let scratch = self.free().pop()?;
        Some(Lane { lanes: self, scratch: Some(scratch) })
    }

    /// Whether one is free now.
    pub(crate) fn is_any_free(&self) -> bool {
        !self.free().is_empty()
    }

    /// The driver's calls of all of them.
    pub(crate) fn calls(&self) -> Vec<Arc<DriverCalls>> {
        self.calls.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.len()
    }

    /// How many there are not, though the limit allows them.
    pub(crate) fn lacking(&self) -> usize {
        self.wanted - self.count()
    }

    /// Why there are fewer than the limit allows, with both numbers; none if there are not.
    pub(crate) fn why_lacking(&self) -> Option<String> {
        let why = self.lacking.as_ref()?;
        Some(format!("{} batches at a time and not {}, because {why}", self.count(), self.wanted))
    }

    /// How many batches are encoded at a time, and why not more.
    pub(crate) fn describe(&self) -> String {
        self.why_lacking().unwrap_or_else(|| format!("{} batches at a time", self.count()))
    }

    fn free(&self) -> MutexGuard<'_, Vec<EncodeScratch>> {
        // A push or a pop is done or is not.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One encode's; it goes back when this is dropped.
pub(crate) struct Lane<'l> {
    lanes: &'l Lanes,
    scratch: Option<EncodeScratch>,
}

impl Lane<'_> {
    pub(crate) fn scratch(&mut self) -> Option<&mut EncodeScratch> {
        self.scratch.as_mut()
    }

    /// Its buffer, for calls of the driver that begin now and end when the lane goes back.
    pub(crate) fn staging(&mut self) -> Option<&mut Staging> {
        let staging = &mut self.scratch.as_mut()?.staging;
        staging.calls().begin();
        Some(staging)
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        if let Some(scratch) = self.scratch.take() {
            scratch.staging.calls().end();
            self.lanes.free().push(scratch);
        }
    }
}
