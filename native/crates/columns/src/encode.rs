//! Batches to frames.

use sluice_codec::{CodecOptions, Encoder};

use crate::batch::Batch;
use crate::error::ColumnError;
use crate::partition::rows_of;
use crate::partitioned::PartitionedRows;
use crate::rows::{BatchRows, RowId};
use crate::sizes::{Group, PartitionSizes};

/// Most bytes of rows that are copied at a time to be sorted by partition.
const PARTITIONED_BYTES: usize = 64 << 20;

/// Encodes rows of batches; owns its scratch memory. One thread at a time.
///
/// Memory between two calls: what an [`Encoder`] keeps, and after [`ColumnEncoder::encode_partitions`] the room for the
/// rows that it has sorted, at most 64 MiB, and 8 bytes a partition.
pub struct ColumnEncoder {
    pub(crate) encoder: Encoder,
    partitioned: PartitionedRows,
}

impl ColumnEncoder {
    /// An encoder that makes frames of this kind.
    pub fn new(options: CodecOptions) -> Self {
        Self { encoder: Encoder::new(options), partitioned: PartitionedRows::new(PARTITIONED_BYTES) }
    }

    /// Sorts at most so many bytes of rows by partition at a time. The frames are the same; with less memory the
    /// batches are read more often.
    pub fn with_most_partitioned(self, bytes: usize) -> Self {
        Self { partitioned: PartitionedRows::new(bytes), ..self }
    }

    /// Bytes of memory that the encoder holds now.
    pub fn retained_bytes(&self) -> usize {
        self.encoder.retained_bytes() + self.partitioned.retained_bytes()
    }

    /// Encodes rows of these batches, in the order of `rows`, handing each finished frame to `sink`.
    ///
    /// # Errors
    /// `Invalid` when the batches have different columns, or a row is of no batch; those of `sink`.
    pub fn encode<E: From<ColumnError>>(
        &mut self,
        batches: &[&Batch],
        rows: &[RowId],
        sink: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.encoder.encode_columns(&BatchRows::picked(batches, rows)?, sink)
    }

    /// Encodes all rows of these batches, one batch behind the other, handing each finished frame to `sink`.
    ///
    /// # Errors
    /// `Invalid` when the batches have different columns; those of `sink`.
    pub fn encode_all<E: From<ColumnError>>(
        &mut self,
        batches: &[&Batch],
        sink: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.encoder.encode_columns(&BatchRows::all(batches)?, sink)
    }

    /// Encodes all rows of these batches by partition, in ascending order, those of one partition in the order in which
    /// they come, handing each finished frame and its partition to `sink`. `ids[i]` are the partitions of batch `i`.
    ///
    /// The frames are those that [`Self::encode`] makes of each partition's rows. The rows are copied on the way, a
    /// batch's columns one after the other: offsets and lengths are read once to count, and everything once for each
    /// group of partitions whose rows are copied together.
    ///
    /// # Errors
    /// `Invalid` when the batches have different columns, or an id is missing or no partition; `NoMemory` when there is
    /// none for the copies; those of `sink`.
    pub fn encode_partitions<E: From<ColumnError>>(
        &mut self,
        batches: &[&Batch],
        ids: &[&[u32]],
        partitions: u32,
        mut sink: impl FnMut(u32, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let sizes = PartitionSizes::of(batches, ids, partitions)?;
        if partitions == 1 {
            return self.encode_all(batches, |frame| sink(0, frame));
        }
        for group in sizes.groups(self.partitioned.most_bytes()) {
            match group {
                Group::Partitions(group) => {
                    self.partitioned.fill(batches, ids, &sizes, group)?;
                    self.partitioned.for_each_partition(|rows| {
                        self.encoder.encode_columns(&rows, |frame| sink(rows.partition(), frame))
                    })?;
                }
                Group::Large(partition) => {
                    let rows = rows_of(ids, partition, sizes.rows(partition))?;
                    let rows = BatchRows::picked(batches, &rows)?;
                    self.encoder.encode_columns(&rows, |frame| sink(partition, frame))?;
                }
            }
        }
        Ok(())
    }
}
