//! One stream of a stream arena.

use crate::declined::Declined;
use crate::stream_arena::StreamArena;
use crate::stream_lease::StreamLease;
use crate::stream_limbo::StreamLimbo;
use sluice_cuda::{Stream, Wait};
use sluice_mem::Block;
use std::sync::Arc;

/// A stream whose leases come from a [`StreamArena`]. It stays with one thread, as its stream does; its leases may go
/// to others.
#[derive(Debug)]
pub struct ArenaStream {
    arena: Arc<StreamArena>,
    stream: Stream,
    limbo: Arc<StreamLimbo>,
}

impl ArenaStream {
    pub(crate) fn new(arena: Arc<StreamArena>, stream: Stream, limbo: Arc<StreamLimbo>) -> Self {
        Self { arena, stream, limbo }
    }

    /// The stream, for the work that uses the leases.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Leases at least `bytes` bytes for work of this stream, contents undefined: what the stream itself has freed, of
    /// the same size, without waiting for anything; else from the arena. When that has none, it ends batches of all
    /// streams whose events have ended, has caches dropped, and then waits for events.
    ///
    /// # Errors
    /// There is no memory when `wait` ends, the task is being killed, or the device is lost.
    pub fn lease(&self, bytes: usize, wait: Wait<'_>) -> Result<StreamLease, Declined> {
        if self.stream.context().lost().is_some() {
            return Err(self.arena.declined(Declined::DeviceLost));
        }
        self.try_lease(bytes).or_else(|refused| self.arena.lease_under_pressure(self, bytes, wait, refused))
    }

    /// As [`StreamArena::can_ever_lease`].
    pub fn can_ever_lease(&self, bytes: usize) -> bool {
        self.arena.can_ever_lease(bytes)
    }

    /// A lease that needs neither a wait nor another stream's limbo.
    pub(crate) fn try_lease(&self, bytes: usize) -> Result<StreamLease, sluice_mem::MemError> {
        let block = Block::of(bytes);
        if let Some((address, block)) = self.limbo.take(&self.stream, block, self.arena.is_short()) {
            return Ok(StreamLease::new(&self.limbo, address, bytes, block));
        }
        let address = self.arena.memory().lease_raw(bytes)?;
        self.limbo.count_lease();
        Ok(StreamLease::new(&self.limbo, address, bytes, block))
    }

    /// Frees a lease after the work that this stream has now: its own, and work of other streams that it waits for.
    /// Waits for nothing.
    ///
    /// A lease of another arena, which is a mistake, is dropped, and counted: it waits for its home's event, not for
    /// this stream's work.
    pub fn free(&self, lease: StreamLease) {
        let (home, address, block) = lease.into_parts();
        if !self.owns(&home) {
            self.arena.count_foreign_free();
            return home.drop_lease(address, block);
        }
        self.limbo.free(&self.stream, address, block, self.arena.is_short());
    }

    /// Whether leases of this home are of this stream's arena.
    pub(crate) fn owns(&self, home: &StreamLimbo) -> bool {
        home.is_of(self.arena.memory())
    }

    pub(crate) fn limbo(&self) -> &Arc<StreamLimbo> {
        &self.limbo
    }

    /// Records an event behind the leases that were freed and have none yet (fewer than 64, less than 8 MiB), so that
    /// other streams can have their memory: at the end of a batch of work, after which the stream may be idle.
    pub fn flush(&self) {
        self.limbo.flush(&self.stream);
    }
}

impl Drop for ArenaStream {
    /// Records the last event. Leases in limbo go back to the arena when it has ended, whoever looks then.
    fn drop(&mut self) {
        self.limbo.close(&self.stream);
        self.arena.stream_closed();
    }
}
