//! The bytes of one variable-length field, or of the rows' tails, by column.
//!
//! ```text
//! var data = mode · body
//! WORDS 0: for each k in 0..longest slot / 8: column of word k of every slot that has one
//! TRIM  1: the values' bytes, one after another; the padding of each slot is zero
//! FULL  2: the slots' bytes, padding and all
//! a mode's high 4 bits are the general codec; if not 0: compressed length (u32) · compressed bytes
//! ```

use crate::bytes::Input;
use crate::column::{self, ColumnEncoder};
use crate::compress::Codec;
use crate::encode::{Level, Options};
use crate::error::{CodecError, Result};
use crate::kernels::Kernels;
use crate::portions::Portions;

const WORDS: u8 = 0;
const TRIM: u8 = 1;
const FULL: u8 = 2;

/// Slots no longer than this many words are stored as columns of words.
const MAX_WORDS: usize = 4;
/// Bytes that are compressed first, to see whether the rest is worth it.
const PROBE_BYTES: usize = 16 * 1024;

/// One slot: where it starts in its row, its length, and the value's length (at most the slot's).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    pub at: u32,
    pub slot: u32,
    pub size: u32,
}

/// Encodes var data; owns its scratch memory.
pub(crate) struct VarEncoder {
    words: [Vec<u64>; MAX_WORDS],
    bytes: Vec<u8>,
}

#[inline(always)]
fn load(row: &[u8], at: usize) -> u64 {
    match row[at..].first_chunk::<8>() {
        Some(b) => u64::from_le_bytes(*b),
        None => 0,
    }
}

impl VarEncoder {
    pub(crate) fn new() -> Self {
        Self { words: Default::default(), bytes: Vec::new() }
    }

    /// Appends the var data of one field; `slots[i]` lies inside row `i` and is a multiple of 8 long.
    pub(crate) fn encode(
        &mut self,
        rows: &Portions,
        slots: &[Slot],
        options: &Options,
        columns: &mut ColumnEncoder,
        out: &mut Vec<u8>,
    ) {
        let longest = slots.iter().map(|s| s.slot).max().unwrap_or(0) as usize;
        if longest <= MAX_WORDS * 8 {
            self.encode_words(rows, slots, columns, out);
        } else {
            self.encode_bytes(rows, slots, options, out);
        }
    }

    fn encode_words(&mut self, rows: &Portions, slots: &[Slot], columns: &mut ColumnEncoder, out: &mut Vec<u8>) {
        out.push(WORDS);
        let mut filled = [0usize; MAX_WORDS];
        for words in &mut self.words {
            words.resize(slots.len().max(words.len()), 0);
        }
        for (row, slot) in slots.iter().enumerate() {
            let bytes = rows.slice(row, slot.at, slot.slot);
            for ((word, column), n) in bytes.chunks_exact(8).zip(&mut self.words).zip(&mut filled) {
                column[*n] = load(word, 0);
                *n += 1;
            }
        }
        for (words, n) in self.words.iter().zip(filled).filter(|(_, n)| *n > 0) {
            columns.encode(&words[..n], out);
        }
    }

    fn encode_bytes(&mut self, rows: &Portions, slots: &[Slot], options: &Options, out: &mut Vec<u8>) {
        self.bytes.clear();
        let padded = slots.iter().enumerate().any(|(row, s)| !padding_is_zero(rows, row, s));
        for (row, s) in slots.iter().enumerate() {
            self.bytes.extend_from_slice(rows.slice(row, s.at, if padded { s.slot } else { s.size }));
        }
        put_bytes(if padded { FULL } else { TRIM }, &self.bytes, options, out);
    }
}

fn padding_is_zero(rows: &Portions, row: usize, s: &Slot) -> bool {
    rows.slice(row, s.at + s.size, s.slot - s.size).iter().all(|b| *b == 0)
}

fn put_bytes(mode: u8, bytes: &[u8], options: &Options, out: &mut Vec<u8>) {
    if worth_compressing(bytes, options, out) {
        let start = out.len();
        out.push(mode | (options.codec as u8) << 4);
        out.extend_from_slice(&[0; 4]);
        if options.codec.compress(bytes, out) && out.len() - start < bytes.len() {
            let compressed = (out.len() - start - 5) as u32;
            out[start + 1..start + 5].copy_from_slice(&compressed.to_le_bytes());
            return;
        }
        out.truncate(start);
    }
    out.push(mode);
    out.extend_from_slice(bytes);
}

/// Compresses the first bytes to see: at `Fast` a quarter must go, at `Small` a sixteenth.
fn worth_compressing(bytes: &[u8], options: &Options, scratch: &mut Vec<u8>) -> bool {
    if options.codec == Codec::None || bytes.len() < 64 {
        return false;
    }
    let probe = &bytes[..bytes.len().min(PROBE_BYTES)];
    let start = scratch.len();
    let done = options.codec.compress(probe, scratch);
    let got = scratch.len() - start;
    scratch.truncate(start);
    let most = match options.level {
        Level::Plain => 0,
        Level::Fast => probe.len() * 3 / 4,
        Level::Small => probe.len() * 15 / 16,
    };
    done && got <= most
}

/// Decodes var data into the slots; `slots[i].at` counts from the start of `target`, not of the row.
pub(crate) struct VarDecoder {
    column: Vec<u64>,
    bytes: Vec<u8>,
}

/// A slot of a frame being decoded: absolute position in the target.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub at: u32,
    pub slot: u32,
    pub size: u32,
}

impl VarDecoder {
    pub(crate) fn new() -> Self {
        Self { column: Vec::new(), bytes: Vec::new() }
    }

    /// Fills every slot of `target`; the places lie inside it and do not overlap.
    pub(crate) fn decode(
        &mut self,
        k: &Kernels,
        input: &mut Input<'_>,
        places: &[Place],
        target: &mut [u8],
    ) -> Result<()> {
        let mode = input.u8("var data mode")?;
        match mode & 0x0F {
            WORDS if mode == WORDS => self.decode_words(k, input, places, target),
            TRIM => self.decode_bytes(input, mode >> 4, places, |p| p.size, target),
            FULL => self.decode_bytes(input, mode >> 4, places, |p| p.slot, target),
            _ => Err(CodecError::new(format!("var data mode {mode:#04x}"))),
        }
    }

    fn decode_words(&mut self, k: &Kernels, input: &mut Input<'_>, places: &[Place], target: &mut [u8]) -> Result<()> {
        let (longest, any_bits) = places.iter().fold((0, 0), |(l, b), p| (p.slot.max(l), p.slot | b));
        let longest = longest as usize;
        // Words are written whole, so a slot that is no whole number of words would overlap what lies behind it.
        if longest > MAX_WORDS * 8 || any_bits % 8 != 0 {
            return Err(CodecError::new(format!(
                "slots stored as words must be multiples of 8 bytes, at most {}; the longest has {longest}",
                MAX_WORDS * 8
            )));
        }
        for at in (0..longest).step_by(8) {
            let n = places.iter().filter(|p| p.slot as usize > at).count();
            self.column.resize(n.next_multiple_of(8).max(self.column.len()), 0);
            column::decode(k, input, n, &mut self.column)?;
            let words = self.column[..n].iter();
            if n == places.len() {
                put_words(words.zip(places), at, target);
            } else {
                put_words(words.zip(places.iter().filter(|p| p.slot as usize > at)), at, target);
            }
        }
        Ok(())
    }

    fn decode_bytes(
        &mut self,
        input: &mut Input<'_>,
        codec: u8,
        places: &[Place],
        len: impl Fn(&Place) -> u32,
        target: &mut [u8],
    ) -> Result<()> {
        let total: usize = places.iter().map(|p| len(p) as usize).sum();
        let mut bytes = match Codec::from_id(codec) {
            Some(Codec::None) => input.take(total, "var bytes")?,
            Some(codec) => {
                let compressed = input.u32("compressed length")? as usize;
                let packed = input.take(compressed, "compressed bytes")?;
                self.bytes.resize(total.max(self.bytes.len()), 0);
                codec.decompress(packed, &mut self.bytes[..total])?;
                &self.bytes[..total]
            }
            None => return Err(CodecError::new(format!("unknown general codec {codec}"))),
        };
        for p in places {
            let (here, rest) = bytes.split_at(len(p) as usize);
            let slot = &mut target[p.at as usize..][..p.slot as usize];
            let (value, padding) = slot.split_at_mut(here.len());
            value.copy_from_slice(here);
            padding.fill(0);
            bytes = rest;
        }
        Ok(())
    }
}

/// Writes each word at `at` bytes into its slot, which is longer than that.
#[inline(always)]
fn put_words<'a>(words: impl Iterator<Item = (&'a u64, &'a Place)>, at: usize, target: &mut [u8]) {
    for (word, place) in words {
        let at = place.at as usize + at;
        target[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}

/// Appends the rows' tails (`sizes[i]` bytes from `ends[i]` on): a flag, and if any is not empty their sizes and bytes.
pub(crate) fn encode_tails(
    rows: &Portions,
    ends: &[u64],
    sizes: &[u64],
    options: &Options,
    columns: &mut ColumnEncoder,
    out: &mut Vec<u8>,
) {
    if sizes.iter().all(|s| *s == 0) {
        out.push(0);
        return;
    }
    out.push(1);
    columns.encode(sizes, out);
    let tails = ends.iter().zip(sizes).enumerate();
    let bytes: Vec<u8> = tails.flat_map(|(i, (end, n))| rows.slice(i, *end as u32, *n as u32)).copied().collect();
    put_bytes(FULL, &bytes, options, out);
}
