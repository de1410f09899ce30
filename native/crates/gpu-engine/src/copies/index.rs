//! Where the partitions of a map output lie.

use std::ops::Range;

use sluice_engine::HeapShare;

/// The end of each partition in the file; partitions lie one behind another.
#[derive(Debug)]
pub(crate) struct PartitionIndex {
    ends: Box<[u64]>,
    _share: HeapShare,
}

impl PartitionIndex {
    /// From the partitions' lengths, as Spark's index file has them; none if one is negative or the sum is too large.
    pub(crate) fn of(lengths: &[i64]) -> Option<Self> {
        let mut end = 0u64;
        let ends: Option<Box<[u64]>> = lengths
            .iter()
            .map(|length| {
                end = end.checked_add(u64::try_from(*length).ok()?).filter(|end| *end <= i64::MAX as u64)?;
                Some(end)
            })
            .collect();
        let ends = ends?;
        let _share = HeapShare::new(size_of_val(&*ends));
        Some(Self { ends, _share })
    }

    /// Bytes of all partitions.
    pub(crate) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Where the bytes of a range of partitions lie; none if there are no such partitions.
    pub(crate) fn range(&self, partitions: &Range<u32>) -> Option<Range<u64>> {
        let (from, until) = (partitions.start as usize, partitions.end as usize);
        if from >= until || until > self.ends.len() {
            return None;
        }
        let start = if from == 0 { 0 } else { self.ends[from - 1] };
        Some(start..self.ends[until - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_partitions_are_ranges_of_bytes() {
        let index = PartitionIndex::of(&[5, 0, 7]).expect("lengths");
        assert_eq!(index.bytes(), 12);
        for (partitions, bytes) in [(0..1, 0..5), (1..2, 5..5), (2..3, 5..12), (0..3, 0..12), (1..3, 5..12)] {
            assert_eq!(index.range(&partitions), Some(bytes), "{partitions:?}");
        }
        #[expect(clippy::reversed_empty_ranges, reason = "what a caller may give")]
        for none in [0..0, 3..3, 2..1, 0..4, 3..4, u32::MAX - 1..u32::MAX] {
            assert_eq!(index.range(&none), None, "{none:?}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        assert!(PartitionIndex::of(&[-1]).is_none());
        assert!(PartitionIndex::of(&[i64::MAX, 1]).is_none());
        let empty = PartitionIndex::of(&[]).expect("no partitions");
        assert_eq!((empty.bytes(), empty.range(&(0..1))), (0, None));
    }
}
