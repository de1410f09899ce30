//! A lease of a GPU's memory that is freed in the order of a stream's work.

use crate::arena_stream::ArenaStream;
use crate::stream_limbo::StreamLimbo;
use sluice_cuda::DeviceAddress;
use sluice_mem::Block;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A piece of a GPU's memory, 64-byte aligned, owned by this value. The stream that leased it uses it at once; another
/// stream first waits (on the device) for an event of this one.
///
/// [`crate::ArenaStream::free`] frees it in the order of a stream. When it is dropped, it is freed in the order of its
/// home: by an event that this stream records later, so not before its next lease, free or flush. Its home is the
/// stream that leased it, and then the last one that [`Self::used_by`] named. The home itself may lease the memory
/// again at once.
///
/// # What the caller promises
/// When a lease is dropped, all work that uses it has ended or comes before the home's later work. So who lets another
/// stream use it calls [`Self::used_by`], or has that stream free it.
#[derive(Debug)]
pub struct StreamLease {
    home: Arc<StreamLimbo>,
    address: usize,
    bytes: usize,
    block: Block,
}

impl StreamLease {
    pub(crate) fn new(home: &Arc<StreamLimbo>, address: usize, bytes: usize, block: Block) -> Self {
        Self { home: Arc::clone(home), address, bytes, block }
    }

    /// The GPU's address of the first byte.
    pub fn address(&self) -> DeviceAddress {
        DeviceAddress(self.address as u64)
    }

    /// Bytes asked for (the lease may have more, by rounding).
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Makes `stream` the home, for work that it is about to do: it waits (on the device) for an event behind what
    /// other streams did with the lease. When the lease is dropped, its memory waits for this stream's event.
    ///
    /// # Panics
    /// When the stream is of another arena.
    pub fn used_by(&mut self, stream: &ArenaStream) {
        assert!(stream.owns(&self.home), "a lease of an arena, to be used by a stream of another one");
        self.home = Arc::clone(stream.limbo());
    }

    /// Takes the lease apart, so that nothing is freed when it is dropped.
    pub(crate) fn into_parts(self) -> (Arc<StreamLimbo>, usize, Block) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped afterwards, so the `Arc` is moved out of it once.
        let home = unsafe { std::ptr::read(&raw const this.home) };
        (home, this.address, this.block)
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        self.home.drop_lease(self.address, self.block);
    }
}
