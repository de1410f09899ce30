//! Reads within one machine: one system call (`process_vm_readv`, "CMA") takes the bytes out of the owner's memory, on the
//! reader's thread and at its cost; the owner's threads have no part in it. [`Near`] does that in front of another wire, which
//! carries everything else, and every read that cannot be made so.
//!
//! ```text
//!   owner's process                               reader's process
//!   register ─► cell := v, key (cell's place, v)  get ─► queue ─► one call: data …, then the cells
//!   unregister ─► cell := 0, then the inner's             all came and every cell holds its v ─► Got
//!                 (and then somebody unmaps)              a cell does not ─► the inner wire's get ─► Got
//!                                                         not all came, even alone ─► Got, an error
//! ```
//!
//! # Why bytes that are reported are those of the region
//! 1. A call reads its pieces in their order, so a cell is read after the data that it stands for.
//! 2. A cell's memory is a cell for as long as the process lives, holds `v` only from the registration to its end, and no
//!    other registration's value is `v` (they are odd numbers counted on from a random one). So who reads `v` there, or one
//!    byte of it that is not 0, has begun to before the end of this registration, in this very process: a pid that another
//!    process has now, another PID namespace, a peer that is gone, memory that was unmapped and mapped again all show as a
//!    call that fails or a cell that holds something else. No identity has to be compared.
//! 3. Until its end the region's memory stays mapped with what was registered (contract of [`Wire::register`]), and a read
//!    outside of the region's bounds, which stand in its key, is not made here.
//!
//! In 1 and 2 "after" is also the processors' order: what changes the memory after `unregister` is the owner's `munmap`, and
//! a call that finds other pages has taken the lock of the owner's address space after it. A region of memory that its owner
//! writes to right after `unregister`, instead of unmapping it, has this promise only where loads keep their order (x86-64).
//!
//! # What it does not do
//! Look for who is near: an endpoint is when its process's cell can be read, which is tried before its first get.

mod call;
mod cells;
mod format;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use self::call::{Call, Failure};
use self::cells::{Cell, Mark};
use self::format::{Origin, RegionKey};
use crate::wire::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

#[cfg(test)]
pub(crate) use self::call::{faults, permitted};

/// Bytes after which one call of `progress` begins no other read. What is under way and what has just been delivered then fit
/// into a core's cache together: blocks of 64 KiB took 9.5 us of the thread's time, 11.2 with 1 MiB, 13 with 2 MiB (medians
/// on a busy machine).
const TURN_BYTES: usize = 512 << 10;
/// System calls that one call of `progress` makes at most.
const TURN_CALLS: usize = 32;
/// Gets that one system call serves at most. Each is a piece and may need a cell; the kernel takes 1024 pieces.
const CALL_GETS: usize = 64;

/// A wire whose gets are system calls where the owner is a process of this machine that this one may read, and the inner
/// wire's elsewhere.
///
/// Both ends must be wrapped, whether or not they read near themselves: addresses and keys have more in them. Owned and
/// used by one thread, as every wire.
pub struct Near<W: Wire> {
    // Before `inner`, so that no cell stands any more when the inner wire gives its regions up.
    cells: HashMap<Region, Cell>,
    /// What others find when they try whether this process is near; none when it reads and is read by the inner wire only.
    _own: Option<Cell>,
    inner: W,
    address: Vec<u8>,
    enabled: bool,
    peers: HashMap<Endpoint, Peer>,
    /// Gets of endpoints whose way is [`Way::Near`], in the order in which they came.
    queue: VecDeque<Queued>,
    /// So many at the queue's front were in a call that failed: each is tried alone.
    alone: usize,
    ended: Vec<Event>,
    call: Call,
    marks: Vec<Mark>,
    held: Vec<u64>,
    read_bytes: Arc<AtomicU64>,
}

struct Peer {
    origin: Origin,
    way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Untried,
    Near,
    Inner,
}

struct Queued {
    endpoint: Endpoint,
    mark: Mark,
    token: u64,
    inner_key: Vec<u8>,
    remote: u64,
    local: *mut u8,
    bytes: usize,
}

impl<W: Wire> Near<W> {
    /// Puts itself before a wire. Unless `enabled`, nothing is read near, neither here nor by others from here.
    /// `read_bytes` counts the bytes that are; any thread may look at it.
    pub fn new(inner: W, enabled: bool, read_bytes: Arc<AtomicU64>) -> Self {
        let own = enabled.then(Cell::new);
        let mark = own.as_ref().map_or(Mark { address: 0, value: 0 }, Cell::mark);
        let pid = if enabled { std::process::id() } else { 0 };
        let address = Origin { pid, mark }.encode(inner.address());
        let (cells, peers, queue, ended, call, marks, held) = Default::default();
        let alone = 0;
        Self { cells, _own: own, inner, address, enabled, peers, queue, alone, ended, call, marks, held, read_bytes }
    }

    /// Whether the endpoint's gets are made here; tried before its first.
    fn is_near(&mut self, endpoint: Endpoint) -> bool {
        let Some(peer) = self.peers.get_mut(&endpoint) else { return false };
        if peer.way == Way::Untried {
            let Origin { pid, mark } = peer.origin;
            let mut value = 0u64;
            self.call.clear();
            self.call.push(mark.address, (&raw mut value).cast(), size_of::<u64>());
            // SAFETY: the one piece is `value`.
            let read = unsafe { self.call.run(pid) };
            peer.way = if read.is_ok() && value == mark.value { Way::Near } else { Way::Inner };
        }
        peer.way == Way::Near
    }

    /// Moves the queue on, within the limits of one turn.
    fn read_queued(&mut self) {
        let (mut bytes, mut calls) = (0, 0);
        while bytes < TURN_BYTES && calls < TURN_CALLS && !self.queue.is_empty() {
            let (count, count_bytes) = self.next_call(TURN_BYTES - bytes);
            bytes += count_bytes;
            calls += 1;
            let read = self.read_front(count);
            self.alone = self.alone.saturating_sub(1);
            match read {
                Ok(()) => self.end_front(count),
                Err(Failure::Refused) => self.hand_over_endpoint(),
                Err(Failure::NotRead) if count > 1 => self.alone = count,
                Err(Failure::NotRead) => self.fail_front(),
            }
        }
    }

    /// How many gets at the front go into one call, and their bytes: one endpoint's, up to `room` bytes, at least one.
    fn next_call(&self, room: usize) -> (usize, usize) {
        let most = if self.alone > 0 { 1 } else { CALL_GETS };
        let Some(endpoint) = self.queue.front().map(|front| front.endpoint) else { return (0, 0) };
        let (mut count, mut bytes) = (0, 0usize);
        for get in self.queue.iter().take(most).take_while(|get| get.endpoint == endpoint) {
            let with = bytes.saturating_add(get.bytes);
            if count > 0 && with > room {
                break;
            }
            (count, bytes) = (count + 1, with);
        }
        (count, bytes)
    }

    /// Reads the first `count` gets' data, then the cells of their regions into `held`, in one call.
    fn read_front(&mut self, count: usize) -> Result<(), Failure> {
        let Self { call, marks, held, queue, peers, .. } = self;
        let Some(peer) = queue.front().and_then(|front| peers.get(&front.endpoint)) else {
            return Err(Failure::Refused);
        };
        call.clear();
        marks.clear();
        for get in queue.iter().take(count) {
            call.push(get.remote, get.local, get.bytes);
            if !marks.contains(&get.mark) {
                marks.push(get.mark);
            }
        }
        held.clear();
        held.resize(marks.len(), 0);
        for (mark, word) in marks.iter().zip(held.iter_mut()) {
            call.push(mark.address, std::ptr::from_mut(word).cast(), size_of::<u64>());
        }
        // SAFETY: each get's memory is its own until it is reported (contract of `get`); the words are `held`'s.
        unsafe { call.run(peer.origin.pid) }
    }

    /// Ends the first `count` gets, which have been read: those whose region's cell holds its value. The others are the inner
    /// wire's.
    fn end_front(&mut self, count: usize) {
        let mut bytes = 0;
        for _ in 0..count {
            let Some(get) = self.queue.pop_front() else { break };
            let stands = self.marks.iter().zip(&self.held).any(|(mark, held)| *mark == get.mark && mark.value == *held);
            if stands {
                bytes += get.bytes as u64;
                self.ended.push(Event::Got { token: get.token, result: Ok(()) });
            } else {
                self.hand_over(&get);
            }
        }
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The front's memory cannot be read: the file behind it has been cut short, say. The inner wire might have the owner's
    /// process touch it, which would end that process.
    fn fail_front(&mut self) {
        if let Some(Queued { token, .. }) = self.queue.pop_front() {
            let result = Err(WireError("the owner's memory cannot be read".into()));
            self.ended.push(Event::Got { token, result });
        }
    }

    /// The front's endpoint is not near, or not any more.
    fn hand_over_endpoint(&mut self) {
        let Some(endpoint) = self.queue.front().map(|front| front.endpoint) else { return };
        if let Some(peer) = self.peers.get_mut(&endpoint) {
            peer.way = Way::Inner;
        }
        self.take_queued(endpoint).iter().for_each(|get| self.hand_over(get));
    }

    fn take_queued(&mut self, endpoint: Endpoint) -> VecDeque<Queued> {
        let (taken, left) = std::mem::take(&mut self.queue).into_iter().partition(|get| get.endpoint == endpoint);
        self.queue = left;
        self.alone = 0;
        taken
    }

    fn hand_over(&mut self, get: &Queued) {
        let Queued { endpoint, token, remote, local, bytes, .. } = *get;
        // SAFETY: the caller of `get` has promised the same for this get, which has not been reported.
        unsafe { self.inner.get(endpoint, Get { token, key: &get.inner_key, remote, local, bytes }) };
    }
}

impl<W: Wire> Wire for Near<W> {
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
        let closed = self.take_queued(endpoint).into_iter().map(closed);
        self.ended.extend(closed);
        self.inner.close(endpoint);
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        self.inner.send(endpoint, message);
    }

    unsafe fn register(&mut self, address: usize, bytes: usize) -> Result<(Region, Vec<u8>), WireError> {
        // SAFETY: the caller promises the same.
        let (region, inner_key) = unsafe { self.inner.register(address, bytes) }?;
        let cell = Cell::new();
        let key = RegionKey { mark: cell.mark(), address: address as u64, bytes: bytes as u64 }.encode(&inner_key);
        self.cells.insert(region, cell);
        Ok((region, key))
    }

    fn wants_writable(&self) -> bool {
        self.inner.wants_writable()
    }

    fn unregister(&mut self, region: Region) {
        // First: what is reported after this was read before.
        drop(self.cells.remove(&region));
        self.inner.unregister(region);
    }

    fn window(&self, endpoint: Endpoint) -> usize {
        // What a turn reads: there is nothing to wait for.
        let near = self.peers.get(&endpoint).is_some_and(|peer| peer.way == Way::Near);
        if near { TURN_BYTES } else { self.inner.window(endpoint) }
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let Get { token, remote, local, bytes, .. } = get;
        let (key, inner_key) = match RegionKey::decode(get.key) {
            Ok(parts) => parts,
            Err(error) => return self.ended.push(Event::Got { token, result: Err(error) }),
        };
        if key.covers(remote, bytes) && self.is_near(endpoint) {
            let (mark, inner_key) = (key.mark, inner_key.to_vec());
            self.queue.push_back(Queued { endpoint, mark, token, inner_key, remote, local, bytes });
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
        if self.queue.is_empty() && self.ended.is_empty() {
            self.inner.wait(longest);
        }
    }

    fn waker(&self) -> Arc<dyn Waker> {
        self.inner.waker()
    }
}
