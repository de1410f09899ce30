//! Pages to a run: sort by partition, then encode each partition's rows.

use std::cell::RefCell;
use std::sync::Arc;

use sluice_codec::{Encoder, Options};
use sluice_mem::Arena;

use crate::error::EngineError;
use crate::row_checksums::Hashes;
use crate::run::{Chunks, Run, Storage};
use crate::sort::{Page, Sorter};

thread_local! {
    static SCRATCH: RefCell<Option<(Encoder, Sorter)>> = const { RefCell::new(None) };
}

/// What a batch of pages becomes.
pub(crate) struct Encoded {
    pub(crate) run: Run,
    /// Of each partition that has rows, if they were asked for.
    pub(crate) hashes: Vec<(u32, Hashes)>,
}

pub(crate) fn encode_run(
    arena: &Arc<Arena>,
    partitions: u32,
    options: Options,
    sequence: i64,
    fields: u32,
    pages: &[Page<'_>],
    hash_rows: bool,
) -> Result<Encoded, EngineError> {
    SCRATCH.with_borrow_mut(|scratch| {
        let (encoder, sorter) = scratch.get_or_insert_with(|| (Encoder::new(options), Sorter::default()));
        encoder.set_options(options);
        let raw: usize = pages.iter().map(|p| p.used).sum();
        let sorted = sorter.sort(pages, partitions)?;
        let mut chunks = Chunks::new(raw / 4);
        let mut ends = Vec::new();
        let mut hashes = Vec::new();
        let mut total = 0u64;
        for (partition, rows) in sorted.partitions() {
            // Before the encoder, which then finds the rows in the cache.
            if hash_rows {
                hashes.push((partition, Hashes::of(rows)));
            }
            encoder.encode(rows, fields, |frame| {
                total += frame.len() as u64;
                chunks.append(arena, frame)
            })?;
            ends.push((partition, total));
        }
        let rows = sorted.rows;
        sorter.reuse(rows);
        Ok(Encoded { run: Run { sequence, ends, storage: Storage::Memory(chunks) }, hashes })
    })
}
