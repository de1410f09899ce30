//! Checked reading of untrusted bytes, and raw little-endian words.

use crate::error::{CodecError, Result};

/// A cursor over a payload; every read is bounds-checked.
pub(crate) struct Input<'a> {
    rest: &'a [u8],
    total: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, total: bytes.len() }
    }

    pub(crate) fn take(&mut self, bytes: usize, what: &'static str) -> Result<&'a [u8]> {
        if bytes > self.rest.len() {
            return Err(CodecError::new(format!(
                "payload ends inside {what}: {bytes} bytes wanted at {}, {} left",
                self.total - self.rest.len(),
                self.rest.len()
            )));
        }
        let (head, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8> {
        Ok(self.take(1, what)?[0])
    }

    /// The next byte, not consumed.
    pub(crate) fn peek(&self, what: &'static str) -> Result<u8> {
        self.rest.first().copied().ok_or_else(|| CodecError::new(format!("payload ends inside {what}")))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32> {
        let b = self.take(4, what)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A u64 stored in its `bytes` (0 to 8) low bytes.
    #[inline]
    pub(crate) fn short_u64(&mut self, bytes: usize, what: &'static str) -> Result<u64> {
        let from_here = self.rest;
        let stored = self.take(bytes, what)?;
        Ok(match from_here.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight) & low_bytes(bytes),
            None => stored.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        })
    }

    /// Like [`Input::take`], but the slice goes on to the payload's end: what follows may be looked at.
    #[inline]
    pub(crate) fn take_and_rest(&mut self, bytes: usize, what: &'static str) -> Result<&'a [u8]> {
        let from_here = self.rest;
        self.take(bytes, what)?;
        Ok(from_here)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }
}

/// Number of low bytes that hold all of `value`.
pub(crate) fn short_len(value: u64) -> usize {
    (64 - value.leading_zeros() as usize).div_ceil(8)
}

/// Appends the `bytes` low bytes of `value`.
#[inline]
pub(crate) fn put_short(out: &mut Vec<u8>, value: u64, bytes: usize) {
    let end = out.len() + bytes;
    // Eight bytes are one store; fewer would be a call.
    out.extend_from_slice(&value.to_le_bytes());
    out.truncate(end);
}

/// A mask of the `bytes` low bytes, of all 8 if there are more.
#[inline(always)]
pub(crate) fn low_bytes(bytes: usize) -> u64 {
    if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
}

/// `bytes` rounded up to whole 8-byte words.
#[inline(always)]
pub(crate) fn round8(bytes: u64) -> u64 {
    (bytes + 7) & !7
}
