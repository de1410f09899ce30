//! Columns that are hard for one choice or another.

use sluice_cuda_sim::long_tests;
use sluice_testkit::xorshift;

use crate::setting::Setting;
use crate::tables::{FAST, Rows};

/// Value `i` of a column of this sort.
fn value(sort: u64, seed: u64, i: u64) -> u64 {
    let h = xorshift(seed ^ i << 24 ^ sort);
    let width = seed % 65;
    let low = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    match sort {
        0 => h & low,
        1 => (h & low).wrapping_add(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        2 => i.wrapping_mul(seed).wrapping_add(h & 7),
        3 => (h & seed) | (xorshift(seed) & !seed),
        // A dictionary of about as many values as may pay.
        4 => xorshift(h % (1 + seed % 300)),
        5 => xorshift(h % [2, 3, 16, 17, 127, 128, 129, 255, 256, 257][(seed % 10) as usize]),
        // The value that stands for an empty slot of the dictionary.
        6 => [0x9E37_79B9_7F4A_7C15, 0, u64::MAX, seed][(h % 4) as usize],
        7 => [i64::MIN as u64, i64::MAX as u64, 0, u64::MAX][(h % 4) as usize],
        8 if i == seed % 400 => h,
        8 => 5,
        // As many different ones in the sample as are allowed, or one more.
        9 => xorshift(if i < 64 { i % (44 + seed % 20) } else { h % 40 }),
        10 => f64::from((h % 1000) as u32).to_bits(),
        11 => (h as i64 >> (seed % 64)) as u64,
        // Two encodings of the same length.
        12 => i.wrapping_mul(1 << (seed % 60)).wrapping_add(seed),
        _ => i / (1 + seed % 50),
    }
}
const SORTS: u64 = 14;

/// Three columns side by side, in partitions of all sizes about the limits of packing.
fn columns(seed: u64) -> Rows {
    const SIZES: [u64; 16] = [1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 500, 512, 575, 576, 1200];
    let sorts: Vec<u64> = (0..3).map(|column| xorshift(seed * 3 + column) % SORTS).collect();
    let mut rows = Vec::new();
    for (partition, size) in (0..).zip(SIZES) {
        for i in 0..size {
            let words = (0..).zip(&sorts).map(|(column, sort)| value(*sort, xorshift(seed + column) >> 8, i));
            let row: Vec<u8> = std::iter::once(0).chain(words).flat_map(u64::to_le_bytes).collect();
            rows.push((partition, row));
        }
    }
    Rows { fields: 3, partitions: SIZES.len() as u32, rows, page_rows: 2000 }
}

#[test]
fn adversarial_columns() {
    let Some(setting) = Setting::new() else { return };
    let seeds = if long_tests() { 2000 } else { 40 };
    let mut encodings = [0usize; 6];
    for seed in 0..seeds {
        for (_, frame) in columns(seed).check(&setting, FAST) {
            if frame[5] == 1 {
                // Behind the header and the kinds lies the column of null bits, a 0 of one byte; then the first column.
                encodings[usize::from(frame[34] & 15)] += 1;
            }
        }
    }
    assert!(encodings.iter().all(|count| *count > 10), "all encodings are there: {encodings:?}");
    setting.finish();
}
