//! UCX's protocol layer (UCP) as a [`Wire`]: active messages, one-sided gets, endpoints that report their peer's failure.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

use sluice_transport::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

use crate::library::Ucx;
use crate::rkeys::Rkeys;
use crate::sys;

#[cfg(test)]
mod number_tests;
#[cfg(test)]
mod send_tests;

/// The one kind of active message; what it is stands in it.
const AM_ID: c_uint = 1;
/// Calls of UCX's progress before the wire looks at what they brought.
const PROGRESS_CALLS: usize = 32;

/// What UCX's callbacks leave for [`UcxWire::progress`]. They run inside calls of the wire, on its thread.
#[derive(Default)]
struct Inbox {
    messages: RefCell<Vec<Vec<u8>>>,
    /// Of sends that failed, too. An endpoint may be in it more than once, or closed meanwhile.
    failures: RefCell<Vec<(Endpoint, sys::Status)>>,
}

/// What the error callback of one endpoint is given.
struct EndpointArg {
    endpoint: Endpoint,
    inbox: *const Inbox,
}

struct OpenEndpoint {
    ep: sys::Ep,
    arg: Box<EndpointArg>,
    rkeys: Rkeys<sys::Rkey>,
    /// Whether its failure has been reported.
    failed: bool,
}

/// A request under way.
struct Request {
    request: *mut c_void,
    end: End,
}

/// What the end of a request means.
enum End {
    Got {
        token: u64,
        endpoint: Endpoint,
        /// Of its key.
        generation: u64,
    },
    /// The bytes were kept for it.
    Sent { endpoint: Endpoint, _message: Vec<u8> },
    /// The endpoint's callback argument was kept for it.
    Closed { arg: Box<EndpointArg> },
}

impl End {
    /// Whether it is a request that keys of this endpoint may be needed for.
    fn needs_keys_of(&self, other: Endpoint) -> bool {
        match self {
            Self::Got { endpoint, .. } => *endpoint == other,
            Self::Closed { arg } => arg.endpoint == other,
            Self::Sent { .. } => false,
        }
    }
}

/// One UCP worker. Made, used and dropped on one thread.
pub struct UcxWire {
    ucx: Arc<Ucx>,
    context: sys::Context,
    worker: sys::Worker,
    inbox: Box<Inbox>,
    address: Vec<u8>,
    endpoints: HashMap<Endpoint, OpenEndpoint>,
    /// By address: how often it was opened. As long as the worker lives, because UCX counts so.
    openings: HashMap<Vec<u8>, u32>,
    regions: HashMap<Region, sys::Mem>,
    requests: Vec<Request>,
    /// Keys of closed endpoints, until their last request has ended.
    orphans: Vec<(Endpoint, Vec<sys::Rkey>)>,
    /// Events that a call other than `progress` has brought about.
    pending: Vec<Event>,
    next: u64,
    worker_event: i32,
    wakeup: Arc<EventFd>,
    /// Whether this machine had an RDMA device when the wire was made.
    has_rdma_device: bool,
}

impl UcxWire {
    /// Makes a context and a worker.
    ///
    /// # Errors
    /// UCX refuses: no transport it was allowed to use works here, say.
    pub fn new(ucx: Arc<Ucx>) -> Result<Self, WireError> {
        let wakeup = Arc::new(EventFd::new()?);
        let context = new_context(&ucx)?;
        let mut wire = Self {
            ucx,
            context,
            worker: null_mut(),
            inbox: Box::default(),
            address: Vec::new(),
            endpoints: HashMap::new(),
            openings: HashMap::new(),
            regions: HashMap::new(),
            requests: Vec::new(),
            orphans: Vec::new(),
            pending: Vec::new(),
            next: 0,
            worker_event: -1,
            wakeup,
            has_rdma_device: has_rdma_device(),
        };
        wire.make_worker()?;
        Ok(wire)
    }

    fn make_worker(&mut self) -> Result<(), WireError> {
        let calls = &self.ucx.calls;
        // SAFETY: all-zero is a valid value of these structures; the field mask says what is set.
        let mut params: sys::WorkerParams = unsafe { std::mem::zeroed() };
        params.field_mask = sys::WORKER_PARAM_FIELD_THREAD_MODE;
        params.thread_mode = sys::THREAD_MODE_SINGLE;
        // SAFETY: the context is live; the worker is destroyed in `drop`, before it.
        check("making a worker", unsafe { (calls.worker_create)(self.context, &params, &mut self.worker) })?;
        let arg: *const Inbox = &*self.inbox;
        let handler = sys::AmHandlerParam {
            field_mask: sys::AM_HANDLER_PARAM_FIELD_ID
                | sys::AM_HANDLER_PARAM_FIELD_FLAGS
                | sys::AM_HANDLER_PARAM_FIELD_CB
                | sys::AM_HANDLER_PARAM_FIELD_ARG,
            id: AM_ID,
            flags: sys::AM_FLAG_WHOLE_MSG,
            cb: Some(on_message),
            arg: arg.cast_mut().cast(),
        };
        // SAFETY: the inbox is boxed and outlives the worker.
        check("taking messages", unsafe { (calls.set_am_handler)(self.worker, &handler) })?;
        // SAFETY: the worker is live and writes a descriptor of its own.
        check("waking up", unsafe { (calls.worker_get_efd)(self.worker, &mut self.worker_event) })?;
        let (mut address, mut length) = (null_mut(), 0);
        // SAFETY: gives `length` bytes at `address`, ours until released.
        check("its address", unsafe { (calls.worker_get_address)(self.worker, &mut address, &mut length) })?;
        // SAFETY: as above; released right after, and not used again.
        unsafe {
            self.address = std::slice::from_raw_parts(address.cast::<u8>(), length).to_vec();
            (calls.worker_release_address)(self.worker, address);
        }
        Ok(())
    }

    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Keeps a request until it has ended, or ends it at once.
    fn started(&mut self, status: sys::StatusPtr, end: End) {
        if is_request(status) {
            self.requests.push(Request { request: status, end });
        } else {
            let event = self.ended(end, status as usize as sys::Status);
            self.pending.extend(event);
        }
    }

    /// What the end of a request means to the protocol.
    fn ended(&mut self, end: End, status: sys::Status) -> Option<Event> {
        match end {
            End::Got { token, endpoint, generation } => {
                let unused = self.endpoints.get_mut(&endpoint).map(|open| open.rkeys.ended(generation));
                unused.into_iter().flatten().for_each(|rkey| destroy(&self.ucx, rkey));
                Some(Event::Got { token, result: check("a read", status) })
            }
            End::Sent { endpoint, .. } => {
                if status != sys::OK {
                    self.inbox.failures.borrow_mut().push((endpoint, status));
                }
                None
            }
            End::Closed { .. } => None,
        }
    }

    /// Reports what has failed: each endpoint once, and none that was closed meanwhile.
    fn collect_failures(&mut self, events: &mut Vec<Event>) {
        for (endpoint, status) in self.inbox.failures.borrow_mut().drain(..) {
            if let Some(open) = self.endpoints.get_mut(&endpoint).filter(|open| !open.failed) {
                open.failed = true;
                events.push(Event::Failed { endpoint, error: error("the connection", status) });
            }
        }
    }

    fn collect_ended(&mut self, events: &mut Vec<Event>) {
        let mut index = 0;
        while index < self.requests.len() {
            let request = self.requests[index].request;
            // SAFETY: the request is live until it is freed below.
            let status = unsafe { (self.ucx.calls.request_check)(request) };
            if status == sys::INPROGRESS {
                index += 1;
                continue;
            }
            // SAFETY: it has ended and is freed once.
            unsafe { (self.ucx.calls.request_free)(request) };
            let Request { end, .. } = self.requests.swap_remove(index);
            events.extend(self.ended(end, status));
        }
        self.destroy_orphans();
    }

    fn destroy_orphans(&mut self) {
        let Self { ucx, requests, orphans, .. } = self;
        orphans.retain(|(endpoint, rkeys)| {
            let needed = requests.iter().any(|request| request.end.needs_keys_of(*endpoint));
            if !needed {
                rkeys.iter().for_each(|rkey| destroy(ucx, *rkey));
            }
            needed
        });
    }

    /// The endpoint's unpacked key.
    fn rkey(&mut self, endpoint: Endpoint, key: &[u8]) -> Result<(sys::Ep, sys::Rkey), WireError> {
        let open = self.endpoints.get_mut(&endpoint).ok_or_else(|| WireError("the connection is closed".into()))?;
        if let Some(rkey) = open.rkeys.get(key) {
            return Ok((open.ep, rkey));
        }
        let mut rkey = null_mut();
        // SAFETY: the endpoint is live. The key's bytes come from its peer, which has proven itself; UCX reads as many
        // bytes as they say, so they are given followed by zeros.
        let padded = [key, &[0; 64]].concat();
        // SAFETY: as above.
        let status = unsafe { (self.ucx.calls.rkey_unpack)(open.ep, padded.as_ptr().cast(), &mut rkey) };
        check("a remote key", status)?;
        open.rkeys.insert(key, rkey).into_iter().for_each(|rkey| destroy(&self.ucx, rkey));
        Ok((open.ep, rkey))
    }

    fn wait_on(&self, longest: Duration) {
        let mut fds = [self.worker_event, self.wakeup.0.as_raw_fd()].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: two live descriptors.
        unsafe { libc::poll(fds.as_mut_ptr(), 2, longest.as_millis().min(1000) as libc::c_int) };
        if fds[1].revents != 0 {
            self.wakeup.clear();
        }
    }
}

fn destroy(ucx: &Ucx, rkey: sys::Rkey) {
    // SAFETY: unpacked by us, destroyed once, and no request under way refers to it.
    unsafe { (ucx.calls.rkey_destroy)(rkey) };
}

/// Whether the kernel knows an RDMA device.
fn has_rdma_device() -> bool {
    std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut devices| devices.next().is_some())
}

fn new_context(ucx: &Ucx) -> Result<sys::Context, WireError> {
    let calls = &ucx.calls;
    let mut config = null_mut();
    // SAFETY: reads the environment and UCX's own configuration file.
    check("its configuration", unsafe { (calls.config_read)(null(), null(), &mut config) })?;
    // SAFETY: as in `make_worker`.
    let mut params: sys::Params = unsafe { std::mem::zeroed() };
    params.field_mask = sys::PARAM_FIELD_FEATURES | sys::PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = sys::FEATURE_RMA | sys::FEATURE_AM | sys::FEATURE_WAKEUP;
    let mut context = null_mut();
    let (major, minor) = crate::library::OLDEST;
    // SAFETY: the oldest API version whose structures these are; the context is cleaned up in `drop`.
    let status = unsafe { (calls.init)(major, minor, &params, config, &mut context) };
    // SAFETY: released once, not used again.
    unsafe { (calls.config_release)(config) };
    check("making a context", status)?;
    Ok(context)
}

fn is_request(status: sys::StatusPtr) -> bool {
    // Statuses are 0 and the 100 numbers below it.
    !status.is_null() && (status as usize) < 0usize.wrapping_sub(100)
}

fn check(what: &str, status: sys::Status) -> Result<(), WireError> {
    if status == sys::OK { Ok(()) } else { Err(error(what, status)) }
}

fn error(what: &str, status: sys::Status) -> WireError {
    WireError(format!("{what}: UCX says {}", meaning(status)))
}

/// UCX's statuses in words.
fn meaning(status: sys::Status) -> String {
    let text = match status {
        -2 => "no resource",
        -3 => "input or output error",
        -4 => "out of memory",
        -5 => "invalid parameter",
        -6 => "the destination is unreachable",
        -7 => "invalid address",
        -8 => "not implemented",
        -14 => "no such device",
        sys::ERR_BUSY => "a device or port is busy",
        -16 => "cancelled",
        -17 => "shared memory error",
        -20 => "timed out",
        -21 => "limit exceeded",
        -22 => "unsupported",
        -23 => "rejected",
        -24 => "not connected",
        -25 => "the connection was reset",
        -80 => "the endpoint timed out",
        _ => "an error",
    };
    format!("{text} ({status})")
}

/// # Safety
/// Called by UCX with the inbox given to `set_am_handler` and a message's bytes.
unsafe extern "C" fn on_message(
    arg: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::AmRecvParam,
) -> sys::Status {
    // SAFETY: UCX passes the parameters of this message.
    let rendezvous = unsafe { (*param).recv_attr } & sys::AM_RECV_ATTR_FLAG_RNDV != 0;
    // Messages are sent eagerly; the descriptor of a rendezvous is no message of ours.
    if !rendezvous {
        // SAFETY: the inbox outlives the worker, and is only touched on its thread; `data` has `length` bytes.
        unsafe {
            let bytes = if length == 0 { &[] } else { std::slice::from_raw_parts(data.cast::<u8>(), length) };
            (*arg.cast::<Inbox>()).messages.borrow_mut().push(bytes.to_vec());
        }
    }
    sys::OK
}

/// # Safety
/// Called by UCX with the argument given to `ep_create`.
unsafe extern "C" fn on_failure(arg: *mut c_void, _: sys::Ep, status: sys::Status) {
    // SAFETY: the argument lives until the endpoint's close has ended.
    let arg = unsafe { &*arg.cast::<EndpointArg>() };
    // SAFETY: the inbox outlives the worker.
    unsafe { &*arg.inbox }.failures.borrow_mut().push((arg.endpoint, status));
}

impl Wire for UcxWire {
    fn address(&self) -> &[u8] {
        &self.address
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        if address.is_empty() {
            return Err(WireError("an empty address".into()));
        }
        let endpoint = Endpoint(self.next());
        let arg = Box::new(EndpointArg { endpoint, inbox: &*self.inbox });
        // SAFETY: as in `make_worker`.
        let mut params: sys::EpParams = unsafe { std::mem::zeroed() };
        params.field_mask = sys::EP_PARAM_FIELD_REMOTE_ADDRESS
            | sys::EP_PARAM_FIELD_ERR_HANDLING_MODE
            | sys::EP_PARAM_FIELD_ERR_HANDLER;
        // As for remote keys: UCX reads as far as the bytes say.
        let padded = [address, &[0; 64]].concat();
        params.address = padded.as_ptr().cast();
        params.err_mode = sys::ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = Some(on_failure);
        params.err_handler.arg = (&raw const *arg).cast_mut().cast();
        let number = self.openings.entry(address.to_vec()).or_default();
        *number += 1;
        let (number, mut ep) = (*number, null_mut());
        // SAFETY: the worker is live, the address copied by the call, the argument kept until the endpoint is closed.
        check("connecting", unsafe { (self.ucx.calls.ep_create)(self.worker, &params, &mut ep) })?;
        self.endpoints.insert(endpoint, OpenEndpoint { ep, arg, rkeys: Rkeys::default(), failed: false });
        Ok(Opened { endpoint, number })
    }

    fn close(&mut self, endpoint: Endpoint) {
        let Some(open) = self.endpoints.remove(&endpoint) else { return };
        self.orphans.push((endpoint, open.rkeys.into_all()));
        let param = request_param(sys::EP_CLOSE_FLAG_FORCE);
        // SAFETY: the endpoint is live and closed once; its requests end and are reported.
        let status = unsafe { (self.ucx.calls.ep_close)(open.ep, &param) };
        self.started(status, End::Closed { arg: open.arg });
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        let Some(open) = self.endpoints.get(&endpoint) else { return };
        let param = request_param(sys::AM_SEND_FLAG_EAGER);
        let (data, length) = (message.as_ptr().cast(), message.len());
        // SAFETY: the endpoint is live, the message is kept until the request has ended.
        let status = unsafe { (self.ucx.calls.am_send)(open.ep, AM_ID, null(), 0, data, length, &param) };
        self.started(status, End::Sent { endpoint, _message: message });
    }

    unsafe fn register(&mut self, address: usize, bytes: usize) -> Result<(Region, Vec<u8>), WireError> {
        let calls = &self.ucx.calls;
        // SAFETY: as in `make_worker`.
        let mut params: sys::MemMapParams = unsafe { std::mem::zeroed() };
        params.field_mask = sys::MEM_MAP_PARAM_FIELD_ADDRESS
            | sys::MEM_MAP_PARAM_FIELD_LENGTH
            | sys::MEM_MAP_PARAM_FIELD_FLAGS
            | sys::MEM_MAP_PARAM_FIELD_PROT;
        params.address = std::ptr::with_exposed_provenance_mut(address);
        params.length = bytes;
        // Of what is registered little may be read: where the device pages on demand, only that is brought into memory.
        params.flags = sys::MEM_MAP_NONBLOCK;
        params.prot = sys::MEM_MAP_PROT_LOCAL_READ | sys::MEM_MAP_PROT_REMOTE_READ;
        let mut mem = null_mut();
        // SAFETY: the caller keeps the memory mapped until `unregister`.
        check("registering memory", unsafe { (calls.mem_map)(self.context, &params, &mut mem) })?;
        let (mut packed, mut length) = (null_mut(), 0);
        // SAFETY: gives `length` bytes at `packed`, ours until released.
        let status = unsafe { (calls.rkey_pack)(self.context, mem, &mut packed, &mut length) };
        if status != sys::OK {
            // SAFETY: mapped above, unmapped once.
            unsafe { (calls.mem_unmap)(self.context, mem) };
            return Err(error("a memory's key", status));
        }
        // SAFETY: as above; released right after.
        let key = unsafe {
            let key = std::slice::from_raw_parts(packed.cast::<u8>(), length).to_vec();
            (calls.rkey_buffer_release)(packed);
            key
        };
        let region = Region(self.next());
        self.regions.insert(region, mem);
        Ok((region, key))
    }

    fn unregister(&mut self, region: Region) {
        if let Some(mem) = self.regions.remove(&region) {
            // SAFETY: registered by us, unmapped once.
            unsafe { (self.ucx.calls.mem_unmap)(self.context, mem) };
        }
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let Get { token, key, remote, local, bytes } = get;
        match self.rkey(endpoint, key) {
            Ok((ep, rkey)) => {
                let param = request_param(0);
                // SAFETY: endpoint and key are live; the caller keeps `local` for this read until it is reported.
                let status = unsafe { (self.ucx.calls.get)(ep, local.cast(), bytes, remote, rkey, &param) };
                let generation = self.endpoints.get_mut(&endpoint).map_or(0, |open| open.rkeys.begun());
                self.started(status, End::Got { token, endpoint, generation });
            }
            Err(error) => self.pending.push(Event::Got { token, result: Err(error) }),
        }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        for _ in 0..PROGRESS_CALLS {
            // SAFETY: the worker is live and this is its thread.
            if unsafe { (self.ucx.calls.worker_progress)(self.worker) } == 0 {
                break;
            }
        }
        events.append(&mut self.pending);
        self.collect_ended(events);
        events.extend(self.inbox.messages.borrow_mut().drain(..).map(Event::Message));
        self.collect_failures(events);
        // The reads that a connection's failure has ended come after it, so that they count as the peer's failure.
        events.sort_by_key(|event| matches!(event, Event::Got { result: Err(_), .. }));
    }

    fn wants_writable(&self) -> bool {
        self.has_rdma_device
    }

    fn wait(&mut self, longest: Duration) {
        if !self.pending.is_empty() || !self.inbox.failures.borrow().is_empty() {
            return;
        }
        // SAFETY: the worker is live. Anything but OK means that there is something to do.
        if unsafe { (self.ucx.calls.worker_arm)(self.worker) } == sys::OK {
            self.wait_on(longest);
        }
    }

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::clone(&self.wakeup) as Arc<dyn Waker>
    }
}

fn request_param(flags: u32) -> sys::RequestParam {
    // SAFETY: all-zero is a valid value; the mask says what is set.
    let mut param: sys::RequestParam = unsafe { std::mem::zeroed() };
    if flags != 0 {
        param.op_attr_mask = sys::OP_ATTR_FIELD_FLAGS;
        param.flags = flags;
    }
    param
}

impl Drop for UcxWire {
    fn drop(&mut self) {
        let open: Vec<Endpoint> = self.endpoints.keys().copied().collect();
        open.into_iter().for_each(|endpoint| self.close(endpoint));
        // Closes and what they cancel end soon; what does not goes with the worker.
        let mut events = Vec::new();
        for _ in 0..10_000 {
            if self.requests.is_empty() {
                break;
            }
            self.progress(&mut events);
        }
        self.destroy_orphans();
        let calls = &self.ucx.calls;
        for (_, mem) in self.regions.drain() {
            // SAFETY: registered by us, unmapped once.
            unsafe { (calls.mem_unmap)(self.context, mem) };
        }
        // What UCX could still write to or call back with outlives it.
        self.requests.drain(..).for_each(std::mem::forget);
        // SAFETY: both are live (the worker may never have been made), and nothing of them is used afterwards.
        unsafe {
            if !self.worker.is_null() {
                (calls.worker_destroy)(self.worker);
            }
            (calls.cleanup)(self.context);
        }
    }
}

/// An event descriptor of Linux: readable from [`Waker::wake`] until it is cleared.
struct EventFd(OwnedFd);

impl EventFd {
    fn new() -> Result<Self, WireError> {
        // SAFETY: makes a new descriptor.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(WireError(format!("an event descriptor: {}", std::io::Error::last_os_error())));
        }
        // SAFETY: fresh, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: reads 8 bytes; when there is nothing, fails and changes nothing.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl Waker for EventFd {
    fn wake(&self) {
        let one = 1u64;
        // SAFETY: writes 8 bytes; when the counter is full it is readable anyhow.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}
