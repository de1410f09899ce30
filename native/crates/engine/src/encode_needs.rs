//! How much memory an encode can take, computed beforehand.

use sluice_codec::{Encoder, HEADER_BYTES, SEAL_BYTES};

use crate::encode::EncodeSettings;
use crate::row_checksums::BatchHasher;
use crate::run::{Chunks, RunIndex};
use crate::sort::{FEWEST_SORT_ROWS, SORT_ROWS};

/// What a batch is like, for [`EncodeNeeds`].
#[derive(Debug, Clone, Copy)]
pub struct BatchShape {
    /// Bytes of all rows.
    pub row_bytes: usize,
    /// Number of rows.
    pub rows: usize,
    /// Bytes of the longest row.
    pub longest_row: usize,
    /// Fields of a row.
    pub fields: u32,
}

/// The most memory that an encode takes while it runs, pages not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeNeeds {
    /// Leased from the arena: the sort's arrays, and the run.
    pub arena_bytes: usize,
    /// On the heap: the encoder's scratch, the run's index, the hashes of rows.
    pub heap_bytes: usize,
}

/// A frame ends a partition or a window of the sort, or it has so many rows, or it has so many bytes.
const FRAME_ROWS: usize = 512;
const FRAME_ROW_BYTES: usize = 128 << 10;
/// What a frame adds to its rows at most: a header, and a length for each row.
const ROW_LENGTH_BYTES: usize = 4;

impl EncodeNeeds {
    /// In words: a run takes at most its rows, 4 bytes a row more, and a header and perhaps a seal a frame; the sort
    /// takes 16 bytes for each of at most 1,048,576 rows, and 4 bytes a partition. The arena rounds each lease up by an
    /// eighth, or to 4 KiB. The encoder takes [`Encoder::scratch_bound`], mostly three times the longest row and 6 MiB;
    /// the index 16 bytes for each partition that has rows, the hashes 24 and 11 KiB.
    pub(crate) fn of(batch: &BatchShape, settings: EncodeSettings<'_>) -> Self {
        let partitions = batch.rows.min(settings.partitions as usize);
        let sorted_rows = batch.rows.min(SORT_ROWS);
        let windows = batch.rows.div_ceil(FEWEST_SORT_ROWS);
        let frames = partitions + windows + batch.rows / FRAME_ROWS + batch.row_bytes / FRAME_ROW_BYTES;
        let frame_bytes = HEADER_BYTES + if settings.sealer.is_some() { SEAL_BYTES } else { 0 };
        let run = batch.row_bytes + batch.rows * ROW_LENGTH_BYTES + frames * frame_bytes;
        let rounded = |bytes: usize| bytes + (bytes / 8).max(4096);
        let (hash_bytes, hasher_bytes) =
            if settings.hash_rows { (BatchHasher::BYTES_EACH, BatchHasher::BYTES) } else { (0, 0) };
        let encoder = Encoder::new(settings.options);
        Self {
            arena_bytes: rounded(run.next_multiple_of(Chunks::chunk_bytes(batch.row_bytes)))
                + rounded(sorted_rows * size_of::<&[u8]>())
                + rounded((settings.partitions as usize + 1) * size_of::<u32>()),
            heap_bytes: encoder.scratch_bound(batch.longest_row, batch.fields)
                + partitions * (RunIndex::BYTES_EACH + hash_bytes)
                + hasher_bytes,
        }
    }
}
