//! Bit packing of `n` values of `width` bits: how a column's values are cut into pieces.
//!
//! Whole tiles of 512 values, and a last partial tile of at least [`MIN_LANED`] values, are *laned*: value
//! `i` of the tile is in lane `i % 8` at position `i / 8`; a lane is a stream of little-endian u64 words,
//! and the words of the 8 lanes alternate; of a last, partly filled word only the bytes in use are stored.
//! A partial tile is filled up to a multiple of 8 values with zeros. A shorter rest is one bit stream, low bits first.

use crate::bytes::Input;
use crate::error::Result;
use crate::kernels::{Kernels, lane_bytes};

/// Values of a full tile.
const TILE: usize = 512;
/// A partial tile with fewer values than this is a plain bit stream.
const MIN_LANED: usize = 64;

/// Bytes that `n` values of `width` bits take.
pub(crate) fn packed_bytes(n: usize, width: u32) -> usize {
    if width == 0 {
        return 0;
    }
    if width == 64 {
        return n * 8;
    }
    let rest = n % TILE;
    let whole = n / TILE * lane_bytes(TILE, width);
    if rest >= MIN_LANED {
        whole + lane_bytes(rest.next_multiple_of(8), width)
    } else {
        whole + (rest * width as usize).div_ceil(8)
    }
}

/// Appends `values - base`, each of which fits in `width` bits.
pub(crate) fn pack(k: &Kernels, values: &[u64], base: u64, width: u32, out: &mut Vec<u8>) {
    match width {
        0 => return,
        64 => {
            for v in values {
                out.extend_from_slice(&v.wrapping_sub(base).to_le_bytes());
            }
            return;
        }
        _ => {}
    }
    let start = out.len();
    out.resize(start + packed_bytes(values.len(), width), 0);
    let mut room = &mut out[start..];
    let (tiles, rest) = values.split_at(values.len() / TILE * TILE);
    for tile in tiles.chunks_exact(TILE) {
        let (here, later) = room.split_at_mut(lane_bytes(TILE, width));
        k.pack(tile, base, width, here);
        room = later;
    }
    if rest.len() >= MIN_LANED {
        let mut padded = [base; TILE];
        padded[..rest.len()].copy_from_slice(rest);
        k.pack(&padded[..rest.len().next_multiple_of(8)], base, width, room);
    } else {
        pack_stream(rest, base, width, room);
    }
}

fn pack_stream(values: &[u64], base: u64, width: u32, out: &mut [u8]) {
    let (mut acc, mut fill, mut at) = (0u128, 0u32, 0usize);
    for v in values {
        acc |= u128::from(v.wrapping_sub(base)) << fill;
        fill += width;
        if fill >= 64 {
            out[at..at + 8].copy_from_slice(&(acc as u64).to_le_bytes());
            at += 8;
            acc >>= 64;
            fill -= 64;
        }
    }
    let tail = out.len() - at;
    out[at..].copy_from_slice(&(acc as u64).to_le_bytes()[..tail]);
}

/// Reads `n` values into `out[..n]`, adding `base`. `out` has room for `n` rounded up to 8 (the rest of the
/// room is overwritten).
pub(crate) fn unpack(
    k: &Kernels,
    input: &mut Input<'_>,
    n: usize,
    width: u32,
    base: u64,
    out: &mut [u64],
) -> Result<()> {
    let packed = input.take(packed_bytes(n, width), "packed column")?;
    match width {
        0 => out[..n].fill(base),
        64 => {
            for (o, b) in out[..n].iter_mut().zip(packed.chunks_exact(8)) {
                *o = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]).wrapping_add(base);
            }
        }
        _ => unpack_tiles(k, packed, n, width, base, out),
    }
    Ok(())
}

fn unpack_tiles(k: &Kernels, packed: &[u8], n: usize, width: u32, base: u64, out: &mut [u64]) {
    let whole = n / TILE * TILE;
    let (tiles, rest) = packed.split_at(whole / TILE * lane_bytes(TILE, width));
    for (tile, room) in tiles.chunks_exact(lane_bytes(TILE, width)).zip(out.chunks_exact_mut(TILE)) {
        k.unpack(tile, width, base, room);
    }
    let left = n - whole;
    if left >= MIN_LANED {
        k.unpack(rest, width, base, &mut out[whole..whole + left.next_multiple_of(8)]);
    } else {
        unpack_stream(rest, width, base, &mut out[whole..n]);
    }
}

fn unpack_stream(packed: &[u8], width: u32, base: u64, out: &mut [u64]) {
    // A copy with 16 spare bytes, so that every value can be read by one unaligned load.
    let mut padded = [0u8; MIN_LANED * 8 + 16];
    padded[..packed.len()].copy_from_slice(packed);
    let mask = (1u64 << width) - 1;
    for (i, o) in out.iter_mut().enumerate() {
        let bit = i * width as usize;
        let at = &padded[bit / 8..bit / 8 + 16];
        let low = u64::from_le_bytes([at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]]);
        let shift = (bit % 8) as u32;
        let mut v = low >> shift;
        if shift + width > 64 {
            v |= u64::from(at[8]) << (64 - shift);
        }
        *o = (v & mask).wrapping_add(base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(n in 0usize..1300, width in 0u32..=64, base: u64, seed: u64) {
            let low = if width == 64 { u64::MAX } else { (1u64 << width) - 1 };
            let mut x = seed | 1;
            let values: Vec<u64> = (0..n).map(|_| {
                x ^= x << 13; x ^= x >> 7; x ^= x << 17;
                (x & low).wrapping_add(base)
            }).collect();
            for k in Kernels::all() {
                let mut packed = Vec::new();
                pack(k, &values, base, width, &mut packed);
                prop_assert_eq!(packed.len(), packed_bytes(n, width));
                let mut back = vec![0; n.next_multiple_of(8)];
                let mut input = Input::new(&packed);
                unpack(k, &mut input, n, width, base, &mut back).expect("own output");
                prop_assert!(input.is_empty());
                prop_assert_eq!(&back[..n], &values[..]);
            }
        }
    }
}
