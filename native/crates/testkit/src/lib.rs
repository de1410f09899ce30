//! Rows for tests and benchmarks: bytes laid out exactly as Spark's `UnsafeRowWriter` does.
//!
//! Used by the other crates' tests and benches only; never part of the library.

pub mod memory;
mod tables;

pub use tables::{Table, bench_table, incompressible, lineitem, xorshift};

/// One field's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL null of a fixed-width or variable-length type.
    Null,
    /// Any 8-byte value (integers are sign-extended, doubles their bits).
    Word(u64),
    /// String, binary, array, map or struct: a slot rounded up to 8 bytes.
    Bytes(Vec<u8>),
    /// A decimal of more than 18 digits: always 16 bytes; null keeps its slot.
    Wide(Option<Vec<u8>>),
    /// A calendar interval: always 16 bytes; null keeps its slot and its size.
    Interval(Option<[u8; 16]>),
}

/// The bytes of one `UnsafeRow`.
pub fn unsafe_row(values: &[Value]) -> Vec<u8> {
    let bitset = values.len().div_ceil(64) * 8;
    let mut row = vec![0u8; bitset + values.len() * 8];
    for (i, value) in values.iter().enumerate() {
        let word = match value {
            Value::Null => {
                row[i / 8] |= 1 << (i % 8);
                0
            }
            Value::Word(w) => *w,
            Value::Bytes(bytes) => append(&mut row, bytes, bytes.len().next_multiple_of(8)),
            Value::Wide(None) => {
                row[i / 8] |= 1 << (i % 8);
                append(&mut row, &[], 16)
            }
            Value::Wide(Some(bytes)) => append(&mut row, bytes, 16),
            Value::Interval(interval) => {
                if interval.is_none() {
                    row[i / 8] |= 1 << (i % 8);
                }
                append(&mut row, &interval.unwrap_or_default(), 16)
            }
        };
        let at = bitset + i * 8;
        row[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    row
}

fn append(row: &mut Vec<u8>, bytes: &[u8], slot: usize) -> u64 {
    let offset = row.len() as u64;
    row.extend_from_slice(bytes);
    row.resize(offset as usize + slot, 0);
    offset << 32 | bytes.len() as u64
}
