//! Rows of frames to the buffers of arrays.

use sluice_codec::Value;

use crate::column::{INLINE_BYTES, SIXTEEN};
use crate::error::{ColumnError, Result};
use crate::export::{AlignedBytes, Made};
use crate::format::{Layout, Type};
use crate::import::width;
use crate::units::Scale;

/// What a frame's rows have in one field.
pub(crate) trait FieldOfRows {
    /// Of each row the word with the field's null bit.
    fn nulls(&self) -> &[u64];
    /// Of each row the field's word.
    fn words(&self) -> &[u64];
    /// All values of the field, if they lie back to back.
    fn back_to_back(&self) -> Option<&[u8]>;
    /// Bytes that all values of the field have together, at most.
    fn bytes_behind(&self) -> usize;
    /// Of each row in order the value behind the words; an empty one where there is none. Of a null it is anything.
    fn values(&self) -> impl Iterator<Item = Result<Value<'_>>>;
}

/// An array that grows.
pub(crate) struct Builder {
    ty: Type,
    /// Which bit of the word of null bits is the field's.
    bit: usize,
    rows: usize,
    nulls: usize,
    /// A bit a row, 1 if it is no null; empty as long as there is no null.
    valid: AlignedBytes,
    /// Values, bits, offsets or views.
    data: AlignedBytes,
    /// What offsets and views point into.
    bytes: AlignedBytes,
}

impl Builder {
    pub(crate) fn new(ty: Type, field: usize) -> Result<Self> {
        let mut data = AlignedBytes::default();
        // The first offset, before any value.
        let first = match ty.layout() {
            Some(Layout::Offsets32) => 4,
            Some(Layout::Offsets64) => 8,
            _ => 0,
        };
        data.grow(first)?;
        let (valid, bytes) = (AlignedBytes::default(), AlignedBytes::default());
        Ok(Self { ty, bit: field % 64, rows: 0, nulls: 0, valid, data, bytes })
    }

    /// Makes room for so many rows more of values like those that are there.
    pub(crate) fn reserve(&mut self, rows: usize) {
        for buffer in [&mut self.valid, &mut self.data, &mut self.bytes] {
            let more = buffer.len() as u128 * rows as u128 / self.rows.max(1) as u128;
            // An eighth more, as they are not all alike.
            buffer.reserve((more + more / 8) as usize);
        }
    }

    /// Appends the values of a frame.
    pub(crate) fn append(&mut self, field: &impl FieldOfRows) -> Result<()> {
        let words = field.words();
        if self.ty != Type::Null {
            self.append_valid(field.nulls())?;
        }
        let scale = Scale::of(self.ty);
        match self.ty {
            Type::Null => self.nulls += words.len(),
            Type::Boolean => append_bits(&mut self.data, self.rows, words.iter().map(|word| word & 0xFF != 0))?,
            Type::Utf8(layout) | Type::Binary(layout) => self.append_bytes(layout, field)?,
            Type::FixedBinary(width) => self.append_fixed_bytes(width as usize, field)?,
            Type::MonthDayNano => self.append_intervals(field)?,
            Type::Decimal { bytes: 16, .. } if self.ty.is_wide_decimal() => self.append_wide_decimals(field)?,
            Type::Decimal { bytes: 16, .. } => {
                for (to, word) in self.data.grow(words.len() * 16)?.as_chunks_mut().0.iter_mut().zip(words) {
                    *to = i128::from(*word as i64).to_le_bytes();
                }
            }
            Type::Decimal { bytes: 4, .. } => self.append_checked(field, |word| i64_in_four(word as i64))?,
            Type::UInt8 => self.append_checked(field, |word| u8::try_from(word).ok().map(u8::to_le_bytes))?,
            Type::UInt16 => self.append_checked(field, |word| u16::try_from(word).ok().map(u16::to_le_bytes))?,
            Type::UInt32 => self.append_checked(field, |word| u32::try_from(word).ok().map(u32::to_le_bytes))?,
            Type::UInt64 => self.append_checked(field, |word| (word as i64 >= 0).then(|| word.to_le_bytes()))?,
            Type::Date64 => {
                self.append_checked(field, |word| scale.to_array(i64::from(word as i32)).map(i64::to_le_bytes))?
            }
            _ => match (scale, width(self.ty)) {
                (Scale::Same, 1) => self.append_words::<1>(words)?,
                (Scale::Same, 2) => self.append_words::<2>(words)?,
                (Scale::Same, 4) => self.append_words::<4>(words)?,
                (Scale::Same, _) => self.append_words::<8>(words)?,
                (_, 4) => self.append_checked(field, |word| scale.to_array(word as i64).and_then(i64_in_four))?,
                _ => self.append_checked(field, |word| scale.to_array(word as i64).map(i64::to_le_bytes))?,
            },
        }
        self.rows += words.len();
        Ok(())
    }

    fn append_valid(&mut self, nulls: &[u64]) -> Result<()> {
        let bit = self.bit;
        let any = nulls.iter().fold(0, |any, word| any | word);
        if self.nulls == 0 {
            if any >> bit & 1 == 0 {
                return Ok(());
            }
            append_bits(&mut self.valid, 0, std::iter::repeat_n(true, self.rows))?;
        }
        append_bits(&mut self.valid, self.rows, nulls.iter().map(|word| word >> bit & 1 == 0))?;
        self.nulls += nulls.iter().map(|word| (word >> bit & 1) as usize).sum::<usize>();
        Ok(())
    }

    fn append_words<const N: usize>(&mut self, words: &[u64]) -> Result<()> {
        for (to, word) in self.data.grow(words.len() * N)?.as_chunks_mut::<N>().0.iter_mut().zip(words) {
            to.copy_from_slice(&word.to_le_bytes()[..N]);
        }
        Ok(())
    }

    /// Appends what `value` makes of each word; 0 for nulls.
    fn append_checked<const N: usize>(
        &mut self,
        field: &impl FieldOfRows,
        value: impl Fn(u64) -> Option<[u8; N]>,
    ) -> Result<()> {
        let (ty, bit) = (self.ty, self.bit);
        let rows = field.words().iter().zip(field.nulls()).enumerate();
        let to = self.data.grow(field.words().len() * N)?.as_chunks_mut::<N>().0;
        for (to, (i, (word, nulls))) in to.iter_mut().zip(rows) {
            if nulls >> bit & 1 != 0 {
                continue;
            }
            *to = value(*word)
                .ok_or_else(|| ColumnError::corrupt(format!("row {i}: the value {} is no {ty:?}", *word as i64)))?;
        }
        Ok(())
    }

    fn append_bytes(&mut self, layout: Layout, field: &impl FieldOfRows) -> Result<()> {
        match layout {
            Layout::Offsets32 => self.append_with_offsets(field, |end| i32::try_from(end).ok().map(i32::to_le_bytes)),
            Layout::Offsets64 => self.append_with_offsets(field, |end| i64::try_from(end).ok().map(i64::to_le_bytes)),
            Layout::Views => self.append_views(field),
        }
    }

    /// Appends the values' ends first, which the words tell, and then all bytes at once.
    fn append_with_offsets<const N: usize>(
        &mut self,
        field: &impl FieldOfRows,
        offset: impl Fn(usize) -> Option<[u8; N]>,
    ) -> Result<()> {
        let bit = self.bit;
        let size = |(word, nulls): (&u64, &u64)| if nulls >> bit & 1 != 0 { 0 } else { (*word & 0xFFFF_FFFF) as usize };
        let sizes = || field.words().iter().zip(field.nulls()).map(size);
        let (start, mut end, mut longest) = (self.bytes.len(), self.bytes.len(), 0);
        let to = self.data.grow(field.words().len() * N)?.as_chunks_mut::<N>().0;
        for (i, (to, size)) in to.iter_mut().zip(sizes()).enumerate() {
            longest = longest.max(size);
            end += size;
            *to = offset(end).ok_or_else(|| does_not_fit(i, end))?;
        }
        if end - start > field.bytes_behind() {
            // Some value lies outside its row.
            field.values().try_for_each(|value| value.map(|_| ()))?;
            return Err(ColumnError::corrupt(format!("values of {} bytes, more than there are", end - start)));
        }
        let to = self.bytes.grow(end - start)?;
        match field.back_to_back() {
            // None of them is a null's.
            Some(values) if values.len() == to.len() => to.copy_from_slice(values),
            _ if longest <= 16 => copy_all::<16>(field, sizes(), to)?,
            _ => copy_all::<64>(field, sizes(), to)?,
        }
        if matches!(self.ty, Type::Utf8(_)) {
            let ends = sizes().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            check_utf8(&self.bytes.as_bytes()[start..], ends)?;
        }
        Ok(())
    }

    fn append_views(&mut self, field: &impl FieldOfRows) -> Result<()> {
        let (nulls, bit) = (field.nulls(), self.bit);
        let text = matches!(self.ty, Type::Utf8(_));
        let to = self.data.grow(nulls.len() * SIXTEEN)?.as_chunks_mut::<SIXTEEN>().0;
        for (i, (to, value)) in to.iter_mut().zip(field.values()).enumerate() {
            let value = if nulls[i] >> bit & 1 != 0 { &[] } else { value?.bytes() };
            if text && let Err(e) = std::str::from_utf8(value) {
                return Err(no_utf8(i, e));
            }
            let start = self.bytes.len();
            if value.len() > INLINE_BYTES {
                self.bytes.extend(value)?;
            }
            if i32::try_from(self.bytes.len()).is_err() {
                return Err(does_not_fit(i, self.bytes.len()));
            }
            *to = view(value, start);
        }
        Ok(())
    }

    /// Appends `width` bytes a row, into which `put` writes its value; those of nulls are 0.
    fn append_each(
        &mut self,
        width: usize,
        field: &impl FieldOfRows,
        put: impl Fn(usize, Value<'_>, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let (nulls, bit) = (field.nulls(), self.bit);
        let mut to = self.data.grow(nulls.len() * width)?;
        for (i, value) in field.values().enumerate() {
            let (here, behind) = to.split_at_mut(width);
            if nulls[i] >> bit & 1 == 0 {
                put(i, value?, here)?;
            }
            to = behind;
        }
        Ok(())
    }

    fn append_fixed_bytes(&mut self, width: usize, field: &impl FieldOfRows) -> Result<()> {
        self.append_each(width, field, |i, value, to| {
            if value.size() != width {
                return Err(ColumnError::corrupt(format!("row {i}: {} bytes, the type has {width}", value.size())));
            }
            to.copy_from_slice(value.bytes());
            Ok(())
        })
    }

    fn append_wide_decimals(&mut self, field: &impl FieldOfRows) -> Result<()> {
        self.append_each(SIXTEEN, field, |i, value, to| {
            let size = value.size();
            if size == 0 || size > SIXTEEN {
                return Err(ColumnError::corrupt(format!("row {i}: a decimal of {size} bytes")));
            }
            let bytes = value.first().copied().unwrap_or_else(|| {
                let mut bytes = [0; SIXTEEN];
                bytes[..size].copy_from_slice(value.bytes());
                bytes
            });
            // The number's bytes are the first; the shift leaves its sign in those that it does not have.
            let number = i128::from_be_bytes(bytes) >> (8 * (SIXTEEN - size));
            to.copy_from_slice(&number.to_le_bytes());
            Ok(())
        })
    }

    fn append_intervals(&mut self, field: &impl FieldOfRows) -> Result<()> {
        self.append_each(SIXTEEN, field, |i, value, to| {
            let Some((months_and_days, micros)) = value.bytes().split_first_chunk::<8>() else {
                return Err(ColumnError::corrupt(format!("row {i}: an interval of {} bytes", value.size())));
            };
            let micros = micros.try_into().map(i64::from_le_bytes);
            let Some(nanos) = micros.ok().and_then(|micros| micros.checked_mul(1000)) else {
                return Err(ColumnError::corrupt(format!("row {i}: an interval that does not fit nanoseconds")));
            };
            to[..8].copy_from_slice(months_and_days);
            to[8..].copy_from_slice(&nanos.to_le_bytes());
            Ok(())
        })
    }

    /// The array.
    pub(crate) fn finish(mut self) -> Result<Made> {
        let mut buffers = Vec::new();
        if self.ty != Type::Null {
            buffers.push((self.nulls > 0).then_some(self.valid));
            buffers.push(Some(self.data));
        }
        match self.ty.layout() {
            Some(Layout::Offsets32 | Layout::Offsets64) => buffers.push(Some(self.bytes)),
            Some(Layout::Views) => {
                let mut lengths = AlignedBytes::default();
                if self.bytes.len() > 0 {
                    lengths.extend(&(self.bytes.len() as u64).to_le_bytes())?;
                    buffers.push(Some(std::mem::take(&mut self.bytes)));
                }
                buffers.push(Some(lengths));
            }
            None => {}
        }
        Ok(Made { rows: self.rows, nulls: self.nulls, buffers, children: Vec::new() })
    }
}

/// Copies the values back to back. Those of up to `N` bytes are copied as `N` bytes: what is written behind a value is
/// overwritten by those that follow.
fn copy_all<const N: usize>(
    field: &impl FieldOfRows,
    sizes: impl Iterator<Item = usize>,
    mut to: &mut [u8],
) -> Result<()> {
    for (value, size) in field.values().zip(sizes) {
        let value = value?;
        match (value.first::<N>(), to.first_chunk_mut::<N>()) {
            (Some(from), Some(to)) if size <= N => *to = *from,
            _ => to[..size].copy_from_slice(&value.bytes()[..size]),
        }
        to = &mut to[size..];
    }
    Ok(())
}

/// Checks strings that lie back to back and end at `ends`: whole characters everywhere.
fn check_utf8(bytes: &[u8], ends: impl Iterator<Item = usize> + Clone) -> Result<()> {
    if std::str::from_utf8(bytes).is_ok_and(|all| ends.clone().all(|end| all.is_char_boundary(end))) {
        return Ok(());
    }
    let mut start = 0;
    for (i, end) in ends.enumerate() {
        std::str::from_utf8(&bytes[start..end]).map_err(|e| no_utf8(i, e))?;
        start = end;
    }
    Ok(())
}

fn no_utf8(row: usize, e: std::str::Utf8Error) -> ColumnError {
    ColumnError::unsupported(format!("row {row}: the string is not UTF-8 ({e}); take binary"))
}

fn does_not_fit(row: usize, bytes: usize) -> ColumnError {
    ColumnError::unsupported(format!(
        "row {row}: {bytes} bytes of values do not fit offsets of 32 bits; take fewer rows at a time"
    ))
}

fn i64_in_four(value: i64) -> Option<[u8; 4]> {
    i32::try_from(value).ok().map(i32::to_le_bytes)
}

/// The view of a value, whose bytes are at `at` of buffer 0 if the view cannot contain them.
fn view(value: &[u8], at: usize) -> [u8; SIXTEEN] {
    let mut view = [0; SIXTEEN];
    view[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
    if value.len() <= INLINE_BYTES {
        view[4..4 + value.len()].copy_from_slice(value);
    } else {
        view[4..8].copy_from_slice(&value[..4]);
        view[12..].copy_from_slice(&(at as u32).to_le_bytes());
    }
    view
}

/// Appends bits to those of `rows` values.
fn append_bits(to: &mut AlignedBytes, rows: usize, bits: impl ExactSizeIterator<Item = bool>) -> Result<()> {
    let bytes = (rows + bits.len()).div_ceil(8);
    to.grow(bytes - to.len())?;
    // Whole bytes at a time, of which the first may have bits already.
    let (mut at, mut byte) = (rows / 8, 0u8);
    let all = to.as_mut_bytes();
    for (i, bit) in bits.enumerate() {
        let in_byte = (rows + i) % 8;
        byte |= u8::from(bit) << in_byte;
        if in_byte == 7 {
            all[at] |= byte;
            (at, byte) = (at + 1, 0);
        }
    }
    if byte != 0 {
        all[at] |= byte;
    }
    Ok(())
}
