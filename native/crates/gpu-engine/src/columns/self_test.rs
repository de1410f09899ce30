//! What a GPU has to do right with columns before it is used: the frames that the CPU makes of the same rows, and the
//! columns back.

use std::convert::Infallible;

use sluice_codec::{CodecOptions, Encoder};
use sluice_columns::{DeviceColumn, Field, Layout, OwnedArray, Schema, Type};
use sluice_cuda::{DeviceAddress, Wait};
use sluice_gpu_mem::ArenaStream;

use super::decode::{FramesIn, decode_columns};
use super::encode::{PartitionedColumns, encode_columns};
use crate::declined::Declined;
use crate::kernels::Kernels;
use crate::sample::{FIELDS, rows};
use crate::staging::Staging;
use crate::submit::{put, settled};

/// Bytes of rows.
const BYTES: usize = 50_000;
const PARTITIONS: u32 = 3;
/// The fields before have words, those from here on bytes behind the words.
const FIRST_OF_BYTES: usize = 4;

/// A column in the host's memory: the buffers of an array of Arrow's.
#[derive(Default, PartialEq, Eq)]
struct HostColumn {
    valid: Vec<u8>,
    values: Vec<u8>,
    bytes: Vec<u8>,
}

impl HostColumn {
    /// A field of rows.
    fn of(rows: &[&[u8]], field: usize) -> Self {
        let mut column = Self { valid: vec![0; rows.len().div_ceil(8)], ..Self::default() };
        let with_bytes = field >= FIRST_OF_BYTES;
        if with_bytes {
            column.values.extend_from_slice(&[0; 4]);
        }
        for (i, row) in rows.iter().enumerate() {
            let number = |w: usize| row[8 * w..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            let (is_null, word) = (number(0) >> field & 1 == 1, number(1 + field));
            column.valid[i / 8] |= u8::from(!is_null) << (i % 8);
            if !with_bytes {
                column.values.extend_from_slice(&word.to_le_bytes());
                continue;
            }
            let (at, size) = ((word >> 32) as usize, word as u32 as usize);
            column.bytes.extend_from_slice(&row[at..at + size]);
            column.values.extend_from_slice(&(column.bytes.len() as u32).to_le_bytes());
        }
        column
    }
}

fn schema() -> Schema {
    let ty = |field| if field < FIRST_OF_BYTES { Type::Int64 } else { Type::Binary(Layout::Offsets32) };
    let field = |field| Field { name: String::new(), ty: ty(field), index: None };
    Schema { fields: (0..FIELDS as usize).map(field).collect() }
}

/// Encodes columns, decodes the frames, and compares both with the CPU.
///
/// # Errors
/// [`Declined::WrongResult`], or the work could not be done.
pub(crate) fn columns_pass(
    kernels: &Kernels,
    stream: &ArenaStream,
    options: CodecOptions,
    wait: Wait<'_>,
) -> Result<(), Declined> {
    let rows = rows(BYTES, PARTITIONS);
    let lines: Vec<&[u8]> = rows.iter().map(|row| &row.1[..]).collect();
    let columns: Vec<HostColumn> = (0..FIELDS as usize).map(|field| HostColumn::of(&lines, field)).collect();
    // All buffers in one, each as its column and then its bytes; the partitions behind them.
    let mut all = Vec::new();
    let mut add = |bytes: &[u8]| {
        let at = all.len();
        all.extend_from_slice(bytes);
        all.resize(all.len().next_multiple_of(64), 0);
        at
    };
    let places: Vec<[usize; 3]> =
        columns.iter().map(|column| [&column.valid, &column.values, &column.bytes].map(|b| add(b))).collect();
    let ids = add(&rows.iter().flat_map(|row| row.0.to_le_bytes()).collect::<Vec<u8>>());
    let memory = stream.lease(all.len(), wait)?;
    let at = |place: usize| memory.address().plus(place).0;
    let described: Vec<DeviceColumn> = (0..)
        .zip(&places)
        .map(|(field, [valid, values, bytes])| match field {
            ..FIRST_OF_BYTES => DeviceColumn::longs(at(*valid), at(*values)),
            _ => DeviceColumn::binary(at(*valid), at(*values), at(*bytes)),
        })
        .collect();
    let columns = PartitionedColumns {
        columns: &described,
        rows: rows.len(),
        ids: DeviceAddress(at(ids)),
        partitions: PARTITIONS,
    };
    // SAFETY: the bytes live until the encode, or `settled`, has waited; the lease has room for them.
    let made = settled(stream.stream(), wait, || unsafe { put(stream.stream(), at(0), &all) })
        .and_then(|()| encode_columns(kernels, stream, columns, options, wait));
    stream.free(memory);
    let made = made?;
    let mut sorted: Vec<&(u32, Vec<u8>)> = rows.iter().collect();
    sorted.sort_by_key(|row| row.0);
    let mut bytes = vec![0; made.bytes() as usize];
    made.copy_to_host(stream, &mut bytes, wait)?;
    if bytes != frames_of_cpu(&sorted, options) {
        return Err(Declined::WrongResult("the self-test's frames of columns are not those of the CPU"));
    }
    let places: Vec<(DeviceAddress, usize)> =
        made.frames().iter().map(|f| (made.address().plus(f.start as usize), f.bytes as usize)).collect();
    let lines: Vec<&[u8]> = sorted.iter().map(|row| &row.1[..]).collect();
    // SAFETY: the frames are those that were made.
    let array = unsafe { decode_columns(kernels, stream, FramesIn::Device(&places), &schema(), wait)? };
    let mut array = array.array;
    // SAFETY: the array was just made.
    let array = unsafe { OwnedArray::take(&mut array) };
    let array = array.map_err(|_| Declined::WrongResult("the self-test's array is released"))?;
    for field in 0..FIELDS as usize {
        // SAFETY: the array has a child for each field.
        let child = unsafe { &**array.array().children.add(field) };
        if !comes_back(child, &HostColumn::of(&lines, field), stream, wait)? {
            return Err(Declined::WrongResult("the self-test's columns do not come back"));
        }
    }
    Ok(())
}

fn frames_of_cpu(sorted: &[&(u32, Vec<u8>)], options: CodecOptions) -> Vec<u8> {
    let (mut encoder, mut frames) = (Encoder::new(options), Vec::new());
    for partition in sorted.chunk_by(|a, b| a.0 == b.0) {
        let lines: Vec<&[u8]> = partition.iter().map(|row| &row.1[..]).collect();
        let Ok(()) = encoder.encode(&lines, FIELDS, |frame| {
            frames.extend_from_slice(frame);
            Ok::<(), Infallible>(())
        });
    }
    frames
}

fn comes_back(
    array: &sluice_columns::ffi::ArrowArray,
    expected: &HostColumn,
    stream: &ArenaStream,
    wait: Wait<'_>,
) -> Result<bool, Declined> {
    let ones: u32 = expected.valid.iter().map(|bits| bits.count_ones()).sum();
    if array.null_count + i64::from(ones) != array.length {
        return Ok(false);
    }
    let mut staging = Staging::plain(stream.stream().context(), BYTES)?;
    let buffers = [&expected.valid, &expected.values, &expected.bytes];
    for (i, bytes) in buffers.into_iter().enumerate().take(array.n_buffers as usize) {
        // SAFETY: the array has as many buffers.
        let at = unsafe { *array.buffers.add(i) }.addr() as u64;
        // Without a mask none is null.
        if at == 0 && i == 0 && array.null_count == 0 {
            continue;
        }
        let mut got = vec![0; bytes.len()];
        // SAFETY: a buffer of the array that was made for so many rows.
        unsafe { staging.get_all(stream.stream(), at, &mut got, wait)? };
        if got != *bytes {
            return Ok(false);
        }
    }
    Ok(true)
}
