//! A column of a batch, checked, and what rows take from it.

use sluice_codec::Slots;

use crate::bits::Bits;
use crate::buffer::Buffer;
use crate::format::{Layout, Type};
use crate::import::width;
use crate::rows::RowId;

/// A column whose every value can be read: row `i` of the batch is value `i`.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) ty: Type,
    pub(crate) rows: usize,
    /// None if no value is null.
    pub(crate) valid: Option<Bits>,
    pub(crate) values: Values,
}

/// The values, as they lie. Of a null nothing is promised, but that reading it stays inside the buffers; a view of a
/// null is not read.
#[derive(Debug)]
pub(crate) enum Values {
    /// Only nulls.
    Null,
    Bits(Bits),
    /// Values of 1, 2, 4 or 8 bytes, which are the low bytes of their word, the others being 0.
    Fixed {
        width: usize,
        data: Buffer,
    },
    /// Words of rows.
    Words(Vec<u64>),
    /// Decimals of 16 bytes.
    WideDecimals(Buffer),
    /// Intervals as rows have them: months, days, microseconds.
    Intervals(Buffer),
    /// Value `i` is from offset `i` to offset `i + 1`.
    Offsets32 {
        offsets: Buffer,
        data: Buffer,
    },
    Offsets64 {
        offsets: Buffer,
        data: Buffer,
    },
    /// Length, and either the bytes, at most 12, or four of them, the number of a buffer and a position in it.
    Views {
        views: Buffer,
        buffers: Vec<Buffer>,
    },
    FixedBytes {
        width: usize,
        data: Buffer,
    },
    /// Position and length of each value.
    Spans {
        spans: Vec<(usize, usize)>,
        data: Buffer,
    },
}

/// The longest value that a view contains.
pub(crate) const INLINE_BYTES: usize = 12;
/// Bytes of an interval or a wide decimal.
pub(crate) const SIXTEEN: usize = 16;

/// Some rows of one batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Picks<'r> {
    /// So many that follow each other, from this one on.
    Range(usize, usize),
    Ids(&'r [RowId]),
}

impl<'r> Picks<'r> {
    /// The rows of these ids, which are all of one batch.
    pub(crate) fn of(ids: &'r [RowId]) -> Self {
        match ids {
            [first, ..] if ids.windows(2).all(|two| two[0].row.wrapping_add(1) == two[1].row) => {
                Self::Range(first.row as usize, ids.len())
            }
            _ => Self::Ids(ids),
        }
    }

    #[inline(always)]
    pub(crate) fn each(self, mut f: impl FnMut(usize, usize)) {
        match self {
            Self::Range(first, len) => (0..len).for_each(|i| f(i, first + i)),
            Self::Ids(ids) => ids.iter().enumerate().for_each(|(i, id)| f(i, id.row as usize)),
        }
    }
}

/// Where the words of some rows go.
pub(crate) struct Words<'w> {
    /// The field's.
    pub(crate) field: &'w mut [u64],
    /// Those with the field's null bit.
    pub(crate) nulls: &'w mut [u64],
    /// Which bit that is.
    pub(crate) bit: usize,
    /// Where each row's next slot begins.
    pub(crate) ends: &'w mut [u64],
}

#[inline(always)]
fn widen<const N: usize>(value: &[u8; N]) -> u64 {
    let mut word = [0; 8];
    word[..N].copy_from_slice(value);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn fill<const N: usize>(values: &[[u8; N]], rows: Picks<'_>, out: &mut [u64]) {
    match rows {
        Picks::Range(first, len) => {
            out.iter_mut().zip(&values[first..first + len]).for_each(|(o, v)| *o = widen(v));
        }
        Picks::Ids(ids) => out.iter_mut().zip(ids).for_each(|(o, id)| *o = widen(&values[id.row as usize])),
    }
}

#[inline(always)]
fn scatter<T>(values: &[T], word: impl Fn(&T) -> u64, rows: Picks<'_>, places: &[u32], to: &mut [u64]) {
    match rows {
        Picks::Range(first, len) => {
            let values = &values[first..first + len];
            values.iter().zip(places).for_each(|(value, place)| to[*place as usize] = word(value));
        }
        Picks::Ids(ids) => {
            let values = ids.iter().map(|id| &values[id.row as usize]);
            values.zip(places).for_each(|(value, place)| to[*place as usize] = word(value));
        }
    }
}

#[inline(always)]
fn round8(bytes: usize) -> u64 {
    bytes.next_multiple_of(8) as u64
}

/// Bytes of a decimal's unscaled value as Java writes it, without those at the front that only repeat the sign.
#[inline(always)]
pub(crate) fn decimal_len(value: i128) -> usize {
    let sign_bits = if value < 0 { (!value).leading_zeros() } else { value.leading_zeros() };
    (128 - sign_bits as usize) / 8 + 1
}

#[inline(always)]
fn offset32(offsets: &[[u8; 4]], row: usize) -> usize {
    u32::from_le_bytes(offsets[row]) as usize
}

fn span(from: usize, until: usize) -> (usize, usize) {
    (from, until - from)
}

#[inline(always)]
fn offset64(offsets: &[[u8; 8]], row: usize) -> usize {
    u64::from_le_bytes(offsets[row]) as usize
}

/// The length that a view says.
#[inline(always)]
pub(crate) fn view_len(view: &[u8; 16]) -> usize {
    u32::from_le_bytes([view[0], view[1], view[2], view[3]]) as usize
}

/// The buffer and the position in it that a view of a long value says.
#[inline(always)]
pub(crate) fn view_place(view: &[u8; 16]) -> (usize, usize) {
    let number = |at: usize| u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
    (number(8), number(12))
}

#[inline(always)]
fn viewed<'v>(view: &'v [u8; 16], buffers: &'v [Buffer]) -> &'v [u8] {
    let len = view_len(view);
    if len <= INLINE_BYTES {
        return &view[4..4 + len];
    }
    let (buffer, at) = view_place(view);
    &buffers[buffer][at..at + len]
}

impl Column {
    #[inline(always)]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        match &self.valid {
            Some(valid) => valid.get(row),
            None => !matches!(self.values, Values::Null),
        }
    }

    /// Calls `f` with the place, the row and whether its value is none for all `rows`.
    #[inline(always)]
    fn each_valid(&self, rows: Picks<'_>, mut f: impl FnMut(usize, usize, bool)) {
        match &self.valid {
            None => rows.each(|i, row| f(i, row, true)),
            Some(valid) => rows.each(|i, row| f(i, row, valid.get(row))),
        }
    }

    /// Whether a value is null.
    pub(crate) fn has_nulls(&self) -> bool {
        self.valid.is_some() || matches!(self.values, Values::Null)
    }

    pub(crate) fn slots(&self) -> Slots {
        match &self.values {
            Values::Null | Values::Bits(_) | Values::Fixed { .. } | Values::Words(_) => Slots::None,
            Values::WideDecimals(_) | Values::Intervals(_) => Slots::Sixteen,
            _ => Slots::Rounded,
        }
    }

    /// The word of a value that is not null and has no slot.
    #[inline(always)]
    pub(crate) fn word(&self, row: usize) -> u64 {
        match &self.values {
            Values::Bits(bits) => u64::from(bits.get(row)),
            Values::Fixed { width: 1, data } => widen(&data.values::<1>()[row]),
            Values::Fixed { width: 2, data } => widen(&data.values::<2>()[row]),
            Values::Fixed { width: 4, data } => widen(&data.values::<4>()[row]),
            Values::Fixed { data, .. } => widen(&data.values::<8>()[row]),
            Values::Words(words) => words[row],
            _ => 0,
        }
    }

    /// The decimal in this row; 0 if the column has none of 16 bytes.
    #[inline(always)]
    pub(crate) fn wide_decimal(&self, row: usize) -> i128 {
        match &self.values {
            Values::WideDecimals(data) => i128::from_le_bytes(data.values()[row]),
            _ => 0,
        }
    }

    /// The bytes of a value of variable length that is not null; none if the column has no such values.
    #[inline(always)]
    pub(crate) fn bytes(&self, row: usize) -> &[u8] {
        match &self.values {
            Values::Offsets32 { offsets, data } => {
                let offsets = offsets.values();
                &data[offset32(offsets, row)..offset32(offsets, row + 1)]
            }
            Values::Offsets64 { offsets, data } => {
                let offsets = offsets.values();
                &data[offset64(offsets, row)..offset64(offsets, row + 1)]
            }
            Values::Views { views, buffers } => viewed(&views.values()[row], buffers),
            Values::FixedBytes { width, data } => &data[row * width..(row + 1) * width],
            Values::Spans { spans, data } => &data[spans[row].0..][..spans[row].1],
            _ => &[],
        }
    }

    /// See `Batch::value_bytes`.
    pub(crate) fn value_bytes(&self) -> u64 {
        let bits = self.rows.div_ceil(8);
        let values = match self.ty {
            Type::Null => 0,
            Type::Boolean => bits,
            Type::FixedBinary(width) => self.rows * width as usize,
            Type::Utf8(Layout::Offsets32) | Type::Binary(Layout::Offsets32) => 4 * (self.rows + 1) + self.lens(0),
            Type::Utf8(Layout::Offsets64) | Type::Binary(Layout::Offsets64) => 8 * (self.rows + 1) + self.lens(0),
            Type::Utf8(Layout::Views) | Type::Binary(Layout::Views) => 16 * self.rows + self.lens(INLINE_BYTES),
            ty => self.rows * width(ty),
        };
        let valid = if self.valid.is_some() { bits } else { 0 };
        values as u64 + valid as u64
    }

    /// The bytes of all values of variable length that are longer than `above`.
    fn lens(&self, above: usize) -> usize {
        let mut sum = 0;
        self.each_len(Picks::Range(0, self.rows), |_, len| sum += len.filter(|len| *len > above).unwrap_or(0));
        sum
    }

    /// Position and length of a value that lies in one buffer with the others.
    pub(crate) fn span(&self, row: usize) -> (usize, usize) {
        match &self.values {
            Values::Offsets32 { offsets, .. } => {
                span(offset32(offsets.values(), row), offset32(offsets.values(), row + 1))
            }
            Values::Offsets64 { offsets, .. } => {
                span(offset64(offsets.values(), row), offset64(offsets.values(), row + 1))
            }
            Values::FixedBytes { width, .. } => (row * width, *width),
            Values::Spans { spans, .. } => spans[row],
            _ => (0, 0),
        }
    }

    /// That buffer.
    pub(crate) fn into_data(self) -> Buffer {
        match self.values {
            Values::Offsets32 { data, .. }
            | Values::Offsets64 { data, .. }
            | Values::FixedBytes { data, .. }
            | Values::Spans { data, .. } => data,
            _ => Buffer::empty(),
        }
    }

    /// Calls `f` with the place and the length of each value of variable length, none for nulls.
    #[inline(always)]
    fn each_len(&self, rows: Picks<'_>, mut f: impl FnMut(usize, Option<usize>)) {
        match &self.values {
            Values::Offsets32 { offsets, .. } => {
                let offsets = offsets.values();
                self.each_valid(rows, |i, row, valid| {
                    f(i, valid.then(|| offset32(offsets, row + 1) - offset32(offsets, row)));
                });
            }
            Values::Offsets64 { offsets, .. } => {
                let offsets = offsets.values();
                self.each_valid(rows, |i, row, valid| {
                    f(i, valid.then(|| offset64(offsets, row + 1) - offset64(offsets, row)));
                });
            }
            Values::Views { views, .. } => {
                let views = views.values();
                self.each_valid(rows, |i, row, valid| f(i, valid.then(|| view_len(&views[row]))));
            }
            Values::FixedBytes { width, .. } => self.each_valid(rows, |i, _, valid| f(i, valid.then_some(*width))),
            Values::Spans { spans, .. } => self.each_valid(rows, |i, row, valid| f(i, valid.then(|| spans[row].1))),
            _ => {}
        }
    }

    /// The lengths of values that follow each other by offsets of 32 bits, none of them null: most strings, in loops
    /// that the compiler makes ones over registers of several values.
    #[inline(always)]
    fn successive_lens(&self, rows: Picks<'_>) -> Option<impl Iterator<Item = u32>> {
        let (Values::Offsets32 { offsets, .. }, Picks::Range(first, len), None) = (&self.values, rows, &self.valid)
        else {
            return None;
        };
        let offsets = &offsets.values::<4>()[first..first + len + 1];
        let number = |offset: &[u8; 4]| u32::from_le_bytes(*offset);
        Some(offsets.iter().zip(&offsets[1..]).map(move |(from, until)| number(until) - number(from)))
    }

    /// Those values.
    #[inline(always)]
    pub(crate) fn successive_values(&self, rows: Picks<'_>) -> Option<impl Iterator<Item = &[u8]>> {
        let (Values::Offsets32 { offsets, data }, Picks::Range(first, len), None) = (&self.values, rows, &self.valid)
        else {
            return None;
        };
        let offsets = &offsets.values::<4>()[first..first + len + 1];
        let number = |offset: &[u8; 4]| u32::from_le_bytes(*offset) as usize;
        Some(offsets.iter().zip(&offsets[1..]).map(move |(from, until)| &data[number(from)..number(until)]))
    }

    /// Adds what each row's value takes behind the words.
    pub(crate) fn add_slot_bytes(&self, rows: Picks<'_>, lengths: &mut [u64]) {
        match self.slots() {
            Slots::None => {}
            Slots::Sixteen => lengths.iter_mut().for_each(|bytes| *bytes += SIXTEEN as u64),
            Slots::Rounded => match self.successive_lens(rows) {
                Some(lens) => lengths.iter_mut().zip(lens).for_each(|(bytes, len)| *bytes += round8(len as usize)),
                None => self.each_len(rows, |i, len| lengths[i] += round8(len.unwrap_or(0))),
            },
        }
    }

    /// Writes the word of each of these rows to its place in `to`, if none of the column's values is null or has a
    /// slot; false if that is not so.
    pub(crate) fn scatter_words(&self, rows: Picks<'_>, places: &[u32], to: &mut [u64]) -> bool {
        match &self.values {
            _ if self.valid.is_some() => return false,
            Values::Bits(bits) => rows.each(|i, row| to[places[i] as usize] = u64::from(bits.get(row))),
            Values::Fixed { width: 1, data } => scatter(data.values::<1>(), widen, rows, places, to),
            Values::Fixed { width: 2, data } => scatter(data.values::<2>(), widen, rows, places, to),
            Values::Fixed { width: 4, data } => scatter(data.values::<4>(), widen, rows, places, to),
            Values::Fixed { data, .. } => scatter(data.values::<8>(), widen, rows, places, to),
            Values::Words(words) => scatter(words, |word| *word, rows, places, to),
            _ => return false,
        }
        true
    }

    /// Writes the words of rows and their null bits.
    pub(crate) fn put_words(&self, rows: Picks<'_>, to: Words<'_>) {
        let Words { field, nulls, bit, ends } = to;
        match &self.values {
            Values::Null => {
                field.fill(0);
                nulls.iter_mut().for_each(|bits| *bits |= 1 << bit);
                return;
            }
            Values::Bits(bits) => rows.each(|i, row| field[i] = u64::from(bits.get(row))),
            Values::Fixed { width: 1, data } => fill(data.values::<1>(), rows, field),
            Values::Fixed { width: 2, data } => fill(data.values::<2>(), rows, field),
            Values::Fixed { width: 4, data } => fill(data.values::<4>(), rows, field),
            Values::Fixed { data, .. } => fill(data.values::<8>(), rows, field),
            Values::Words(words) => match rows {
                Picks::Range(first, len) => field.copy_from_slice(&words[first..first + len]),
                Picks::Ids(ids) => field.iter_mut().zip(ids).for_each(|(o, id)| *o = words[id.row as usize]),
            },
            Values::WideDecimals(data) => {
                let values = data.values();
                self.put_sixteen(rows, field, ends, 0, |row| decimal_len(i128::from_le_bytes(values[row])) as u64);
            }
            // Spark's writer gives an interval that is null the size of one that is not.
            Values::Intervals(_) => self.put_sixteen(rows, field, ends, SIXTEEN as u64, |_| SIXTEEN as u64),
            _ => match self.successive_lens(rows) {
                Some(lens) => field.iter_mut().zip(ends).zip(lens).for_each(|((field, end), len)| {
                    *field = *end << 32 | u64::from(len);
                    *end += round8(len as usize);
                }),
                None => self.each_len(rows, |i, len| {
                    field[i] = len.map_or(0, |len| ends[i] << 32 | len as u64);
                    ends[i] += round8(len.unwrap_or(0));
                }),
            },
        }
        if let Some(valid) = &self.valid {
            let keeps_word = self.slots() != Slots::None;
            rows.each(|i, row| {
                let null = u64::from(!valid.get(row));
                nulls[i] |= null << bit;
                if !keeps_word {
                    field[i] &= null.wrapping_sub(1);
                }
            });
        }
    }

    #[inline(always)]
    fn put_sixteen(
        &self,
        rows: Picks<'_>,
        field: &mut [u64],
        ends: &mut [u64],
        null_size: u64,
        size: impl Fn(usize) -> u64,
    ) {
        self.each_valid(rows, |i, row, valid| {
            field[i] = ends[i] << 32 | if valid { size(row) } else { null_size };
            ends[i] += SIXTEEN as u64;
        });
    }

    /// Calls `f` with the place and the value of each row that has a slot; a null that has one is empty.
    #[inline(always)]
    pub(crate) fn for_each_value(&self, rows: Picks<'_>, mut f: impl FnMut(usize, &[u8])) {
        match &self.values {
            Values::WideDecimals(data) => {
                let values = data.values();
                self.each_valid(rows, |i, row, valid| {
                    let value = i128::from_le_bytes(values[row]);
                    let bytes = value.to_be_bytes();
                    f(i, if valid { &bytes[SIXTEEN - decimal_len(value)..] } else { &[] });
                });
            }
            Values::Intervals(data) => {
                let values: &[[u8; SIXTEEN]] = data.values();
                self.each_valid(rows, |i, row, valid| f(i, if valid { &values[row] } else { &[] }));
            }
            Values::Offsets32 { offsets, data } => {
                let offsets = offsets.values();
                self.each_some(rows, |i, row| f(i, &data[offset32(offsets, row)..offset32(offsets, row + 1)]));
            }
            Values::Offsets64 { offsets, data } => {
                let offsets = offsets.values();
                self.each_some(rows, |i, row| f(i, &data[offset64(offsets, row)..offset64(offsets, row + 1)]));
            }
            Values::Views { views, buffers } => {
                let views = views.values();
                self.each_some(rows, |i, row| f(i, viewed(&views[row], buffers)));
            }
            Values::FixedBytes { .. } | Values::Spans { .. } => self.each_some(rows, |i, row| f(i, self.bytes(row))),
            Values::Null | Values::Bits(_) | Values::Fixed { .. } | Values::Words(_) => {}
        }
    }

    /// Calls `f` with the place and the row of each value that is not null.
    #[inline(always)]
    fn each_some(&self, rows: Picks<'_>, mut f: impl FnMut(usize, usize)) {
        self.each_valid(rows, |i, row, valid| {
            if valid {
                f(i, row);
            }
        });
    }

    /// The longest value of variable length.
    pub(crate) fn longest(&self) -> usize {
        let mut longest = 0;
        self.each_len(Picks::Range(0, self.rows), |_, len| longest = longest.max(len.unwrap_or(0)));
        if self.slots() == Slots::Sixteen { SIXTEEN } else { longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_the_bytes_of_javas_big_integer() {
        let cases: [(i128, &[u8]); 9] = [
            (0, &[0]),
            (1, &[1]),
            (-1, &[0xFF]),
            (127, &[0x7F]),
            (128, &[0, 0x80]),
            (-128, &[0x80]),
            (-129, &[0xFF, 0x7F]),
            (i128::MAX, &[0x7F, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]),
            (i128::MIN, &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ];
        for (value, expected) in cases {
            assert_eq!(&value.to_be_bytes()[16 - decimal_len(value)..], expected, "{value}");
        }
    }
}
