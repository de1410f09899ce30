//! The inner loops, once per instruction set, chosen at run time.
//!
//! [`body`] holds one portable definition of each loop, written so that it vectorises; `generic`, `avx2`
//! and `avx512` compile that same definition for their instruction set, so that they cannot differ in
//! the bytes they make. [`Kernels::all`] lists those this CPU can run; tests compare them.
//!
//! Every method is safe for any arguments: what the loops need is checked with real branches, also in release builds.

mod body;
mod instances;

use std::sync::OnceLock;

/// What one pass over a column learns. All arithmetic is wrapping; a column has at least one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stats {
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
pub(crate) struct BitRun {
    /// Position of the run in a full word.
    pub from: u32,
    /// Position of the run among the kept bits.
    pub to: u32,
    /// The run's bits, right-aligned.
    pub mask: u64,
}

/// The runs of ones in a mask, lowest first; at most 32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitRuns {
    runs: [BitRun; 32],
    len: usize,
}

impl BitRuns {
    /// The runs of `mask`.
    pub(crate) fn of(mask: u64) -> Self {
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

/// The inner loops, compiled for one instruction set.
pub struct Kernels {
    /// "generic", "avx2" or "avx512".
    pub name: &'static str,
    /// Whether this CPU has every feature that the loops were compiled for.
    available: fn() -> bool,
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
        let compiled: &[&'static Self] = &[
            &instances::GENERIC,
            #[cfg(target_arch = "x86_64")]
            &instances::AVX2,
            #[cfg(target_arch = "x86_64")]
            &instances::AVX512,
        ];
        compiled.iter().copied().filter(|k| (k.available)()).collect()
    }

    /// Statistics of a column; `values` must not be empty.
    pub(crate) fn stats(&self, values: &[u64]) -> Stats {
        assert!(!values.is_empty());
        // SAFETY: a `Kernels` is reachable only through `all` and `best`, which give out only those whose `available`
        // found every feature that the loops were compiled for; the same holds below. The body is safe code.
        unsafe { (self.stats)(values) }
    }

    /// Packs `values - base`, each of `width` (1 to 63) bits, into interleaved lanes, filled up with zeros to a whole
    /// number of values a lane; see [`crate::bitpack`].
    pub(crate) fn pack(&self, values: &[u64], base: u64, width: u32, out: &mut [u8]) {
        assert!((1..64).contains(&width));
        assert!(out.len() == body::lane_bytes(values.len().next_multiple_of(body::LANES), width));
        // SAFETY: features were checked (see `stats`); the body is safe code, whose results need the lengths above.
        unsafe { (self.pack)(values, base, width, out) }
    }

    /// Inverse of [`Kernels::pack`].
    pub(crate) fn unpack(&self, packed: &[u8], width: u32, base: u64, out: &mut [u64]) {
        assert!((1..64).contains(&width) && out.len().is_multiple_of(body::LANES));
        assert!(packed.len() == body::lane_bytes(out.len(), width));
        // SAFETY: features were checked (see `stats`); the body is safe code, whose results need the lengths above.
        unsafe { (self.unpack)(packed, width, base, out) }
    }

    /// Moves the bits of each run together (`pext` by runs); both slices have the same length.
    pub(crate) fn extract(&self, values: &[u64], runs: &[BitRun], out: &mut [u64]) {
        assert!(values.len() == out.len());
        // SAFETY: features were checked (see `stats`); the body is safe code.
        unsafe { (self.extract)(values, runs, out) }
    }

    /// Inverse of [`Kernels::extract`], or-ing `base` into each value.
    pub(crate) fn deposit(&self, values: &mut [u64], runs: &[BitRun], base: u64) {
        // SAFETY: features were checked (see `stats`); the body is safe code.
        unsafe { (self.deposit)(values, runs, base) }
    }

    /// Replaces deltas by running sums: `values[i] = start + Σ (values[0..=i] + step)`, wrapping.
    pub(crate) fn prefix_sum(&self, values: &mut [u64], start: u64, step: u64) {
        // SAFETY: features were checked (see `stats`); the body is safe code.
        unsafe { (self.prefix_sum)(values, start, step) }
    }

    /// Transposes: word `w` of row `i` goes to `columns[w * stride + i]`, and what a row has behind its `words` words
    /// is appended to `portions`. False, and undefined contents of both, if a row has fewer words, if there are more
    /// rows than `stride`, or if `columns` has fewer than `words * stride` elements.
    pub(crate) fn gather(
        &self,
        rows: &[&[u8]],
        words: usize,
        stride: usize,
        columns: &mut [u64],
        portions: &mut Vec<u8>,
    ) -> bool {
        if stride < rows.len() || words.checked_mul(stride).is_none_or(|n| n > columns.len()) {
            return false;
        }
        // SAFETY: features were checked (see `stats`); the branch above is all that the body asks for.
        unsafe { (self.gather)(rows, words, stride, columns, portions) }
    }
}

/// Bytes that [`Kernels::pack`] needs for `values` (a multiple of 8) values.
pub(crate) fn lane_bytes(values: usize, width: u32) -> usize {
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

    /// Numbers around which sizes go wrong: small ones, those whose product with 8 wraps to little, and the largest.
    fn edge() -> impl Strategy<Value = usize> {
        prop_oneof![
            4 => 0usize..20,
            1 => prop::sample::select(vec![1 << 29, 1 << 32, 1 << 58, 1 << 60, 1 << 61, 1 << 62, 1 << 63, usize::MAX]),
            1 => (0u32..64, 0usize..3).prop_map(|(bit, more)| (1usize << bit).wrapping_add(more)),
        ]
    }

    /// What `gather` must do, in the plainest way, on sizes that fit.
    fn transpose(rows: &[Vec<u8>], words: usize, stride: usize, columns: &mut [u64]) -> Vec<u8> {
        for (i, row) in rows.iter().enumerate() {
            for (w, word) in row.chunks_exact(8).take(words).enumerate() {
                columns[w * stride + i] = word.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
            }
        }
        rows.iter().flat_map(|r| &r[words * 8..]).copied().collect()
    }

    #[test]
    fn gather_refuses_sizes_whose_product_wraps() {
        for k in Kernels::all() {
            assert!(!k.gather(&[&[]], 1 << 61, 8, &mut [], &mut Vec::new()), "{}", k.name);
            assert!(!k.gather(&[&[0; 8]], usize::MAX, 2, &mut [0; 8], &mut Vec::new()), "{}", k.name);
            assert!(!k.gather(&[&[0; 8], &[0; 8]], 1, 1, &mut [0; 8], &mut Vec::new()), "{}", k.name);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// Sizes of every kind, right and wrong ones: `gather` writes nothing outside the columns, and says so when
        /// they do not fit.
        #[test]
        fn gather_takes_any_sizes(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10),
            words in edge(), stride in edge(), room in prop_oneof![Just(None), (0usize..100).prop_map(Some)],
        ) {
            const GUARD: u64 = 0x6A6A_6A6A_6A6A_6A6A;
            let product = words as u128 * stride as u128;
            let room = room.unwrap_or(if product < 1000 { product as usize } else { 8 });
            let fits = product <= room as u128 && stride >= rows.len();
            let whole = fits && rows.iter().all(|r| r.len() / 8 >= words);
            let refs: Vec<&[u8]> = rows.iter().map(|r| &r[..]).collect();
            for k in Kernels::all() {
                let (mut columns, mut portions) = (vec![GUARD; room + 16], Vec::new());
                let done = k.gather(&refs, words, stride, &mut columns[8..8 + room], &mut portions);
                prop_assert_eq!(done, whole, "{}", k.name);
                prop_assert!(columns[..8].iter().chain(&columns[8 + room..]).all(|w| *w == GUARD), "{}", k.name);
                if whole {
                    let mut expected = vec![GUARD; room];
                    prop_assert_eq!(portions, transpose(&rows, words, stride, &mut expected));
                    prop_assert_eq!(&columns[8..8 + room], &expected[..]);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_sets_agree(
            values in prop::collection::vec(any::<u64>(), 8..600), width in 1u32..64, mask: u64, base: u64,
        ) {
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
                for (s, v) in sums.iter().zip(&values) {
                    sum = sum.wrapping_add(*v).wrapping_add(3);
                    prop_assert_eq!(*s, sum);
                }
            }
        }
    }
}
