//! A decoder written from `docs/block-format.md` alone, bit by bit and with nothing clever: what a payload means.

use sluice_codec::FrameHeader;

use super::{bits, packed_bytes, unpack, unzigzag};
use crate::bytes::Bytes;

impl Bytes<'_> {
    fn packed(&mut self, n: usize, width: usize) -> Option<Vec<u64>> {
        Some(unpack(self.take(packed_bytes(n, width))?, n, width))
    }
}

/// The header of a frame; `None` if one of its fields is not what it may be.
pub(super) fn header(frame: &[u8]) -> Option<FrameHeader> {
    let mut input = Bytes(frame);
    let magic = input.take(4)?;
    let (path, encoding, flags, reserved) = (input.byte()?, input.byte()?, input.byte()?, input.byte()?);
    let mut number = || input.number(4).map(|value| value as u32);
    let (records, fields, decoded_bytes) = (number()?, number()?, number()?);
    let (encoded_bytes, payload_crc, header_crc) = (number()?, number()?, number()?);
    let permitted = magic == b"SLF1"
        && header_crc == crc32c::crc32c(&frame[..28])
        && path == 1
        && encoding <= 1
        && (flags, reserved) == (0, 0)
        && (1..=65_536).contains(&records)
        && fields <= 1_048_576;
    let header = FrameHeader { path, encoding, records, fields, decoded_bytes, encoded_bytes, payload_crc };
    permitted.then_some(header)
}

/// What a payload stands for.
pub(super) struct Meaning {
    pub rows: Vec<Vec<u8>>,
    /// The fields' kinds; none if rows are stored as they are, or may have tails.
    pub kinds: Option<Vec<u8>>,
}

/// The rows that a payload stands for; `None` if it is corrupt.
pub(super) fn decode(header: &FrameHeader, payload: &[u8]) -> Option<Vec<Vec<u8>>> {
    Some(meaning(header, payload)?.rows)
}

/// As [`decode`], with the kinds of the fields.
pub(super) fn meaning(header: &FrameHeader, payload: &[u8]) -> Option<Meaning> {
    if !(1..=65_536).contains(&header.records) || header.fields > 1 << 20 || header.encoding > 1 {
        return None;
    }
    let mut input = Bytes(payload);
    let meaning = if header.encoding == 0 {
        Meaning { rows: plain(header, &mut input)?, kinds: None }
    } else {
        columnar(header, &mut input)?
    };
    let decoded: usize = meaning.rows.iter().map(Vec::len).sum();
    (input.0.is_empty() && decoded == header.decoded_bytes as usize).then_some(meaning)
}

fn plain(header: &FrameHeader, input: &mut Bytes<'_>) -> Option<Vec<Vec<u8>>> {
    let lengths: Option<Vec<usize>> = (0..header.records).map(|_| Some(input.number(4)? as usize)).collect();
    lengths?.into_iter().map(|n| Some(input.take(n)?.to_vec())).collect()
}

/// A slot of one row: its start and length, and the length of the value in it.
#[derive(Clone, Copy)]
struct Slot {
    at: usize,
    len: usize,
    size: usize,
}

fn columnar(header: &FrameHeader, input: &mut Bytes<'_>) -> Option<Meaning> {
    let (n, fields) = (header.records as usize, header.fields as usize);
    let bitset = fields.div_ceil(64);
    let limit = header.decoded_bytes as usize;
    // No rows of so many words are that short.
    if (bitset + fields) * 8 * n > limit {
        return None;
    }
    let packed_kinds = input.take(fields.div_ceil(4))?;
    let kinds: Vec<u8> = (0..fields).map(|f| packed_kinds[f / 4] >> (2 * (f % 4)) & 3).collect();
    if kinds.contains(&3) {
        return None;
    }
    let mut rows = vec![vec![]; n];
    let mut ends = vec![(bitset + fields) * 8; n];
    let mut slots: Vec<Vec<Slot>> = Vec::new();
    for w in 0..bitset + fields {
        let values = column(input, n, true)?;
        let kind = if w < bitset { 0 } else { kinds[w - bitset] };
        let words = if kind == 0 { values } else { predict(kind, &values, &mut ends, limit, &mut slots)? };
        rows.iter_mut().zip(words).for_each(|(row, word)| row.extend(word.to_le_bytes()));
    }
    let tails = tail_slots(input, &ends, limit)?;
    // Before rows are made that long.
    if ends.iter().zip(&tails).map(|(end, tail)| end + tail.len).sum::<usize>() != limit {
        return None;
    }
    for ((row, end), tail) in rows.iter_mut().zip(&ends).zip(&tails) {
        row.resize(end + tail.len, 0);
    }
    let has_tails = tails.iter().any(|t| t.at != usize::MAX);
    if has_tails {
        var_data(input, &tails, &mut rows)?;
    }
    for field in &slots {
        var_data(input, field, &mut rows)?;
    }
    Some(Meaning { rows, kinds: (!has_tails).then_some(kinds) })
}

/// Size codes to words; notes where each row's slot is and where its predicted part then ends.
fn predict(kind: u8, codes: &[u64], ends: &mut [usize], limit: usize, slots: &mut Vec<Vec<Slot>>) -> Option<Vec<u64>> {
    let mut of_field = Vec::new();
    let mut words = Vec::new();
    for (code, end) in codes.iter().zip(ends) {
        if *code == 0 {
            of_field.push(Slot { at: 0, len: 0, size: 0 });
            words.push(0);
            continue;
        }
        let size = u32::try_from(code - 1).ok()? as usize;
        let len = if kind == 2 { 16 } else { size.next_multiple_of(8) };
        of_field.push(Slot { at: *end, len, size: if kind == 2 { 16 } else { size } });
        words.push((*end as u64) << 32 | size as u64);
        *end += len;
        if *end > limit {
            return None;
        }
    }
    slots.push(of_field);
    Some(words)
}

/// Each row's tail; `at` is `usize::MAX` in all of them if the payload has no tails.
fn tail_slots(input: &mut Bytes<'_>, ends: &[usize], limit: usize) -> Option<Vec<Slot>> {
    match input.byte()? {
        0 => Some(vec![Slot { at: usize::MAX, len: 0, size: 0 }; ends.len()]),
        1 => {
            let lengths = column(input, ends.len(), true)?;
            let slot = |(len, end): (&u64, &usize)| {
                let len = usize::try_from(*len).ok().filter(|n| *n <= limit)?;
                Some(Slot { at: *end, len, size: len })
            };
            lengths.iter().zip(ends).map(slot).collect()
        }
        _ => None,
    }
}

fn column(input: &mut Bytes<'_>, n: usize, dictionary: bool) -> Option<Vec<u64>> {
    let tag = input.byte()?;
    let head_bytes = usize::from(tag >> 4);
    if head_bytes > 8 {
        return None;
    }
    let head = input.number(head_bytes)?;
    match tag & 15 {
        0 => Some(vec![head; n]),
        1 => {
            let width = width(input)?;
            Some(input.packed(n, width)?.into_iter().map(|p| p.wrapping_add(unzigzag(head))).collect())
        }
        2 => delta(input, n, unzigzag(head)),
        3 => {
            let mask = input.number(8)?;
            let packed = input.packed(n, mask.count_ones() as usize)?;
            Some(packed.into_iter().map(|p| head | spread(p, mask)).collect())
        }
        4 if dictionary && head_bytes == 0 => {
            let count = usize::from(input.byte()?) + 1;
            let values = column(input, count, false)?;
            let indexes = input.packed(n, bits(count as u64 - 1) as usize)?;
            indexes.into_iter().map(|i| values.get(i as usize).copied()).collect()
        }
        5 if head_bytes == 0 => (0..n).map(|_| input.number(8)).collect(),
        _ => None,
    }
}

fn width(input: &mut Bytes<'_>) -> Option<usize> {
    Some(usize::from(input.byte()?)).filter(|w| *w <= 64)
}

fn delta(input: &mut Bytes<'_>, n: usize, step: u64) -> Option<Vec<u64>> {
    let first_bytes = Some(usize::from(input.byte()?)).filter(|m| *m <= 8)?;
    let mut value = unzigzag(input.number(first_bytes)?);
    let width = width(input)?;
    let mut values = vec![value];
    for p in input.packed(n - 1, width)? {
        value = value.wrapping_add(step).wrapping_add(p);
        values.push(value);
    }
    Some(values)
}

/// The low bits of `value`, lowest to lowest, at the ones of `mask`.
fn spread(value: u64, mask: u64) -> u64 {
    let positions = (0..64).filter(|b| mask >> b & 1 == 1).enumerate();
    positions.fold(0, |v, (i, b)| v | (value >> i & 1) << b)
}

fn var_data(input: &mut Bytes<'_>, slots: &[Slot], rows: &mut [Vec<u8>]) -> Option<()> {
    let mode = input.byte()?;
    match mode & 15 {
        0 if mode == 0 => words(input, slots, rows),
        1 => bytes(input, mode >> 4, slots, |s| s.size, rows),
        2 => bytes(input, mode >> 4, slots, |s| s.len, rows),
        _ => None,
    }
}

fn words(input: &mut Bytes<'_>, slots: &[Slot], rows: &mut [Vec<u8>]) -> Option<()> {
    let longest = slots.iter().map(|s| s.len).max()?;
    if longest > 32 || slots.iter().any(|s| s.len % 8 != 0) {
        return None;
    }
    for k in (0..longest).step_by(8) {
        let count = slots.iter().filter(|s| s.len > k).count();
        let mut values = column(input, count, true)?.into_iter();
        for (slot, row) in slots.iter().zip(rows.iter_mut()).filter(|(s, _)| s.len > k) {
            row[slot.at + k..slot.at + k + 8].copy_from_slice(&values.next()?.to_le_bytes());
        }
    }
    Some(())
}

fn bytes(
    input: &mut Bytes<'_>,
    codec: u8,
    slots: &[Slot],
    len: impl Fn(&Slot) -> usize,
    rows: &mut [Vec<u8>],
) -> Option<()> {
    let total = slots.iter().map(&len).sum();
    let mut out = vec![0; total];
    if codec == 0 {
        out.copy_from_slice(input.take(total)?);
    } else {
        let n = input.number(4)? as usize;
        decompress(codec, input.take(n)?, &mut out)?;
    }
    let mut rest = &out[..];
    for (slot, row) in slots.iter().zip(rows.iter_mut()).filter(|(s, _)| s.len > 0) {
        let (here, later) = rest.split_at(len(slot));
        row[slot.at..slot.at + here.len()].copy_from_slice(here);
        rest = later;
    }
    Some(())
}

/// Fills `out` exactly, with contexts made for this call.
fn decompress(codec: u8, packed: &[u8], out: &mut [u8]) -> Option<()> {
    let expected = out.len();
    let got = match codec {
        1 => lz4_flex::block::decompress_into(packed, out).ok()?,
        2 => zstd::bulk::decompress_to_buffer(packed, out).ok()?,
        3 if snap::raw::decompress_len(packed).ok()? == expected => {
            snap::raw::Decoder::new().decompress(packed, out).ok()?
        }
        _ => return None,
    };
    (got == expected).then_some(())
}
