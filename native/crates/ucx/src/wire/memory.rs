//! Memory that peers may read.

use std::collections::HashMap;
use std::ffi::c_uint;
use std::ptr::null_mut;

use sluice_mem::MemoryKind;
use sluice_transport::{Region, WireError};

use super::status::{check, error};
use super::worker::Worker;
use crate::rdma_devices;
use crate::sys;

/// Registered memory by region.
#[derive(Default)]
pub(super) struct Memory {
    regions: HashMap<Region, sys::Mem>,
}

impl Memory {
    /// Registers memory for reading by peers; its packed key.
    ///
    /// # Safety
    /// The memory is of that kind and stays mapped and readable, or allocated on its GPU, until [`Memory::unregister`]
    /// or [`Memory::unregister_all`].
    pub(super) unsafe fn register(
        &mut self,
        worker: &Worker,
        region: Region,
        address: usize,
        bytes: usize,
        kind: MemoryKind,
    ) -> Result<Vec<u8>, WireError> {
        worker.check_kind(kind)?;
        // Little of what is registered may ever be read: a device that pages on demand brings only that into memory.
        let flags = if worker.pages_on_demand() { sys::MEM_MAP_NONBLOCK } else { 0 };
        let prot = sys::MEM_MAP_PROT_LOCAL_READ | sys::MEM_MAP_PROT_REMOTE_READ;
        // SAFETY: the memory is mapped and stays so until it is unregistered (contract).
        let mem = unsafe { map(worker, address, bytes, kind, flags, prot) }?;
        match pack_key(worker, mem) {
            Ok(key) => {
                self.regions.insert(region, mem);
                Ok(key)
            }
            Err(status) => {
                unmap(worker, mem);
                Err(error("a memory's key", status))
            }
        }
    }

    pub(super) fn unregister(&mut self, worker: &Worker, region: Region) {
        self.regions.remove(&region).into_iter().for_each(|mem| unmap(worker, mem));
    }

    pub(super) fn unregister_all(&mut self, worker: &Worker) {
        self.regions.drain().for_each(|(_, mem)| unmap(worker, mem));
    }
}

/// The bytes that a peer needs to read memory.
fn pack_key(worker: &Worker, mem: sys::Mem) -> Result<Vec<u8>, sys::Status> {
    let (mut packed, mut length) = (null_mut(), 0);
    // SAFETY: the context is live and `mem` was mapped in it; both out-parameters are valid during the call.
    let status = unsafe { (worker.calls().rkey_pack)(worker.context(), mem, &mut packed, &mut length) };
    if status != sys::OK {
        return Err(status);
    }
    // SAFETY: UCX has answered OK, so there are `length` bytes at `packed`, which are ours until they are released.
    let key = unsafe { std::slice::from_raw_parts(packed.cast::<u8>(), length) }.to_vec();
    // SAFETY: given by `rkey_pack`, released once, and not used again: `key` is a copy.
    unsafe { (worker.calls().rkey_buffer_release)(packed) };
    Ok(key)
}

/// Registers memory.
///
/// # Safety
/// The memory is of that kind, which the worker can read, and stays mapped or allocated until [`unmap`] or the end of
/// the worker's context.
pub(super) unsafe fn map(
    worker: &Worker,
    address: usize,
    bytes: usize,
    kind: MemoryKind,
    flags: c_uint,
    prot: c_uint,
) -> Result<sys::Mem, WireError> {
    // SAFETY: integers and raw pointers, all of which may be zero; the mask says which of them UCX looks at.
    let mut params: sys::MemMapParams = unsafe { std::mem::zeroed() };
    params.field_mask = sys::MEM_MAP_PARAM_FIELD_ADDRESS
        | sys::MEM_MAP_PARAM_FIELD_LENGTH
        | sys::MEM_MAP_PARAM_FIELD_FLAGS
        | sys::MEM_MAP_PARAM_FIELD_PROT
        | sys::MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
    params.address = std::ptr::with_exposed_provenance_mut(address);
    params.length = bytes;
    params.flags = flags;
    params.prot = prot;
    params.memory_type = type_of(kind);
    let mut mem = null_mut();
    // SAFETY: the context is live as long as `worker`; `params` and `mem` are valid during the call; the memory is
    // mapped and stays so (contract).
    let status = unsafe { (worker.calls().mem_map)(worker.context(), &params, &mut mem) };
    check("registering memory", status)?;
    Ok(mem)
}

/// What UCX calls a kind of memory. Pinned memory is the host's: that a GPU reads it directly is of no use to UCX,
/// which lets CUDA's driver copy between the two and does not look at what is pinned.
fn type_of(kind: MemoryKind) -> c_uint {
    match kind {
        MemoryKind::Host | MemoryKind::Pinned => sys::MEMORY_TYPE_HOST,
        MemoryKind::Device(_) => sys::MEMORY_TYPE_CUDA,
    }
}

/// Tells UCX the kind of an operation's own memory. Otherwise it asks CUDA's driver for each operation, where it uses
/// that at all: it keeps no list of the process's allocations (`MEMTYPE_CACHE`).
pub(super) fn set_type(param: &mut sys::RequestParam, kind: MemoryKind) {
    param.op_attr_mask |= sys::OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = type_of(kind);
}

/// Ends a mapping that has left (or never entered) its table, so that it is ended once.
pub(super) fn unmap(worker: &Worker, mem: sys::Mem) {
    // SAFETY: `mem` was mapped in this context, which is live, and is not in the table any more, so it is not unmapped
    // again.
    unsafe { (worker.calls().mem_unmap)(worker.context(), mem) };
}

/// Whether this machine has RDMA devices and UCX may use them: their drivers register all memory for writing by the
/// device, and the kernel refuses that for read-only mappings.
pub(super) fn has_rdma_device() -> bool {
    rdma_devices::are_permitted()
        && std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut devices| devices.next().is_some())
}
