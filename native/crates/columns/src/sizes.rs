//! How many rows each partition has and how much memory a copy of them takes, counted before they are copied.

use std::ops::Range;

use sluice_codec::{Slots, bitset_words};

use crate::batch::Batch;
use crate::column::Picks;
use crate::error::{ColumnError, Result};
use crate::partition::check;
use crate::partitioned::{CHUNK_ROWS, WORD};
use crate::room::repeated;
use crate::rows::check_same_columns;

/// What one partition has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    pub(crate) rows: usize,
    /// Words of all its rows' slots.
    pub(crate) slot_words: usize,
}

/// What each partition has.
pub(crate) struct PartitionSizes {
    sizes: Vec<Size>,
    /// Words of a row, with the one of where its slots are, if fields have slots; without the slots.
    row_words: usize,
}

/// Partitions that are encoded one after the other.
pub(crate) enum Group {
    /// These, whose rows fit into the memory for copies together.
    Partitions(Range<u32>),
    /// One that does not.
    Large(u32),
}

impl PartitionSizes {
    pub(crate) fn of(batches: &[&Batch], ids: &[&[u32]], partitions: u32) -> Result<Self> {
        check(partitions)?;
        check_same_columns(batches)?;
        if ids.len() != batches.len() {
            return Err(ColumnError::invalid(format!("ids of {} batches, there are {}", ids.len(), batches.len())));
        }
        let fields = batches.first().map_or(0, |batch| batch.columns().len());
        let has_slots = batches.first().is_some_and(|b| b.columns().iter().any(|c| c.slots() != Slots::None));
        let mut sizes: Vec<Size> = repeated(Size::default(), partitions as usize)?;
        let mut lengths = [0; CHUNK_ROWS];
        for (i, (batch, ids)) in batches.iter().zip(ids).enumerate() {
            if ids.len() != batch.rows() {
                let (have, want) = (ids.len(), batch.rows());
                return Err(ColumnError::invalid(format!("{have} ids for the {want} rows of batch {i}")));
            }
            let with_slots = || batch.columns().iter().filter(|column| column.slots() != Slots::None);
            for (chunk, ids) in ids.chunks(CHUNK_ROWS).enumerate() {
                let (first, lengths) = (chunk * CHUNK_ROWS, &mut lengths[..ids.len()]);
                lengths.fill(0);
                with_slots().for_each(|column| column.add_slot_bytes(Picks::Range(first, ids.len()), lengths));
                for (row, (id, bytes)) in ids.iter().zip(&*lengths).enumerate() {
                    let Some(size) = sizes.get_mut(*id as usize) else {
                        let place = format!("row {} of batch {i}", first + row);
                        return Err(ColumnError::invalid(format!("{place}: partition {id} of {partitions}")));
                    };
                    size.rows += 1;
                    size.slot_words += *bytes as usize / WORD;
                }
            }
        }
        Ok(Self { sizes, row_words: bitset_words(fields) + fields + usize::from(has_slots) })
    }

    /// How many partitions there are.
    pub(crate) fn partitions(&self) -> usize {
        self.sizes.len()
    }

    /// Words of a row in the copy, without slots.
    pub(crate) fn row_words(&self) -> usize {
        self.row_words
    }

    /// Of this partition and those behind it.
    pub(crate) fn from(&self, partition: u32) -> &[Size] {
        &self.sizes[partition as usize..]
    }

    /// Rows of a partition.
    pub(crate) fn rows(&self, partition: u32) -> usize {
        self.sizes[partition as usize].rows
    }

    /// All partitions that have rows, ascending, in groups of at most so many bytes.
    pub(crate) fn groups(&self, most_bytes: usize) -> Vec<Group> {
        let mut groups = Vec::new();
        let (mut first, mut bytes) = (0, 0);
        for (partition, size) in (0..).zip(&self.sizes) {
            // Rows without columns take a word, so that they are not too many for `Place`.
            let more = (size.rows * self.row_words.max(1) + size.slot_words) * WORD;
            if bytes + more > most_bytes {
                if bytes > 0 {
                    groups.push(Group::Partitions(first..partition));
                }
                (first, bytes) = (partition, 0);
            }
            if more > most_bytes {
                groups.push(Group::Large(partition));
                first = partition + 1;
            } else {
                bytes += more;
            }
        }
        if bytes > 0 {
            groups.push(Group::Partitions(first..self.sizes.len() as u32));
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_grouped_by_their_bytes() {
        let of = |rows: &[usize]| PartitionSizes {
            sizes: rows.iter().map(|rows| Size { rows: *rows, slot_words: 0 }).collect(),
            row_words: 1,
        };
        // From, until; a large partition begins at 1000 more.
        let groups = |rows: &[usize]| -> Vec<(u32, u32)> {
            let pair = |group| match group {
                Group::Partitions(range) => (range.start, range.end),
                Group::Large(partition) => (partition + 1000, partition + 1001),
            };
            of(rows).groups(10 * WORD).into_iter().map(pair).collect()
        };
        assert_eq!(groups(&[3, 3, 4]), [(0, 3)]);
        assert_eq!(groups(&[3, 3, 5, 0, 5, 0]), [(0, 2), (2, 6)]);
        assert_eq!(groups(&[11, 0, 10, 12, 13, 1]), [(1000, 1001), (1, 3), (1003, 1004), (1004, 1005), (5, 6)]);
        // Only empty partitions are left.
        assert_eq!(groups(&[11, 0, 0]), [(1000, 1001)]);
        assert_eq!(groups(&[0, 0]), []);
    }
}
