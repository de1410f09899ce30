//! Memory of a column's values: a producer's, or our own where values had to be converted.

use std::ops::Deref;
use std::ptr::NonNull;

/// Bytes that nobody writes to.
#[derive(Debug)]
pub(crate) enum Buffer {
    /// In a producer's array.
    Foreign { start: NonNull<u8>, len: usize },
    /// Made here.
    Own(Vec<u8>),
}

// SAFETY: the bytes of a foreign buffer are only read, and by the contract of `foreign` nobody writes to them while the
// buffer exists, on whatever thread.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// # Safety
    /// From `start` on, `len` bytes (at most `isize::MAX`) are initialised, can be read, and are neither written to nor
    /// freed until the buffer is dropped.
    pub(crate) unsafe fn foreign(start: NonNull<u8>, len: usize) -> Self {
        Self::Foreign { start, len }
    }

    pub(crate) fn empty() -> Self {
        Self::Own(Vec::new())
    }

    /// Its values of `N` bytes each; what is left at the end is not among them.
    pub(crate) fn values<const N: usize>(&self) -> &[[u8; N]] {
        self.as_chunks().0
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: initialised, readable and unwritten while `self` exists, by the contract of `foreign`; bytes have
            // no alignment. The slice cannot outlive `self`.
            Self::Foreign { start, len } => unsafe { std::slice::from_raw_parts(start.as_ptr(), *len) },
            Self::Own(bytes) => bytes,
        }
    }
}
