//! Device memory of another process of this machine, by CUDA's legacy IPC: to compare with what UCX's `cuda_ipc` does.

use std::fmt;

use crate::context::Context;
use crate::error::CudaError;
use crate::memory::{DeviceAddress, DeviceMemory};
use crate::reclaim::Late;
use crate::sys::{self, Functions};

/// Names an allocation to other processes of this machine, as bytes to be sent to them. It opens nothing any more when
/// the process that has the allocation has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IpcHandle(pub [u8; 64]);

impl fmt::Debug for IpcHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpcHandle({:02x?}…)", &self.0[..8])
    }
}

/// Another process's device memory, mapped into this one's addresses; the mapping ends when this is dropped, as
/// [`DeviceMemory`] is given back.
///
/// The other process may write to it, or free it, at any time; memory that it has freed stays allocated until the last
/// mapping has ended.
#[derive(Debug)]
pub struct IpcMemory {
    context: Context,
    address: DeviceAddress,
}

impl IpcMemory {
    /// Where the allocation's first byte is here.
    pub fn address(&self) -> DeviceAddress {
        self.address
    }
}

impl Drop for IpcMemory {
    fn drop(&mut self) {
        let address = self.address.0;
        // SAFETY: the address is of one mapping, which is ended once.
        let close = move |calls: &Functions| unsafe { (calls.ipc_close)(address) };
        self.context.give_back_waiting("cuIpcCloseMemHandle", 0, Late::Made, close);
    }
}

impl DeviceMemory {
    /// A handle by which other processes of this machine can map this memory.
    ///
    /// # Errors
    /// The device or the system (a container, a virtual GPU) has no IPC; the device is lost.
    pub fn ipc_handle(&self) -> Result<IpcHandle, CudaError> {
        let mut handle = sys::IpcMemHandle { reserved: [0; 64] };
        self.context().call("cuIpcGetMemHandle", |calls| {
            // SAFETY: writes a handle; the address is of an allocation.
            unsafe { (calls.ipc_get)(&mut handle, self.address().0) }
        })?;
        Ok(IpcHandle(handle.reserved))
    }
}

impl Context {
    /// Maps another process's memory.
    ///
    /// # Errors
    /// The handle is none, is of this process, or its process has ended; the device or the system has no IPC; the
    /// device is lost.
    pub fn open_ipc(&self, handle: &IpcHandle) -> Result<IpcMemory, CudaError> {
        let (mut address, handle) = (0, sys::IpcMemHandle { reserved: handle.0 });
        self.call("cuIpcOpenMemHandle_v2", |calls| {
            // SAFETY: writes an address; the driver checks what a handle says.
            unsafe { (calls.ipc_open)(&mut address, handle, sys::IPC_MEM_LAZY_ENABLE_PEER_ACCESS) }
        })?;
        Ok(IpcMemory { context: self.clone(), address: DeviceAddress(address) })
    }
}
