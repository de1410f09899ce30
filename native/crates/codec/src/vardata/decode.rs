//! Var data to slots.

use super::{FULL, MAX_WORDS, TRIM, WORDS};
use crate::bytes::Input;
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

    fn decode_bytes(
        &mut self,
        input: &mut Input<'_>,
        codec: u8,
        slots: &[TargetSlot],
        len: impl Fn(&TargetSlot) -> u32,
        target: &mut [u8],
    ) -> Result<()> {
        let total: usize = slots.iter().map(|s| len(s) as usize).sum();
        let mut bytes = match Codec::from_id(codec) {
            Some(Codec::None) => input.take(total, "var bytes")?,
            Some(codec) => {
                let compressed = input.u32("compressed length")? as usize;
                let packed = input.take(compressed, "compressed bytes")?;
                try_at_least(&mut self.bytes, total)?;
                self.decompressor.decompress(codec, packed, &mut self.bytes[..total])?;
                &self.bytes[..total]
            }
            None => return Err(CodecError::new(format!("unknown general codec {codec}"))),
        };
        for s in slots {
            let (here, rest) = bytes.split_at(len(s) as usize);
            let room = &mut target[s.at as usize..][..s.slot as usize];
            let (value, padding) = room.split_at_mut(here.len());
            value.copy_from_slice(here);
            padding.fill(0);
            bytes = rest;
        }
        Ok(())
    }
}

/// Writes each word at `at` bytes into its slot, which is longer than that.
#[inline(always)]
fn put_words<'a>(words: impl Iterator<Item = (&'a u64, &'a TargetSlot)>, at: usize, target: &mut [u8]) {
    for (word, slot) in words {
        let at = slot.at as usize + at;
        target[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}
