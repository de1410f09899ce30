//! Var data to slots.

use super::{FULL, MAX_WORDS, TRIM, WORDS};
use crate::bytes::{Input, low_bytes};
use crate::column;
use crate::compress::{Codec, Decompressor};
use crate::error::{CodecError, Result};
use crate::kernels::Kernels;
use crate::scratch::{at_least, scratch_of, try_at_least};

/// A slot of a row being decoded: where it starts in the target (not in its row), its length, and the value's length.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TargetSlot {
    pub at: u32,
    pub slot: u32,
    pub size: u32,
}

/// Decodes var data into the slots of the target; owns its scratch memory.
#[derive(Default)]
pub(crate) struct VarDecoder {
    column: Vec<u64>,
    bytes: Vec<u8>,
    decompressor: Decompressor,
}

scratch_of!(VarDecoder: column, bytes, decompressor);

impl VarDecoder {
    /// Fills every slot of `target`; the slots lie inside it and do not overlap.
    pub(crate) fn decode(
        &mut self,
        k: &Kernels,
        input: &mut Input<'_>,
        slots: &[TargetSlot],
        target: &mut [u8],
    ) -> Result<()> {
        let mode = input.u8("var data mode")?;
        match mode & 0x0F {
            WORDS if mode == WORDS => self.decode_words(k, input, slots, target),
            TRIM => self.decode_bytes(input, mode >> 4, slots, |s| s.size, target),
            FULL => self.decode_bytes(input, mode >> 4, slots, |s| s.slot, target),
            _ => Err(CodecError::new(format!("var data mode {mode:#04x}"))),
        }
    }

    fn decode_words(
        &mut self,
        k: &Kernels,
        input: &mut Input<'_>,
        slots: &[TargetSlot],
        target: &mut [u8],
    ) -> Result<()> {
        let (longest, any_bits) = slots.iter().fold((0, 0), |(l, b), s| (s.slot.max(l), s.slot | b));
        let longest = longest as usize;
        // Words are written whole, so a slot that is no whole number of words would overlap what lies behind it.
        if longest > MAX_WORDS * 8 || any_bits % 8 != 0 {
            return Err(CodecError::new(format!(
                "slots stored as words must be multiples of 8 bytes, at most {}; the longest has {longest}",
                MAX_WORDS * 8
            )));
        }
        for at in (0..longest).step_by(8) {
            let n = slots.iter().filter(|s| s.slot as usize > at).count();
            at_least(&mut self.column, n.next_multiple_of(8));
            column::decode(k, input, n, &mut self.column)?;
            let words = self.column[..n].iter();
            if n == slots.len() {
                put_words(words.zip(slots), at, target);
            } else {
                put_words(words.zip(slots.iter().filter(|s| s.slot as usize > at)), at, target);
            }
        }
        Ok(())
    }

    /// Decodes values of `sizes` bytes together back to back to the beginning of `target`, which is as long at least,
    /// if they are stored so; else false, and nothing is read.
    pub(crate) fn decode_trimmed(&mut self, input: &mut Input<'_>, sizes: usize, target: &mut [u8]) -> Result<bool> {
        if input.peek("var data mode")? & 0x0F != TRIM {
            return Ok(false);
        }
        let mode = input.u8("var data mode")?;
        let (codec, packed) = take_packed(input, mode >> 4, sizes)?;
        self.decompressor.decompress(codec, packed, &mut target[..sizes])?;
        Ok(true)
    }

    fn decode_bytes(
        &mut self,
        input: &mut Input<'_>,
        codec: u8,
        slots: &[TargetSlot],
        len: impl Fn(&TargetSlot) -> u32,
        target: &mut [u8],
    ) -> Result<()> {
        let total: usize = slots.iter().map(|s| len(s) as usize).sum();
        let bytes = match take_packed(input, codec, total)? {
            (Codec::None, bytes) => bytes,
            (codec, packed) => {
                try_at_least(&mut self.bytes, total)?;
                self.decompressor.decompress(codec, packed, &mut self.bytes[..total])?;
                &self.bytes[..total]
            }
        };
        let mut rest = bytes;
        for s in slots {
            let here = len(s) as usize;
            fill_slot(&mut target[s.at as usize..][..s.slot as usize], rest, here);
            rest = &rest[here..];
        }
        Ok(())
    }
}

/// What `total` bytes were packed to, and by which codec.
fn take_packed<'i>(input: &mut Input<'i>, codec: u8, total: usize) -> Result<(Codec, &'i [u8])> {
    match Codec::from_id(codec) {
        Some(Codec::None) => Ok((Codec::None, input.take(total, "var bytes")?)),
        Some(codec) => {
            let compressed = input.u32("compressed length")? as usize;
            Ok((codec, input.take(compressed, "compressed bytes")?))
        }
        None => Err(CodecError::new(format!("unknown general codec {codec}"))),
    }
}

/// Copies the first `bytes` bytes of `from` to the slot, whose other bytes become 0. The usual slot is filled by copies
/// of fixed numbers of bytes, which may overlap, and its last word, which is cut: a value's few bytes are not worth
/// calls.
#[inline(always)]
fn fill_slot(slot: &mut [u8], from: &[u8], bytes: usize) {
    let len = slot.len();
    let usual = len.is_multiple_of(8) && matches!(len, 8..=72) && bytes + 8 > len && len <= from.len();
    if !usual {
        let (value, padding) = slot.split_at_mut(bytes);
        value.copy_from_slice(&from[..bytes]);
        padding.fill(0);
        return;
    }
    let from = &from[..len];
    let last = len - 8;
    match len {
        8 => {}
        16 => copy_at::<8>(slot, from, 0),
        24..=40 => {
            copy_at::<16>(slot, from, 0);
            copy_at::<16>(slot, from, last - 16);
        }
        _ => {
            copy_at::<32>(slot, from, 0);
            copy_at::<32>(slot, from, last - 32);
        }
    }
    let cut = u64::from_le_bytes(from[last..].first_chunk().copied().unwrap_or_default()) & low_bytes(bytes - last);
    slot[last..].copy_from_slice(&cut.to_le_bytes());
}

#[inline(always)]
fn copy_at<const N: usize>(to: &mut [u8], from: &[u8], at: usize) {
    to[at..at + N].copy_from_slice(&from[at..at + N]);
}

/// Writes each word at `at` bytes into its slot, which is longer than that.
#[inline(always)]
fn put_words<'a>(words: impl Iterator<Item = (&'a u64, &'a TargetSlot)>, at: usize, target: &mut [u8]) {
    for (word, slot) in words {
        let at = slot.at as usize + at;
        target[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_every_length_have_their_value_and_zeros() {
        let from: Vec<u8> = (1..=200).collect();
        for len in (0..=96).step_by(8).chain([1, 13, 75]) {
            // A value may end in any byte of its slot, and be the last one of its frame or not.
            for (bytes, behind) in (0..=len).flat_map(|bytes| [(bytes, 0), (bytes, 3), (bytes, 100)]) {
                let mut slot = vec![0xEE; len];
                fill_slot(&mut slot, &from[..bytes + behind], bytes);
                assert_eq!(slot[..bytes], from[..bytes], "{bytes} bytes of {len}");
                assert!(slot[bytes..].iter().all(|byte| *byte == 0), "{bytes} bytes of {len}");
            }
        }
    }
}
