//! Reads within one machine by CMA ("cross memory attach"): the system call `process_vm_readv` copies the bytes out of
//! the owner's memory, on the reader's threads and at its cost; the owner's threads have no part in it. [`CmaWire`]
//! does that in front of another wire, which carries everything else, and every read that cannot be made so.
//!
//! ```text
//!   owner's process                               reader's process
//!   register ─► word := v, key (word's place, v)  get ─► queue ─► one call: data …, then the words
//!   unregister ─► word := 0, then the inner's             all came and every word holds its v ─► Got
//!                 (and then the owner unmaps)             a word does not ─► the inner wire's get ─► Got
//!                                                         not all came, even alone ─► Got, an error
//! ```
//!
//! # Why bytes that are reported are those of the region
//! Each registration has a *validity word* in the owner's memory. It holds a number `v` of its own from the
//! registration to its end, and the region's key says where it is and what it holds.
//! 1. A call reads its pieces in their order, so a validity word is read after the data that it stands for.
//! 2. The memory of a validity word is used for nothing else as long as the process lives, holds `v` only from the
//!    registration to its end, and no other registration's number is `v` (they are odd numbers counted on from a random
//!    one). So a reader that finds `v` there has read its data before the end of this registration, in this very
//!    process. A pid that another process has now, another PID namespace, a peer that is gone, memory that was unmapped
//!    and mapped again: each shows as a call that fails or a word that holds something else. No identity has to be
//!    compared.
//! 3. Until its end the region's memory stays mapped with what was registered (contract of [`Wire::register`]), and a
//!    read outside of the region's bounds, which stand in its key, is not made here.
//!
//! In 1 and 2 "after" is also the processors' order: what changes the memory after `unregister` is the owner's
//! `munmap`, and a call that finds other pages has taken the lock of the owner's address space after it. A region of
//! memory that its owner writes to right after `unregister`, instead of unmapping it, has this promise only where loads
//! keep their order (x86-64).
//!
//! # Two threads
//! The wire's thread and its helper take gets from one queue ([`queue`]), as many as one call reads; a call is one
//! thread's from its first piece to its validity words, so none of the above depends on which thread reads. The inner
//! wire is touched by the wire's thread only.
//!
//! # What it does not do
//! It does not find out which peers are on this machine. Instead, before an endpoint's first get it reads the validity
//! word of the peer's process; if that works and the number is right, the endpoint's gets are made here.

mod call;
mod format;
mod job;
mod queue;
#[cfg(test)]
mod tests;
mod validity;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluice_mem::MemoryKind;

use self::call::Call;
use self::format::{Origin, RegionKey};
use self::job::{Ended, Outcome, Queued, Reading};
use self::queue::{CALL_BYTES, Queue};
use self::validity::{ValidityMark, ValidityWord};
use crate::wire::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

#[cfg(test)]
pub(crate) use self::call::{faults, permitted};

/// System calls that one call of `progress` makes at most, but for those after one that has failed; after
/// [`CALL_BYTES`] it begins no other either.
const TURN_CALLS: usize = 32;

/// A wire whose gets are system calls where the owner is a process of this machine that this one may read, and the
/// inner wire's elsewhere.
///
/// Both ends must be wrapped, whether or not they read by CMA themselves: addresses and keys have more in them. Owned
/// and used by one thread, as every wire; a second one may help it to read ([`CmaWire::with_helper`]).
pub struct CmaWire<W: Wire> {
    // Before `inner`, so that no validity word holds its number any more when the inner wire gives its regions up.
    words: HashMap<Region, ValidityWord>,
    /// What others read when they try whether this process can be read by CMA; none when it reads and is read by the
    /// inner wire only.
    _own: Option<ValidityWord>,
    inner: W,
    address: Vec<u8>,
    enabled: bool,
    peers: HashMap<Endpoint, Peer>,
    /// Gets of endpoints whose way is [`Way::Cma`].
    queue: Queue,
    reading: Reading,
    /// What was read and not looked at yet.
    read: Vec<Ended>,
    ended: Vec<Event>,
    read_bytes: Arc<AtomicU64>,
}

struct Peer {
    origin: Origin,
    way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Untried,
    Cma,
    Inner,
}

impl<W: Wire> CmaWire<W> {
    /// Puts itself before a wire. Unless `enabled`, nothing is read by CMA, neither here nor by others from here.
    /// `read_bytes` counts the bytes that are; any thread may look at it.
    pub fn new(inner: W, enabled: bool, read_bytes: Arc<AtomicU64>) -> Self {
        let own = enabled.then(ValidityWord::new);
        let mark = own.as_ref().map_or(ValidityMark { address: 0, value: 0 }, ValidityWord::mark);
        let pid = if enabled { std::process::id() } else { 0 };
        let address = Origin { pid, mark }.encode(inner.address());
        let (words, peers, reading, read, ended) = Default::default();
        let queue = Queue::new();
        Self { words, _own: own, inner, address, enabled, peers, queue, reading, read, ended, read_bytes }
    }

    /// The same with a thread that helps to read when there is much, unless this wire does not read by CMA. When it is
    /// in one call for longer than `patience`, that is an [`Event::Stuck`].
    ///
    /// # Errors
    /// The system has no thread.
    pub fn with_helper(mut self, patience: Duration) -> Result<Self, WireError> {
        if self.enabled {
            self.queue.start_helper(self.inner.waker(), patience)?;
        }
        Ok(self)
    }

    /// The process to read from, if the endpoint's gets are made here; tried before its first.
    fn cma_pid(&mut self, endpoint: Endpoint) -> Option<u32> {
        let peer = self.peers.get_mut(&endpoint)?;
        if peer.way == Way::Untried {
            let Origin { pid, mark } = peer.origin;
            let (mut call, mut value) = (Call::default(), 0u64);
            call.push(mark.address, (&raw mut value).cast(), size_of::<u64>());
            // SAFETY: the one piece is `value`.
            let read = unsafe { call.run(pid) };
            peer.way = if read.is_ok() && value == mark.value { Way::Cma } else { Way::Inner };
        }
        (peer.way == Way::Cma).then_some(peer.origin.pid)
    }

    /// Moves the queue on, within the limits of one turn.
    fn read_queued(&mut self) {
        let (mut bytes, mut calls) = (0, 0);
        while bytes < CALL_BYTES && calls < TURN_CALLS {
            let gets = self.queue.take(CALL_BYTES - bytes);
            if gets.is_empty() {
                break;
            }
            bytes += gets.iter().map(|get| get.bytes).sum::<usize>();
            calls += 1;
            self.reading.read(gets, || {}, &mut self.read);
            self.end_read();
        }
        self.queue.take_ended(&mut self.read);
        self.end_read();
        if let Some(endpoint) = self.queue.stuck() {
            let error =
                WireError("a read of its memory does not end: a disk or device hangs, see the kernel's log".into());
            self.ended.push(Event::Stuck { endpoint, error });
        }
    }

    /// Ends the gets that were read. Those that are none of this wire's are the inner one's.
    fn end_read(&mut self) {
        let (mut read, mut bytes) = (std::mem::take(&mut self.read), 0);
        for (get, outcome) in read.drain(..) {
            match outcome {
                Outcome::Read => {
                    bytes += get.bytes as u64;
                    self.ended.push(Event::Got { token: get.token, result: Ok(()) });
                }
                Outcome::Stale => self.hand_over(&get),
                // The file behind it has been cut short, say. The inner wire might have the owner's process touch it,
                // which would end that process.
                Outcome::NotRead => {
                    let result = Err(WireError("the owner's memory cannot be read".into()));
                    self.ended.push(Event::Got { token: get.token, result });
                }
                Outcome::Refused => {
                    self.hand_over(&get);
                    self.hand_over_endpoint(get.endpoint);
                }
            }
        }
        self.read = read;
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The endpoint cannot be read by CMA, or not any more.
    fn hand_over_endpoint(&mut self, endpoint: Endpoint) {
        if let Some(peer) = self.peers.get_mut(&endpoint) {
            peer.way = Way::Inner;
        }
        self.queue.take_all(endpoint).iter().for_each(|get| self.hand_over(get));
    }

    fn hand_over(&mut self, get: &Queued) {
        let Queued { endpoint, token, remote, local, bytes, kind, .. } = *get;
        // SAFETY: the caller of `get` has promised the same for this get, which has not been reported.
        unsafe { self.inner.get(endpoint, Get { token, key: &get.inner_key, remote, local, bytes, kind }) };
    }
}

impl<W: Wire> Wire for CmaWire<W> {
    fn address(&self) -> &[u8] {
        &self.address
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        let (origin, inner) = Origin::decode(address)?;
        let opened = self.inner.open(inner)?;
        let way = if self.enabled && origin.pid != 0 { Way::Untried } else { Way::Inner };
        self.peers.insert(opened.endpoint, Peer { origin, way });
        Ok(opened)
    }

    fn close(&mut self, endpoint: Endpoint) {
        self.peers.remove(&endpoint);
        let closed =
            |get: Queued| Event::Got { token: get.token, result: Err(WireError("the connection is closed".into())) };
        let closed = self.queue.take_all(endpoint).into_iter().map(closed);
        self.ended.extend(closed);
        self.inner.close(endpoint);
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        self.inner.send(endpoint, message);
    }

    unsafe fn register(
        &mut self,
        address: usize,
        bytes: usize,
        kind: MemoryKind,
    ) -> Result<(Region, Vec<u8>), WireError> {
        // SAFETY: the caller promises the same.
        let (region, inner_key) = unsafe { self.inner.register(address, bytes, kind) }?;
        let word = ValidityWord::new();
        // No system call reads a GPU's memory: its key covers no bytes, so all its gets are the inner wire's.
        let bytes = if kind.device().is_some() { 0 } else { bytes as u64 };
        let key = RegionKey { mark: word.mark(), address: address as u64, bytes }.encode(&inner_key);
        self.words.insert(region, word);
        Ok((region, key))
    }

    fn reads_device_memory(&mut self, endpoint: Endpoint) -> bool {
        // UCX would have the owner's process send the bytes if that were on another machine. A process that can be read
        // by system calls is on this one.
        self.inner.reads_device_memory(endpoint) && self.cma_pid(endpoint).is_some()
    }

    fn wants_writable(&self) -> bool {
        self.inner.wants_writable()
    }

    fn means(&self) -> Vec<String> {
        self.inner.means()
    }

    fn failed_registrations(&self) -> u64 {
        self.inner.failed_registrations()
    }

    fn unregister(&mut self, region: Region) {
        // First: what is reported after this was read before.
        drop(self.words.remove(&region));
        self.inner.unregister(region);
    }

    fn max_bytes_in_flight(&self, endpoint: Endpoint) -> usize {
        if self.peers.get(&endpoint).is_none_or(|peer| peer.way != Way::Cma) {
            self.inner.max_bytes_in_flight(endpoint)
        } else if self.queue.has_helper() {
            // For each of the two threads one call's bytes that it reads, and one call's that it reads next.
            4 * CALL_BYTES
        } else {
            // One turn reads this much at once; more gets under way would only wait.
            CALL_BYTES
        }
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let Get { token, remote, local, bytes, kind, .. } = get;
        let (key, inner_key) = match RegionKey::decode(get.key) {
            Ok(parts) => parts,
            Err(error) => return self.ended.push(Event::Got { token, result: Err(error) }),
        };
        let here = kind.device().is_none() && key.covers(remote, bytes);
        if let Some(pid) = self.cma_pid(endpoint).filter(|_| here) {
            let (mark, inner_key) = (key.mark, inner_key.to_vec());
            self.queue.push(Queued { endpoint, pid, mark, token, inner_key, remote, local, bytes, kind });
        } else {
            // SAFETY: the caller promises the same.
            unsafe { self.inner.get(endpoint, Get { key: inner_key, ..get }) };
        }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        self.read_queued();
        events.append(&mut self.ended);
        self.inner.progress(events);
    }

    fn wait(&mut self, longest: Duration) {
        if self.ended.is_empty() && self.queue.may_sleep() {
            self.inner.wait(longest);
        }
    }

    fn waker(&self) -> Arc<dyn Waker> {
        self.inner.waker()
    }
}
