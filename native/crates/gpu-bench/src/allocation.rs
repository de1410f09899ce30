//! Ways to have device memory for a round of copy, kernel, copy.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_cuda::{Context, DeviceAddress, DeviceMemory, Stream, Wait, Waited};
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions, StreamLease};

/// Longer than a lease takes to become free.
const LIMIT: Duration = Duration::from_secs(60);
/// What the arena may have, and what it asks the driver for at a time.
const ARENA_BYTES: usize = 2 << 30;
const CHUNK_BYTES: usize = 256 << 20;

/// The way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// The thread has one piece for all rounds: no allocation to wait for.
    Kept,
    /// `cuMemAlloc` and `cuMemFree`: each free waits for all work of the device.
    Driver,
    /// A list of free pieces behind a lock: a thread waits for its stream before it gives a piece back, since the next
    /// one to take it has another stream.
    LockedPool,
    /// The driver's own pool, ordered by streams: `cuMemAllocAsync` and `cuMemFreeAsync`.
    DriversPool,
    /// Sluice's arena, ordered by streams.
    StreamArena,
}

impl Allocation {
    pub(crate) const ALL: [Self; 5] =
        [Self::Kept, Self::Driver, Self::LockedPool, Self::DriversPool, Self::StreamArena];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Driver => "cuMemAlloc, cuMemFree",
            Self::LockedPool => "pool behind a lock",
            Self::DriversPool => "cuMemAllocAsync, cuMemFreeAsync",
            Self::StreamArena => "Sluice's stream arena",
        }
    }

    /// Whether a piece is given back before the stream's work is done.
    pub(crate) fn frees_in_order(self) -> bool {
        matches!(self, Self::DriversPool | Self::StreamArena)
    }
}

/// A piece of device memory, and whose it is.
pub(crate) enum Piece {
    Whole(DeviceMemory),
    OfDriversPool(DeviceAddress),
    Leased(StreamLease),
}

impl Piece {
    pub(crate) fn address(&self) -> DeviceAddress {
        match self {
            Self::Whole(memory) => memory.address(),
            Self::OfDriversPool(address) => *address,
            Self::Leased(lease) => lease.address(),
        }
    }
}

/// Pieces of one size for all threads.
pub(crate) struct Pieces {
    allocation: Allocation,
    bytes: usize,
    free: Mutex<Vec<DeviceMemory>>,
    arena: Option<Arc<StreamArena>>,
}

impl Pieces {
    pub(crate) fn new(context: &Context, allocation: Allocation, bytes: usize) -> Self {
        let arena = (allocation == Allocation::StreamArena).then(|| {
            let options =
                StreamArenaOptions { chunk_bytes: CHUNK_BYTES, ..StreamArenaOptions::with_limit(ARENA_BYTES) };
            StreamArena::new(context.clone(), options)
        });
        Self { allocation, bytes, free: Mutex::default(), arena }
    }

    /// Takes back what streams have freed, when their threads have ended: the arena cannot give memory to the driver
    /// that it does not know to be free.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let Some(arena) = &self.arena else { return Ok(()) };
        match arena.settle(Wait::at_most(LIMIT)).map_err(|e| e.to_string())? {
            Waited::Done => Ok(()),
            other => Err(format!("leases that were freed did not come back: {other:?}")),
        }
    }

    /// How often a lease of the arena has waited for the device.
    pub(crate) fn waits(&self) -> Option<u64> {
        self.arena.as_ref().map(|arena| arena.statistics().waits)
    }

    /// Those of the calling thread, which works on `stream`.
    pub(crate) fn attach(&self, stream: Stream) -> Attached<'_> {
        let way = match &self.arena {
            Some(arena) => Way::Arena(arena.attach(stream)),
            None => Way::Stream(stream),
        };
        Attached { pieces: self, way }
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<DeviceMemory>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pieces of one thread.
pub(crate) struct Attached<'a> {
    pieces: &'a Pieces,
    way: Way,
}

enum Way {
    Stream(Stream),
    Arena(ArenaStream),
}

impl Attached<'_> {
    /// The stream for all work on the pieces.
    pub(crate) fn stream(&self) -> &Stream {
        match &self.way {
            Way::Stream(stream) => stream,
            Way::Arena(attached) => attached.stream(),
        }
    }

    pub(crate) fn take(&self) -> Result<Piece, String> {
        let (bytes, stream) = (self.pieces.bytes, self.stream());
        if let Way::Arena(attached) = &self.way {
            return attached.lease(bytes, Wait::at_most(LIMIT)).map(Piece::Leased).map_err(|why| why.to_string());
        }
        let taken = match self.pieces.allocation {
            Allocation::DriversPool => stream.allocate_from_pool(bytes).map(Piece::OfDriversPool),
            Allocation::LockedPool => {
                let free = self.pieces.free().pop();
                free.map_or_else(|| stream.context().allocate(bytes), Ok).map(Piece::Whole)
            }
            _ => stream.context().allocate(bytes).map(Piece::Whole),
        };
        taken.map_err(|why| why.to_string())
    }

    /// Gives a piece back; unless pieces are freed in order, the work that uses it is done.
    pub(crate) fn give_back(&self, piece: Piece) -> Result<(), String> {
        match piece {
            // SAFETY: from the pool, given back once, after the work of this stream, which alone uses it.
            Piece::OfDriversPool(address) => unsafe { self.stream().free_to_pool(address) }.map_err(|e| e.to_string()),
            Piece::Leased(lease) => {
                if let Way::Arena(attached) = &self.way {
                    attached.free(lease);
                }
                Ok(())
            }
            Piece::Whole(memory) => {
                if self.pieces.allocation == Allocation::LockedPool {
                    self.pieces.free().push(memory);
                }
                Ok(())
            }
        }
    }
}
