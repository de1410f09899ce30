//! Reads between the memory of GPUs and of hosts where the wire below moves only bytes between memory of the same sort:
//! [`BounceWire`] reads into a slot of the owner's sort of memory and has this process's GPU copy from there.
//!
//! ```text
//!   owner's memory   read to            by
//!   host             host, pinned       the inner wire
//!   host             device             the inner wire to a pinned slot ─► copy to the device
//!   device           device             the inner wire (UCX's cuda_ipc)
//!   device           host, pinned       the inner wire to a device slot ─► copy to the host
//! ```
//!
//! UCX does such reads too, but by letting the owner's process send the bytes in messages over TCP: 0.15 GB/s on an
//! H100 between two processes of a machine, where its copy engines and `cuda_ipc` each move 50 GB/s and more.
//!
//! A read is cut into pieces of a slot, and the slots are filled by some while others are copied on. Nothing is
//! allocated or registered for a read.
//!
//! # What ends a read
//! All its pieces. One that fails ends the read with an error when the others that have begun are at their end. A copy
//! to memory of the host whose end is not known, because the device was lost or does not answer, may still write to it:
//! then the read is reported as [`Event::Stuck`] and never as ended.
//!
//! # What it does not do
//! It moves no device memory between machines: without GPUDirect, UCX would send it in messages, too. Such reads, and
//! those of a process without a GPU, end in an error at once and are counted; the caller has the host's copy to read.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluice_mem::MemoryKind;

use crate::wire::{DeviceRegion, Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

/// Set in the tokens of reads that this wire makes of the inner one.
const OWN_TOKEN: u64 = 1 << 63;
/// While a copy is under way, a wait is not longer: nothing tells of its end.
const COPY_WAIT: Duration = Duration::from_micros(100);
/// What a key of the inner wire's begins with here.
const OF_HOST: u8 = 0;
const OF_DEVICE: u8 = 1;

/// Where the slots are. They stay as long as the [`GpuCopies`] that has them.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// How many, at least 1.
    pub count: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// Address of the first on the device; the others follow.
    pub device: usize,
    /// Address of the first in pinned memory of the host.
    pub pinned: usize,
    /// Address on the device of as many bytes as a slot has, which only [`BounceWire::register_on_device`] writes to.
    pub sample: usize,
}

/// A copy between this process's host and its GPU.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCopy {
    /// Whether the target is on the device; the source then is the host's, else the other way round.
    pub to_device: bool,
    /// Address of the first byte.
    pub target: usize,
    /// Address of the first byte.
    pub source: usize,
    /// How many; at least 1.
    pub bytes: usize,
}

/// What copies between this process's memory and that of its GPU. Used by one thread.
pub trait GpuCopies {
    /// The kind of the device's memory.
    fn kind(&self) -> MemoryKind;

    /// The slots.
    fn slots(&self) -> Slots;

    /// Begins a copy, which belongs to a slot; that slot has no other under way.
    ///
    /// # Safety
    /// Source and target are memory of their sort, and nobody else uses them until [`GpuCopies::ended`] tells of the
    /// end, or for ever if it never does.
    ///
    /// # Errors
    /// No copy was begun: the device is lost, say.
    unsafe fn begin(&mut self, slot: usize, copy: DeviceCopy) -> Result<(), String>;

    /// Whether the device was lost: then no copy begins any more.
    fn is_lost(&self) -> bool;

    /// Whether the slot's copy has ended; none as long as it is under way. Never waits.
    fn ended(&mut self, slot: usize) -> Option<CopyEnd>;
}

/// The end of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyEnd {
    /// All bytes are there.
    Done,
    /// It is not known whether the memory is still written to; the slot is not used again.
    Unknown(String),
}

/// What a [`BounceWire`] has done; any thread may look.
#[derive(Debug, Default)]
pub struct BounceCounters {
    /// Bytes that went through a slot.
    pub bounced_bytes: AtomicU64,
    /// Reads that were refused because there is no way between these memories.
    pub declined: AtomicU64,
    /// Copies of which the end is not known.
    pub lost_copies: AtomicU64,
}

/// A read of the caller's that goes through slots.
struct Bounced {
    endpoint: Endpoint,
    /// Pieces that have not ended.
    left: usize,
    failed: Option<WireError>,
    /// It never ends, which was reported.
    stuck: bool,
}

/// A part of a read that fits into a slot.
#[derive(Clone)]
struct Piece {
    token: u64,
    endpoint: Endpoint,
    /// The inner wire's key.
    key: Arc<[u8]>,
    remote: u64,
    local: usize,
    bytes: usize,
    /// Whether the owner's memory is on a device, and so the slot.
    from_device: bool,
}

enum Slot {
    Free,
    Reading(Piece),
    Copying(Piece),
    /// Never used again.
    Lost,
}

/// A wire that reads between all kinds of memory; both ends must be wrapped. Owned and used by one thread.
///
/// Callers' tokens are below 2⁶³.
pub struct BounceWire<W: Wire, C: GpuCopies> {
    // Before `copies`, whose slots the inner wire's reads write to.
    inner: W,
    copies: Option<C>,
    slots: Vec<Slot>,
    waiting: VecDeque<Piece>,
    reads: HashMap<u64, Bounced>,
    ended: Vec<Event>,
    counters: Arc<BounceCounters>,
}

impl<W: Wire, C: GpuCopies> BounceWire<W, C> {
    /// Puts itself before a wire; without `copies`, in a process that has no GPU, it reads host memory only.
    pub fn new(inner: W, copies: Option<C>, counters: Arc<BounceCounters>) -> Self {
        let count = copies.as_ref().map_or(0, |copies| copies.slots().count);
        let slots = (0..count).map(|_| Slot::Free).collect();
        let (waiting, reads, ended) = Default::default();
        Self { inner, copies, slots, waiting, reads, ended, counters }
    }

    /// The wire below.
    pub fn inner(&mut self) -> &mut W {
        &mut self.inner
    }

    fn decline(&mut self, token: u64, why: &str) {
        self.counters.declined.fetch_add(1, Ordering::Relaxed);
        self.ended.push(Event::Got { token, result: Err(WireError(why.into())) });
    }

    /// Cuts a read into pieces.
    fn bounce(&mut self, endpoint: Endpoint, get: &Get<'_>, key: &[u8], from_device: bool, slot_bytes: usize) {
        let Get { token, remote, local, bytes, .. } = *get;
        let (key, local): (Arc<[u8]>, usize) = (key.into(), local.expose_provenance());
        let offsets = (0..bytes).step_by(slot_bytes);
        self.reads.insert(token, Bounced { endpoint, left: offsets.len(), failed: None, stuck: false });
        self.waiting.extend(offsets.map(|offset| Piece {
            token,
            endpoint,
            key: Arc::clone(&key),
            remote: remote + offset as u64,
            local: local + offset,
            bytes: slot_bytes.min(bytes - offset),
            from_device,
        }));
        self.fill_slots();
    }

    /// Starts reads of waiting pieces into free slots.
    fn fill_slots(&mut self) {
        let Some(copies) = &self.copies else { return };
        let (Slots { bytes, device, pinned, .. }, kind) = (copies.slots(), copies.kind());
        for number in 0..self.slots.len() {
            if !matches!(self.slots[number], Slot::Free) {
                continue;
            }
            let Some(piece) = self.next_piece() else { return };
            let (start, kind) = if piece.from_device { (device, kind) } else { (pinned, MemoryKind::Pinned) };
            let local = std::ptr::with_exposed_provenance_mut(start + number * bytes);
            let get = Get {
                token: OWN_TOKEN | number as u64,
                key: &piece.key,
                remote: piece.remote,
                local,
                bytes: piece.bytes,
                kind,
            };
            // SAFETY: the slot is memory of this kind and at least as large as the piece; it is free, and from here on
            // the piece's until the read's end was reported, or for ever (`drop`).
            unsafe { self.inner.get(piece.endpoint, get) };
            self.slots[number] = Slot::Reading(piece);
        }
        if !self.is_usable() {
            while let Some(piece) = self.next_piece() {
                self.end_piece(&piece, Err(WireError("the device was lost".into())));
            }
        }
    }

    /// The next piece whose read has not failed; those of reads that have are ended.
    fn next_piece(&mut self) -> Option<Piece> {
        while let Some(piece) = self.waiting.pop_front() {
            match self.reads.get(&piece.token) {
                Some(read) if read.failed.is_none() => return Some(piece),
                _ => self.end_piece(&piece, Ok(())),
            }
        }
        None
    }

    /// A piece is at its end; so is the read if it was the last.
    fn end_piece(&mut self, piece: &Piece, result: Result<(), WireError>) {
        let Some(read) = self.reads.get_mut(&piece.token) else { return };
        read.left -= 1;
        if let Err(error) = result {
            read.failed.get_or_insert(error);
        }
        if read.left == 0
            && let Some(read) = self.reads.remove(&piece.token)
        {
            self.ended.push(Event::Got { token: piece.token, result: read.failed.map_or(Ok(()), Err) });
        }
    }

    /// The inner wire's read into a slot has ended: the copy from there begins.
    fn read_slot(&mut self, number: usize, result: Result<(), WireError>) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        let piece = match std::mem::replace(slot, Slot::Free) {
            Slot::Reading(piece) => piece,
            other => return *slot = other,
        };
        let failed = self.reads.get(&piece.token).is_none_or(|read| read.failed.is_some());
        let copies = match &mut self.copies {
            Some(copies) if result.is_ok() && !failed => copies,
            _ => return self.end_piece(&piece, result),
        };
        let Slots { bytes, device, pinned, .. } = copies.slots();
        let source = if piece.from_device { device } else { pinned } + number * bytes;
        let copy = DeviceCopy { to_device: !piece.from_device, target: piece.local, source, bytes: piece.bytes };
        // SAFETY: the slot has the piece and is not used again before the copy's end; the target is the caller's memory
        // for this read, which is reported after that end or never.
        match unsafe { copies.begin(number, copy) } {
            Ok(()) => *slot = Slot::Copying(piece),
            Err(why) => self.end_piece(&piece, Err(WireError(why))),
        }
    }

    fn take_copies(&mut self) {
        for number in 0..self.slots.len() {
            let (Slot::Copying(_), Some(copies)) = (&self.slots[number], &mut self.copies) else { continue };
            let Some(end) = copies.ended(number) else { continue };
            let after = if end == CopyEnd::Done { Slot::Free } else { Slot::Lost };
            let Slot::Copying(piece) = std::mem::replace(&mut self.slots[number], after) else { continue };
            match end {
                CopyEnd::Done => {
                    self.counters.bounced_bytes.fetch_add(piece.bytes as u64, Ordering::Relaxed);
                    self.end_piece(&piece, Ok(()));
                }
                CopyEnd::Unknown(why) => self.lose(&piece, why),
            }
        }
    }

    /// A copy may go on for ever. Memory of a device that is lost is of no use to anybody; the host's is, so a read
    /// to it never ends.
    fn lose(&mut self, piece: &Piece, why: String) {
        self.counters.lost_copies.fetch_add(1, Ordering::Relaxed);
        if !piece.from_device {
            return self.end_piece(piece, Err(WireError(why)));
        }
        if let Some(read) = self.reads.get_mut(&piece.token) {
            // This piece is never counted off.
            read.failed.get_or_insert(WireError(why.clone()));
            if !std::mem::replace(&mut read.stuck, true) {
                self.ended.push(Event::Stuck { endpoint: piece.endpoint, error: WireError(why) });
            }
        }
    }

    fn is_usable(&self) -> bool {
        self.copies.as_ref().is_some_and(|copies| !copies.is_lost())
            && self.slots.iter().any(|slot| !matches!(slot, Slot::Lost))
    }

    fn is_copying(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Copying(_)))
    }
}

impl<W: Wire, C: GpuCopies> Wire for BounceWire<W, C> {
    fn address(&self) -> &[u8] {
        self.inner.address()
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        self.inner.open(address)
    }

    fn close(&mut self, endpoint: Endpoint) {
        for read in self.reads.values_mut().filter(|read| read.endpoint == endpoint) {
            read.failed.get_or_insert(WireError("the connection is closed".into()));
        }
        let (over, left): (Vec<Piece>, VecDeque<Piece>) = {
            let waiting = std::mem::take(&mut self.waiting).into_iter();
            let (over, left): (Vec<_>, Vec<_>) = waiting.partition(|piece| piece.endpoint == endpoint);
            (over, left.into())
        };
        self.waiting = left;
        over.iter().for_each(|piece| self.end_piece(piece, Ok(())));
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
        let (region, key) = unsafe { self.inner.register(address, bytes, kind) }?;
        let sort = if kind.device().is_some() { OF_DEVICE } else { OF_HOST };
        Ok((region, [&[sort], &key[..]].concat()))
    }

    fn register_on_device(&mut self, content: &[u8]) -> Option<Result<DeviceRegion, WireError>> {
        let copies = self.copies.as_mut()?;
        let (Slots { bytes, pinned, sample, .. }, kind) = (copies.slots(), copies.kind());
        let number = self.slots.iter().position(|slot| matches!(slot, Slot::Free))?;
        let length = content.len().min(bytes);
        let source = pinned + number * bytes;
        // SAFETY: the slot is pinned memory of this process with `bytes` bytes, and free.
        unsafe {
            let slot = std::ptr::with_exposed_provenance_mut::<u8>(source);
            slot.copy_from_nonoverlapping(content.as_ptr(), length);
        }
        let copy = DeviceCopy { to_device: true, target: sample, source, bytes: length };
        // SAFETY: the slot is used again only when the copy is known to have ended; the target is for this.
        let begun = unsafe { copies.begin(number, copy) };
        let mut wait = || {
            let end = std::time::Instant::now() + Duration::from_secs(1);
            while std::time::Instant::now() < end {
                if let Some(end) = copies.ended(number) {
                    return end;
                }
                std::thread::sleep(Duration::from_micros(20));
            }
            CopyEnd::Unknown("a copy to the device does not end".into())
        };
        if let CopyEnd::Unknown(why) = begun.map_or_else(CopyEnd::Unknown, |()| wait()) {
            self.counters.lost_copies.fetch_add(1, Ordering::Relaxed);
            self.slots[number] = Slot::Lost;
            return Some(Err(WireError(why)));
        }
        // SAFETY: the bytes on the device stay as long as `copies`, which go after the inner wire.
        let registered = unsafe { self.register(sample, length, kind) };
        Some(registered.map(|(region, key)| DeviceRegion { region, address: sample as u64, key }))
    }

    fn reads_device_memory(&mut self, endpoint: Endpoint) -> bool {
        self.is_usable() && self.inner.reads_device_memory(endpoint)
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
        self.inner.unregister(region);
    }

    fn max_bytes_in_flight(&self, endpoint: Endpoint) -> usize {
        self.inner.max_bytes_in_flight(endpoint)
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let (from_device, key) = match get.key.split_first() {
            Some((&OF_HOST, key)) => (false, key),
            Some((&OF_DEVICE, key)) => (true, key),
            _ => {
                let result = Err(WireError("the key is malformed".into()));
                return self.ended.push(Event::Got { token: get.token, result });
            }
        };
        let to_device = get.kind.device().is_some();
        if from_device && !self.reads_device_memory(endpoint) {
            return self.decline(get.token, "the memory of the peer's GPU cannot be read from here");
        }
        if from_device == to_device {
            // SAFETY: the caller promises the same.
            return unsafe { self.inner.get(endpoint, Get { key, ..get }) };
        }
        match self.copies.as_ref().map(|copies| copies.slots().bytes) {
            Some(slot_bytes) if self.is_usable() => self.bounce(endpoint, &get, key, from_device, slot_bytes),
            _ => self.decline(get.token, "this process has no GPU, or it was lost"),
        }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        self.take_copies();
        let mut inner = Vec::new();
        self.inner.progress(&mut inner);
        for event in inner {
            match event {
                Event::Got { token, result } if token & OWN_TOKEN != 0 => {
                    self.read_slot((token & !OWN_TOKEN) as usize, result);
                }
                event => events.push(event),
            }
        }
        self.take_copies();
        self.fill_slots();
        events.append(&mut self.ended);
    }

    fn wait(&mut self, longest: Duration) {
        if self.ended.is_empty() {
            self.inner.wait(if self.is_copying() { longest.min(COPY_WAIT) } else { longest });
        }
    }

    fn waker(&self) -> Arc<dyn Waker> {
        self.inner.waker()
    }
}

impl<W: Wire, C: GpuCopies> Drop for BounceWire<W, C> {
    fn drop(&mut self) {
        // Slots that a read or a copy may still write to are never given back.
        if self.slots.iter().any(|slot| !matches!(slot, Slot::Free)) {
            std::mem::forget(self.copies.take());
        }
    }
}
