//! Rows whose fields lie in columns, to the frames that the same rows would give as `UnsafeRow`s.
//!
//! An encoder of rows begins by transposing them; rows in columns are transposed already. What follows is the same
//! code on the same words, so the frames are the same bytes, cut at the same rows:
//!
//! ```text
//! rows     ─ gather ─▶ words, portions ─┐
//!                                       ├─▶ predict ─▶ columns of words, var data ─▶ frame
//! columns  ─ put_words ─▶ words ────────┘               (of values where they lie)
//! ```
//!
//! Var data is made from the values in the columns. Rows are laid out only in plain frames, and where the predictor
//! takes a field for something that it is not (numbers that look like offsets).

use std::ops::Range;

use crate::bytes::round8;
use crate::encode::{Encoder, FRAME_ROWS, frame_rows};
use crate::layout::{Columns, Kind, bitset_words, predict, stride};
use crate::options::Level;
use crate::scratch::{Scratch, at_least, clear_for};
use crate::vardata::Values;

/// Lengths of so many rows are asked for at a time: those of a few frames.
const MEASURED_ROWS: usize = 4 * FRAME_ROWS;

/// What a field's values take behind the words of their row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// Nothing: the value is in the field's word.
    None,
    /// The value's bytes, rounded up to 8; a null takes none, and its word is 0.
    Rounded,
    /// Always 16 bytes, null or not.
    Sixteen,
}

impl Slots {
    /// Bytes of the slot of the value with this word.
    #[inline(always)]
    pub fn bytes(self, word: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Rounded => round8(word & 0xFFFF_FFFF),
            Self::Sixteen => 16,
        }
    }
}

/// Rows whose fields lie in columns. An encoder trusts what it is told here as far as the frames go; it does nothing
/// worse than to panic, whatever that is.
pub trait ColumnRows {
    /// How many there are.
    fn rows(&self) -> usize;

    /// Fields of each row, at most [`crate::MAX_FIELDS`].
    fn fields(&self) -> u32;

    /// What this field's values take behind the words.
    fn slots(&self, field: usize) -> Slots;

    /// Adds to `lengths[i]` what all values of row `rows.start + i` take behind its words. A row's length stays below
    /// 2^31.
    fn add_slot_bytes(&self, rows: Range<usize>, lengths: &mut [u64]);

    /// Writes the words of rows, those of null bits first: word `w` of row `rows.start + i` to `words[w * stride + i]`.
    ///
    /// `ends[i]` comes as the length of a row's words. A value with a slot begins at `ends[i]`, which its slot then
    /// moves, so that at last it is the row's length.
    fn put_words(&self, rows: Range<usize>, stride: usize, words: &mut [u64], ends: &mut [u64]);

    /// Calls `each` with `i` and the value for every row `rows.start + i` in which this field has a slot, in order. The
    /// bytes of the slot behind the value are zeros.
    fn for_each_value(&self, field: usize, rows: Range<usize>, each: impl FnMut(usize, &[u8]));
}

impl Encoder {
    /// Encodes all rows of `source`, in order, handing each finished frame to `sink`: the frames that
    /// [`Encoder::encode`] makes of the same rows.
    ///
    /// # Errors
    /// Only those of `sink`; what was handed over before stays valid.
    pub fn encode_columns<C: ColumnRows, E>(
        &mut self,
        source: &C,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = Ok(());
        let (mut at, mut measured) = (0, 0..0);
        while at < source.rows() && done.is_ok() {
            let left = source.rows() - at;
            if measured.len() < left.min(FRAME_ROWS) {
                measured = 0..left.min(MEASURED_ROWS);
                self.measure(source, at..at + measured.end);
            }
            let lengths = &self.lengths[measured.clone()];
            let n = frame_rows(left, |i| lengths[i] as usize);
            self.make_frame_of_columns(source, at..at + n);
            done = sink(&self.frame);
            at += n;
            measured.start += n;
        }
        self.keep_within_limit();
        done
    }

    fn measure<C: ColumnRows>(&mut self, source: &C, rows: Range<usize>) {
        clear_for(&mut self.lengths, rows.len());
        self.lengths.resize(rows.len(), words_of(source) as u64 * 8);
        source.add_slot_bytes(rows, &mut self.lengths);
    }

    fn make_frame_of_columns<C: ColumnRows>(&mut self, source: &C, rows: Range<usize>) {
        let (words, stride) = (words_of(source), stride(rows.len()));
        at_least(&mut self.words, words * stride);
        clear_for(&mut self.row_bytes, rows.len());
        self.row_bytes.resize(rows.len(), words as u64 * 8);
        source.put_words(rows.clone(), stride, &mut self.words[..words * stride], &mut self.row_bytes);
        let decoded = self.row_bytes.iter().sum::<u64>() as usize;
        self.begin_frame(decoded, rows.len(), words);
        let columnar = self.options.level != Level::Plain;
        if columnar {
            self.put_columnar_of_columns(source, rows.clone(), stride);
        }
        let keep = columnar && self.is_smaller_than_plain(decoded, rows.len());
        if !keep {
            self.lay_out(source, rows.clone(), stride);
            self.put_plain_of_words(words, stride, rows.len());
        }
        self.finish_frame(keep, rows.len(), source.fields(), decoded);
    }

    fn put_columnar_of_columns<C: ColumnRows>(&mut self, source: &C, rows: Range<usize>, stride: usize) {
        let fields = source.fields() as usize;
        let transposed = Columns { words: &self.words[..words_of(source) * stride], stride, rows: rows.len() };
        predict(&transposed, fields, &self.row_bytes, &mut self.kinds, &mut self.ends);
        if !predicts(&self.kinds, source, &transposed) {
            self.lay_out(source, rows.clone(), stride);
            return self.put_columns(fields, stride, rows.len());
        }
        self.put_word_columns(fields, stride, rows.len());
        // No row has a tail: all its slots are predicted.
        self.frame.push(0);
        let first = bitset_words(fields);
        for (field, kind) in self.kinds.iter().enumerate().filter(|(_, k)| **k != Kind::Word) {
            let words = &self.words[(first + field) * stride..][..rows.len()];
            let values = FieldValues { source, field, rows: rows.clone() };
            let (columns, out) = (&mut self.columns, &mut self.frame);
            self.var.encode_values(words, *kind, &values, &self.options, columns, out);
        }
    }

    /// Lays out what rows have behind their words, which are put.
    fn lay_out<C: ColumnRows>(&mut self, source: &C, rows: Range<usize>, stride: usize) {
        let (fields, fixed) = (source.fields() as usize, words_of(source) * 8);
        let total = self.row_bytes.iter().sum::<u64>() as usize - rows.len() * fixed;
        clear_for(&mut self.portions.bytes, total);
        self.portions.bytes.resize(total, 0);
        self.portions.index(&self.row_bytes, fixed);
        for field in (0..fields).filter(|f| source.slots(*f) != Slots::None) {
            let words = &self.words[(bitset_words(fields) + field) * stride..][..rows.len()];
            source.for_each_value(field, rows.clone(), |i, value| {
                self.portions.put(i, (words[i] >> 32) as u32, value);
            });
        }
    }

    fn put_plain_of_words(&mut self, words: usize, stride: usize, rows: usize) {
        self.begin_plain();
        for bytes in &self.row_bytes {
            self.frame.extend_from_slice(&(*bytes as u32).to_le_bytes());
        }
        for i in 0..rows {
            for w in 0..words {
                self.frame.extend_from_slice(&self.words[w * stride + i].to_le_bytes());
            }
            let fixed = words as u32 * 8;
            self.frame.extend_from_slice(self.portions.slice(i, fixed, self.row_bytes[i] as u32 - fixed));
        }
    }
}

/// The values of one field of some rows.
struct FieldValues<'s, C> {
    source: &'s C,
    field: usize,
    rows: Range<usize>,
}

impl<C: ColumnRows> Values for FieldValues<'_, C> {
    fn for_each(&self, each: impl FnMut(usize, &[u8])) {
        self.source.for_each_value(self.field, self.rows.clone(), each);
    }
}

/// Whether the predicted kinds give each value the slot that it has.
fn predicts<C: ColumnRows>(kinds: &[Kind], source: &C, columns: &Columns<'_>) -> bool {
    let first = bitset_words(kinds.len());
    kinds.iter().enumerate().all(|(field, kind)| match (source.slots(field), kind) {
        (Slots::None, Kind::Word) | (Slots::Rounded, Kind::Var) => true,
        (Slots::None, _) => false,
        (slots, kind) => columns.column(first + field).iter().all(|word| slots.bytes(*word) == kind.slot_bytes(*word)),
    })
}

fn words_of<C: ColumnRows>(source: &C) -> usize {
    let fields = source.fields() as usize;
    bitset_words(fields) + fields
}
