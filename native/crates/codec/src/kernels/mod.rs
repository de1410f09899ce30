//! The inner loops, once per instruction set, chosen at run time.
//!
//! [`body`] holds one portable definition of each loop, written so that it vectorises; `generic`, `avx2`
//! and `avx512` compile that same definition for their instruction set, so that they cannot differ in
//! the bytes they make. [`Kernels::all`] lists those this CPU can run; tests compare them.

mod body;
mod instances;

use std::sync::OnceLock;

/// What one pass over a column learns. All arithmetic is wrapping; a column has at least one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Smallest value, as signed.
    pub min: i64,
    /// Largest value, as signed.
    pub max: i64,
    /// Bits set in some value.
    pub or: u64,
    /// Bits set in every value.
    pub and: u64,
    /// Smallest difference of neighbours (0 for one value).
    pub delta_min: i64,
    /// Largest difference of neighbours.
    pub delta_max: i64,
}

/// A run of mask bits for [`Kernels::extract`] and [`Kernels::deposit`].
#[derive(Debug, Clone, Copy)]
pub struct BitRun {
    /// Position of the run in a full word.
    pub from: u32,
    /// Position of the run among the kept bits.
    pub to: u32,
    /// The run's bits, right-aligned.
    pub mask: u64,
}

/// The runs of ones in a mask, lowest first; at most 32.
#[derive(Debug, Clone, Copy)]
pub struct BitRuns {
    runs: [BitRun; 32],
    len: usize,
}

impl BitRuns {
    /// The runs of `mask`.
    pub fn of(mask: u64) -> Self {
        let mut all = Self { runs: [BitRun { from: 0, to: 0, mask: 0 }; 32], len: 0 };
        let (mut rest, mut to) = (mask, 0);
        while rest != 0 {
            let from = rest.trailing_zeros();
            let ones = (!(rest >> from)).trailing_zeros();
            let mask = if ones == 64 { u64::MAX } else { (1 << ones) - 1 };
            all.runs[all.len] = BitRun { from, to, mask };
            all.len += 1;
            rest &= !(mask << from);
            to += ones;
        }
        all
    }
}

impl std::ops::Deref for BitRuns {
    type Target = [BitRun];

    fn deref(&self) -> &[BitRun] {
        &self.runs[..self.len]
    }
}

type Gather = unsafe fn(&[&[u8]], usize, usize, &mut [u64], &mut Vec<u8>) -> bool;

/// One instruction set's loops.
pub struct Kernels {
    /// "generic", "avx2" or "avx512".
    pub name: &'static str,
    stats: unsafe fn(&[u64]) -> Stats,
    pack: unsafe fn(&[u64], u64, u32, &mut [u8]),
    unpack: unsafe fn(&[u8], u32, u64, &mut [u64]),
    extract: unsafe fn(&[u64], &[BitRun], &mut [u64]),
    deposit: unsafe fn(&mut [u64], &[BitRun], u64),
    prefix_sum: unsafe fn(&mut [u64], u64, u64),
    gather: Gather,
}

impl Kernels {
    /// The best loops for this CPU.
    pub fn best() -> &'static Self {
        static BEST: OnceLock<&'static Kernels> = OnceLock::new();
        BEST.get_or_init(|| Self::all().into_iter().next_back().unwrap_or(&instances::GENERIC))
    }

    /// Every set of loops this CPU can run, best last.
    pub fn all() -> Vec<&'static Self> {
        let mut all = vec![&instances::GENERIC];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
                all.push(&instances::AVX2);
            }
            if instances::avx512_available() {
                all.push(&instances::AVX512);
            }
        }
        all
    }

    /// Statistics of a column; `values` must not be empty.
    pub fn stats(&self, values: &[u64]) -> Stats {
        assert!(!values.is_empty());
        // SAFETY: a `Kernels` is reachable only through `all`/`best`, which checked the CPU's features.
        unsafe { (self.stats)(values) }
    }

    /// Packs `values - base`, each of `width` (1 to 63) bits, into interleaved lanes; see [`crate::bitpack`].
    pub fn pack(&self, values: &[u64], base: u64, width: u32, out: &mut [u8]) {
        assert!((1..64).contains(&width) && values.len().is_multiple_of(body::LANES));
        assert!(out.len() == body::lane_bytes(values.len(), width));
        // SAFETY: features were checked (see `stats`); the body needs the lengths asserted above.
        unsafe { (self.pack)(values, base, width, out) }
    }

    /// Inverse of [`Kernels::pack`].
    pub fn unpack(&self, packed: &[u8], width: u32, base: u64, out: &mut [u64]) {
        assert!((1..64).contains(&width) && out.len().is_multiple_of(body::LANES));
        assert!(packed.len() == body::lane_bytes(out.len(), width));
        // SAFETY: features were checked (see `stats`); the body needs the lengths asserted above.
        unsafe { (self.unpack)(packed, width, base, out) }
    }

    /// Moves the bits of each run together (`pext` by runs); both slices have the same length.
    pub fn extract(&self, values: &[u64], runs: &[BitRun], out: &mut [u64]) {
        assert!(values.len() == out.len());
        // SAFETY: features were checked (see `stats`).
        unsafe { (self.extract)(values, runs, out) }
    }

    /// Inverse of [`Kernels::extract`], or-ing `base` into each value.
    pub fn deposit(&self, values: &mut [u64], runs: &[BitRun], base: u64) {
        // SAFETY: features were checked (see `stats`).
        unsafe { (self.deposit)(values, runs, base) }
    }

    /// Replaces deltas by running sums: `values[i] = start + Σ (values[0..=i] + step)`, wrapping.
    pub fn prefix_sum(&self, values: &mut [u64], start: u64, step: u64) {
        // SAFETY: features were checked (see `stats`).
        unsafe { (self.prefix_sum)(values, start, step) }
    }

    /// Transposes: word `w` of row `i` goes to `columns[w * stride + i]`, and what a row has behind
    /// its `words` words is appended to `portions`. False (and undefined columns) if a row has fewer words.
    pub fn gather(
        &self,
        rows: &[&[u8]],
        words: usize,
        stride: usize,
        columns: &mut [u64],
        portions: &mut Vec<u8>,
    ) -> bool {
        assert!(stride >= rows.len() && columns.len() >= words * stride);
        // SAFETY: features were checked (see `stats`); columns are large enough by the assertion.
        unsafe { (self.gather)(rows, words, stride, columns, portions) }
    }
}

/// Bytes that [`Kernels::pack`] needs for `values` (a multiple of 8) values.
pub fn lane_bytes(values: usize, width: u32) -> usize {
    body::lane_bytes(values, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_cover_the_mask() {
        for mask in [0, 1, u64::MAX, 1 << 63, 0xF0F0_0000_0000_000F, 0x5555_5555_5555_5555] {
            let runs = BitRuns::of(mask);
            let covered = runs.iter().fold(0, |m, r| m | (r.mask << r.from));
            assert_eq!(covered, mask);
        }
    }

    proptest! {
        #[test]
        fn all_sets_agree(values in prop::collection::vec(any::<u64>(), 8..600), width in 1u32..64, mask: u64, base: u64) {
            let whole = values.len() / 8 * 8;
            let low = (1u64 << width) - 1;
            let narrow: Vec<u64> = values[..whole].iter().map(|v| (v & low).wrapping_add(base)).collect();
            let runs = BitRuns::of(mask);
            let generic = Kernels::all()[0];
            for k in Kernels::all() {
                prop_assert_eq!(k.stats(&values), generic.stats(&values), "{}", k.name);
                let mut packed = vec![0xAA; lane_bytes(whole, width)];
                let mut expected = vec![0x55; lane_bytes(whole, width)];
                k.pack(&narrow, base, width, &mut packed);
                generic.pack(&narrow, base, width, &mut expected);
                prop_assert_eq!(&packed, &expected);
                let mut back = vec![0; whole];
                k.unpack(&packed, width, base, &mut back);
                prop_assert_eq!(&back, &narrow);
                let mut out = vec![0; values.len()];
                k.extract(&values, &runs, &mut out);
                for o in &out { prop_assert!(mask == u64::MAX || *o < (1u64 << mask.count_ones())); }
                k.deposit(&mut out, &runs, base & !mask);
                for (o, v) in out.iter().zip(&values) { prop_assert_eq!(*o, (v & mask) | (base & !mask)); }
                let mut sums = values.clone();
                k.prefix_sum(&mut sums, base, 3);
                let mut sum = base;
                for (s, v) in sums.iter().zip(&values) { sum = sum.wrapping_add(*v).wrapping_add(3); prop_assert_eq!(*s, sum); }
            }
        }
    }
}
