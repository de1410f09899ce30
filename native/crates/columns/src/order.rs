//! Spark's order of rows by columns.

use std::cmp::Ordering;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ColumnError, Result};
use crate::format::{Type, Unit};

/// A column of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// Which column.
    pub column: usize,
    /// Whether larger values come first.
    pub descending: bool,
    /// Whether nulls come before all values, whichever of these come first.
    pub nulls_first: bool,
}

/// How words of a type compare.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// As signed numbers of so many bits.
    Signed(u32),
    Float,
    Double,
    Bytes,
    WideDecimal,
    /// Every value is null.
    Null,
}

impl Kind {
    fn of(ty: Type) -> Result<Self> {
        Ok(match ty {
            Type::Null => Self::Null,
            Type::Int8 => Self::Signed(8),
            Type::Int16 => Self::Signed(16),
            Type::Int32 | Type::Date32 | Type::Date64 | Type::Months => Self::Signed(32),
            Type::Float32 => Self::Float,
            Type::Float64 => Self::Double,
            Type::Utf8(_) | Type::Binary(_) | Type::FixedBinary(_) => Self::Bytes,
            Type::MonthDayNano => return Err(ColumnError::unsupported("intervals have no order")),
            _ if ty.is_wide_decimal() => Self::WideDecimal,
            _ => Self::Signed(64),
        })
    }
}

/// The order of rows of one batch among those of another, the bounds.
pub(crate) struct OrderBetween<'b> {
    keys: Vec<(SortKey, Kind, &'b Column, &'b Column)>,
}

impl<'b> OrderBetween<'b> {
    /// Of `keys`, the first refers to column 0 of `bounds`, and so on.
    pub(crate) fn of(rows: &'b Batch, keys: &[SortKey], bounds: &'b Batch) -> Result<Self> {
        if keys.len() != bounds.columns().len() {
            let columns = bounds.columns().len();
            return Err(ColumnError::invalid(format!("bounds of {columns} columns for an order by {}", keys.len())));
        }
        let pair = |(i, key): (usize, &SortKey)| {
            let (column, bound) = (rows.column(key.column)?, bounds.column(i)?);
            if !alike(column.ty, bound.ty) {
                let (i, have, want) = (key.column, bound.ty, column.ty);
                return Err(ColumnError::invalid(format!("column {i} is {want:?}, its bounds are {have:?}")));
            }
            let kind = Kind::of(column.ty).map_err(|e| e.at(format_args!("column {}", key.column)))?;
            Ok((*key, kind, column, bound))
        };
        Ok(Self { keys: keys.iter().enumerate().map(pair).collect::<Result<_>>()? })
    }

    /// Of a row: one with a lower number comes first, and those with equal numbers must be compared.
    #[inline(always)]
    pub(crate) fn number(&self, row: usize) -> u64 {
        self.keys.first().map_or(0, |(key, kind, rows, _)| number(key, *kind, rows, row))
    }

    /// The same of a bound.
    pub(crate) fn number_of_bound(&self, bound: usize) -> u64 {
        self.keys.first().map_or(0, |(key, kind, _, bounds)| number(key, *kind, bounds, bound))
    }

    pub(crate) fn compare(&self, row: usize, bound: usize) -> Ordering {
        for (key, kind, rows, bounds) in &self.keys {
            let order = match (rows.is_valid(row), bounds.is_valid(bound)) {
                (true, true) => {
                    let order = compare(*kind, rows, row, bounds, bound);
                    if key.descending { order.reverse() } else { order }
                }
                (false, false) => Ordering::Equal,
                // Nulls first: a row without a value is less.
                (valid, _) => {
                    if valid == key.nulls_first {
                        Ordering::Greater
                    } else {
                        Ordering::Less
                    }
                }
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }
}

/// Whether values of these types are stored alike in rows.
fn alike(one: Type, other: Type) -> bool {
    let bytes = |ty| matches!(ty, Type::Utf8(_) | Type::Binary(_) | Type::FixedBinary(_));
    let stored = |ty| match ty {
        Type::Date64 => Type::Date32,
        Type::Timestamp { .. } => Type::Timestamp { unit: Unit::Micro, zone: true },
        Type::Duration(_) => Type::Duration(Unit::Micro),
        Type::Time(_) => Type::Time(Unit::Nano),
        Type::Decimal { precision, scale, .. } => Type::Decimal { precision, scale, bytes: 16 },
        other => other,
    };
    stored(one) == stored(other) || bytes(one) && bytes(other)
}

/// The highest bits of a value as the order has it, one bit of them being given up for nulls.
#[inline(always)]
fn number(key: &SortKey, kind: Kind, column: &Column, row: usize) -> u64 {
    if !column.is_valid(row) {
        return if key.nulls_first { 0 } else { u64::MAX };
    }
    const SIGN: u64 = 1 << 63;
    let value = match kind {
        Kind::Signed(bits) => signed(column.word(row), bits) as u64 ^ SIGN,
        Kind::Float => float_number(f64::from(f32::from_bits(column.word(row) as u32))),
        Kind::Double => float_number(f64::from_bits(column.word(row))),
        Kind::Bytes => first_bytes(column.bytes(row)),
        Kind::WideDecimal => (column.wide_decimal(row) >> 64) as u64 ^ SIGN,
        Kind::Null => 0,
    };
    let value = if key.descending { !value } else { value };
    value >> 1 | if key.nulls_first { SIGN } else { 0 }
}

/// Rises with the number in Spark's order.
fn float_number(value: f64) -> u64 {
    let bits = if value == 0.0 {
        0
    } else if value.is_nan() {
        0x7FF8_0000_0000_0000
    } else {
        value.to_bits()
    };
    // The bits of negative numbers fall as the numbers rise.
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The first eight bytes, with zeros behind fewer.
fn first_bytes(value: &[u8]) -> u64 {
    let mut first = [0; 8];
    match value.first_chunk() {
        Some(bytes) => first = *bytes,
        None => first[..value.len()].copy_from_slice(value),
    }
    u64::from_be_bytes(first)
}

#[inline(always)]
fn compare(kind: Kind, rows: &Column, row: usize, bounds: &Column, bound: usize) -> Ordering {
    match kind {
        Kind::Signed(bits) => signed(rows.word(row), bits).cmp(&signed(bounds.word(bound), bits)),
        Kind::Float => floats(
            f64::from(f32::from_bits(rows.word(row) as u32)),
            f64::from(f32::from_bits(bounds.word(bound) as u32)),
        ),
        Kind::Double => floats(f64::from_bits(rows.word(row)), f64::from_bits(bounds.word(bound))),
        Kind::Bytes => rows.bytes(row).cmp(bounds.bytes(bound)),
        Kind::WideDecimal => rows.wide_decimal(row).cmp(&bounds.wide_decimal(bound)),
        Kind::Null => Ordering::Equal,
    }
}

fn signed(word: u64, bits: u32) -> i64 {
    (word << (64 - bits)) as i64 >> (64 - bits)
}

/// Zeros are equal, NaNs are too, and above all other numbers.
fn floats(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_in_sparks_order() {
        assert_eq!(floats(0.0, -0.0), Ordering::Equal);
        assert_eq!(floats(f64::NAN, -f64::NAN), Ordering::Equal);
        assert_eq!(floats(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(floats(1.0, f64::NAN), Ordering::Less);
        assert_eq!(floats(-1.0, 1.0), Ordering::Less);
    }
}
