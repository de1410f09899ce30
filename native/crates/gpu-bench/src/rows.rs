//! Batches of rows for measurements, and what the CPU's encoder makes of them.

use std::convert::Infallible;

use sluice_codec::{CodecOptions, Encoder};
use sluice_engine::Page;

/// Of a page's rows and entries.
const PAGE_BYTES: usize = 4 << 20;
const ENTRY_BYTES: usize = 8;

/// What rows are like: all have the same length.
pub(crate) struct Table {
    pub(crate) fields: u32,
    row_bytes: usize,
    /// Appends row number i.
    put_row: fn(&mut Vec<u8>, u64),
}

/// Rows as of an order's line: two keys, an amount, a price, a date, a category, a flag, and the customer's name, which
/// is short.
pub(crate) const ORDERS: Table = Table { fields: 8, row_bytes: 88, put_row: put_order };
/// A key and a text of 96 bytes, which general codecs get.
pub(crate) const TEXTS: Table = Table { fields: 2, row_bytes: 120, put_row: put_text };

/// Pages as a map task fills them.
pub(crate) struct Batch {
    pub(crate) table: &'static Table,
    pages: Vec<(Vec<u8>, usize)>,
    pub(crate) partitions: u32,
}

fn mix(x: u64) -> u64 {
    let z = (x ^ x >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 29
}

fn put_order(memory: &mut Vec<u8>, i: u64) {
    let h = mix(i);
    let price = ((h % 100_000) as f64 / 100.0).to_bits();
    let name_at = 8 * (1 + u64::from(ORDERS.fields));
    let words = [0, i, h >> 24, h % 1000, price, 18_000 + h / 1000 % 2500, h / 7 % 25, h >> 9 & 1, name_at << 32 | 16];
    words.iter().for_each(|word| memory.extend_from_slice(&word.to_le_bytes()));
    memory.extend_from_slice(format!("Customer{:08}", h % 1_000_000).as_bytes());
}

fn put_text(memory: &mut Vec<u8>, i: u64) {
    const WORDS: [&str; 16] = [
        "carefully ",
        "final ",
        "requests ",
        "sleep ",
        "above ",
        "the ",
        "quickly ",
        "ironic ",
        "deposits ",
        "among ",
        "packages ",
        "furiously ",
        "regular ",
        "accounts ",
        "blithely ",
        "express ",
    ];
    [0, i, 24 << 32 | 96].iter().for_each(|word: &u64| memory.extend_from_slice(&word.to_le_bytes()));
    let end = memory.len() + 96;
    let mut h = mix(i);
    while memory.len() < end {
        h = mix(h);
        memory.extend_from_slice(WORDS[(h >> 20) as usize % 16].as_bytes());
    }
    memory.truncate(end);
}

impl Batch {
    /// Of so many bytes of rows, or a few less; `seed` tells batches apart.
    pub(crate) fn of(table: &'static Table, bytes: usize, partitions: u32, seed: u64) -> Self {
        let row_bytes = table.row_bytes;
        let (rows, in_page) = ((bytes / row_bytes).max(1) as u64, (PAGE_BYTES / (row_bytes + ENTRY_BYTES)) as u64);
        let page = |first: u64| {
            let here = in_page.min(rows - first);
            let mut memory = Vec::with_capacity(here as usize * (row_bytes + ENTRY_BYTES));
            let number = |nth: u64| seed << 40 | (first + nth);
            (0..here).for_each(|nth| (table.put_row)(&mut memory, number(nth)));
            for nth in (0..here).rev() {
                memory.extend_from_slice(&(nth as u32 * row_bytes as u32).to_le_bytes());
                memory.extend_from_slice(&((mix(!number(nth)) % u64::from(partitions)) as u32).to_le_bytes());
            }
            (memory, here as usize)
        };
        Self { table, pages: (0..rows).step_by(in_page as usize).map(page).collect(), partitions }
    }

    pub(crate) fn pages(&self) -> Vec<Page<'_>> {
        self.pages
            .iter()
            .map(|(memory, rows)| Page { memory, used: rows * self.table.row_bytes, entries: *rows })
            .collect()
    }

    pub(crate) fn row_bytes(&self) -> usize {
        self.pages.iter().map(|page| page.1 * self.table.row_bytes).sum()
    }

    /// The memory of each page, to be pinned.
    pub(crate) fn memory(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.pages.iter_mut().map(|page| &mut page.0[..])
    }

    /// The rows, by partition; those of a partition in their order.
    pub(crate) fn sorted_rows(&self) -> Vec<(u32, &[u8])> {
        let mut rows = self.rows();
        rows.sort_by_key(|row| row.0);
        rows
    }

    /// The rows, each with its partition.
    pub(crate) fn rows(&self) -> Vec<(u32, &[u8])> {
        let of_page = |(memory, rows): &(Vec<u8>, usize)| {
            let entries = &memory[rows * self.table.row_bytes..];
            let partition = |nth: usize| {
                let entry = &entries[(rows - 1 - nth) * ENTRY_BYTES + 4..][..4];
                u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]])
            };
            (0..*rows).map(partition).collect::<Vec<_>>()
        };
        let mut rows: Vec<(u32, &[u8])> = Vec::new();
        for page in &self.pages {
            rows.extend(of_page(page).into_iter().zip(page.0.chunks_exact(self.table.row_bytes)));
        }
        rows
    }

    /// The frames that the CPU's encoder makes, in the order of their partitions.
    pub(crate) fn frames_of_cpu(&self, options: CodecOptions) -> Vec<Vec<u8>> {
        let (mut encoder, mut frames) = (Encoder::new(options), Vec::new());
        for partition in self.sorted_rows().chunk_by(|a, b| a.0 == b.0) {
            let lines: Vec<&[u8]> = partition.iter().map(|row| row.1).collect();
            let Ok(()) = encoder.encode(&lines, self.table.fields, |frame| {
                frames.push(frame.to_vec());
                Ok::<(), Infallible>(())
            });
        }
        frames
    }
}
