//! Slotted pages, and the counting sort of their rows by partition.

use crate::error::EngineError;

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

/// Rows sorted by partition, stable; scratch that is reused from batch to batch.
#[derive(Default)]
pub(crate) struct Sorter {
    starts: Vec<u32>,
    /// The allocation of the last batch's rows, empty between batches.
    spare: Vec<&'static [u8]>,
}

/// The rows of some pages by partition: those of `p` are `rows[starts[p]..starts[p + 1]]`.
pub(crate) struct Sorted<'a, 's> {
    pub rows: Vec<&'a [u8]>,
    starts: &'s [u32],
}

impl<'a> Sorted<'a, '_> {
    /// Partition and rows of each partition that has any.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = (u32, &[&'a [u8]])> + '_ {
        self.starts
            .windows(2)
            .enumerate()
            .filter(|(_, w)| w[0] < w[1])
            .map(|(p, w)| (p as u32, &self.rows[w[0] as usize..w[1] as usize]))
    }
}

impl Sorter {
    /// Takes the memory of a batch's rows back for the next one.
    pub(crate) fn reuse(&mut self, mut rows: Vec<&[u8]>) {
        rows.clear();
        // Collecting an empty vector in place keeps its allocation and changes only the lifetime.
        self.spare = rows.into_iter().map(|_| -> &'static [u8] { &[] }).collect();
    }

    /// Sorts; every entry's partition and extent is checked, since they come from the other side.
    pub(crate) fn sort<'a>(&mut self, pages: &[Page<'a>], partitions: u32) -> Result<Sorted<'a, '_>, EngineError> {
        for page in pages {
            page.check()?;
        }
        let total: usize = pages.iter().map(|p| p.entries).sum();
        if u32::try_from(total).is_err() {
            return Err(EngineError::invalid(format!("{total} rows in one batch")));
        }
        self.count(pages, partitions)?;
        let mut rows: Vec<&'a [u8]> = std::mem::take(&mut self.spare);
        rows.resize(total, &[]);
        // From the last row to the first: `starts[p]` comes down from where p ends to where it starts, and a
        // row ends where the one after it starts.
        for page in pages.iter().rev() {
            let mut end = page.used;
            for (partition, offset) in page.entries_backwards() {
                if offset > end {
                    return Err(EngineError::invalid(format!("row at {offset} after one at {end} in a page")));
                }
                let place = &mut self.starts[partition];
                *place -= 1;
                rows[*place as usize] = &page.memory[offset..end];
                end = offset;
            }
        }
        Ok(Sorted { rows, starts: &self.starts })
    }

    /// Leaves in `starts[p]` where partition p's rows end, and the total after the last.
    fn count(&mut self, pages: &[Page<'_>], partitions: u32) -> Result<(), EngineError> {
        self.starts.clear();
        self.starts.resize(partitions as usize + 1, 0);
        for page in pages {
            for (partition, _) in page.entries_backwards() {
                if partition >= partitions as usize {
                    return Err(EngineError::invalid(format!("partition {partition} of {partitions}")));
                }
                self.starts[partition] += 1;
            }
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn page(rows: &[(u32, Vec<u8>)]) -> Vec<u8> {
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

    proptest! {
        #[test]
        fn is_a_stable_sort(rows in prop::collection::vec((0u32..20, prop::collection::vec(any::<u8>(), 0..30)), 0..200), cut in 0usize..200) {
            let (a, b) = rows.split_at(cut.min(rows.len()));
            let memory = [page(a), page(b)];
            let pages: Vec<Page> = [a, b].iter().zip(&memory).map(|(rows, memory)| Page {
                memory, used: rows.iter().map(|r| r.1.len()).sum(), entries: rows.len(),
            }).collect();
            let mut expected: Vec<(u32, &[u8])> = rows.iter().map(|(p, r)| (*p, &r[..])).collect();
            expected.sort_by_key(|r| r.0);
            let mut sorter = Sorter::default();
            let sorted = sorter.sort(&pages, 20).expect("good pages");
            let got: Vec<(u32, &[u8])> = sorted.partitions().flat_map(|(p, rows)| rows.iter().map(move |r| (p, *r))).collect();
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn any_page_sorts_or_fails(memory in prop::collection::vec(any::<u8>(), 0..200), used in 0usize..250, entries in 0usize..30) {
            let mut sorter = Sorter::default();
            let _ = sorter.sort(&[Page { memory: &memory, used, entries }], 3);
            let _ = sorter.sort(&[Page { memory: &memory, used, entries: usize::MAX / 4 }], 3);
        }
    }
}
