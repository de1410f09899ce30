//! Spark's row-based checksums: what a map task's rows are, whatever their order.
//!
//! Source: `UnsafeRowChecksum` and `RowBasedChecksum` (Spark 4.1 and later). A row's hash is XXH64 with seed 0;
//! a partition's value is the XOR of its rows' hashes, XOR their sum rotated by 27; a map task's value is the
//! polynomial of its partitions' values in 31. Spark compares the values of a map task's attempts.

use xxhash_rust::xxh64::xxh64;

const SEED: u64 = 0;
const ROTATION: u32 = 27;
const FACTOR: u64 = 31;

/// XOR and sum of the hashes of some rows of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hashes {
    xor: u64,
    sum: u64,
}

impl Hashes {
    pub(crate) fn of(rows: &[&[u8]]) -> Self {
        let mut all = Self::default();
        for row in rows {
            let hash = xxh64(row, SEED);
            all.add(Self { xor: hash, sum: hash });
        }
        all
    }

    fn add(&mut self, other: Self) {
        self.xor ^= other.xor;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    fn value(self) -> u64 {
        self.xor ^ self.sum.rotate_left(ROTATION)
    }
}

/// The checksums of all partitions of a map output.
pub(crate) struct RowChecksums(Vec<Hashes>);

impl RowChecksums {
    pub(crate) fn new(partitions: u32) -> Self {
        Self(vec![Hashes::default(); partitions as usize])
    }

    /// Adds the hashes of more rows, by partition.
    pub(crate) fn add(&mut self, batch: &[(u32, Hashes)]) {
        for (partition, hashes) in batch {
            self.0[*partition as usize].add(*hashes);
        }
    }

    /// The value of the whole map output.
    pub(crate) fn aggregate(&self) -> u64 {
        self.0.iter().fold(0u64, |value, p| value.wrapping_mul(FACTOR).wrapping_add(p.value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A partition and its rows.
    type Part<'a> = (u32, &'a [&'a [u8]]);

    fn value(batches: &[&[Part<'_>]]) -> u64 {
        let mut all = RowChecksums::new(3);
        for batch in batches {
            let hashes: Vec<(u32, Hashes)> = batch.iter().map(|(p, rows)| (*p, Hashes::of(rows))).collect();
            all.add(&hashes);
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
    }
}
