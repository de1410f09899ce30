//! The native core's heap memory that is large enough to count and lies outside the arena: the scratch of encoders and
//! decoders, the indexes of runs, buffers of a merge. One number for the process.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes that all [`HeapShare`]s of the process stand for now.
pub fn heap_bytes() -> usize {
    BYTES.load(Relaxed)
}

/// What one holder of heap memory counts in [`heap_bytes`], until it is dropped. The holder sets it when it allocates
/// and frees.
#[derive(Debug, Default)]
pub struct HeapShare {
    bytes: usize,
}

impl HeapShare {
    /// A share of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let mut share = Self::default();
        share.set(bytes);
        share
    }

    /// Changes the share. It counts what is about to be allocated before, and what was freed after.
    pub fn set(&mut self, bytes: usize) {
        if bytes >= self.bytes {
            BYTES.fetch_add(bytes - self.bytes, Relaxed);
        } else {
            BYTES.fetch_sub(self.bytes - bytes, Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for HeapShare {
    fn drop(&mut self) {
        self.set(0);
    }
}
