//! A UCX of which the test decides when requests end, for what no real one can be told to do. It counts the calls. Its
//! state is of the test's thread.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use crate::sys::{self, AmCallback, Functions, SendCallback, Status, StatusPtr};

/// What the fake was given.
#[derive(Default)]
struct State {
    /// Calls since the last look.
    calls: Vec<&'static str>,
    handler: Option<(AmCallback, *mut c_void)>,
    endpoint_handlers: Vec<sys::ErrHandler>,
    /// Requests under way, each with its address, which is also its place here.
    requests: Vec<(StatusPtr, SendCallback, *mut c_void)>,
    /// What the next call of progress does.
    planned: Vec<Planned>,
    /// What happened to memory since the last look.
    memory: Vec<MemoryCall>,
    /// Registrations so far, and whether they fail from now on.
    registered: usize,
    refuses_memory: bool,
    /// Bits of the memory types that it can copy.
    memory_types: u64,
    /// What was said of memory that was registered or read to.
    types: Vec<Option<c_uint>>,
    /// Names and values that were set in the configuration.
    settings: Vec<[String; 2]>,
    /// What another thread does just before the context ends.
    before_cleanup: Option<Box<dyn FnOnce()>>,
}

/// What UCX, or the test itself, does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryCall {
    /// A registration: the access that UCX gives, and its handle, none if it was refused.
    Register {
        address: usize,
        bytes: usize,
        prot: c_uint,
        mem: Option<usize>,
    },
    Unregister {
        mem: usize,
    },
    /// A get: the handle that it was given.
    Get {
        mem: Option<usize>,
    },
    /// The end of the context.
    Cleanup,
    /// The end of a mapping.
    Munmap {
        address: usize,
    },
}

/// What happens inside a call of progress.
pub(super) enum Planned {
    Message(Vec<u8>),
    /// The endpoint of this place fails.
    Failure(usize),
    /// The request of this place ends.
    End(usize, Status),
}

/// Local and remote reads and writes, as in ucp.h.
pub(super) const EVERY_ACCESS: c_uint = 1 << 0 | 1 << 1 | 1 << 8 | 1 << 9;

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn called(name: &'static str) {
    STATE.with_borrow_mut(|state| state.calls.push(name));
}

/// The calls since the last look.
pub(super) fn take_calls() -> Vec<&'static str> {
    STATE.with_borrow_mut(|state| std::mem::take(&mut state.calls))
}

pub(super) fn plan(planned: Planned) {
    STATE.with_borrow_mut(|state| state.planned.push(planned));
}

pub(super) fn note(call: MemoryCall) {
    STATE.with_borrow_mut(|state| state.memory.push(call));
}

/// What happened to memory, on this thread, since the last look.
pub(super) fn take_memory_calls() -> Vec<MemoryCall> {
    STATE.with_borrow_mut(|state| std::mem::take(&mut state.memory))
}

/// From now on no memory can be registered, or all.
pub(super) fn refuse_memory(refuses: bool) {
    STATE.with_borrow_mut(|state| state.refuses_memory = refuses);
}

/// From now on it can copy these types of memory.
pub(super) fn set_memory_types(bits: u64) {
    STATE.with_borrow_mut(|state| state.memory_types = bits);
}

/// The types of memory that was registered or read to since the last look; none where the caller has given none.
pub(super) fn take_types() -> Vec<Option<c_uint>> {
    STATE.with_borrow_mut(|state| std::mem::take(&mut state.types))
}

/// What was set in the configuration since the last look.
pub(super) fn take_settings() -> Vec<[String; 2]> {
    STATE.with_borrow_mut(|state| std::mem::take(&mut state.settings))
}

/// The next context's end begins with this.
pub(super) fn before_cleanup(action: impl FnOnce() + 'static) {
    STATE.with_borrow_mut(|state| state.before_cleanup = Some(Box::new(action)));
}

/// An object that UCX gives out: a number that is no status and no address.
fn object(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(0x1000 + 16 * number)
}

unsafe extern "C" fn config_read(_: *const c_char, _: *const c_char, config: *mut sys::Config) -> Status {
    // SAFETY: the caller's out-parameter.
    unsafe { *config = object(0) };
    sys::OK
}

unsafe extern "C" fn config_modify(_: sys::Config, name: *const c_char, value: *const c_char) -> Status {
    // SAFETY: the caller's strings, valid during the call.
    let setting = [name, value].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    STATE.with_borrow_mut(|state| state.settings.push(setting));
    sys::OK
}

unsafe extern "C" fn config_release(_: sys::Config) {}

unsafe extern "C" fn init(
    _: c_uint,
    _: c_uint,
    _: *const sys::Params,
    _: sys::Config,
    context: *mut sys::Context,
) -> Status {
    // SAFETY: the caller's out-parameter.
    unsafe { *context = object(1) };
    sys::OK
}

unsafe extern "C" fn cleanup(_: sys::Context) {
    let action = STATE.with_borrow_mut(|state| state.before_cleanup.take());
    action.into_iter().for_each(|action| action());
    note(MemoryCall::Cleanup);
}

unsafe extern "C" fn context_query(_: sys::Context, attr: *mut sys::ContextAttr) -> Status {
    let types = STATE.with_borrow(|state| state.memory_types);
    // SAFETY: the caller's structure, valid during the call.
    unsafe { (*attr).memory_types = types };
    sys::OK
}

unsafe extern "C" fn worker_create(_: sys::Context, _: *const sys::WorkerParams, worker: *mut sys::Worker) -> Status {
    // SAFETY: the caller's out-parameter.
    unsafe { *worker = object(2) };
    sys::OK
}

unsafe extern "C" fn worker_destroy(_: sys::Worker) {}

static ADDRESS: [u8; 8] = *b"over fak";

unsafe extern "C" fn worker_get_address(_: sys::Worker, address: *mut *mut c_void, length: *mut usize) -> Status {
    // SAFETY: the caller's out-parameters.
    unsafe { (*address, *length) = (ADDRESS.as_ptr().cast_mut().cast(), ADDRESS.len()) };
    sys::OK
}

unsafe extern "C" fn worker_release_address(_: sys::Worker, _: *mut c_void) {}

/// Does what was planned.
unsafe extern "C" fn worker_progress(_: sys::Worker) -> c_uint {
    called("worker_progress");
    let planned = STATE.with_borrow_mut(|state| std::mem::take(&mut state.planned));
    let count = planned.len();
    for planned in planned {
        match planned {
            Planned::Message(mut bytes) => {
                let (callback, arg) = STATE.with_borrow(|state| state.handler).expect("set");
                let param = sys::AmRecvParam { recv_attr: 0, reply_ep: null_mut() };
                // SAFETY: what `set_am_handler` was given; the bytes and the parameters live until it returns.
                unsafe { callback(arg, std::ptr::null(), 0, bytes.as_mut_ptr().cast(), bytes.len(), &param) };
            }
            Planned::Failure(place) => {
                let (callback, arg) = STATE.with_borrow(|state| {
                    let handler = &state.endpoint_handlers[place];
                    (handler.cb.expect("set"), handler.arg)
                });
                // SAFETY: what `ep_create` was given.
                unsafe { callback(arg, object(0), -25) };
            }
            Planned::End(place, status) => {
                let (request, callback, user_data) = STATE.with_borrow(|state| state.requests[place]);
                // SAFETY: what the operation was given.
                unsafe { callback(request, status, user_data) };
            }
        }
    }
    count as c_uint
}

unsafe extern "C" fn worker_get_efd(_: sys::Worker, fd: *mut c_int) -> Status {
    // SAFETY: the caller's out-parameter.
    unsafe { *fd = -1 };
    sys::OK
}

unsafe extern "C" fn worker_arm(_: sys::Worker) -> Status {
    called("worker_arm");
    sys::ERR_BUSY
}

unsafe extern "C" fn set_am_handler(_: sys::Worker, param: *const sys::AmHandlerParam) -> Status {
    // SAFETY: the caller's parameters, valid during the call.
    let (callback, arg) = unsafe { ((*param).cb.expect("given"), (*param).arg) };
    STATE.with_borrow_mut(|state| state.handler = Some((callback, arg)));
    sys::OK
}

unsafe extern "C" fn ep_create(_: sys::Worker, params: *const sys::EpParams, ep: *mut sys::Ep) -> Status {
    STATE.with_borrow_mut(|state| {
        // SAFETY: the caller's parameters and out-parameter, valid during the call.
        unsafe {
            let handler = &(*params).err_handler;
            state.endpoint_handlers.push(sys::ErrHandler { cb: handler.cb, arg: handler.arg });
            *ep = object(state.endpoint_handlers.len());
        }
    });
    sys::OK
}

/// Two lanes of one device, one of another, and room that is left as it was.
unsafe extern "C" fn ep_query(_: sys::Ep, attr: *mut sys::EpAttr) -> Status {
    let lanes = [(c"rc_verbs", c"rxe0:1"), (c"tcp", c"eth0"), (c"rc_verbs", c"rxe0:1")];
    // SAFETY: the caller's structure and its array, valid during the call.
    unsafe {
        let transports = &mut (*attr).transports;
        assert!((*attr).field_mask == 1 << 3 && transports.num_entries > 3 && transports.entry_size == 16);
        for (at, (transport, device)) in lanes.into_iter().enumerate() {
            let entry = sys::TransportEntry { transport_name: transport.as_ptr(), device_name: device.as_ptr() };
            *transports.entries.add(at) = entry;
        }
        // A release that does not know the field leaves the number alone, and so does this.
    }
    sys::OK
}

unsafe extern "C" fn ep_close(_: sys::Ep, _: *const sys::RequestParam) -> StatusPtr {
    null_mut()
}

unsafe extern "C" fn mem_map(_: sys::Context, params: *const sys::MemMapParams, mem: *mut sys::Mem) -> Status {
    // SAFETY: the caller's parameters, valid during the call.
    let (address, bytes, prot) = unsafe { ((*params).address.addr(), (*params).length, (*params).prot) };
    // SAFETY: as above.
    let (mask, kind) = unsafe { ((*params).field_mask, (*params).memory_type) };
    // The bit of `UCP_MEM_MAP_PARAM_FIELD_PROT` in ucp.h. Without it UCX allows all.
    let prot = if mask & (1 << 3) != 0 { prot } else { EVERY_ACCESS };
    let made = STATE.with_borrow_mut(|state| {
        // The bit of `UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE` in ucp.h.
        state.types.push((mask & (1 << 4) != 0).then_some(kind));
        state.registered += 1;
        (!state.refuses_memory).then(|| object(1000 + state.registered))
    });
    note(MemoryCall::Register { address, bytes, prot, mem: made.map(<*mut c_void>::addr) });
    let Some(made) = made else { return -12 };
    // SAFETY: the caller's out-parameter.
    unsafe { *mem = made };
    sys::OK
}

unsafe extern "C" fn mem_unmap(_: sys::Context, mem: sys::Mem) -> Status {
    note(MemoryCall::Unregister { mem: mem.addr() });
    sys::OK
}

unsafe extern "C" fn rkey_pack(_: sys::Context, _: sys::Mem, key: *mut *mut c_void, length: *mut usize) -> Status {
    // SAFETY: the caller's out-parameters.
    unsafe { (*key, *length) = (ADDRESS.as_ptr().cast_mut().cast(), ADDRESS.len()) };
    sys::OK
}

unsafe extern "C" fn rkey_buffer_release(_: *mut c_void) {}

unsafe extern "C" fn rkey_unpack(_: sys::Ep, _: *const c_void, rkey: *mut sys::Rkey) -> Status {
    // SAFETY: the caller's out-parameter.
    unsafe { *rkey = object(4) };
    sys::OK
}

unsafe extern "C" fn rkey_destroy(_: sys::Rkey) {
    called("rkey_destroy");
}

/// A new request with the caller's callback.
fn begin(param: *const sys::RequestParam) -> StatusPtr {
    // SAFETY: the caller's parameters, valid during the call.
    let (callback, user_data) = unsafe { ((*param).cb.expect("given"), (*param).user_data) };
    STATE.with_borrow_mut(|state| {
        let request = object(state.requests.len());
        state.requests.push((request, callback, user_data));
        request
    })
}

unsafe extern "C" fn get(
    _: sys::Ep,
    _: *mut c_void,
    _: usize,
    _: u64,
    _: sys::Rkey,
    param: *const sys::RequestParam,
) -> StatusPtr {
    // SAFETY: the caller's parameters, valid during the call.
    let (mask, mem, kind) = unsafe { ((*param).op_attr_mask, (*param).memh, (*param).memory_type) };
    // The bit of `UCP_OP_ATTR_FIELD_MEMORY_TYPE` in ucp.h.
    STATE.with_borrow_mut(|state| state.types.push((mask & (1 << 6) != 0).then_some(kind)));
    // The bit of `UCP_OP_ATTR_FIELD_MEMH` in ucp.h.
    note(MemoryCall::Get { mem: (mask & (1 << 8) != 0).then(|| mem.addr()) });
    begin(param)
}

unsafe extern "C" fn am_send(
    _: sys::Ep,
    _: c_uint,
    _: *const c_void,
    _: usize,
    _: *const c_void,
    _: usize,
    param: *const sys::RequestParam,
) -> StatusPtr {
    begin(param)
}

unsafe extern "C" fn request_free(_: *mut c_void) {
    called("request_free");
}

/// The fake's functions.
pub(super) fn functions() -> Functions {
    Functions {
        config_read,
        config_modify,
        config_release,
        init,
        cleanup,
        context_query,
        worker_create,
        worker_destroy,
        worker_get_address,
        worker_release_address,
        worker_progress,
        worker_get_efd,
        worker_arm,
        set_am_handler,
        ep_create,
        ep_query,
        ep_close,
        mem_map,
        mem_unmap,
        rkey_pack,
        rkey_buffer_release,
        rkey_unpack,
        rkey_destroy,
        get,
        am_send,
        request_free,
    }
}
