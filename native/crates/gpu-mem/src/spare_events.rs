//! Events that no stream uses at the moment.

use sluice_cuda::{Context, CudaError, Event};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More than the streams of an executor need at a time; the driver gets back what is beyond.
const MOST: usize = 64;

/// What streams that are over have left for the next ones: a task's stream needs one or two events, and the driver
/// would make them for each task.
#[derive(Debug)]
pub(crate) struct SpareEvents {
    context: Context,
    events: Mutex<Vec<Event>>,
}

impl SpareEvents {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, events: Mutex::default() }
    }

    /// One that nobody uses; the driver makes it if there is none.
    ///
    /// # Errors
    /// There is none, and the driver makes none.
    pub(crate) fn take(&self) -> Result<Event, CudaError> {
        // The lock is free again before the driver is called.
        let spare = self.events().pop();
        spare.map_or_else(|| self.context.event(), Ok)
    }

    /// Keeps events whose work has ended, as many as there is room for; the others stay where they are.
    pub(crate) fn keep(&self, events: &mut Vec<Event>) {
        let mut kept = self.events();
        let room = MOST.saturating_sub(kept.len()).min(events.len());
        kept.extend(events.drain(events.len() - room..));
    }

    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        // A push or a pop is done or is not.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
