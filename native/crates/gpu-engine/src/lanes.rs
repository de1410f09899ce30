//! How many encodes are under way at a time, and the host's memory for each.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_cuda::Context;

use crate::declined::Declined;
use crate::encode_scratch::{EncodeScratch, STAGING_BYTES};

/// More keep a device no busier: it copies one at a time each way, and a batch has blocks for all multiprocessors.
const MOST: usize = 16;

/// Scratch memory for encodes, made once. Any thread may take one.
pub(crate) struct Lanes {
    state: Mutex<State>,
    count: usize,
    pinned: usize,
}

struct State {
    free: Vec<EncodeScratch>,
    /// When each of the others was taken.
    taken: Vec<Instant>,
}

impl Lanes {
    /// As many as `bytes` of pinned memory allow, at least one.
    pub(crate) fn new(context: &Context, bytes: usize) -> Result<Self, Declined> {
        let count = (bytes / STAGING_BYTES).clamp(1, MOST);
        let free = (0..count).map(|_| EncodeScratch::pinned(context)).collect::<Result<Vec<_>, _>>()?;
        let pinned = free.iter().filter(|scratch| scratch.staging.is_pinned()).count();
        Ok(Self { state: Mutex::new(State { free, taken: Vec::new() }), count, pinned })
    }

    /// One that nobody uses; none if there is none.
    pub(crate) fn take(&self) -> Option<Lane<'_>> {
        let mut state = self.state();
        let (scratch, taken) = (state.free.pop()?, Instant::now());
        state.taken.push(taken);
        Some(Lane { lanes: self, scratch: Some(scratch), taken })
    }

    /// For how long the one has been in use that was taken first.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.state().taken.iter().min().map(Instant::elapsed)
    }

    /// Whether one is free now.
    pub(crate) fn is_any_free(&self) -> bool {
        !self.state().free.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How many have memory that the driver has pinned.
    pub(crate) fn pinned(&self) -> usize {
        self.pinned
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A push or a pop is done or is not.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One encode's; it goes back when this is dropped.
pub(crate) struct Lane<'l> {
    lanes: &'l Lanes,
    scratch: Option<EncodeScratch>,
    taken: Instant,
}

impl Lane<'_> {
    pub(crate) fn scratch(&mut self) -> Option<&mut EncodeScratch> {
        self.scratch.as_mut()
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        let mut state = self.lanes.state();
        if let Some(at) = state.taken.iter().position(|taken| *taken == self.taken) {
            state.taken.swap_remove(at);
        }
        state.free.extend(self.scratch.take());
    }
}
