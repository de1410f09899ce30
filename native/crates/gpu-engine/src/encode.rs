//! A map batch to frames.

use sluice_codec::{Codec, CodecOptions, HEADER_BYTES, Level, bitset_words};
use sluice_cuda::{DeviceAddress, Stream, Wait};
use sluice_engine::Page;
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::encode_job::{
    BAD_ENTRY, BAD_VALUE, BATCH_MEMORY, CODEC_LZ4, CODEC_NONE, CODEC_OTHER, DeviceFrame, DevicePage, EncodeJob,
    NEEDS_ROWS, ROW_TOO_LONG, Shape, Summary,
};
use crate::encode_scratch::EncodeScratch;
use crate::kernels::Kernels;
use crate::radix::{KeyArrays, RadixArrays, scan, sort_by_digit};
use crate::staging::Staging;
use crate::submit::{put, settled, start};

/// The most words before a row's variable region.
pub(crate) const MOST_WORDS: usize = 1024;
/// Rows of a page begin at a multiple of this.
const PAGE_ALIGN: usize = 16;
const THREADS: usize = 256;
const WARPS: u64 = 8;
const WARP: u32 = 32;

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Whether the CPU made it, because a general codec had to look at its bytes.
    pub by_cpu: bool,
}

/// XOR and sum of the XXH64 hashes of a frame's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHashes {
    /// All hashes, exclusively or'd.
    pub xor: u64,
    /// Their sum, wrapped.
    pub sum: u64,
}

/// A frame that is handed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MadeFrame<'f> {
    pub(crate) partition: u32,
    pub(crate) rows: u32,
    pub(crate) bytes: &'f [u8],
    pub(crate) hashes: Option<RowHashes>,
    pub(crate) by_cpu: bool,
}

/// Takes a batch's frames in their order.
pub(crate) type TakeFrame<'t> = dyn FnMut(MadeFrame<'_>) -> Result<(), Declined> + 't;

/// How long an encode may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits<'w> {
    /// For memory of the device.
    pub(crate) memory: Wait<'w>,
    /// For work of the device, each time. What takes longer means that the device is lost.
    pub(crate) work: Wait<'w>,
}

/// Encodes a batch: the frames that [`sluice_codec::Encoder::encode`] makes of each partition's rows, in the order of
/// the partitions. Frames at whose bytes a general codec has to look are made by the calling thread, and put between
/// the others.
///
/// # Errors
/// The batch has more fields or longer rows than the kernels take, its pages fail a check, there is no memory, or the
/// device fails.
pub fn encode(
    kernels: &Kernels,
    stream: &ArenaStream,
    batch: Batch<'_, '_>,
    options: CodecOptions,
    wait: Wait<'_>,
) -> Result<EncodedBatch, Declined> {
    let mut scratch = EncodeScratch::plain(stream.stream().context())?;
    let mut all = EncodedBatch::default();
    let mut take = |frame: MadeFrame<'_>| {
        let MadeFrame { partition, rows, bytes, hashes, by_cpu } = frame;
        let start = all.bytes.len();
        all.frames.push(EncodedFrame { partition, rows, start, bytes: bytes.len(), hashes, by_cpu });
        all.bytes.extend_from_slice(bytes);
        Ok(())
    };
    encode_to(kernels, stream, &mut scratch, batch, options, Waits { memory: wait, work: wait }, &mut take)?;
    Ok(all)
}

/// Encodes a batch, as [`encode`] does, and hands its frames over as they come to the host. It waits for the number of
/// frames, for each piece of the frames' descriptions and for each piece of their bytes; all pieces pass through the
/// staging buffer of `scratch`.
///
/// # Errors
/// Those of [`encode`], and those of `take`. Frames may have been handed over then.
pub(crate) fn encode_to(
    kernels: &Kernels,
    stream: &ArenaStream,
    scratch: &mut EncodeScratch,
    batch: Batch<'_, '_>,
    options: CodecOptions,
    waits: Waits<'_>,
    take: &mut TakeFrame<'_>,
) -> Result<(), Declined> {
    let Some(placed) = Placed::of(kernels, stream, &batch, options, waits.memory)? else { return Ok(()) };
    let Placed { lease, shape, mut job, radix } = placed;
    let with_rows: Vec<Page> = batch.pages.iter().filter(|page| page.entries > 0).copied().collect();
    let pages = device_pages(&with_rows);
    let (on, wait) = (stream.stream(), waits.work);
    // SAFETY: all arrays of the job are in the lease, with the lengths that the kernels need (`Shape::lay_out`), which
    // is used on its own stream only. The pages are borrowed, and `pages` lives, until `get` or `settled` has waited.
    // Any bytes are a summary.
    let submitted = settled(on, wait, || unsafe {
        copy_pages(on, &job, &with_rows, &pages)?;
        submit(kernels, on, &mut job, radix, Origin::Pages)?;
        scratch.staging.get::<Summary>(on, job.summary, 1, wait).map(|summary| summary[0])
    });
    let encoded = submitted.and_then(|summary| {
        check(&summary, &shape)?;
        let output_bytes = summary.bytes;
        let rows = Rows { job: &job, pages: &with_rows, places: &pages, output_bytes, stream: on, wait };
        hand_over(&rows, &summary, scratch, options, take)
    });
    stream.free(lease);
    encoded
}

/// Memory of the device for a batch, and what the kernels are told of it.
pub(crate) struct Placed {
    pub(crate) lease: StreamLease,
    pub(crate) shape: Shape,
    pub(crate) job: EncodeJob,
    pub(crate) radix: RadixArrays,
}

impl Placed {
    /// None for a batch without rows.
    ///
    /// # Errors
    /// The batch has more fields or longer rows than the kernels take, its pages are not as they say, or there is no
    /// memory.
    pub(crate) fn of(
        kernels: &Kernels,
        stream: &ArenaStream,
        batch: &Batch<'_, '_>,
        options: CodecOptions,
        wait: Wait<'_>,
    ) -> Result<Option<Self>, Declined> {
        let shape = shape_of(batch)?;
        if shape.rows == 0 {
            return Ok(None);
        }
        let (places, layout) = shape.lay_out()?;
        let lease = layout.lease(stream, BATCH_MEMORY, wait)?;
        let mut job = places.in_lease(lease.address(), &shape, kernels.crc_tables());
        job.set_options(options);
        job.hash_rows = batch.hash_rows.into();
        let radix = places.radix.in_lease(lease.address());
        Ok(Some(Self { lease, shape, job, radix }))
    }
}

impl EncodeJob {
    pub(crate) fn set_options(&mut self, options: CodecOptions) {
        self.codec = match options.codec {
            Codec::None => CODEC_NONE,
            Codec::Lz4 => CODEC_LZ4,
            _ => CODEC_OTHER,
        };
        self.probe_sixteenths = if options.level == Level::Small { 15 } else { 12 };
        self.plain = (options.level == Level::Plain).into();
    }
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
    let (copied_rows, copied_bytes) = (rows, bytes);
    Ok(Shape { rows, bytes, copied_rows, copied_bytes, pages, partitions, fields, words, most_frames })
}

/// Pages, each with entries, as the kernels know them.
pub(crate) fn device_pages(pages: &[Page<'_>]) -> Vec<DevicePage> {
    let (mut at, mut first) = (0, 0);
    let place = pages.iter().map(|page| {
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
pub(crate) unsafe fn copy_pages(
    stream: &Stream,
    job: &EncodeJob,
    pages: &[Page<'_>],
    places: &[DevicePage],
) -> Result<(), Declined> {
    // SAFETY: the caller's promise; the arrays have room for all rows and entries.
    unsafe {
        for (page, place) in pages.iter().zip(places) {
            put(stream, job.rows + place.at, &page.memory[..page.used])?;
            let entries = &page.memory[page.memory.len() - page.entries * 8..];
            put(stream, job.entries + u64::from(place.first) * 8, entries)?;
        }
        put(stream, job.pages, places)
    }
}

/// Where rows come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// Pages that have been copied to the job's arrays.
    Pages,
    /// Columns, which have been measured; and the address of each row's partition, 0 if all are in partition 0.
    Columns { ids: u64 },
}

/// Puts all kernels of an encode into the stream, behind a summary without anything.
///
/// # Safety
/// The job's arrays are as the kernels need them until their work is done.
pub(crate) unsafe fn submit(
    kernels: &Kernels,
    stream: &Stream,
    job: &mut EncodeJob,
    radix: RadixArrays,
    origin: Origin,
) -> Result<(), Declined> {
    let (rows, partitions) = (job.row_count as usize, job.partitions as usize);
    let per_thread = |threads: usize| threads.div_ceil(THREADS) as u64;
    // SAFETY: the caller's promise; the parameters are those of each kernel.
    unsafe {
        stream.fill(DeviceAddress(job.summary), 0, size_of::<Summary>())?;
        match origin {
            Origin::Pages => start!(stream, &kernels.read_entries, per_thread(rows), *job)?,
            Origin::Columns { ids } => start!(stream, &kernels.list_rows, per_thread(rows), *job, ids)?,
        }
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
            match origin {
                Origin::Pages => start!(stream, &kernels.gather_words, per_frame, *job)?,
                Origin::Columns { .. } => start!(stream, &kernels.gather_columns, per_frame, *job)?,
            }
            start!(stream, &kernels.predict_fields, per_frame, *job)?;
            let vars = kernels.blocks_for(frames * (u64::from(job.fields) + 1));
            match origin {
                Origin::Pages => start!(stream, &kernels.encode_vars, vars, *job)?,
                Origin::Columns { .. } => start!(stream, &kernels.encode_vars_of_columns, vars, *job)?,
            }
            if job.codec == CODEC_LZ4 {
                start!(stream, &kernels.compress_vars, vars; WARP, *job)?;
            }
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

pub(crate) fn check(summary: &Summary, shape: &Shape) -> Result<(), Declined> {
    match summary.status {
        0 if summary.frames as usize > shape.most_frames => Err(Declined::WrongResult("more frames than there can be")),
        0 if shape.output_bytes().is_none_or(|most| summary.bytes > most as u64) => {
            Err(Declined::WrongResult("more bytes than the frames can have"))
        }
        0 => Ok(()),
        status if status & BAD_ENTRY != 0 => Err(Declined::CheckFailed("a row's partition, or its place in a page")),
        status if status & BAD_VALUE != 0 => Err(Declined::CheckFailed("a value that no row can have, or an offset")),
        status if status & ROW_TOO_LONG != 0 => Err(Declined::TooLarge("bytes of a row")),
        status if status & NEEDS_ROWS != 0 => Err(Declined::NeedsRows),
        _ => Err(Declined::WrongResult("an unknown status")),
    }
}

/// Hands all frames over in their order, as many at a time as there is room to describe.
fn hand_over(
    rows: &Rows<'_, '_>,
    summary: &Summary,
    scratch: &mut EncodeScratch,
    options: CodecOptions,
    take: &mut TakeFrame<'_>,
) -> Result<(), Declined> {
    let (mut first, total, mut done, mut handed_over) = (0, summary.frames as usize, 0, 0);
    let mut take = |frame: MadeFrame<'_>| {
        handed_over += u64::from(frame.rows);
        take(frame)
    };
    while first < total {
        let count = scratch.get_frames(rows, first, total - first)?;
        hand_over_described(rows, scratch, options, &mut done, &mut take)?;
        first += count;
    }
    if done != summary.bytes {
        return Err(Declined::WrongResult("the frames' bytes"));
    }
    if handed_over != u64::from(rows.job.row_count) {
        return Err(Declined::WrongResult("the number of the frames' rows"));
    }
    Ok(())
}

/// Hands over the frames that `scratch` describes: those of the device as many at a time as the staging buffer holds,
/// and each that it has left out as this thread makes it. `done`: bytes of the device's output before these, then
/// behind them.
fn hand_over_described(
    rows: &Rows<'_, '_>,
    scratch: &mut EncodeScratch,
    options: CodecOptions,
    done: &mut u64,
    take: &mut TakeFrame<'_>,
) -> Result<(), Declined> {
    let EncodeScratch { staging, frames, row_at, encoder, .. } = scratch;
    let mut rest = &frames[..];
    while let Some(frame) = rest.first() {
        if frame.codec != 0 {
            let lines = rows.of(frame, staging, row_at)?;
            let (encoder, lines) = (encoder.of(options), &lines[..]);
            let bytes = staging.calls().pause(move || encoder.encode_frame(lines, rows.job.fields));
            take(made(frame, rows.job, bytes))?;
            rest = &rest[1..];
            continue;
        }
        let (count, bytes) = fitting(rest, *done, staging.room::<u8>())?;
        if *done + bytes as u64 > rows.output_bytes {
            return Err(Declined::WrongResult("the frames' places"));
        }
        // SAFETY: the output array has `output_bytes` (`check`), and these end before. Any bytes are bytes.
        let mut bytes_of_all = unsafe { staging.get::<u8>(rows.stream, rows.job.output + *done, bytes, rows.wait)? };
        let (now, later) = rest.split_at(count);
        for frame in now {
            let here = bytes_of_all.split_off(..length(frame)?);
            take(made(frame, rows.job, here.ok_or(Declined::WrongResult("the frames' lengths"))?))?;
        }
        *done += bytes as u64;
        rest = later;
    }
    Ok(())
}

fn made<'f>(frame: &DeviceFrame, job: &EncodeJob, bytes: &'f [u8]) -> MadeFrame<'f> {
    MadeFrame {
        partition: frame.partition,
        rows: frame.rows,
        bytes,
        hashes: (job.hash_rows != 0).then_some(RowHashes { xor: frame.hash_xor, sum: frame.hash_sum }),
        by_cpu: frame.codec != 0,
    }
}

/// How many frames at the beginning were made by the device and have together no more than `most` bytes; and these.
/// They lie one behind another from `start` on.
fn fitting(frames: &[DeviceFrame], start: u64, most: usize) -> Result<(usize, usize), Declined> {
    let (mut count, mut bytes) = (0, 0);
    for frame in frames.iter().take_while(|frame| frame.codec == 0) {
        if frame.place != start + bytes as u64 {
            return Err(Declined::WrongResult("the frames' places"));
        }
        let with_it = bytes + length(frame)?;
        if with_it > most {
            break;
        }
        (count, bytes) = (count + 1, with_it);
    }
    if count == 0 { Err(Declined::TooLarge("bytes of a frame")) } else { Ok((count, bytes)) }
}

pub(crate) fn length(frame: &DeviceFrame) -> Result<usize, Declined> {
    let payload = u32::try_from(frame.payload).map_err(|_| Declined::WrongResult("the length of a frame"))?;
    Ok(HEADER_BYTES + payload as usize)
}

/// The rows of a batch in the order that the device has found.
pub(crate) struct Rows<'r, 'a> {
    pub(crate) job: &'r EncodeJob,
    pages: &'r [Page<'a>],
    places: &'r [DevicePage],
    /// Of the device's output.
    output_bytes: u64,
    pub(crate) stream: &'r Stream,
    pub(crate) wait: Wait<'r>,
}

impl<'a> Rows<'_, 'a> {
    /// Those of a frame, in the host's pages.
    fn of(&self, frame: &DeviceFrame, staging: &mut Staging, row_at: &mut Vec<u64>) -> Result<Vec<&'a [u8]>, Declined> {
        let (first, count) = (u64::from(frame.first), frame.rows as usize);
        if count == 0 || first + count as u64 > u64::from(self.job.row_count) {
            return Err(Declined::WrongResult("the rows of a frame"));
        }
        row_at.clear();
        // SAFETY: the arrays have `row_count` elements, `prefix` one more; any bytes are numbers.
        let prefix = unsafe {
            let at = self.job.sorted_at + first * 8;
            row_at.extend_from_slice(staging.get::<u64>(self.stream, at, count, self.wait)?);
            staging.get::<u64>(self.stream, self.job.prefix + first * 8, count + 1, self.wait)?
        };
        let row = |(at, ends): (&u64, &[u64])| self.row(*at, ends[1].wrapping_sub(ends[0]));
        let rows = row_at.iter().zip(prefix.windows(2)).map(row);
        rows.collect::<Option<_>>().ok_or(Declined::WrongResult("the place of a row"))
    }

    /// A row by its place on the device.
    fn row(&self, at: u64, bytes: u64) -> Option<&'a [u8]> {
        let place = self.places.partition_point(|page| page.at <= at).checked_sub(1)?;
        let page = self.pages.get(place)?;
        let start = usize::try_from(at - self.places[place].at).ok()?;
        page.memory[..page.used].get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }
}
