//! UCX's protocol layer (UCP) as a [`Wire`]: active messages, one-sided gets, endpoints that report their peer's
//! failure.
//!
//! ```text
//!   UcxWire ── Worker        context and worker: made, driven, destroyed
//!           ├─ Endpoints     connections to other workers
//!           ├─ KeyCache      unpacked remote keys, one limit for all endpoints
//!           ├─ Memory        what peers may read
//!           ├─ Destinations  what gets write to, where there is an RDMA device
//!           ├─ Requests      what has begun and not ended
//!           └─ Inbox         what the callbacks leave: messages, failures, ended requests
//! ```
//!
//! # Access and ordering: on what the proofs beside `unsafe` rely
//! 1. **One thread.** A `UcxWire` is made, used and dropped on one thread: it has `Rc`s, so it is not `Send`. UCX is
//!    told so (`THREAD_MODE_SINGLE`). Only [`EventFd`], which has no memory of UCX's, is touched by others.
//! 2. **Callbacks run inside calls.** UCX calls back only inside of a call on the worker or its endpoints. No `RefCell`
//!    of the inbox is borrowed during such a call, and callbacks call neither UCX nor the wire: they only append to the
//!    inbox.
//! 3. **What UCX points to does not move and is not freed early.** The inbox and endpoints' arguments are in `Rc`s of
//!    which UCX has the address. The inbox lives as long as the worker, an endpoint's argument until the endpoint's
//!    close has ended, a message until its send has. A get's memory is the caller's until [`Event::Got`] has been
//!    reported (contract of [`Wire::get`]).
//! 4. **A request is in `Requests` from UCX's answer until its callback**, and is freed once, in between two calls of
//!    UCX.
//! 5. **A remote key stays until no get needs it** (`keys.rs`), and those of a closed endpoint until the close has
//!    ended, too.
//! 6. **A handle that a get passes stays until that get has ended**: a region of received blocks is unregistered when
//!    the arena has given it up, so that no get's lease lies in it, or at the end, when no get is under way.
//! 7. **Order at the end**: endpoints, requests, memory, keys, worker, context, and then the regions of received
//!    blocks. What has not ended then is leaked; handles that it may need go with the context.

mod destinations;
mod endpoints;
mod event_fd;
mod inbox;
mod keys;
mod memory;
mod requests;
mod status;
mod worker;

use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sluice_mem::{MemoryKind, RegistrableProvider, Registrar};
use sluice_transport::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

use self::destinations::Destinations;
use self::endpoints::{Endpoints, PADDING};
use self::event_fd::EventFd;
use self::inbox::Inbox;
use self::keys::{KeyCache, KeyId, KeyLimits};
use self::memory::{Memory, has_rdma_device};
use self::requests::{End, Requests};
use self::status::{check, error};
use self::worker::{AM_ID, Worker};
use crate::environment::selection;
use crate::library::{Machine, Ucx};
use crate::sys;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
mod destination_tests;
#[cfg(test)]
mod device_memory_tests;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod number_tests;
#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod send_tests;

/// Calls of UCX's progress before the wire looks at what they brought.
const PROGRESS_CALLS: usize = 32;
/// Unpacked remote keys. With their packed forms of 100 bytes, 65,536 are 31 MiB; a mapped range of a map output (4
/// MiB) has one, so they stand for 256 GiB of other executors' map outputs. A peer maps 16,384 ranges by default, whose
/// keys are kept as long as they have no more than 350 bytes each.
const KEY_LIMITS: KeyLimits = KeyLimits { keys: 65_536, bytes: 64 << 20, endpoint_bytes: 16 << 20 };

/// What a wire is for, beside messages and reads of host memory.
#[derive(Default)]
pub struct UcxOptions {
    /// The regions that reads write to, see [`UcxWire::with_received`].
    pub received: Option<Arc<RegistrableProvider>>,
    /// Memory of GPUs is registered and read, and UCX may use CUDA's driver for that. It needs a release from 1.16 on
    /// and its transports for CUDA; without them, what has to do with such memory is refused. Without this option UCX
    /// uses no transport of CUDA's, unless `UCX_TLS` names one.
    pub device_memory: bool,
}

/// One UCP worker. Made, used and dropped on one thread.
pub struct UcxWire {
    // Before `destinations`, whose regions may be unmapped only when no context has them registered.
    worker: Worker,
    inbox: Rc<Inbox>,
    endpoints: Endpoints,
    keys: KeyCache<sys::Rkey>,
    memory: Memory,
    destinations: Destinations,
    requests: Requests,
    /// Events that a call other than `progress` has brought about.
    pending: Vec<Event>,
    /// Of endpoints and regions.
    next: u64,
    wakeup: Arc<EventFd>,
    /// Whether this machine had an RDMA device when the wire was made.
    has_rdma_device: bool,
    /// What UCX has chosen to reach this process itself, see [`UcxWire::check_reach`].
    means: Vec<String>,
}

impl UcxWire {
    /// Makes a context and a worker. UCX itself registers, where it has to, the memory that reads write to.
    ///
    /// # Errors
    /// UCX refuses: no transport it was allowed to use works here, say.
    pub fn new(ucx: Arc<Ucx>) -> Result<Self, WireError> {
        Self::with(ucx, UcxOptions::default())
    }

    /// The same; where the machine has an RDMA device, the regions of `received` that reads write to are registered by
    /// the wire, once each and as a whole, so that their pages stay until the wire has unregistered them.
    ///
    /// # Errors
    /// As [`UcxWire::new`].
    pub fn with_received(ucx: Arc<Ucx>, received: Arc<RegistrableProvider>) -> Result<Self, WireError> {
        Self::with(ucx, UcxOptions { received: Some(received), ..UcxOptions::default() })
    }

    /// Makes a context and a worker, for what the options say.
    ///
    /// # Errors
    /// As [`UcxWire::new`].
    pub fn with(ucx: Arc<Ucx>, options: UcxOptions) -> Result<Self, WireError> {
        let device_memory = options.device_memory && ucx.reads_device_memory();
        Self::make(ucx, options.received, Machine { has_rdma_device: has_rdma_device(), device_memory })
    }

    /// Whether memory of GPUs can be registered and read to, as far as is known without doing it.
    pub fn has_device_memory(&self) -> bool {
        self.worker.check_kind(MemoryKind::Device(0)).is_ok()
    }

    /// Whether UCX can connect to other processes at all, by connecting to this one: with `UCX_NET_DEVICES` naming no
    /// interface of this machine, say, it starts, has shared memory only, and would fail at each peer. From then on
    /// [`Wire::means`] has what it has chosen.
    ///
    /// # Errors
    /// It has no transport that reaches a process and reports its end.
    pub fn check_reach(&mut self) -> Result<(), WireError> {
        let own = self.worker.address().to_vec();
        let opened = self.open(&own).map_err(|WireError(why)| {
            let set = selection();
            WireError(format!(
                "UCX has nothing here that connects to other processes and reports when they end ({why}){set}: a \
                 network interface or RDMA device must be up, and UCX must be allowed to use it"
            ))
        })?;
        self.means = self.endpoints.means(&self.worker, opened.endpoint);
        self.close(opened.endpoint);
        Ok(())
    }

    fn make(ucx: Arc<Ucx>, received: Option<Arc<RegistrableProvider>>, machine: Machine) -> Result<Self, WireError> {
        let wakeup = Arc::new(EventFd::new()?);
        let inbox: Rc<Inbox> = Rc::default();
        let worker = Worker::new(ucx, Rc::clone(&inbox), machine)?;
        let (requests, keys) = (Requests::new(Rc::clone(&inbox)), KeyCache::new(KEY_LIMITS));
        let (waker, has_rdma_device) = (Arc::clone(&wakeup), machine.has_rdma_device);
        let registrar = received.filter(|_| has_rdma_device).map(|it| Registrar::new(it, move || waker.wake()));
        let destinations = Destinations::new(registrar);
        let (endpoints, memory, pending, next, means) = Default::default();
        Ok(Self {
            worker,
            inbox,
            endpoints,
            keys,
            memory,
            destinations,
            requests,
            pending,
            next,
            wakeup,
            has_rdma_device,
            means,
        })
    }

    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Keeps a request until it has ended, or ends it at once.
    fn begun(&mut self, answer: sys::StatusPtr, end: End) {
        if let Some((end, status)) = self.requests.begun(answer, end) {
            let event = self.ended(end, status);
            self.pending.extend(event);
        }
    }

    /// What the end of a request means to the protocol.
    fn ended(&mut self, end: End, status: sys::Status) -> Option<Event> {
        match end {
            End::Got { token, key } => {
                let unused = self.keys.ended(key);
                self.destroy_keys(unused);
                Some(Event::Got { token, result: check("a read", status) })
            }
            End::Sent { endpoint, .. } => {
                if status != sys::OK {
                    self.inbox.failures.borrow_mut().push((endpoint, status));
                }
                None
            }
            End::Closed { arg } => {
                let unused = self.keys.close(arg.endpoint);
                self.destroy_keys(unused);
                None
            }
        }
    }

    fn collect_ended(&mut self, events: &mut Vec<Event>) {
        for (end, status) in self.requests.take_completed(self.worker.calls()) {
            events.extend(self.ended(end, status));
        }
    }

    /// Reports what has failed: each endpoint once, and none that was closed meanwhile.
    fn collect_failures(&mut self, events: &mut Vec<Event>) {
        for (endpoint, status) in std::mem::take(&mut *self.inbox.failures.borrow_mut()) {
            if self.endpoints.fail(endpoint) {
                events.push(Event::Failed { endpoint, error: error("the connection", status) });
            }
        }
    }

    /// The endpoint's unpacked key.
    fn key(&mut self, endpoint: Endpoint, ep: sys::Ep, packed: &[u8]) -> Result<KeyId, WireError> {
        if let Some(id) = self.keys.find(endpoint, packed) {
            return Ok(id);
        }
        let (padded, mut rkey) = ([packed, &PADDING].concat(), null_mut());
        // SAFETY: the endpoint is live (it is open) and the out-parameter valid. The bytes come from its peer, which
        // has proven itself; UCX reads as many as they say, so zeros follow them.
        let status = unsafe { (self.worker.calls().rkey_unpack)(ep, padded.as_ptr().cast(), &mut rkey) };
        check("a remote key", status)?;
        let (id, over) = self.keys.insert(endpoint, packed, rkey);
        self.destroy_keys(over);
        Ok(id)
    }

    /// Destroys keys that the cache has given up.
    fn destroy_keys(&self, keys: Vec<sys::Rkey>) {
        for key in keys {
            // SAFETY: unpacked by `key`; the cache gives each key up once, when no get under way needs it.
            unsafe { (self.worker.calls().rkey_destroy)(key) };
        }
    }

    /// Until UCX or another thread has something, or the time is over.
    fn wait_on(&self, longest: Duration) {
        let fds = [self.worker.event_fd(), self.wakeup.fd()];
        let mut fds = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: `fds` has two entries; both descriptors are open as long as `self`.
        unsafe { libc::poll(fds.as_mut_ptr(), 2, longest.as_millis().min(1000) as libc::c_int) };
        if fds[1].revents != 0 {
            self.wakeup.clear();
        }
    }
}

impl Wire for UcxWire {
    fn address(&self) -> &[u8] {
        self.worker.address()
    }

    fn means(&self) -> Vec<String> {
        self.means.clone()
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        let endpoint = Endpoint(self.next());
        let number = self.endpoints.open(&self.worker, &self.inbox, endpoint, address)?;
        Ok(Opened { endpoint, number })
    }

    fn close(&mut self, endpoint: Endpoint) {
        let Some((ep, arg)) = self.endpoints.remove(endpoint) else { return };
        let param = self.requests.param(sys::EP_CLOSE_FLAG_FORCE);
        // SAFETY: the endpoint is live and is closed once: it is not in the table any more. Its argument goes into the
        // request.
        let answer = unsafe { (self.worker.calls().ep_close)(ep, &param) };
        self.begun(answer, End::Closed { arg });
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        let Some(ep) = self.endpoints.ep(endpoint) else { return };
        let param = self.requests.param(sys::AM_SEND_FLAG_EAGER);
        let (data, length) = (message.as_ptr().cast(), message.len());
        // SAFETY: the endpoint is live; there is no header; `data` has `length` bytes, which stay until the request has
        // ended.
        let answer = unsafe { (self.worker.calls().am_send)(ep, AM_ID, null(), 0, data, length, &param) };
        self.begun(answer, End::Sent { endpoint, _message: message });
    }

    unsafe fn register(
        &mut self,
        address: usize,
        bytes: usize,
        kind: MemoryKind,
    ) -> Result<(Region, Vec<u8>), WireError> {
        let region = Region(self.next());
        // SAFETY: the caller keeps the memory mapped until `unregister`; `drop` unregisters what is left.
        let key = unsafe { self.memory.register(&self.worker, region, address, bytes, kind) }?;
        Ok((region, key))
    }

    fn unregister(&mut self, region: Region) {
        self.memory.unregister(&self.worker, region);
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let Get { token, key, remote, local, bytes, kind } = get;
        let closed = || WireError("the connection is closed".into());
        let ep = self.worker.check_kind(kind).and_then(|()| self.endpoints.ep(endpoint).ok_or_else(closed));
        let key = ep.and_then(|ep| Ok((ep, self.key(endpoint, ep, key)?)));
        let begun = key.and_then(|(ep, key)| Ok((ep, key, self.keys.begin(key).ok_or_else(closed)?)));
        match begun {
            Ok((ep, key, rkey)) => {
                let mut param = self.requests.param(0);
                memory::set_type(&mut param, kind);
                if kind.device().is_none()
                    && let Some(mem) = self.destinations.handle(&self.worker, local.addr(), bytes)
                {
                    param.op_attr_mask |= sys::OP_ATTR_FIELD_MEMH;
                    param.memh = mem;
                }
                // SAFETY: the endpoint is live; `local` is of the kind that `param` says (contract) and that this
                // worker can write to; the key and the handle, of a region that has all of `local`, are kept
                // until this get has ended (5 and 6 above), and so is `local` (contract).
                let answer = unsafe { (self.worker.calls().get)(ep, local.cast(), bytes, remote, rkey, &param) };
                self.begun(answer, End::Got { token, key });
            }
            Err(error) => self.pending.push(Event::Got { token, result: Err(error) }),
        }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        self.destinations.unregister_given_up(&self.worker);
        self.worker.progress(PROGRESS_CALLS);
        events.append(&mut self.pending);
        self.collect_ended(events);
        events.extend(std::mem::take(&mut *self.inbox.messages.borrow_mut()).into_iter().map(Event::Message));
        self.collect_failures(events);
        // The reads that a connection's failure has ended come after it, so that they count as the peer's failure.
        events.sort_by_key(|event| matches!(event, Event::Got { result: Err(_), .. }));
    }

    fn reads_device_memory(&mut self, _: Endpoint) -> bool {
        self.has_device_memory()
    }

    fn wants_writable(&self) -> bool {
        self.has_rdma_device
    }

    fn failed_registrations(&self) -> u64 {
        self.destinations.failures()
    }

    fn wait(&mut self, longest: Duration) {
        let inbox = &self.inbox;
        let idle = self.pending.is_empty()
            && inbox.failures.borrow().is_empty()
            && inbox.completed.borrow().is_empty()
            && inbox.messages.borrow().is_empty();
        if idle && self.worker.arm() {
            self.wait_on(longest);
        }
    }

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::clone(&self.wakeup) as Arc<dyn Waker>
    }
}

impl Drop for UcxWire {
    fn drop(&mut self) {
        self.endpoints.all().into_iter().for_each(|endpoint| self.close(endpoint));
        // Closes and what they cancel end soon; what does not goes with the worker.
        let mut events = Vec::new();
        for _ in 0..10_000 {
            if self.requests.is_empty() {
                break;
            }
            self.progress(&mut events);
        }
        if self.requests.is_empty() {
            let keys = self.keys.drain();
            self.destroy_keys(keys);
            self.destinations.unregister_all(&self.worker);
        }
        self.memory.unregister_all(&self.worker);
        self.requests.leak();
        // The worker and its context go with the field, then the regions with theirs.
    }
}
