//! Columns in the device's memory to frames there, and back: wall time of whole calls, their waits among it.

use std::time::Instant;

use sluice_columns::ffi::{ArrowArray, ArrowDeviceArray};
use sluice_columns::{DeviceColumn, Field, Layout, OwnedArray, Schema, Type};
use sluice_cuda::DeviceAddress;
use sluice_gpu_engine::{FramesIn, Kernels, PartitionedColumns, decode_columns, encode_columns};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::engine::{FAST, GB, Sizes, long, words};
use crate::figure::{Figure, Target};
use crate::rows::{Batch, ORDERS};

/// Of the names, the last field, and of the words before them.
const NAME_BYTES: usize = 16;
const WORD: usize = 8;

/// The columns of a batch of orders, one after another: seven of longs, offsets of names, names, and partitions.
struct Columns {
    bytes: Vec<u8>,
    places: Vec<usize>,
    rows: usize,
}

impl Columns {
    fn of(rows: &[(u32, &[u8])]) -> Self {
        let longs = ORDERS.fields as usize - 1;
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        let mut add = |column: &mut dyn Iterator<Item = u8>| {
            places.push(bytes.len());
            bytes.extend(column);
            bytes.resize(bytes.len().next_multiple_of(64), 0);
        };
        for field in 0..longs {
            add(&mut rows.iter().flat_map(|row| row.1[WORD * (1 + field)..][..WORD].iter().copied()));
        }
        add(&mut (0..=rows.len() as u32).flat_map(|i| (i * NAME_BYTES as u32).to_le_bytes()));
        let name_at = WORD * (2 + longs);
        add(&mut rows.iter().flat_map(|row| row.1[name_at..][..NAME_BYTES].iter().copied()));
        add(&mut rows.iter().flat_map(|row| row.0.to_le_bytes()));
        Self { bytes, places, rows: rows.len() }
    }

    /// What an array of Arrow's has of them.
    fn value_bytes(&self) -> usize {
        self.rows * (WORD * (ORDERS.fields as usize - 1) + 4 + NAME_BYTES)
    }

    /// Bytes of column `i`, as the array has them.
    fn column(&self, i: usize, bytes: usize) -> &[u8] {
        &self.bytes[self.places[i]..][..bytes]
    }
}

fn schema() -> Schema {
    let longs = ORDERS.fields as usize - 1;
    let ty = |field| if field < longs { Type::Int64 } else { Type::Utf8(Layout::Offsets32) };
    let field = |field| Field { name: String::new(), ty: ty(field), index: None };
    Schema { fields: (0..=longs).map(field).collect() }
}

fn upload(stream: &ArenaStream, bytes: &[u8]) -> Result<StreamLease, String> {
    let lease = stream.lease(bytes.len(), long()).map_err(words)?;
    // SAFETY: the bytes stay until the stream has finished.
    unsafe { stream.stream().copy_to_device(lease.address(), bytes.as_ptr(), bytes.len()) }.map_err(words)?;
    stream.stream().finish(long()).map_err(words)?;
    Ok(lease)
}

fn download(stream: &ArenaStream, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
    let mut all = vec![0; bytes];
    // SAFETY: the buffer stays until the stream has finished.
    unsafe { stream.stream().copy_to_host(all.as_mut_ptr(), DeviceAddress(address), bytes) }.map_err(words)?;
    stream.stream().finish(long()).map_err(words)?;
    Ok(all)
}

fn take(mut array: ArrowDeviceArray) -> Result<OwnedArray, String> {
    // SAFETY: just made.
    unsafe { OwnedArray::take(&mut array.array) }.map_err(words)
}

/// A batch of so many bytes of rows is encoded by partition, and its frames are decoded.
pub(crate) fn measure(
    kernels: &Kernels,
    stream: &ArenaStream,
    sizes: Sizes,
    bytes: usize,
) -> Result<Vec<Figure>, String> {
    let batch = Batch::of(&ORDERS, bytes, sizes.partitions, 1);
    let columns = Columns::of(&batch.rows());
    let memory = upload(stream, &columns.bytes)?;
    let at = |i: usize| memory.address().plus(columns.places[i]);
    let longs = ORDERS.fields as usize - 1;
    let mut described: Vec<DeviceColumn> = (0..longs).map(|i| DeviceColumn::longs(0, at(i).0)).collect();
    described.push(DeviceColumn::binary(0, at(longs).0, at(longs + 1).0));
    // SAFETY: the lease has all of them, until the last call has returned.
    let asked = unsafe { PartitionedColumns::described(&described, columns.rows, at(longs + 2), batch.partitions) };
    let encode = || encode_columns(kernels, stream, asked, FAST, long()).map_err(words);

    let made = encode()?;
    let mut frames = vec![0; made.bytes() as usize];
    made.copy_to_host(stream, &mut frames, long()).map_err(words)?;
    if frames != batch.frames_of_cpu(FAST).concat() {
        return Err("the device's frames of columns are not those of the CPU".into());
    }
    let places: Vec<(DeviceAddress, usize)> =
        made.frames().iter().map(|f| (made.address().plus(f.start as usize), f.bytes as usize)).collect();
    let schema = schema();
    // SAFETY: the frames are those that were made.
    let decode = || unsafe { decode_columns(kernels, stream, FramesIn::Device(&places), &schema, long()) };
    let back = take(decode().map_err(words)?)?;
    compare(stream, back.array(), &Columns::of(&batch.sorted_rows()))?;
    drop(back);

    let turns = sizes.turns;
    let encoding = sizes.shortest(|| {
        let begun = Instant::now();
        for _ in 0..turns {
            encode()?;
        }
        Ok(begun.elapsed() / turns)
    })?;
    let decoding = sizes.shortest(|| {
        let begun = Instant::now();
        for _ in 0..turns {
            take(decode().map_err(words)?)?;
        }
        Ok(begun.elapsed() / turns)
    })?;
    drop(made);
    stream.free(memory);
    let rate = |time: std::time::Duration| Some(columns.value_bytes() as f64 / time.as_secs_f64() / GB);
    let figure = |name, value, target| Figure { name, unit: "GB/s of columns", value, beside: None, target };
    Ok(vec![
        figure("columns to frames on the device", rate(encoding), Target::None),
        figure("frames to columns on the device", rate(decoding), Target::None),
        figure("columns to frames to columns on the device", rate(encoding + decoding), Target::AtLeast(60.0)),
    ])
}

/// What was decoded is what went in, by partition.
fn compare(stream: &ArenaStream, array: &ArrowArray, expected: &Columns) -> Result<(), String> {
    let longs = ORDERS.fields as usize - 1;
    for i in 0..=longs {
        // SAFETY: the array has as many children and buffers.
        let address = |b: usize| unsafe { *(**array.children.add(i)).buffers.add(b) };
        let values = if i < longs { WORD * expected.rows } else { 4 * (expected.rows + 1) };
        let of_names = (i == longs).then(|| (2, i + 1, NAME_BYTES * expected.rows));
        for (buffer, column, bytes) in [Some((1, i, values)), of_names].into_iter().flatten() {
            if address(buffer).is_null()
                || download(stream, address(buffer).addr() as u64, bytes)? != expected.column(column, bytes)
            {
                return Err(format!("column {i} does not come back"));
            }
        }
    }
    Ok(())
}
