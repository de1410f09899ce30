//! Rows of batches, copied so that those of one partition lie one behind the other.
//!
//! To take a partition's rows from the batches costs a cache line for each value: the next row of the partition is far
//! away. Here a batch is read from its beginning to its end, a column after the other, and each value is written behind
//! the partition's last one:
//!
//! ```text
//! batch ─ 1024 rows ─▶ words of a column ─▶ words[w]: │ partition 0 … │ partition 1 … │
//!                      values with slots ─▶ slots:    │ row · row · … │ row · row · … │
//! ```
//!
//! Words and slots are those of the rows, so that encoding a partition only copies them. Where rows and slots of each
//! partition begin follows from counts that are made before ([`PartitionSizes`]); partitions that are too much together
//! are taken in groups. So offsets and lengths of values are read once to count and once for each group, and the values
//! once for each group.

use std::ops::Range;

use sluice_codec::{ColumnRows, Slots, bitset_words};

use crate::batch::Batch;
use crate::column::{Column, Picks, Words};
use crate::error::{ColumnError, ErrorKind, Result};
use crate::huge_pages::in_huge_pages;
use crate::room::{repeated, room};
use crate::rows::RowId;
use crate::sizes::PartitionSizes;

/// More bytes of rows than are ever copied at a time: words of rows are counted with 32 bits.
const MOST_BYTES: usize = u32::MAX as usize;
/// Rows whose words are made at a time: few enough that their places and one column's words fit the L1 cache, many
/// enough that a column writes several values to a partition before the next column takes the cache.
pub(crate) const CHUNK_ROWS: usize = 1024;
/// Bytes of a word.
pub(crate) const WORD: usize = size_of::<u64>();

/// Where something of a partition is, or its next row goes.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    row: u32,
    /// In `slots`.
    slot: u32,
}

/// The rows of a group of partitions.
pub(crate) struct PartitionedRows {
    /// Most bytes of `words` and `slots` together.
    most_bytes: usize,
    /// Word `w` of row `i` at `w * rows + i`. Behind the words of the rows, if fields have slots, one more for each:
    /// where its slots begin in `slots`, shifted left by 32, and how many bytes they have.
    words: Vec<u64>,
    /// What rows have behind their words, row by row. Not cleared: each slot is written whole.
    slots: Vec<[u8; WORD]>,
    rows: usize,
    /// How the values of each field lie.
    kinds: Vec<Slots>,
    /// For each word of null bits, whether some row has one; else it is not in `words`.
    has_nulls: Vec<bool>,
    first: u32,
    /// Where each partition of the group ends.
    ends: Vec<Place>,
}

impl PartitionedRows {
    /// Of at most so many bytes at a time.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes: most_bytes.min(MOST_BYTES),
            words: Vec::new(),
            slots: Vec::new(),
            rows: 0,
            kinds: Vec::new(),
            has_nulls: Vec::new(),
            first: 0,
            ends: Vec::new(),
        }
    }

    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Bytes of memory held now: at most `most_bytes`, and 8 for each partition of the last group.
    pub(crate) fn retained_bytes(&self) -> usize {
        (self.words.capacity() + self.slots.capacity()) * WORD + self.ends.capacity() * size_of::<Place>()
    }

    /// Copies the rows of these partitions, which are one of the groups of `most_bytes`.
    pub(crate) fn fill(
        &mut self,
        batches: &[&Batch],
        ids: &[&[u32]],
        sizes: &PartitionSizes,
        group: Range<u32>,
    ) -> Result<()> {
        self.kinds = batches.first().map_or(Vec::new(), |b| b.columns().iter().map(Column::slots).collect());
        self.has_nulls = (0..bitset_words(self.kinds.len())).map(|w| batches.iter().any(|b| has_nulls(b, w))).collect();
        self.first = group.start;
        // Begins of the partitions, which writing their rows moves to their ends.
        self.ends = repeated(Place::default(), group.len())?;
        let mut all = Place::default();
        for (place, size) in self.ends.iter_mut().zip(sizes.from(group.start)) {
            *place = all;
            // Not more than 32 bits count: see `MOST_BYTES`.
            (all.row, all.slot) = (all.row + size.rows as u32, all.slot + size.slot_words as u32);
        }
        self.rows = all.row as usize;
        self.grow(sizes.row_words() * self.rows, all.slot as usize)?;
        let mut chunk = Chunk::new()?;
        let is_all = group.len() == sizes.partitions();
        for (batch, ids) in batches.iter().zip(ids) {
            for (n, ids) in ids.chunks(CHUNK_ROWS).enumerate() {
                let first = n * CHUNK_ROWS;
                if is_all {
                    self.put(batch, Picks::Range(first, ids.len()), ids, &mut chunk);
                    continue;
                }
                let (mut rows, mut those) = ([RowId { batch: 0, row: 0 }; CHUNK_ROWS], [0; CHUNK_ROWS]);
                let mut count = 0;
                for (row, id) in (first as u32..).zip(ids) {
                    (rows[count].row, those[count]) = (row, id.wrapping_sub(group.start));
                    count += usize::from(group.contains(id));
                }
                self.put(batch, Picks::Ids(&rows[..count]), &those[..count], &mut chunk);
            }
        }
        Ok(())
    }

    /// Makes room for so many words and slots.
    fn grow(&mut self, words: usize, slots: usize) -> Result<()> {
        // What an earlier group needed of the one is freed where the other one needs it now.
        if (self.words.len().max(words) + self.slots.len().max(slots)) * WORD > self.most_bytes {
            (self.words, self.slots) = (Vec::new(), Vec::new());
        }
        grow(&mut self.words, words)?;
        grow(&mut self.slots, slots)
    }

    /// Copies some rows of one batch, at most a chunk, each behind the last one of its partition; ids count from the
    /// group's first partition.
    fn put(&mut self, batch: &Batch, picks: Picks<'_>, ids: &[u32], chunk: &mut Chunk) {
        let (n, bitsets) = (ids.len(), self.has_nulls.len());
        chunk.find_places(batch, picks, ids, &mut self.ends);
        chunk.ends[..n].fill(self.fixed_bytes() as u64);
        for (field, column) in batch.columns().iter().enumerate() {
            if field % 64 == 0 {
                chunk.nulls[..n].fill(0);
            }
            let to = &mut self.words[(bitsets + field) * self.rows..][..self.rows];
            if !column.scatter_words(picks, &chunk.rows, to) {
                column.put_words(picks, chunk.words_of(field, n));
                scatter(&chunk.words[..n], &chunk.rows, to);
                self.put_slots(column, field, picks, chunk);
            }
            if (field % 64 == 63 || field + 1 == self.kinds.len()) && self.has_nulls[field / 64] {
                let to = &mut self.words[field / 64 * self.rows..][..self.rows];
                scatter(&chunk.nulls[..n], &chunk.rows, to);
            }
        }
    }

    /// Copies the values of a column whose words are in `chunk`, if they have slots.
    fn put_slots(&mut self, column: &Column, field: usize, picks: Picks<'_>, chunk: &Chunk) {
        let (kind, fixed) = (self.kinds[field], self.fixed_bytes());
        let slots = &mut self.slots;
        let place = |begin: u32, word: u64| {
            let at = begin as usize + ((word >> 32) as usize - fixed) / WORD;
            at..at + kind.bytes(word) as usize / WORD
        };
        match column.successive_values(picks) {
            Some(values) => {
                for ((value, begin), word) in values.zip(&chunk.slots).zip(&chunk.words) {
                    put_padded(value, &mut slots[place(*begin, *word)]);
                }
            }
            None => column.for_each_value(picks, |i, value| {
                put_padded(value, &mut slots[place(chunk.slots[i], chunk.words[i])]);
            }),
        }
    }

    fn has_slots(&self) -> bool {
        self.kinds.iter().any(|kind| *kind != Slots::None)
    }

    /// Bytes of a row's words.
    fn fixed_bytes(&self) -> usize {
        (self.has_nulls.len() + self.kinds.len()) * WORD
    }

    /// Hands over the rows of each partition that has some.
    pub(crate) fn for_each_partition<E>(
        &mut self,
        mut each: impl FnMut(PartitionRows<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut begin = Place::default();
        for i in 0..self.ends.len() {
            let end = self.ends[i];
            let rows = begin.row as usize..end.row as usize;
            if !rows.is_empty() {
                self.find_slots(rows.clone(), begin.slot);
                each(PartitionRows { of: self, partition: self.first + i as u32, rows })?;
            }
            begin = end;
        }
        Ok(())
    }

    /// Finds where the slots of a partition's rows are, if fields have slots: from the words of these fields, just
    /// before the partition is encoded, so that both are in the cache then.
    fn find_slots(&mut self, rows: Range<usize>, begin: u32) {
        if !self.has_slots() {
            return;
        }
        let bitsets = self.has_nulls.len();
        let (words, places) = self.words.split_at_mut((bitsets + self.kinds.len()) * self.rows);
        let places = &mut places[rows.clone()];
        places.fill(0);
        for (field, kind) in self.kinds.iter().enumerate().filter(|(_, kind)| **kind != Slots::None) {
            let words = &words[(bitsets + field) * self.rows..][rows.clone()];
            places.iter_mut().zip(words).for_each(|(bytes, word)| *bytes += kind.bytes(*word));
        }
        let mut at = u64::from(begin);
        for place in places {
            let bytes = *place;
            *place = at << 32 | bytes;
            at += bytes / WORD as u64;
        }
    }

    fn word_column(&self, word: usize) -> &[u64] {
        &self.words[word * self.rows..][..self.rows]
    }
}

/// Whether a row can be null in one of the fields whose null bits are in this word.
fn has_nulls(batch: &Batch, word: usize) -> bool {
    batch.columns().iter().skip(word * 64).take(64).any(Column::has_nulls)
}

/// Makes the vector at least so long; what was in it is lost.
fn grow<T: Copy + Default>(values: &mut Vec<T>, len: usize) -> Result<()> {
    if values.len() < len {
        *values = Vec::new();
        values.try_reserve_exact(len).map_err(|_| {
            ColumnError::new(ErrorKind::NoMemory, format!("no memory for {len} words of rows by partition"))
        })?;
        in_huge_pages(values.spare_capacity_mut());
        values.resize(len, T::default());
    }
    Ok(())
}

/// Writes each word to its row.
#[inline(always)]
fn scatter(words: &[u64], rows: &[u32], to: &mut [u64]) {
    words.iter().zip(rows).for_each(|(word, row)| to[*row as usize] = *word);
}

/// Writes a value and zeros behind it.
#[inline(always)]
fn put_padded(value: &[u8], slot: &mut [[u8; WORD]]) {
    match (slot, value.first_chunk::<WORD>(), value.last_chunk::<WORD>()) {
        // Loads of constant length: a copy of so few bytes would be a call.
        ([first, second], Some(low), Some(last)) => {
            *first = *low;
            let unused = 8 * (2 * WORD - value.len()) as u32;
            *second = u64::from_le_bytes(*last).checked_shr(unused).unwrap_or(0).to_le_bytes();
        }
        ([only], whole, _) => *only = whole.copied().unwrap_or_else(|| padded(value)),
        (slot, ..) => {
            let (whole, rest) = value.as_chunks::<WORD>();
            let (to, behind) = slot.split_at_mut(whole.len());
            to.copy_from_slice(whole);
            if let Some((last, behind)) = behind.split_first_mut() {
                *last = padded(rest);
                behind.fill([0; WORD]);
            }
        }
    }
}

/// Fewer bytes than a word, with zeros behind them.
#[inline(always)]
fn padded(bytes: &[u8]) -> [u8; WORD] {
    let word = match (bytes, bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (_, Some(low), Some(high)) => {
            u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << (8 * (bytes.len() - 4))
        }
        ([], ..) => 0,
        _ => {
            let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
            byte(0) | byte(bytes.len() / 2) | byte(bytes.len() - 1)
        }
    };
    word.to_le_bytes()
}

/// Some rows of a batch on their way.
struct Chunk {
    /// Where the words of each row go.
    rows: Vec<u32>,
    /// Where its slots go.
    slots: Vec<u32>,
    words: Vec<u64>,
    nulls: Vec<u64>,
    /// Where each row's next slot begins, counted from the row's beginning.
    ends: Vec<u64>,
}

impl Chunk {
    fn new() -> Result<Self> {
        let words = || repeated(0, CHUNK_ROWS);
        Ok(Self { rows: room(CHUNK_ROWS)?, slots: room(CHUNK_ROWS)?, words: words()?, nulls: words()?, ends: words()? })
    }

    /// The places of these rows: the ends of their partitions, which they move.
    fn find_places(&mut self, batch: &Batch, picks: Picks<'_>, ids: &[u32], partitions: &mut [Place]) {
        let lengths = &mut self.ends[..ids.len()];
        lengths.fill(0);
        for column in batch.columns().iter().filter(|column| column.slots() != Slots::None) {
            column.add_slot_bytes(picks, lengths);
        }
        self.rows.clear();
        self.slots.clear();
        for (id, bytes) in ids.iter().zip(&*lengths) {
            let end = &mut partitions[*id as usize];
            self.rows.push(end.row);
            self.slots.push(end.slot);
            *end = Place { row: end.row + 1, slot: end.slot + (*bytes / WORD as u64) as u32 };
        }
    }

    /// Where the words of a column of `n` rows go.
    fn words_of(&mut self, field: usize, n: usize) -> Words<'_> {
        Words { field: &mut self.words[..n], nulls: &mut self.nulls[..n], bit: field % 64, ends: &mut self.ends[..n] }
    }
}

/// The rows of one partition.
pub(crate) struct PartitionRows<'p> {
    of: &'p PartitionedRows,
    partition: u32,
    rows: Range<usize>,
}

impl<'p> PartitionRows<'p> {
    pub(crate) fn partition(&self) -> u32 {
        self.partition
    }

    /// The words of a field of all rows of all partitions.
    fn field(&self, field: usize) -> &'p [u64] {
        self.of.word_column(bitset_words(self.of.kinds.len()) + field)
    }

    /// Where the slots of these rows are, if fields have slots.
    fn places(&self, rows: Range<usize>) -> &'p [u64] {
        &self.field(self.of.kinds.len())[self.rows.clone()][rows]
    }

    /// Adds the bytes of each row's slots.
    fn add(&self, rows: Range<usize>, lengths: &mut [u64]) {
        if self.of.has_slots() {
            let bytes = self.places(rows).iter().map(|place| place & 0xFFFF_FFFF);
            lengths.iter_mut().zip(bytes).for_each(|(length, bytes)| *length += bytes);
        }
    }
}

impl ColumnRows for PartitionRows<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn fields(&self) -> u32 {
        self.of.kinds.len() as u32
    }

    fn slots(&self, field: usize) -> Slots {
        self.of.kinds[field]
    }

    fn add_slot_bytes(&self, rows: Range<usize>, lengths: &mut [u64]) {
        self.add(rows, lengths);
    }

    fn put_words(&self, rows: Range<usize>, stride: usize, words: &mut [u64], ends: &mut [u64]) {
        let from = self.rows.start + rows.start..self.rows.start + rows.end;
        let bitsets = self.of.has_nulls.len();
        for w in 0..bitsets + self.of.kinds.len() {
            let to = &mut words[w * stride..][..from.len()];
            if w < bitsets && !self.of.has_nulls[w] {
                to.fill(0);
            } else {
                to.copy_from_slice(&self.of.word_column(w)[from.clone()]);
            }
        }
        self.add(rows, ends);
    }

    fn for_each_value(&self, field: usize, rows: Range<usize>, mut each: impl FnMut(usize, &[u8])) {
        let fixed = self.of.fixed_bytes();
        let always = self.of.kinds[field] == Slots::Sixteen;
        let words = &self.field(field)[self.rows.start + rows.start..][..rows.len()];
        let slots = self.of.slots.as_flattened();
        for (i, (word, place)) in words.iter().zip(self.places(rows)).enumerate() {
            if *word != 0 || always {
                let at = (place >> 32) as usize * WORD + ((word >> 32) as usize - fixed);
                each(i, &slots[at..at + (word & 0xFFFF_FFFF) as usize]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_padded_with_zeros() {
        let bytes: Vec<u8> = (1..=20).collect();
        for (len, more) in (0..=20usize).flat_map(|len| [0, 1].map(|more| (len, more))) {
            let mut slot = vec![[0xAA; WORD]; len.div_ceil(WORD) + more];
            put_padded(&bytes[..len], &mut slot);
            let mut expected = bytes[..len].to_vec();
            expected.resize(slot.len() * WORD, 0);
            assert_eq!(slot.as_flattened(), expected, "{len} bytes");
        }
    }
}
