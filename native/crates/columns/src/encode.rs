//! Batches to frames.

use sluice_codec::{CodecOptions, ColumnRows, Encoder, RowId, Slots, bitset_words};

use crate::batch::Batch;
use crate::column::{Picks, Words};
use crate::error::{ColumnError, Result};

/// Encodes rows of batches; owns its scratch memory. One thread at a time.
pub struct ColumnEncoder {
    encoder: Encoder,
}

impl ColumnEncoder {
    /// An encoder that makes frames of this kind.
    pub fn new(options: CodecOptions) -> Self {
        Self { encoder: Encoder::new(options) }
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
        let source = Source::of(batches)?;
        source.check(rows)?;
        self.encoder.encode_columns(&source, rows, sink)
    }
}

/// Batches of the same columns.
pub(crate) struct Source<'b> {
    batches: &'b [&'b Batch],
    fields: usize,
}

impl<'b> Source<'b> {
    fn of(batches: &'b [&'b Batch]) -> Result<Self> {
        let Some(first) = batches.first() else { return Ok(Self { batches, fields: 0 }) };
        for (i, batch) in batches.iter().enumerate() {
            first.schema().check_same(batch.schema()).map_err(|e| e.at(format_args!("batch {i}")))?;
        }
        Ok(Self { batches, fields: first.columns().len() })
    }

    fn check(&self, rows: &[RowId]) -> Result<()> {
        let exists = |id: &RowId| self.batches.get(id.batch as usize).is_some_and(|b| (id.row as usize) < b.rows());
        match rows.iter().find(|id| !exists(id)) {
            Some(id) => Err(ColumnError::invalid(format!("there is no row {} of batch {}", id.row, id.batch))),
            None => Ok(()),
        }
    }

    /// Calls `f` with each part of `rows` that is of one batch: where it begins, the batch, and the rows.
    #[inline(always)]
    fn each_run(&self, rows: &[RowId], mut f: impl FnMut(std::ops::Range<usize>, &Batch, Picks<'_>)) {
        let mut at = 0;
        for run in rows.chunk_by(|a, b| a.batch == b.batch) {
            f(at..at + run.len(), self.batches[run[0].batch as usize], Picks::of(run));
            at += run.len();
        }
    }
}

impl ColumnRows for Source<'_> {
    fn fields(&self) -> u32 {
        self.fields as u32
    }

    fn slots(&self, field: usize) -> Slots {
        self.batches.first().map_or(Slots::None, |batch| batch.columns()[field].slots())
    }

    fn add_slot_bytes(&self, rows: &[RowId], lengths: &mut [u64]) {
        for field in (0..self.fields).filter(|field| self.slots(*field) != Slots::None) {
            self.each_run(rows, |at, batch, picks| batch.columns()[field].add_slot_bytes(picks, &mut lengths[at]));
        }
    }

    fn put_words(&self, rows: &[RowId], stride: usize, words: &mut [u64], ends: &mut [u64]) {
        let (nulls, fields) = words.split_at_mut(bitset_words(self.fields) * stride);
        nulls.fill(0);
        for field in 0..self.fields {
            let word = &mut fields[field * stride..][..rows.len()];
            let bits = &mut nulls[field / 64 * stride..][..rows.len()];
            self.each_run(rows, |at, batch, picks| {
                let to = Words {
                    field: &mut word[at.clone()],
                    nulls: &mut bits[at.clone()],
                    bit: field % 64,
                    ends: &mut ends[at],
                };
                batch.columns()[field].put_words(picks, to);
            });
        }
    }

    fn for_each_value(&self, field: usize, rows: &[RowId], mut each: impl FnMut(usize, &[u8])) {
        self.each_run(rows, |at, batch, picks| {
            batch.columns()[field].for_each_value(picks, |i, value| each(at.start + i, value));
        });
    }
}
