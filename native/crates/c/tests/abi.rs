//! The ABI: what the header declares and what the library has, each beside the same list of functions, members and
//! numbers (`abi/abi.c`, and the one here).

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use sluice::{CFrame, CGpu, CGpuFrame, CSortKey, Sink};
use sluice_codec::Codec;
use sluice_columns::ffi::{ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowSchema};
use sluice_columns::{Batch, BatchStream, ColumnDecoder, ColumnEncoder, DEVICE_CUDA, DEVICE_CUDA_MANAGED, Schema};
use sluice_gpu_engine::DeviceFrames;

fn compile(compiler: &str, arguments: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let object = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("abi-{compiler}.o"));
    let mut command = Command::new(compiler);
    command.args(arguments).args(["-Wall", "-Wextra", "-Werror", "-c", "-I"]).arg(folder.join("include"));
    let Ok(made) = command.arg(folder.join("tests/abi/abi.c")).arg("-o").arg(object).output() else {
        return eprintln!("skipped: there is no {compiler}");
    };
    assert!(made.status.success(), "{compiler}: {}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn the_header_has_it_for_programs_in_c() {
    compile("cc", &["-std=c11", "-pedantic"]);
}

#[test]
fn the_header_has_it_for_programs_in_cpp() {
    compile("c++", &["-std=c++17", "-pedantic", "-x", "c++"]);
}

type Encoder = *mut ColumnEncoder;
type Decoder = *mut ColumnDecoder;
type Batches = *const *const Batch;
type Gpu = *const CGpu;
type OnGpu = *const ArrowDeviceArray;

/// It compiles: each function has the parameters that C programs give it.
#[test]
fn the_library_has_it() {
    let _: extern "C" fn() -> u32 = sluice::sluice_abi_version;
    let _: extern "C" fn() -> *const c_char = sluice::sluice_version;
    let _: extern "C" fn() -> *const c_char = sluice::sluice_last_error;
    let _: unsafe extern "C" fn(*const ArrowSchema, *mut *mut Schema) -> i32 = sluice::sluice_schema_new;
    let _: unsafe extern "C" fn(*mut Schema) = sluice::sluice_schema_free;
    let _: unsafe extern "C" fn(*const Schema, *mut ArrowArray, *mut *mut Batch) -> i32 = sluice::sluice_batch_import;
    let _: unsafe extern "C" fn(*const Batch) -> u64 = sluice::sluice_batch_rows;
    let _: unsafe extern "C" fn(*mut Batch) = sluice::sluice_batch_free;
    let _: unsafe extern "C" fn(*mut ArrowArrayStream, *mut *mut BatchStream) -> i32 = sluice::sluice_stream_open;
    let _: unsafe extern "C" fn(*mut BatchStream, *mut *mut Batch) -> i32 = sluice::sluice_stream_next;
    let _: unsafe extern "C" fn(*mut BatchStream) = sluice::sluice_stream_free;
    let _: unsafe extern "C" fn(*const Batch, *const u32, usize, u32, *mut u32) -> i32 = sluice::sluice_partition_hash;
    let _: unsafe extern "C" fn(*const Batch, *const CSortKey, usize, *const Batch, *mut u32) -> i32 =
        sluice::sluice_partition_range;
    let _: unsafe extern "C" fn(*const Batch, i32, u32, *mut u32) -> i32 = sluice::sluice_partition_round_robin;
    let _: unsafe extern "C" fn(i32, i32, *mut Encoder) -> i32 = sluice::sluice_encoder_new;
    let _: unsafe extern "C" fn(Encoder) = sluice::sluice_encoder_free;
    let _: unsafe extern "C" fn(Encoder, Batches, usize, *const *const u32, u32, Sink, *mut c_void) -> i32 =
        sluice::sluice_encode;
    let _: unsafe extern "C" fn(Encoder, *const u8, *const u32, usize, u32, *const u32, u32, Sink, *mut c_void) -> i32 =
        sluice::sluice_encode_rows;
    let _: unsafe extern "C" fn(*mut Decoder) -> i32 = sluice::sluice_decoder_new;
    let _: unsafe extern "C" fn(Decoder) = sluice::sluice_decoder_free;
    let _: unsafe extern "C" fn(Decoder, *const Schema, *const u8, usize, usize, *mut ArrowArray, *mut usize) -> i32 =
        sluice::sluice_decode;
    let _: unsafe extern "C" fn(*const u8, usize, *mut CFrame) -> i32 = sluice::sluice_frame_read;
    let _: unsafe extern "C" fn(Decoder, *const u8, usize, *mut u8, usize, *mut u32, usize, *mut CFrame) -> i32 =
        sluice::sluice_decode_rows;
    let _: unsafe extern "C" fn(*const c_char, *const c_char, u64, u32, *mut *mut CGpu) -> i32 =
        sluice::sluice_gpu_open;
    let _: unsafe extern "C" fn(*mut CGpu) = sluice::sluice_gpu_free;
    let _: unsafe extern "C" fn(Gpu, *const Schema, OnGpu, *const u32, u32, i32, i32, *mut *mut DeviceFrames) -> i32 =
        sluice::sluice_gpu_encode;
    let _: unsafe extern "C" fn(*const DeviceFrames) -> u64 = sluice::sluice_gpu_frames_count;
    let _: unsafe extern "C" fn(*const DeviceFrames, u64, *mut CGpuFrame) -> i32 = sluice::sluice_gpu_frames_get;
    let _: unsafe extern "C" fn(*const DeviceFrames) -> u64 = sluice::sluice_gpu_frames_bytes;
    let _: unsafe extern "C" fn(Gpu, *const DeviceFrames, *mut u8, usize) -> i32 = sluice::sluice_gpu_frames_copy;
    let _: unsafe extern "C" fn(*mut DeviceFrames) = sluice::sluice_gpu_frames_free;
    let _: unsafe extern "C" fn(
        Gpu,
        *const Schema,
        *const *const u8,
        *const usize,
        usize,
        i32,
        *mut ArrowDeviceArray,
    ) -> i32 = sluice::sluice_gpu_decode;
    let _: Sink = None::<unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> i32>;

    assert_eq!((size_of::<CSortKey>(), offset_of!(CSortKey, column), offset_of!(CSortKey, descending)), (8, 0, 4));
    assert_eq!((offset_of!(CSortKey, nulls_first), offset_of!(CSortKey, reserved)), (5, 6));
    assert_eq!((size_of::<CFrame>(), offset_of!(CFrame, bytes), offset_of!(CFrame, row_bytes)), (24, 0, 8));
    assert_eq!((offset_of!(CFrame, rows), offset_of!(CFrame, fields)), (16, 20));
    assert_eq!((size_of::<CGpuFrame>(), offset_of!(CGpuFrame, address), offset_of!(CGpuFrame, bytes)), (24, 0, 8));
    assert_eq!((offset_of!(CGpuFrame, partition), offset_of!(CGpuFrame, rows)), (16, 20));
    assert_eq!((size_of::<ArrowDeviceArray>(), offset_of!(ArrowDeviceArray, device_id)), (128, 80));
    let places = (offset_of!(ArrowDeviceArray, device_type), offset_of!(ArrowDeviceArray, sync_event));
    assert_eq!((places, DEVICE_CUDA, DEVICE_CUDA_MANAGED), ((88, 96), 2, 13));
    assert_eq!((size_of::<ArrowSchema>(), size_of::<ArrowArray>(), size_of::<ArrowArrayStream>()), (72, 80, 40));
    assert_eq!((offset_of!(ArrowSchema, release), offset_of!(ArrowArray, release)), (56, 64));
    let codecs = [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy];
    assert_eq!((0..4).map(Codec::from_id).collect::<Vec<_>>(), codecs.map(Some));
}
