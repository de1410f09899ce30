//! The exported functions on GPUs. What [`crate::calls`] says of safety goes for them, too.
#![expect(clippy::missing_safety_doc, reason = "the header's rules are those of all functions")]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::time::Duration;

use sluice_columns::ffi::ArrowDeviceArray;
use sluice_columns::{DeviceBatch, DeviceTarget, Schema};
use sluice_cuda::{DeviceAddress, Driver, Wait, Waited};
use sluice_gpu_engine::{Declined, DeviceFrames, FramesIn, GpuEngine, PartitionedColumns};
use sluice_gpu_mem::{StreamArena, StreamArenaOptions};

use crate::calls::options;
use crate::guard::{CallError, guarded};
use crate::handles::{array, borrow, free, give, place, room};

/// Less has no room for a batch beside what the arena keeps.
const LEAST_MEMORY: usize = 256 << 20;

/// `sluice_gpu`.
pub struct CGpu {
    engine: GpuEngine,
    limit: Duration,
}

impl CGpu {
    fn wait(&self) -> Wait<'static> {
        Wait::at_most(self.limit)
    }
}

/// `sluice_gpu_frame`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CGpuFrame {
    /// Where it begins.
    pub address: *const u8,
    /// Its length.
    pub bytes: u64,
    /// Whose rows it has.
    pub partition: u32,
    /// How many rows.
    pub rows: u32,
}

/// Opens a GPU, loads its kernels and tests them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_open(
    device: *const c_char,
    kernels: *const c_char,
    memory: u64,
    timeout_ms: u32,
    out: *mut *mut CGpu,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = place(out)?;
        let device = text(device, "device")?;
        let kernels = text(kernels, "kernels")?.ok_or(CallError::Null("kernels"))?;
        let limit = Duration::from_millis(timeout_ms.into());
        let memory = usize::try_from(memory).ok().filter(|memory| *memory >= LEAST_MEMORY);
        let memory = memory.ok_or_else(|| CallError::Argument(format!("memory of less than {LEAST_MEMORY} bytes")))?;
        let driver = Driver::open().map_err(Declined::from)?;
        let context = driver.select(device).and_then(|device| device.context()).map_err(Declined::from)?;
        let arena = StreamArena::new(context.clone(), StreamArenaOptions::with_limit(memory));
        let engine = GpuEngine::start(&context, &arena, Path::new(kernels), Wait::at_most(limit))?;
        give(out, CGpu { engine, limit });
        Ok(())
    })
}

/// # Safety
/// `text` is null or a string that ends with 0.
unsafe fn text<'t>(text: *const c_char, what: &'static str) -> Result<Option<&'t str>, CallError> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, so a string, as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| CallError::Argument(format!("{what} is not UTF-8")))
}

/// Gives the GPU's memory back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_free(gpu: *mut CGpu) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(gpu);
        Ok(())
    });
}

/// Encodes a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_encode(
    gpu: *const CGpu,
    schema: *const Schema,
    array: *const ArrowDeviceArray,
    ids: *const u32,
    partitions: u32,
    codec: i32,
    level: i32,
    out: *mut *mut DeviceFrames,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = place(out)?;
        let (gpu, schema) = (borrow(gpu, "gpu")?, borrow(schema, "schema")?);
        let batch = DeviceBatch::describe(borrow(array, "array")?, schema)?;
        let ours = gpu.engine.context().device().facts().ordinal;
        if batch.device() != i64::from(ours) {
            let theirs = batch.device();
            return Err(CallError::Argument(format!("an array of GPU {theirs}, and this is GPU {ours}")));
        }
        if partitions == 0 || partitions > i32::MAX as u32 || (ids.is_null() && partitions != 1) {
            let ids = if ids.is_null() { "no ids" } else { "ids" };
            return Err(CallError::Argument(format!("{partitions} partitions, and {ids}")));
        }
        if !ids.is_aligned() {
            return Err(CallError::Argument(format!("ids at {ids:?}")));
        }
        let options = options(codec, level)?;
        let stream = gpu.engine.attach();
        if let Some(event) = batch.event().cast::<*mut c_void>().as_ref() {
            stream.stream().wait_for_foreign(*event).map_err(Declined::from)?;
        }
        // A producer that is slow is no reason to give up the GPU.
        if stream.stream().wait(gpu.wait()).map_err(Declined::from)? != Waited::Done {
            return Err(Declined::NotTaken("what comes before the batch has not ended in time").into());
        }
        let columns = PartitionedColumns::of(&batch, DeviceAddress(ids.addr() as u64), partitions);
        give(out, gpu.engine.encode_columns(&stream, columns, options, gpu.wait())?);
        Ok(())
    })
}

/// How many frames there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_frames_count(frames: *const DeviceFrames) -> u64 {
    // SAFETY: the header's rules.
    unsafe { frames.as_ref() }.map_or(0, |frames| frames.frames().len() as u64)
}

/// What frame `i` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_frames_get(frames: *const DeviceFrames, i: u64, out: *mut CGpuFrame) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let frames = borrow(frames, "frames")?;
        let out = NonNull::new(out).ok_or(CallError::Null("out"))?;
        let frame = usize::try_from(i).ok().and_then(|i| frames.frames().get(i));
        let frame = frame.ok_or_else(|| CallError::Argument(format!("frame {i} of {}", frames.frames().len())))?;
        let address = std::ptr::without_provenance((frames.address().0 + frame.start) as usize);
        out.write(CGpuFrame { address, bytes: frame.bytes, partition: frame.partition, rows: frame.rows });
        Ok(())
    })
}

/// Bytes of all frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_frames_bytes(frames: *const DeviceFrames) -> u64 {
    // SAFETY: the header's rules.
    unsafe { frames.as_ref() }.map_or(0, DeviceFrames::bytes)
}

/// Copies all frames to the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_frames_copy(
    gpu: *const CGpu,
    frames: *const DeviceFrames,
    target: *mut u8,
    bytes: usize,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let (gpu, frames) = (borrow(gpu, "gpu")?, borrow(frames, "frames")?);
        if bytes as u64 != frames.bytes() {
            return Err(CallError::Argument(format!("room for {bytes} bytes, the frames have {}", frames.bytes())));
        }
        frames.copy_to_host(&gpu.engine.attach(), room(target, bytes, "target")?, gpu.wait())?;
        Ok(())
    })
}

/// Frees frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_frames_free(frames: *mut DeviceFrames) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(frames);
        Ok(())
    });
}

/// Decodes frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gpu_decode(
    gpu: *const CGpu,
    schema: *const Schema,
    frames: *const *const u8,
    frame_bytes: *const usize,
    n_frames: usize,
    on_gpu: i32,
    out: *mut ArrowDeviceArray,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = NonNull::new(out).ok_or(CallError::Null("out"))?;
        (*out.as_ptr()).array.release = None;
        let (gpu, schema) = (borrow(gpu, "gpu")?, borrow(schema, "schema")?);
        DeviceTarget::of(schema, 0)?;
        let starts = array(frames, n_frames, "frames")?;
        if starts.iter().any(|start| start.is_null()) {
            return Err(CallError::Null("a frame"));
        }
        let all = starts.iter().zip(array(frame_bytes, n_frames, "frame_bytes")?);
        let stream = gpu.engine.attach();
        let decode = |frames: FramesIn<'_>| gpu.engine.decode_columns(&stream, frames, schema, gpu.wait());
        let made = if on_gpu != 0 {
            let frames: Vec<_> = all.map(|(start, len)| (DeviceAddress(start.addr() as u64), *len)).collect();
            decode(FramesIn::Device(&frames))?
        } else {
            let frames: Vec<&[u8]> =
                all.map(|(start, len)| array(*start, *len, "a frame")).collect::<Result<_, _>>()?;
            decode(FramesIn::Host(&frames))?
        };
        out.write(made);
        Ok(())
    })
}
