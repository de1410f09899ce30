//! A column of u64 in the smallest of six encodings.
//!
//! ```text
//! column = tag · body          tag: low 4 bits the encoding, high 4 bits n, the bytes of the first number
//! CONST  0: value[n]                                             every value is the same
//! FOR    1: base[n] zigzag · width · packed(values - base)       frame of reference
//! DELTA  2: step[n] zigzag · m · first[m] zigzag · width · packed(differences - step), one fewer
//! MASK   3: base[n] · mask[8] · packed(bits under the mask)      bits that never vary are dropped
//! DICT   4: count - 1 · column of the count distinct values, ascending · packed(indexes)
//! RAW    5: values[8 each]
//! ```
//!
//! Numbers are signed for FOR, DELTA and DICT's order; all arithmetic wraps, so any bits round-trip.

use crate::bitpack;
use crate::bytes::{Input, put_short, short_len};
use crate::error::{CodecError, Result};
use crate::kernels::{BitRuns, Kernels, Stats};
use crate::scratch::{Scratch, at_least, clear_for, scratch_of};

const CONST: u8 = 0;
const FOR: u8 = 1;
const DELTA: u8 = 2;
const MASK: u8 = 3;
const DICT: u8 = 4;
const RAW: u8 = 5;

/// Most distinct values of a dictionary.
const MAX_DICT: usize = 256;
/// Fewer values than this never pay for a dictionary.
const MIN_DICT_ROWS: usize = 32;
const HASH_SLOTS: usize = 1024;
/// Bits that one dictionary entry takes at least, by experience.
const ENTRY_BITS: usize = 8;
/// After this many values the number of distinct ones so far tells whether the whole column can have at most `most`.
const SAMPLE: usize = 64;

/// Encodes columns; owns scratch memory so that encoding one allocates nothing.
pub(crate) struct ColumnEncoder {
    kernels: &'static Kernels,
    scratch: Vec<u64>,
    dict: Dictionary,
}

scratch_of!(ColumnEncoder: scratch, dict);

fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

fn unzigzag(v: u64) -> i64 {
    ((v >> 1) as i64) ^ -((v & 1) as i64)
}

fn bits(v: u64) -> u32 {
    64 - v.leading_zeros()
}

/// What each candidate would take, in bits a value.
struct Widths {
    reference: u32,
    delta: u32,
    mask: u32,
}

impl Widths {
    fn of(s: &Stats) -> Self {
        Self {
            reference: bits(s.max.wrapping_sub(s.min) as u64),
            delta: bits(s.delta_max.wrapping_sub(s.delta_min) as u64),
            mask: (s.or & !s.and).count_ones(),
        }
    }
}

impl ColumnEncoder {
    /// An encoder with these kernels.
    pub(crate) fn new(kernels: &'static Kernels) -> Self {
        Self { kernels, scratch: Vec::new(), dict: Dictionary::new() }
    }

    /// Appends the smallest encoding of `values` (at least one).
    pub(crate) fn encode(&mut self, values: &[u64], out: &mut Vec<u8>) {
        self.encode_with(values, true, out);
    }

    fn encode_with(&mut self, values: &[u64], dictionary: bool, out: &mut Vec<u8>) {
        let s = self.kernels.stats(values);
        if s.min == s.max {
            return put_first(out, CONST, s.or);
        }
        let widths = Widths::of(&s);
        let n = values.len();
        let reference = bitpack::packed_bytes(n, widths.reference) + 2 + short_len(zigzag(s.min));
        let delta = bitpack::packed_bytes(n - 1, widths.delta)
            + 3
            + short_len(zigzag(s.delta_min))
            + short_len(zigzag(values[0] as i64));
        let mask = bitpack::packed_bytes(n, widths.mask) + 9 + short_len(s.and);
        let best = reference.min(delta).min(mask);
        let narrow = widths.reference.min(widths.delta).min(widths.mask);
        if dictionary && n >= MIN_DICT_ROWS && narrow > 2 && self.try_dictionary(values, narrow, best, out) {
            return;
        }
        if best >= n * 8 {
            out.push(RAW);
            out.reserve(n * 8);
            for v in values {
                out.extend_from_slice(&v.to_le_bytes());
            }
        } else if best == reference {
            put_first(out, FOR, zigzag(s.min));
            out.push(widths.reference as u8);
            bitpack::pack(self.kernels, values, s.min as u64, widths.reference, out);
        } else if best == delta {
            self.put_delta(values, &s, widths.delta, out);
        } else {
            self.put_mask(values, &s, widths.mask, out);
        }
    }

    fn put_delta(&mut self, values: &[u64], s: &Stats, width: u32, out: &mut Vec<u8>) {
        put_first(out, DELTA, zigzag(s.delta_min));
        let first = zigzag(values[0] as i64);
        out.push(short_len(first) as u8);
        put_short(out, first, short_len(first));
        out.push(width as u8);
        clear_for(&mut self.scratch, values.len());
        self.scratch.extend(values.windows(2).map(|w| w[1].wrapping_sub(w[0])));
        bitpack::pack(self.kernels, &self.scratch, s.delta_min as u64, width, out);
    }

    fn put_mask(&mut self, values: &[u64], s: &Stats, width: u32, out: &mut Vec<u8>) {
        let mask = s.or & !s.and;
        put_first(out, MASK, s.and);
        out.extend_from_slice(&mask.to_le_bytes());
        at_least(&mut self.scratch, values.len());
        let kept = &mut self.scratch[..values.len()];
        self.kernels.extract(values, &BitRuns::of(mask), kept);
        bitpack::pack(self.kernels, kept, 0, width, out);
    }

    /// Encodes by dictionary if that beats `best` bytes; `narrow` is the best width so far.
    fn try_dictionary(&mut self, values: &[u64], narrow: u32, best: usize, out: &mut Vec<u8>) -> bool {
        let Some(most) = most_distinct(values.len(), narrow) else { return false };
        if !self.dict.build(values, most) {
            return false;
        }
        let width = bits(self.dict.sorted.len() as u64 - 1);
        if bitpack::packed_bytes(values.len(), width) + 2 + self.dict.sorted.len() * 2 >= best {
            return false;
        }
        let start = out.len();
        out.push(DICT);
        out.push((self.dict.sorted.len() - 1) as u8);
        let sorted = std::mem::take(&mut self.dict.sorted);
        self.encode_with(&sorted, false, out);
        self.dict.sorted = sorted;
        clear_for(&mut self.scratch, values.len());
        self.scratch.extend(values.iter().map(|v| self.dict.index_of(*v)));
        bitpack::pack(self.kernels, &self.scratch, 0, width, out);
        if out.len() - start >= best {
            out.truncate(start);
            return false;
        }
        true
    }
}

fn put_first(out: &mut Vec<u8>, kind: u8, first: u64) {
    let n = short_len(first);
    out.push(kind | (n as u8) << 4);
    put_short(out, first, n);
}

/// The largest dictionary (a power of two) that can pay for `n` values that otherwise take `narrow` bits each.
fn most_distinct(n: usize, narrow: u32) -> Option<usize> {
    let index_bits = (1..narrow.min(9)).rev().find(|b| n * (narrow - b) as usize > ENTRY_BITS << b)?;
    Some(1 << index_bits)
}

/// How many of the first `SAMPLE` values may differ if there are `most` distinct ones in all, with some margin:
/// `most` · (1 − e^(−SAMPLE / most)) + 5 for equally frequent ones.
fn expected_distinct(most: usize) -> usize {
    match most {
        256 => 62,
        128 => 56,
        64 => 46,
        _ => most,
    }
}

/// The distinct values of a column, while there are few.
struct Dictionary {
    keys: Box<[u64; HASH_SLOTS]>,
    /// Index + 1 into `sorted` after `build`; 0 is an empty slot.
    slots: Box<[u16; HASH_SLOTS]>,
    sorted: Vec<u64>,
}

impl Scratch for Dictionary {
    fn bytes(&self) -> usize {
        size_of_val(&*self.keys) + size_of_val(&*self.slots) + self.sorted.bytes()
    }

    /// Frees nothing: its size is constant.
    fn give_back(&mut self) {}
}

impl Dictionary {
    fn new() -> Self {
        Self { keys: Box::new([0; HASH_SLOTS]), slots: Box::new([0; HASH_SLOTS]), sorted: Vec::with_capacity(MAX_DICT) }
    }

    fn slot(&self, value: u64) -> usize {
        let mut at = (value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
        while self.slots[at] != 0 && self.keys[at] != value {
            at = (at + 1) % HASH_SLOTS;
        }
        at
    }

    /// Collects the distinct values; false as soon as there are more than `most` (at most 256).
    fn build(&mut self, values: &[u64], most: usize) -> bool {
        self.slots.fill(0);
        self.sorted.clear();
        // Of a short column half is looked at, and a dictionary is only made if some value is there twice.
        let sample = SAMPLE.min(values.len() / 2);
        let in_sample = if sample < SAMPLE { sample - 1 } else { expected_distinct(most) };
        for (i, v) in values.iter().enumerate() {
            if i == sample && self.sorted.len() > in_sample {
                return false;
            }
            let at = self.slot(*v);
            if self.slots[at] == 0 {
                if self.sorted.len() == most {
                    return false;
                }
                self.keys[at] = *v;
                self.slots[at] = 1;
                self.sorted.push(*v);
            }
        }
        self.sorted.sort_unstable_by_key(|v| *v as i64);
        for i in 0..self.sorted.len() {
            let at = self.slot(self.sorted[i]);
            self.slots[at] = i as u16 + 1;
        }
        true
    }

    fn index_of(&self, value: u64) -> u64 {
        u64::from(self.slots[self.slot(value)]) - 1
    }
}

/// Decodes one column of `n` values into `out[..n]`; `out` has room for `n` rounded up to 8.
pub(crate) fn decode(k: &Kernels, input: &mut Input<'_>, n: usize, out: &mut [u64]) -> Result<()> {
    let tag = input.u8("column tag")?;
    let bytes = usize::from(tag >> 4);
    if bytes > 8 {
        return Err(CodecError::new(format!("column tag {tag:#04x}")));
    }
    let first = input.short_u64(bytes, "column head")?;
    match tag & 0x0F {
        CONST => out[..n].fill(first),
        FOR => {
            let width = width(input)?;
            bitpack::unpack(k, input, n, width, unzigzag(first) as u64, out)?;
        }
        DELTA => decode_delta(k, input, n, unzigzag(first) as u64, out)?,
        MASK => {
            let mask = input.short_u64(8, "column mask")?;
            bitpack::unpack(k, input, n, mask.count_ones(), 0, out)?;
            k.deposit(&mut out[..n], &BitRuns::of(mask), first);
        }
        DICT if bytes == 0 => decode_dictionary(k, input, n, out)?,
        RAW if bytes == 0 => bitpack::unpack(k, input, n, 64, 0, out)?,
        _ => return Err(CodecError::new(format!("column tag {tag:#04x}"))),
    }
    Ok(())
}

fn width(input: &mut Input<'_>) -> Result<u32> {
    match input.u8("column width")? {
        w @ 0..=64 => Ok(u32::from(w)),
        w => Err(CodecError::new(format!("column width {w}"))),
    }
}

fn decode_delta(k: &Kernels, input: &mut Input<'_>, n: usize, step: u64, out: &mut [u64]) -> Result<()> {
    let bytes = usize::from(input.u8("first value")?);
    if bytes > 8 {
        return Err(CodecError::new(format!("first value of {bytes} bytes")));
    }
    let first = unzigzag(input.short_u64(bytes, "first value")?) as u64;
    let width = width(input)?;
    // Unpacking overwrites up to the next multiple of 8 of n - 1 <= n, which out has room for.
    bitpack::unpack(k, input, n - 1, width, 0, out)?;
    out.copy_within(0..n - 1, 1);
    out[0] = first.wrapping_sub(step);
    k.prefix_sum(&mut out[..n], 0, step);
    Ok(())
}

fn decode_dictionary(k: &Kernels, input: &mut Input<'_>, n: usize, out: &mut [u64]) -> Result<()> {
    let count = usize::from(input.u8("dictionary size")?) + 1;
    let mut values = [0u64; MAX_DICT];
    let tag = input.peek("column tag")? & 0x0F;
    if tag == DICT {
        return Err(CodecError::new("dictionary inside a dictionary"));
    }
    decode(k, input, count, &mut values)?;
    bitpack::unpack(k, input, n, bits(count as u64 - 1), 0, out)?;
    if count < MAX_DICT && out[..n].iter().fold(0, |m, v| m.max(*v)) >= count as u64 {
        return Err(CodecError::new(format!("index past a dictionary of {count} values")));
    }
    for v in &mut out[..n] {
        *v = values[(*v & 0xFF) as usize];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(values: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        ColumnEncoder::new(Kernels::best()).encode(values, &mut out);
        out
    }

    fn round_trip(values: &[u64]) -> u8 {
        let expected = encoded(values);
        for k in Kernels::all() {
            let mut bytes = Vec::new();
            ColumnEncoder::new(k).encode(values, &mut bytes);
            assert_eq!(bytes, expected, "{}", k.name);
            let mut out = vec![0; values.len().next_multiple_of(8)];
            let mut input = Input::new(&bytes);
            decode(k, &mut input, values.len(), &mut out).expect("own output");
            assert!(input.is_empty());
            assert_eq!(&out[..values.len()], values);
        }
        expected[0] & 0x0F
    }

    #[test]
    fn each_encoding_is_chosen_where_it_is_best() {
        let n = 1000u64;
        let mix = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let cases: Vec<(u8, Vec<u64>)> = vec![
            (CONST, vec![5; 1000]),
            (FOR, (0..n).map(|i| 1_000_000 + mix(i) % 5000).collect()),
            (DELTA, (0..n).map(|i| i * 1_000_003 + mix(i) % 8).collect()),
            (MASK, (0..n).map(|i| (mix(i) & 0x0F0F_0F0F_0F0F_0F0F) | 0x3030_3030_3030_3030).collect()),
            (DICT, (0..n).map(|i| mix(mix(i) % 7)).collect()),
            (RAW, (0..n).map(sluice_testkit::xorshift).collect()),
        ];
        for (kind, values) in cases {
            assert_eq!(round_trip(&values), kind);
        }
    }

    #[test]
    fn extremes() {
        round_trip(&[0]);
        round_trip(&[u64::MAX, 0]);
        round_trip(&[i64::MIN as u64, i64::MAX as u64, 0, 1, u64::MAX]);
        round_trip(
            &(0..300u64).map(|i| if i % 2 == 0 { i64::MIN as u64 } else { i64::MAX as u64 }).collect::<Vec<_>>(),
        );
        round_trip(&(0..2000u64).map(|i| i % 256 * 0x0101_0101_0101_0101).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn any_values(values in prop::collection::vec(any::<u64>(), 1..1200)) {
            round_trip(&values);
        }

        #[test]
        fn small_ranges(values in prop::collection::vec(0u64..300, 1..1200), scale in 1u64.., base: u64) {
            let v: Vec<u64> = values.iter().map(|x| x.wrapping_mul(scale).wrapping_add(base)).collect();
            round_trip(&v);
        }

        #[test]
        fn any_bytes_decode_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..400), n in 1usize..700) {
            let mut out = vec![0; n.next_multiple_of(8)];
            for k in Kernels::all() {
                let _ = decode(k, &mut Input::new(&bytes), n, &mut out);
            }
        }
    }
}
