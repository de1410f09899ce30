//! A lease that releases itself.

use crate::arena::Arena;
use crate::error::MemError;
use std::ptr::NonNull;
use std::sync::Arc;

/// A piece of arena memory, 64-byte aligned, owned by this value and released when it is dropped, on any thread.
///
/// Contents are undefined at first, but always initialised bytes: a region is zero when mapped (or whatever its
/// provider promises in [`crate::MappedRegion::new`]) and later holds what earlier leases wrote, which are bytes too.
#[derive(Debug)]
pub struct Lease {
    arena: Arc<Arena>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a lease owns its memory exclusively, like a `Box<[u8]>`; the arena behind it is `Sync`.
unsafe impl Send for Lease {}
// SAFETY: `&Lease` gives only `&[u8]` and a raw pointer, like `&Box<[u8]>`.
unsafe impl Sync for Lease {}

impl Arena {
    /// Leases memory that is released when the [`Lease`] is dropped.
    ///
    /// # Errors
    /// As [`Self::lease_raw`].
    pub fn lease(self: &Arc<Self>, bytes: usize) -> Result<Lease, MemError> {
        let start = self.lease_raw(bytes)?;
        Ok(Lease { arena: Arc::clone(self), start, bytes })
    }
}

impl Lease {
    /// The first byte. Writing through the pointer is the caller's `unsafe`; it must not happen while a slice of this
    /// lease is borrowed.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Bytes asked for (the arena may have leased more, by rounding).
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY:
        // - one live allocation of `bytes` bytes: `Arena::lease` made this value of a raw lease of that many, which
        //   only `drop` and `into_raw` end, and both take the value;
        // - aligned: `u8`; not longer than `isize::MAX`: the arena leases at most 1 TiB;
        // - initialised: see the type;
        // - not written while borrowed: this value is the only owner, and `as_mut_slice` needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY:
        // - one live, initialised allocation of `bytes` bytes, not longer than `isize::MAX`: as `as_slice` shows;
        // - not read or written otherwise while borrowed: `&mut self` excludes every other slice of this lease, and
        //   leases do not overlap.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Gives up ownership; the caller must release the memory with [`Arena::release_raw`].
    pub fn into_raw(self) -> NonNull<u8> {
        let start = self.start;
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped afterwards, so the `Arc` is dropped exactly once, here.
        unsafe { std::ptr::drop_in_place(&mut this.arena) };
        start
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let released = self.arena.release_raw(self.start.as_ptr().addr());
        debug_assert!(released.is_ok(), "somebody released the address of an owned lease: {released:?}");
    }
}
