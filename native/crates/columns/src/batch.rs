//! Batches: rows in columns that a producer owns.

use sluice_codec::Slots;

use crate::column::{Column, Picks};
use crate::error::{ColumnError, Result};
use crate::import;
use crate::owned::OwnedArray;
use crate::room::repeated;
use crate::schema::Schema;

/// The longest row, as Spark's are.
const MOST_ROW_BYTES: u64 = i32::MAX as u64;

/// A batch whose columns have been checked. Immutable; any threads. The array is released when this is dropped.
#[derive(Debug)]
pub struct Batch {
    // Before the array: the columns refer to its buffers.
    columns: Vec<Column>,
    rows: usize,
    schema: Schema,
    _array: OwnedArray,
}

impl Batch {
    /// The batch of an array, a struct whose children are the columns of `schema`.
    ///
    /// # Errors
    /// `Invalid` when the array contradicts itself or the schema, or has a value that no row has; `Unsupported` when
    /// there is no way for it here. The array is released then.
    ///
    /// # Safety
    /// The array is as the interface defines it: see [`OwnedArray::take`].
    pub unsafe fn import(array: OwnedArray, schema: &Schema) -> Result<Self> {
        // SAFETY: as the caller promises; the columns are dropped before the array, and nothing hands them out for
        // longer.
        let (columns, rows) = unsafe { import::columns(array.array(), schema)? };
        let batch = Self { columns, rows, schema: schema.clone(), _array: array };
        batch.check_row_lengths()?;
        Ok(batch)
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What columns it has.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Bytes of its values as Arrow has them in their type: the values, offsets or views, and bits where values are
    /// null; values of a dictionary count in each row.
    pub fn value_bytes(&self) -> u64 {
        self.columns.iter().map(Column::value_bytes).sum()
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(crate) fn column(&self, i: usize) -> Result<&Column> {
        let of = self.columns.len();
        self.columns.get(i).ok_or_else(|| ColumnError::invalid(format!("column {i} of a batch of {of}")))
    }

    /// Bytes of a row's words.
    pub(crate) fn word_bytes(&self) -> u64 {
        (self.columns.len().div_ceil(64) + self.columns.len()) as u64 * 8
    }

    fn check_row_lengths(&self) -> Result<()> {
        let longest: u64 = self.columns.iter().map(|c| c.longest().next_multiple_of(8) as u64).sum();
        if self.word_bytes() + longest <= MOST_ROW_BYTES {
            return Ok(());
        }
        let mut lengths = repeated(self.word_bytes(), self.rows)?;
        for column in self.columns.iter().filter(|c| c.slots() != Slots::None) {
            column.add_slot_bytes(Picks::Range(0, self.rows), &mut lengths);
        }
        match lengths.iter().position(|bytes| *bytes > MOST_ROW_BYTES) {
            Some(row) => Err(ColumnError::unsupported(format!("row {row} has {} bytes", lengths[row]))),
            None => Ok(()),
        }
    }
}
