//! Pairs of an address and a number that are to be sorted by the number: references to rows, as tasks have them.

/// What is sorted, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairSort {
    count: usize,
    low: u32,
    high: u32,
}

impl PairSort {
    /// So many pairs, by the bytes `low` to `high` of their second numbers, of which 0 is the lowest; none unless they
    /// are bytes of a number.
    pub fn new(count: usize, low: u32, high: u32) -> Option<Self> {
        (low <= high && high < u64::BITS / 8).then_some(Self { count, low, high })
    }

    /// How many pairs.
    pub fn count(self) -> usize {
        self.count
    }

    /// Bytes of the pairs.
    pub fn bytes(self) -> usize {
        self.count.saturating_mul(size_of::<[u64; 2]>())
    }

    /// By how many bytes of a number they are sorted.
    pub fn key_bytes(self) -> u32 {
        self.high - self.low + 1
    }

    /// The bits of a number by which they are sorted.
    pub fn mask(self) -> u64 {
        let up_to_high = u64::MAX >> (u64::BITS - 8 * (self.high + 1));
        up_to_high & u64::MAX << (8 * self.low)
    }
}

/// The caller does not wait for the sort any more, and its memory may be another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandoned;

/// Where pairs lie, each as (address, number): those that are to be sorted, and room for as many sorted ones.
pub trait PairMemory {
    /// Copies as many pairs as `target` has, from the one at `from` on.
    ///
    /// # Errors
    /// No pair may be read any more.
    fn read(&mut self, from: usize, target: &mut [[u64; 2]]) -> Result<(), Abandoned>;

    /// Copies sorted pairs to their places, from `at` on.
    ///
    /// # Errors
    /// No pair may be written any more.
    fn write(&mut self, at: usize, sorted: &[[u64; 2]]) -> Result<(), Abandoned>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_sort_are_those_of_a_number() {
        for (low, high, mask) in
            [(0, 7, u64::MAX), (0, 0, 0xFF), (7, 7, 0xFF << 56), (2, 4, 0xFF_FFFF_0000), (0, 3, u64::from(u32::MAX))]
        {
            let sort = PairSort::new(10, low, high).expect("bytes of a number");
            assert_eq!((sort.mask(), sort.key_bytes(), sort.bytes()), (mask, high - low + 1, 160));
        }
        assert_eq!((PairSort::new(1, 0, 8), PairSort::new(1, 3, 2)), (None, None));
        assert_eq!(PairSort::new(usize::MAX, 0, 7).map(PairSort::bytes), Some(usize::MAX));
    }
}
