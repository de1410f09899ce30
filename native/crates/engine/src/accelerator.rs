//! What encodes batches and sorts pairs in place of the calling thread, such as a GPU. This crate knows none: it asks
//! for frames, and takes those that are in order.

use std::time::Duration;

use sluice_codec::CodecOptions;

use crate::pairs::{PairMemory, PairSort};
use crate::sort::Page;

/// Of a row in a page: its offset and its partition.
const ENTRY_BYTES: usize = 8;

/// A whole batch of a map output.
#[derive(Debug, Clone, Copy)]
pub struct AcceleratorBatch<'p, 'a> {
    /// Fields of each row.
    pub fields: u32,
    /// Partitions of the map output.
    pub partitions: u32,
    /// The pages, in the order in which they were filled. They are only read, and only during the call.
    pub pages: &'p [Page<'a>],
    /// How frames are made.
    pub options: CodecOptions,
    /// Whether the hashes of rows are asked for.
    pub hash_rows: bool,
}

impl AcceleratorBatch<'_, '_> {
    /// Bytes of rows and of their entries, 8 bytes each: how large the batch is, for everyone who asks. A writer in the
    /// JVM fills batches up to so many bytes by the same measure (`PageBatch.filledBytes`).
    pub fn bytes(&self) -> usize {
        let filled = |page: &Page<'_>| page.entries.saturating_mul(ENTRY_BYTES).saturating_add(page.used);
        self.pages.iter().map(filled).fold(0, usize::saturating_add)
    }

    /// Bytes of rows.
    pub fn row_bytes(&self) -> usize {
        Page::row_bytes_of(self.pages)
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        Page::rows_of(self.pages)
    }
}

/// One frame of a batch.
#[derive(Debug, Clone, Copy)]
pub struct AcceleratorFrame<'f> {
    /// Whose rows it has.
    pub partition: u32,
    /// How many.
    pub rows: u32,
    /// Header and payload, as the CPU's encoder makes them.
    pub bytes: &'f [u8],
    /// XOR and sum of the XXH64 hashes of its rows, with seed 0; zeros if they were not asked for.
    pub row_hashes: (u64, u64),
}

/// The batch was not encoded, or the pairs not sorted; the caller does it. Frames and pairs that were handed over are
/// thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declined {
    /// The reason.
    pub why: &'static str,
    /// Whether it is that the accelerator has found something wrong with the pages.
    pub finds_pages_wrong: bool,
}

impl Declined {
    /// For a reason that says nothing of the pages.
    pub fn new(why: &'static str) -> Self {
        Self { why, finds_pages_wrong: false }
    }
}

/// Why a frame was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTaken {
    /// The map output has no room for it.
    NoRoom,
    /// It cannot be a frame of the batch, in the place that it has: the accelerator makes what is wrong.
    Wrong(&'static str),
}

impl From<NotTaken> for Declined {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::NoRoom => Self::new("no room for the run"),
            NotTaken::Wrong(what) => Self::new(what),
        }
    }
}

/// Takes the frames of a batch. After an error no more are handed over, and the batch is declined with it.
pub type TakeFrame<'t> = dyn FnMut(AcceleratorFrame<'_>) -> Result<(), NotTaken> + 't;

/// Encodes batches and sorts pairs in place of the calling thread. Any thread may call anything.
pub trait Accelerator: Send + Sync {
    /// Makes the frames of a batch that the CPU's encoder would make, byte for byte, and hands them over in the order
    /// of their partitions. It returns within a bounded time, and does not judge what is wrong with the pages.
    ///
    /// # Errors
    /// It does not want to, or cannot. The caller's own encoder then encodes the same pages.
    fn encode(&self, batch: &AcceleratorBatch<'_, '_>, take: &mut TakeFrame<'_>) -> Result<(), Declined>;

    /// Tells how long the calling thread took for a batch that the accelerator has declined, as `declined` says, or was
    /// not asked for. The thread's encoder has found nothing wrong with the pages.
    fn encoded_by_cpu(&self, batch: &AcceleratorBatch<'_, '_>, took: Duration, declined: Option<Declined>);

    /// Sorts pairs by some bytes of their second numbers, as unsigned numbers; pairs that are equal in these bytes stay
    /// in order. So the result is that of any stable sort. All pairs are read before the first is written. It returns
    /// within a bounded time.
    ///
    /// # Errors
    /// It does not want to, or cannot. Some pairs may have been written then, and the caller sorts those that it has
    /// given to be read.
    fn sort_pairs(&self, sort: PairSort, memory: &mut dyn PairMemory) -> Result<(), Declined>;

    /// Tells how long the calling thread took to sort pairs that the accelerator has declined, or was not asked to
    /// sort.
    fn pairs_sorted_by_cpu(&self, sort: PairSort, took: Duration);
}
