//! Columns in the device's memory: the frames that the CPU makes of the same rows, and the arrays that it makes of
//! frames, byte for byte.

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
    drop(OwnedArray::take_made(array_at(spec, &mut collect)));
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

trait TakeMade {
    fn take_made(array: ArrowArray) -> OwnedArray;
}

impl TakeMade for OwnedArray {
    fn take_made(mut array: ArrowArray) -> OwnedArray {
        // SAFETY: just made.
        unsafe { OwnedArray::take(&mut array).unwrap() }
    }
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
    drop(OwnedArray::take_made(on.array.array));
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

/// What becomes of one column in one partition.
fn of_one(setting: &Setting, format: &str, rows: usize, buffers: Vec<Option<Vec<u8>>>) -> Result<usize, Declined> {
    let spec = batch_of(rows as i64, vec![column(rows, buffers)]);
    encode(setting, &spec, &schema_of(&[format]), None, 1, FAST).map(|made| made.frames().len())
}

#[test]
fn values_that_no_row_can_have_are_declined() {
    let Some(setting) = Setting::new() else { return };
    let bad = Err(Declined::CheckFailed("a value that no row can have, or an offset"));
    let i64s = |values: &[i64]| bytes_of(&values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let i32s = |values: &[i32]| bytes_of(&values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let i128s = |values: &[i128]| bytes_of(&values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    assert_eq!(of_one(&setting, "L", 2, vec![None, i64s(&[1, i64::MAX])]), Ok(1));
    assert_eq!(of_one(&setting, "L", 2, vec![None, i64s(&[1, -1])]), bad);
    assert_eq!(of_one(&setting, "tsn:", 2, vec![None, i64s(&[1000, -1000])]), Ok(1));
    assert_eq!(of_one(&setting, "tsn:", 2, vec![None, i64s(&[1000, 1001])]), bad);
    assert_eq!(of_one(&setting, "tss:", 1, vec![None, i64s(&[i64::MIN / 1_000_000])]), Ok(1));
    assert_eq!(of_one(&setting, "tss:", 1, vec![None, i64s(&[i64::MIN / 1_000_000 - 1])]), bad);
    assert_eq!(of_one(&setting, "tss:", 1, vec![None, i64s(&[i64::MAX / 1_000_000 + 1])]), bad);
    assert_eq!(of_one(&setting, "tdm", 1, vec![None, i64s(&[86_400_001])]), bad);
    assert_eq!(of_one(&setting, "tdm", 1, vec![None, i64s(&[86_400_000 << 32])]), bad);
    assert_eq!(of_one(&setting, "d:7,0", 2, vec![None, i128s(&[i64::MAX.into(), i64::MIN.into()])]), Ok(1));
    assert_eq!(of_one(&setting, "d:7,0", 1, vec![None, i128s(&[i128::from(i64::MAX) + 1])]), bad);
    let interval = |nanos: i64| Some([[0; 8], nanos.to_le_bytes()].concat());
    assert_eq!(of_one(&setting, "tin", 1, vec![None, interval(-5000)]), Ok(1));
    assert_eq!(of_one(&setting, "tin", 1, vec![None, interval(-5001)]), bad);
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[0, 0, 0]), None]), Ok(1));
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[0, 0, 5]), None]), bad);
    let text = Some(b"abcdef".to_vec());
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[1, 1, 6]), text.clone()]), Ok(1));
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[3, 1, 6]), text.clone()]), bad);
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[-1, 1, 6]), text.clone()]), bad);
    assert_eq!(of_one(&setting, "U", 2, vec![None, i64s(&[0, i64::MIN, 6]), text]), bad);
    setting.finish();
}

#[test]
fn what_the_kernels_do_not_take_is_declined() {
    let Some(setting) = Setting::new() else { return };
    let long = |bytes: usize| {
        let offsets = [0u32, bytes as u32].map(u32::to_le_bytes).concat();
        of_one(&setting, "z", 1, vec![None, Some(offsets), Some(vec![7; bytes])])
    };
    assert_eq!(long((64 << 10) - 16), Ok(1));
    assert_eq!(long((64 << 10) - 15), Err(Declined::TooLarge("bytes of a row")));
    // An offset that is far away: its value is measured, not read.
    let far = [0u32, i32::MAX as u32].map(u32::to_le_bytes).concat();
    let declined = of_one(&setting, "z", 1, vec![None, Some(far), Some(vec![7; 8])]);
    assert_eq!(declined, Err(Declined::TooLarge("bytes of a row")));
    let words = |rows: u64| Some((0..rows).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    let numbers = |columns: usize| batch_of(3, vec![column(3, vec![None, words(3)]); columns]);
    let wide = encode(&setting, &numbers(1100), &schema_of(&vec!["l"; 1100]), None, 1, FAST);
    assert_eq!(wide.map(drop), Err(Declined::TooLarge("fields of a row")));
    let partitions = Err(Declined::CheckFailed("the partitions of the rows"));
    let of = |ids: Option<&[u32]>, partitions| {
        encode(&setting, &numbers(1), &schema_of(&["l"]), ids, partitions, FAST).map(|made| made.frames().len())
    };
    assert_eq!(of(None, 2), partitions);
    assert_eq!(of(Some(&[0, 0, 0]), 0), partitions);
    assert_eq!(of(Some(&[0, 1, 4]), 5), Ok(3));
    assert_eq!(of(Some(&[0, 1, 5]), 5), Err(Declined::CheckFailed("a row's partition, or its place in a page")));
    // Long values are another codec's.
    let text = |codec, bytes: u32| {
        let offsets = [0, bytes].map(u32::to_le_bytes).concat();
        let spec = batch_of(1, vec![column(1, vec![None, Some(offsets), Some(vec![b'a'; bytes as usize])])]);
        let options = CodecOptions { codec, level: Level::Fast };
        encode(&setting, &spec, &schema_of(&["u"]), None, 1, options).map(|made| made.frames().len())
    };
    assert_eq!(text(Codec::Zstd, 90), Err(Declined::NeedsCodec));
    assert_eq!((text(Codec::Zstd, 20), text(Codec::Lz4, 90)), (Ok(1), Ok(1)));
    setting.finish();
}

/// A mask says which values are null, whatever the count of nulls is.
#[test]
fn the_mask_decides() {
    let Some(setting) = Setting::new() else { return };
    let words = Some((1..=40u64).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    let rows: Vec<Vec<u8>> =
        (1..=40).map(|i| unsafe_row(&[if i <= 8 { Value::Null } else { Value::Word(i) }])).collect();
    for null_count in [0, -1, 8, 3] {
        let mut nulls = column(40, vec![Some(vec![0, 0xFF, 0xFF, 0xFF, 0xFF]), words.clone()]);
        nulls.null_count = null_count;
        let made = encode(&setting, &batch_of(40, vec![nulls]), &schema_of(&["l"]), None, 1, FAST).unwrap();
        check_frames(&setting, &made, &expected(&rows, &[0; 40], 1, 1, FAST), "with a mask");
    }
    setting.finish();
}

/// A null's word in a frame that others have made: columns have it where the CPU's have it.
#[test]
fn what_is_below_a_null_is_the_same_as_on_the_cpu() {
    let Some(setting) = Setting::new() else { return };
    let row = [1u64, 77].map(u64::to_le_bytes).concat();
    let block = row_frames(&vec![row; 40], 1, FAST).concat();
    for format in formats_for_device().iter().filter(|format| *format != "n") {
        let schema = schema_of(&[format]);
        check_decode(&setting, FramesIn::Host(&[&block]), &block, &schema, std::slice::from_ref(format));
    }
    setting.finish();
}

/// Numbers that say where a value would lie, if they were words of strings: the CPU's encoder lays the rows out.
#[test]
fn numbers_that_look_like_places_are_declined() {
    let Some(setting) = Setting::new() else { return };
    let rows = 20;
    // Behind two words and the null bits; a string of 8 bytes follows.
    let looks = 24u64 << 32 | 8;
    let numbers = Some((0..rows).flat_map(|_| looks.to_le_bytes()).collect::<Vec<u8>>());
    let offsets = Some((0..=rows as u32).flat_map(|i| (8 * i).to_le_bytes()).collect::<Vec<u8>>());
    let text = Some(vec![b'x'; 8 * rows]);
    let spec = batch_of(rows as i64, vec![column(rows, vec![None, numbers]), column(rows, vec![None, offsets, text])]);
    let schema = schema_of(&["l", "u"]);
    assert_eq!(encode(&setting, &spec, &schema, None, 1, FAST).map(drop), Err(Declined::NeedsRows));
    // As plain frames there is nothing to take for anything.
    let made = encode(&setting, &spec, &schema, None, 1, PLAIN).unwrap();
    let row = unsafe_row(&[Value::Word(looks), Value::Bytes(vec![b'x'; 8])]);
    let expected = expected(&vec![row; rows], &vec![0; rows], 1, 2, PLAIN);
    check_frames(&setting, &made, &expected, "plain");
    // The frames of the rows are decoded all the same.
    let row = unsafe_row(&[Value::Word(looks), Value::Bytes(vec![b'x'; 8])]);
    let block = row_frames(&vec![row; rows], 2, FAST).concat();
    check_decode(&setting, FramesIn::Host(&[&block]), &block, &schema, &["l".to_owned(), "u".to_owned()]);
    drop(made);
    setting.finish();
}

fn no_value() -> Result<(), Declined> {
    Err(Declined::CheckFailed("a frame, or a value of its rows"))
}

fn decode_of(setting: &Setting, frame: &[u8], formats: &[&str]) -> Result<(), Declined> {
    // SAFETY: frames of the host.
    let made = unsafe {
        decode_columns(&setting.kernels, &setting.stream, FramesIn::Host(&[frame]), &schema_of(formats), long())
    };
    made.map(|made| drop(OwnedArray::take_made(made.array)))
}

#[test]
fn frames_that_are_none_of_the_schema_are_declined() {
    let Some(setting) = Setting::new() else { return };
    let frame = |row: &[Value], options| row_frames(&vec![unsafe_row(row); 50], row.len(), options).concat();
    for options in [FAST, PLAIN] {
        let number = frame(&[Value::Word(300)], options);
        assert_eq!(decode_of(&setting, &number, &["l"]), Ok(()));
        assert_eq!(decode_of(&setting, &number, &["S"]), Ok(()));
        assert_eq!(decode_of(&setting, &number, &["C"]), no_value());
        assert_eq!(decode_of(&setting, &number, &["tss:"]), no_value());
        // Its words are no places within rows.
        assert_eq!(decode_of(&setting, &frame(&[Value::Word(99 << 32 | 8)], options), &["u"]), no_value());
        let fields = Err(Declined::CheckFailed("rows of another number of fields"));
        assert_eq!(decode_of(&setting, &number, &["l", "l"]), fields);
        let text = |bytes: &[u8]| frame(&[Value::Bytes(bytes.to_vec())], options);
        for bytes in ["", "plain", "gr\u{fc}n", "\u{20ac}\u{10348}", "\u{d7ff}\u{e000}\u{10ffff}"] {
            assert_eq!(decode_of(&setting, &text(bytes.as_bytes()), &["u"]), Ok(()), "{bytes}");
        }
        let wrong: [&[u8]; 8] = [
            b"\x80",
            b"\xc1\x80",
            b"ab\xe2\x82",
            b"\xed\xa0\x80",
            b"\xe0\x80\x80",
            b"\xf4\x90\x80\x80",
            b"12345678\xff",
            b"\xf0\x82\x82\xac",
        ];
        for bytes in wrong {
            assert_eq!(decode_of(&setting, &text(bytes), &["U"]), no_value(), "{bytes:?}");
            assert_eq!(decode_of(&setting, &text(bytes), &["Z"]), Ok(()), "{bytes:?}");
        }
        assert_eq!(decode_of(&setting, &text(b"1234"), &["w:5"]), no_value());
        assert_eq!(decode_of(&setting, &text(b""), &["d:38,0"]), no_value());
        assert_eq!(decode_of(&setting, &text(&[1; 17]), &["d:38,0"]), no_value());
    }
    // A value that is said to lie among its row's words, which are nowhere: the CPU has rows to look at.
    for options in [FAST, PLAIN] {
        let row = [0u64, 8].map(u64::to_le_bytes).concat();
        let within = row_frames(&vec![row; 50], 1, options).concat();
        assert_eq!(decode_of(&setting, &within, &["z"]), no_value(), "{options:?}");
        let row = [0u64, 8 << 32 | 8].map(u64::to_le_bytes).concat();
        let within = row_frames(&vec![row; 50], 1, options).concat();
        for format in ["z", "w:8", "d:38,0"] {
            assert_eq!(decode_of(&setting, &within, &[format]), no_value(), "{options:?}, '{format}'");
        }
    }
    let long = row_frames(&[unsafe_row(&[Value::Bytes(vec![b'a'; 2 << 20])])], 1, PLAIN).concat();
    assert_eq!(decode_of(&setting, &long, &["z"]), Err(Declined::TooLarge("bytes of a frame's rows")));
    // Two values in the same bytes of a row.
    let row = [[0u64, 24 << 32 | 40, 24 << 32 | 40].map(u64::to_le_bytes).concat(), vec![65; 40]].concat();
    let shared = row_frames(&vec![row; 9], 2, PLAIN).concat();
    assert_eq!(decode_of(&setting, &shared, &["z", "z"]), Ok(()));
    let codec = row_frames(&vec![unsafe_row(&[Value::Bytes(vec![b'a'; 100])]); 9], 1, LZ4).concat();
    assert_eq!(decode_of(&setting, &codec, &["u"]), Err(Declined::NeedsCodec));
    setting.finish();
}

/// Whatever bytes a frame has: it is declined, or it is what the CPU makes of it.
#[test]
fn damaged_frames() {
    let Some(setting) = Setting::new() else { return };
    let formats: Vec<String> = ["l", "u", "d:38,10", "tin", "b"].into_iter().map(str::to_owned).collect();
    let mut random = Random::new(77);
    let made = batch_for_device(&mut random, &formats, 60);
    let schema = made.schema.read().unwrap();
    for options in [FAST, PLAIN] {
        let frame = row_frames(&made.rows, formats.len(), options).concat();
        let payload = &frame[sluice_codec::HEADER_BYTES..];
        let header = sluice_codec::FrameHeader::parse(&frame).unwrap();
        let mut declined = 0;
        for _ in 0..if long_tests() { 5000 } else { 150 } {
            let mut changed = payload.to_vec();
            let at = random.below(changed.len());
            changed[at] ^= 1 << random.below(8);
            let changed = crate::corrupt::frame_of(header, &changed);
            let mut decoder = ColumnDecoder::new();
            let frames = [&changed[..]];
            // SAFETY: frames of the host.
            let on =
                unsafe { decode_columns(&setting.kernels, &setting.stream, FramesIn::Host(&frames), &schema, long()) };
            match (on, decoder.decode(&schema, &changed, usize::MAX)) {
                (Err(Declined::CheckFailed(_) | Declined::NeedsCodec), _) => declined += 1,
                (Ok(on), Ok((of_cpu, _))) => {
                    let on = OwnedArray::take_made(on.array);
                    let got = read(on.array(), &formats, |address, bytes| download(&setting, address, bytes));
                    assert!(got == read(of_cpu.array(), &formats, of_host), "byte {at} is changed");
                }
                (on, of_cpu) => panic!("byte {at}: {:?}, the CPU says {:?}", on.map(drop), of_cpu.map(drop)),
            }
        }
        assert!(declined > 10, "{declined}");
    }
    setting.finish();
}

/// What is leased when all that was freed has come back.
fn leased(setting: &Setting) -> usize {
    setting.stream.flush();
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    setting.arena.memory().leased_bytes()
}

/// An array's columns may be moved out and outlive it, and any thread may release them.
#[test]
fn columns_outlive_their_batch() {
    let Some(setting) = Setting::new() else { return };
    let block = row_frames(&vec![unsafe_row(&[Value::Word(7), Value::Bytes(b"text".to_vec())]); 40], 2, FAST).concat();
    let schema = schema_of(&["l", "u"]);
    let before = leased(&setting);
    // SAFETY: frames of the host.
    let made = unsafe {
        decode_columns(&setting.kernels, &setting.stream, FramesIn::Host(&[&block]), &schema, long()).unwrap()
    };
    let batch = OwnedArray::take_made(made.array);
    // SAFETY: the batch has two children.
    let child = unsafe { OwnedArray::take(*batch.array().children).unwrap() };
    drop(batch);
    // SAFETY: the child has two buffers.
    let values = unsafe { *child.array().buffers.add(1) }.addr() as u64;
    assert_eq!(download(&setting, values, 16), [7u64.to_le_bytes(), 7u64.to_le_bytes()].concat());
    std::thread::scope(|scope| scope.spawn(move || drop(child)).join().unwrap());
    assert!(leased(&setting) <= before);
    setting.finish();
}

/// A producer's event is waited for: the copy that fills the batch has not been done when it is handed over.
#[test]
fn the_producers_event_comes_first() {
    let Some(setting) = Setting::new() else { return };
    let context = setting.stream.stream().context().clone();
    let producer = context.new_stream().unwrap();
    let rows = 300usize;
    let words: Vec<u8> = (0..rows as u64).flat_map(|i| (i * 3).to_le_bytes()).collect();
    let memory = setting.stream.lease(words.len(), long()).unwrap();
    let event = context.event().unwrap();
    // SAFETY: the bytes live until the stream has finished.
    unsafe { producer.copy_to_device(memory.address(), words.as_ptr(), words.len()).unwrap() };
    event.record(&producer).unwrap();
    let spec = batch_of(rows as i64, vec![column(rows, vec![None, Some(words.clone())])]);
    let array = array_at(&spec, &mut |_| memory.address().0);
    let mut handle = event.foreign();
    let sync_event = std::ptr::from_mut(&mut handle).cast();
    let array = ArrowDeviceArray { array, device_id: 0, device_type: DEVICE_CUDA, sync_event, reserved: [0; 3] };
    // SAFETY: just made; the event lives.
    let batch = unsafe { DeviceBatch::describe(&array, &schema_of(&["l"])).unwrap() };
    assert_eq!((batch.rows(), batch.device()), (rows, 0));
    // SAFETY: as above.
    unsafe { setting.stream.stream().wait_for_foreign(*batch.event().cast()).unwrap() };
    // SAFETY: all live until the call has returned.
    let columns = unsafe { PartitionedColumns::of(&batch, DeviceAddress(0), 1) };
    let made = encode_columns(&setting.kernels, &setting.stream, columns, FAST, long()).unwrap();
    let all: Vec<Vec<u8>> = (0..rows as u64).map(|i| unsafe_row(&[Value::Word(i * 3)])).collect();
    check_frames(&setting, &made, &expected(&all, &vec![0; rows], 1, 1, FAST), "behind an event");
    producer.finish(long()).unwrap();
    setting.stream.free(memory);
    drop(OwnedArray::take_made(array.array));
    drop((made, event, producer, context));
    setting.finish();
}

/// A call of the driver that fails anywhere: declined, nothing is left, and the next batch works.
#[test]
fn calls_that_fail_leave_nothing() {
    let Some(setting) = Setting::simulated() else { return };
    let formats = ["l".to_owned(), "u".to_owned()];
    let made = batch_for_device(&mut Random::new(3), &formats, 200);
    let schema = made.schema.read().unwrap();
    let block = row_frames(&made.rows, 2, FAST).concat();
    check(&setting, &made, &formats, 1, FAST);
    let before = leased(&setting);
    for nth in [1, 2, 3, 7, 12, 20] {
        setting.simulator().configure(&format!("fail=cuLaunchKernel@{nth}:1"));
        let failed = encode(&setting, &made.array, &schema, None, 1, FAST).map(drop);
        assert!(matches!(failed, Err(Declined::Device(_))), "launch {nth}: {failed:?}");
        assert_eq!(leased(&setting), before, "launch {nth} of an encode");
    }
    for nth in [1, 2, 4, 6, 7, 8] {
        setting.simulator().configure(&format!("fail=cuLaunchKernel@{nth}:1"));
        let failed = decode_of(&setting, &block, &["l", "u"]);
        assert!(matches!(failed, Err(Declined::Device(_))), "launch {nth}: {failed:?}");
        assert_eq!(leased(&setting), before, "launch {nth} of a decode");
    }
    check(&setting, &made, &formats, 1, FAST);
    setting.finish();
}

#[test]
fn arrays_that_contradict_themselves_are_refused() {
    let Some(setting) = Setting::new() else { return };
    let good = batch_of(2, vec![column(2, vec![None, Some(vec![0; 16])])]);
    let import = |spec: &ArraySpec, format: &str, change: &dyn Fn(&mut ArrowDeviceArray)| {
        let mut on = on_device(&setting, spec);
        change(&mut on.array);
        // SAFETY: just made; what it refers to is not followed to the device.
        let batch = unsafe { DeviceBatch::describe(&on.array, &schema_of(&[format])) };
        setting.stream.free(on.memory);
        drop(OwnedArray::take_made(on.array.array));
        batch.map(|batch| batch.rows()).map_err(|e| (e.kind, e.to_string()))
    };
    let is = |found: Result<usize, (ErrorKind, String)>, kind, text: &str| {
        assert!(found.as_ref().is_err_and(|(k, what)| *k == kind && what.contains(text)), "{found:?}");
    };
    let same = |_: &mut ArrowDeviceArray| {};
    assert_eq!(import(&good, "l", &same), Ok(2));
    is(import(&good, "l", &|a| a.device_type = 1), ErrorKind::Unsupported, "memory of kind 1");
    is(import(&good, "u", &same), ErrorKind::Invalid, "2 buffers");
    is(import(&good, "vu", &same), ErrorKind::Invalid, "buffers");
    let with = |change: &dyn Fn(&mut ArraySpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        spec
    };
    is(import(&with(&|s| s.length = -1), "l", &same), ErrorKind::Invalid, "length is -1");
    is(import(&with(&|s| s.children[0].length = 1), "l", &same), ErrorKind::Invalid, "1 values");
    is(import(&with(&|s| s.children[0].null_count = 1), "l", &same), ErrorKind::Invalid, "no mask");
    is(import(&with(&|s| s.children[0].buffers[1] = None), "l", &same), ErrorKind::Invalid, "buffer 1 is null");
    is(import(&with(&|s| s.null_count = 1), "l", &same), ErrorKind::Unsupported, "rows can be null");
    is(import(&with(&|s| s.children.clear()), "l", &same), ErrorKind::Invalid, "0 columns");
    let misaligned = |a: &mut ArrowDeviceArray| {
        // SAFETY: there is one child with two buffers.
        unsafe {
            let address = (**a.array.children).buffers.add(1);
            *address = (*address).wrapping_byte_add(4);
        }
    };
    is(import(&good, "l", &misaligned), ErrorKind::Invalid, "not aligned");
    let masked = with(&|s| s.buffers[0] = Some(vec![0xFF]));
    assert_eq!(import(&masked, "l", &same), Ok(2), "a mask, and no row is null");
    is(
        import(&with(&|s| (s.buffers[0], s.null_count) = (Some(vec![0xFF]), -1)), "l", &same),
        ErrorKind::Unsupported,
        "",
    );
    let far = |a: &mut ArrowDeviceArray| {
        // SAFETY: there is one child.
        unsafe { (**a.array.children).offset = 1 << 55 }
    };
    is(import(&good, "w:2147483647", &far), ErrorKind::Invalid, "values of 2147483647 bytes");
    setting.finish();
}
