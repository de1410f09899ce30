//! Arrays in arena memory.

use std::marker::PhantomData;
use std::sync::Arc;

use sluice_mem::{ALIGN_BYTES, Arena, Lease};

use crate::error::EngineError;

/// An array of plain values in leased memory.
///
/// Invariant: the lease has room for `len` values of `T`, and each of them has been written.
pub(crate) struct LeasedArray<T: Copy> {
    lease: Lease,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Copy> LeasedArray<T> {
    /// `len` times `value`.
    ///
    /// # Errors
    /// `NoMemory` when the arena refuses.
    pub(crate) fn filled(arena: &Arc<Arena>, len: usize, value: T) -> Result<Self, EngineError> {
        const { assert!(align_of::<T>() <= ALIGN_BYTES) };
        let bytes = len.checked_mul(size_of::<T>());
        let bytes = bytes.ok_or_else(|| EngineError::invalid(format!("{len} elements of an array")))?;
        let lease = arena.lease(bytes)?;
        let start = lease.as_ptr().cast::<T>();
        for i in 0..len {
            // SAFETY:
            // - inside the lease: it has at least `len * size_of::<T>()` bytes, computed without overflow above;
            // - aligned: leases start at multiples of `ALIGN_BYTES`, which is no less than T's alignment (asserted);
            // - nothing else: the lease is this function's own, and no slice of it exists.
            unsafe { start.add(i).write(value) };
        }
        Ok(Self { lease, len, values: PhantomData })
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: `len` written values at an aligned address, by the invariant; `&self` excludes `as_mut_slice`.
        unsafe { std::slice::from_raw_parts(self.lease.as_ptr().cast::<T>(), self.len) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: `len` written values at an aligned address, by the invariant; `&mut self` excludes every other slice
        // of the lease.
        unsafe { std::slice::from_raw_parts_mut(self.lease.as_ptr().cast::<T>(), self.len) }
    }
}
