//! Rows of a batch to pages: laid out as `UnsafeRow`s, each with its partition.
//!
//! ```text
//! | row 0 | row 1 | … | row n-1 |→      free      ←| entry n-1 | … | entry 1 | entry 0 |
//! ```
//!
//! That is the page of `NativeCore.writerEncode`: an entry is 8 bytes, the row's offset in the low half and its
//! partition in the high half. The rows are copies, so a producer may write to its buffers again afterwards.

use sluice_codec::{ColumnRows, Slots, bitset_words};

use crate::batch::Batch;
use crate::error::{ColumnError, Result};
use crate::rows::BatchRows;

/// At most so many rows are transposed at a time: their words stay in the nearest cache.
const CHUNK_ROWS: usize = 64;
/// At most so many words of them, if that is more than one row.
const CHUNK_WORDS: usize = 32 << 10;
const WORD: usize = 8;
const ENTRY: usize = 8;

/// A page that rows are added to.
pub struct PageRows<'p> {
    page: &'p mut [u8],
    used: usize,
    entries: usize,
}

impl<'p> PageRows<'p> {
    /// A page that has rows of `used` bytes already, and as many entries.
    ///
    /// # Errors
    /// `Invalid` when they are more than the page, or the rows' bytes are no multiple of 8.
    pub fn of(page: &'p mut [u8], used: usize, entries: usize) -> Result<Self> {
        let room = entries.checked_mul(ENTRY).and_then(|bytes| page.len().checked_sub(bytes));
        if !used.is_multiple_of(WORD) || room.is_none_or(|room| used > room) || page.len() > u32::MAX as usize {
            let capacity = page.len();
            let what = format!("a page of {capacity} bytes with rows of {used} bytes and {entries} entries");
            return Err(ColumnError::invalid(what));
        }
        Ok(Self { page, used, entries })
    }

    /// Bytes of all rows.
    pub fn used(&self) -> usize {
        self.used
    }

    /// How many rows there are.
    pub fn entries(&self) -> usize {
        self.entries
    }

    fn free(&self) -> usize {
        self.page.len() - self.entries * ENTRY - self.used
    }

    fn add(&mut self, partition: u32, bytes: usize) {
        let entry = u64::from(partition) << 32 | self.used as u64;
        self.entries += 1;
        let at = self.page.len() - self.entries * ENTRY;
        self.page[at..at + ENTRY].copy_from_slice(&entry.to_le_bytes());
        self.used += bytes;
    }
}

/// Copies rows of batches to pages; owns its scratch memory: at most 260 KiB, or the words of a row if
/// they are more. One thread at a time.
#[derive(Default)]
pub struct PageFiller {
    words: Vec<u64>,
    lengths: Vec<u64>,
    starts: Vec<usize>,
}

impl PageFiller {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies the rows of the batch from `first` on, as many as the page has room for; `ids` are the partitions of all
    /// of its rows. Returns how many.
    ///
    /// # Errors
    /// `Invalid` when there is no partition for each row, or no row `first`.
    pub fn fill(&mut self, batch: &Batch, ids: &[u32], first: usize, page: &mut PageRows<'_>) -> Result<usize> {
        if ids.len() != batch.rows() || first > ids.len() {
            let (have, rows) = (ids.len(), batch.rows());
            return Err(ColumnError::invalid(format!("rows from {first} on of {rows}, with {have} partitions")));
        }
        let batches = [batch];
        let rows = BatchRows::all(&batches)?;
        let mut at = first;
        while at < ids.len() {
            let chunk = chunk_rows(words_of(&rows)).min(ids.len() - at);
            let copied = self.fill_chunk(&rows, &ids[at..at + chunk], at, page);
            at += copied;
            if copied < chunk {
                break;
            }
        }
        Ok(at - first)
    }

    /// Bytes of a row.
    ///
    /// # Errors
    /// `Invalid` when there is no such row.
    pub fn row_bytes(&mut self, batch: &Batch, row: usize) -> Result<usize> {
        if row >= batch.rows() {
            return Err(ColumnError::invalid(format!("there is no row {row} of {}", batch.rows())));
        }
        let batches = [batch];
        self.measure(&BatchRows::all(&batches)?, row, 1);
        Ok(self.lengths[0] as usize)
    }

    fn measure(&mut self, rows: &BatchRows<'_>, first: usize, count: usize) {
        self.lengths.clear();
        self.lengths.resize(count, (words_of(rows) * WORD) as u64);
        rows.add_slot_bytes(first..first + count, &mut self.lengths);
    }

    /// Copies as many of these rows as there is room for.
    fn fill_chunk(&mut self, rows: &BatchRows<'_>, ids: &[u32], first: usize, page: &mut PageRows<'_>) -> usize {
        self.measure(rows, first, ids.len());
        self.starts.clear();
        for (id, bytes) in ids.iter().zip(&self.lengths) {
            let bytes = *bytes as usize;
            if bytes + ENTRY > page.free() {
                break;
            }
            self.starts.push(page.used);
            page.add(*id, bytes);
        }
        let count = self.starts.len();
        if count > 0 {
            self.put(rows, first, page.page);
        }
        count
    }

    /// Writes the rows that begin at `starts` in the page.
    fn put(&mut self, rows: &BatchRows<'_>, first: usize, page: &mut [u8]) {
        let (count, words, fields) = (self.starts.len(), words_of(rows), rows.fields() as usize);
        self.words.resize(words * count, 0);
        self.lengths.clear();
        self.lengths.resize(count, (words * WORD) as u64);
        rows.put_words(first..first + count, count, &mut self.words, &mut self.lengths);
        for (i, start) in self.starts.iter().enumerate() {
            let row = &mut page[*start..*start + words * WORD];
            for (w, to) in row.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
                *to = self.words[w * count + i].to_le_bytes();
            }
        }
        for field in (0..fields).filter(|field| rows.slots(*field) != Slots::None) {
            let slots = rows.slots(field);
            let words = &self.words[(bitset_words(fields) + field) * count..][..count];
            rows.for_each_value(field, first..first + count, |i, value| {
                let start = self.starts[i] + (words[i] >> 32) as usize;
                let bytes = match slots {
                    Slots::Sixteen => 2 * WORD,
                    _ => value.len().next_multiple_of(WORD),
                };
                let slot = &mut page[start..start + bytes];
                let zeros = if slots == Slots::Sixteen { 0 } else { bytes.saturating_sub(WORD) };
                slot[zeros..].fill(0);
                slot[..value.len()].copy_from_slice(value);
            });
        }
    }
}

/// How many rows of so many words are transposed at a time.
fn chunk_rows(words: usize) -> usize {
    (CHUNK_WORDS / words.max(1)).clamp(1, CHUNK_ROWS)
}

fn words_of(rows: &BatchRows<'_>) -> usize {
    let fields = rows.fields() as usize;
    bitset_words(fields) + fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_chunk_are_a_bounded_number_however_wide_rows_are() {
        for (words, rows) in [(0, 64), (1, 64), (512, 64), (513, 63), (32 << 10, 1), (1 << 20, 1)] {
            assert_eq!(chunk_rows(words), rows, "{words} words");
        }
    }
}
