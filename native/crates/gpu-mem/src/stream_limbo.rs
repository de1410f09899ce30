//! A stream's limbo and its events: what the stream's thread and others share.

use crate::limbo::{Limbo, MOST_BATCHES};
use crate::statistics::StreamCounts;
use sluice_cuda::{Context, CudaError, Event, Stream};
use sluice_mem::{Block, DeviceArena};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of a stream that other threads may look at: they end its batches and drop its leases. Only the stream's own
/// thread records events, because a thread's default stream is another one on another thread.
#[derive(Debug)]
pub(crate) struct StreamLimbo {
    context: Context,
    memory: Arc<DeviceArena>,
    state: Mutex<State>,
    /// Leases of all closed streams that were dropped, which nobody counts here any more.
    late_drops: Arc<AtomicU64>,
}

#[derive(Debug)]
struct State {
    limbo: Limbo<Event>,
    /// Events of batches that have ended.
    spare: Vec<Event>,
    counts: StreamCounts,
    /// No event will be recorded any more: the newest batch's event, if there is one, was recorded last.
    closed: bool,
}

impl StreamLimbo {
    pub(crate) fn new(context: Context, memory: Arc<DeviceArena>, late_drops: Arc<AtomicU64>) -> Self {
        let (limbo, spare, counts) = (Limbo::new(), Vec::new(), StreamCounts::default());
        Self { context, memory, state: Mutex::new(State { limbo, spare, counts, closed: false }), late_drops }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_lost(&self) -> bool {
        self.context.lost().is_some()
    }

    /// Takes out a lease with this block that the stream has freed: its address and true block.
    pub(crate) fn take(&self, block: Block) -> Option<(usize, Block)> {
        let mut state = self.state();
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
        } else if !state.limbo.put_into_newest(address, block) {
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
        state.closed = self.seal(state, stream) || self.is_lost();
    }

    /// Gives the open batch its event; false, and the batch stays open, when that fails. Ends what has ended first, so
    /// that there are events to be used again.
    fn seal(&self, state: &mut State, stream: &Stream) -> bool {
        let ended = self.end_batches(state).and_then(|_| self.record(state, stream));
        state.counts.event_failures += u64::from(ended.is_err() && !self.is_lost());
        ended.is_ok()
    }

    fn record(&self, state: &mut State, stream: &Stream) -> Result<(), CudaError> {
        if state.limbo.batches() >= MOST_BATCHES
            && let Some(newest) = state.limbo.newest()
        {
            newest.record(stream)?;
            state.limbo.join_newest();
        } else {
            let event = state.spare.pop().map_or_else(|| self.context.event(), Ok)?;
            event.record(stream)?;
            state.limbo.seal(event);
        }
        state.counts.events += 1;
        Ok(())
    }

    /// Ends the batches whose events have ended: how many leases went back to the arena. Never waits.
    pub(crate) fn poll(&self) -> Result<usize, CudaError> {
        self.end_batches(&mut self.state())
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

    /// Whether nobody has to look at this any more: it is closed, and nothing in limbo can end.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        state.closed && (state.limbo.batches() == 0 || self.is_lost())
    }

    /// What was counted so far.
    pub(crate) fn counts(&self) -> StreamCounts {
        self.state().counts
    }
}
