//! What goes wrong with a GPU, in the terms of who has to react.

use std::ffi::CStr;
use std::fmt;

use crate::sys::{self, Status};

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no driver library, or what was found is none.
    NoDriver,
    /// The driver is older than [`crate::OLDEST`], or does not fit to the kernel's module.
    DriverTooOld,
    /// The driver works and has no such device for this process.
    NoDevice,
    /// The driver is there and does not work, now or at all: NVIDIA's services or kernel modules are not ready.
    DriverFailed,
    /// This process may not open the device files.
    NoPermission,
    /// Another process has the device for itself (exclusive mode), or nobody may use it (prohibited mode).
    DeviceBusy,
    /// No memory now, of the device or to pin. Temporary.
    OutOfMemory,
    /// The device cannot be used by this process any more: a fault in the context that all share, an uncorrectable
    /// memory error, work that did not end. Permanent; every later call is refused with this kind, without the driver
    /// being asked.
    DeviceLost,
    /// The wait was given up because the task is being killed.
    Killed,
    /// This driver or device does not have the function.
    Unsupported,
    /// The driver rejected the arguments: an error in Sluice.
    Rejected,
}

/// A call that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaError {
    kind: ErrorKind,
    status: Status,
    message: String,
}

impl CudaError {
    /// An error that is not a status of the driver's.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: sys::SUCCESS, message: message.into() }
    }

    /// A status of the driver's; `words` are the driver's for it.
    pub(crate) fn of_status(call: &str, status: Status, words: &str) -> Self {
        let kind = kind_of(status);
        let advice = advice(call, kind, status);
        let separator = if advice.is_empty() { "" } else { "; " };
        Self { kind, status, message: format!("{call}: {words}{separator}{advice}") }
    }

    /// The same, with what the driver's compiler wrote into `log`, which ends with a 0.
    pub(crate) fn with_log(mut self, log: &[u8]) -> Self {
        let text = CStr::from_bytes_until_nul(log).unwrap_or_default().to_string_lossy();
        if !text.trim().is_empty() {
            self.message = format!("{}: {}", self.message, text.trim());
        }
        self
    }

    /// The same, as another kind: where the call that failed says more than its status.
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The driver's number of the error, or 0 if the driver did not say it.
    pub fn status(&self) -> i32 {
        self.status
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CudaError {}

/// The kind of a status, after `cuInit` has succeeded.
fn kind_of(status: Status) -> ErrorKind {
    match status {
        sys::STUB_LIBRARY | sys::NOT_INITIALIZED => ErrorKind::NoDriver,
        sys::CALL_REQUIRES_NEWER_DRIVER
        | sys::SYSTEM_DRIVER_MISMATCH
        | sys::COMPAT_NOT_SUPPORTED_ON_DEVICE
        | sys::UNSUPPORTED_PTX_VERSION => ErrorKind::DriverTooOld,
        sys::NO_DEVICE | sys::INVALID_DEVICE | sys::DEVICE_NOT_LICENSED => ErrorKind::NoDevice,
        sys::SYSTEM_NOT_READY => ErrorKind::DriverFailed,
        sys::NOT_PERMITTED | sys::OPERATING_SYSTEM => ErrorKind::NoPermission,
        sys::DEVICE_UNAVAILABLE
        | sys::MPS_SERVER_NOT_READY
        | sys::MPS_MAX_CLIENTS_REACHED
        | sys::MPS_MAX_CONNECTIONS_REACHED => ErrorKind::DeviceBusy,
        sys::OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        sys::NOT_SUPPORTED | sys::NO_BINARY_FOR_GPU => ErrorKind::Unsupported,
        _ if is_sticky(status) => ErrorKind::DeviceLost,
        _ => ErrorKind::Rejected,
    }
}

/// Whether all later calls in the context fail after this status, so that only a new process can use the device.
///
/// From the descriptions of `CUresult` in `cuda.h`: "this leaves the process in an inconsistent state and any further
/// CUDA work will return the same error", and those by which a driver reports a device that has gone.
fn is_sticky(status: Status) -> bool {
    matches!(
        status,
        sys::DEINITIALIZED
            | sys::ECC_UNCORRECTABLE
            | sys::NVLINK_UNCORRECTABLE
            | sys::CONTAINED
            | sys::ILLEGAL_ADDRESS
            | sys::LAUNCH_TIMEOUT
            | sys::CONTEXT_IS_DESTROYED
            | sys::ASSERT
            | sys::HARDWARE_STACK_ERROR
            | sys::ILLEGAL_INSTRUCTION
            | sys::MISALIGNED_ADDRESS
            | sys::INVALID_ADDRESS_SPACE
            | sys::INVALID_PC
            | sys::LAUNCH_FAILED
            | sys::TENSOR_MEMORY_LEAK
            | sys::EXTERNAL_DEVICE
            | sys::MPS_CONNECTION_FAILED
            | sys::MPS_RPC_FAILURE
            | sys::MPS_CLIENT_TERMINATED
            | sys::UNKNOWN
    )
}

/// What a user can do.
fn advice(call: &str, kind: ErrorKind, status: Status) -> &'static str {
    match kind {
        ErrorKind::DeviceLost => "the device cannot be used by this process any more; look for Xid in the kernel's log",
        _ if call.starts_with("cuMemHostRegister") && status != sys::HOST_MEMORY_ALREADY_REGISTERED => {
            "the memory could not be pinned: free memory or raise the container's memory limit (the limit on locked \
             memory, ulimit -l, is not known to count)"
        }
        ErrorKind::DriverFailed if status == sys::SYSTEM_NOT_READY => {
            "a service of NVIDIA's is not ready: on machines with NVSwitch, look whether nvidia-fabricmanager runs and \
             has the driver's version"
        }
        ErrorKind::OutOfMemory => {
            "other users of the device leave too little: lower RAPIDS' pool (spark.rapids.memory.gpu.allocFraction)"
        }
        ErrorKind::DeviceBusy if status != sys::DEVICE_UNAVAILABLE => {
            "MPS takes no further process now: look whether its server runs, and how many clients it may have"
        }
        ErrorKind::DeviceBusy => {
            "another process has the device for itself: set its compute mode to DEFAULT (nvidia-smi -c 0) or give each \
             executor a device of its own"
        }
        ErrorKind::DriverTooOld => "update NVIDIA's driver, and load its kernel module of the same version",
        ErrorKind::NoPermission => "this user needs to read and write /dev/nvidia* (group, container's device list)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_kind_of_the_one_who_reacts() {
        for (status, kind) in [
            (sys::OUT_OF_MEMORY, ErrorKind::OutOfMemory),
            (sys::DEVICE_UNAVAILABLE, ErrorKind::DeviceBusy),
            (sys::MPS_SERVER_NOT_READY, ErrorKind::DeviceBusy),
            (sys::MPS_MAX_CLIENTS_REACHED, ErrorKind::DeviceBusy),
            (sys::MPS_MAX_CONNECTIONS_REACHED, ErrorKind::DeviceBusy),
            (sys::NO_DEVICE, ErrorKind::NoDevice),
            (sys::SYSTEM_NOT_READY, ErrorKind::DriverFailed),
            (sys::TENSOR_MEMORY_LEAK, ErrorKind::DeviceLost),
            (sys::EXTERNAL_DEVICE, ErrorKind::DeviceLost),
            (sys::SYSTEM_DRIVER_MISMATCH, ErrorKind::DriverTooOld),
            (sys::ILLEGAL_ADDRESS, ErrorKind::DeviceLost),
            (sys::LAUNCH_FAILED, ErrorKind::DeviceLost),
            (sys::ECC_UNCORRECTABLE, ErrorKind::DeviceLost),
            (sys::INVALID_VALUE, ErrorKind::Rejected),
            (sys::LAUNCH_OUT_OF_RESOURCES, ErrorKind::Rejected),
            (sys::NOT_SUPPORTED, ErrorKind::Unsupported),
        ] {
            assert_eq!(CudaError::of_status("cuMemAlloc_v2", status, "").kind(), kind, "{status}");
        }
    }

    #[test]
    fn memory_that_cannot_be_pinned_is_told_apart_from_the_device_s() {
        let pin = CudaError::of_status("cuMemHostRegister_v2", sys::OUT_OF_MEMORY, "out of memory").to_string();
        assert!(pin.contains("container's memory limit"), "{pin}");
        let other = CudaError::of_status("cuMemHostRegister_v2", sys::NOT_SUPPORTED, "not supported").to_string();
        assert!(other.contains("could not be pinned"), "any refusal: {other}");
        let device = CudaError::of_status("cuMemAlloc_v2", sys::OUT_OF_MEMORY, "out of memory").to_string();
        assert!(device.contains("spark.rapids.memory.gpu.allocFraction"), "{device}");
    }
}
