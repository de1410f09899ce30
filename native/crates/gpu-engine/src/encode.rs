//! A map batch to frames.

use sluice_codec::{Codec, CodecOptions, Level, bitset_words};
use sluice_cuda::{Stream, Wait};
use sluice_engine::Page;
use sluice_gpu_mem::ArenaStream;

use crate::declined::Declined;
use crate::encode_job::{BAD_ENTRY, DeviceFrame, DevicePage, EncodeJob, NEEDS_CODEC, ROW_TOO_LONG, Shape, Summary};
use crate::kernels::Kernels;
use crate::radix::{KeyArrays, RadixArrays, scan, sort_by_digit};
use crate::submit::{get, put, settled, start};

/// The most words before a row's variable region.
const MOST_WORDS: usize = 1024;
/// Rows of a page begin at a multiple of this.
const PAGE_ALIGN: usize = 16;
const THREADS: usize = 256;
const WARPS: u64 = 8;

/// Rows in pages, as a map task's writer makes them.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'p, 'a> {
    /// Fields of each row.
    pub fields: u32,
    /// Partitions of the map output.
    pub partitions: u32,
    /// The pages, in the order in which they were filled.
    pub pages: &'p [Page<'a>],
    /// Whether Spark's row checksums are asked for.
    pub hash_rows: bool,
}

/// The frames of a batch, by partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedBatch {
    /// All frames, one after another.
    pub bytes: Vec<u8>,
    /// Each of them; their partitions ascend.
    pub frames: Vec<EncodedFrame>,
}

/// A frame of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodedFrame {
    /// Whose rows it has.
    pub partition: u32,
    /// How many rows.
    pub rows: u32,
    /// Where it begins.
    pub start: usize,
    /// Its length.
    pub bytes: usize,
    /// Of its rows, if they were asked for.
    pub hashes: Option<RowHashes>,
}

/// XOR and sum of the XXH64 hashes of a frame's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHashes {
    /// All hashes, exclusively or'd.
    pub xor: u64,
    /// Their sum, wrapped.
    pub sum: u64,
}

/// Encodes a batch: the frames that [`sluice_codec::Encoder::encode`] makes of each partition's rows, in the order of
/// the partitions. It waits twice: for the length of the output, and for the output.
///
/// # Errors
/// The batch has more fields or longer rows than the kernels take, its pages fail a check, a general codec has to look
/// at its bytes, there is no memory, or the device fails.
pub fn encode(
    kernels: &Kernels,
    stream: &ArenaStream,
    batch: Batch<'_, '_>,
    options: CodecOptions,
    wait: Wait<'_>,
) -> Result<EncodedBatch, Declined> {
    let shape = shape_of(&batch)?;
    if shape.rows == 0 {
        return Ok(EncodedBatch { bytes: Vec::new(), frames: Vec::new() });
    }
    let (places, bytes) = shape.lay_out()?;
    let pages = device_pages(batch.pages);
    let lease = stream.lease(bytes, wait)?;
    let on = stream.stream();
    let mut job = places.in_lease(lease.address(), &shape, kernels.crc_tables());
    job.codec = (options.codec != Codec::None).into();
    job.plain = (options.level == Level::Plain).into();
    job.hash_rows = batch.hash_rows.into();
    let radix = places.radix.in_lease(lease.address());
    let mut summary = [Summary::default()];
    // SAFETY: all arrays of the job are in the lease, with the lengths that the kernels need (`Shape::lay_out`), which
    // is used on its own stream only. The pages are borrowed, and `pages` and `summary` live, until `get` or
    // `settled` has waited. Any bytes are a summary.
    let submitted = settled(on, wait, || unsafe {
        copy_pages(on, &job, batch.pages, &pages)?;
        put(on, job.summary, &summary)?;
        submit(kernels, on, &mut job, radix)?;
        get(on, job.summary, &mut summary, wait)
    });
    let [summary] = summary;
    let encoded = submitted.and_then(|()| check(&summary, &shape)).and_then(|()| fetch(on, &job, &summary, wait));
    stream.free(lease);
    encoded
}

fn shape_of(batch: &Batch<'_, '_>) -> Result<Shape, Declined> {
    let words = bitset_words(batch.fields as usize) + batch.fields as usize;
    if words > MOST_WORDS {
        return Err(Declined::TooLarge("fields of a row"));
    }
    let (mut rows, mut bytes, mut pages) = (0usize, 0usize, 0usize);
    for page in batch.pages {
        let taken = page.entries.checked_mul(8).and_then(|entries| entries.checked_add(page.used));
        if taken.is_none_or(|taken| taken > page.memory.len()) {
            return Err(Declined::CheckFailed("a page does not have the bytes that it says"));
        }
        if u32::try_from(page.used).is_err() {
            return Err(Declined::TooLarge("bytes of a page"));
        }
        rows += page.entries;
        bytes += page.used.next_multiple_of(PAGE_ALIGN);
        pages += usize::from(page.entries > 0);
    }
    let most_frames = Shape::most_frames(rows, bytes, batch.partitions);
    if u32::try_from(rows).is_err() || u32::try_from(most_frames).is_err() || batch.partitions == u32::MAX {
        return Err(Declined::TooLarge("rows of a batch"));
    }
    if batch.partitions == 0 && rows > 0 {
        return Err(Declined::CheckFailed("rows of no partition"));
    }
    let (partitions, fields, words) = (batch.partitions, batch.fields, words as u32);
    Ok(Shape { rows, bytes, pages, partitions, fields, words, most_frames })
}

/// Pages that have entries, as the kernels know them.
fn device_pages(pages: &[Page<'_>]) -> Vec<DevicePage> {
    let (mut at, mut first) = (0, 0);
    let with_rows = pages.iter().filter(|page| page.entries > 0);
    let place = with_rows.map(|page| {
        let (used, entries) = (page.used as u32, page.entries as u32);
        let device = DevicePage { at, used, entries, first, unused: 0 };
        at += page.used.next_multiple_of(PAGE_ALIGN) as u64;
        first += entries;
        device
    });
    place.collect()
}

/// Copies rows and entries of the pages to the job's arrays.
///
/// # Safety
/// As for [`put`], of the pages and of `places`, which are theirs.
unsafe fn copy_pages(
    stream: &Stream,
    job: &EncodeJob,
    pages: &[Page<'_>],
    places: &[DevicePage],
) -> Result<(), Declined> {
    // SAFETY: the caller's promise; the arrays have room for all rows and entries.
    unsafe {
        for (page, place) in pages.iter().filter(|page| page.entries > 0).zip(places) {
            put(stream, job.rows + place.at, &page.memory[..page.used])?;
            let entries = &page.memory[page.memory.len() - page.entries * 8..];
            put(stream, job.entries + u64::from(place.first) * 8, entries)?;
        }
        put(stream, job.pages, places)
    }
}

/// Puts all kernels of an encode into the stream.
///
/// # Safety
/// The job's arrays are as the kernels need them until their work is done.
unsafe fn submit(kernels: &Kernels, stream: &Stream, job: &mut EncodeJob, radix: RadixArrays) -> Result<(), Declined> {
    let (rows, partitions) = (job.row_count as usize, job.partitions as usize);
    let per_thread = |threads: usize| threads.div_ceil(THREADS) as u64;
    // SAFETY: the caller's promise; the parameters are those of each kernel.
    unsafe {
        start!(stream, &kernels.read_entries, per_thread(rows), *job)?;
        sort_by_partition(kernels, stream, job, radix)?;
        start!(stream, &kernels.place_rows, per_thread(rows + 1), *job)?;
        scan(kernels, stream, radix, job.prefix, rows + 1)?;
        let cutting = kernels.blocks_for((partitions as u64 + 1).div_ceil(WARPS));
        start!(stream, &kernels.count_frames, cutting, *job)?;
        scan(kernels, stream, radix, job.frames_before, partitions + 1)?;
        start!(stream, &kernels.write_frames, cutting, *job)?;
        let frames = u64::from(job.most_frames);
        let per_frame = kernels.blocks_for(frames);
        if job.hash_rows != 0 {
            start!(stream, &kernels.hash_rows, per_frame, *job)?;
        }
        if job.plain == 0 {
            start!(stream, &kernels.gather_words, per_frame, *job)?;
            start!(stream, &kernels.predict_fields, per_frame, *job)?;
            let vars = kernels.blocks_for(frames * (u64::from(job.fields) + 1));
            start!(stream, &kernels.encode_vars, vars, *job)?;
            let columns = kernels.blocks_for(frames * (u64::from(job.fields) + u64::from(job.words) + 1));
            start!(stream, &kernels.encode_columns, columns, *job)?;
        }
        start!(stream, &kernels.lay_out_frames, kernels.blocks_for(frames + 1), *job)?;
        scan(kernels, stream, radix, job.frame_bytes, frames as usize + 1)?;
        start!(stream, &kernels.put_frames, per_frame, *job)?;
        start!(stream, &kernels.put_headers, per_frame, *job)
    }
}

/// Sorts the entries by partition, by as many digits as partitions have.
///
/// # Safety
/// As for [`submit`].
unsafe fn sort_by_partition(
    kernels: &Kernels,
    stream: &Stream,
    job: &mut EncodeJob,
    radix: RadixArrays,
) -> Result<(), Declined> {
    let mut arrays = KeyArrays {
        keys: job.keys,
        references: job.order,
        other_keys: job.keys_other,
        other_references: job.order_other,
        count: job.row_count as usize,
        wide: false,
    };
    let bits = u32::BITS - (job.partitions - 1).leading_zeros();
    for shift in (0..bits).step_by(8) {
        // SAFETY: the caller's promise.
        unsafe { sort_by_digit(kernels, stream, radix, &mut arrays, shift)? };
    }
    (job.keys, job.order) = (arrays.keys, arrays.references);
    Ok(())
}

fn check(summary: &Summary, shape: &Shape) -> Result<(), Declined> {
    match summary.status {
        0 if summary.frames as usize <= shape.most_frames => Ok(()),
        0 => Err(Declined::CheckFailed("more frames than there can be")),
        status if status & BAD_ENTRY != 0 => Err(Declined::CheckFailed("an entry of a page")),
        status if status & ROW_TOO_LONG != 0 => Err(Declined::TooLarge("bytes of a row")),
        status if status & NEEDS_CODEC != 0 => Err(Declined::NeedsCodec),
        _ => Err(Declined::CheckFailed("an unknown status")),
    }
}

/// Gets the frames and what there is to say of them.
fn fetch(stream: &Stream, job: &EncodeJob, summary: &Summary, wait: Wait<'_>) -> Result<EncodedBatch, Declined> {
    let mut found = vec![DeviceFrame::default(); summary.frames as usize];
    let mut bytes = vec![0; summary.bytes as usize];
    // SAFETY: the arrays of the job have as many frames and bytes (`check`), any bytes are a frame, and both `get` wait
    // for all work.
    unsafe {
        get(stream, job.frames, &mut found, wait)?;
        get(stream, job.output, &mut bytes, wait)?;
    }
    let frames = found.iter().map(|frame| EncodedFrame {
        partition: frame.partition,
        rows: frame.rows,
        start: frame.place as usize,
        bytes: sluice_codec::HEADER_BYTES + frame.payload as usize,
        hashes: (job.hash_rows != 0).then_some(RowHashes { xor: frame.hash_xor, sum: frame.hash_sum }),
    });
    let frames = frames.collect();
    Ok(EncodedBatch { bytes, frames })
}
