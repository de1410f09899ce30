//! Ways to have device memory for a round of copy, kernel, copy.

use std::sync::{Mutex, PoisonError};

use sluice_cuda::{Context, CudaError, DeviceAddress, DeviceMemory, Stream};

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
}

impl Allocation {
    pub(crate) const ALL: [Self; 4] = [Self::Kept, Self::Driver, Self::LockedPool, Self::DriversPool];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Driver => "cuMemAlloc, cuMemFree",
            Self::LockedPool => "pool behind a lock",
            Self::DriversPool => "cuMemAllocAsync, cuMemFreeAsync",
        }
    }
}

/// A piece of device memory, and whose it is.
pub(crate) enum Piece {
    Whole(DeviceMemory),
    OfDriversPool(DeviceAddress),
}

impl Piece {
    pub(crate) fn address(&self) -> DeviceAddress {
        match self {
            Self::Whole(memory) => memory.address(),
            Self::OfDriversPool(address) => *address,
        }
    }
}

/// Pieces of one size.
pub(crate) struct Pieces {
    allocation: Allocation,
    bytes: usize,
    free: Mutex<Vec<DeviceMemory>>,
}

impl Pieces {
    pub(crate) fn new(allocation: Allocation, bytes: usize) -> Self {
        Self { allocation, bytes, free: Mutex::default() }
    }

    /// Whether a thread has its piece for all rounds.
    pub(crate) fn are_kept(&self) -> bool {
        self.allocation == Allocation::Kept
    }

    /// Whether a piece is given back before the stream's work is done.
    pub(crate) fn are_freed_in_order(&self) -> bool {
        self.allocation == Allocation::DriversPool
    }

    pub(crate) fn take(&self, context: &Context, stream: &Stream) -> Result<Piece, CudaError> {
        match self.allocation {
            Allocation::DriversPool => stream.allocate_from_pool(self.bytes).map(Piece::OfDriversPool),
            Allocation::LockedPool => {
                let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
                free.map_or_else(|| context.allocate(self.bytes), Ok).map(Piece::Whole)
            }
            Allocation::Kept | Allocation::Driver => context.allocate(self.bytes).map(Piece::Whole),
        }
    }

    /// Gives a piece back; unless [`Pieces::are_freed_in_order`], the work that uses it is done.
    pub(crate) fn give_back(&self, piece: Piece, stream: &Stream) -> Result<(), CudaError> {
        match piece {
            // SAFETY: from the pool, given back once, after the work of this stream, which alone uses it.
            Piece::OfDriversPool(address) => unsafe { stream.free_to_pool(address) },
            Piece::Whole(memory) => {
                if self.allocation == Allocation::LockedPool {
                    self.free.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
                }
                Ok(())
            }
        }
    }
}
