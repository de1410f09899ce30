//! Payloads of the block format (`docs/block-format.md`): made out of its grammar, decoded, and compared with what a
//! decoder written from the specification alone gives.

mod column;
mod frame;
mod grammar;
mod mutate;
mod oracle;
mod reference;

pub use frame::generate_frame;
pub use grammar::{Case, generate};
pub use oracle::{check, check_frame, check_round_trip, repair_checksums};

/// Bits that a value needs.
fn bits(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// Where a value's bits lie in packed values: the byte and the bit of bit `bit` of value `i` of `n`, `width` bits each.
///
/// Tiles of 512 values, and a rest of at least 64 filled up to a multiple of 8, are laned: value `i` is number `i /
/// 8` of lane `i % 8`; word `k` of the 8 lanes follow each other, the last ones in the bytes they need.
fn bit_position(n: usize, width: usize, i: usize, bit: usize) -> (usize, usize) {
    let tile = i / 512;
    let before = tile * 64 * width;
    let values = if (tile + 1) * 512 <= n { 512 } else { n % 512 };
    let at = i % 512;
    if values < 64 {
        let position = at * width + bit;
        return (before + position / 8, position % 8);
    }
    let lane_bits = values.div_ceil(8) * width;
    let (lane, position) = (at % 8, at / 8 * width + bit);
    let word = position / 64;
    let word_bytes = if (word + 1) * 64 <= lane_bits { 8 } else { (lane_bits % 64).div_ceil(8) };
    (before + word * 64 + lane * word_bytes + position % 64 / 8, position % 8)
}

/// Bytes that `n` values of `width` bits take.
fn packed_bytes(n: usize, width: usize) -> usize {
    let rest = n % 512;
    let rest_bytes = if width == 64 || rest < 64 {
        (rest * width).div_ceil(8)
    } else {
        let bits = rest.div_ceil(8) * width;
        bits / 64 * 64 + (bits % 64).div_ceil(8) * 8
    };
    n / 512 * 64 * width + rest_bytes
}

/// Reads `n` values of `width` (0 to 64) bits.
fn unpack(packed: &[u8], n: usize, width: usize) -> Vec<u64> {
    let bit = |i, b| {
        let (byte, shift) = if width == 64 { (i * 8 + b / 8, b % 8) } else { bit_position(n, width, i, b) };
        u64::from(packed[byte] >> shift & 1)
    };
    (0..n).map(|i| (0..width).fold(0, |v, b| v | bit(i, b) << b)).collect()
}

/// Writes the low `width` (0 to 64) bits of each value.
fn pack(values: &[u64], width: usize) -> Vec<u8> {
    let mut out = vec![0; packed_bytes(values.len(), width)];
    for (i, v) in values.iter().enumerate() {
        for b in (0..width).filter(|b| v >> b & 1 == 1) {
            let (byte, shift) =
                if width == 64 { (i * 8 + b / 8, b % 8) } else { bit_position(values.len(), width, i, b) };
            out[byte] |= 1 << shift;
        }
    }
    out
}

fn zigzag(v: u64) -> u64 {
    v << 1 ^ ((v as i64) >> 63) as u64
}

fn unzigzag(v: u64) -> u64 {
    v >> 1 ^ (v & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_comes_back() {
        for n in [1, 7, 63, 64, 65, 100, 511, 512, 513, 600] {
            for width in [0, 1, 3, 8, 31, 63, 64] {
                let low = if width == 64 { u64::MAX } else { (1 << width) - 1 };
                let values: Vec<u64> = (0..n as u64).map(|i| sluice_testkit::xorshift(i) & low).collect();
                assert_eq!(unpack(&pack(&values, width), n, width), values, "{n} values of {width} bits");
            }
        }
    }
}
