//! The functions of the driver: what their arguments mean, and what of them is refused at once.
//!
//! Those of `sluice-cuda`'s table, and no more; pointers are what `cuda.h` says that callers must give.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::image::Image;
use crate::kernel::Shape;
use crate::machine::{self, Function, Machine, call, call_after_all, call_in_context, call_until_done};
use crate::schedule::StreamKey;
use crate::status::{self, Status};
use crate::work::Work;

const CONTEXTS: usize = 0xc000;
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;
/// In x, y, z, as GPUs of compute capability 3.0 and later have it.
const MOST_BLOCKS: [c_uint; 3] = [0x7fff_ffff, 65_535, 65_535];
const MOST_THREADS: [c_uint; 3] = [1024, 1024, 64];
const MAX_SHARED_BYTES: u32 = 227 << 10;

/// Passed by value.
#[repr(C)]
pub struct IpcHandle([u8; 64]);

/// Writes a result, unless there is no place for it.
fn give<T>(place: *mut T, value: T) -> Result<(), Status> {
    if place.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the driver's callers give places of the types that `cuda.h` declares.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes a text that ends with 0 into `room` bytes.
fn give_text(place: *mut c_char, room: c_int, text: &str) -> Result<(), Status> {
    let room = usize::try_from(room).ok().filter(|room| *room > 0 && !place.is_null()).ok_or(status::INVALID_VALUE)?;
    let bytes = text.len().min(room - 1);
    // SAFETY: the caller says that there is room; the text is not in it.
    unsafe {
        place.cast::<u8>().copy_from(text.as_ptr(), bytes);
        place.add(bytes).write(0);
    }
    Ok(())
}

/// A text that ends with 0.
fn text_at(place: *const c_char) -> Result<String, Status> {
    if place.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the driver's callers give texts that end with 0.
    Ok(unsafe { CStr::from_ptr(place) }.to_string_lossy().into_owned())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Status {
    call("cuInit", |machine| if flags == 0 { machine.initialise() } else { Err(status::INVALID_VALUE) })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Status {
    call("cuDriverGetVersion", |machine| give(version, machine.config.version))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(status: Status, text: *mut *const c_char) -> Status {
    let words = status::words(status).ok_or(status::INVALID_VALUE);
    words.and_then(|(name, _)| give(text, name.as_ptr())).err().unwrap_or(status::SUCCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(status: Status, text: *mut *const c_char) -> Status {
    let words = status::words(status).ok_or(status::INVALID_VALUE);
    words.and_then(|(_, string)| give(text, string.as_ptr())).err().unwrap_or(status::SUCCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Status {
    call("cuDeviceGetCount", |machine| {
        if !machine.initialised {
            return Err(status::NOT_INITIALIZED);
        }
        give(count, machine.devices.len() as c_int)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Status {
    call("cuDeviceGet", |machine| machine.device(ordinal).and_then(|index| give(device, index as c_int)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) -> Status {
    call("cuDeviceGetName", |machine| {
        machine.device(device)?;
        let slice = if machine.config.mig { " MIG 1g.10gb" } else { "" };
        give_text(name, room, &format!("Sluice simulated GPU{slice}"))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> Status {
    call("cuDeviceGetUuid_v2", |machine| {
        let index = machine.device(device)?;
        let mut bytes = *b"sluice-cuda-sim\0";
        bytes[15] = index as u8;
        give(uuid, bytes)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Status {
    call("cuDeviceTotalMem_v2", |machine| {
        machine.device(device)?;
        give(bytes, machine.config.memory)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> Status {
    call("cuDeviceGetAttribute", |machine| {
        machine.device(device)?;
        let found = match attribute {
            16 => machine.config.multiprocessors,
            20 => machine.config.mode,
            // ECC; copy engines; one space of addresses.
            32 | 41 => 1,
            40 => 3,
            // Compute capability 9.0.
            75 => 9,
            76 => 0,
            97 => MAX_SHARED_BYTES as c_int,
            // Pools.
            115 => 1,
            _ => return Err(status::INVALID_VALUE),
        };
        give(value, found)
    })
}

/// Later devices have lower addresses, so that the driver's order is not that of the addresses.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(address: *mut c_char, room: c_int, device: c_int) -> Status {
    call("cuDeviceGetPCIBusId", |machine| {
        let index = machine.device(device)?;
        give_text(address, room, &format!("0000:{:02X}:00.0", 0xc0 - index))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> Status {
    call("cuDevicePrimaryCtxRetain", |machine| {
        let index = machine.device(device)?;
        if let Some(status) = machine.devices[index].sticky {
            return Err(status);
        }
        if machine.config.mode == 2 {
            return Err(status::UNKNOWN);
        }
        if machine.config.held {
            return Err(status::DEVICE_UNAVAILABLE);
        }
        give(context, std::ptr::without_provenance_mut(CONTEXTS + index))?;
        machine.devices[index].retained += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Status {
    call("cuDevicePrimaryCtxRelease_v2", |machine| {
        let index = machine.device(device)?;
        let Some(left) = machine.devices[index].retained.checked_sub(1) else {
            machine.report("the primary context was released more often than it was retained".into());
            return Err(status::INVALID_CONTEXT);
        };
        machine.devices[index].retained = left;
        if left == 0 { machine.end_context(index) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) -> Status {
    call("cuDevicePrimaryCtxGetState", |machine| {
        let index = machine.device(device)?;
        give(flags, 0)?;
        give(active, c_int::from(machine.devices[index].retained > 0))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> Status {
    call("cuCtxPushCurrent_v2", |machine| {
        let index = context.addr().wrapping_sub(CONTEXTS);
        if machine.devices.get(index).is_none_or(|device| device.retained == 0) {
            return Err(status::INVALID_CONTEXT);
        }
        machine::push(index);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> Status {
    call("cuCtxPopCurrent_v2", |machine| {
        let Some(index) = machine::pop() else {
            machine.report("a context was popped that nobody pushed".into());
            return Err(status::INVALID_CONTEXT);
        };
        give(context, std::ptr::without_provenance_mut(CONTEXTS + index))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    call_in_context("cuMemGetInfo_v2", |machine, device| {
        give(free, machine.devices[device].memory.free_bytes())?;
        give(total, machine.config.memory)
    })
}

fn allocate(machine: &mut Machine, device: usize, address: *mut u64, bytes: usize) -> Result<u64, Status> {
    if bytes == 0 {
        return Err(status::INVALID_VALUE);
    }
    machine.random();
    let Some(random) = machine.random.as_mut() else { return Err(status::UNKNOWN) };
    let found = machine.devices[device].memory.allocate(bytes, random).ok_or(status::OUT_OF_MEMORY)?;
    give(address, found)?;
    Ok(found)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Status {
    call_in_context("cuMemAlloc_v2", |machine, device| allocate(machine, device, address, bytes).map(drop))
}

/// As the driver does, it waits for all work of the device first.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Status {
    call_after_all("cuMemFree_v2", |machine, device| machine.free(device, address, "cuMemFree_v2"))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: *mut c_void) -> Status {
    call_in_context("cuMemAllocAsync", |machine, device| {
        machine.stream(device, stream.addr())?;
        let address = allocate(machine, device, address, bytes)?;
        machine.put(device, "cuMemAllocAsync", stream.addr(), Work::Allocated { address, bytes })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> Status {
    call_in_context("cuMemFreeAsync", |machine, device| {
        machine.put(device, "cuMemFreeAsync", stream.addr(), Work::Free { address })
    })
}

/// What the simulator's handles begin with; the process and the address follow.
const IPC_HANDLE: &[u8; 16] = b"sluice-cuda-sim\0";

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcGetMemHandle(handle: *mut [u8; 64], address: u64) -> Status {
    call_in_context("cuIpcGetMemHandle", |machine, device| {
        machine.devices[device].memory.length(address).ok_or(status::INVALID_VALUE)?;
        let mut bytes = [0; 64];
        bytes[..16].copy_from_slice(IPC_HANDLE);
        bytes[16..24].copy_from_slice(&u64::from(std::process::id()).to_le_bytes());
        bytes[24..32].copy_from_slice(&address.to_le_bytes());
        give(handle, bytes)
    })
}

/// As the driver does, it maps no memory of its own process; that of others it cannot, because it is simulated there.
#[unsafe(no_mangle)]
pub extern "C" fn cuIpcOpenMemHandle_v2(_address: *mut u64, handle: IpcHandle, _flags: c_uint) -> Status {
    call_in_context("cuIpcOpenMemHandle_v2", |_, _| {
        let own = u64::from(std::process::id()).to_le_bytes();
        let is_known = handle.0.starts_with(IPC_HANDLE);
        Err(if is_known && handle.0[16..24] == own { status::INVALID_CONTEXT } else { status::INVALID_VALUE })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcCloseMemHandle(address: u64) -> Status {
    call_in_context("cuIpcCloseMemHandle", |machine, _| {
        machine.report(format!("end of a mapping at {address:#x}, where none is"));
        Err(status::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(start: *mut c_void, bytes: usize, _flags: c_uint) -> Status {
    call_in_context("cuMemHostRegister_v2", |machine, _| {
        let Some(end) = start.addr().checked_add(bytes).filter(|_| bytes > 0 && !start.is_null()) else {
            return Err(status::INVALID_VALUE);
        };
        let before = machine.registered.range(..end).next_back();
        if before.is_some_and(|(other, length)| other + length > start.addr()) {
            return Err(status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let registered: usize = machine.registered.values().sum();
        if bytes > machine.config.pinned.saturating_sub(registered) {
            return Err(status::OUT_OF_MEMORY);
        }
        machine.registered.insert(start.addr(), bytes);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(start: *mut c_void) -> Status {
    call_in_context("cuMemHostUnregister", |machine, device| {
        let Some(bytes) = machine.registered.remove(&start.addr()) else {
            machine.report(format!("end of a registration of {start:p}, which is not registered"));
            return Err(status::HOST_MEMORY_NOT_REGISTERED);
        };
        let end = start.addr() + bytes;
        let in_use = machine.schedule.pending(device).filter_map(|pending| pending.work.host_range());
        if in_use.into_iter().any(|(from, length)| from < end && start.addr() < from + length) {
            machine.report(format!("end of the registration of {start:p}, which pending work uses"));
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(
    target: u64,
    source: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    call_in_context("cuMemcpyHtoDAsync_v2", |machine, device| {
        let work = Work::ToDevice { target, source: source.expose_provenance(), bytes };
        machine.put(device, "cuMemcpyHtoDAsync_v2", stream.addr(), work)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(target: *mut c_void, source: u64, bytes: usize, stream: *mut c_void) -> Status {
    call_until_done("cuMemcpyDtoHAsync_v2", |machine, device| {
        let start = target.expose_provenance();
        machine.spoil(start, bytes);
        machine.put(device, "cuMemcpyDtoHAsync_v2", stream.addr(), Work::ToHost { target: start, source, bytes })?;
        let waits = machine.config.pageable_waits && !machine.is_registered(start, bytes);
        if waits { machine.stream(device, stream.addr()).map(Some) } else { Ok(None) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(target: u64, source: u64, bytes: usize, stream: *mut c_void) -> Status {
    call_in_context("cuMemcpyDtoDAsync_v2", |machine, device| {
        machine.put(device, "cuMemcpyDtoDAsync_v2", stream.addr(), Work::OnDevice { target, source, bytes })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(target: u64, byte: u8, bytes: usize, stream: *mut c_void) -> Status {
    call_in_context("cuMemsetD8Async", |machine, device| {
        machine.put(device, "cuMemsetD8Async", stream.addr(), Work::Fill { target, byte, bytes })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> Status {
    call_in_context("cuStreamCreate", |machine, device| {
        if flags > 1 {
            return Err(status::INVALID_VALUE);
        }
        let handle = machine.new_handle();
        give(stream, std::ptr::without_provenance_mut(handle))?;
        machine.schedule.make_stream(device, StreamKey::Made(handle), flags == 0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> Status {
    call_in_context("cuStreamDestroy_v2", |machine, device| {
        if machine.schedule.end_stream(device, StreamKey::Made(stream.addr())) {
            return Ok(());
        }
        machine.report(format!("stream {stream:p} was destroyed twice, or is none"));
        Err(status::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: *mut c_void) -> Status {
    call_in_context("cuStreamQuery", |machine, device| {
        let index = machine.stream(device, stream.addr())?;
        let targets = machine.schedule.of_stream(index);
        let done = machine.ask(&targets);
        machine.check(device)?;
        if !done {
            return Err(status::NOT_READY);
        }
        machine.schedule.observe_stream(index);
        Ok(())
    })
}

/// An event of this device.
fn event(machine: &mut Machine, device: usize, event: *mut c_void) -> Result<usize, Status> {
    let handle = event.addr();
    if machine.schedule.events.get(&handle).is_some_and(|event| event.device == device) {
        return Ok(handle);
    }
    machine.report(format!("event {event:p} was destroyed, is of another device, or is none"));
    Err(status::INVALID_HANDLE)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: *mut c_void, waited: *mut c_void, _flags: c_uint) -> Status {
    call_in_context("cuStreamWaitEvent", |machine, device| {
        // It may be of another device.
        let of = machine.schedule.events.get(&waited.addr()).map_or(device, |event| event.device);
        let handle = event(machine, of, waited)?;
        let stream = machine.stream(device, stream.addr())?;
        let hangs = machine.take_hang();
        machine.schedule.put(stream, "cuStreamWaitEvent", Work::Join, Some(handle), hangs);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(place: *mut *mut c_void, flags: c_uint) -> Status {
    call_in_context("cuEventCreate", |machine, device| {
        let handle = machine.new_handle();
        give(place, std::ptr::without_provenance_mut(handle))?;
        machine.schedule.make_event(handle, device, flags & 2 == 0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(recorded: *mut c_void, stream: *mut c_void) -> Status {
    call_in_context("cuEventRecord", |machine, device| {
        let handle = event(machine, device, recorded)?;
        let stream = machine.stream(device, stream.addr())?;
        let hangs = machine.take_hang();
        machine.schedule.record(stream, "cuEventRecord", handle, hangs);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(asked: *mut c_void) -> Status {
    call_in_context("cuEventQuery", |machine, device| {
        let handle = event(machine, device, asked)?;
        let targets = machine.schedule.of_event(handle).unwrap_or_default();
        let done = machine.ask(&targets);
        machine.check(device)?;
        if !done {
            return Err(status::NOT_READY);
        }
        machine.schedule.observe_event(handle);
        Ok(())
    })
}

/// A millisecond for each step in between: times mean nothing here.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, from: *mut c_void, to: *mut c_void) -> Status {
    call_in_context("cuEventElapsedTime", |machine, device| {
        let (from, to) = (event(machine, device, from)?, event(machine, device, to)?);
        let step = |handle| {
            let event = machine.schedule.events.get(&handle).filter(|event| event.timing);
            event.ok_or(status::INVALID_HANDLE)?.step.ok_or(status::NOT_READY)
        };
        let (from, to) = (step(from)?, step(to)?);
        give(milliseconds, to as f32 - from as f32)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(destroyed: *mut c_void) -> Status {
    call_in_context("cuEventDestroy_v2", |machine, device| {
        let handle = event(machine, device, destroyed)?;
        machine.schedule.events.remove(&handle);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    image: *const c_void,
    _options: c_uint,
    _names: *mut c_int,
    _values: *mut *mut c_void,
) -> Status {
    call_in_context("cuModuleLoadDataEx", |machine, device| {
        let image = Image::read(image).ok_or(status::INVALID_IMAGE)?;
        let handle = machine.new_handle();
        give(module, std::ptr::without_provenance_mut(handle))?;
        machine.modules.insert(handle, (device, image));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: *mut c_void) -> Status {
    call_in_context("cuModuleUnload", |machine, device| {
        if machine.modules.remove(&module.addr()).is_none() {
            machine.report(format!("module {module:p} was unloaded twice, or is none"));
            return Err(status::INVALID_HANDLE);
        }
        let uses = |work: &Work| matches!(work, Work::Launch { module: used, .. } if *used == module.addr());
        if machine.schedule.pending(device).any(|pending| uses(&pending.work)) {
            machine.report(format!("module {module:p} was unloaded while pending work uses it"));
        }
        machine.functions.retain(|_, function| function.module != module.addr());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(place: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> Status {
    call_in_context("cuModuleGetFunction", |machine, _| {
        let name = text_at(name)?;
        let (_, image) = machine.modules.get(&module.addr()).ok_or(status::INVALID_HANDLE)?;
        let kernel = image.kernel(&name, &machine.kernels).ok_or(status::NOT_FOUND)?;
        let handle = machine.new_handle();
        give(place, std::ptr::without_provenance_mut(handle))?;
        let function = Function { module: module.addr(), kernel, shared_bytes: DEFAULT_SHARED_BYTES };
        machine.functions.insert(handle, function);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: *mut c_void) -> Status {
    call_in_context("cuFuncGetAttribute", |machine, _| {
        let function = machine.functions.get(&function.addr()).ok_or(status::INVALID_HANDLE)?;
        let found = match attribute {
            0 => 1024,
            // Static shared and local memory.
            1 | 3 => 0,
            4 => 32,
            8 => function.shared_bytes as c_int,
            _ => return Err(status::INVALID_VALUE),
        };
        give(value, found)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: *mut c_void, attribute: c_int, value: c_int) -> Status {
    call_in_context("cuFuncSetAttribute", |machine, _| {
        let function = machine.functions.get_mut(&function.addr()).ok_or(status::INVALID_HANDLE)?;
        let bytes = u32::try_from(value).ok().filter(|bytes| *bytes <= MAX_SHARED_BYTES && attribute == 8);
        function.shared_bytes = bytes.ok_or(status::INVALID_VALUE)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: *mut c_void,
    threads: c_int,
    shared_bytes: usize,
) -> Status {
    call_in_context("cuOccupancyMaxActiveBlocksPerMultiprocessor", |machine, _| {
        machine.functions.get(&function.addr()).ok_or(status::INVALID_HANDLE)?;
        let by_threads = 2048usize.checked_div(usize::try_from(threads).unwrap_or(0)).ok_or(status::INVALID_VALUE)?;
        let by_memory = (MAX_SHARED_BYTES as usize).checked_div(shared_bytes).unwrap_or(32);
        give(blocks, by_threads.min(by_memory).min(32) as c_int)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Status {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    call_in_context("cuLaunchKernel", |machine, device| {
        let function = machine.functions.get(&function.addr()).ok_or(status::INVALID_HANDLE)?;
        let threads: u64 = block.iter().map(|&threads| u64::from(threads)).product();
        let empty = grid.contains(&0) || block.contains(&0);
        let too_large = |shape: [c_uint; 3], most: [c_uint; 3]| shape.iter().zip(most).any(|(&size, most)| size > most);
        let large = too_large(grid, MOST_BLOCKS) || too_large(block, MOST_THREADS) || threads > 1024;
        if empty || large || shared_bytes > function.shared_bytes {
            return Err(status::INVALID_VALUE);
        }
        let (module, kernel) = (function.module, function.kernel);
        let values = parameter_values(kernel.parameter_bytes, parameters)?;
        let work = Work::Launch { module, kernel, shape: Shape { grid, block, shared_bytes }, values };
        machine.put(device, "cuLaunchKernel", stream.addr(), work)
    })
}

/// Copies the values of a kernel's parameters, as the driver does before a launch returns.
fn parameter_values(sizes: &[usize], parameters: *mut *mut c_void) -> Result<Vec<Vec<u8>>, Status> {
    if sizes.is_empty() {
        return Ok(Vec::new());
    }
    if parameters.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let value = |(index, &bytes): (usize, &usize)| {
        // SAFETY: the launch gives an address for each parameter that the kernel declares.
        let place = unsafe { parameters.add(index).read() };
        // SAFETY: there is a value of the parameter's size.
        unsafe { std::slice::from_raw_parts(place.cast::<u8>(), bytes) }.to_vec()
    };
    Ok(sizes.iter().enumerate().map(value).collect())
}
