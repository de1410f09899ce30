//! The variable-length portions of a frame's rows, back to back: what a row has behind its fields' words.
//!
//! Rows lie far apart in memory. Gathering copies each one's variable-length portion while its cache lines are at
//! hand, so that the encoders of var data read sequentially and no row is fetched twice.

use crate::scratch::{clear_for, scratch_of};

/// The portions of the rows of one frame; scratch that is reused from frame to frame.
#[derive(Default)]
pub(crate) struct Portions {
    /// All portions, back to back; filled by [`crate::kernels::Kernels::gather`].
    pub bytes: Vec<u8>,
    starts: Vec<u32>,
    fixed: u32,
}

scratch_of!(Portions: bytes, starts);

impl Portions {
    /// Notes where each row's portion starts; `bytes` are filled, rows are `row_bytes` long, of which `fixed` are not
    /// here.
    pub(crate) fn index(&mut self, row_bytes: &[u64], fixed: usize) {
        self.fixed = fixed as u32;
        clear_for(&mut self.starts, row_bytes.len());
        let mut at = 0;
        self.starts.extend(row_bytes.iter().map(|bytes| {
            let start = at;
            at += (*bytes - fixed as u64) as u32;
            start
        }));
    }

    /// Writes a value of row `row` at `at` bytes from the row's start.
    pub(crate) fn put(&mut self, row: usize, at: u32, value: &[u8]) {
        let start = (self.starts[row] + (at - self.fixed)) as usize;
        self.bytes[start..start + value.len()].copy_from_slice(value);
    }

    /// `len` bytes of row `row` at `at` bytes from the row's start; nothing if `len` is 0, wherever that is.
    #[inline(always)]
    pub(crate) fn slice(&self, row: usize, at: u32, len: u32) -> &[u8] {
        if len == 0 {
            return &[];
        }
        let start = (self.starts[row] + (at - self.fixed)) as usize;
        &self.bytes[start..start + len as usize]
    }
}
