//! What a GPU has to do right before it is used: frames equal to the CPU's, their rows back, a sort.

use sluice_codec::Encoder;
use sluice_cuda::Wait;
use sluice_engine::Page;
use sluice_gpu_mem::ArenaStream;

use crate::declined::Declined;
use crate::decode::decode;
use crate::encode::{Batch, encode};
use crate::kernels::Kernels;
use crate::sample::{FIELDS, OPTIONS, PARTITIONS, mix, page, rows};
use crate::sort::sort_pairs;

/// About 6,000 rows.
const ROW_BYTES: usize = 700_000;
/// Pairs to sort.
const PAIRS: u64 = 6000;

/// Encodes, decodes and sorts what the CPU does too, and compares. For a thread that no task waits for: the driver may
/// load code meanwhile.
///
/// # Errors
/// [`Declined::CheckFailed`]: something differs, so that this device, driver or build must not be used; or the work
/// could not be done.
pub fn self_test(kernels: &Kernels, stream: &ArenaStream, wait: Wait<'_>) -> Result<(), Declined> {
    let rows = rows(ROW_BYTES);
    let (memory, used) = page(&rows);
    let pages = [Page { memory: &memory, used, entries: rows.len() }];
    let batch = Batch { fields: FIELDS, partitions: PARTITIONS, pages: &pages, hash_rows: false };
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
    let mut pairs: Vec<[u64; 2]> = (0..PAIRS).map(|i| [(mix(i) % 500) << (i % 3 * 20), i]).collect();
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
