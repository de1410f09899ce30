//! Batches whose buffers lie in the memory of a GPU, by Arrow's C Device Data Interface: what kernels have to know of
//! each column, and arrays of columns that kernels have filled.
//!
//! Nothing here reads a buffer. What [`crate::Batch::import`] checks of the values, kernels check where the buffers are
//! (`gpu-engine/kernels/source.cuh`), but for counts of nulls: where there is a mask, the mask decides.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

use sluice_codec::bitset_words;

use crate::error::{ColumnError, Result};
use crate::export::Filled;
use crate::ffi::{ArrowArray, ArrowDeviceArray};
use crate::format::{Layout, Type};
use crate::import::{Source, check_columns, width};
use crate::schema::{Field, Schema};
use crate::units::Scale;

/// `ARROW_DEVICE_CUDA`.
pub const DEVICE_CUDA: i32 = 2;
/// `ARROW_DEVICE_CUDA_MANAGED`.
pub const DEVICE_CUDA_MANAGED: i32 = 13;

/// How values are stored: the numbers of `gpu-engine/kernels/source.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Form {
    Null,
    Bits,
    Number,
    Scaled,
    Days,
    Unsigned,
    Decimal,
    Wide,
    Interval,
    Offsets32,
    Offsets64,
    Fixed,
}

/// Words are less than 2^(8 `width`).
const FLAG_UNSIGNED: u32 = 1;
/// Values are UTF-8.
const FLAG_TEXT: u32 = 2;

/// A column in a GPU's memory, as the kernels have it: addresses, and how values are stored there.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceColumn {
    valid: u64,
    values: u64,
    bytes: u64,
    first: u64,
    factor: i64,
    form: u32,
    scale: u32,
    width: u32,
    flags: u32,
}

impl DeviceColumn {
    /// Without addresses.
    ///
    /// # Errors
    /// `Unsupported` for views, which kernels do not read.
    fn of(ty: Type) -> Result<Self> {
        let (form, width) = match ty {
            Type::Null => (Form::Null, 0),
            Type::Boolean => (Form::Bits, 0),
            Type::Decimal { bytes: 16, .. } if ty.is_wide_decimal() => (Form::Wide, 16),
            Type::Decimal { bytes: 16, .. } => (Form::Decimal, 16),
            Type::Decimal { bytes: 4, .. } => (Form::Scaled, 4),
            Type::MonthDayNano => (Form::Interval, 16),
            Type::UInt64 => (Form::Unsigned, 8),
            Type::Date64 => (Form::Days, 8),
            Type::FixedBinary(width) => (Form::Fixed, width),
            Type::Utf8(Layout::Offsets32) | Type::Binary(Layout::Offsets32) => (Form::Offsets32, 4),
            Type::Utf8(Layout::Offsets64) | Type::Binary(Layout::Offsets64) => (Form::Offsets64, 8),
            Type::Utf8(Layout::Views) | Type::Binary(Layout::Views) => {
                return Err(ColumnError::unsupported("views in a GPU's memory"));
            }
            _ if Scale::of(ty) == Scale::Same => (Form::Number, width(ty) as u32),
            _ => (Form::Scaled, width(ty) as u32),
        };
        let (scale, factor) = match Scale::of(ty) {
            Scale::Same => (0, 1),
            Scale::Times(n) => (1, n),
            Scale::Over(n) => (2, n),
        };
        let flags = match ty {
            Type::UInt8 | Type::UInt16 | Type::UInt32 => FLAG_UNSIGNED,
            Type::Utf8(_) => FLAG_TEXT,
            _ => 0,
        };
        Ok(Self { form: form as u32, width, scale, factor, flags, ..Self::default() })
    }

    /// Longs whose buffers are at these addresses; without a mask none is null.
    pub fn longs(valid: u64, values: u64) -> Self {
        Self { valid, values, form: Form::Number as u32, width: 8, factor: 1, ..Self::default() }
    }

    /// Binary values with offsets of 32 bits, the same.
    pub fn binary(valid: u64, offsets: u64, bytes: u64) -> Self {
        Self { valid, values: offsets, bytes, form: Form::Offsets32 as u32, width: 4, factor: 1, ..Self::default() }
    }

    fn has_offsets(&self) -> bool {
        self.form == Form::Offsets32 as u32 || self.form == Form::Offsets64 as u32
    }

    /// Bytes that its values, bits or offsets have for so many rows.
    fn value_bytes(&self, rows: usize) -> usize {
        match self.form {
            form if form == Form::Bits as u32 => rows.div_ceil(32) * 4,
            _ if self.has_offsets() => (rows + 1) * self.width as usize,
            _ => rows * self.width as usize,
        }
    }

    /// What an address of values has to be a multiple of.
    fn alignment(&self) -> u64 {
        if self.form == Form::Fixed as u32 || self.width == 0 { 1 } else { u64::from(self.width.min(8)) }
    }
}

/// A batch in a GPU's memory: what is said of it where the host can read. It refers to the array's buffers, and owns
/// nothing.
#[derive(Debug)]
pub struct DeviceBatch {
    columns: Vec<DeviceColumn>,
    rows: usize,
    event: *mut c_void,
    device: i64,
}

impl DeviceBatch {
    /// What an array has, a struct whose children are the columns of `schema`, in the memory of a GPU. The array stays
    /// its owner's.
    ///
    /// # Errors
    /// `Invalid` when the array contradicts itself or the schema; `Unsupported` for dictionaries and views, for a batch
    /// that has a mask and does not say that none of its rows is null, and for memory of another kind.
    ///
    /// # Safety
    /// What the array refers to is as the interface defines it.
    pub unsafe fn describe(array: &ArrowDeviceArray, schema: &Schema) -> Result<Self> {
        let kind = array.device_type;
        if array.array.release.is_none() {
            return Err(ColumnError::invalid("the array has been released"));
        }
        if kind != DEVICE_CUDA && kind != DEVICE_CUDA_MANAGED {
            let what = format!("an array in memory of kind {kind}, which is no GPU of NVIDIA's");
            return Err(ColumnError::unsupported(what));
        }
        // SAFETY: as the caller promises.
        let (columns, rows) = unsafe { describe(&array.array, schema)? };
        Ok(Self { columns, rows, event: array.sync_event, device: array.device_id })
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Its columns.
    pub fn columns(&self) -> &[DeviceColumn] {
        &self.columns
    }

    /// Which GPU it is on, as CUDA's runtime counts.
    pub fn device(&self) -> i64 {
        self.device
    }

    /// The address of an event of CUDA's behind which the buffers have what they say; null if they have it now.
    pub fn event(&self) -> *mut c_void {
        self.event
    }
}

/// # Safety
/// As [`DeviceBatch::describe`].
unsafe fn describe(batch: &ArrowArray, schema: &Schema) -> Result<(Vec<DeviceColumn>, usize)> {
    let (rows, offset) = check_columns(batch, schema)?;
    // SAFETY: by the interface, addresses of as many buffers as there are, if it is not null.
    let mask = batch.n_buffers == 1 && !batch.buffers.is_null() && !unsafe { *batch.buffers }.is_null();
    if batch.null_count > 0 || (mask && batch.null_count != 0) {
        return Err(ColumnError::unsupported("a batch whose rows can be null"));
    }
    let column = |(i, field): (usize, &Field)| {
        // SAFETY: `check_columns` has found as many children; each is null or valid, by the interface.
        let child = unsafe { (*batch.children.add(i)).as_ref() };
        let child = child.ok_or_else(|| ColumnError::invalid("is not there"));
        // SAFETY: as the caller promises.
        child.and_then(|child| unsafe { describe_column(child, field, offset, rows) }).map_err(|e| e.at(field.place(i)))
    };
    Ok((schema.fields.iter().enumerate().map(column).collect::<Result<_>>()?, rows))
}

/// # Safety
/// As [`DeviceBatch::describe`].
unsafe fn describe_column(array: &ArrowArray, field: &Field, skip: usize, rows: usize) -> Result<DeviceColumn> {
    if field.index.is_some() {
        return Err(ColumnError::unsupported("a dictionary in a GPU's memory"));
    }
    if !array.dictionary.is_null() {
        return Err(ColumnError::invalid("the array has a dictionary, its schema has none"));
    }
    // SAFETY: as the caller promises.
    let source = unsafe { Source::of(array, field.ty, skip, rows)? };
    let mut column = DeviceColumn { first: source.first as u64, ..DeviceColumn::of(field.ty)? };
    if field.ty == Type::Null || rows == 0 {
        return Ok(column);
    }
    // SAFETY: `Source::of` has found as many buffers as the type has; the addresses are not followed.
    let address = |i: usize| unsafe { source.address(i) }.addr() as u64;
    column.valid = address(0);
    if array.null_count > 0 && column.valid == 0 {
        return Err(ColumnError::invalid(format!("{} nulls, but no mask of them", array.null_count)));
    }
    let end = (source.first + rows).checked_mul(column.width as usize).filter(|end| *end <= isize::MAX as usize);
    if end.is_none() {
        return Err(ColumnError::invalid(format!("{rows} values of {} bytes", column.width)));
    }
    column.values = address(1);
    column.bytes = if column.has_offsets() { address(2) } else { 0 };
    if column.values == 0 && column.value_bytes(rows) > 0 {
        return Err(ColumnError::invalid("buffer 1 is null"));
    }
    if !column.values.is_multiple_of(column.alignment()) {
        let (at, to) = (column.values, column.alignment());
        return Err(ColumnError::invalid(format!("buffer 1 at {at:#x} is not aligned to {to} bytes")));
    }
    Ok(column)
}

/// Columns that kernels are to fill: what they are told of them, and then the array.
#[derive(Debug)]
pub struct DeviceTarget {
    columns: Vec<DeviceColumn>,
    rows: usize,
}

/// Buffers begin at a multiple of this.
const ALIGN: usize = 64;

impl DeviceTarget {
    /// Columns of a schema, which have no places yet; those with offsets are numbered.
    ///
    /// # Errors
    /// `Unsupported` for views and dictionaries.
    pub fn of(schema: &Schema, rows: usize) -> Result<Self> {
        let mut with_offsets = 0;
        let column = |(i, field): (usize, &Field)| {
            let place = |e: ColumnError| e.at(field.place(i));
            if field.index.is_some() {
                return Err(place(ColumnError::unsupported("decode gives values, not dictionaries")));
            }
            let mut column = DeviceColumn::of(field.ty).map_err(place)?;
            if column.has_offsets() {
                column.first = with_offsets;
                with_offsets += 1;
            }
            Ok(column)
        };
        let columns = schema.fields.iter().enumerate().map(column).collect::<Result<_>>()?;
        Ok(Self { columns, rows })
    }

    /// The columns.
    pub fn columns(&self) -> &[DeviceColumn] {
        &self.columns
    }

    /// How many of them have offsets.
    pub fn with_offsets(&self) -> usize {
        self.columns.iter().filter(|column| column.has_offsets()).count()
    }

    /// Words of a row.
    pub fn words(&self) -> usize {
        bitset_words(self.columns.len()) + self.columns.len()
    }

    /// Gives each buffer its place, counted from 0: `totals` are the bytes of the values of those with offsets. Returns
    /// how many bytes all have.
    ///
    /// # Errors
    /// `Unsupported` when offsets of 32 bits cannot number them.
    pub fn lay_out(&mut self, totals: &[u64]) -> Result<usize> {
        let (rows, mut at) = (self.rows, 0usize);
        let too_long = || ColumnError::unsupported("more bytes than memory has");
        let mut place = |bytes: usize| {
            let here = at as u64;
            at = bytes.checked_next_multiple_of(ALIGN).and_then(|bytes| at.checked_add(bytes)).ok_or_else(too_long)?;
            Ok::<u64, ColumnError>(here)
        };
        for (i, column) in self.columns.iter_mut().enumerate().filter(|(_, column)| column.form != Form::Null as u32) {
            column.valid = place(rows.div_ceil(32) * 4)?;
            column.values = place(column.value_bytes(rows))?;
            if column.has_offsets() {
                let bytes = totals.get(column.first as usize).copied().unwrap_or_default();
                if column.form == Form::Offsets32 as u32 && bytes > i32::MAX as u64 {
                    let what = format!("{bytes} bytes of values do not fit offsets of 32 bits; take fewer rows");
                    return Err(ColumnError::unsupported(what).at(format_args!("column {i}")));
                }
                column.bytes = place(usize::try_from(bytes).map_err(|_| too_long())?)?;
            }
        }
        Ok(at)
    }

    /// Moves all places to memory that begins at `base`.
    pub fn place_at(&mut self, base: u64) {
        for column in self.columns.iter_mut().filter(|column| column.form != Form::Null as u32) {
            column.valid += base;
            column.values += base;
            column.bytes += if column.has_offsets() { base } else { 0 };
        }
    }

    /// The array, whose buffers belong to `owner`; `nulls` of each column.
    pub fn export(self, nulls: &[u32], device: i64, owner: Arc<dyn Any + Send + Sync>) -> ArrowDeviceArray {
        let rows = self.rows;
        let child = |(column, nulls): (&DeviceColumn, &u32)| {
            let address = |at: u64| std::ptr::without_provenance::<c_void>(at as usize);
            let valid = if *nulls == 0 { null() } else { address(column.valid) };
            let (nulls, buffers) = match column.form {
                form if form == Form::Null as u32 => (rows, Vec::new()),
                _ if column.has_offsets() => {
                    (*nulls as usize, vec![valid, address(column.values), address(column.bytes)])
                }
                _ => (*nulls as usize, vec![valid, address(column.values)]),
            };
            Filled { rows, nulls, buffers, children: Vec::new() }
        };
        let children = self.columns.iter().zip(nulls).map(child).collect();
        let batch = Filled { rows, nulls: 0, buffers: vec![null()], children };
        ArrowDeviceArray {
            array: batch.export(&owner).into_raw(),
            device_id: device,
            device_type: DEVICE_CUDA,
            sync_event: std::ptr::null_mut(),
            reserved: [0; 3],
        }
    }
}
