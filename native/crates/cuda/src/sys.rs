//! The part of CUDA's driver interface that Sluice uses, as `cuda.h` declares it (CUDA 12.0 and later), found in a
//! library that is opened at run time. Symbols have the names that the header's macros give them: `cuMemAlloc` is
//! `cuMemAlloc_v2` in the library.
//!
//! There is no function here that works on "stream 0" without being told so: each one that puts work into a stream
//! takes the stream, and [`STREAM_LEGACY`] and [`STREAM_PER_THREAD`] say which default stream is meant. So the `_ptsz`
//! and `_ptds` variants, which differ only in what stream 0 is, are not needed. A test compares the sizes of the
//! parameters and the values of the constants with the header, where there is one.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

pub type Status = c_int;
pub type Device = c_int;
pub type DevicePtr = u64;

/// Opaque objects.
pub type Context = *mut c_void;
pub type Stream = *mut c_void;
pub type Event = *mut c_void;
pub type Module = *mut c_void;
pub type Function = *mut c_void;

/// The stream of stream 0 in programs of old: all blocking streams of the context wait for its work, and it for theirs.
pub const STREAM_LEGACY: Stream = 1 as Stream;
/// The default stream of the calling thread in the current context.
pub const STREAM_PER_THREAD: Stream = 2 as Stream;
pub const STREAM_NON_BLOCKING: c_uint = 1;

pub const EVENT_DEFAULT: c_uint = 0;
pub const EVENT_DISABLE_TIMING: c_uint = 2;

/// The registration counts in all contexts, those made later too.
pub const MEMHOSTREGISTER_PORTABLE: c_uint = 1;

pub const ATTRIBUTE_MULTIPROCESSOR_COUNT: c_int = 16;
pub const ATTRIBUTE_COMPUTE_MODE: c_int = 20;
pub const ATTRIBUTE_ECC_ENABLED: c_int = 32;
pub const ATTRIBUTE_ASYNC_ENGINE_COUNT: c_int = 40;
pub const ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
pub const ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_int = 76;
pub const ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
pub const ATTRIBUTE_MEMORY_POOLS_SUPPORTED: c_int = 115;

pub const COMPUTE_MODE_DEFAULT: c_int = 0;
pub const COMPUTE_MODE_PROHIBITED: c_int = 2;
pub const COMPUTE_MODE_EXCLUSIVE_PROCESS: c_int = 3;

pub const FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: c_int = 0;
pub const FUNC_ATTRIBUTE_NUM_REGS: c_int = 4;
pub const FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;

pub const JIT_ERROR_LOG_BUFFER: c_int = 5;
pub const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

pub const SUCCESS: Status = 0;
pub const INVALID_VALUE: Status = 1;
pub const OUT_OF_MEMORY: Status = 2;
pub const NOT_INITIALIZED: Status = 3;
pub const DEINITIALIZED: Status = 4;
pub const STUB_LIBRARY: Status = 34;
pub const CALL_REQUIRES_NEWER_DRIVER: Status = 36;
pub const DEVICE_UNAVAILABLE: Status = 46;
pub const NO_DEVICE: Status = 100;
pub const INVALID_DEVICE: Status = 101;
pub const DEVICE_NOT_LICENSED: Status = 102;
pub const INVALID_IMAGE: Status = 200;
pub const INVALID_CONTEXT: Status = 201;
pub const NO_BINARY_FOR_GPU: Status = 209;
pub const ECC_UNCORRECTABLE: Status = 214;
pub const INVALID_PTX: Status = 218;
pub const NVLINK_UNCORRECTABLE: Status = 220;
pub const UNSUPPORTED_PTX_VERSION: Status = 222;
pub const CONTAINED: Status = 226;
pub const OPERATING_SYSTEM: Status = 304;
pub const INVALID_HANDLE: Status = 400;
pub const NOT_FOUND: Status = 500;
pub const NOT_READY: Status = 600;
pub const ILLEGAL_ADDRESS: Status = 700;
pub const LAUNCH_OUT_OF_RESOURCES: Status = 701;
pub const LAUNCH_TIMEOUT: Status = 702;
pub const CONTEXT_IS_DESTROYED: Status = 709;
pub const ASSERT: Status = 710;
pub const HOST_MEMORY_ALREADY_REGISTERED: Status = 712;
pub const HOST_MEMORY_NOT_REGISTERED: Status = 713;
pub const HARDWARE_STACK_ERROR: Status = 714;
pub const ILLEGAL_INSTRUCTION: Status = 715;
pub const MISALIGNED_ADDRESS: Status = 716;
pub const INVALID_ADDRESS_SPACE: Status = 717;
pub const INVALID_PC: Status = 718;
pub const LAUNCH_FAILED: Status = 719;
pub const TENSOR_MEMORY_LEAK: Status = 721;
pub const NOT_PERMITTED: Status = 800;
pub const NOT_SUPPORTED: Status = 801;
pub const SYSTEM_NOT_READY: Status = 802;
pub const SYSTEM_DRIVER_MISMATCH: Status = 803;
pub const COMPAT_NOT_SUPPORTED_ON_DEVICE: Status = 804;
pub const MPS_CONNECTION_FAILED: Status = 805;
pub const MPS_RPC_FAILURE: Status = 806;
pub const MPS_SERVER_NOT_READY: Status = 807;
pub const MPS_MAX_CLIENTS_REACHED: Status = 808;
pub const MPS_MAX_CONNECTIONS_REACHED: Status = 809;
pub const MPS_CLIENT_TERMINATED: Status = 810;
pub const EXTERNAL_DEVICE: Status = 911;
pub const UNKNOWN: Status = 999;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uuid {
    pub bytes: [u8; 16],
}

/// Passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcMemHandle {
    pub reserved: [u8; 64],
}

pub const IPC_MEM_LAZY_ENABLE_PEER_ACCESS: c_uint = 1;

/// `cuDriverGetVersion`: writes 1000 × major + 10 × minor. It works before `cuInit`.
pub type GetVersion = unsafe extern "C" fn(*mut c_int) -> Status;

/// # Errors
/// It is no CUDA driver.
///
/// # Safety
/// As [`Functions::of`].
pub unsafe fn get_version(library: &Library) -> Result<GetVersion, libloading::Error> {
    // SAFETY: the caller promises that the symbol has this type.
    unsafe { library.get(b"cuDriverGetVersion\0") }.map(|symbol| *symbol)
}

/// Declares the table of functions and how it is filled from a library.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal: fn($($arg:ty),*);)*) => {
        /// The functions of one opened library; valid as long as it is. All answer with a status.
        pub struct Functions {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        /// The functions' names in the library.
        pub const SYMBOLS: &[&str] = &[$($symbol),*];

        impl Functions {
            /// # Errors
            /// The library lacks one: it is no CUDA driver, or a very old one.
            ///
            /// # Safety
            /// The library is the CUDA driver, so that the symbols have these types, and outlives the table.
            pub unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the caller promises that the symbols have these types.
                    $($name: *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }?,)*
                })
            }
        }

        /// Of each function, the sizes of its parameters.
        #[cfg(test)]
        const SIZES: &[(&str, &[usize])] = &[$(($symbol, &[$(size_of::<$arg>()),*])),*];
    };
}

functions! {
    init = "cuInit": fn(c_uint);
    error_name = "cuGetErrorName": fn(Status, *mut *const c_char);
    error_string = "cuGetErrorString": fn(Status, *mut *const c_char);
    device_count = "cuDeviceGetCount": fn(*mut c_int);
    device_get = "cuDeviceGet": fn(*mut Device, c_int);
    device_name = "cuDeviceGetName": fn(*mut c_char, c_int, Device);
    /// A slice's own UUID on a device that is partitioned (MIG).
    device_uuid = "cuDeviceGetUuid_v2": fn(*mut Uuid, Device);
    device_total_mem = "cuDeviceTotalMem_v2": fn(*mut usize, Device);
    device_attribute = "cuDeviceGetAttribute": fn(*mut c_int, c_int, Device);
    device_pci_bus_id = "cuDeviceGetPCIBusId": fn(*mut c_char, c_int, Device);
    primary_retain = "cuDevicePrimaryCtxRetain": fn(*mut Context, Device);
    primary_release = "cuDevicePrimaryCtxRelease_v2": fn(Device);
    primary_state = "cuDevicePrimaryCtxGetState": fn(Device, *mut c_uint, *mut c_int);
    ctx_push = "cuCtxPushCurrent_v2": fn(Context);
    ctx_pop = "cuCtxPopCurrent_v2": fn(*mut Context);
    mem_info = "cuMemGetInfo_v2": fn(*mut usize, *mut usize);
    mem_alloc = "cuMemAlloc_v2": fn(*mut DevicePtr, usize);
    mem_free = "cuMemFree_v2": fn(DevicePtr);
    mem_alloc_async = "cuMemAllocAsync": fn(*mut DevicePtr, usize, Stream);
    mem_free_async = "cuMemFreeAsync": fn(DevicePtr, Stream);
    ipc_get = "cuIpcGetMemHandle": fn(*mut IpcMemHandle, DevicePtr);
    ipc_open = "cuIpcOpenMemHandle_v2": fn(*mut DevicePtr, IpcMemHandle, c_uint);
    ipc_close = "cuIpcCloseMemHandle": fn(DevicePtr);
    host_register = "cuMemHostRegister_v2": fn(*mut c_void, usize, c_uint);
    host_unregister = "cuMemHostUnregister": fn(*mut c_void);
    copy_to_device = "cuMemcpyHtoDAsync_v2": fn(DevicePtr, *const c_void, usize, Stream);
    copy_to_host = "cuMemcpyDtoHAsync_v2": fn(*mut c_void, DevicePtr, usize, Stream);
    copy_on_device = "cuMemcpyDtoDAsync_v2": fn(DevicePtr, DevicePtr, usize, Stream);
    fill = "cuMemsetD8Async": fn(DevicePtr, u8, usize, Stream);
    stream_create = "cuStreamCreate": fn(*mut Stream, c_uint);
    stream_destroy = "cuStreamDestroy_v2": fn(Stream);
    stream_query = "cuStreamQuery": fn(Stream);
    stream_wait_event = "cuStreamWaitEvent": fn(Stream, Event, c_uint);
    event_create = "cuEventCreate": fn(*mut Event, c_uint);
    event_record = "cuEventRecord": fn(Event, Stream);
    event_query = "cuEventQuery": fn(Event);
    event_elapsed = "cuEventElapsedTime": fn(*mut f32, Event, Event);
    event_destroy = "cuEventDestroy_v2": fn(Event);
    module_load = "cuModuleLoadDataEx": fn(*mut Module, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload = "cuModuleUnload": fn(Module);
    module_function = "cuModuleGetFunction": fn(*mut Function, Module, *const c_char);
    function_attribute = "cuFuncGetAttribute": fn(*mut c_int, c_int, Function);
    function_set_attribute = "cuFuncSetAttribute": fn(Function, c_int, c_int);
    blocks_per_multiprocessor = "cuOccupancyMaxActiveBlocksPerMultiprocessor": fn(*mut c_int, Function, c_int, usize);
    launch = "cuLaunchKernel":
        fn(
            Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream, *mut *mut c_void,
            *mut *mut c_void
        );
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    /// Constants of ours with their names in the header.
    macro_rules! constants {
        ($($ours:ident = $theirs:literal),* $(,)?) => { [$(($theirs, $ours as usize as i64)),*] };
    }

    /// Prints a function's name and the sizes of its parameters, from its type alone: nothing has to be linked.
    const SHOW: &str = r#"
#define __CUDA_API_VERSION_INTERNAL
#include <cstdio>
#include <cuda.h>
template <class F> struct Show;
template <class... A> struct Show<CUresult(A...)> {
  static void show(const char *name) {
    const size_t sizes[] = {sizeof(A)...};
    std::printf("%s", name);
    for (size_t size : sizes) std::printf(" %zu", size);
    std::printf("\n");
  }
};
int main() {
"#;

    /// Constants that the header of CUDA 12.0 does not have.
    const LATER: [&str; 4] = [
        "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
        "CUDA_ERROR_CONTAINED",
        "CUDA_ERROR_TENSOR_MEMORY_LEAK",
        "CUDA_ERROR_EXTERNAL_DEVICE",
    ];

    #[test]
    fn sizes_and_values_are_those_of_the_header() {
        let configured = std::env::var_os("SLUICE_CUDA_INCLUDE").map(PathBuf::from);
        let folders = configured.into_iter().chain([PathBuf::from("/usr/local/cuda/include")]);
        let Some(include) = folders.into_iter().find(|folder| folder.join("cuda.h").exists()) else {
            return eprintln!("skipped: sizes_and_values_are_those_of_the_header: no cuda.h (SLUICE_CUDA_INCLUDE)");
        };
        let (mut expected, mut program) = (String::new(), String::from(SHOW));
        for (symbol, sizes) in SIZES {
            let sizes: String = sizes.iter().map(|size| format!(" {size}")).collect();
            let _ = writeln!(expected, "{symbol}{sizes}");
            let _ = writeln!(program, "Show<decltype({symbol})>::show(\"{symbol}\");");
        }
        let header = std::fs::read_to_string(include.join("cuda.h")).expect("read");
        let known = |name: &str| !LATER.contains(&name) || header.contains(name);
        for (name, value) in constants().into_iter().filter(|(name, _)| known(name)) {
            let _ = writeln!(expected, "{name} {value}");
            let _ = writeln!(program, "std::printf(\"{name} %lld\\n\", (long long){name});");
        }
        program.push_str("return 0; }\n");
        let folder = std::env::temp_dir().join(format!("sluice-cuda-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let (source, asks) = (folder.join("table.cpp"), folder.join("table"));
        std::fs::write(&source, program).expect("written");
        let compiled = Command::new("c++").arg("-I").arg(include).arg("-o").args([&asks, &source]).status();
        match compiled {
            Ok(status) => assert!(status.success(), "c++: {status}"),
            Err(why) => {
                return eprintln!("skipped: sizes_and_values_are_those_of_the_header: no C++ compiler (c++): {why}");
            }
        }
        let printed = Command::new(&asks).output().expect("runs").stdout;
        assert_eq!(String::from_utf8_lossy(&printed), expected);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    fn constants() -> [(&'static str, i64); 73] {
        constants! {
        STREAM_LEGACY = "CU_STREAM_LEGACY",
        STREAM_PER_THREAD = "CU_STREAM_PER_THREAD",
        STREAM_NON_BLOCKING = "CU_STREAM_NON_BLOCKING",
        EVENT_DEFAULT = "CU_EVENT_DEFAULT",
        EVENT_DISABLE_TIMING = "CU_EVENT_DISABLE_TIMING",
        MEMHOSTREGISTER_PORTABLE = "CU_MEMHOSTREGISTER_PORTABLE",
        IPC_MEM_LAZY_ENABLE_PEER_ACCESS = "CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS",
        ATTRIBUTE_MULTIPROCESSOR_COUNT = "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
        ATTRIBUTE_COMPUTE_MODE = "CU_DEVICE_ATTRIBUTE_COMPUTE_MODE",
        ATTRIBUTE_ECC_ENABLED = "CU_DEVICE_ATTRIBUTE_ECC_ENABLED",
        ATTRIBUTE_ASYNC_ENGINE_COUNT = "CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT",
        ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
        ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
        ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
        ATTRIBUTE_MEMORY_POOLS_SUPPORTED = "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED",
        COMPUTE_MODE_DEFAULT = "CU_COMPUTEMODE_DEFAULT",
        COMPUTE_MODE_PROHIBITED = "CU_COMPUTEMODE_PROHIBITED",
        COMPUTE_MODE_EXCLUSIVE_PROCESS = "CU_COMPUTEMODE_EXCLUSIVE_PROCESS",
        FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
        FUNC_ATTRIBUTE_NUM_REGS = "CU_FUNC_ATTRIBUTE_NUM_REGS",
        FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
        JIT_ERROR_LOG_BUFFER = "CU_JIT_ERROR_LOG_BUFFER",
        JIT_ERROR_LOG_BUFFER_SIZE_BYTES = "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
        SUCCESS = "CUDA_SUCCESS",
        INVALID_VALUE = "CUDA_ERROR_INVALID_VALUE",
        OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY",
        NOT_INITIALIZED = "CUDA_ERROR_NOT_INITIALIZED",
        DEINITIALIZED = "CUDA_ERROR_DEINITIALIZED",
        STUB_LIBRARY = "CUDA_ERROR_STUB_LIBRARY",
        CALL_REQUIRES_NEWER_DRIVER = "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
        DEVICE_UNAVAILABLE = "CUDA_ERROR_DEVICE_UNAVAILABLE",
        NO_DEVICE = "CUDA_ERROR_NO_DEVICE",
        INVALID_DEVICE = "CUDA_ERROR_INVALID_DEVICE",
        DEVICE_NOT_LICENSED = "CUDA_ERROR_DEVICE_NOT_LICENSED",
        INVALID_IMAGE = "CUDA_ERROR_INVALID_IMAGE",
        INVALID_CONTEXT = "CUDA_ERROR_INVALID_CONTEXT",
        NO_BINARY_FOR_GPU = "CUDA_ERROR_NO_BINARY_FOR_GPU",
        ECC_UNCORRECTABLE = "CUDA_ERROR_ECC_UNCORRECTABLE",
        INVALID_PTX = "CUDA_ERROR_INVALID_PTX",
        NVLINK_UNCORRECTABLE = "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        UNSUPPORTED_PTX_VERSION = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        CONTAINED = "CUDA_ERROR_CONTAINED",
        OPERATING_SYSTEM = "CUDA_ERROR_OPERATING_SYSTEM",
        INVALID_HANDLE = "CUDA_ERROR_INVALID_HANDLE",
        NOT_FOUND = "CUDA_ERROR_NOT_FOUND",
        NOT_READY = "CUDA_ERROR_NOT_READY",
        ILLEGAL_ADDRESS = "CUDA_ERROR_ILLEGAL_ADDRESS",
        LAUNCH_OUT_OF_RESOURCES = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        LAUNCH_TIMEOUT = "CUDA_ERROR_LAUNCH_TIMEOUT",
        CONTEXT_IS_DESTROYED = "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        ASSERT = "CUDA_ERROR_ASSERT",
        HOST_MEMORY_ALREADY_REGISTERED = "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        HOST_MEMORY_NOT_REGISTERED = "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        HARDWARE_STACK_ERROR = "CUDA_ERROR_HARDWARE_STACK_ERROR",
        ILLEGAL_INSTRUCTION = "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        MISALIGNED_ADDRESS = "CUDA_ERROR_MISALIGNED_ADDRESS",
        INVALID_ADDRESS_SPACE = "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        INVALID_PC = "CUDA_ERROR_INVALID_PC",
        LAUNCH_FAILED = "CUDA_ERROR_LAUNCH_FAILED",
        TENSOR_MEMORY_LEAK = "CUDA_ERROR_TENSOR_MEMORY_LEAK",
        NOT_PERMITTED = "CUDA_ERROR_NOT_PERMITTED",
        NOT_SUPPORTED = "CUDA_ERROR_NOT_SUPPORTED",
        SYSTEM_NOT_READY = "CUDA_ERROR_SYSTEM_NOT_READY",
        SYSTEM_DRIVER_MISMATCH = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        COMPAT_NOT_SUPPORTED_ON_DEVICE = "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        MPS_CONNECTION_FAILED = "CUDA_ERROR_MPS_CONNECTION_FAILED",
        MPS_RPC_FAILURE = "CUDA_ERROR_MPS_RPC_FAILURE",
        MPS_SERVER_NOT_READY = "CUDA_ERROR_MPS_SERVER_NOT_READY",
        MPS_MAX_CLIENTS_REACHED = "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
        MPS_MAX_CONNECTIONS_REACHED = "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
        MPS_CLIENT_TERMINATED = "CUDA_ERROR_MPS_CLIENT_TERMINATED",
        EXTERNAL_DEVICE = "CUDA_ERROR_EXTERNAL_DEVICE",
        UNKNOWN = "CUDA_ERROR_UNKNOWN",
        }
    }
}
