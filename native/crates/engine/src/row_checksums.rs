//! Spark's row-based checksums: values that depend on a map task's rows but not on their order.
//!
//! Source: `UnsafeRowChecksum` and `RowBasedChecksum` (Spark 4.1 and later). A row's hash is XXH64 with seed 0;
//! a partition's value is the XOR of its rows' hashes, XOR their sum rotated by 27; a map task's value is the
//! polynomial of its partitions' values in 31. Spark compares the values of a map task's attempts.

use crate::heap::HeapShare;
use crate::row_hash::RowHasher;

const ROTATION: u32 = 27;
const FACTOR: u64 = 31;

/// How many rows ahead the cache is asked for: the rows of a partition lie all over the batch's pages.
const PREFETCH_ROWS: usize = 12;
/// Most cache lines of a row that are asked for; the processor sees by itself that the rest follows.
const PREFETCH_LINES: usize = 4;

/// Asks the cache for the start of a row.
#[inline(always)]
fn prefetch(row: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..row.len().div_ceil(64).min(PREFETCH_LINES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect but on the cache, whatever the address; every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().wrapping_add(line * 64).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, PREFETCH_LINES);
}

/// XOR and sum of the hashes of some rows of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hashes {
    xor: u64,
    sum: u64,
}

impl Hashes {
    fn of_row(hash: u64) -> Self {
        Self { xor: hash, sum: hash }
    }

    fn add(&mut self, other: Self) {
        self.xor ^= other.xor;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    fn value(self) -> u64 {
        self.xor ^ self.sum.rotate_left(ROTATION)
    }
}

/// The hashes of a batch's rows, by partition.
#[derive(Default)]
pub(crate) struct BatchHashes(Vec<(u32, Hashes)>);

impl BatchHashes {
    /// None yet, with room for so many partitions.
    pub(crate) fn for_partitions(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Adds XOR and sum of the hashes of some rows of `partition`, which is the last one or comes after it.
    pub(crate) fn add(&mut self, partition: u32, (xor, sum): (u64, u64)) {
        if self.0.last().is_none_or(|last| last.0 != partition) {
            self.0.push((partition, Hashes::default()));
        }
        if let Some((_, hashes)) = self.0.last_mut() {
            hashes.add(Hashes { xor, sum });
        }
    }
}

/// Makes [`BatchHashes`] of a batch's rows.
pub(crate) struct BatchHasher<'a> {
    hashes: BatchHashes,
    /// Each row's tag is its place in `hashes`.
    rows: RowHasher<'a, u32>,
}

impl<'a> BatchHasher<'a> {
    /// Bytes of heap memory for each partition that has rows, and once more for the rows that wait.
    pub(crate) const BYTES_EACH: usize = size_of::<(u32, Hashes)>();
    pub(crate) const BYTES: usize = RowHasher::<u32>::BYTES;

    /// With room for so many partitions.
    pub(crate) fn for_partitions(count: usize) -> Self {
        Self { hashes: BatchHashes::for_partitions(count), rows: RowHasher::new() }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.hashes.0.capacity() * Self::BYTES_EACH + Self::BYTES
    }

    /// Adds rows of `partition`, which is the last one or comes after it.
    pub(crate) fn add(&mut self, partition: u32, rows: &[&'a [u8]]) {
        let sums = &mut self.hashes.0;
        if sums.last().is_none_or(|last| last.0 != partition) {
            sums.push((partition, Hashes::default()));
        }
        let place = sums.len() as u32 - 1;
        for (i, row) in rows.iter().enumerate() {
            if let Some(ahead) = rows.get(i + PREFETCH_ROWS) {
                prefetch(ahead);
            }
            self.rows.add(row, place, |place, hash| sums[place as usize].1.add(Hashes::of_row(hash)));
        }
    }

    /// The hashes of all rows that were added.
    pub(crate) fn finish(mut self) -> BatchHashes {
        let sums = &mut self.hashes.0;
        self.rows.finish(|place, hash| sums[place as usize].1.add(Hashes::of_row(hash)));
        self.hashes
    }
}

/// The checksums of all partitions of a map output.
pub(crate) struct RowChecksums {
    partitions: Vec<Hashes>,
    _share: HeapShare,
}

impl RowChecksums {
    pub(crate) fn new(partitions: u32) -> Self {
        let partitions = vec![Hashes::default(); partitions as usize];
        let share = HeapShare::new(partitions.len() * size_of::<Hashes>());
        Self { partitions, _share: share }
    }

    /// Adds the hashes of a batch.
    pub(crate) fn add(&mut self, batch: &BatchHashes) {
        for (partition, hashes) in &batch.0 {
            self.partitions[*partition as usize].add(*hashes);
        }
    }

    /// Adds the hash of one row.
    pub(crate) fn add_row(&mut self, partition: u32, hash: u64) {
        self.partitions[partition as usize].add(Hashes::of_row(hash));
    }

    /// The value of the whole map output.
    pub(crate) fn aggregate(&self) -> u64 {
        self.partitions.iter().fold(0u64, |value, p| value.wrapping_mul(FACTOR).wrapping_add(p.value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_hash::of_row;

    /// A partition and its rows.
    type Part<'a> = (u32, &'a [&'a [u8]]);

    fn value(batches: &[&[Part<'_>]]) -> u64 {
        let mut all = RowChecksums::new(3);
        for batch in batches {
            let mut hasher = BatchHasher::for_partitions(0);
            batch.iter().for_each(|(partition, rows)| hasher.add(*partition, rows));
            all.add(&hasher.finish());
        }
        all.aggregate()
    }

    #[test]
    fn depends_on_rows_and_partitions_but_not_on_order_or_batches() {
        let (a, b, c): (&[u8], &[u8], &[u8]) = (&[1; 8], &[2; 40], &[3; 96]);
        let together = value(&[&[(0, &[a, b]), (2, &[c])]]);
        assert_eq!(value(&[&[(2, &[c])], &[(0, &[b]), (0, &[a])]]), together);
        assert_ne!(value(&[&[(0, &[a, b]), (1, &[c])]]), together);
        assert_ne!(value(&[&[(0, &[a, b, b, b]), (2, &[c])]]), together);
        assert_eq!(value(&[]), 0);
        let mut hashed_elsewhere = RowChecksums::new(3);
        [(2, c), (0, b), (0, a)].iter().for_each(|(partition, row)| hashed_elsewhere.add_row(*partition, of_row(row)));
        assert_eq!(hashed_elsewhere.aggregate(), together);
    }
}
