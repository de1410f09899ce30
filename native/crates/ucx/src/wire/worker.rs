//! A UCP context and its one worker: made, driven and destroyed here.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::sync::Arc;

use sluice_mem::MemoryKind;
use sluice_transport::WireError;

use super::inbox::{Inbox, callback_arg, on_message};
use super::status::check;
use crate::environment::selection;
use crate::library::{Machine, OLDEST_FOR_DEVICE_MEMORY, Ucx};
use crate::rdma_devices;
use crate::sys::{self, Functions};

/// The one kind of active message; what it is stands in it.
pub(super) const AM_ID: std::ffi::c_uint = 1;

/// A context and its worker, destroyed with this value. Everything made from them must have been given back before.
pub(super) struct Worker {
    ucx: Arc<Ucx>,
    context: sys::Context,
    /// Null when making it has failed.
    worker: sys::Worker,
    /// The worker has a pointer to it, so it must not go before the worker.
    inbox: Rc<Inbox>,
    address: Vec<u8>,
    event_fd: RawFd,
    /// Bits of the memory types that UCX can copy.
    memory_types: u64,
    pages_on_demand: bool,
}

impl Worker {
    /// # Errors
    /// UCX refuses: no transport that it was allowed to use works here, say.
    pub(super) fn new(ucx: Arc<Ucx>, inbox: Rc<Inbox>, machine: Machine) -> Result<Self, WireError> {
        let context = new_context(&ucx, machine)?;
        let (worker, address) = (null_mut(), Vec::new());
        // Soft-RoCE pages on demand since Linux 6.15, and on 7.2 readers got other bytes than the memory had. Of UCX's
        // drivers of RDMA cards, mlx5's alone asks for it.
        let pages_on_demand = !(machine.has_rdma_device && rdma_devices::may_use_other_than_mlx5());
        let mut made = Self { ucx, context, worker, inbox, address, event_fd: -1, memory_types: 0, pages_on_demand };
        if machine.device_memory {
            made.look_at_memory_types()?;
        }
        made.make_worker()?;
        made.take_messages()?;
        made.read_address()?;
        Ok(made)
    }

    fn look_at_memory_types(&mut self) -> Result<(), WireError> {
        // SAFETY: integers, all of which may be zero; the mask says which of them UCX writes.
        let mut attr: sys::ContextAttr = unsafe { std::mem::zeroed() };
        attr.field_mask = sys::ATTR_FIELD_MEMORY_TYPES;
        // SAFETY: the context is live until `drop`; `attr` is valid during the call.
        check("its memory types", unsafe { (self.ucx.calls.context_query)(self.context, &mut attr) })?;
        self.memory_types = attr.memory_types;
        Ok(())
    }

    /// Whether memory of this kind can be registered and read to.
    ///
    /// # Errors
    /// It cannot, and why.
    pub(super) fn check_kind(&self, kind: MemoryKind) -> Result<(), WireError> {
        if kind.device().is_none() || self.memory_types & 1 << sys::MEMORY_TYPE_CUDA != 0 {
            return Ok(());
        }
        let (major, minor) = OLDEST_FOR_DEVICE_MEMORY;
        let described = self.ucx.describe();
        Err(WireError(match self.memory_types {
            0 => format!("device memory needs UCX {major}.{minor} or later and a wire made for it: {described}"),
            _ => format!("{described} has no transport for device memory (libuct_cuda, or UCX_TLS excludes it)"),
        }))
    }

    fn make_worker(&mut self) -> Result<(), WireError> {
        // SAFETY: integers and raw pointers, all of which may be zero; the mask says which of them UCX looks at.
        let mut params: sys::WorkerParams = unsafe { std::mem::zeroed() };
        params.field_mask = sys::WORKER_PARAM_FIELD_THREAD_MODE;
        params.thread_mode = sys::THREAD_MODE_SINGLE;
        // SAFETY: the context is live until `drop`, which destroys the worker first; both pointers are valid during the
        // call.
        let status = unsafe { (self.ucx.calls.worker_create)(self.context, &params, &mut self.worker) };
        check("making a worker", status)?;
        // SAFETY: the worker is live; the out-parameter is valid during the call. The descriptor stays the worker's.
        let status = unsafe { (self.ucx.calls.worker_get_efd)(self.worker, &mut self.event_fd) };
        check("waking up", status)
    }

    fn take_messages(&self) -> Result<(), WireError> {
        let handler = sys::AmHandlerParam {
            field_mask: sys::AM_HANDLER_PARAM_FIELD_ID
                | sys::AM_HANDLER_PARAM_FIELD_FLAGS
                | sys::AM_HANDLER_PARAM_FIELD_CB
                | sys::AM_HANDLER_PARAM_FIELD_ARG,
            id: AM_ID,
            flags: sys::AM_FLAG_WHOLE_MSG,
            cb: Some(on_message),
            arg: callback_arg(&self.inbox),
        };
        // SAFETY: the worker is live; UCX copies the parameters. `on_message`'s contract: the inbox is this value's
        // until the worker has been destroyed, UCX calls back only inside of calls on the worker, which are all made on
        // one thread (`UcxWire` is not Send), and no borrow of the inbox is held during such calls.
        let status = unsafe { (self.ucx.calls.set_am_handler)(self.worker, &handler) };
        check("taking messages", status)
    }

    fn read_address(&mut self) -> Result<(), WireError> {
        let (mut address, mut length) = (null_mut(), 0);
        // SAFETY: the worker is live; both out-parameters are valid during the call.
        let status = unsafe { (self.ucx.calls.worker_get_address)(self.worker, &mut address, &mut length) };
        check("its address", status)?;
        // SAFETY: UCX has answered OK, so there are `length` bytes at `address`, which are ours until they are
        // released.
        self.address = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) }.to_vec();
        // SAFETY: given by `worker_get_address`, released once, and not used again: the bytes have been copied.
        unsafe { (self.ucx.calls.worker_release_address)(self.worker, address) };
        Ok(())
    }

    pub(super) fn calls(&self) -> &Functions {
        &self.ucx.calls
    }

    /// Live as long as `self`.
    pub(super) fn context(&self) -> sys::Context {
        self.context
    }

    /// Whether registered memory may be brought in page by page when it is read, by devices that can.
    pub(super) fn pages_on_demand(&self) -> bool {
        self.pages_on_demand
    }

    /// Live as long as `self`.
    pub(super) fn worker(&self) -> sys::Worker {
        self.worker
    }

    /// What peers open endpoints to.
    pub(super) fn address(&self) -> &[u8] {
        &self.address
    }

    /// Readable when there may be something to do, after [`Worker::arm`].
    pub(super) fn event_fd(&self) -> RawFd {
        self.event_fd
    }

    /// Lets UCX work, at most so many times as long as there is something; callbacks run inside.
    pub(super) fn progress(&self, most: usize) {
        for _ in 0..most {
            // SAFETY: the worker is live, and this is its thread.
            if unsafe { (self.ucx.calls.worker_progress)(self.worker) } == 0 {
                break;
            }
        }
    }

    /// Whether one may sleep until the event descriptor is readable; else there is something to do.
    pub(super) fn arm(&self) -> bool {
        // SAFETY: the worker is live, and this is its thread.
        unsafe { (self.ucx.calls.worker_arm)(self.worker) == sys::OK }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.worker.is_null() {
            // SAFETY: made by `make_worker`, destroyed once, and not used afterwards; the inbox is still there.
            unsafe { (self.ucx.calls.worker_destroy)(self.worker) };
        }
        // SAFETY: made by `new_context`, cleaned up once, after its only worker.
        unsafe { (self.ucx.calls.cleanup)(self.context) };
    }
}

fn new_context(ucx: &Ucx, machine: Machine) -> Result<sys::Context, WireError> {
    let calls = &ucx.calls;
    if machine.device_memory {
        Ucx::prepare_device_memory();
    }
    let mut config = null_mut();
    // SAFETY: no prefix and no file are given; the out-parameter is valid during the call.
    check("its configuration", unsafe { (calls.config_read)(null(), null(), &mut config) })?;
    for (name, value) in ucx.defaults(machine) {
        let (name, value) = (c_string(name)?, c_string(value)?);
        // A release that does not know a name has nothing that would have to be switched off: its refusal is no
        // failure. SAFETY: the configuration was read above and is live; both strings end with 0 and are copied by the
        // call.
        let _ = unsafe { (calls.config_modify)(config, name.as_ptr(), value.as_ptr()) };
    }
    // SAFETY: integers and raw pointers, all of which may be zero; the mask says which of them UCX looks at.
    let mut params: sys::Params = unsafe { std::mem::zeroed() };
    params.field_mask = sys::PARAM_FIELD_FEATURES | sys::PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = sys::FEATURE_RMA | sys::FEATURE_AM | sys::FEATURE_WAKEUP;
    let mut context = null_mut();
    let (major, minor) = crate::library::OLDEST;
    // SAFETY: `params` has the layout of the version that is named, which the library supports (`Ucx::open` has
    // checked); the configuration is live; all pointers are valid during the call.
    let status = unsafe { (calls.init)(major, minor, &params, config, &mut context) };
    // SAFETY: read above, released once, and not used again: the context has its own copy.
    unsafe { (calls.config_release)(config) };
    // UCX's own lines on the standard error say what it has instead.
    check("making a context", status).map_err(|WireError(why)| WireError(format!("{why}{}", selection())))?;
    Ok(context)
}

fn c_string(text: &str) -> Result<CString, WireError> {
    CString::new(text).map_err(|e| WireError(format!("'{text}' is no C string: {e}")))
}
