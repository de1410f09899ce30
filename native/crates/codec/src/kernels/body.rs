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
    let mut min = [first as i64; LANES];
    let mut max = [first as i64; LANES];
    let mut or = [first; LANES];
    let mut and = [first; LANES];
    let first_delta = if values.len() > 1 { values[1].wrapping_sub(first) as i64 } else { 0 };
    let mut dmin = [first_delta; LANES];
    let mut dmax = [first_delta; LANES];
    let (later, earlier) = (&values[1..], &values[..values.len() - 1]);
    let whole = later.len() / LANES * LANES;
    for (b, a) in later[..whole].chunks_exact(LANES).zip(earlier[..whole].chunks_exact(LANES)) {
        for l in 0..LANES {
            let v = b[l];
            let d = v.wrapping_sub(a[l]) as i64;
            min[l] = if (v as i64) < min[l] { v as i64 } else { min[l] };
            max[l] = if (v as i64) > max[l] { v as i64 } else { max[l] };
            or[l] |= v;
            and[l] &= v;
            dmin[l] = if d < dmin[l] { d } else { dmin[l] };
            dmax[l] = if d > dmax[l] { d } else { dmax[l] };
        }
    }
    for i in whole..later.len() {
        let v = later[i];
        let d = v.wrapping_sub(earlier[i]) as i64;
        min[0] = min[0].min(v as i64);
        max[0] = max[0].max(v as i64);
        or[0] |= v;
        and[0] &= v;
        dmin[0] = dmin[0].min(d);
        dmax[0] = dmax[0].max(d);
    }
    let mut all = Stats { min: min[0], max: max[0], or: or[0], and: and[0], delta_min: dmin[0], delta_max: dmax[0] };
    for l in 1..LANES {
        all.min = all.min.min(min[l]);
        all.max = all.max.max(max[l]);
        all.or |= or[l];
        all.and &= and[l];
        all.delta_min = all.delta_min.min(dmin[l]);
        all.delta_max = all.delta_max.max(dmax[l]);
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

/// Lane `l` holds values `l`, `l + 8`, …, each `width` bits, low bits first.
#[inline(always)]
pub(super) fn pack(values: &[u64], base: u64, width: u32, out: &mut [u8]) {
    let mut word = [0u64; LANES];
    let (mut fill, mut at) = (0u32, 0usize);
    for group in values.chunks_exact(LANES) {
        let mut v = [0u64; LANES];
        for l in 0..LANES {
            v[l] = group[l].wrapping_sub(base);
            word[l] |= v[l] << fill;
        }
        fill += width;
        if fill >= 64 {
            store_lanes(out, at, &word);
            at += LANES * 8;
            fill -= 64;
            // The bits that did not fit; `width - fill` is 64 only when width is, which it never is.
            let kept = width - fill;
            for l in 0..LANES {
                word[l] = if fill == 0 { 0 } else { v[l] >> kept };
            }
        }
    }
    if fill > 0 {
        store_last_lanes(&mut out[at..], &word);
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
