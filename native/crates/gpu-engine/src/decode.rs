//! Frames to rows.

use sluice_codec::header::ENCODING_COLUMNAR;
use sluice_codec::{FrameHeader, HEADER_BYTES, bitset_words};
use sluice_cuda::{Stream, Wait};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::scratch::Layout;
use crate::staging::Staging;
use crate::submit::{Parameter, put, settled, start};

/// The most words before a row's variable region.
const MOST_WORDS: usize = 1024;
/// The most bytes of a frame's rows, where columns are made of them: a thread may have all of them to look at. The
/// encoder's frames have 160 KiB, and a last row.
const MOST_BYTES_FOR_COLUMNS: usize = 1 << 20;
/// Payloads and rows of each frame begin at a multiple of this.
const ALIGN: usize = 8;
/// Arrays of a frame with one element a row, beside its columns.
const ROW_ARRAYS: usize = 4;

const DECODED: u32 = 0;
const NEEDS_CODEC: u32 = 2;

/// The structures of `kernels/decode.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodeFrame {
    pub(crate) at: u64,
    target: u64,
    lengths: u64,
    scratch: u64,
    rows: u32,
    pub(crate) fields: u32,
    bytes: u32,
    payload: u32,
    crc: u32,
    columnar: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodeJob {
    pub(crate) input: u64,
    pub(crate) frames: u64,
    pub(crate) target: u64,
    pub(crate) row_bytes: u64,
    pub(crate) scratch: u64,
    pub(crate) status: u64,
    pub(crate) crc_tables: u64,
    pub(crate) frame_count: u32,
    pub(crate) for_columns: u32,
}

// SAFETY: the same members as the kernel's structure, in the same order, all aligned to their size.
unsafe impl Parameter for DecodeJob {}

/// Where the frames of a call are, and how much they need.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) frames: Vec<DecodeFrame>,
    pub(crate) input: usize,
    pub(crate) target: usize,
    pub(crate) rows: usize,
    pub(crate) scratch: usize,
}

impl Plan {
    /// A frame of the host's, which goes behind those before it.
    pub(crate) fn add(&mut self, frame: &[u8], for_columns: bool) -> Result<(), Declined> {
        let header = FrameHeader::parse(frame).map_err(|_| Declined::CheckFailed("a header"))?;
        if frame.len() - HEADER_BYTES != header.encoded_bytes as usize {
            return Err(Declined::CheckFailed("the length of a frame"));
        }
        self.add_at(&header, self.input as u64, for_columns)?;
        self.input += (frame.len() - HEADER_BYTES).next_multiple_of(ALIGN);
        Ok(())
    }

    /// A frame whose payload is at `at` of the job's input. `for_columns`: all frames have words in the scratch.
    pub(crate) fn add_at(&mut self, header: &FrameHeader, at: u64, for_columns: bool) -> Result<(), Declined> {
        let (rows, fields, bytes) = (header.records as usize, header.fields as usize, header.decoded_bytes as usize);
        let words = bitset_words(fields) + fields;
        let columnar = header.encoding == ENCODING_COLUMNAR;
        if words > MOST_WORDS {
            return Err(Declined::TooLarge("fields of a row"));
        }
        if for_columns && bytes > MOST_BYTES_FOR_COLUMNS {
            return Err(Declined::TooLarge("bytes of a frame's rows"));
        }
        if (columnar || for_columns) && rows * words * 8 > bytes {
            return Err(Declined::CheckFailed("rows without room for their words"));
        }
        self.frames.push(DecodeFrame {
            at,
            target: self.target as u64,
            lengths: self.rows as u64,
            scratch: self.scratch as u64,
            rows: header.records,
            fields: header.fields,
            bytes: header.decoded_bytes,
            payload: header.encoded_bytes,
            crc: header.payload_crc,
            columnar: columnar.into(),
        });
        self.target += bytes;
        self.rows += rows;
        self.scratch += if columnar || for_columns { (words + ROW_ARRAYS) * rows.next_multiple_of(8) } else { 0 };
        Ok(())
    }
}

/// Decodes whole frames, one after another: their rows back to back into `target`, their rows' lengths into
/// `row_bytes`, both as long as the frames say together. Of these nothing can be said if it is declined.
///
/// # Errors
/// A check failed, the fields are more than the kernels take, a frame was compressed by a general codec, there is no
/// memory, or the device fails.
pub fn decode(
    kernels: &Kernels,
    stream: &ArenaStream,
    frames: &[&[u8]],
    target: &mut [u8],
    row_bytes: &mut [u32],
    wait: Wait<'_>,
) -> Result<(), Declined> {
    let bytes = size_of_val(target).max(size_of_val(row_bytes)).min(STAGING_BYTES);
    let mut staging = Staging::plain(stream.stream().context(), bytes)?;
    decode_through(kernels, stream, &mut staging, frames, target, row_bytes, wait)
}

/// As [`decode`]: all comes to the host by way of the staging buffer.
///
/// # Errors
/// Those of [`decode`].
pub(crate) fn decode_through(
    kernels: &Kernels,
    stream: &ArenaStream,
    staging: &mut Staging,
    frames: &[&[u8]],
    target: &mut [u8],
    row_bytes: &mut [u32],
    wait: Wait<'_>,
) -> Result<(), Declined> {
    let (placed, lease) = PlacedFrames::of(kernels, stream, frames, wait)?;
    let on = stream.stream();
    let decoded = if placed.target_bytes() != target.len() || placed.rows() != row_bytes.len() {
        Err(Declined::CheckFailed("the room for rows"))
    } else {
        // SAFETY: the arrays are in the lease, which is used on its own stream only; frames and plan are there until
        // `get` or `settled` has waited for all work.
        settled(on, wait, || unsafe {
            placed.copy(on, frames)?;
            placed.submit(kernels, on)?;
            placed.get(on, staging, target, row_bytes, wait)
        })
    };
    stream.free(lease);
    decoded
}

/// Frames with memory of the device, and what the kernel is told of them.
pub(crate) struct PlacedFrames {
    plan: Plan,
    job: DecodeJob,
}

impl PlacedFrames {
    /// # Errors
    /// A header is not that of a frame that the kernel takes, or there is no memory.
    pub(crate) fn of(
        kernels: &Kernels,
        stream: &ArenaStream,
        frames: &[&[u8]],
        wait: Wait<'_>,
    ) -> Result<(Self, StreamLease), Declined> {
        let mut plan = Plan::default();
        frames.iter().try_for_each(|frame| plan.add(frame, false))?;
        let frame_count = u32::try_from(frames.len()).map_err(|_| Declined::TooLarge("frames of a call"))?;
        let mut layout = Layout::default();
        let input = layout.array::<u8>(plan.input);
        let described = layout.array::<DecodeFrame>(frames.len());
        let target = layout.array::<u8>(plan.target);
        let row_bytes = layout.array::<u32>(plan.rows);
        let scratch = layout.array::<u64>(plan.scratch);
        let status = layout.array::<u32>(frames.len());
        let lease = layout.lease(stream, "the memory that the frames need", wait)?;
        let base = lease.address();
        let job = DecodeJob {
            input: input.in_lease(base),
            frames: described.in_lease(base),
            target: target.in_lease(base),
            row_bytes: row_bytes.in_lease(base),
            scratch: scratch.in_lease(base),
            status: status.in_lease(base),
            crc_tables: kernels.crc_tables().0,
            frame_count,
            for_columns: 0,
        };
        Ok((Self { plan, job }, lease))
    }

    pub(crate) fn target_bytes(&self) -> usize {
        self.plan.target
    }

    pub(crate) fn rows(&self) -> usize {
        self.plan.rows
    }

    /// Copies the frames to the device.
    ///
    /// # Safety
    /// The lease is there, and frames and plan too, until the work is done.
    pub(crate) unsafe fn copy(&self, stream: &Stream, frames: &[&[u8]]) -> Result<(), Declined> {
        // SAFETY: the caller's promise; the arrays have room for all frames.
        unsafe {
            for (frame, place) in frames.iter().zip(&self.plan.frames) {
                put(stream, self.job.input + place.at, &frame[HEADER_BYTES..])?;
            }
            put(stream, self.job.frames, &self.plan.frames)
        }
    }

    /// Puts the kernel into the stream.
    ///
    /// # Safety
    /// The lease is there until the work is done, and nobody else uses it.
    pub(crate) unsafe fn submit(&self, kernels: &Kernels, stream: &Stream) -> Result<(), Declined> {
        let blocks = kernels.blocks_for(u64::from(self.job.frame_count));
        // SAFETY: the kernel's parameter; the caller's promise.
        unsafe { start!(stream, &kernels.decode_frames, blocks, self.job) }
    }

    /// Copies what was made to the host, if all frames were decoded: [`Self::target_bytes`] and the lengths of
    /// [`Self::rows`].
    ///
    /// # Safety
    /// The lease is there.
    pub(crate) unsafe fn get(
        &self,
        stream: &Stream,
        staging: &mut Staging,
        target: &mut [u8],
        row_bytes: &mut [u32],
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        let mut status = vec![DECODED; self.plan.frames.len()];
        // SAFETY: the arrays have as many elements, and any bytes are numbers.
        unsafe {
            staging.get_all(stream, self.job.status, &mut status, wait)?;
            if let Some(bad) = status.iter().find(|status| **status != DECODED) {
                let codec = *bad == NEEDS_CODEC;
                return Err(if codec { Declined::NeedsCodec } else { Declined::CheckFailed("a frame") });
            }
            staging.get_all(stream, self.job.row_bytes, row_bytes, wait)?;
            staging.get_all(stream, self.job.target, target, wait)
        }
    }
}
