//! Columns to frames.

use std::time::Duration;

use sluice_codec::{CodecOptions, bitset_words};
use sluice_columns::{DeviceBatch, DeviceColumn};
use sluice_cuda::{DeviceAddress, Wait};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use super::frames::{DeviceFrame, DeviceFrames};
use crate::declined::Declined;
use crate::encode::{MOST_WORDS, Origin, check, submit};
use crate::encode_job::{BATCH_MEMORY, DeviceFrame as Described, EncodeJob, Shape, Summary};
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::scratch::Layout;
use crate::staging::Staging;
use crate::submit::{THREADS, put, settled, start};

/// The structure of `kernels/from_columns.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Measured {
    bytes: u64,
    status: u32,
    unused: u32,
}

/// Columns on the device, and the partition of each row.
#[derive(Debug, Clone, Copy)]
pub struct PartitionedColumns<'c> {
    pub(crate) columns: &'c [DeviceColumn],
    pub(crate) rows: usize,
    pub(crate) ids: DeviceAddress,
    pub(crate) partitions: u32,
}

impl<'c> PartitionedColumns<'c> {
    /// The rows of a batch. `ids` is where the device has the partition of each row, 4 bytes each; 0 if all are in
    /// partition 0.
    ///
    /// # Safety
    /// The batch's buffers are in memory that the device reads, as long as Arrow's format says, and nobody writes to
    /// them before the last call that uses them has returned; the same for `ids`, if it is not 0.
    pub unsafe fn of(batch: &'c DeviceBatch, ids: DeviceAddress, partitions: u32) -> Self {
        Self { columns: batch.columns(), rows: batch.rows(), ids, partitions }
    }

    /// Columns of so many rows, the same.
    ///
    /// # Safety
    /// As for [`Self::of`], of these columns.
    pub unsafe fn described(columns: &'c [DeviceColumn], rows: usize, ids: DeviceAddress, partitions: u32) -> Self {
        Self { columns, rows, ids, partitions }
    }
}

/// Encodes rows by partition: the frames that [`sluice_columns::ColumnEncoder::encode_partitions`] makes of them. Waits
/// for the length of the rows, for the number of frames, for what each of them is, and for the copy that is kept. What
/// is in the stream before, such as a wait for the producer's event, comes before it, in the time of the first wait.
///
/// # Errors
/// A check failed; there are more columns, or longer rows, than the kernels take; a column's numbers look like places
/// of values; long values would go to another codec than LZ4, which the device has not; there is no memory, or the
/// device fails. The CPU then encodes them, or says what is wrong with them.
pub fn encode_columns(
    kernels: &Kernels,
    stream: &ArenaStream,
    columns: PartitionedColumns<'_>,
    options: CodecOptions,
    wait: Wait<'_>,
) -> Result<DeviceFrames, Declined> {
    let PartitionedColumns { columns: all, rows, ids, partitions } = columns;
    if bitset_words(all.len()) + all.len() > MOST_WORDS {
        return Err(Declined::TooLarge("fields of a row"));
    }
    if partitions == 0 || partitions == u32::MAX || (ids.0 == 0 && partitions != 1 && rows > 0) {
        return Err(Declined::CheckFailed("the partitions of the rows"));
    }
    if i32::try_from(rows).is_err() {
        return Err(Declined::TooLarge("rows of a batch"));
    }
    if rows == 0 {
        return Ok(DeviceFrames { memory: stream.lease(1, wait)?, frames: Vec::new(), bytes: 0 });
    }
    let work = Work { kernels, stream, wait };
    let mut staging = Staging::plain(stream.stream().context(), STAGING_BYTES)?;
    let measured = work.measure(&columns, &mut staging)?;
    let made = work.encode(&columns, &measured, options, &mut staging);
    stream.free(measured.memory);
    made
}

/// Columns that are described on the device, and how long their rows would be.
struct MeasuredColumns {
    memory: StreamLease,
    sources: u64,
    row_bytes: u64,
    bytes: u64,
}

struct Work<'w> {
    kernels: &'w Kernels,
    stream: &'w ArenaStream,
    wait: Wait<'w>,
}

impl Work<'_> {
    /// Checks all values, and measures the rows.
    fn measure(&self, columns: &PartitionedColumns<'_>, staging: &mut Staging) -> Result<MeasuredColumns, Declined> {
        let (all, rows) = (columns.columns, columns.rows);
        let mut layout = Layout::default();
        let (sources, row_bytes) = (layout.array::<DeviceColumn>(all.len()), layout.array::<u32>(rows));
        let measured = layout.array::<Measured>(1);
        let memory = layout.lease(self.stream, BATCH_MEMORY, self.wait)?;
        let at = |place: crate::scratch::Place| place.in_lease(memory.address());
        let (sources, row_bytes, measured) = (at(sources), at(row_bytes), at(measured));
        let (on, kernel) = (self.stream.stream(), &self.kernels.measure_columns);
        let (fields, words) = (all.len() as u32, (bitset_words(all.len()) + all.len()) as u32);
        let blocks = self.kernels.blocks_for(rows.div_ceil(THREADS as usize) as u64);
        // SAFETY: the arrays are in the lease, which is used on its own stream only, and the columns are borrowed until
        // `get` or `settled` has waited; the buffers are as `PartitionedColumns::of` was promised. Any bytes are
        // numbers.
        let found = settled(on, self.wait, || unsafe {
            put(on, sources, all)?;
            on.fill(DeviceAddress(measured), 0, size_of::<Measured>())?;
            start!(on, kernel, blocks, sources, fields, words, rows as u32, row_bytes, measured)?;
            staging.get::<Measured>(on, measured, 1, self.wait).map(|measured| measured[0])
        });
        let bytes = found.and_then(|found| {
            check_status(found.status)?;
            Ok(found.bytes)
        });
        match bytes {
            Ok(bytes) => Ok(MeasuredColumns { memory, sources, row_bytes, bytes }),
            Err(why) => {
                self.stream.free(memory);
                Err(why)
            }
        }
    }

    fn encode(
        &self,
        columns: &PartitionedColumns<'_>,
        measured: &MeasuredColumns,
        options: CodecOptions,
        staging: &mut Staging,
    ) -> Result<DeviceFrames, Declined> {
        let shape = shape_of(columns, measured.bytes)?;
        let (places, layout) = shape.lay_out()?;
        let lease = layout.lease(self.stream, BATCH_MEMORY, self.wait)?;
        let mut job = places.in_lease(lease.address(), &shape, self.kernels.crc_tables());
        job.set_options(options);
        (job.rows, job.sources, job.row_bytes) = (0, measured.sources, measured.row_bytes);
        let (on, radix) = (self.stream.stream(), places.radix.in_lease(lease.address()));
        let origin = Origin::Columns { ids: columns.ids.0 };
        // SAFETY: as for `measure`; the arrays of the job have the lengths that the kernels need (`Shape::lay_out`).
        let summary = settled(on, self.wait, || unsafe {
            submit(self.kernels, on, &mut job, radix, origin)?;
            staging.get::<Summary>(on, job.summary, 1, self.wait).map(|summary| summary[0])
        });
        let made = summary.and_then(|summary| {
            check(&summary, &shape)?;
            self.keep(&job, &summary, staging)
        });
        self.stream.free(lease);
        made
    }

    /// The frames in memory of their own, and what each of them is.
    fn keep(&self, job: &EncodeJob, summary: &Summary, staging: &mut Staging) -> Result<DeviceFrames, Declined> {
        let on = self.stream.stream();
        let mut frames = Vec::with_capacity(summary.frames as usize);
        let (mut end, mut rows) = (0, 0);
        let mut take = |_: usize, piece: &[Described]| {
            for frame in piece {
                if frame.codec != 0 {
                    return Err(Declined::NeedsCodec);
                }
                let bytes = crate::encode::length(frame)? as u64;
                if frame.place != end {
                    return Err(Declined::WrongResult("the frames' places"));
                }
                frames.push(DeviceFrame { partition: frame.partition, rows: frame.rows, start: end, bytes });
                (end, rows) = (end + bytes, rows + u64::from(frame.rows));
            }
            Ok(())
        };
        // SAFETY: the array has as many frames (`check`), and any bytes are a frame.
        unsafe { staging.take_all(on, job.frames, summary.frames as usize, self.wait, &mut take)? };
        if end != summary.bytes || rows != u64::from(job.row_count) {
            return Err(Declined::WrongResult("the number of the frames' bytes or rows"));
        }
        let bytes = usize::try_from(end).map_err(|_| Declined::TooLarge(BATCH_MEMORY))?;
        // Whoever holds memory does not wait for more: others may do the same.
        let memory = self.stream.lease(bytes.next_multiple_of(8), Wait::at_most(Duration::ZERO))?;
        // SAFETY: the output has as many bytes (`check`), and the lease too; both are this stream's.
        let copied = unsafe { on.copy_on_device(memory.address(), DeviceAddress(job.output), bytes) };
        if let Err(why) = copied.map_err(Declined::from).and_then(|()| crate::submit::finish(on, self.wait)) {
            self.stream.free(memory);
            return Err(why);
        }
        Ok(DeviceFrames { memory, frames, bytes: end })
    }
}

fn check_status(status: u32) -> Result<(), Declined> {
    let nothing = Summary { status, ..Summary::default() };
    check(&nothing, &Shape::default())
}

fn shape_of(columns: &PartitionedColumns<'_>, bytes: u64) -> Result<Shape, Declined> {
    let (rows, fields) = (columns.rows, columns.columns.len());
    let bytes = usize::try_from(bytes).map_err(|_| Declined::TooLarge(BATCH_MEMORY))?;
    let most_frames = Shape::most_frames(rows, bytes, columns.partitions);
    if u32::try_from(most_frames).is_err() {
        return Err(Declined::TooLarge("rows of a batch"));
    }
    let words = (bitset_words(fields) + fields) as u32;
    let (partitions, fields) = (columns.partitions, fields as u32);
    Ok(Shape { rows, bytes, partitions, fields, words, most_frames, ..Shape::default() })
}
