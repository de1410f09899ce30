//! Structs that other code has made, released exactly once.
//!
//! A struct is taken over by moving it, as the interface defines it: its bytes are copied and the source's `release` is
//! set to null, so that the source counts as released and its owner does not release it a second time. The copy's
//! `release` is called by `drop`, and by nothing else. Whether the producer sets `release` to null then, as it should,
//! is not relied on.

use std::ffi::{CStr, c_char};

use crate::error::{ColumnError, Result};
use crate::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};

/// An array that is released when it is dropped.
#[derive(Debug)]
pub struct OwnedArray(ArrowArray);

// SAFETY: the interface asks producers for arrays whose buffers nobody writes to, and which any thread may release;
// what is reachable from here is read only.
unsafe impl Send for OwnedArray {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for OwnedArray {}

impl OwnedArray {
    /// Moves the array out of `source`, which is left released.
    ///
    /// # Errors
    /// When it is released already, or null.
    ///
    /// # Safety
    /// `source` is null, or valid for reads and writes, and what it refers to is as the interface defines it: buffers
    /// as long as its length and type say, children and a dictionary that are valid, until its `release` is called.
    pub unsafe fn take(source: *mut ArrowArray) -> Result<Self> {
        if source.is_null() {
            return Err(ColumnError::invalid("the array's address is null"));
        }
        // SAFETY: valid for reads and writes, as the caller promises; the source does not count as an owner afterwards.
        let array = unsafe {
            let array = source.read();
            (*source).release = None;
            array
        };
        Self::of(array)
    }

    /// An array that came by value, for example from a stream.
    pub(crate) fn of(array: ArrowArray) -> Result<Self> {
        if array.release.is_none() {
            return Err(ColumnError::invalid("the array has been released already"));
        }
        Ok(Self(array))
    }

    /// An array that was made here, which is not released.
    pub(crate) fn made(array: ArrowArray) -> Self {
        Self(array)
    }

    /// The array, to be read.
    pub fn array(&self) -> &ArrowArray {
        &self.0
    }

    /// The array, which the caller now has to release.
    pub fn into_raw(self) -> ArrowArray {
        let mut this = self;
        std::mem::replace(&mut this.0, ArrowArray::released())
    }
}

impl Drop for OwnedArray {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: `release` was not null, so by the interface it may be called, once, with this struct; it is, as
            // `drop` runs once and `into_raw` leaves null behind.
            unsafe { release(&mut self.0) };
        }
    }
}

/// A schema that is released when it is dropped.
#[derive(Debug)]
pub struct OwnedSchema(pub(crate) ArrowSchema);

impl OwnedSchema {
    /// Moves the schema out of `source`, which is left released.
    ///
    /// # Errors
    /// When it is released already, or null.
    ///
    /// # Safety
    /// `source` is null, or valid for reads and writes, and what it refers to is as the interface defines it.
    pub unsafe fn take(source: *mut ArrowSchema) -> Result<Self> {
        if source.is_null() {
            return Err(ColumnError::invalid("the schema's address is null"));
        }
        // SAFETY: valid for reads and writes, as the caller promises; the source does not count as an owner afterwards.
        let schema = unsafe {
            let schema = source.read();
            (*source).release = None;
            schema
        };
        if schema.release.is_none() {
            return Err(ColumnError::invalid("the schema has been released already"));
        }
        Ok(Self(schema))
    }
}

impl Drop for OwnedSchema {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: as for arrays.
            unsafe { release(&mut self.0) };
        }
    }
}

/// A stream that is released when it is dropped. One thread at a time.
#[derive(Debug)]
pub struct OwnedStream(ArrowArrayStream);

// SAFETY: the interface allows calls from any thread, one at a time; all of them take `&mut self`.
unsafe impl Send for OwnedStream {}

impl OwnedStream {
    /// Moves the stream out of `source`, which is left released.
    ///
    /// # Errors
    /// When it is released already, or null.
    ///
    /// # Safety
    /// `source` is null, or valid for reads and writes, and its functions are as the interface defines them.
    pub unsafe fn take(source: *mut ArrowArrayStream) -> Result<Self> {
        if source.is_null() {
            return Err(ColumnError::invalid("the stream's address is null"));
        }
        // SAFETY: valid for reads and writes, as the caller promises; the source does not count as an owner afterwards.
        let stream = unsafe {
            let stream = source.read();
            (*source).release = None;
            stream
        };
        if stream.release.is_none() {
            return Err(ColumnError::invalid("the stream has been released already"));
        }
        Ok(Self(stream))
    }

    pub(crate) fn stream(&mut self) -> &mut ArrowArrayStream {
        &mut self.0
    }
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: as for arrays.
            unsafe { release(&mut self.0) };
        }
    }
}

/// A copy of a string of the interface; none if it is null.
///
/// # Safety
/// `text` is null or a string that ends with 0.
pub(crate) unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and so a string that ends with 0, as the caller promises.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
