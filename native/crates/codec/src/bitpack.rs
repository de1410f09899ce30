//! Bit packing of `n` values of `width` bits: how a column's values are cut into pieces.
//!
//! Whole tiles of 512 values, and a last partial tile of at least [`MIN_LANED`] values, are *laned*: value
//! `i` of the tile is in lane `i % 8` at position `i / 8`; a lane is a stream of little-endian u64 words,
//! and the words of the 8 lanes alternate; of a last, partly filled word only the bytes in use are stored.
//! A partial tile is filled up to a multiple of 8 values with zeros. A shorter rest is one bit stream, low bits first.

use crate::bytes::{Input, put_short};
use crate::error::Result;
use crate::kernels::{Kernels, lane_bytes};

/// Values of a full tile.
const TILE: usize = 512;
/// A partial tile with fewer values than this is a plain bit stream.
const MIN_LANED: usize = 64;
/// What is read at once to unpack a value of a bit stream: its 8 bytes and the next.
const LOAD_BYTES: usize = 16;

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
    if values.len() < MIN_LANED {
        return pack_stream(values, base, width, out);
    }
    let start = out.len();
    let (tiles, rest) = values.split_at(values.len() / TILE * TILE);
    let laned = if rest.len() < MIN_LANED { tiles.len() } else { values.len() };
    out.resize(start + packed_bytes(laned, width), 0);
    let mut room = &mut out[start..];
    for tile in tiles.chunks_exact(TILE) {
        let (here, later) = room.split_at_mut(lane_bytes(TILE, width));
        k.pack(tile, base, width, here);
        room = later;
    }
    if rest.len() >= MIN_LANED {
        k.pack(rest, base, width, room);
    } else {
        pack_stream(rest, base, width, out);
    }
}

fn pack_stream(values: &[u64], base: u64, width: u32, out: &mut Vec<u8>) {
    let (mut acc, mut fill) = (0u128, 0u32);
    for v in values {
        acc |= u128::from(v.wrapping_sub(base)) << fill;
        fill += width;
        if fill >= 64 {
            out.extend_from_slice(&(acc as u64).to_le_bytes());
            acc >>= 64;
            fill -= 64;
        }
    }
    put_short(out, acc as u64, fill.div_ceil(8) as usize);
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
    let bytes = packed_bytes(n, width);
    let from_here = input.take_and_rest(bytes, "packed column")?;
    match width {
        0 => out[..n].fill(base),
        64 => {
            for (o, b) in out[..n].iter_mut().zip(from_here[..bytes].chunks_exact(8)) {
                *o = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]).wrapping_add(base);
            }
        }
        _ if n < MIN_LANED => unpack_stream(bytes, from_here, width, base, &mut out[..n]),
        _ => unpack_tiles(k, bytes, from_here, n, width, base, out),
    }
    Ok(())
}

/// The packed values are the first `bytes` of `input`.
fn unpack_tiles(k: &Kernels, bytes: usize, input: &[u8], n: usize, width: u32, base: u64, out: &mut [u64]) {
    let whole = n / TILE * TILE;
    let tile_bytes = whole / TILE * lane_bytes(TILE, width);
    let (tiles, rest) = input.split_at(tile_bytes);
    let bytes = bytes - tile_bytes;
    for (tile, room) in tiles.chunks_exact(lane_bytes(TILE, width)).zip(out.chunks_exact_mut(TILE)) {
        k.unpack(tile, width, base, room);
    }
    let left = n - whole;
    if left >= MIN_LANED {
        k.unpack(&rest[..bytes], width, base, &mut out[whole..whole + left.next_multiple_of(8)]);
    } else {
        unpack_stream(bytes, rest, width, base, &mut out[whole..n]);
    }
}

/// The packed values are the first `bytes` of `input`. Every value is read by a load of 16 bytes, which may reach into
/// what follows; where too little follows, the values are copied first.
fn unpack_stream(bytes: usize, input: &[u8], width: u32, base: u64, out: &mut [u64]) {
    if input.len() >= bytes + LOAD_BYTES {
        return unpack_loads(input, width, base, out);
    }
    let mut padded = [0u8; MIN_LANED * 8 + LOAD_BYTES];
    padded[..bytes].copy_from_slice(&input[..bytes]);
    unpack_loads(&padded, width, base, out);
}

#[inline(always)]
fn unpack_loads(padded: &[u8], width: u32, base: u64, out: &mut [u64]) {
    let mask = (1u64 << width) - 1;
    for (i, o) in out.iter_mut().enumerate() {
        let bit = i * width as usize;
        let at = &padded[bit / 8..bit / 8 + LOAD_BYTES];
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
