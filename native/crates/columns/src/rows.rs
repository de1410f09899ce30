//! Rows of batches, where they lie.

use std::ops::Range;

use sluice_codec::{ColumnRows, Slots, bitset_words};

use crate::batch::Batch;
use crate::column::{Picks, Words};
use crate::error::{ColumnError, Result};
use crate::room::room;

/// A row of one of several batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowId {
    /// Which batch.
    pub batch: u32,
    /// Which of its rows.
    pub row: u32,
}

/// Rows of batches of the same columns.
pub(crate) struct BatchRows<'b> {
    batches: &'b [&'b Batch],
    rows: Rows<'b>,
}

enum Rows<'b> {
    /// All, one batch behind the other; where those of each batch end.
    All(Vec<usize>),
    Picked(&'b [RowId]),
}

/// Rows of a frame that are of one batch.
struct Run<'b> {
    /// Where in the frame.
    at: Range<usize>,
    batch: &'b Batch,
    picks: Picks<'b>,
}

/// That all batches have the columns of the first.
pub(crate) fn check_same_columns(batches: &[&Batch]) -> Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    for (i, batch) in batches.iter().enumerate() {
        first.schema().check_same(batch.schema()).map_err(|e| e.at(format_args!("batch {i}")))?;
    }
    Ok(())
}

impl<'b> BatchRows<'b> {
    /// All rows.
    pub(crate) fn all(batches: &'b [&'b Batch]) -> Result<Self> {
        check_same_columns(batches)?;
        let mut ends = room(batches.len())?;
        let mut end = 0;
        ends.extend(batches.iter().map(|batch| {
            end += batch.rows();
            end
        }));
        Ok(Self { batches, rows: Rows::All(ends) })
    }

    /// These rows, in this order.
    pub(crate) fn picked(batches: &'b [&'b Batch], rows: &'b [RowId]) -> Result<Self> {
        check_same_columns(batches)?;
        let exists = |id: &RowId| batches.get(id.batch as usize).is_some_and(|b| (id.row as usize) < b.rows());
        match rows.iter().find(|id| !exists(id)) {
            Some(id) => Err(ColumnError::invalid(format!("there is no row {} of batch {}", id.row, id.batch))),
            None => Ok(Self { batches, rows: Rows::Picked(rows) }),
        }
    }

    /// The rows by batch.
    fn runs(&self, rows: Range<usize>) -> Vec<Run<'b>> {
        let mut runs = Vec::new();
        match &self.rows {
            Rows::All(ends) => {
                let mut at = rows.start;
                let first = ends.partition_point(|end| *end <= at);
                for (batch, end) in self.batches.iter().zip(ends).skip(first) {
                    if at == rows.end {
                        break;
                    }
                    let until = rows.end.min(*end);
                    if until > at {
                        let picks = Picks::Range(at - (end - batch.rows()), until - at);
                        runs.push(Run { at: at - rows.start..until - rows.start, batch, picks });
                        at = until;
                    }
                }
            }
            Rows::Picked(ids) => {
                let ids: &'b [RowId] = ids;
                let mut at = 0;
                for run in ids[rows].chunk_by(|a, b| a.batch == b.batch) {
                    let batch = self.batches[run[0].batch as usize];
                    runs.push(Run { at: at..at + run.len(), batch, picks: Picks::of(run) });
                    at += run.len();
                }
            }
        }
        runs
    }
}

impl ColumnRows for BatchRows<'_> {
    fn rows(&self) -> usize {
        match &self.rows {
            Rows::All(ends) => ends.last().copied().unwrap_or(0),
            Rows::Picked(ids) => ids.len(),
        }
    }

    fn fields(&self) -> u32 {
        self.batches.first().map_or(0, |batch| batch.columns().len() as u32)
    }

    fn slots(&self, field: usize) -> Slots {
        self.batches.first().map_or(Slots::None, |batch| batch.columns()[field].slots())
    }

    fn add_slot_bytes(&self, rows: Range<usize>, lengths: &mut [u64]) {
        for run in self.runs(rows) {
            for column in run.batch.columns().iter().filter(|column| column.slots() != Slots::None) {
                column.add_slot_bytes(run.picks, &mut lengths[run.at.clone()]);
            }
        }
    }

    fn put_words(&self, rows: Range<usize>, stride: usize, words: &mut [u64], ends: &mut [u64]) {
        let (runs, fields) = (self.runs(rows.clone()), self.fields() as usize);
        let (nulls, fields_words) = words.split_at_mut(bitset_words(fields) * stride);
        nulls.fill(0);
        for field in 0..fields {
            let word = &mut fields_words[field * stride..][..rows.len()];
            let bits = &mut nulls[field / 64 * stride..][..rows.len()];
            for Run { at, batch, picks } in &runs {
                let to = Words {
                    field: &mut word[at.clone()],
                    nulls: &mut bits[at.clone()],
                    bit: field % 64,
                    ends: &mut ends[at.clone()],
                };
                batch.columns()[field].put_words(*picks, to);
            }
        }
    }

    fn for_each_value(&self, field: usize, rows: Range<usize>, mut each: impl FnMut(usize, &[u8])) {
        for Run { at, batch, picks } in self.runs(rows) {
            batch.columns()[field].for_each_value(picks, |i, value| each(at.start + i, value));
        }
    }
}
