//! The one definition of every loop. Always inlined into `instances`, which gives it an instruction set.

use super::{BitRun, Stats};

/// Values packed side by side; one AVX-512 register of u64.
pub(super) const LANES: usize = 8;
/// How many rows ahead `gather` asks the cache for.
const PREFETCH_ROWS: usize = 12;

/// Whole words take 8 bytes a lane; the last, partly filled one only the bytes it uses.
pub(super) fn lane_bytes(values: usize, width: u32) -> usize {
    let bits = values / LANES * width as usize;
    (bits / 64 * 8 + (bits % 64).div_ceil(8)) * LANES
}

#[inline(always)]
pub(super) fn stats(values: &[u64]) -> Stats {
    let first = values[0];
    let mut all = Stats { min: first as i64, max: first as i64, or: first, and: first, delta_min: 0, delta_max: 0 };
    let (later, earlier) = (&values[1..], &values[..values.len() - 1]);
    if !later.is_empty() {
        (all.delta_min, all.delta_max) = (i64::MAX, i64::MIN);
    }
    // One accumulator each: from this the compiler makes a loop over registers, from arrays of them one that gathers.
    for (value, before) in later.iter().zip(earlier) {
        let delta = value.wrapping_sub(*before) as i64;
        all.min = all.min.min(*value as i64);
        all.max = all.max.max(*value as i64);
        all.or |= value;
        all.and &= value;
        all.delta_min = all.delta_min.min(delta);
        all.delta_max = all.delta_max.max(delta);
    }
    all
}

#[inline(always)]
fn store_lanes(out: &mut [u8], at: usize, lanes: &[u64; LANES]) {
    for (o, v) in out[at..at + LANES * 8].chunks_exact_mut(8).zip(lanes) {
        o.copy_from_slice(&v.to_le_bytes());
    }
}

#[inline(always)]
fn load_lanes(packed: &[u8], at: usize) -> [u64; LANES] {
    let mut lanes = [0; LANES];
    match packed[at..].first_chunk::<{ LANES * 8 }>() {
        Some(whole) => {
            for (v, b) in lanes.iter_mut().zip(whole.chunks_exact(8)) {
                *v = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
            }
        }
        None => load_last_lanes(&packed[at..], &mut lanes),
    }
    lanes
}

/// The last, partly filled word of each lane, in the bytes it uses.
#[inline(never)]
fn store_last_lanes(out: &mut [u8], lanes: &[u64; LANES]) {
    let bytes = out.len() / LANES;
    for (o, v) in out.chunks_exact_mut(bytes).zip(lanes) {
        o.copy_from_slice(&v.to_le_bytes()[..bytes]);
    }
}

#[inline(never)]
fn load_last_lanes(packed: &[u8], lanes: &mut [u64; LANES]) {
    let bytes = packed.len() / LANES;
    for (v, b) in lanes.iter_mut().zip(packed.chunks_exact(bytes.max(1))) {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(b);
        *v = u64::from_le_bytes(word);
    }
}

/// Lane `l` holds values `l`, `l + 8`, …, each `width` bits, low bits first. A last group of fewer than eight values is
/// filled up with zeros.
#[inline(always)]
pub(super) fn pack(values: &[u64], base: u64, width: u32, out: &mut [u8]) {
    let mut lanes = PackedLanes { word: [0; LANES], fill: 0, at: 0 };
    let groups = values.chunks_exact(LANES);
    let rest = groups.remainder();
    for group in groups {
        let mut v = [0u64; LANES];
        for l in 0..LANES {
            v[l] = group[l].wrapping_sub(base);
        }
        lanes.put(&v, width, out);
    }
    if !rest.is_empty() {
        let mut v = [0u64; LANES];
        for (v, value) in v.iter_mut().zip(rest) {
            *v = value.wrapping_sub(base);
        }
        lanes.put(&v, width, out);
    }
    if lanes.fill > 0 {
        store_last_lanes(&mut out[lanes.at..], &lanes.word);
    }
}

/// The word of each lane that is being filled, with `fill` bits; whole words are in `out` up to `at`.
struct PackedLanes {
    word: [u64; LANES],
    fill: u32,
    at: usize,
}

impl PackedLanes {
    #[inline(always)]
    fn put(&mut self, v: &[u64; LANES], width: u32, out: &mut [u8]) {
        for (word, v) in self.word.iter_mut().zip(v) {
            *word |= v << self.fill;
        }
        self.fill += width;
        if self.fill >= 64 {
            store_lanes(out, self.at, &self.word);
            self.at += LANES * 8;
            self.fill -= 64;
            // The bits that did not fit; `width - fill` is 64 only when width is, which it never is.
            let kept = width - self.fill;
            for (word, v) in self.word.iter_mut().zip(v) {
                *word = if self.fill == 0 { 0 } else { v >> kept };
            }
        }
    }
}

#[inline(always)]
pub(super) fn unpack(packed: &[u8], width: u32, base: u64, out: &mut [u64]) {
    if out.is_empty() {
        return;
    }
    let mask = (1u64 << width) - 1;
    let mut word = load_lanes(packed, 0);
    let (mut used, mut at) = (0u32, LANES * 8);
    for group in out.chunks_exact_mut(LANES) {
        if used == 64 {
            word = load_lanes(packed, at);
            at += LANES * 8;
            used = 0;
        }
        let mut v = [0u64; LANES];
        for l in 0..LANES {
            v[l] = word[l] >> used;
        }
        used += width;
        if used > 64 {
            word = load_lanes(packed, at);
            at += LANES * 8;
            used -= 64;
            let have = width - used;
            for l in 0..LANES {
                v[l] |= word[l] << have;
            }
        }
        for l in 0..LANES {
            group[l] = (v[l] & mask).wrapping_add(base);
        }
    }
}

#[inline(always)]
pub(super) fn extract(values: &[u64], runs: &[BitRun], out: &mut [u64]) {
    out.fill(0);
    for run in runs {
        let (from, to, mask) = (run.from, run.to, run.mask);
        for (o, v) in out.iter_mut().zip(values) {
            *o |= ((v >> from) & mask) << to;
        }
    }
}

#[inline(always)]
pub(super) fn deposit(values: &mut [u64], runs: &[BitRun], base: u64) {
    if let [one] = runs {
        let (from, to, mask) = (one.from, one.to, one.mask);
        for v in values.iter_mut() {
            *v = (((*v >> to) & mask) << from) | base;
        }
        return;
    }
    for group in values.chunks_mut(64) {
        let mut out = [base; 64];
        for run in runs {
            let (from, to, mask) = (run.from, run.to, run.mask);
            for (o, v) in out.iter_mut().zip(group.iter()) {
                *o |= ((v >> to) & mask) << from;
            }
        }
        let n = group.len();
        group.copy_from_slice(&out[..n]);
    }
}

#[inline(always)]
pub(super) fn prefix_sum(values: &mut [u64], start: u64, step: u64) {
    let mut sum = start;
    for v in values {
        sum = sum.wrapping_add(*v).wrapping_add(step);
        *v = sum;
    }
}

#[inline(always)]
fn prefetch(row: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = row.as_ptr();
        for line in 0..row.len().div_ceil(64).min(4) {
            // SAFETY: a prefetch has no architectural effect, whatever the address; SSE is in the baseline.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * 64).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Appends `from` word by word: for a few words that is faster than a call of `memcpy`.
#[inline(always)]
fn append(from: &[u8], to: &mut Vec<u8>) {
    to.reserve(from.len());
    let (words, rest) = from.as_chunks::<8>();
    let mut end = to.len();
    for word in words {
        // SAFETY: `reserve` made room for all of `from` behind the `len` bytes that were there.
        unsafe { to.as_mut_ptr().add(end).cast::<[u8; 8]>().write_unaligned(*word) };
        end += 8;
    }
    // SAFETY: the bytes up to `end` are written and inside the capacity.
    unsafe { to.set_len(end) };
    to.extend_from_slice(rest);
}

/// # Safety
/// `words * stride` does not overflow, `columns` has at least that many elements, and `stride >= rows.len()`.
#[inline(always)]
pub(super) unsafe fn gather(
    rows: &[&[u8]],
    words: usize,
    stride: usize,
    columns: &mut [u64],
    portions: &mut Vec<u8>,
) -> bool {
    let out = columns.as_mut_ptr();
    // No overflow below: with a row, stride is at least 1, so words <= columns.len(), which is under isize::MAX / 8.
    for (i, row) in rows.iter().enumerate() {
        if let Some(ahead) = rows.get(i + PREFETCH_ROWS) {
            prefetch(ahead);
        }
        if row.len() < words * 8 {
            return false;
        }
        let from = row.as_ptr().cast::<u64>();
        for w in 0..words {
            // SAFETY: the read is inside the row, which has `words` words (checked above); the write is at
            // w * stride + i < words * stride <= columns.len(), as w < words and i < rows.len() <= stride.
            unsafe { *out.add(w * stride + i) = from.add(w).read_unaligned() };
        }
        append(&row[words * 8..], portions);
    }
    true
}
