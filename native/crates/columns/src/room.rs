//! Memory for as many values as a batch has rows: a producer may claim four billion of them without a byte of data, so
//! that there may be none is an error like others.

use crate::error::{ColumnError, ErrorKind, Result};

/// An empty vector with room for so many values.
pub(crate) fn room<T>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| {
        let what = format!("no memory for {len} values of {} bytes", size_of::<T>());
        ColumnError::new(ErrorKind::NoMemory, what)
    })?;
    Ok(values)
}

/// So many equal values.
pub(crate) fn repeated<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut values = room(len)?;
    values.resize(len, value);
    Ok(values)
}

/// These values.
pub(crate) fn collected<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = room(values.len())?;
    all.extend(values);
    Ok(all)
}

/// These values, if none is an error.
pub(crate) fn all_of<T>(values: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut all = room(values.len())?;
    for value in values {
        all.push(value?);
    }
    Ok(all)
}
