//! A stream's limbo and its events: what the stream's thread and others share.

use crate::limbo::{Limbo, MOST_BATCHES};
use crate::spare_events::SpareEvents;
use crate::statistics::StreamCounts;
use sluice_cuda::{Context, CudaError, Event, Stream};
use sluice_mem::{Block, DeviceArena};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The part of a stream that other threads may look at: they end its batches and drop its leases. Only the stream's own
/// thread records events, because a thread's default stream is another one on another thread.
#[derive(Debug)]
pub(crate) struct StreamLimbo {
    context: Context,
    memory: Arc<DeviceArena>,
    /// Of all streams of the arena.
    events: Arc<SpareEvents>,
    state: Mutex<State>,
    /// Leases of all closed streams that were dropped, which nobody counts here any more.
    late_drops: Arc<AtomicU64>,
}

#[derive(Debug)]
struct State {
    limbo: Limbo<Event>,
    /// Events of batches that have ended.
    spare: Vec<Event>,
    /// Taken when the stream was attached, for its last record: when none can be made any more, what the stream has
    /// freed would have none, and stay here for ever.
    last: Option<Event>,
    counts: StreamCounts,
    /// No event will be recorded any more: the newest batch's event, if there is one, was recorded last.
    closed: bool,
}

impl StreamLimbo {
    pub(crate) fn new(
        context: Context,
        memory: Arc<DeviceArena>,
        events: Arc<SpareEvents>,
        late_drops: Arc<AtomicU64>,
    ) -> Self {
        let (limbo, spare, counts) = (Limbo::new(), Vec::new(), StreamCounts::default());
        // Without it, the last record takes one, or records the newest batch's again.
        let last = events.take().ok();
        let state = Mutex::new(State { limbo, spare, last, counts, closed: false });
        Self { context, memory, events, state, late_drops }
    }

    /// Whether it is of this context and this arena.
    pub(crate) fn is_of(&self, memory: &Arc<DeviceArena>) -> bool {
        Arc::ptr_eq(&self.memory, memory)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless another thread has it, maybe in a call of the driver that takes long.
    fn try_state(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn is_lost(&self) -> bool {
        self.context.lost().is_some()
    }

    /// Takes out a lease with this block that the stream has freed: its address and true block. Records an event first
    /// when leases that others dropped have filled the batch, or with `at_once`.
    pub(crate) fn take(&self, stream: &Stream, block: Block, at_once: bool) -> Option<(usize, Block)> {
        let state = &mut *self.state();
        if state.limbo.is_full() || at_once && state.limbo.open_leases() > 0 {
            self.seal(state, stream);
        }
        let taken = state.limbo.take(block)?;
        state.counts.leases_from_limbo += 1;
        Some(taken)
    }

    /// Leases from the arena for this stream.
    pub(crate) fn count_lease(&self) {
        self.state().counts.leases_from_arena += 1;
    }

    /// Adds a lease that was freed in the order of `stream`, this limbo's. An event is recorded when the batch is full,
    /// or with `at_once`. On a lost device the lease stays where it is.
    pub(crate) fn free(&self, stream: &Stream, address: usize, block: Block, at_once: bool) {
        let state = &mut *self.state();
        state.counts.frees += 1;
        if self.is_lost() {
            return;
        }
        if state.limbo.put(address, block) || at_once {
            self.seal(state, stream);
        }
    }

    /// Adds a lease that was dropped, maybe on another thread: it waits for the stream's next event. After the last one
    /// it waits for that.
    pub(crate) fn drop_lease(&self, address: usize, block: Block) {
        let state = &mut *self.state();
        if state.closed {
            self.late_drops.fetch_add(1, Relaxed);
        } else {
            state.counts.frees += 1;
            state.counts.drops += 1;
        }
        if self.is_lost() {
            return;
        }
        if !state.closed {
            state.limbo.put(address, block);
            return;
        }
        // Nobody else may look at this stream again, so what has ended goes back now. An event that cannot be asked
        // counts as one that has not ended.
        let asked = self.end_batches(state);
        state.counts.event_failures += u64::from(asked.is_err() && !self.is_lost());
        if !state.limbo.put_into_newest(address, block) {
            self.release(address);
        }
    }

    /// Records an event behind the leases that have none yet.
    pub(crate) fn flush(&self, stream: &Stream) {
        let state = &mut *self.state();
        if state.limbo.open_leases() > 0 {
            self.seal(state, stream);
        }
    }

    /// Records the last event: also without leases in the open batch, for those that are dropped later.
    pub(crate) fn close(&self, stream: &Stream) {
        let state = &mut *self.state();
        state.spare.extend(state.last.take());
        state.closed = self.seal(state, stream) || self.is_lost();
    }

    /// Gives the open batch its event; false, and the batch stays open, when that fails. Ends what has ended first, so
    /// that there are events to be used again. When those cannot be asked, one is recorded all the same.
    fn seal(&self, state: &mut State, stream: &Stream) -> bool {
        let asked = self.end_batches(state).is_ok();
        let recorded = self.record(state, stream).is_ok();
        if !self.is_lost() {
            state.counts.event_failures += u64::from(!asked) + u64::from(!recorded);
        }
        recorded
    }

    /// Records an event for the open batch, or, with enough batches or without an event, the newest one's again.
    fn record(&self, state: &mut State, stream: &Stream) -> Result<(), CudaError> {
        let batches = state.limbo.batches();
        let event = if batches >= MOST_BATCHES {
            None
        } else {
            match state.spare.pop().map_or_else(|| self.events.take(), Ok) {
                Ok(event) => Some(event),
                Err(error) if batches == 0 => return Err(error),
                Err(_) => None,
            }
        };
        if let Some(event) = event {
            event.record(stream)?;
            state.limbo.seal(event);
        } else if let Some(newest) = state.limbo.newest() {
            newest.record(stream)?;
            state.limbo.join_newest();
        }
        state.counts.events += 1;
        Ok(())
    }

    /// Ends the batches whose events have ended: how many leases went back to the arena. Never waits, also not for a
    /// thread that has the limbo now: that one ends batches itself before it records an event.
    pub(crate) fn poll(&self) -> Result<usize, CudaError> {
        let Some(mut state) = self.try_state() else { return Ok(0) };
        let ended = self.end_batches(&mut state);
        state.counts.event_failures += u64::from(ended.is_err() && !self.is_lost());
        ended
    }

    fn end_batches(&self, state: &mut State) -> Result<usize, CudaError> {
        let mut released = 0;
        while let Some(event) = state.limbo.oldest() {
            state.counts.polls += 1;
            if !event.is_done()? {
                break;
            }
            let event = state.limbo.end_oldest(|address| {
                released += 1;
                self.release(address);
            });
            state.spare.extend(event);
        }
        Ok(released)
    }

    fn release(&self, address: usize) {
        let released = self.memory.release_raw(address);
        debug_assert!(released.is_ok(), "somebody released the address of an owned lease: {released:?}");
    }

    /// Leases in limbo, and their bytes.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.state().limbo.held()
    }

    /// When nobody has to look at this any more, because it is closed and nothing in limbo can end: its counts. Its
    /// events are other streams' then. Waits for no thread that has the limbo, and calls the driver for nothing.
    pub(crate) fn counts_if_over(&self) -> Option<StreamCounts> {
        let mut state = self.try_state()?;
        let over = state.closed && (state.limbo.batches() == 0 || self.is_lost());
        if over && !self.is_lost() {
            self.events.keep(&mut state.spare);
        }
        over.then_some(state.counts)
    }

    /// What was counted so far.
    pub(crate) fn counts(&self) -> StreamCounts {
        self.state().counts
    }
}

impl Drop for StreamLimbo {
    /// What has ended goes back to the arena; chunks with the rest stay allocated.
    fn drop(&mut self) {
        let _ = self.poll();
    }
}
