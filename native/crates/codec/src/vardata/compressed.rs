//! Decides whether a column of bytes is compressed, by compressing its beginning as a probe.

use crate::compress::{Codec, Compressor};
use crate::options::{CodecOptions, Level};

/// Bytes that are compressed first, to see whether the rest is worth it.
const PROBE_BYTES: usize = 16 * 1024;
/// Fewer bytes than this are never compressed.
const MIN_BYTES: usize = 64;
/// The mode byte and the compressed length before compressed bytes.
const HEAD_BYTES: usize = 5;

/// Appends `mode` and `bytes`, compressed where that is worth it.
pub(super) fn put_bytes(
    mode: u8,
    bytes: &[u8],
    options: &CodecOptions,
    compressor: &mut Compressor,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    if put_compressed(mode, bytes, options, compressor, out) {
        return;
    }
    out.truncate(start);
    out.push(mode);
    out.extend_from_slice(bytes);
}

/// False, with anything appended, if the probe gains too little, or the whole nothing.
fn put_compressed(
    mode: u8,
    bytes: &[u8],
    options: &CodecOptions,
    compressor: &mut Compressor,
    out: &mut Vec<u8>,
) -> bool {
    if options.codec == Codec::None || bytes.len() < MIN_BYTES {
        return false;
    }
    let start = out.len();
    out.push(mode | (options.codec as u8) << 4);
    out.extend_from_slice(&[0; HEAD_BYTES - 1]);
    let probe = &bytes[..bytes.len().min(PROBE_BYTES)];
    let probed = compressor.compress(options.codec, probe, out);
    if !probed || out.len() - start - HEAD_BYTES > most(options.level, probe.len()) {
        return false;
    }
    // If the probe was all of the bytes, its output is the result.
    if probe.len() < bytes.len() {
        out.truncate(start + HEAD_BYTES);
        if !compressor.compress(options.codec, bytes, out) {
            return false;
        }
    }
    let compressed = out.len() - start - HEAD_BYTES;
    out[start + 1..start + HEAD_BYTES].copy_from_slice(&(compressed as u32).to_le_bytes());
    out.len() - start < bytes.len()
}

/// The most bytes that a probe may compress to: at `Fast` it must become a quarter smaller, at `Small` a sixteenth.
fn most(level: Level, probe: usize) -> usize {
    match level {
        Level::Plain => 0,
        Level::Fast => probe * 3 / 4,
        Level::Small => probe * 15 / 16,
    }
}
