//! Columns in the device's memory: the frames that the CPU makes of the same rows, and the arrays that it makes of
//! frames, byte for byte.

mod memory;
mod refused;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_columns::ffi::{ArrowArray, ArrowDeviceArray};
use sluice_columns::{ColumnDecoder, DEVICE_CUDA, DeviceBatch, ErrorKind, OwnedArray, Schema};
use sluice_cuda::{DeviceAddress, Waited};
use sluice_cuda_sim::long_tests;
use sluice_gpu_engine::{Declined, DeviceFrames, FramesIn, PartitionedColumns, decode_columns, encode_columns};
use sluice_gpu_mem::StreamLease;
use sluice_testkit::{Value, unsafe_row, xorshift};

use crate::setting::{Setting, long};
use crate::support::producer::{ArraySpec, SchemaSpec, batch_of};
use crate::support::random::{Random, RandomBatch, batch_with, every_format, formats};
use crate::support::row_frames;
use crate::tables::FAST;

const LZ4: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const PLAIN: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Plain };

/// Bytes on the device, and the array that refers to them.
struct OnDevice {
    memory: StreamLease,
    array: ArrowDeviceArray,
}

struct Contents {
    addresses: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

/// Releases what [`array_at`] made.
unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: `array_at` made it, and the interface has it released once.
    unsafe {
        let contents = Box::from_raw((*array).private_data.cast::<Contents>());
        for child in &contents.children {
            let mut child = Box::from_raw(*child);
            if let Some(release) = child.release {
                release(&mut *child);
            }
        }
        (*array).release = None;
    }
}

/// The array of a spec whose buffers go to addresses, as `place` gives them.
fn array_at(spec: &ArraySpec, place: &mut impl FnMut(&[u8]) -> u64) -> ArrowArray {
    let address = |bytes: &Option<Vec<u8>>, place: &mut dyn FnMut(&[u8]) -> u64| match bytes {
        Some(bytes) => std::ptr::without_provenance(place(bytes) as usize),
        None => null(),
    };
    let addresses = spec.buffers.iter().map(|bytes| address(bytes, place)).collect();
    let children =
        spec.children.iter().map(|child| Box::into_raw(Box::new(array_at(child, place)))).collect::<Vec<_>>();
    let mut contents = Box::new(Contents { addresses, children });
    ArrowArray {
        length: spec.length,
        null_count: spec.null_count,
        offset: spec.offset,
        n_buffers: contents.addresses.len() as i64,
        n_children: contents.children.len() as i64,
        buffers: contents.addresses.as_mut_ptr(),
        children: contents.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release),
        private_data: Box::into_raw(contents).cast(),
    }
}

fn upload(setting: &Setting, bytes: &[u8]) -> StreamLease {
    let memory = setting.stream.lease(bytes.len().max(1), long()).unwrap();
    // SAFETY: the bytes are there until the stream has finished.
    unsafe { setting.stream.stream().copy_to_device(memory.address(), bytes.as_ptr(), bytes.len()).unwrap() };
    setting.stream.stream().finish(long()).unwrap();
    memory
}

fn download(setting: &Setting, address: u64, bytes: usize) -> Vec<u8> {
    let mut all = vec![0; bytes];
    if bytes > 0 {
        let on = setting.stream.stream();
        // SAFETY: the buffer is there until the stream has finished.
        unsafe { on.copy_to_host(all.as_mut_ptr(), DeviceAddress(address), bytes).unwrap() };
        on.finish(long()).unwrap();
    }
    all
}

fn on_device(setting: &Setting, spec: &ArraySpec) -> OnDevice {
    let mut bytes = Vec::new();
    let mut collect = |buffer: &[u8]| {
        let at = bytes.len();
        bytes.extend_from_slice(buffer);
        // Exactly as long as they have to be, but aligned.
        bytes.resize(bytes.len().next_multiple_of(64), 0xEE);
        at as u64
    };
    drop(owned(array_at(spec, &mut collect)));
    let memory = upload(setting, &bytes);
    let (base, mut at) = (memory.address().0, 0);
    let array = array_at(spec, &mut |buffer| {
        let here = base + at;
        at += buffer.len().next_multiple_of(64) as u64;
        here
    });
    let array =
        ArrowDeviceArray { array, device_id: 0, device_type: DEVICE_CUDA, sync_event: null_mut(), reserved: [0; 3] };
    OnDevice { memory, array }
}

fn owned(mut array: ArrowArray) -> OwnedArray {
    // SAFETY: just made.
    unsafe { OwnedArray::take(&mut array).unwrap() }
}

/// A batch without what there is no way for on a device.
fn batch_for_device(random: &mut Random, formats: &[String], rows: usize) -> RandomBatch {
    batch_with(random, formats, rows, false)
}

fn formats_for_device() -> Vec<String> {
    every_format().into_iter().filter(|format| !format.starts_with('v')).collect()
}

fn encode(
    setting: &Setting,
    spec: &ArraySpec,
    schema: &Schema,
    ids: Option<&[u32]>,
    partitions: u32,
    options: CodecOptions,
) -> Result<DeviceFrames, Declined> {
    let on = on_device(setting, spec);
    // SAFETY: just made.
    let batch = unsafe { DeviceBatch::describe(&on.array, schema).unwrap() };
    let bytes: Vec<u8> = ids.into_iter().flatten().flat_map(|id| id.to_le_bytes()).collect();
    let on_device = upload(setting, &bytes);
    let ids = if ids.is_some() { on_device.address() } else { DeviceAddress(0) };
    // SAFETY: all are there until the call has returned.
    let columns = unsafe { PartitionedColumns::of(&batch, ids, partitions) };
    let made = encode_columns(&setting.kernels, &setting.stream, columns, options, long());
    setting.stream.free(on_device);
    setting.stream.free(on.memory);
    drop(owned(on.array.array));
    made
}

/// The frames of rows by partition, as the CPU makes them.
fn expected(
    rows: &[Vec<u8>],
    ids: &[u32],
    partitions: u32,
    fields: usize,
    options: CodecOptions,
) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    for partition in 0..partitions {
        let here: Vec<Vec<u8>> =
            rows.iter().zip(ids).filter(|(_, id)| **id == partition).map(|(row, _)| row.clone()).collect();
        if !here.is_empty() {
            all.extend(row_frames(&here, fields, options).into_iter().map(|frame| (partition, frame)));
        }
    }
    all
}

/// Frames of the device are those of the rows.
fn check_frames(setting: &Setting, made: &DeviceFrames, expected: &[(u32, Vec<u8>)], what: &str) {
    let mut bytes = vec![0; made.bytes() as usize];
    made.copy_to_host(&setting.stream, &mut bytes, long()).unwrap();
    assert_eq!(made.frames().len(), expected.len(), "{what}");
    let mut end = 0;
    for (frame, (partition, bytes_of_cpu)) in made.frames().iter().zip(expected) {
        assert_eq!((frame.partition, frame.start), (*partition, end), "{what}");
        let here = &bytes[frame.start as usize..][..frame.bytes as usize];
        assert!(here == bytes_of_cpu, "{what}: a frame of partition {partition} differs");
        end += frame.bytes;
    }
    assert_eq!(end, made.bytes());
}

/// What a format's array has in its buffers behind the mask, for so many rows.
fn buffer_bytes(format: &str, rows: usize, offsets: &[u8]) -> Vec<usize> {
    let last = |width: usize| match width {
        4 => u32::from_le_bytes(offsets[4 * rows..][..4].try_into().unwrap()) as usize,
        _ => u64::from_le_bytes(offsets[8 * rows..][..8].try_into().unwrap()) as usize,
    };
    let width = |format: &str| match format {
        "c" | "C" => 1,
        "s" | "S" => 2,
        "i" | "I" | "f" | "tdD" | "tts" | "ttm" | "tiM" | "d:9,2,32" => 4,
        "tin" | "d:38,10" | "d:19,0" | "d:25,-3" | "d:7,0" | "d:18,18" | "d:10,-2,128" => 16,
        _ => 8,
    };
    match format {
        "n" => vec![],
        "b" => vec![rows.div_ceil(8)],
        "u" | "z" if offsets.is_empty() => vec![4 * (rows + 1)],
        "U" | "Z" if offsets.is_empty() => vec![8 * (rows + 1)],
        "u" | "z" => vec![4 * (rows + 1), last(4)],
        "U" | "Z" => vec![8 * (rows + 1), last(8)],
        _ => vec![format.strip_prefix("w:").map_or(width(format), |w| w.parse().unwrap()) * rows],
    }
}

/// An array of the CPU's or of the device's: nulls, mask and buffers of each column.
fn read(array: &ArrowArray, formats: &[String], get: impl Fn(u64, usize) -> Vec<u8>) -> Vec<(i64, Vec<Vec<u8>>)> {
    let rows = array.length as usize;
    assert_eq!(array.n_children as usize, formats.len());
    let column = |(i, format): (usize, &String)| {
        // SAFETY: there are as many children and buffers as they say.
        let column = unsafe { &**array.children.add(i) };
        assert_eq!((column.length as usize, column.offset), (rows, 0));
        // SAFETY: as above.
        let address = |b: usize| unsafe { *column.buffers.add(b) }.addr() as u64;
        let mut buffers = Vec::new();
        if column.n_buffers > 0 {
            assert_eq!(address(0) != 0, column.null_count > 0, "a mask where there are nulls: {format}");
            if column.null_count > 0 {
                buffers.push(get(address(0), rows.div_ceil(8)));
            }
            let first = buffer_bytes(format, rows, &[])[0];
            let values = get(address(1), first);
            if column.n_buffers == 3 {
                buffers.push(get(address(2), buffer_bytes(format, rows, &values)[1]));
            }
            buffers.push(values);
        }
        (column.null_count, buffers)
    };
    formats.iter().enumerate().map(column).collect()
}

fn of_host(address: u64, bytes: usize) -> Vec<u8> {
    // SAFETY: a buffer of an array that lives, of so many bytes.
    unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address as usize), bytes).to_vec() }
}

/// Decodes on the device, and compares with the CPU.
fn check_decode(setting: &Setting, frames: FramesIn<'_>, block: &[u8], schema: &Schema, formats: &[String]) {
    // SAFETY: the frames are on the device.
    let made = unsafe { decode_columns(&setting.kernels, &setting.stream, frames, schema, long()) };
    let mut made = made.unwrap();
    assert_eq!((made.device_type, made.device_id, made.sync_event), (DEVICE_CUDA, 0, null_mut()));
    // SAFETY: just made.
    let array = unsafe { OwnedArray::take(&mut made.array).unwrap() };
    let got = read(array.array(), formats, |address, bytes| download(setting, address, bytes));
    let mut decoder = ColumnDecoder::new();
    let (of_cpu, _) = decoder.decode(schema, block, usize::MAX).unwrap();
    // So that addresses may become pointers again.
    let expected = read(of_cpu.array(), formats, of_host);
    for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
        assert_eq!(got.0, expected.0, "nulls of column {i}, '{}'", formats[i]);
        assert!(got.1 == expected.1, "column {i}, '{}': {:?} and {:?}", formats[i], got.1, expected.1);
    }
}

/// There and back, beside the CPU.
fn check(setting: &Setting, made: &RandomBatch, formats: &[String], partitions: u32, options: CodecOptions) {
    let schema = made.schema.read().unwrap();
    let ids: Vec<u32> = (0..made.rows.len() as u64).map(|i| xorshift(i) as u32 % partitions).collect();
    let expected = expected(&made.rows, &ids, partitions, formats.len(), options);
    let ids = (partitions > 1 || made.rows.len().is_multiple_of(2)).then_some(&ids[..]);
    let frames = encode(setting, &made.array, &schema, ids, partitions, options).unwrap();
    check_frames(setting, &frames, &expected, &format!("{formats:?}"));
    if options.codec != Codec::None {
        return;
    }
    let block: Vec<u8> = expected.iter().flat_map(|frame| frame.1.clone()).collect();
    if block.is_empty() {
        return;
    }
    let places: Vec<(DeviceAddress, usize)> = frames
        .frames()
        .iter()
        .map(|frame| (frames.address().plus(frame.start as usize), frame.bytes as usize))
        .collect();
    check_decode(setting, FramesIn::Device(&places), &block, &schema, formats);
    let of_host: Vec<&[u8]> = expected.iter().map(|frame| &frame.1[..]).collect();
    check_decode(setting, FramesIn::Host(&of_host), &block, &schema, formats);
}

/// A column of so many values.
fn column(length: usize, buffers: Vec<Option<Vec<u8>>>) -> ArraySpec {
    ArraySpec { length: length as i64, buffers, ..ArraySpec::default() }
}

fn bytes_of<const N: usize>(values: &[[u8; N]]) -> Option<Vec<u8>> {
    Some(values.concat())
}

fn schema_of(formats: &[&str]) -> Schema {
    SchemaSpec::batch(formats.iter().map(|format| SchemaSpec::of(format)).collect()).read().unwrap()
}

fn decode_of(setting: &Setting, frame: &[u8], formats: &[&str]) -> Result<(), Declined> {
    // SAFETY: frames of the host.
    let made = unsafe {
        decode_columns(&setting.kernels, &setting.stream, FramesIn::Host(&[frame]), &schema_of(formats), long())
    };
    made.map(|made| drop(owned(made.array)))
}

/// A bit of everything.
pub fn work(setting: &Setting) {
    let formats: Vec<String> =
        ["l", "u", "b", "n", "tin", "d:38,10", "Z", "w:5", "i", "tsm:UTC"].into_iter().map(str::to_owned).collect();
    let made = batch_for_device(&mut Random::new(5), &formats, 600);
    check(setting, &made, &formats, 3, FAST);
    check(setting, &made, &formats, 3, PLAIN);
}

#[test]
fn columns_of_every_type() {
    let Some(setting) = Setting::new() else { return };
    let mut random = Random::new(1);
    for format in formats_for_device() {
        for rows in [1, 33, 300] {
            let formats = [format.clone()];
            let made = batch_for_device(&mut random, &formats, rows);
            check(&setting, &made, &formats, 2, FAST);
            check(&setting, &made, &formats, 1, PLAIN);
        }
    }
    setting.finish();
}

#[test]
fn random_batches() {
    let Some(setting) = Setting::new() else { return };
    for seed in 0..if long_tests() { 2000 } else { 40 } {
        let mut random = Random::new(seed);
        let columns = random.below(12);
        let formats: Vec<String> =
            formats(&mut random, columns).into_iter().filter(|format| !format.starts_with('v')).collect();
        let rows = [0, 1, 31, 32, 500, 1500][random.below(6)];
        let made = batch_for_device(&mut random, &formats, rows);
        let partitions = [1, 2, 7, 300][random.below(4)];
        check(&setting, &made, &formats, partitions, [FAST, LZ4, PLAIN][seed as usize % 3]);
    }
    setting.finish();
}

/// More columns than a word has null bits, and frames of many rows.
#[test]
fn many_columns_and_many_rows() {
    let Some(setting) = Setting::new() else { return };
    let mut random = Random::new(9);
    for (columns, rows) in [(64, 40), (65, 40), (130, 20)] {
        let kinds = ["l", "u", "i", "b", "d:19,0"];
        let formats: Vec<String> = (0..columns).map(|i| kinds[i % kinds.len()].to_owned()).collect();
        let made = batch_for_device(&mut random, &formats, rows);
        check(&setting, &made, &formats, 2, FAST);
    }
    let formats = ["l".to_owned(), "u".to_owned()];
    let made = batch_for_device(&mut random, &formats, if long_tests() { 100_000 } else { 9_000 });
    check(&setting, &made, &formats, 2, FAST);
    setting.finish();
}

/// No frame at all gives columns of no rows.
#[test]
fn no_frames_are_columns_of_no_rows() {
    let Some(setting) = Setting::new() else { return };
    for frames in [FramesIn::Host(&[]), FramesIn::Device(&[])] {
        for formats in [vec!["l", "u", "n"], vec![]] {
            // SAFETY: there are no frames.
            let made = unsafe {
                decode_columns(&setting.kernels, &setting.stream, frames, &schema_of(&formats), long()).unwrap()
            };
            let batch = owned(made.array);
            assert_eq!((batch.array().length, batch.array().n_children as usize), (0, formats.len()));
        }
    }
    setting.finish();
}
