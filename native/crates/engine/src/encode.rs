//! Pages to a run: sort by partition, then encode each partition's rows.
//!
//! What an encode needs before its run is kept is bounded by [`crate::EncodeNeeds`], whatever is in the pages.

use std::cell::Cell;
use std::sync::Arc;

use sluice_codec::{CodecOptions, Encoder, FrameSink, SEAL_BYTES, Sealer, SealsDigest};
use sluice_mem::Arena;

use crate::error::{EngineError, ErrorKind};
use crate::heap::HeapShare;
use crate::row_checksums::{BatchHasher, BatchHashes};
use crate::run::{Chunks, Place, Run, RunIndex};
use crate::sort::{Page, Sorter};

thread_local! {
    /// The encoder of this thread, while no encode has it. One that panicked is not put back.
    static ENCODER: Cell<Option<(Encoder, HeapShare)>> = const { Cell::new(None) };
}

/// What all batches of a map output have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodeSettings<'s> {
    pub(crate) partitions: u32,
    pub(crate) options: CodecOptions,
    pub(crate) hash_rows: bool,
    /// None when frames are not sealed.
    pub(crate) sealer: Option<&'s Sealer>,
}

/// One batch of pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'p, 'a> {
    pub(crate) fields: u32,
    pub(crate) pages: &'p [Page<'a>],
}

impl Batch<'_, '_> {
    pub(crate) fn rows(&self) -> usize {
        Page::rows_of(self.pages)
    }

    pub(crate) fn row_bytes(&self) -> usize {
        Page::row_bytes_of(self.pages)
    }
}

/// Which of a batch's rows to encode, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portion {
    /// The first row, in the order by partition. The rows from there on are encoded, as far as there is memory.
    pub(crate) place: Place,
    /// Rows of the partitions from this one on are left out.
    pub(crate) until: u32,
    /// Most rows that are sorted at a time.
    pub(crate) sort_rows: usize,
    /// Whether the first frame is made although the arena has no room for the most that it can become: it may become
    /// shorter. Else the encode ends before it.
    pub(crate) try_without_room: bool,
}

/// What the rows of a batch become, all of them or those before the arena refused memory.
pub(crate) struct Encoded {
    /// Of finished frames only; without any when the first was refused.
    pub(crate) run: Run,
    /// Of the rows in it; empty if they were not asked for.
    pub(crate) hashes: BatchHashes,
    /// How many rows are in it.
    pub(crate) rows: usize,
    /// Why the rows that follow are not in it; none when all are.
    pub(crate) refused: Option<EngineError>,
    /// Frames that were made, found no room and were thrown away: at most one.
    pub(crate) frames_repeated: u64,
}

/// Encodes rows of a batch with this thread's encoder.
///
/// # Errors
/// `Invalid`, or `NoMemory` when the arena refuses the sort's arrays.
pub(crate) fn encode_run(
    arena: &Arc<Arena>,
    settings: EncodeSettings<'_>,
    batch: Batch<'_, '_>,
    portion: Portion,
) -> Result<Encoded, EngineError> {
    let kept = ENCODER.take();
    let (mut encoder, mut share) = kept.unwrap_or_else(|| (Encoder::new(settings.options), HeapShare::default()));
    encoder.set_options(settings.options);
    let encoded = encode_with(&mut encoder, &mut share, arena, settings, batch, portion);
    share.set(encoder.retained_bytes());
    ENCODER.set(Some((encoder, share)));
    encoded
}

fn encode_with(
    encoder: &mut Encoder,
    share: &mut HeapShare,
    arena: &Arc<Arena>,
    settings: EncodeSettings<'_>,
    batch: Batch<'_, '_>,
    portion: Portion,
) -> Result<Encoded, EngineError> {
    let Batch { fields, pages } = batch;
    let sorter = Sorter::new(arena, pages, settings.partitions, portion.until, portion.place.row, portion.sort_rows)?;
    let partitions = sorter.partitions_with_rows();
    let hasher = settings.hash_rows.then(|| BatchHasher::for_partitions(partitions));
    let hash_bytes = hasher.as_ref().map_or(0, BatchHasher::heap_bytes);
    share.set(encoder.scratch_bound(sorter.longest_row(), fields) + hash_bytes);
    let mut frames = Frames {
        arena,
        try_without_room: portion.try_without_room,
        sealing: settings.sealer.map(|sealer| FrameSealing { sealer, seals: SealsDigest::default() }),
        chunks: Chunks::new(batch.row_bytes()),
        index: RunIndex::for_partitions(partitions),
        hasher,
        partition: 0,
        has_room: false,
        bytes: 0,
        rows: 0,
        frames_repeated: 0,
    };
    let encoded = sorter.for_each_partition(|partition, rows| {
        frames.partition = partition;
        encoder.encode_to(rows, fields, &mut frames)
    });
    match encoded {
        Err(refused) if refused.kind == ErrorKind::NoMemory => Ok(frames.finish(portion.place, Some(refused))),
        answer => answer.map(|()| frames.finish(portion.place, None)),
    }
}

/// Seals the frames of a run.
pub(crate) struct FrameSealing<'r> {
    pub(crate) sealer: &'r Sealer,
    /// Of finished frames.
    pub(crate) seals: SealsDigest,
}

/// The frames of a run that is being made.
struct Frames<'r, 'a> {
    arena: &'r Arc<Arena>,
    try_without_room: bool,
    /// None when frames are not sealed.
    sealing: Option<FrameSealing<'r>>,
    chunks: Chunks,
    index: RunIndex,
    hasher: Option<BatchHasher<'a>>,
    /// Of the rows that are being encoded.
    partition: u32,
    /// Whether there is room for the frame that is being made, however long it becomes.
    has_room: bool,
    /// Of finished frames.
    bytes: u64,
    /// In finished frames.
    rows: usize,
    frames_repeated: u64,
}

impl<'a> FrameSink<'a> for Frames<'_, 'a> {
    type Error = EngineError;

    fn make_room(&mut self, rows: &[&'a [u8]], bytes: usize) -> Result<(), EngineError> {
        let seal_bytes = if self.sealing.is_some() { SEAL_BYTES } else { 0 };
        let room = self.chunks.reserve(self.arena, bytes + seal_bytes);
        self.has_room = room.is_ok();
        if self.has_room {
            // Before the encoder, which then finds the rows in the cache.
            self.hash(rows);
        }
        // With finished frames, the caller can make room by a spill.
        if self.try_without_room && self.rows == 0 { Ok(()) } else { room }
    }

    fn take(&mut self, rows: &[&'a [u8]], frame: &mut Vec<u8>) -> Result<(), EngineError> {
        let sealed = self.sealing.as_ref().map(|sealing| sealing.sealer.seal(self.partition, frame)).transpose();
        let seal = sealed.map_err(|e| EngineError::invalid(e.to_string()))?;
        self.chunks.append(self.arena, frame).inspect_err(|_| self.frames_repeated += 1)?;
        if let (Some(sealing), Some(seal)) = (&mut self.sealing, seal) {
            sealing.seals.add(&seal);
        }
        if !self.has_room {
            // Not before: the rows of a frame that is lost are hashed when it is made again.
            self.hash(rows);
        }
        self.bytes += frame.len() as u64;
        self.rows += rows.len();
        self.index.extend(self.partition, self.bytes);
        Ok(())
    }
}

impl<'a> Frames<'_, 'a> {
    fn hash(&mut self, rows: &[&'a [u8]]) {
        if let Some(hasher) = &mut self.hasher {
            hasher.add(self.partition, rows);
        }
    }

    fn finish(mut self, place: Place, refused: Option<EngineError>) -> Encoded {
        self.chunks.free_reserved();
        let seals = self.sealing.map(|sealing| sealing.seals.finish());
        Encoded {
            run: Run::new(place, self.index, self.chunks, seals),
            hashes: self.hasher.map_or_else(BatchHashes::default, BatchHasher::finish),
            rows: self.rows,
            refused,
            frames_repeated: self.frames_repeated,
        }
    }
}
