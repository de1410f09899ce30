//! Columns in any encoding that can hold them, not just the smallest.

use super::{bits, pack, zigzag};
use crate::Choices;

/// The bytes of a column of these values (at least one), in an encoding that the choices say, if it can hold them.
pub(super) fn encode(c: &mut Choices<'_>, values: &[u64]) -> Vec<u8> {
    let encoded = match c.below(6) {
        0 => constant(c, values),
        1 => Some(reference(c, values)),
        2 => Some(delta(c, values)),
        3 => Some(mask(c, values)),
        4 => dictionary(c, values),
        _ => None,
    };
    encoded.unwrap_or_else(|| raw(c, values))
}

/// Tag and head; the head in more bytes than it needs, sometimes.
fn head(c: &mut Choices<'_>, encoding: u8, value: u64) -> Vec<u8> {
    let least = bits(value).div_ceil(8) as usize;
    let n = if c.one_in(8) { least + c.below(9 - least) } else { least };
    [&[encoding | (n as u8) << 4], &value.to_le_bytes()[..n]].concat()
}

/// A width, larger than it must be, sometimes.
fn width(c: &mut Choices<'_>, least: u32) -> u32 {
    if c.one_in(8) { least + c.below(65 - least as usize) as u32 } else { least }
}

fn constant(c: &mut Choices<'_>, values: &[u64]) -> Option<Vec<u8>> {
    values.iter().all(|v| v == &values[0]).then(|| head(c, 0, values[0]))
}

/// Once in a while with a head, which this encoding does not have.
fn raw(c: &mut Choices<'_>, values: &[u64]) -> Vec<u8> {
    let words = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let tag = if c.one_in(64) { vec![0x15, c.byte()] } else { vec![5] };
    [tag, words].concat()
}

fn signed_min(values: &[u64]) -> u64 {
    values.iter().map(|v| *v as i64).min().unwrap_or(0) as u64
}

/// Width and packed bytes of the values' distances from `base`.
fn packed(c: &mut Choices<'_>, values: &[u64], base: u64) -> Vec<u8> {
    let distances: Vec<u64> = values.iter().map(|v| v.wrapping_sub(base)).collect();
    let width = width(c, distances.iter().map(|d| bits(*d)).max().unwrap_or(0));
    [&[width as u8][..], &pack(&distances, width as usize)].concat()
}

fn reference(c: &mut Choices<'_>, values: &[u64]) -> Vec<u8> {
    let base = signed_min(values);
    [head(c, 1, zigzag(base)), packed(c, values, base)].concat()
}

fn delta(c: &mut Choices<'_>, values: &[u64]) -> Vec<u8> {
    let differences: Vec<u64> = values.windows(2).map(|w| w[1].wrapping_sub(w[0])).collect();
    let step = signed_min(&differences);
    let first = zigzag(values[0]);
    let first_bytes = bits(first).div_ceil(8) as usize;
    let tag = head(c, 2, zigzag(step));
    let packed = packed(c, &differences, step);
    [&tag[..], &[first_bytes as u8], &first.to_le_bytes()[..first_bytes], &packed].concat()
}

fn mask(c: &mut Choices<'_>, values: &[u64]) -> Vec<u8> {
    let (or, and) = values.iter().fold((0, u64::MAX), |(o, a), v| (o | v, a & v));
    let mask = (or & !and) | if c.one_in(8) { c.word() & !and } else { 0 };
    let gathered: Vec<u64> = values.iter().map(|v| gather(*v, mask)).collect();
    [head(c, 3, and), mask.to_le_bytes().to_vec(), pack(&gathered, mask.count_ones() as usize)].concat()
}

/// The bits at the ones of `mask`, moved together.
fn gather(value: u64, mask: u64) -> u64 {
    let positions = (0..64).filter(|b| mask >> b & 1 == 1).enumerate();
    positions.fold(0, |v, (i, b)| v | (value >> b & 1) << i)
}

fn dictionary(c: &mut Choices<'_>, values: &[u64]) -> Option<Vec<u8>> {
    let mut distinct = values.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() > 256 {
        return None;
    }
    // Once in a while a dictionary inside the dictionary, which is corrupt.
    let entries = if c.one_in(64) { dictionary(c, &distinct)? } else { flat(c, &distinct) };
    let width = bits(distinct.len() as u64 - 1) as usize;
    let mut indexes: Vec<u64> = values.iter().map(|v| distinct.partition_point(|d| d < v) as u64).collect();
    // And an index past the last entry, where the width has room for one.
    if c.one_in(16) && !distinct.len().is_power_of_two() {
        indexes[c.below(values.len())] = distinct.len() as u64;
    }
    Some([&[4, (distinct.len() - 1) as u8][..], &entries, &pack(&indexes, width)].concat())
}

/// Any encoding but a dictionary.
fn flat(c: &mut Choices<'_>, values: &[u64]) -> Vec<u8> {
    match c.below(4) {
        0 => reference(c, values),
        1 => delta(c, values),
        2 => mask(c, values),
        _ => raw(c, values),
    }
}
