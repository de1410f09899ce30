//! Memory of the device.

use std::fmt;

use crate::context::Context;
use crate::error::CudaError;
use crate::reclaim::Late;
use crate::sys::Functions;

/// An address in a device's memory. Not to be read or written by the host, although host and device share one space of
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceAddress(pub u64);

impl DeviceAddress {
    /// The address `bytes` further on.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

impl fmt::Display for DeviceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// How much memory a device has, all processes considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeMemory {
    /// Bytes that nobody uses.
    pub free_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
}

/// Memory of the device, from the driver (`cuMemAlloc`); the driver gets it back when this is dropped.
///
/// Giving back lets the driver wait for all work of the device, whatever uses the memory. So it is never done where
/// rows are processed; arenas above keep it. If the driver does not answer in time it is counted as left, and the
/// driver frees it later (see [`Context::set_give_back_limit`]).
#[derive(Debug)]
pub struct DeviceMemory {
    context: Context,
    address: DeviceAddress,
    bytes: usize,
}

impl DeviceMemory {
    /// Its first byte; aligned to 256 bytes, and to 2 MiB if that large, by the driver.
    pub fn address(&self) -> DeviceAddress {
        self.address
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The driver's number of its device.
    pub fn ordinal(&self) -> u32 {
        u32::try_from(self.context.device().facts().ordinal).unwrap_or(0)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let address = self.address.0;
        // SAFETY: the address is of one allocation, which is given back once.
        let free = move |calls: &Functions| unsafe { (calls.mem_free)(address) };
        self.context.give_back_waiting("cuMemFree_v2", self.bytes, Late::Made, free);
    }
}

impl Context {
    /// The memory that is free on the device now.
    ///
    /// # Errors
    /// The device is lost.
    pub fn free_memory(&self) -> Result<FreeMemory, CudaError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        self.call("cuMemGetInfo_v2", |calls| unsafe { (calls.mem_info)(&mut free, &mut total) })?;
        Ok(FreeMemory { free_bytes: free as u64, total_bytes: total as u64 })
    }

    /// Allocates memory on the device. Its contents are anything.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`], or the device is lost.
    pub fn allocate(&self, bytes: usize) -> Result<DeviceMemory, CudaError> {
        let mut address = 0;
        // SAFETY: writes an address.
        self.call("cuMemAlloc_v2", |calls| unsafe { (calls.mem_alloc)(&mut address, bytes) })?;
        Ok(DeviceMemory { context: self.clone(), address: DeviceAddress(address), bytes })
    }
}
