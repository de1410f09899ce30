//! Payloads made out of the format's grammar. Every choice that the format leaves to an encoder is made by [`Choices`],
//! within what the grammar allows and without regard to what the reference encoder does; then, in half of the cases,
//! [`super::mutate`] breaks a rule.

use sluice_codec::FrameHeader;

use super::{column, mutate};
use crate::Choices;

/// A header and the payload that it announces, right or wrong.
pub struct Case {
    /// Not checksummed.
    pub header: FrameHeader,
    /// What is behind it.
    pub payload: Vec<u8>,
}

/// A payload as it is built: its parts in their order, and what the header says about them.
pub(super) struct Draft {
    pub(super) header: FrameHeader,
    pub(super) parts: Vec<Vec<u8>>,
}

/// Lengths around which mistakes are made: of words, of modes and of the largest slot stored as words.
const LENGTHS: [u64; 14] = [0, 1, 5, 7, 8, 9, 13, 15, 16, 17, 24, 32, 33, 41];
/// Row counts around which packing changes its form.
const COUNTS: [usize; 12] = [7, 8, 9, 63, 64, 65, 72, 511, 512, 513, 576, 600];

/// A payload out of these choices.
pub fn generate(c: &mut Choices<'_>) -> Case {
    let mut draft = if c.one_in(8) { plain(c) } else { columnar(c) };
    if c.one_in(2) {
        mutate::apply(c, &mut draft);
    }
    let payload = draft.parts.concat();
    Case { header: FrameHeader { encoded_bytes: payload.len() as u32, ..draft.header }, payload }
}

fn header(encoding: u8, records: usize, fields: usize, decoded: usize) -> FrameHeader {
    FrameHeader {
        path: 1,
        encoding,
        records: records as u32,
        fields: fields as u32,
        decoded_bytes: u32::try_from(decoded).unwrap_or(u32::MAX),
        encoded_bytes: 0,
        payload_crc: 0,
    }
}

/// `n` bytes: of one value, counting, or chosen one by one.
fn some_bytes(c: &mut Choices<'_>, n: usize) -> Vec<u8> {
    match c.below(3) {
        0 => vec![c.byte(); n],
        1 => (0..n).map(|i| i as u8).collect(),
        _ => (0..n).map(|_| c.byte()).collect(),
    }
}

fn plain(c: &mut Choices<'_>) -> Draft {
    let records = 1 + c.below(12);
    let lengths: Vec<u32> = (0..records).map(|_| c.pick(&LENGTHS) as u32).collect();
    let decoded = lengths.iter().sum::<u32>() as usize;
    let parts = vec![lengths.iter().flat_map(|n| n.to_le_bytes()).collect(), some_bytes(c, decoded)];
    Draft { header: header(0, records, c.below(4), decoded), parts }
}

fn columnar(c: &mut Choices<'_>) -> Draft {
    let records = if c.one_in(6) { c.pick(&COUNTS) } else { 1 + c.below(12) };
    let fields = match c.below(16) {
        15 if records < 10 => c.pick(&[63, 64, 65]),
        n => n % 5,
    };
    let kinds: Vec<u8> = (0..fields).map(|_| c.below(3) as u8).collect();
    let mut parts = vec![kinds.chunks(4).map(|k| k.iter().rev().fold(0, |b, k| b << 2 | k)).collect()];
    let bitset = fields.div_ceil(64);
    let mut ends = vec![(bitset + fields) * 8; records];
    let mut slots = Vec::new();
    for w in 0..bitset + fields {
        if w < bitset || kinds[w - bitset] == 0 {
            let values = words(c, records);
            parts.push(column::encode(c, &values));
        } else {
            slots.push(sizes(c, kinds[w - bitset], &mut ends, &mut parts));
        }
    }
    let tails = tails(c, records, &mut parts);
    let decoded = ends.iter().zip(&tails).map(|(end, tail)| end + tail).sum();
    slots.iter().for_each(|s| var_data(c, s, &mut parts));
    Draft { header: header(1, records, fields, decoded), parts }
}

/// Values of a column, of one of the shapes for which the encodings are made.
fn words(c: &mut Choices<'_>, n: usize) -> Vec<u64> {
    let (base, step) = (c.word(), u64::from(c.byte()));
    match c.below(5) {
        0 => vec![base; n],
        1 => (0..n as u64).map(|i| base.wrapping_add(i * step)).collect(),
        2 => (0..n).map(|_| u64::from(c.byte())).collect(),
        3 => (0..n).map(|_| base & u64::from(c.byte()).wrapping_mul(0x0101_0101_0101_0101)).collect(),
        _ => (0..n as u64).map(|i| sluice_testkit::xorshift(base ^ i)).collect(),
    }
}

/// Lengths of `n` values or tails.
fn lengths(c: &mut Choices<'_>, n: usize) -> Vec<u64> {
    let one = c.pick(&LENGTHS);
    match c.below(4) {
        0 => vec![one; n],
        1 => (0..n).map(|_| c.pick(&LENGTHS)).collect(),
        2 => (0..n).map(|_| 8 * c.below(5) as u64).collect(),
        _ => (0..n).map(|_| c.below(60) as u64).collect(),
    }
}

/// The column of size codes of a field; returns its slots and moves the rows' ends behind them.
fn sizes(c: &mut Choices<'_>, kind: u8, ends: &mut [usize], parts: &mut Vec<Vec<u8>>) -> Vec<(usize, usize)> {
    let mut codes: Vec<u64> = lengths(c, ends.len());
    if c.one_in(32) {
        let at = c.below(codes.len());
        codes[at] = c.pick(&[1 << 31, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, u64::MAX]);
    }
    parts.push(column::encode(c, &codes));
    let slot = |code: u64| match (code, kind) {
        (0, _) => (0, 0),
        (_, 2) => (16, 16),
        _ => ((code - 1).next_multiple_of(8) as usize, (code - 1) as usize),
    };
    let slots: Vec<(usize, usize)> = codes.iter().map(|code| slot(*code & 0xFFFF)).collect();
    ends.iter_mut().zip(&slots).for_each(|(end, slot)| *end += slot.0);
    slots
}

fn tails(c: &mut Choices<'_>, records: usize, parts: &mut Vec<Vec<u8>>) -> Vec<usize> {
    if !c.one_in(2) {
        parts.push(vec![0]);
        return vec![0; records];
    }
    let lengths = lengths(c, records);
    parts.push(vec![1]);
    parts.push(column::encode(c, &lengths));
    let slots: Vec<(usize, usize)> = lengths.iter().map(|n| (*n as usize, *n as usize)).collect();
    var_data(c, &slots, parts);
    slots.iter().map(|s| s.0).collect()
}

/// Var data of slots (length, and length of the value in it). The grammar has no rule that keeps tails whose lengths
/// are no multiple of 8 from mode words: that it is corrupt there is for the decoder to see.
fn var_data(c: &mut Choices<'_>, slots: &[(usize, usize)], parts: &mut Vec<Vec<u8>>) {
    let longest = slots.iter().map(|s| s.0).max().unwrap_or(0);
    let mode = if longest <= 40 { c.below(3) } else { 1 + c.below(2) } as u8;
    if mode == 0 {
        parts.push(vec![0]);
        for k in (0..longest).step_by(8) {
            let values = words(c, slots.iter().filter(|s| s.0 > k).count());
            parts.push(column::encode(c, &values));
        }
        return;
    }
    let total: usize = slots.iter().map(|s| if mode == 1 { s.1 } else { s.0 }).sum();
    let total = if c.one_in(32) { total.saturating_sub(1) } else { total };
    let body = some_bytes(c, total.min(1 << 16));
    let codec = if c.one_in(3) { 1 + c.below(3) as u8 } else { 0 };
    parts.push(vec![mode | codec << 4]);
    if codec == 0 {
        parts.push(body);
    } else {
        let packed = compress(codec, &body);
        parts.push((packed.len() as u32).to_le_bytes().to_vec());
        parts.push(packed);
    }
}

fn compress(codec: u8, body: &[u8]) -> Vec<u8> {
    match codec {
        1 => lz4_flex::block::compress(body),
        2 => zstd::bulk::compress(body, 1).unwrap_or_default(),
        _ => snap::raw::Encoder::new().compress_vec(body).unwrap_or_default(),
    }
}
