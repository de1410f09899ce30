//! The tables with which the kernels compute CRC32C, eight bytes a step.

/// Castagnoli's polynomial, the coefficient of x^0 in the highest bit.
const POLYNOMIAL: u32 = 0x82F6_3B78;
const BYTES: usize = 8;
/// Entries of all tables.
pub(crate) const ENTRIES: usize = BYTES * 256;

/// Of byte `k` and value `v`, at `256 k + v`: what the byte adds to the checksum when `k` zeros follow it.
pub(crate) fn tables() -> Vec<u32> {
    let mut tables = vec![0u32; ENTRIES];
    for (value, entry) in tables[..256].iter_mut().enumerate() {
        *entry = (0..8).fold(value as u32, |crc, _| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 });
    }
    for i in 256..ENTRIES {
        let before = tables[i - 256];
        tables[i] = before >> 8 ^ tables[(before & 255) as usize];
    }
    tables
}
