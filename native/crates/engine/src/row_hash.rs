//! XXH64 of rows, with seed 0: one row at a time, or eight rows of the same length at once.
//!
//! A row's hash is a chain of multiplications, each of which waits for the one before it. With AVX-512 one instruction
//! multiplies for eight rows. Only AVX-512 has such a multiplication of 64-bit numbers; made of smaller ones it is no
//! faster than eight rows one after the other, so other processors hash row by row.

use std::sync::OnceLock;

use xxhash_rust::xxh64::xxh64;

const SEED: u64 = 0;
/// Rows that are hashed at once: the 64-bit numbers of an AVX-512 register.
const LANES: usize = 8;
const WORD: usize = size_of::<u64>();
/// The longest rows that are collected, in words. Longer ones are hashed one by one: they are few for their bytes.
const MOST_WORDS: usize = 64;

/// XXH64 of one row, of which Spark's row checksums are made.
pub fn of_row(row: &[u8]) -> u64 {
    xxh64(row, SEED)
}

/// Hashes rows of any lengths, and collects those of the same length until there are eight.
///
/// `T` goes with a row to where its hash is reported.
pub(crate) struct RowHasher<'a, T> {
    hash_eight: Option<HashEight>,
    /// By words of a row.
    waiting: Vec<Waiting<'a, T>>,
}

/// Up to eight rows of one length.
#[derive(Clone, Copy)]
struct Waiting<'a, T> {
    rows: [&'a [u8]; LANES],
    tags: [T; LANES],
    count: usize,
}

impl<'a, T: Copy + Default> RowHasher<'a, T> {
    /// Bytes of heap memory that one takes.
    pub(crate) const BYTES: usize = (MOST_WORDS + 1) * size_of::<Waiting<'static, T>>();

    pub(crate) fn new() -> Self {
        let hash_eight = *HASH_EIGHT.get_or_init(detect);
        let empty = Waiting { rows: [&[]; LANES], tags: [T::default(); LANES], count: 0 };
        let lengths = if hash_eight.is_some() { MOST_WORDS + 1 } else { 0 };
        Self { hash_eight, waiting: vec![empty; lengths] }
    }

    /// Takes a row, and reports it or others that were taken before.
    #[inline]
    pub(crate) fn add(&mut self, row: &'a [u8], tag: T, mut report: impl FnMut(T, u64)) {
        let of_this_length = if row.len().is_multiple_of(WORD) { self.waiting.get_mut(row.len() / WORD) } else { None };
        let (Some(hash_eight), Some(waiting)) = (self.hash_eight, of_this_length) else {
            report(tag, of_row(row));
            return;
        };
        waiting.rows[waiting.count] = row;
        waiting.tags[waiting.count] = tag;
        waiting.count += 1;
        if waiting.count == LANES {
            waiting.count = 0;
            let hashes = eight(hash_eight, &waiting.rows);
            waiting.tags.iter().zip(hashes).for_each(|(tag, hash)| report(*tag, hash));
        }
    }

    /// Reports the rows that still wait.
    pub(crate) fn finish(self, mut report: impl FnMut(T, u64)) {
        for waiting in &self.waiting {
            let rows = waiting.rows[..waiting.count].iter().zip(&waiting.tags);
            rows.for_each(|(row, tag)| report(*tag, of_row(row)));
        }
    }
}

/// Hashes of eight rows of this many words each.
type HashEight = unsafe fn(&[*const u8; LANES], usize) -> [u64; LANES];

static HASH_EIGHT: OnceLock<Option<HashEight>> = OnceLock::new();

/// The function for this processor, if it has one that is faster than row by row.
fn detect() -> Option<HashEight> {
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        return Some(avx512::hash_eight);
    }
    None
}

/// Hashes of eight rows, which must have the same length in whole words.
#[inline]
fn eight(hash_eight: HashEight, rows: &[&[u8]; LANES]) -> [u64; LANES] {
    let bytes = rows[0].len();
    assert!(bytes.is_multiple_of(WORD) && rows.iter().all(|row| row.len() == bytes));
    // SAFETY: each row has `bytes` bytes, which is a whole number of words; `detect` gives out only a function whose
    // instructions this processor has (tests also pass one that needs no special ones).
    unsafe { hash_eight(&rows.map(<[u8]>::as_ptr), bytes / WORD) }
}

/// The definition of XXH64 (`doc/xxhash_spec.md` of xxHash) for rows of whole words, in eight lanes.
mod lanes {
    use super::{LANES, WORD};

    type Lanes = [u64; LANES];

    const PRIMES: [u64; 5] = [
        0x9E37_79B1_85EB_CA87,
        0xC2B2_AE3D_27D4_EB4F,
        0x1656_67B1_9E37_79F9,
        0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5,
    ];
    /// Words that the four accumulators take in a step.
    const STRIPE: usize = 4;

    #[inline(always)]
    fn map(a: Lanes, f: impl Fn(u64) -> u64) -> Lanes {
        let mut out = a;
        for lane in &mut out {
            *lane = f(*lane);
        }
        out
    }

    #[inline(always)]
    fn zip(a: Lanes, b: Lanes, f: impl Fn(u64, u64) -> u64) -> Lanes {
        let mut out = a;
        for lane in 0..LANES {
            out[lane] = f(a[lane], b[lane]);
        }
        out
    }

    #[inline(always)]
    fn round(accumulator: Lanes, input: Lanes) -> Lanes {
        zip(accumulator, input, |a, i| {
            a.wrapping_add(i.wrapping_mul(PRIMES[1])).rotate_left(31).wrapping_mul(PRIMES[0])
        })
    }

    /// # Safety
    /// `words` words can be read at each of `rows`.
    #[inline(always)]
    pub(super) unsafe fn hash_eight(rows: &[*const u8; LANES], words: usize) -> Lanes {
        let word = |at: usize| {
            let mut values = [0; LANES];
            for lane in 0..LANES {
                // SAFETY: `at < words` in every call below, so the word lies in the row (contract).
                let bytes = unsafe { rows[lane].add(at * WORD).cast::<[u8; WORD]>().read() };
                values[lane] = u64::from_le_bytes(bytes);
            }
            values
        };
        let stripes = words / STRIPE;
        let mut hash = [PRIMES[4]; LANES];
        if stripes > 0 {
            let mut accumulators = [
                [PRIMES[0].wrapping_add(PRIMES[1]); LANES],
                [PRIMES[1]; LANES],
                [0; LANES],
                [PRIMES[0].wrapping_neg(); LANES],
            ];
            for stripe in 0..stripes {
                for (i, accumulator) in accumulators.iter_mut().enumerate() {
                    *accumulator = round(*accumulator, word(stripe * STRIPE + i));
                }
            }
            hash = [0; LANES];
            for (accumulator, rotation) in accumulators.into_iter().zip([1, 7, 12, 18]) {
                hash = zip(hash, accumulator, |h, a| h.wrapping_add(a.rotate_left(rotation)));
            }
            for accumulator in accumulators {
                let merged = round([0; LANES], accumulator);
                hash = zip(hash, merged, |h, m| (h ^ m).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]));
            }
        }
        hash = map(hash, |h| h.wrapping_add((words * WORD) as u64));
        for at in stripes * STRIPE..words {
            let input = round([0; LANES], word(at));
            hash = zip(hash, input, |h, i| (h ^ i).rotate_left(27).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]));
        }
        map(hash, |h| {
            let h = (h ^ (h >> 33)).wrapping_mul(PRIMES[1]);
            let h = (h ^ (h >> 29)).wrapping_mul(PRIMES[2]);
            h ^ (h >> 32)
        })
    }
}

/// [`lanes::hash_eight`], compiled for AVX-512.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{LANES, lanes};

    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    pub(super) unsafe fn hash_eight(rows: &[*const u8; LANES], words: usize) -> [u64; LANES] {
        // SAFETY: as the caller promises.
        unsafe { lanes::hash_eight(rows, words) }
    }

    pub(super) fn available() -> bool {
        std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same loops without any particular instructions, so that they are tested on every processor.
    unsafe fn portable(rows: &[*const u8; LANES], words: usize) -> [u64; LANES] {
        // SAFETY: as the caller promises.
        unsafe { lanes::hash_eight(rows, words) }
    }

    fn functions() -> Vec<HashEight> {
        std::iter::once(portable as HashEight).chain(detect()).collect()
    }

    fn bytes(count: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn eight_rows_have_the_hashes_of_the_library() {
        for words in 0..=MOST_WORDS + 3 {
            let rows: Vec<Vec<u8>> = (0..LANES).map(|i| bytes(words * WORD, (words * LANES + i) as u64)).collect();
            let slices: [&[u8]; LANES] = std::array::from_fn(|i| rows[i].as_slice());
            for function in functions() {
                assert_eq!(eight(function, &slices), slices.map(of_row), "{words} words");
            }
        }
    }

    #[test]
    fn rows_of_mixed_lengths_are_reported_once_with_their_hash() {
        let rows: Vec<Vec<u8>> = (0..1000).map(|i| bytes(i * 7 % 600, i as u64)).collect();
        for function in functions().into_iter().map(Some).chain([None]) {
            let mut hasher = RowHasher::new();
            if function.is_some() && hasher.hash_eight.is_none() {
                hasher.waiting = vec![Waiting { rows: [&[]; LANES], tags: [0; LANES], count: 0 }; MOST_WORDS + 1];
            }
            hasher.hash_eight = function;
            let mut reported = vec![None; rows.len()];
            let mut report = |i: usize, hash| assert_eq!(reported[i].replace(hash), None, "row {i} twice");
            rows.iter().enumerate().for_each(|(i, row)| hasher.add(row, i, &mut report));
            hasher.finish(&mut report);
            let expected: Vec<_> = rows.iter().map(|row| Some(of_row(row))).collect();
            assert_eq!(reported, expected);
        }
    }

    #[test]
    #[should_panic]
    fn rows_of_different_lengths_are_refused() {
        let (short, long) = ([0; 8], [0; 16]);
        eight(portable, &[&long, &long, &long, &long, &long, &long, &long, &short]);
    }
}
