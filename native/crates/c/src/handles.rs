//! Handles: boxes whose addresses the caller holds.

use std::ptr::{NonNull, null_mut};

use crate::guard::CallError;

/// What a handle refers to.
///
/// # Safety
/// The handle is null, or one that [`give`] gave, not freed, and borrowed by no other call if `T` is used mutably.
pub(crate) unsafe fn borrow<'h, T>(handle: *const T, what: &'static str) -> Result<&'h T, CallError> {
    // SAFETY: null or a live box, as the caller promises.
    unsafe { handle.as_ref() }.ok_or(CallError::Null(what))
}

/// As [`borrow`], to be changed.
///
/// # Safety
/// As [`borrow`]; no other call uses the handle at the same time.
pub(crate) unsafe fn borrow_mut<'h, T>(handle: *mut T, what: &'static str) -> Result<&'h mut T, CallError> {
    // SAFETY: null or a live box that nobody else uses, as the caller promises.
    unsafe { handle.as_mut() }.ok_or(CallError::Null(what))
}

/// Where a handle goes; null until there is one.
///
/// # Safety
/// `out` is null or valid for writes.
pub(crate) unsafe fn place<T>(out: *mut *mut T) -> Result<NonNull<*mut T>, CallError> {
    let out = NonNull::new(out).ok_or(CallError::Null("out"))?;
    // SAFETY: valid for writes, as the caller promises.
    unsafe { out.write(null_mut()) };
    Ok(out)
}

/// Gives the caller a handle.
///
/// # Safety
/// `out` comes from [`place`].
pub(crate) unsafe fn give<T>(out: NonNull<*mut T>, value: T) {
    // SAFETY: valid for writes, as the caller promises.
    unsafe { out.write(Box::into_raw(Box::new(value))) };
}

/// Frees what a handle refers to.
///
/// # Safety
/// The handle is null, or one that [`give`] gave and that nobody uses any more.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: a box of `give`, as the caller promises, which is taken back once.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Elements of an array of the caller's; none if there are none, wherever that is.
///
/// # Safety
/// `start` has `len` initialised elements that nobody changes meanwhile, if it is not null.
pub(crate) unsafe fn array<'a, T>(start: *const T, len: usize, what: &'static str) -> Result<&'a [T], CallError> {
    if len == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(CallError::Null(what));
    }
    if !start.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(CallError::Argument(format!("{what}: {len} elements at {start:?}")));
    }
    // SAFETY: not null, aligned, not too long, all checked; initialised and unchanged, as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(start, len) })
}

/// Elements of an array of the caller's that are to be written; set to zero, since they may hold nothing yet.
///
/// # Safety
/// `start` is valid for writes of `len` elements that nobody else uses meanwhile and that overlap with nothing else of
/// the call, if it is not null; `T` may be all zero.
pub(crate) unsafe fn room<'a, T: Copy>(
    start: *mut T,
    len: usize,
    what: &'static str,
) -> Result<&'a mut [T], CallError> {
    if len == 0 {
        return Ok(&mut []);
    }
    if start.is_null() {
        return Err(CallError::Null(what));
    }
    if !start.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(CallError::Argument(format!("{what}: {len} elements at {start:?}")));
    }
    // SAFETY: not null, aligned, not too long, all checked; valid and nobody else's, as the caller promises; written
    // before they are referred to.
    unsafe {
        start.write_bytes(0, len);
        Ok(std::slice::from_raw_parts_mut(start, len))
    }
}
