//! Spark's hash of values: Murmur3 (x86, 32 bits) in the variant of `org.apache.spark.unsafe.hash.Murmur3_x86_32`,
//! which takes the bytes behind the last whole word one by one.
//!
//! `HashColumn` computes the same from rows, in Java. Both are held to the same vectors
//! (`native/crates/columns/tests/vectors`).

use crate::column::{Column, Values};
use crate::error::{ColumnError, Result};
use crate::format::Type;

/// Spark's seed for the first column.
pub(crate) const SEED: u32 = 42;

#[inline(always)]
fn mix_k(k: u32) -> u32 {
    k.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593)
}

#[inline(always)]
fn mix_h(h: u32, k: u32) -> u32 {
    (h ^ mix_k(k)).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
}

#[inline(always)]
fn finish(h: u32, bytes: u32) -> u32 {
    let mut h = h ^ bytes;
    h = (h ^ h >> 16).wrapping_mul(0x85EB_CA6B);
    h = (h ^ h >> 13).wrapping_mul(0xC2B2_AE35);
    h ^ h >> 16
}

#[inline(always)]
fn hash_int(value: u32, seed: u32) -> u32 {
    finish(mix_h(seed, value), 4)
}

#[inline(always)]
fn hash_long(value: u64, seed: u32) -> u32 {
    finish(mix_h(mix_h(seed, value as u32), (value >> 32) as u32), 8)
}

#[inline(always)]
fn hash_bytes(bytes: &[u8], seed: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let h = words.iter().fold(seed, |h, word| mix_h(h, u32::from_le_bytes(*word)));
    let h = rest.iter().fold(h, |h, byte| mix_h(h, *byte as i8 as u32));
    finish(h, bytes.len() as u32)
}

/// Zeros are one value, NaNs too.
#[inline(always)]
fn float_bits(word: u64) -> u32 {
    match f32::from_bits(word as u32) {
        0.0 => 0,
        nan if nan.is_nan() => 0x7FC0_0000,
        other => other.to_bits(),
    }
}

#[inline(always)]
fn double_bits(word: u64) -> u64 {
    match f64::from_bits(word) {
        0.0 => 0,
        nan if nan.is_nan() => 0x7FF8_0000_0000_0000,
        other => other.to_bits(),
    }
}

impl Column {
    /// Goes on with each row's hash, by this column's value; a null leaves it as it is.
    pub(crate) fn hash(&self, hashes: &mut [u32]) -> Result<()> {
        match self.ty {
            Type::Null => {}
            Type::Boolean => self.hash_words(hashes, |word, seed| hash_int(word as u32, seed)),
            Type::Int8 => self.hash_words(hashes, |word, seed| hash_int(word as i8 as u32, seed)),
            Type::Int16 => self.hash_words(hashes, |word, seed| hash_int(word as i16 as u32, seed)),
            Type::UInt8 | Type::UInt16 | Type::Int32 | Type::Date32 | Type::Date64 | Type::Months => {
                self.hash_words(hashes, |word, seed| hash_int(word as u32, seed));
            }
            Type::Float32 => self.hash_words(hashes, |word, seed| hash_int(float_bits(word), seed)),
            Type::Float64 => self.hash_words(hashes, |word, seed| hash_long(double_bits(word), seed)),
            Type::MonthDayNano => {
                return Err(ColumnError::unsupported("the hash of an interval of months, days and nanoseconds"));
            }
            Type::Utf8(_) | Type::Binary(_) | Type::FixedBinary(_) => {
                self.each(hashes, |row, seed| hash_bytes(self.bytes(row), seed));
            }
            _ if self.ty.is_wide_decimal() => self.each(hashes, |row, seed| {
                let value = self.wide_decimal(row);
                hash_bytes(&value.to_be_bytes()[16 - crate::column::decimal_len(value)..], seed)
            }),
            _ => self.hash_words(hashes, hash_long),
        }
        Ok(())
    }

    #[inline(always)]
    fn each(&self, hashes: &mut [u32], of: impl Fn(usize, u32) -> u32) {
        for (row, hash) in hashes.iter_mut().enumerate().filter(|(row, _)| self.is_valid(*row)) {
            *hash = of(row, *hash);
        }
    }

    #[inline(always)]
    fn hash_words(&self, hashes: &mut [u32], of: impl Fn(u64, u32) -> u32) {
        match &self.values {
            // The two of most keys, without a look at the kind for each value.
            Values::Fixed { width: 8, data } => {
                self.hash_values(data.values(), hashes, |value, seed| of(u64::from_le_bytes(*value), seed));
            }
            Values::Fixed { width: 4, data } => {
                self.hash_values(data.values(), hashes, |value, seed| of(u32::from_le_bytes(*value).into(), seed));
            }
            _ => self.each(hashes, |row, seed| of(self.word(row), seed)),
        }
    }

    #[inline(always)]
    fn hash_values<const N: usize>(&self, values: &[[u8; N]], hashes: &mut [u32], of: impl Fn(&[u8; N], u32) -> u32) {
        match &self.valid {
            // A loop that the compiler makes one over registers of several values.
            None => hashes.iter_mut().zip(values).for_each(|(hash, value)| *hash = of(value, *hash)),
            Some(_) => self.each(hashes, |row, seed| of(&values[row], seed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that Spark's `Murmur3Hash` gives with the seed 42 (`select hash(…)`).
    #[test]
    fn hashes_are_sparks() {
        assert_eq!(hash_int(1, SEED), 0xDEA5_78E3);
        assert_eq!(hash_int(0, SEED), 0x379F_AE8F);
        assert_eq!(hash_int(-1i32 as u32, SEED), 0xA059_0E3D);
        assert_eq!(hash_long(1, SEED), 0x99F0_149D);
        assert_eq!(hash_long(-1i64 as u64, SEED), 0xC800_8529);
        assert_eq!(hash_bytes(b"hello", SEED), 3_286_402_344);
        assert_eq!(hash_bytes(b"", SEED), 142_593_372);
        assert_eq!(hash_bytes("天地".as_bytes(), SEED), 2_395_000_894);
    }

    #[test]
    fn zeros_are_one_value_and_nans_are_one_value() {
        assert_eq!(float_bits(u64::from((-0.0f32).to_bits())), 0);
        assert_eq!(double_bits((-0.0f64).to_bits()), 0);
        assert_eq!(float_bits(0xFFC1_2345), 0x7FC0_0000);
        assert_eq!(double_bits(0xFFF8_0000_0000_0001), 0x7FF8_0000_0000_0000);
    }
}
