//! What a GPU has to do right before it is used: frames equal to the CPU's, their rows back, a sort.

use sluice_codec::{Codec, CodecOptions, Encoder, Level};
use sluice_cuda::Wait;
use sluice_engine::Page;
use sluice_gpu_mem::ArenaStream;

use crate::declined::Declined;
use crate::decode::decode;
use crate::encode::{Batch, encode};
use crate::kernels::Kernels;
use crate::sort::sort_pairs;

const ROWS: u64 = 6000;
const PARTITIONS: u64 = 7;
const FIELDS: u32 = 6;
const OPTIONS: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Fast };

/// Encodes, decodes and sorts what the CPU does too, and compares. For a thread that no task waits for: the driver may
/// load code meanwhile.
///
/// # Errors
/// [`Declined::CheckFailed`]: something differs, so that this device, driver or build must not be used; or the work
/// could not be done.
pub fn self_test(kernels: &Kernels, stream: &ArenaStream, wait: Wait<'_>) -> Result<(), Declined> {
    let rows: Vec<(u32, Vec<u8>)> = (0..ROWS).map(|i| ((mix(!i) % PARTITIONS) as u32, row(i))).collect();
    let (memory, used) = page(&rows);
    let pages = [Page { memory: &memory, used, entries: rows.len() }];
    let batch = Batch { fields: FIELDS, partitions: PARTITIONS as u32, pages: &pages, hash_rows: false };
    let made = encode(kernels, stream, batch, OPTIONS, wait)?;
    let mut sorted: Vec<&(u32, Vec<u8>)> = rows.iter().collect();
    sorted.sort_by_key(|row| row.0);
    if made.bytes != frames_of_cpu(&sorted) {
        return Err(Declined::CheckFailed("the self-test's frames are not those of the CPU"));
    }
    let frames: Vec<&[u8]> = made.frames.iter().map(|frame| &made.bytes[frame.start..][..frame.bytes]).collect();
    let (mut target, mut row_bytes) = (vec![0; used], vec![0; rows.len()]);
    decode(kernels, stream, &frames, &mut target, &mut row_bytes, wait)?;
    let lengths_are_right = row_bytes.iter().zip(&sorted).all(|(bytes, row)| *bytes as usize == row.1.len());
    if !lengths_are_right || !target.iter().eq(sorted.iter().flat_map(|row| &row.1)) {
        return Err(Declined::CheckFailed("the self-test's rows do not come back"));
    }
    let mut pairs: Vec<[u64; 2]> = (0..ROWS).map(|i| [(mix(i) % 500) << (i % 3 * 20), i]).collect();
    let mut expected = pairs.clone();
    expected.sort_by_key(|pair| pair[0]);
    sort_pairs(kernels, stream, &mut pairs, wait)?;
    if pairs != expected {
        return Err(Declined::CheckFailed("the self-test's pairs are in another order"));
    }
    Ok(())
}

fn frames_of_cpu(sorted: &[&(u32, Vec<u8>)]) -> Vec<u8> {
    let (mut encoder, mut frames) = (Encoder::new(OPTIONS), Vec::new());
    for partition in sorted.chunk_by(|a, b| a.0 == b.0) {
        let rows: Vec<&[u8]> = partition.iter().map(|row| &row.1[..]).collect();
        let Ok(()) = encoder.encode(&rows, FIELDS, |frame| {
            frames.extend_from_slice(frame);
            Ok::<(), std::convert::Infallible>(())
        });
    }
    frames
}

fn mix(x: u64) -> u64 {
    let z = (x ^ x >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 29
}

/// A row with fields for each encoding of columns, and with short and long values behind them.
fn row(i: u64) -> Vec<u8> {
    let h = mix(i);
    let (short, long) = (h % 30, h / 32 % 90);
    let short_at = 8 * (1 + u64::from(FIELDS));
    let long_at = short_at + short.next_multiple_of(8);
    let words = [0, i * 7, h % 1000, mix(h % 40), h | 0xFF00, short_at << 32 | short, long_at << 32 | long];
    let mut row: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    for bytes in [short, long] {
        row.extend((0..bytes).map(|b| (h >> (b % 56)) as u8));
        row.resize(row.len().next_multiple_of(8), 0);
    }
    row
}

/// A page as the JVM fills it, and the bytes of its rows.
fn page(rows: &[(u32, Vec<u8>)]) -> (Vec<u8>, usize) {
    let mut memory: Vec<u8> = rows.iter().flat_map(|row| row.1.iter().copied()).collect();
    let used = memory.len();
    let mut offset = used;
    for (partition, row) in rows.iter().rev() {
        offset -= row.len();
        memory.extend_from_slice(&(offset as u32).to_le_bytes());
        memory.extend_from_slice(&partition.to_le_bytes());
    }
    (memory, used)
}
