//! What a GPU has to do right before it is used: frames equal to the CPU's, their rows back, a sort.

use std::convert::Infallible;

use sluice_codec::{Codec, CodecOptions, Encoder, FrameHeader, Level};
use sluice_cuda::Wait;
use sluice_engine::{Page, row_hash};
use sluice_gpu_mem::ArenaStream;

use crate::columns::columns_pass;
use crate::declined::Declined;
use crate::decode::decode_through;
use crate::encode::{Batch, MadeFrame, RowHashes, Waits, encode_to};
use crate::encode_scratch::EncodeScratch;
use crate::kernels::Kernels;
use crate::sample::{FIELDS, FilledPage, PARTITIONS, mix, rows};
use crate::sort::sort_pairs_through;
use crate::staging::Staging;

/// Pairs to sort.
const PAIRS: u64 = 6000;

/// A batch of the self-test.
struct Trial {
    row_bytes: usize,
    partitions: u32,
    /// Rows of each page but the last.
    page_rows: usize,
    options: CodecOptions,
    hash_rows: bool,
}

/// Together they need each kernel and each way to encode.
const TRIALS: [Trial; 4] = [
    // About 2,600 rows: frames of many rows, with each encoding of columns.
    Trial {
        row_bytes: 300_000,
        partitions: PARTITIONS,
        page_rows: usize::MAX,
        options: CodecOptions { codec: Codec::None, level: Level::Fast },
        hash_rows: false,
    },
    // About 300 rows, most of them alone in a partition: three digits of the sort, and frames of the CPU between those
    // of the GPU.
    Trial {
        row_bytes: 36_000,
        partitions: 70_000,
        page_rows: 200,
        options: CodecOptions { codec: Codec::Zstd, level: Level::Fast },
        hash_rows: true,
    },
    // Long values that are compressed, of more bytes than are tried first.
    Trial {
        row_bytes: 44_000,
        partitions: 1,
        page_rows: usize::MAX,
        options: CodecOptions { codec: Codec::Lz4, level: Level::Small },
        hash_rows: false,
    },
    // Rows as they are, of several pages.
    Trial {
        row_bytes: 60_000,
        partitions: 3,
        page_rows: 90,
        options: CodecOptions { codec: Codec::None, level: Level::Plain },
        hash_rows: true,
    },
];

/// Encodes, decodes and sorts what the CPU does too, and compares. For a thread that no task waits for: the driver may
/// load code meanwhile.
///
/// # Errors
/// [`Declined::WrongResult`]: something differs, so that this device, driver or build must not be used; or the work
/// could not be done.
pub fn self_test(kernels: &Kernels, stream: &ArenaStream, wait: Wait<'_>) -> Result<(), Declined> {
    // As an encode's of a map output.
    let mut scratch = EncodeScratch::small(stream.stream().context())?;
    TRIALS.iter().try_for_each(|trial| trial.pass(kernels, stream, &mut scratch, wait))?;
    for options in [TRIALS[0].options, TRIALS[3].options] {
        columns_pass(kernels, stream, options, wait)?;
    }
    let mut pairs: Vec<[u64; 2]> = (0..PAIRS).map(|i| [(mix(i) % 500) << (i % 3 * 20), i]).collect();
    let mut expected = pairs.clone();
    expected.sort_by_key(|pair| pair[0]);
    sort_pairs_through(kernels, stream, &mut scratch.staging, &mut pairs, wait)?;
    if pairs != expected {
        return Err(Declined::WrongResult("the self-test's pairs are in another order"));
    }
    Ok(())
}

/// A frame of either side.
#[derive(PartialEq, Eq)]
struct Made {
    partition: u32,
    rows: u32,
    bytes: Vec<u8>,
    hashes: Option<RowHashes>,
}

impl Trial {
    fn pass(
        &self,
        kernels: &Kernels,
        stream: &ArenaStream,
        scratch: &mut EncodeScratch,
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        let rows = rows(self.row_bytes, self.partitions);
        let filled: Vec<FilledPage> = rows.chunks(self.page_rows).map(FilledPage::of).collect();
        let pages: Vec<Page<'_>> = filled.iter().map(FilledPage::page).collect();
        let batch = Batch { fields: FIELDS, partitions: self.partitions, pages: &pages, hash_rows: self.hash_rows };
        let mut made = Vec::new();
        let mut take = |frame: MadeFrame<'_>| {
            let MadeFrame { partition, rows, bytes, hashes, .. } = frame;
            made.push(Made { partition, rows, bytes: bytes.to_vec(), hashes });
            Ok(())
        };
        encode_to(kernels, stream, scratch, batch, self.options, Waits { memory: wait, work: wait }, &mut take)?;
        let mut sorted: Vec<&(u32, Vec<u8>)> = rows.iter().collect();
        sorted.sort_by_key(|row| row.0);
        if made != self.frames_of_cpu(&sorted) {
            return Err(Declined::WrongResult("the self-test's frames are not those of the CPU"));
        }
        // Those of a general codec are the CPU's to decode.
        if self.options.codec != Codec::None {
            return Ok(());
        }
        rows_come_back(kernels, stream, &mut scratch.staging, &made, &sorted, wait)
    }

    fn frames_of_cpu(&self, sorted: &[&(u32, Vec<u8>)]) -> Vec<Made> {
        let (mut encoder, mut frames, mut rest) = (Encoder::new(self.options), Vec::new(), sorted);
        for partition in sorted.chunk_by(|a, b| a.0 == b.0) {
            let lines: Vec<&[u8]> = partition.iter().map(|row| &row.1[..]).collect();
            let Ok(()) = encoder.encode(&lines, FIELDS, |frame| {
                let rows = FrameHeader::parse(frame).map_or(0, |header| header.records);
                let (here, later) = rest.split_at(rows as usize);
                rest = later;
                let hashes = self.hash_rows.then(|| hashes_of(here));
                frames.push(Made { partition: partition[0].0, rows, bytes: frame.to_vec(), hashes });
                Ok::<(), Infallible>(())
            });
        }
        frames
    }
}

fn hashes_of(rows: &[&(u32, Vec<u8>)]) -> RowHashes {
    let add = |all: RowHashes, hash: u64| RowHashes { xor: all.xor ^ hash, sum: all.sum.wrapping_add(hash) };
    rows.iter().map(|row| row_hash(&row.1)).fold(RowHashes { xor: 0, sum: 0 }, add)
}

fn rows_come_back(
    kernels: &Kernels,
    stream: &ArenaStream,
    staging: &mut Staging,
    made: &[Made],
    sorted: &[&(u32, Vec<u8>)],
    wait: Wait<'_>,
) -> Result<(), Declined> {
    let frames: Vec<&[u8]> = made.iter().map(|frame| &frame.bytes[..]).collect();
    let bytes = sorted.iter().map(|row| row.1.len()).sum();
    let (mut target, mut row_bytes) = (vec![0; bytes], vec![0; sorted.len()]);
    decode_through(kernels, stream, staging, &frames, &mut target, &mut row_bytes, wait)?;
    let lengths_are_right = row_bytes.iter().zip(sorted).all(|(bytes, row)| *bytes as usize == row.1.len());
    if !lengths_are_right || !target.iter().eq(sorted.iter().flat_map(|row| &row.1)) {
        return Err(Declined::WrongResult("the self-test's rows do not come back"));
    }
    Ok(())
}
