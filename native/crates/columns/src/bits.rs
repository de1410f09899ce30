//! Bitmaps: one bit a value, the first in the lowest bit of the first byte.

use crate::buffer::Buffer;
use crate::error::Result;
use crate::room::room;

/// A bitmap of a column; the bit of row 0 need not be the first one.
#[derive(Debug)]
pub(crate) struct Bits {
    bytes: Buffer,
    first: usize,
}

impl Bits {
    /// The bits of `bytes` from number `first` on.
    pub(crate) fn new(bytes: Buffer, first: usize) -> Self {
        Self { bytes, first }
    }

    /// A bitmap of our own.
    pub(crate) fn of(values: impl ExactSizeIterator<Item = bool>) -> Result<Self> {
        let mut bytes = room(values.len().div_ceil(8))?;
        for (i, value) in values.enumerate() {
            if i % 8 == 0 {
                bytes.push(0);
            }
            bytes[i / 8] |= u8::from(value) << (i % 8);
        }
        Ok(Self::new(Buffer::Own(bytes), 0))
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> bool {
        let at = self.first + row;
        self.bytes[at / 8] >> (at % 8) & 1 != 0
    }

    /// How many of the bits from `from` on, `count` of them, are 0; numbers count from the bitmap's first byte.
    pub(crate) fn zeros(bytes: &[u8], from: usize, count: usize) -> usize {
        let end = from + count;
        if count == 0 {
            return 0;
        }
        let (first, last) = (from / 8, (end - 1) / 8);
        let ones = ones(bytes[first..=last].iter().copied());
        // Those of the first and the last byte that are not asked for.
        let before = (bytes[first] & ((1u16 << (from % 8)) - 1) as u8).count_ones();
        let used = end - last * 8;
        let after = (u16::from(bytes[last]) >> used).count_ones();
        count - (ones - u64::from(before + after)) as usize
    }
}

fn ones(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.map(|byte| u64::from(byte.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_counted_from_any_bit_to_any() {
        let bytes = [0b1011_0010u8, 0xFF, 0x00, 0b0101_0101];
        let bits = Bits::new(Buffer::Own(bytes.to_vec()), 0);
        for (from, count) in (0..=32).flat_map(|from| (0..=32 - from).map(move |count| (from, count))) {
            let expected = (from..from + count).filter(|i| !bits.get(*i)).count();
            assert_eq!(Bits::zeros(&bytes, from, count), expected, "{count} from {from}");
        }
    }

    #[test]
    fn more_ones_are_counted_than_32_bits_hold() {
        assert_eq!(ones(std::iter::repeat_n(0xFF, 1 << 29)), 1 << 32);
    }

    #[test]
    fn bits_of_values_are_these_values() {
        let values: Vec<bool> = (0..37).map(|i| i % 3 == 0 || i % 7 == 2).collect();
        let bits = Bits::of(values.iter().copied()).expect("memory");
        assert!((0..37).all(|i| bits.get(i) == values[i]));
    }
}
