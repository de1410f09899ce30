//! Rows for the self-test and for measurements, with all that the encoder looks at.

use sluice_engine::Page;

pub(crate) const PARTITIONS: u32 = 7;
pub(crate) const FIELDS: u32 = 6;

/// Rows of so many bytes together, or a few more; each with its partition.
pub(crate) fn rows(bytes: usize, partitions: u32) -> Vec<(u32, Vec<u8>)> {
    let (mut rows, mut made) = (Vec::new(), 0);
    for i in 0.. {
        if made >= bytes {
            break;
        }
        let row = row(i);
        made += row.len();
        rows.push(((mix(!i) % u64::from(partitions)) as u32, row));
    }
    rows
}

pub(crate) fn mix(x: u64) -> u64 {
    let z = (x ^ x >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 29
}

/// A row with fields for each encoding of columns, and with short and long values behind them. Some have a null, in a
/// number or in a short value.
fn row(i: u64) -> Vec<u8> {
    let h = mix(i);
    let nulls = [0, 0, 0, 1 << 2, 1 << 4][(h % 5) as usize];
    let slot = |field: u64, value: u64| if nulls >> field & 1 == 1 { 0 } else { value };
    let (short, long) = (slot(4, h % 30), h / 32 % 90);
    let short_at = 8 * (1 + u64::from(FIELDS));
    let long_at = short_at + short.next_multiple_of(8);
    let (number, short_slot) = (slot(2, mix(h % 40)), slot(4, short_at << 32 | short));
    let words = [nulls, i * 7, h % 1000, number, h | 0xFF00, short_slot, long_at << 32 | long];
    let mut row: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    for bytes in [short, long] {
        row.extend((0..bytes).map(|b| (h >> (b % 56)) as u8));
        row.resize(row.len().next_multiple_of(8), 0);
    }
    row
}

/// The memory of a page, as the JVM fills it.
pub(crate) struct FilledPage {
    memory: Vec<u8>,
    used: usize,
    entries: usize,
}

impl FilledPage {
    pub(crate) fn of(rows: &[(u32, Vec<u8>)]) -> Self {
        let mut memory: Vec<u8> = rows.iter().flat_map(|row| row.1.iter().copied()).collect();
        let used = memory.len();
        let mut offset = used;
        for (partition, row) in rows.iter().rev() {
            offset -= row.len();
            memory.extend_from_slice(&(offset as u32).to_le_bytes());
            memory.extend_from_slice(&partition.to_le_bytes());
        }
        Self { memory, used, entries: rows.len() }
    }

    pub(crate) fn page(&self) -> Page<'_> {
        Page { memory: &self.memory, used: self.used, entries: self.entries }
    }
}
