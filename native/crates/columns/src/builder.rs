//! Rows of frames to the buffers of arrays.

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
    /// Calls `each` with each row's value behind the words, in order; an empty one where there is none.
    fn for_each_value(&self, each: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()>;
}

/// An array that grows.
pub(crate) struct Builder {
    ty: Type,
    /// Which bit of the word of null bits is the field's.
    bit: usize,
    rows: usize,
    nulls: usize,
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
        let (data, bytes, bit) = (&mut self.data, &mut self.bytes, self.bit);
        let nulls = field.nulls();
        let most = if layout == Layout::Offsets64 { i64::MAX as usize } else { i32::MAX as usize };
        let text = matches!(self.ty, Type::Utf8(_));
        field.for_each_value(|i, value| {
            let value = if nulls[i] >> bit & 1 != 0 { &[] } else { value };
            if text && let Err(e) = std::str::from_utf8(value) {
                return Err(ColumnError::unsupported(format!("row {i}: the string is not UTF-8 ({e}); take binary")));
            }
            let start = bytes.len();
            if layout != Layout::Views || value.len() > INLINE_BYTES {
                bytes.extend(value)?;
            }
            if bytes.len() > most {
                return Err(ColumnError::unsupported(format!(
                    "row {i}: {} bytes of values do not fit offsets of 32 bits; take fewer rows at a time",
                    bytes.len()
                )));
            }
            match layout {
                Layout::Offsets32 => data.extend(&(bytes.len() as u32).to_le_bytes()),
                Layout::Offsets64 => data.extend(&(bytes.len() as u64).to_le_bytes()),
                Layout::Views => data.extend(&view(value, start)),
            }
        })
    }

    fn append_fixed_bytes(&mut self, width: usize, field: &impl FieldOfRows) -> Result<()> {
        let data = &mut self.data;
        let (nulls, bit) = (field.nulls(), self.bit);
        field.for_each_value(|i, value| {
            let to = data.grow(width)?;
            if nulls[i] >> bit & 1 != 0 {
                return Ok(());
            }
            if value.len() != width {
                return Err(ColumnError::corrupt(format!("row {i}: {} bytes, the type has {width}", value.len())));
            }
            to.copy_from_slice(value);
            Ok(())
        })
    }

    fn append_wide_decimals(&mut self, field: &impl FieldOfRows) -> Result<()> {
        let data = &mut self.data;
        let (nulls, bit) = (field.nulls(), self.bit);
        field.for_each_value(|i, value| {
            let to = data.grow(SIXTEEN)?;
            if nulls[i] >> bit & 1 != 0 {
                return Ok(());
            }
            if value.is_empty() || value.len() > SIXTEEN {
                return Err(ColumnError::corrupt(format!("row {i}: a decimal of {} bytes", value.len())));
            }
            let sign = if value[0] & 0x80 != 0 { 0xFF } else { 0 };
            to[value.len()..].fill(sign);
            to.iter_mut().zip(value.iter().rev()).for_each(|(to, byte)| *to = *byte);
            Ok(())
        })
    }

    fn append_intervals(&mut self, field: &impl FieldOfRows) -> Result<()> {
        let data = &mut self.data;
        let (nulls, bit) = (field.nulls(), self.bit);
        field.for_each_value(|i, value| {
            let to = data.grow(SIXTEEN)?;
            if nulls[i] >> bit & 1 != 0 {
                return Ok(());
            }
            let Some((months_and_days, micros)) = value.split_first_chunk::<8>() else {
                return Err(ColumnError::corrupt(format!("row {i}: an interval of {} bytes", value.len())));
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
    let all = to.as_mut_bytes();
    bits.enumerate().for_each(|(i, bit)| all[(rows + i) / 8] |= u8::from(bit) << ((rows + i) % 8));
    Ok(())
}
