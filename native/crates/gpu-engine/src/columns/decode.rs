//! Frames to columns.

use std::sync::Arc;
use std::time::Duration;

use sluice_codec::{FrameHeader, HEADER_BYTES};
use sluice_columns::ffi::ArrowDeviceArray;
use sluice_columns::{DeviceColumn, DeviceTarget, Schema};
use sluice_cuda::{DeviceAddress, Wait};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::decode::{DecodeFrame, DecodeJob, Plan};
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::radix::{RadixArrays, RadixScratch, scan};
use crate::scratch::{Layout, Place};
use crate::staging::Staging;
use crate::submit::{Parameter, THREADS, put, settled, start};

/// What [`ColumnsJob::found`] says.
const FRAME_NEEDS_CODEC: u32 = 2;

/// Whole frames.
#[derive(Debug, Clone, Copy)]
pub enum FramesIn<'f> {
    /// In the host's memory.
    Host(&'f [&'f [u8]]),
    /// In the device's: where each begins, and its length.
    Device(&'f [(DeviceAddress, usize)]),
}

/// The structure of `kernels/to_columns.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct ColumnsJob {
    frames: u64,
    target: u64,
    row_bytes: u64,
    status: u64,
    scratch: u64,
    columns: u64,
    lengths: u64,
    totals: u64,
    nulls: u64,
    found: u64,
    frame_count: u32,
    row_count: u32,
    fields: u32,
    words: u32,
    with_offsets: u32,
    unused: u32,
}

// SAFETY: the same members as the kernels' structure, in the same order, all aligned to their size.
unsafe impl Parameter for ColumnsJob {}

/// Decodes frames, one after another, to one batch of these columns, whose buffers are on the device: the array that
/// [`sluice_columns::ColumnDecoder::decode`] makes of them. Its buffers are ready when this returns, and freed when it
/// is released, which must not be before the reader's work with them has ended.
///
/// Waits for the frames' headers, if they are on the device; for the number of the values' bytes; and for the columns.
///
/// # Errors
/// A check failed, or the rows are none of the schema; a frame was compressed by a general codec, is sealed, or has
/// more than 1 MiB of rows; the schema has views or dictionaries; there is no memory, or the device fails. The CPU then
/// decodes the frames, or says what is wrong with them.
///
/// # Safety
/// Frames of the device are in memory that it reads, as long as is said, and nobody writes to them before this returns.
pub unsafe fn decode_columns(
    kernels: &Kernels,
    stream: &ArenaStream,
    frames: FramesIn<'_>,
    schema: &Schema,
    wait: Wait<'_>,
) -> Result<ArrowDeviceArray, Declined> {
    let work = Work { kernels, stream, wait };
    let mut staging = Staging::plain(stream.stream().context(), STAGING_BYTES)?;
    let plan = match frames {
        FramesIn::Host(frames) => work.plan_of_host(frames)?,
        // SAFETY: the caller's promise.
        FramesIn::Device(frames) => unsafe { work.plan_of_device(frames, &mut staging)? },
    };
    if plan.frames.iter().any(|frame| frame.fields as usize != schema.fields.len()) {
        return Err(Declined::CheckFailed("rows of another number of fields"));
    }
    let rows = i32::try_from(plan.rows).map_err(|_| Declined::TooLarge("rows of a call"))? as u32;
    let target = DeviceTarget::of(schema, plan.rows).map_err(|_| Declined::TooLarge("views or dictionaries"))?;
    let placed = Placed::of(&work, &plan, &target, rows)?;
    // SAFETY: the caller's promise.
    let made = unsafe { work.decode(&placed, &plan, target, frames, &mut staging) };
    stream.free(placed.memory);
    made
}

/// Memory for a decode, and what the kernels are told of it.
struct Placed {
    memory: StreamLease,
    decode: DecodeJob,
    columns: ColumnsJob,
    radix: RadixArrays,
}

impl Placed {
    fn of(work: &Work<'_>, plan: &Plan, target: &DeviceTarget, rows: u32) -> Result<Self, Declined> {
        let frame_count = u32::try_from(plan.frames.len()).map_err(|_| Declined::TooLarge("frames of a call"))?;
        let too_large = Declined::TooLarge("the memory that the frames need");
        let (fields, with_offsets) = (target.columns().len(), target.with_offsets());
        let lengths = with_offsets.checked_mul(plan.rows + 1).ok_or(too_large)?;
        let mut layout = Layout::default();
        let input = layout.array::<u8>(plan.input);
        let frames = layout.array::<DecodeFrame>(plan.frames.len());
        let target_bytes = layout.array::<u8>(plan.target);
        let row_bytes = layout.array::<u32>(plan.rows);
        let scratch = layout.array::<u64>(plan.scratch);
        let status = layout.array::<u32>(plan.frames.len());
        let columns = layout.array::<DeviceColumn>(fields);
        let lengths = layout.array::<u64>(lengths);
        // What was found, and then the totals.
        let totals = layout.array::<u64>(with_offsets + 1);
        let nulls = layout.array::<u32>(fields);
        let radix = RadixScratch::of(&mut layout, 0, plan.rows + 1);
        let memory = layout.lease(work.stream, "the memory that the frames need", work.wait)?;
        let at = |place: Place| place.in_lease(memory.address());
        // Addresses of frames on the device are those of the device.
        let input = if plan.input == 0 { 0 } else { at(input) };
        let decode = DecodeJob {
            input,
            frames: at(frames),
            target: at(target_bytes),
            row_bytes: at(row_bytes),
            scratch: at(scratch),
            status: at(status),
            crc_tables: work.kernels.crc_tables().0,
            frame_count,
            for_columns: 1,
        };
        let columns = ColumnsJob {
            frames: decode.frames,
            target: decode.target,
            row_bytes: decode.row_bytes,
            status: decode.status,
            scratch: decode.scratch,
            columns: at(columns),
            lengths: at(lengths),
            // Behind what was found, so that both come to the host at once.
            totals: at(totals) + 8,
            nulls: at(nulls),
            found: at(totals),
            frame_count,
            row_count: rows,
            fields: fields as u32,
            words: target.words() as u32,
            with_offsets: with_offsets as u32,
            unused: 0,
        };
        let radix = radix.in_lease(memory.address());
        Ok(Self { memory, decode, columns, radix })
    }
}

struct Work<'w> {
    kernels: &'w Kernels,
    stream: &'w ArenaStream,
    wait: Wait<'w>,
}

impl Work<'_> {
    fn plan_of_host(&self, frames: &[&[u8]]) -> Result<Plan, Declined> {
        let mut plan = Plan::default();
        frames.iter().try_for_each(|frame| plan.add(frame, true))?;
        Ok(plan)
    }

    /// # Safety
    /// As [`decode_columns`].
    unsafe fn plan_of_device(
        &self,
        frames: &[(DeviceAddress, usize)],
        staging: &mut Staging,
    ) -> Result<Plan, Declined> {
        if frames.iter().any(|frame| frame.1 < HEADER_BYTES) {
            return Err(Declined::CheckFailed("the length of a frame"));
        }
        let count = u32::try_from(frames.len()).ok().filter(|count| count.checked_mul(4).is_some());
        let count = count.ok_or(Declined::TooLarge("frames of a call"))?;
        let mut layout = Layout::default();
        let (places, headers) = (layout.array::<u64>(frames.len()), layout.array::<[u8; HEADER_BYTES]>(frames.len()));
        let memory = layout.lease(self.stream, "frames of a call", self.wait)?;
        let (places, headers) = (places.in_lease(memory.address()), headers.in_lease(memory.address()));
        let addresses: Vec<u64> = frames.iter().map(|frame| frame.0.0).collect();
        let mut found = vec![[0; HEADER_BYTES]; frames.len()];
        let (on, kernel) = (self.stream.stream(), &self.kernels.take_headers);
        let blocks = self.kernels.blocks_for((frames.len() * 4).div_ceil(THREADS as usize) as u64);
        // SAFETY: the arrays are in the lease, which is used on its own stream only; the addresses live until `get_all`
        // or `settled` has waited; the frames are the caller's promise. Any bytes are bytes.
        let taken = settled(on, self.wait, || unsafe {
            put(on, places, &addresses)?;
            start!(on, kernel, blocks, places, count, headers)?;
            staging.get_all(on, headers, &mut found, self.wait)
        });
        self.stream.free(memory);
        taken?;
        let mut plan = Plan::default();
        for (header, (address, bytes)) in found.iter().zip(frames) {
            let header = FrameHeader::parse(header).map_err(|_| Declined::CheckFailed("a header"))?;
            if bytes - HEADER_BYTES != header.encoded_bytes as usize {
                return Err(Declined::CheckFailed("the length of a frame"));
            }
            plan.add_at(&header, address.plus(HEADER_BYTES).0, true)?;
        }
        Ok(plan)
    }

    /// # Safety
    /// As [`decode_columns`].
    unsafe fn decode(
        &self,
        placed: &Placed,
        plan: &Plan,
        mut target: DeviceTarget,
        frames: FramesIn<'_>,
        staging: &mut Staging,
    ) -> Result<ArrowDeviceArray, Declined> {
        let (on, job) = (self.stream.stream(), placed.columns);
        let tiles = u64::from(job.row_count / THREADS + 1);
        let per_column = self.kernels.blocks_for(u64::from(job.fields) * tiles);
        let totals = target.with_offsets();
        let described = target.columns().to_vec();
        // SAFETY: the arrays are in the lease, which is used on its own stream only; frames, plan and columns live
        // until `get` or `settled` has waited. Any bytes are numbers.
        let measured = settled(on, self.wait, || unsafe {
            if let FramesIn::Host(frames) = frames {
                for (frame, place) in frames.iter().zip(&plan.frames) {
                    put(on, placed.decode.input + place.at, &frame[HEADER_BYTES..])?;
                }
            }
            put(on, placed.decode.frames, &plan.frames)?;
            put(on, job.columns, &described)?;
            on.fill(DeviceAddress(job.found), 0, (totals + 1) * size_of::<u64>())?;
            on.fill(DeviceAddress(job.nulls), 0, job.fields as usize * size_of::<u32>())?;
            let blocks = self.kernels.blocks_for(u64::from(job.frame_count));
            start!(on, &self.kernels.decode_frames, blocks, placed.decode)?;
            start!(on, &self.kernels.measure_values, per_column, job)?;
            let each = plan.rows + 1;
            for column in 0..totals {
                let lengths = job.lengths + (column * each * size_of::<u64>()) as u64;
                scan(self.kernels, on, placed.radix, lengths, each)?;
            }
            start!(on, &self.kernels.total_values, 1, job)?;
            staging.get::<u64>(on, job.found, totals + 1, self.wait).map(<[u64]>::to_vec)
        })?;
        let (found, totals) = (measured[0] as u32, &measured[1..]);
        check_found(found)?;
        // Values of a column lie in its rows' bytes, no two in the same.
        if totals.iter().any(|bytes| *bytes > plan.target as u64) {
            return Err(Declined::CheckFailed("values that are more than their rows"));
        }
        let bytes = target.lay_out(totals).map_err(|_| Declined::TooLarge("bytes of a column's values"))?;
        let mut layout = Layout::default();
        let place = layout.array::<u8>(bytes.max(1));
        // Whoever holds memory does not wait for more: others may do the same.
        let memory = layout.lease(self.stream, "the memory that the columns need", Wait::at_most(Duration::ZERO))?;
        target.place_at(place.in_lease(memory.address()));
        // SAFETY: as above; the columns' buffers are in the lease.
        let written = settled(on, self.wait, || unsafe {
            put(on, job.columns, target.columns())?;
            start!(on, &self.kernels.write_columns, per_column, job)?;
            if job.with_offsets > 0 {
                let tiles = u64::from(job.row_count.div_ceil(THREADS / 8));
                let blocks = self.kernels.blocks_for(u64::from(job.fields) * tiles);
                start!(on, &self.kernels.write_value_bytes, blocks, job)?;
            }
            let found = staging.get::<u32>(on, job.found, 1, self.wait)?[0];
            check_found(found)?;
            staging.get::<u32>(on, job.nulls, job.fields as usize, self.wait).map(<[u32]>::to_vec)
        });
        let nulls = match written {
            Ok(nulls) => nulls,
            Err(why) => {
                self.stream.free(memory);
                return Err(why);
            }
        };
        let device = i64::from(self.stream.stream().context().device().facts().ordinal);
        Ok(target.export(&nulls, device, Arc::new(memory)))
    }
}

fn check_found(found: u32) -> Result<(), Declined> {
    match found {
        0 => Ok(()),
        found if found & FRAME_NEEDS_CODEC != 0 => Err(Declined::NeedsCodec),
        _ => Err(Declined::CheckFailed("a frame, or a value of its rows")),
    }
}
