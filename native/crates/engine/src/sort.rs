//! Slotted pages, and the counting sort of their rows by partition.

use std::sync::Arc;

use sluice_mem::Arena;

use crate::error::{EngineError, ErrorKind};
use crate::leased::LeasedArray;

/// A sealed page, as the JVM filled it: rows from its start upward, without gaps; 8-byte entries (row offset
/// in the low half, partition in the high half) from its end downward, in the order of insertion.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The whole page.
    pub memory: &'a [u8],
    /// Bytes of rows at its start.
    pub used: usize,
    /// Number of entries at its end.
    pub entries: usize,
}

impl<'a> Page<'a> {
    /// How many rows pages have together.
    pub fn rows_of(pages: &[Self]) -> usize {
        pages.iter().map(|page| page.entries).fold(0, usize::saturating_add)
    }

    /// Bytes of the rows of pages together.
    pub fn row_bytes_of(pages: &[Self]) -> usize {
        pages.iter().map(|page| page.used).fold(0, usize::saturating_add)
    }

    /// Checks that rows and entries fit, so that entries can be read without further checks of the page.
    fn check(&self) -> Result<(), EngineError> {
        let entry_bytes = self.entries.checked_mul(8);
        let taken = entry_bytes.and_then(|b| b.checked_add(self.used));
        if taken.is_none_or(|t| t > self.memory.len()) {
            return Err(EngineError::invalid(format!(
                "page of {} bytes cannot hold {} bytes of rows and {} entries",
                self.memory.len(),
                self.used,
                self.entries
            )));
        }
        Ok(())
    }

    /// Partition and row offset of each entry, the last inserted first.
    fn entries_backwards(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.memory[self.memory.len() - self.entries * 8..].chunks_exact(8).map(|e| {
            let offset = u32::from_le_bytes([e[0], e[1], e[2], e[3]]);
            (u32::from_le_bytes([e[4], e[5], e[6], e[7]]) as usize, offset as usize)
        })
    }
}

/// Most rows that are sorted at a time: 16 MiB of references.
pub(crate) const SORT_ROWS: usize = 1 << 20;
/// As many rows must be sorted at a time even where the arena refuses more.
pub(crate) const FEWEST_SORT_ROWS: usize = 1 << 16;

/// The stable counting sort of a batch's rows by partition, in leased memory: a count for each partition, and a
/// reference to each row.
///
/// The sorted order is made in windows of at most so many rows, one after another, so that the references of a batch of
/// many small rows do not take more memory than its pages. Each window costs a pass over all entries of the pages.
pub(crate) struct Sorter<'p, 'a> {
    pages: &'p [Page<'a>],
    rows: LeasedArray<&'a [u8]>,
    /// Where each partition's rows end in the sorted order, and the number of rows. While a window is filled they come
    /// down to where each partition's rows start.
    bounds: LeasedArray<u32>,
    first: usize,
    total: usize,
    longest_row: usize,
}

impl<'p, 'a> Sorter<'p, 'a> {
    /// Counts the rows of each partition and fills the first window, that which begins with the row `first` of the
    /// sorted order, without the rows of the partitions from `until` on. Every page, partition and row is checked,
    /// since they come from the other side.
    ///
    /// # Errors
    /// `Invalid`, or `NoMemory` when the arena refuses.
    pub(crate) fn new(
        arena: &Arc<Arena>,
        pages: &'p [Page<'a>],
        partitions: u32,
        until: u32,
        first: usize,
        window_rows: usize,
    ) -> Result<Self, EngineError> {
        for page in pages {
            page.check()?;
        }
        let total = Page::rows_of(pages);
        if u32::try_from(total).is_err() {
            return Err(EngineError::invalid(format!("{total} rows in one batch")));
        }
        if first > total {
            return Err(EngineError::invalid(format!("row {first} of a batch of {total}")));
        }
        let bounds = count(arena, pages, partitions)?;
        let wanted = until.checked_sub(1).map_or(0, |last| bounds.as_slice()[last.min(partitions - 1) as usize]);
        let total = total.min(wanted as usize).max(first);
        let rows = lease_rows(arena, (total - first).min(window_rows))?;
        let mut sorter = Self { pages, rows, bounds, first, total, longest_row: 0 };
        sorter.longest_row = sorter.fill(first)?;
        Ok(sorter)
    }

    /// Number of partitions that have rows.
    pub(crate) fn partitions_with_rows(&self) -> usize {
        self.bounds.as_slice().windows(2).filter(|bounds| bounds[0] < bounds[1]).count()
    }

    /// Bytes of the longest row.
    pub(crate) fn longest_row(&self) -> usize {
        self.longest_row
    }

    /// Hands each partition that has rows from the first one on to `visit`, in ascending order, with its rows in order.
    /// A partition whose rows lie in more than one window comes once for each.
    ///
    /// # Errors
    /// Those of `visit`.
    pub(crate) fn for_each_partition(
        mut self,
        mut visit: impl FnMut(u32, &[&'a [u8]]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut first = self.first;
        while first < self.total {
            if first > self.first {
                // From where each partition starts back to where it ends, which is where the next one starts.
                self.bounds.as_mut_slice().copy_within(1.., 0);
                self.fill(first)?;
            }
            self.visit(first, &mut visit)?;
            first = self.end_of_window(first);
        }
        Ok(())
    }

    fn end_of_window(&self, first: usize) -> usize {
        self.total.min(first + self.rows.as_slice().len())
    }

    /// Fills the window that starts at `first` of the sorted order. Returns the bytes of the longest of all rows.
    fn fill(&mut self, first: usize) -> Result<usize, EngineError> {
        let room = self.end_of_window(first) - first;
        let (rows, bounds) = (&mut self.rows.as_mut_slice()[..room], self.bounds.as_mut_slice());
        let mut longest = 0;
        // From the last row to the first: `bounds[p]` comes down from where p ends to where it starts, and a row ends
        // where the one after it starts.
        for page in self.pages.iter().rev() {
            let mut row_end = page.used;
            for (partition, offset) in page.entries_backwards() {
                if offset > row_end {
                    return Err(EngineError::invalid(format!("row at {offset} after one at {row_end} in a page")));
                }
                let place = &mut bounds[partition];
                *place -= 1;
                // Rows before `first` wrap to beyond the window.
                if let Some(row) = rows.get_mut((*place as usize).wrapping_sub(first)) {
                    *row = &page.memory[offset..row_end];
                }
                longest = longest.max(row_end - offset);
                row_end = offset;
            }
        }
        Ok(longest)
    }

    fn visit(
        &self,
        first: usize,
        visit: &mut impl FnMut(u32, &[&'a [u8]]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let (rows, end) = (self.rows.as_slice(), self.end_of_window(first));
        for (partition, bounds) in self.bounds.as_slice().windows(2).enumerate() {
            let (from, to) = ((bounds[0] as usize).max(first), (bounds[1] as usize).min(end));
            if from < to {
                visit(partition as u32, &rows[from - first..to - first])?;
            }
        }
        Ok(())
    }
}

/// Where each partition's rows end in the sorted order, and behind them the number of all rows.
fn count(arena: &Arc<Arena>, pages: &[Page<'_>], partitions: u32) -> Result<LeasedArray<u32>, EngineError> {
    let mut bounds = LeasedArray::filled(arena, partitions as usize + 1, 0u32)?;
    let counts = bounds.as_mut_slice();
    for page in pages {
        for (partition, _) in page.entries_backwards() {
            if partition >= partitions as usize {
                return Err(EngineError::invalid(format!("partition {partition} of {partitions}")));
            }
            counts[partition] += 1;
        }
    }
    let mut sum = 0;
    for bound in counts {
        sum += *bound;
        *bound = sum;
    }
    Ok(bounds)
}

/// Room for `wanted` rows, or for a fraction of them when the arena refuses.
fn lease_rows<'a>(arena: &Arc<Arena>, wanted: usize) -> Result<LeasedArray<&'a [u8]>, EngineError> {
    let empty: &'a [u8] = &[];
    let mut room = wanted;
    loop {
        match LeasedArray::filled(arena, room, empty) {
            Err(refused) if refused.kind == ErrorKind::NoMemory && room > FEWEST_SORT_ROWS => {
                room = (room / 4).max(FEWEST_SORT_ROWS);
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(rows: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let used: usize = rows.iter().map(|r| r.1.len()).sum();
        let mut memory: Vec<u8> = rows.iter().flat_map(|r| r.1.clone()).collect();
        memory.resize(used + 24, 0xEE);
        let mut offset = used;
        for (partition, row) in rows.iter().rev() {
            offset -= row.len();
            memory.extend_from_slice(&(offset as u32).to_le_bytes());
            memory.extend_from_slice(&partition.to_le_bytes());
        }
        memory
    }

    type Visited<'a> = Vec<(u32, &'a [u8])>;

    fn sorted<'a>(pages: &[Page<'a>], partitions: u32, window: usize) -> Result<(usize, Visited<'a>), EngineError> {
        let (longest, with_rows, visited) = sorted_from(0, pages, partitions, window)?;
        assert_eq!(with_rows, visited.chunk_by(|a, b| a.0 == b.0).count());
        Ok((longest, visited))
    }

    fn sorted_from<'a>(
        first: usize,
        pages: &[Page<'a>],
        partitions: u32,
        window: usize,
    ) -> Result<(usize, usize, Visited<'a>), EngineError> {
        let sorter = Sorter::new(&Arena::host(16 << 20), pages, partitions, partitions, first, window)?;
        let (longest, with_rows) = (sorter.longest_row(), sorter.partitions_with_rows());
        let mut visited: Visited<'a> = Vec::new();
        sorter.for_each_partition(|partition, rows| {
            visited.extend(rows.iter().map(|row| (partition, *row)));
            Ok(())
        })?;
        Ok((longest, with_rows, visited))
    }

    proptest! {
        #[test]
        fn is_a_stable_sort(
            rows in prop::collection::vec((0u32..20, prop::collection::vec(any::<u8>(), 0..30)), 0..200),
            cut in 0usize..200,
            window in 1usize..250,
            first in 0usize..200,
        ) {
            let (a, b) = rows.split_at(cut.min(rows.len()));
            let memory = [page(a), page(b)];
            let pages: Vec<Page> = [a, b].iter().zip(&memory).map(|(rows, memory)| Page {
                memory, used: rows.iter().map(|r| r.1.len()).sum(), entries: rows.len(),
            }).collect();
            let mut expected: Vec<(u32, &[u8])> = rows.iter().map(|(p, r)| (*p, &r[..])).collect();
            expected.sort_by_key(|r| r.0);
            let longest = rows.iter().map(|r| r.1.len()).max().unwrap_or(0);
            let first = first.min(rows.len());
            let rest = sorted_from(first, &pages, 20, window).expect("good pages");
            prop_assert_eq!(&rest.2[..], &expected[first..]);
            prop_assert_eq!(sorted(&pages, 20, window).expect("good pages"), (longest, expected));
            prop_assert!(sorted_from(rows.len() + 1, &pages, 20, window).is_err());
        }

        #[test]
        fn any_page_sorts_or_fails(
            memory in prop::collection::vec(any::<u8>(), 0..200), used in 0usize..250, entries in 0usize..30,
        ) {
            let _ = sorted(&[Page { memory: &memory, used, entries }], 3, 7);
            let _ = sorted(&[Page { memory: &memory, used, entries: usize::MAX / 4 }], 3, 7);
        }
    }

    #[test]
    fn sorts_in_smaller_windows_when_the_arena_refuses() {
        let rows: Vec<(u32, Vec<u8>)> = (0..200_000u32).map(|i| (i * 7 % 5, i.to_le_bytes().to_vec())).collect();
        let memory = page(&rows);
        let pages = [Page { memory: &memory, used: rows.len() * 4, entries: rows.len() }];
        let arena = Arena::host(2 << 20);
        let sorter = Sorter::new(&arena, &pages, 5, 5, 0, SORT_ROWS).expect("a window fits");
        assert_eq!(sorter.rows.as_slice().len(), FEWEST_SORT_ROWS, "3.2 MB for all rows do not fit");
        assert_eq!(sorter.partitions_with_rows(), 5);
        assert_eq!(sorted(&pages, 5, FEWEST_SORT_ROWS).expect("room").1.len(), rows.len());
        let none = Arena::host(FEWEST_SORT_ROWS * 16 / 2);
        assert_eq!(Sorter::new(&none, &pages, 5, 5, 0, SORT_ROWS).err().map(|e| e.kind), Some(ErrorKind::NoMemory));
    }
}
