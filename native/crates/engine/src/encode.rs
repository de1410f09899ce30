//! Pages to a run: sort by partition, then encode each partition's rows.
//!
//! What an encode needs before its run is kept is bounded by [`crate::EncodeNeeds`], whatever is in the pages.

use std::cell::Cell;
use std::sync::Arc;

use sluice_codec::{CodecOptions, Encoder};
use sluice_mem::Arena;

use crate::error::{EngineError, ErrorKind};
use crate::heap::HeapShare;
use crate::row_checksums::{BatchHasher, BatchHashes};
use crate::run::{Chunks, Run, RunIndex};
use crate::sort::{FEWEST_SORT_ROWS, Page, SORT_ROWS, Sorter};

thread_local! {
    /// The encoder of this thread, while no encode has it. One that panicked is not put back.
    static ENCODER: Cell<Option<(Encoder, HeapShare)>> = const { Cell::new(None) };
}

/// What all batches of a map output have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodeSettings {
    pub(crate) partitions: u32,
    pub(crate) options: CodecOptions,
    pub(crate) hash_rows: bool,
}

/// One batch of pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'p, 'a> {
    pub(crate) sequence: i64,
    pub(crate) fields: u32,
    pub(crate) pages: &'p [Page<'a>],
}

/// What a batch of pages becomes.
pub(crate) struct Encoded {
    pub(crate) run: Run,
    /// Empty if they were not asked for.
    pub(crate) hashes: BatchHashes,
}

/// Encodes a batch with this thread's encoder.
pub(crate) fn encode_run(
    arena: &Arc<Arena>,
    settings: EncodeSettings,
    batch: Batch<'_, '_>,
) -> Result<Encoded, EngineError> {
    let kept = ENCODER.take();
    let (mut encoder, mut share) = kept.unwrap_or_else(|| (Encoder::new(settings.options), HeapShare::default()));
    encoder.set_options(settings.options);
    let mut encode = |window| encode_with(&mut encoder, &mut share, arena, settings, batch, window);
    let encoded = match encode(SORT_ROWS) {
        // The sort may hold what the run needs: once more with the smallest sort.
        Err(refused) if refused.kind == ErrorKind::NoMemory && rows(batch.pages) > FEWEST_SORT_ROWS => {
            encode(FEWEST_SORT_ROWS)
        }
        answer => answer,
    };
    share.set(encoder.retained_bytes());
    ENCODER.set(Some((encoder, share)));
    encoded
}

fn rows(pages: &[Page<'_>]) -> usize {
    pages.iter().map(|page| page.entries).fold(0, usize::saturating_add)
}

fn encode_with(
    encoder: &mut Encoder,
    share: &mut HeapShare,
    arena: &Arc<Arena>,
    settings: EncodeSettings,
    batch: Batch<'_, '_>,
    sort_rows: usize,
) -> Result<Encoded, EngineError> {
    let Batch { sequence, fields, pages } = batch;
    let sorter = Sorter::new(arena, pages, settings.partitions, sort_rows)?;
    let partitions = sorter.partitions_with_rows();
    let mut chunks = Chunks::new(pages.iter().map(|p| p.used).sum());
    let mut index = RunIndex::for_partitions(partitions);
    let mut hasher = settings.hash_rows.then(|| BatchHasher::for_partitions(partitions));
    let hash_bytes = hasher.as_ref().map_or(0, BatchHasher::heap_bytes);
    share.set(encoder.scratch_bound(sorter.longest_row(), fields) + hash_bytes);
    let mut total = 0u64;
    sorter.for_each_partition(|partition, rows| {
        // Before the encoder, which then finds the rows in the cache.
        if let Some(hasher) = &mut hasher {
            hasher.add(partition, rows);
        }
        encoder.encode(rows, fields, |frame| {
            total += frame.len() as u64;
            chunks.append(arena, frame)
        })?;
        index.extend(partition, total);
        Ok(())
    })?;
    let hashes = hasher.map_or_else(BatchHashes::default, BatchHasher::finish);
    Ok(Encoded { run: Run::new(sequence, index, chunks), hashes })
}
