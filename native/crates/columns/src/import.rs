//! Arrays to columns: the one place where a producer's pointers are followed.
//!
//! The interface gives no lengths of buffers; they follow from an array's length and its type. What contradicts itself
//! is an error here: lengths and offsets that are negative, overflow or do not fit their batch, counts of buffers and
//! children, missing buffers, counts of nulls, offsets that go back, views and indices that point outside. A buffer
//! that is shorter than its array says cannot be noticed.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::bits::Bits;
use crate::buffer::Buffer;
use crate::column::{Column, INLINE_BYTES, SIXTEEN, Values, view_len, view_place};
use crate::dictionary;
use crate::error::{ColumnError, ErrorKind, Result};
use crate::ffi::ArrowArray;
use crate::format::{Layout, Type};
use crate::room::{all_of, room};
use crate::schema::{Field, Schema};
use crate::units::Scale;

/// The longest value.
const MOST_VALUE_BYTES: usize = i32::MAX as usize;
/// More rows than a batch can have.
const ROWS_LIMIT: usize = u32::MAX as usize;

/// The columns of a batch, and how many rows it has.
///
/// # Safety
/// As [`crate::OwnedArray::take`]; the array is not released while the columns exist.
pub(crate) unsafe fn columns(batch: &ArrowArray, schema: &Schema) -> Result<(Vec<Column>, usize)> {
    let (rows, offset) = check_columns(batch, schema)?;
    // SAFETY: as the caller promises.
    unsafe { check_no_null_rows(batch, offset, rows)? };
    let column = |(i, field): (usize, &Field)| {
        // SAFETY: `children` is not null, so by the interface it has `n_children` elements, and i is below that; each
        // is null or valid.
        let child = unsafe { (*batch.children.add(i)).as_ref() };
        let child = child.ok_or_else(|| ColumnError::invalid("is not there"));
        // SAFETY: as the caller promises.
        child.and_then(|child| unsafe { field_column(child, field, offset, rows) }).map_err(|e| e.at(field.place(i)))
    };
    let columns = schema.fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    Ok((columns, rows))
}

/// How many rows a batch has, and how many values of its columns come before them; it has the schema's columns.
pub(crate) fn check_columns(batch: &ArrowArray, schema: &Schema) -> Result<(usize, usize)> {
    let rows = number(batch.length, "length")?;
    let offset = number(batch.offset, "offset")?;
    if rows >= ROWS_LIMIT {
        return Err(ColumnError::unsupported(format!("a batch of {rows} rows")));
    }
    if usize::try_from(batch.n_children).ok() != Some(schema.fields.len()) {
        let (have, want) = (batch.n_children, schema.fields.len());
        return Err(ColumnError::invalid(format!("{have} columns, the schema has {want}")));
    }
    if !schema.fields.is_empty() && batch.children.is_null() {
        return Err(ColumnError::invalid("the columns are not there"));
    }
    if batch.n_buffers > 1 {
        return Err(ColumnError::invalid(format!("a struct with {} buffers", batch.n_buffers)));
    }
    Ok((rows, offset))
}

/// # Safety
/// As [`columns`].
unsafe fn check_no_null_rows(batch: &ArrowArray, offset: usize, rows: usize) -> Result<()> {
    let nulls = if batch.n_buffers == 1 && !batch.buffers.is_null() {
        let source = Source { array: batch, first: offset, rows };
        // SAFETY: as the caller promises; there is one buffer.
        unsafe { source.valid()? }.is_some()
    } else {
        batch.null_count > 0
    };
    if nulls { Err(ColumnError::unsupported("a batch whose rows can be null")) } else { Ok(()) }
}

/// The column of an array of which the first `skip` values are not the batch's.
///
/// # Safety
/// As [`columns`].
unsafe fn field_column(array: &ArrowArray, field: &Field, skip: usize, rows: usize) -> Result<Column> {
    let Some(index) = field.index else {
        if !array.dictionary.is_null() {
            return Err(ColumnError::invalid("the array has a dictionary, its schema has none"));
        }
        // SAFETY: as the caller promises.
        return unsafe { Source::of(array, field.ty, skip, rows)?.column(field.ty) };
    };
    // SAFETY: null or valid, by the interface.
    let Some(values) = (unsafe { array.dictionary.as_ref() }) else {
        return Err(ColumnError::invalid("the schema has a dictionary, the array has none"));
    };
    if !values.dictionary.is_null() {
        return Err(ColumnError::invalid("the dictionary's array has a dictionary, its schema has none"));
    }
    // SAFETY: as the caller promises.
    let indices = unsafe { Source::of(array, index, skip, rows)?.column(index) };
    // An index that is too large for a long is beyond any dictionary.
    let indices = indices.map_err(|e| e.instead(ErrorKind::Value, ErrorKind::Invalid))?;
    let len = number(values.length, "length of the dictionary")?;
    // SAFETY: as the caller promises.
    let values = unsafe { Source::of(values, field.ty, 0, len).and_then(|source| source.column(field.ty)) };
    dictionary::decode(indices, values.map_err(|e| e.at("dictionary"))?)
}

pub(crate) fn number(value: i64, what: &str) -> Result<usize> {
    // Far above what memory can hold, and far below where sums and products overflow.
    const LIMIT: i64 = 1 << 56;
    if !(0..LIMIT).contains(&value) {
        return Err(ColumnError::invalid(format!("{what} is {value}")));
    }
    Ok(value as usize)
}

/// An array, and which of its values are wanted.
pub(crate) struct Source<'a> {
    array: &'a ArrowArray,
    /// The first one, counted from the buffers' beginning.
    pub(crate) first: usize,
    rows: usize,
}

impl<'a> Source<'a> {
    /// # Safety
    /// As [`columns`].
    pub(crate) unsafe fn of(array: &'a ArrowArray, ty: Type, skip: usize, rows: usize) -> Result<Self> {
        if array.release.is_none() {
            return Err(ColumnError::invalid("the array has been released"));
        }
        let (length, offset) = (number(array.length, "length")?, number(array.offset, "offset")?);
        if length < skip + rows {
            return Err(ColumnError::invalid(format!("{length} values, the batch needs {}", skip + rows)));
        }
        if array.null_count < -1 || array.null_count > array.length {
            return Err(ColumnError::invalid(format!("{} nulls among {length} values", array.null_count)));
        }
        if array.n_children != 0 {
            return Err(ColumnError::invalid(format!("{} children of a {ty:?}", array.n_children)));
        }
        let (have, want) = (array.n_buffers, ty.buffers() as i64);
        // Views have any number of buffers for bytes, and one for those buffers' lengths.
        let enough = if ty.layout() == Some(Layout::Views) { have > want } else { have == want };
        if !enough {
            return Err(ColumnError::invalid(format!("{have} buffers, a {ty:?} has {want}")));
        }
        if have > 0 && array.buffers.is_null() {
            return Err(ColumnError::invalid(format!("{have} buffers that are not there")));
        }
        Ok(Self { array, first: offset + skip, rows })
    }

    /// The address of a buffer, null if it is not there.
    ///
    /// # Safety
    /// As [`columns`]; `buffers` is not null and `i` is below `n_buffers`.
    pub(crate) unsafe fn address(&self, i: usize) -> *const c_void {
        // SAFETY: inside the array of addresses, as the caller promises.
        unsafe { *self.array.buffers.add(i) }
    }

    /// The bytes of a buffer from `start` on.
    ///
    /// # Safety
    /// As [`Source::address`].
    unsafe fn buffer(&self, i: usize, start: usize, len: usize) -> Result<Buffer> {
        if len == 0 {
            return Ok(Buffer::empty());
        }
        // SAFETY: as the caller promises.
        let address = unsafe { self.address(i) };
        let Some(address) = NonNull::new(address.cast_mut().cast::<u8>()) else {
            return Err(ColumnError::invalid(format!("buffer {i} is null, {} bytes are needed", start + len)));
        };
        // SAFETY: by the interface the buffer has the bytes that length, offset and type ask for, of which these are
        // some; it is neither written to nor freed before the array is released, which outlives the columns. Lengths
        // are below 2^63 (`number` bounds them, the widest value has 16 bytes, other lengths are a producer's own).
        unsafe { Ok(Buffer::foreign(address.add(start), len)) }
    }

    /// `N` bytes for each wanted value.
    ///
    /// # Safety
    /// As [`columns`]; the array has a second buffer, of such values.
    unsafe fn fixed(&self, width: usize) -> Result<Buffer> {
        let overflow = || ColumnError::invalid(format!("{} values of {width} bytes", self.rows));
        let end = (self.first + self.rows).checked_mul(width).filter(|end| *end <= isize::MAX as usize);
        end.ok_or_else(overflow)?;
        // SAFETY: as the caller promises.
        unsafe { self.buffer(1, self.first * width, self.rows * width) }
    }

    /// Which values are not null; none if all are not.
    ///
    /// # Safety
    /// As [`columns`]; the array has buffers.
    unsafe fn valid(&self) -> Result<Option<Bits>> {
        // SAFETY: as the caller promises.
        let missing = unsafe { self.address(0) }.is_null();
        if missing {
            return match self.array.null_count {
                nulls if nulls > 0 => Err(ColumnError::invalid(format!("{nulls} nulls, but no mask of them"))),
                _ => Ok(None),
            };
        }
        let (length, offset) = (number(self.array.length, "length")?, number(self.array.offset, "offset")?);
        // Values that the batch does not have count only where there is a count to compare with.
        let said = usize::try_from(self.array.null_count).ok();
        let end = if said.is_some() { offset + length } else { self.first + self.rows };
        // SAFETY: as the caller promises.
        let mask = unsafe { self.buffer(0, 0, end.div_ceil(8))? };
        if let Some(said) = said {
            let nulls = Bits::zeros(&mask, offset, length);
            if said != nulls {
                return Err(ColumnError::invalid(format!("{said} nulls, but the mask has {nulls}")));
            }
            if nulls == 0 {
                return Ok(None);
            }
        }
        let wanted = Bits::zeros(&mask, self.first, self.rows);
        Ok((wanted > 0).then(|| Bits::new(mask, self.first)))
    }

    /// # Safety
    /// As [`columns`].
    unsafe fn column(&self, ty: Type) -> Result<Column> {
        let column = |valid, values| Column { ty, rows: self.rows, valid, values };
        if ty == Type::Null {
            return Ok(column(None, Values::Null));
        }
        // SAFETY: every type but null has buffers; as the caller promises.
        let valid = unsafe { self.valid()? };
        let convert = Conversion { valid: &valid };
        // SAFETY: for each type these are its buffers: `Source::of` has compared their number; as the caller promises.
        let values = unsafe {
            match ty {
                Type::Null => Values::Null,
                Type::Boolean => {
                    let bits =
                        self.buffer(1, 0, if self.rows == 0 { 0 } else { (self.first + self.rows).div_ceil(8) })?;
                    Values::Bits(Bits::new(bits, self.first))
                }
                Type::Decimal { bytes: 16, .. } if ty.is_wide_decimal() => Values::WideDecimals(self.fixed(16)?),
                Type::Decimal { bytes: 16, .. } => convert.decimals(self.fixed(16)?.values())?,
                Type::Decimal { bytes: 4, .. } => convert.narrow(self.fixed(4)?.values(), Scale::Same)?,
                Type::MonthDayNano => convert.intervals(self.fixed(SIXTEEN)?.values())?,
                Type::UInt64 => convert.unsigned(self.fixed(8)?)?,
                Type::Date64 => convert.days(self.fixed(8)?.values())?,
                Type::FixedBinary(width) => {
                    Values::FixedBytes { width: width as usize, data: self.fixed(width as usize)? }
                }
                Type::Utf8(layout) | Type::Binary(layout) => self.variable(layout, &valid)?,
                _ => match (Scale::of(ty), width(ty)) {
                    (Scale::Same, width) => Values::Fixed { width, data: self.fixed(width)? },
                    (scale, 4) => convert.narrow(self.fixed(4)?.values(), scale)?,
                    (scale, _) => convert.scaled(self.fixed(8)?.values(), scale)?,
                },
            }
        };
        Ok(column(valid, values))
    }

    /// # Safety
    /// As [`columns`]; the array is of variable-length values in this layout.
    unsafe fn variable(&self, layout: Layout, valid: &Option<Bits>) -> Result<Values> {
        if self.rows == 0 {
            // An array without values may have no offsets.
            return Ok(Values::Spans { spans: Vec::new(), data: Buffer::empty() });
        }
        // SAFETY: as the caller promises: the buffers of this layout.
        unsafe {
            match layout {
                Layout::Offsets32 => {
                    let offsets = self.offsets(4)?;
                    let end = check_offsets(offsets.values().iter().map(|o| i64::from(i32::from_le_bytes(*o))))?;
                    Ok(Values::Offsets32 { offsets, data: self.buffer(2, 0, end)? })
                }
                Layout::Offsets64 => {
                    let offsets = self.offsets(8)?;
                    let end = check_offsets(offsets.values().iter().map(|o| i64::from_le_bytes(*o)))?;
                    Ok(Values::Offsets64 { offsets, data: self.buffer(2, 0, end)? })
                }
                Layout::Views => {
                    let (views, buffers) = (self.fixed(16)?, self.view_buffers()?);
                    check_views(views.values(), &buffers, valid)?;
                    Ok(Values::Views { views, buffers })
                }
            }
        }
    }

    /// # Safety
    /// As [`columns`]; the array has offsets of this width.
    unsafe fn offsets(&self, width: usize) -> Result<Buffer> {
        let wanted = Source { array: self.array, first: self.first, rows: self.rows + 1 };
        // SAFETY: an array that is not empty has one offset more than values.
        unsafe { wanted.fixed(width) }
    }

    /// The buffers that views point into.
    ///
    /// # Safety
    /// As [`columns`]; the array is one of views.
    unsafe fn view_buffers(&self) -> Result<Vec<Buffer>> {
        let count = number(self.array.n_buffers - 3, "number of buffers for bytes")?;
        // SAFETY: the last buffer has a length for each of the others, by the interface.
        let lengths = unsafe { self.buffer(count + 2, 0, count * 8)? };
        let of = |(i, len): (usize, &[u8; 8])| {
            let len = number(i64::from_le_bytes(*len), "length")?;
            // SAFETY: inside the array of addresses: there are `count` buffers behind the first two, each as long as
            // the last buffer says.
            unsafe { self.buffer(i + 2, 0, len) }
        };
        let buffers = lengths.values().iter().enumerate();
        buffers.map(|(i, len)| of((i, len)).map_err(|e| e.at(format_args!("buffer {i} for bytes")))).collect()
    }
}

/// Bytes of a value of a type whose values are numbers.
pub(crate) fn width(ty: Type) -> usize {
    use crate::format::Unit;
    match ty {
        Type::Int8 | Type::UInt8 => 1,
        Type::Int16 | Type::UInt16 => 2,
        Type::Int32 | Type::UInt32 | Type::Float32 | Type::Date32 | Type::Months => 4,
        Type::Time(Unit::Second | Unit::Milli) => 4,
        Type::Decimal { bytes, .. } => usize::from(bytes),
        Type::MonthDayNano => SIXTEEN,
        _ => 8,
    }
}

/// The end of the last value.
fn check_offsets(offsets: impl Iterator<Item = i64>) -> Result<usize> {
    let mut before = 0;
    let mut all = offsets.enumerate().peekable();
    if let Some((_, first)) = all.peek() {
        if *first < 0 {
            return Err(ColumnError::invalid(format!("the first offset is {first}")));
        }
        before = *first;
    }
    for (i, offset) in all {
        if offset < before {
            let row = i.saturating_sub(1);
            return Err(ColumnError::invalid(format!("row {row}: offsets go back, from {before} to {offset}")));
        }
        if offset - before > MOST_VALUE_BYTES as i64 {
            let (row, bytes) = (i.saturating_sub(1), offset - before);
            return Err(ColumnError::unsupported(format!("row {row}: a value of {bytes} bytes")));
        }
        before = offset;
    }
    number(before, "the last offset")
}

fn check_views(views: &[[u8; 16]], buffers: &[Buffer], valid: &Option<Bits>) -> Result<()> {
    for (row, view) in views.iter().enumerate() {
        if valid.as_ref().is_some_and(|valid| !valid.get(row)) {
            continue;
        }
        let (len, (buffer, at)) = (view_len(view), view_place(view));
        if len > MOST_VALUE_BYTES {
            return Err(ColumnError::invalid(format!("row {row}: a view of {} bytes", len as u32 as i32)));
        }
        // A number or a position that is negative as a signed one is beyond any buffer here.
        let inside = buffers.get(buffer).is_some_and(|bytes| at + len <= bytes.len() && at <= i32::MAX as usize);
        if len > INLINE_BYTES && !inside {
            return Err(ColumnError::invalid(format!(
                "row {row}: a view of {len} bytes at {at} of buffer {buffer} of {}, which has {} bytes",
                buffers.len(),
                buffers.get(buffer).map_or(0, |bytes| bytes.len())
            )));
        }
    }
    Ok(())
}

/// Makes words of values that rows have in another form.
struct Conversion<'v> {
    valid: &'v Option<Bits>,
}

impl Conversion<'_> {
    /// Words of values, 0 for nulls.
    fn words<const N: usize>(
        &self,
        values: &[[u8; N]],
        what: &str,
        word: impl Fn(&[u8; N]) -> Option<i64>,
    ) -> Result<Values> {
        let of = |(row, value): (usize, &[u8; N])| {
            if self.is_null(row) {
                return Ok(0);
            }
            word(value).map(|word| word as u64).ok_or_else(|| ColumnError::value(format!("row {row}: {what}")))
        };
        Ok(Values::Words(all_of(values.iter().enumerate().map(of))?))
    }

    fn is_null(&self, row: usize) -> bool {
        self.valid.as_ref().is_some_and(|valid| !valid.get(row))
    }

    fn decimals(&self, values: &[[u8; 16]]) -> Result<Values> {
        let what = "the decimal has more than 18 digits, its type at most so many";
        self.words(values, what, |v| i64::try_from(i128::from_le_bytes(*v)).ok())
    }

    fn narrow(&self, values: &[[u8; 4]], scale: Scale) -> Result<Values> {
        self.words(values, TIME_DOES_NOT_FIT, |v| scale.to_row(i64::from(i32::from_le_bytes(*v))))
    }

    fn scaled(&self, values: &[[u8; 8]], scale: Scale) -> Result<Values> {
        self.words(values, TIME_DOES_NOT_FIT, |v| scale.to_row(i64::from_le_bytes(*v)))
    }

    /// Days in the low four bytes.
    fn days(&self, values: &[[u8; 8]]) -> Result<Values> {
        let days = |v| Scale::of(Type::Date64).to_row(v).and_then(|days| i32::try_from(days).ok());
        let what = "the date is no whole number of days, or does not fit 32 bits";
        self.words(values, what, |v| days(i64::from_le_bytes(*v)).map(|days| i64::from(days as u32)))
    }

    fn unsigned(&self, data: Buffer) -> Result<Values> {
        let too_large = |(row, value): (usize, &[u8; 8])| value[7] > 0x7F && !self.is_null(row);
        match data.values::<8>().iter().enumerate().position(too_large) {
            Some(row) => Err(ColumnError::value(format!("row {row}: the number does not fit Spark's long"))),
            None => Ok(Values::Fixed { width: 8, data }),
        }
    }

    /// Nanoseconds to microseconds; 16 bytes a value before and after.
    fn intervals(&self, values: &[[u8; SIXTEEN]]) -> Result<Values> {
        let mut bytes = room(values.len() * SIXTEEN)?;
        for (row, value) in values.iter().enumerate() {
            let [months_and_days @ .., _, _, _, _, _, _, _, _] = value;
            let nanos = value.last_chunk::<8>().map_or(0, |n| i64::from_le_bytes(*n));
            let micros = Scale::Over(1000).to_row(if self.is_null(row) { 0 } else { nanos });
            let Some(micros) = micros else {
                return Err(ColumnError::value(format!("row {row}: {nanos} ns are no whole number of microseconds")));
            };
            bytes.extend_from_slice(months_and_days);
            bytes.extend_from_slice(&micros.to_le_bytes());
        }
        Ok(Values::Intervals(Buffer::Own(bytes)))
    }
}

const TIME_DOES_NOT_FIT: &str = "the time is no whole number of the units that rows have, or does not fit 64 bits";
