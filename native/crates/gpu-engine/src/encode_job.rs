//! What kernels of an encode are given: the structures of `kernels/job.cuh`.

use crate::declined::Declined;
use crate::radix::RadixScratch;
use crate::scratch::{Layout, Place};
use crate::submit::Parameter;
use sluice_cuda::DeviceAddress;

/// A frame ends with the row with which it has so many bytes.
const FRAME_BYTES: u64 = 160 << 10;
/// A frame that is not its partition's last has so many rows, or so many bytes.
const FRAME_TILE: usize = 512;
/// What a frame has beside its rows and their lengths.
const HEADER_BYTES: usize = 32;
/// Beside its slots: what the var data of a field have at most.
const VAR_ROOM: usize = 64;

/// What a batch may have too much of.
pub(crate) const BATCH_MEMORY: &str = "the memory that a batch needs";

/// What [`EncodeJob::codec`] says.
pub(crate) const CODEC_NONE: u32 = 0;
pub(crate) const CODEC_LZ4: u32 = 1;
pub(crate) const CODEC_OTHER: u32 = 2;

pub(crate) const BAD_ENTRY: u32 = 1;
pub(crate) const ROW_TOO_LONG: u32 = 2;
pub(crate) const BAD_VALUE: u32 = 4;
pub(crate) const NEEDS_ROWS: u32 = 8;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DevicePage {
    pub(crate) at: u64,
    pub(crate) used: u32,
    pub(crate) entries: u32,
    pub(crate) first: u32,
    pub(crate) unused: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeviceFrame {
    pub(crate) first: u32,
    pub(crate) rows: u32,
    pub(crate) partition: u32,
    pub(crate) plain: u32,
    pub(crate) codec: u32,
    pub(crate) unused: u32,
    pub(crate) bytes: u64,
    pub(crate) payload: u64,
    pub(crate) place: u64,
    pub(crate) hash_xor: u64,
    pub(crate) hash_sum: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Summary {
    pub(crate) status: u32,
    pub(crate) frames: u32,
    pub(crate) bytes: u64,
}

/// Addresses on the device; `kernels/job.cuh` says what lies there.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodeJob {
    pub(crate) rows: u64,
    pub(crate) sources: u64,
    pub(crate) entries: u64,
    pub(crate) pages: u64,
    pub(crate) keys: u64,
    pub(crate) keys_other: u64,
    pub(crate) order: u64,
    pub(crate) order_other: u64,
    pub(crate) row_at: u64,
    pub(crate) row_bytes: u64,
    pub(crate) sorted_at: u64,
    pub(crate) prefix: u64,
    pub(crate) starts: u64,
    pub(crate) frames_before: u64,
    pub(crate) frames: u64,
    pub(crate) columns: u64,
    pub(crate) ends: u64,
    pub(crate) kinds: u64,
    pub(crate) slots_before: u64,
    pub(crate) var_words: u64,
    pub(crate) var_counts: u64,
    pub(crate) tail_bytes: u64,
    pub(crate) encoded_columns: u64,
    pub(crate) encoded_vars: u64,
    pub(crate) item_bytes: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) output: u64,
    pub(crate) summary: u64,
    pub(crate) crc_tables: u64,
    pub(crate) row_count: u32,
    pub(crate) page_count: u32,
    pub(crate) partitions: u32,
    pub(crate) fields: u32,
    pub(crate) words: u32,
    pub(crate) most_frames: u32,
    pub(crate) codec: u32,
    pub(crate) plain: u32,
    pub(crate) hash_rows: u32,
    pub(crate) probe_sixteenths: u32,
}

// SAFETY: the same members as the kernels' structure, in the same order, all aligned to their size.
unsafe impl Parameter for EncodeJob {}

/// How large a batch is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    /// Of the rows, with what pages are rounded up by.
    pub(crate) bytes: usize,
    /// Those that are copied to the job's memory: none of columns.
    pub(crate) copied_rows: usize,
    pub(crate) copied_bytes: usize,
    pub(crate) pages: usize,
    pub(crate) partitions: u32,
    pub(crate) fields: u32,
    pub(crate) words: u32,
    pub(crate) most_frames: usize,
}

impl Shape {
    /// A frame that is not the last one of its partition has 512 rows or more, or 160 KiB or more.
    pub(crate) fn most_frames(rows: usize, bytes: usize, partitions: u32) -> usize {
        rows.min(partitions as usize) + rows / FRAME_TILE + bytes / FRAME_BYTES as usize
    }

    /// Bytes of the array for the frames.
    pub(crate) fn output_bytes(&self) -> Option<usize> {
        let of_rows = self.rows.checked_mul(4)?.checked_add(self.bytes)?;
        self.most_frames.checked_mul(HEADER_BYTES)?.checked_add(of_rows)
    }

    /// The arrays, and the memory that they need.
    pub(crate) fn lay_out(&self) -> Result<(JobPlaces, Layout), Declined> {
        let mut layout = Layout::default();
        let l = &mut layout;
        let Self { rows: n, bytes, most_frames: m, .. } = *self;
        let (p, f, w) = (self.partitions as usize, self.fields as usize, self.words as usize);
        let too_large = Declined::TooLarge(BATCH_MEMORY);
        let sum = |parts: &[(usize, usize)]| {
            parts.iter().try_fold(0usize, |sum, (a, b)| sum.checked_add(a.checked_mul(*b)?)).ok_or(too_large.clone())
        };
        let vars = sum(&[(1, bytes + 8), ((f + 1) * VAR_ROOM, m)])?;
        let places = JobPlaces {
            rows: l.array::<u8>(self.copied_bytes),
            entries: l.array::<u64>(self.copied_rows),
            pages: l.array::<DevicePage>(self.pages),
            keys: l.array::<u32>(n),
            keys_other: l.array::<u32>(n),
            order: l.array::<u32>(n),
            order_other: l.array::<u32>(n),
            row_at: l.array::<u64>(n),
            row_bytes: l.array::<u32>(self.copied_rows),
            sorted_at: l.array::<u64>(n),
            prefix: l.array::<u64>(n + 1),
            starts: l.array::<u32>(p + 1),
            frames_before: l.array::<u64>(p + 1),
            frames: l.array::<DeviceFrame>(m),
            columns: l.array::<u64>(sum(&[(w, n), (w * 8, m)])?),
            ends: l.array::<u32>(n),
            kinds: l.array::<u8>(sum(&[(f, m)])?),
            slots_before: l.array::<u32>(sum(&[(f + 1, m)])?),
            var_words: l.array::<u8>(vars),
            var_counts: l.array::<u64>(sum(&[(f, m)])?),
            tail_bytes: l.array::<u64>(n),
            encoded_columns: l.array::<u8>(sum(&[((w + 1) * 8, n), ((w + 1) * 16, m)])?),
            encoded_vars: l.array::<u8>(vars),
            item_bytes: l.array::<u32>(sum(&[(w + 2 + f, m)])?),
            frame_bytes: l.array::<u64>(m + 1),
            output: l.array::<u8>(self.output_bytes().ok_or(too_large.clone())?),
            summary: l.array::<Summary>(1),
            radix: RadixScratch::of(l, n, (n + 1).max(p + 1).max(m + 1)),
        };
        Ok((places, layout))
    }
}

/// Where the arrays lie in the lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobPlaces {
    rows: Place,
    entries: Place,
    pages: Place,
    keys: Place,
    keys_other: Place,
    order: Place,
    order_other: Place,
    row_at: Place,
    row_bytes: Place,
    sorted_at: Place,
    prefix: Place,
    starts: Place,
    frames_before: Place,
    frames: Place,
    columns: Place,
    ends: Place,
    kinds: Place,
    slots_before: Place,
    var_words: Place,
    var_counts: Place,
    tail_bytes: Place,
    encoded_columns: Place,
    encoded_vars: Place,
    item_bytes: Place,
    frame_bytes: Place,
    output: Place,
    summary: Place,
    pub(crate) radix: RadixScratch,
}

impl JobPlaces {
    /// The job, with its arrays in a lease that begins at `base`.
    pub(crate) fn in_lease(&self, base: DeviceAddress, shape: &Shape, crc_tables: DeviceAddress) -> EncodeJob {
        let at = |place: Place| place.in_lease(base);
        EncodeJob {
            rows: at(self.rows),
            sources: 0,
            entries: at(self.entries),
            pages: at(self.pages),
            keys: at(self.keys),
            keys_other: at(self.keys_other),
            order: at(self.order),
            order_other: at(self.order_other),
            row_at: at(self.row_at),
            row_bytes: at(self.row_bytes),
            sorted_at: at(self.sorted_at),
            prefix: at(self.prefix),
            starts: at(self.starts),
            frames_before: at(self.frames_before),
            frames: at(self.frames),
            columns: at(self.columns),
            ends: at(self.ends),
            kinds: at(self.kinds),
            slots_before: at(self.slots_before),
            var_words: at(self.var_words),
            var_counts: at(self.var_counts),
            tail_bytes: at(self.tail_bytes),
            encoded_columns: at(self.encoded_columns),
            encoded_vars: at(self.encoded_vars),
            item_bytes: at(self.item_bytes),
            frame_bytes: at(self.frame_bytes),
            output: at(self.output),
            summary: at(self.summary),
            crc_tables: crc_tables.0,
            row_count: shape.rows as u32,
            page_count: shape.pages as u32,
            partitions: shape.partitions,
            fields: shape.fields,
            words: shape.words,
            most_frames: shape.most_frames as u32,
            codec: 0,
            plain: 0,
            hash_rows: 0,
            probe_sixteenths: 0,
        }
    }
}
