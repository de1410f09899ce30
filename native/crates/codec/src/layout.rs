//! Which words of an `UnsafeRow` say where a variable-length value lies: the *predictor*.
//!
//! Spark's row writers append variable-length values in field order, each slot starting where the one
//! before ended, and put `offset << 32 | size` into the field's word. So the offset is known from the sizes
//! before it, and only sizes need storing. This module finds the fields for which that holds in *every* row
//! of a frame; the rest stay plain words, and bytes no field claims are the row's *tail*.
//!
//! Source: `UnsafeRowWriter` (Spark SQL catalyst): null fields have word 0; strings, binaries, arrays, maps
//! and structs round up to 8 bytes; decimals of more than 18 digits and intervals always take 16, null too.

use crate::bytes::round8;
use crate::scratch::clear_for;

/// What a field's word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Any 8 bytes.
    Word = 0,
    /// Offset and size of a slot of `size` bytes rounded up to 8; word 0 takes none.
    Var = 1,
    /// Offset and size of a slot of 16 bytes; word 0 takes none.
    Var16 = 2,
}

impl Kind {
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        [Self::Word, Self::Var, Self::Var16].into_iter().find(|k| *k as u8 == bits)
    }

    /// Bytes of the slot that `word` describes.
    #[inline(always)]
    pub(crate) fn slot_bytes(self, word: u64) -> u64 {
        let size = match self {
            Self::Word => 0,
            Self::Var => round8(word & 0xFFFF_FFFF),
            Self::Var16 => 16,
        };
        if word == 0 { 0 } else { size }
    }
}

/// Words before the fields: one bit a field.
pub fn bitset_words(fields: usize) -> usize {
    fields.div_ceil(64)
}

/// Whether so many rows of so many words are no more than `bytes` bytes.
pub(crate) fn words_fit(rows: usize, words: usize, bytes: usize) -> bool {
    words.checked_mul(8 * rows).is_some_and(|needed| needed <= bytes)
}

/// Room between the columns of a transposed frame: a multiple of 8 that is odd in cache lines, so that the
/// columns of one row do not compete for the same cache sets.
pub(crate) fn stride(rows: usize) -> usize {
    let lines = rows.div_ceil(8);
    (lines | 1) * 8
}

/// The transposed words of a frame: word `w` of row `i` is `words[w * stride + i]`.
pub(crate) struct Columns<'a> {
    pub words: &'a [u64],
    pub stride: usize,
    pub rows: usize,
}

impl<'a> Columns<'a> {
    pub(crate) fn column(&self, w: usize) -> &'a [u64] {
        &self.words[w * self.stride..w * self.stride + self.rows]
    }
}

/// Finds each field's kind. On return `ends[i]` is where row `i`'s predicted part ends.
pub(crate) fn predict(
    columns: &Columns<'_>,
    fields: usize,
    row_bytes: &[u64],
    kinds: &mut Vec<Kind>,
    ends: &mut Vec<u64>,
) {
    let first = bitset_words(fields);
    clear_for(kinds, fields);
    kinds.resize(fields, Kind::Word);
    clear_for(ends, columns.rows);
    ends.resize(columns.rows, (first + fields) as u64 * 8);
    if row_bytes.iter().all(|b| *b == ends[0]) {
        return;
    }
    for (field, found) in kinds.iter_mut().enumerate() {
        let column = columns.column(first + field);
        let Some(probe) = column.iter().position(|w| *w != 0) else {
            continue;
        };
        if column[probe] >> 32 != ends[probe] {
            continue;
        }
        let kind = likely_kind(columns, first + field, row_bytes, ends);
        if holds(kind, column, row_bytes, ends) {
            *found = kind;
            for (end, word) in ends.iter_mut().zip(column) {
                *end += kind.slot_bytes(*word);
            }
        }
    }
}

/// Does `kind` explain the word of every row?
fn holds(kind: Kind, column: &[u64], row_bytes: &[u64], ends: &[u64]) -> bool {
    let mut ok = true;
    for ((word, bytes), end) in column.iter().zip(row_bytes).zip(ends) {
        let fits = word >> 32 == *end && end + kind.slot_bytes(*word) <= *bytes;
        let small = kind == Kind::Var || (word & 0xFFFF_FFFF) <= 16;
        ok &= *word == 0 || (fits && small);
    }
    ok
}

/// `Var`, unless the first row in which the two kinds differ has its next value, or its end, 16 bytes on.
fn likely_kind(columns: &Columns<'_>, w: usize, row_bytes: &[u64], ends: &[u64]) -> Kind {
    let column = columns.column(w);
    let differs = |word: &u64| *word != 0 && Kind::Var.slot_bytes(*word) != 16;
    let Some(row) = column.iter().position(differs) else {
        return Kind::Var;
    };
    let near = ends[row] + Kind::Var.slot_bytes(column[row]);
    let far = ends[row] + 16;
    if column[row] & 0xFFFF_FFFF > 16 || far > row_bytes[row] {
        return Kind::Var;
    }
    let words = columns.words.len() / columns.stride;
    for later in w + 1..words {
        let offset = columns.column(later)[row] >> 32;
        if offset == near {
            return Kind::Var;
        }
        if offset == far {
            return Kind::Var16;
        }
    }
    if row_bytes[row] == far { Kind::Var16 } else { Kind::Var }
}
