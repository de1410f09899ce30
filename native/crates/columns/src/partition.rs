//! The partitions of a batch's rows, as Spark's exchange gives them to the same rows.

use crate::batch::Batch;
use crate::decode::array_of_rows;
use crate::error::{ColumnError, ErrorKind, Result};
use crate::format::Type;
use crate::hash::SEED;
use crate::order::{OrderBetween, SortKey};
use crate::room::{collected, repeated, room};
use crate::rows::RowId;
use crate::separate::Formats;

/// More partitions than there can be: Spark's numbers are signed.
const PARTITIONS_LIMIT: u32 = i32::MAX as u32;

/// By Spark's hash of these columns, in this order, as its `HashPartitioning` does.
///
/// # Errors
/// `Unsupported` for columns whose hash is left to Spark (intervals of months, days and nanoseconds); `NoMemory` when
/// there is none for the numbers of so many rows.
pub fn hash(batch: &Batch, columns: &[usize], partitions: u32) -> Result<Vec<u32>> {
    let partitions = check(partitions)?;
    let mut hashes = repeated(SEED, batch.rows())?;
    for i in columns {
        batch.column(*i)?.hash(&mut hashes).map_err(|e| e.at(format_args!("column {i}")))?;
    }
    let modulus = Modulus::of(partitions);
    hashes.iter_mut().for_each(|hash| *hash = modulus.of_hash(*hash));
    Ok(hashes)
}

/// Spark's non-negative modulus, by multiplications: a division for each row takes longer than its hash.
///
/// Source: D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation" (2019): for 32-bit numbers, the
/// fraction `n / d` with 64 bits is exact enough, and its product with `d` is the remainder.
struct Modulus {
    divisor: u32,
    /// 2^64 / divisor, rounded up.
    fraction: u64,
}

impl Modulus {
    fn of(divisor: i32) -> Self {
        let divisor = divisor as u32;
        Self { divisor, fraction: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    #[inline(always)]
    fn of_hash(&self, hash: u32) -> u32 {
        // All bits are flipped where the hash, as a signed number, is negative: -1 becomes 0.
        let sign = ((hash as i32) >> 31) as u32;
        let low = self.fraction.wrapping_mul(u64::from(hash ^ sign));
        let remainder = ((u128::from(low) * u128::from(self.divisor)) >> 64) as u32;
        if sign == 0 { remainder } else { self.divisor - 1 - remainder }
    }
}

/// By ranges of an order: the number of bounds that are less than the row, as Spark's `RangePartitioner` gives it.
///
/// `bounds` has a column for each key, and rows in strictly ascending order; the partitions are one more.
///
/// # Errors
/// `Invalid` when bounds and keys do not go together, `Unsupported` for columns without an order; `NoMemory`.
pub fn range(batch: &Batch, keys: &[SortKey], bounds: &Batch) -> Result<Vec<u32>> {
    check(u32::try_from(bounds.rows()).unwrap_or(u32::MAX).saturating_add(1))?;
    let order = OrderBetween::of(batch, keys, bounds)?;
    let numbers = collected((0..bounds.rows()).map(|bound| order.number_of_bound(bound)))?;
    let below = |row: usize| {
        let number = order.number(row);
        let from = numbers.partition_point(|bound| *bound < number);
        let equal = numbers[from..].partition_point(|bound| *bound == number);
        first_not_below(from, from + equal, |bound| order.compare(row, bound).is_gt()) as u32
    };
    collected((0..batch.rows()).map(below))
}

/// The first bound from `from` on that is not below, at most `until`; those that are below come first.
#[inline(always)]
fn first_not_below(mut from: usize, mut until: usize, is_below: impl Fn(usize) -> bool) -> usize {
    while from < until {
        let middle = from + (until - from) / 2;
        if is_below(middle) {
            from = middle + 1;
        } else {
            until = middle;
        }
    }
    from
}

/// Ranges of an order whose bounds come as rows, for any number of batches. Immutable; any threads.
#[derive(Debug)]
pub struct Ranges {
    keys: Vec<SortKey>,
    bounds: Batch,
}

impl Ranges {
    /// Ranges of batches that have the column `keys[i].column` of type `formats[i]`.
    ///
    /// `rows` are the bounds as `UnsafeRow`s, one behind the other, of so many bytes each: a field for each key, and
    /// strings of any bytes. A key of a wider type than its column may be given as the column's, if each bound is a
    /// value of the column.
    ///
    /// # Errors
    /// `Invalid` when the rows are none of these types, or too many; `Unsupported` for columns without an order, and
    /// when the bounds do not rise, so that their order is another one; `NoMemory`.
    pub fn of_rows(formats: &Formats, keys: Vec<SortKey>, rows: &[u8], lengths: &[u32]) -> Result<Self> {
        check(u32::try_from(lengths.len()).unwrap_or(u32::MAX).saturating_add(1))?;
        let mut schema = formats.schema().clone();
        for field in &mut schema.fields {
            if let Type::Utf8(layout) = field.ty {
                field.ty = Type::Binary(layout);
            }
        }
        let array = array_of_rows(&schema, rows, lengths)
            .map_err(|e| e.instead(ErrorKind::Corrupt, ErrorKind::Invalid).at("bounds"))?;
        // SAFETY: made here.
        let bounds = unsafe { Batch::import(array, &schema)? };
        let among = (0..).zip(&keys).map(|(column, key)| SortKey { column, ..*key }).collect::<Vec<_>>();
        let order = OrderBetween::of(&bounds, &among, &bounds)?;
        if let Some(bound) = (1..bounds.rows()).find(|bound| !order.compare(bound - 1, *bound).is_lt()) {
            return Err(ColumnError::unsupported(format!("bound {bound} is not above the one before it")));
        }
        Ok(Self { keys, bounds })
    }

    /// How many ranges there are: one more than bounds.
    pub fn partitions(&self) -> u32 {
        self.bounds.rows() as u32 + 1
    }

    /// The range of each row of a batch.
    ///
    /// # Errors
    /// As for [`range`].
    pub fn of(&self, batch: &Batch) -> Result<Vec<u32>> {
        range(batch, &self.keys, &self.bounds)
    }
}

/// In turn. Spark starts a task at a number that it draws from the partition's (`position`); the first row gets the
/// partition after it. The next batch goes on at `position` plus this one's rows, wrapping at 32 bits.
///
/// A task that runs again must give each row the same partition, so its rows must come in the same order; Spark sorts
/// them for that.
///
/// # Errors
/// `Invalid` when there are no partitions; `NoMemory`.
pub fn round_robin(rows: usize, position: i32, partitions: u32) -> Result<Vec<u32>> {
    let partitions = check(partitions)?;
    let of = |row: usize| position.wrapping_add(1).wrapping_add(row as i32).rem_euclid(partitions) as u32;
    collected((0..rows).map(of))
}

/// All rows in partition 0.
///
/// # Errors
/// `NoMemory`, as for the others.
pub fn single(rows: usize) -> Result<Vec<u32>> {
    repeated(0, rows)
}

pub(crate) fn check(partitions: u32) -> Result<i32> {
    if partitions == 0 || partitions > PARTITIONS_LIMIT {
        return Err(ColumnError::invalid(format!("{partitions} partitions")));
    }
    Ok(partitions as i32)
}

/// The rows of one partition, of which there are `count`, in the order in which they come; `ids[i]` are the partitions
/// of batch `i`.
pub(crate) fn rows_of(ids: &[&[u32]], partition: u32, count: usize) -> Result<Vec<RowId>> {
    let mut rows = room(count)?;
    for (batch, ids) in (0..).zip(ids) {
        let those = (0..).zip(*ids).filter(|(_, id)| **id == partition);
        rows.extend(those.map(|(row, _)| RowId { batch, row }));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_goes_on_where_sparks_counter_overflows() {
        assert_eq!(round_robin(4, 6, 3).expect("ids"), [1, 2, 0, 1]);
        // Spark's counter is an int; the partition is that of its non-negative modulus.
        assert_eq!(round_robin(3, i32::MAX - 1, 10).expect("ids"), [7, 2, 3]);
        assert!(round_robin(1, 0, 0).is_err());
    }

    #[test]
    fn the_modulus_is_that_of_divisions() {
        let edges =
            [0, 1, 2, 3, 199, 200, 201, i32::MAX - 1, i32::MAX, -1, -2, -199, -200, -201, i32::MIN, i32::MIN + 1];
        let mixed = (0..2000u32).map(|i| i.wrapping_mul(0x9E37_79B9) as i32);
        for divisor in [1, 2, 3, 7, 199, 200, 256, 1000, 65_537, 1 << 30, i32::MAX - 1, i32::MAX] {
            let modulus = Modulus::of(divisor);
            for hash in edges.into_iter().chain(mixed.clone()) {
                let expected = hash.rem_euclid(divisor) as u32;
                assert_eq!(modulus.of_hash(hash as u32), expected, "{hash} by {divisor}");
            }
        }
    }

    #[test]
    fn rows_stay_in_order_within_their_partition() {
        let rows = |partition, count| {
            let rows = rows_of(&[&[2, 0, 2], &[0, 2]], partition, count).expect("memory");
            rows.iter().map(|id| (id.batch, id.row)).collect::<Vec<_>>()
        };
        assert_eq!(rows(0, 2), [(0, 1), (1, 0)]);
        assert_eq!(rows(1, 0), []);
        assert_eq!(rows(2, 3), [(0, 0), (0, 2), (1, 1)]);
    }
}
