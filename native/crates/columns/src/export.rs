//! Arrays that are made here, for others to release.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use crate::error::{ColumnError, ErrorKind, Result};
use crate::ffi::ArrowArray;
use crate::owned::OwnedArray;

/// As much as Arrow recommends to align buffers to.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
struct Line([u8; LINE]);

const LINE: usize = 64;

/// Bytes that grow, aligned as Arrow recommends.
#[derive(Debug, Default)]
pub(crate) struct AlignedBytes {
    lines: Vec<Line>,
    len: usize,
}

impl AlignedBytes {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// So many bytes more, 0 at first.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<&mut [u8]> {
        let start = self.len;
        let end = start.checked_add(bytes).ok_or_else(|| no_memory(bytes))?;
        let lines = end.div_ceil(LINE);
        if lines > self.lines.len() {
            self.lines.try_reserve(lines - self.lines.len()).map_err(|_| no_memory(bytes))?;
            self.lines.resize(lines, Line([0; LINE]));
        }
        self.len = end;
        Ok(&mut self.as_mut_bytes()[start..end])
    }

    /// Makes room for so many bytes more, if there is memory.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let lines = self.len.saturating_add(bytes).div_ceil(LINE);
        // Who grows into it says that there is none.
        let _ = self.lines.try_reserve_exact(lines.saturating_sub(self.lines.len()));
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.grow(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Those of all lines.
    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8] {
        // SAFETY: the lines are initialised, contiguous (`repr(C)`, as long as they are aligned, so no padding), and
        // borrowed mutably through `self`; bytes can have any value.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LINE) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: as in `as_mut_bytes`; `len` bytes are within the lines.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    fn address(&self) -> *const c_void {
        if self.lines.is_empty() { null() } else { self.lines.as_ptr().cast() }
    }
}

fn no_memory(bytes: usize) -> ColumnError {
    ColumnError::new(ErrorKind::NoMemory, format!("no memory for {bytes} bytes of an array"))
}

/// An array that is made: its buffers, of which null ones are not there.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) rows: usize,
    pub(crate) nulls: usize,
    pub(crate) buffers: Vec<Option<AlignedBytes>>,
    pub(crate) children: Vec<Made>,
}

/// An array whose buffers are somebody's, filled already, of which null ones are not there.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) rows: usize,
    pub(crate) nulls: usize,
    pub(crate) buffers: Vec<*const c_void>,
    pub(crate) children: Vec<Filled>,
}

/// What an array that was made here refers to; owned by it.
struct Contents {
    addresses: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    /// The addresses point into what this has.
    _owner: Owner,
}

enum Owner {
    Buffers(#[expect(dead_code, reason = "dropped with the array")] Vec<Option<AlignedBytes>>),
    Shared(#[expect(dead_code, reason = "dropped with the array")] Arc<dyn Any + Send + Sync>),
}

impl Made {
    /// The array, for whoever releases it.
    pub(crate) fn export(self) -> OwnedArray {
        OwnedArray::made(self.into_raw())
    }

    fn into_raw(self) -> ArrowArray {
        let address = |buffer: &Option<AlignedBytes>| match buffer {
            // A buffer of no bytes has an address too, as Arrow wants it; nobody reads from it.
            Some(bytes) if bytes.len() == 0 => EMPTY.0.as_ptr().cast(),
            Some(bytes) => bytes.address(),
            None => null(),
        };
        let children = self.children.into_iter().map(|child| Box::into_raw(Box::new(child.into_raw())));
        let contents = Contents {
            addresses: self.buffers.iter().map(address).collect(),
            children: children.collect(),
            _owner: Owner::Buffers(self.buffers),
        };
        contents.into_raw(self.rows, self.nulls)
    }
}

impl Filled {
    /// The array, for whoever releases it. It and each of its children keep the owner of the buffers until they are
    /// released.
    pub(crate) fn export(self, owner: &Arc<dyn Any + Send + Sync>) -> OwnedArray {
        OwnedArray::made(self.into_raw(owner))
    }

    fn into_raw(self, owner: &Arc<dyn Any + Send + Sync>) -> ArrowArray {
        let children = self.children.into_iter().map(|child| Box::into_raw(Box::new(child.into_raw(owner))));
        let contents = Contents {
            addresses: self.buffers,
            children: children.collect(),
            _owner: Owner::Shared(Arc::clone(owner)),
        };
        contents.into_raw(self.rows, self.nulls)
    }
}

impl Contents {
    fn into_raw(self, rows: usize, nulls: usize) -> ArrowArray {
        let mut contents = Box::new(self);
        ArrowArray {
            length: rows as i64,
            null_count: nulls as i64,
            offset: 0,
            n_buffers: contents.addresses.len() as i64,
            n_children: contents.children.len() as i64,
            buffers: contents.addresses.as_mut_ptr(),
            children: contents.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release),
            private_data: Box::into_raw(contents).cast(),
        }
    }
}

static EMPTY: Line = Line([0; LINE]);

/// Frees an array that was made here.
///
/// # Safety
/// `array` is such an array, not released yet, and valid for reads and writes.
unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: only `into_raw` sets this callback, and `private_data` with it to a box of `Contents`; it is freed once,
    // as `release` is null afterwards. Each child is a box of `into_raw` too, whose contents may have been moved out or
    // released: then its `release` is null.
    unsafe {
        let contents = Box::from_raw((*array).private_data.cast::<Contents>());
        for child in &contents.children {
            let mut child = Box::from_raw(*child);
            if let Some(release) = child.release {
                release(&mut *child);
            }
        }
        (*array).release = None;
        (*array).private_data = null_mut();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_grow_with_zeros_and_are_aligned() {
        let mut bytes = AlignedBytes::default();
        bytes.extend(&[7; 70]).expect("memory");
        assert_eq!(bytes.grow(60).expect("memory"), [0; 60]);
        assert_eq!(bytes.len(), 130);
        assert_eq!(&bytes.as_mut_bytes()[..70], [7; 70]);
        assert_eq!(bytes.address().addr() % 64, 0);
        let refused = AlignedBytes::default().grow(usize::MAX / 2).map(|_| ()).map_err(|e| e.kind);
        assert_eq!(refused, Err(ErrorKind::NoMemory));
    }

    #[test]
    fn a_child_that_was_moved_out_outlives_its_parent() {
        let mut data = AlignedBytes::default();
        data.extend(&[1, 2, 3]).expect("memory");
        let child = Made { rows: 3, buffers: vec![None, Some(data)], ..Made::default() };
        let batch = Made { rows: 3, buffers: vec![None], children: vec![child, Made::default()], ..Made::default() };
        let batch = batch.export();
        // SAFETY: the batch has two children, which are valid.
        let child = unsafe { OwnedArray::take(*batch.array().children).expect("a child") };
        drop(batch);
        // SAFETY: the second buffer has three bytes until the child is dropped.
        let bytes = unsafe { std::slice::from_raw_parts((*child.array().buffers.add(1)).cast::<u8>(), 3) };
        assert_eq!(bytes, [1, 2, 3]);
    }
}
