//! Copies of committed map outputs in the memory of one device: how they come there, and who reads them.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use sluice_codec::{FrameHeader, HEADER_BYTES};
use sluice_cuda::{Context, DeviceAddress, Stream, Wait};
use sluice_gpu_mem::{DropCaches, StreamArena};
use sluice_mem::DeviceLease;

use super::counts::CopyCounts;
use super::index::PartitionIndex;
use super::table::{CopyId, CopyKey, CopyTable, HostCopy, NotBegun, Pin};
use crate::declined::Declined;
use crate::staging::Staging;
use crate::submit::settled;

/// A committed map output, as the host has it.
#[derive(Debug, Clone, Copy)]
pub struct HostOutput<'o> {
    /// Which one it is.
    pub key: CopyKey,
    /// Its data file: Spark's, or a memory file by its path in `/proc`.
    pub file: &'o Path,
    /// Bytes of each partition. They lie one behind another from the file's first byte on.
    pub lengths: &'o [i64],
    /// Where the file is.
    pub host: HostCopy,
    /// Whether its frames are sealed. Those have no checksum that is not the reader's to check.
    pub sealed: bool,
}

/// Which copy a reader would like to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The device's, for a reader whose next work is on the device.
    Device,
    /// The host's, for one that decodes on the CPU.
    Host,
}

/// Where a reader finds the partitions that it has asked for.
#[derive(Debug)]
pub enum Located {
    /// In the device's memory, pinned.
    Device(PinnedCopy),
    /// In the host's copy; why not on the device.
    Host(Miss),
}

/// Why an output was not kept on the device. The host's copy is not affected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotKept {
    /// The tier is off.
    Off,
    /// It has no bytes.
    Empty,
    /// Its lengths are none.
    BadLengths,
    /// It was kept before.
    Present,
    /// The limit has no room beside copies that are in use.
    NoRoom,
    /// There is no memory of the device now, or never for so many bytes.
    NoMemory,
    /// All pinned buffers are in use.
    Busy,
    /// The device is lost.
    Lost,
    /// The host copy could not be read.
    HostCopy(String),
    /// A call of the driver failed.
    Device(Declined),
}

/// Why the device tier does not serve a read: the host's copy does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Miss {
    /// The tier is off.
    Off,
    /// The reader has asked for the host's copy.
    HostPreferred,
    /// There is no copy, or it is being filled.
    Absent,
    /// The output has no such partitions.
    BadRange,
    /// The device is lost.
    Lost,
    /// All pinned buffers are in use.
    Busy,
    /// The copy has other lengths than the reader's index, or a frame failed its check. The copy is gone.
    Damaged,
    /// A call of the driver failed.
    Device(Declined),
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("the device tier is off"),
            Self::Empty => f.write_str("the map output is empty"),
            Self::BadLengths => f.write_str("the lengths of the partitions cannot be"),
            Self::Present => f.write_str("the map output is on the device"),
            Self::NoRoom => f.write_str("the device tier's limit has no room"),
            Self::NoMemory => f.write_str("there is no memory of the device"),
            Self::Busy => f.write_str("all pinned buffers are in use"),
            Self::Lost => f.write_str("the device is lost"),
            Self::HostCopy(why) => write!(f, "the host's copy could not be read: {why}"),
            Self::Device(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotKept {}

impl From<Declined> for NotKept {
    fn from(why: Declined) -> Self {
        if why.is_lost() { Self::Lost } else { Self::Device(why) }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("the device tier is off"),
            Self::HostPreferred => f.write_str("the reader prefers the host's copy"),
            Self::Absent => f.write_str("the map output is not on the device"),
            Self::BadRange => f.write_str("the map output has no such partitions"),
            Self::Lost => f.write_str("the device is lost"),
            Self::Busy => f.write_str("all pinned buffers are in use"),
            Self::Damaged => f.write_str("the device's copy is not the host's"),
            Self::Device(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for Miss {}

impl From<Declined> for Miss {
    fn from(why: Declined) -> Self {
        if why.is_lost() { Self::Lost } else { Self::Device(why) }
    }
}

/// The memory of one copy. No work of the device uses it when it is dropped, so that it goes back to the arena without
/// an event; on a lost device it stays where it is, as all leases do.
struct CopyMemory {
    /// None after the drop.
    lease: Option<DeviceLease>,
    sealed: bool,
    context: Context,
}

impl CopyMemory {
    fn address(&self) -> u64 {
        self.lease.as_ref().map_or(0, |lease| lease.address() as u64)
    }
}

impl Drop for CopyMemory {
    fn drop(&mut self) {
        let lease = self.lease.take();
        if self.context.lost().is_some() {
            lease.map(DeviceLease::into_raw);
        }
    }
}

/// A reader's hold on partitions in the device's memory: they stay there until it is dropped.
///
/// # What the reader promises
/// It only reads, and all its work on the device that reads has ended when this is dropped.
pub struct PinnedCopy {
    copies: Arc<DeviceCopies>,
    id: CopyId,
    memory: Arc<CopyMemory>,
    bytes: Range<u64>,
}

impl PinnedCopy {
    /// Where the first byte is.
    pub fn address(&self) -> DeviceAddress {
        DeviceAddress(self.memory.address() + self.bytes.start)
    }

    /// Bytes of the partitions.
    pub fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }

    /// Whether the partitions have no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Copies the partitions to other memory of the device, and waits for the copy.
    ///
    /// # Errors
    /// The driver refuses, or the device is lost, in the middle too: the target's bytes mean nothing then.
    ///
    /// # Safety
    /// The target is allocated, has [`Self::len`] bytes, and no work that is not ordered with this stream uses it.
    pub unsafe fn copy_to(&self, stream: &Stream, target: DeviceAddress, wait: Wait<'_>) -> Result<(), Miss> {
        let bytes = self.len() as usize;
        let copied = settled(stream, wait, || {
            if bytes > 0 {
                // SAFETY: the pinned bytes are allocated and only read; the target is the caller's promise.
                unsafe { stream.copy_on_device(target, self.address(), bytes)? };
            }
            crate::submit::finish(stream, wait)
        });
        copied.map_err(|why| self.copies.missed(why.into()))
    }
}

impl fmt::Debug for PinnedCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedCopy").field("address", &self.address()).field("bytes", &self.bytes).finish()
    }
}

impl Drop for PinnedCopy {
    fn drop(&mut self) {
        self.copies.table.unpin(self.id);
    }
}

/// The device tier of one device. Any thread may call anything.
pub struct DeviceCopies {
    context: Context,
    table: CopyTable<CopyMemory>,
}

impl fmt::Debug for DeviceCopies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCopies").field("limit", &self.table.limit()).field("counts", &self.counts()).finish()
    }
}

impl DeviceCopies {
    /// A tier for at most so many bytes of map outputs.
    pub fn new(context: &Context, limit_bytes: usize) -> Arc<Self> {
        Arc::new(Self { context: context.clone(), table: CopyTable::new(limit_bytes as u64) })
    }

    /// What drops copies when an encode lacks memory, for [`sluice_gpu_mem::StreamArenaOptions::drop_caches`].
    pub fn drop_caches(self: &Arc<Self>) -> DropCaches {
        let copies = Arc::clone(self);
        Box::new(move |_, bytes| copies.table.shrink(bytes as u64))
    }

    /// The most bytes of all copies.
    pub fn limit(&self) -> u64 {
        self.table.limit()
    }

    /// Drops everything at once if the device is lost; whether it is.
    fn is_lost(&self) -> bool {
        let lost = self.context.lost().is_some();
        if lost {
            self.table.lose();
        }
        lost
    }

    /// Copies an output to memory of `arena`, by way of a pinned buffer, and lets it be found.
    pub(crate) fn keep(
        &self,
        arena: &StreamArena,
        staging: &mut Staging,
        output: &HostOutput<'_>,
        wait: Wait<'_>,
    ) -> Result<(), NotKept> {
        if self.is_lost() {
            return Err(NotKept::Lost);
        }
        let index = Arc::new(PartitionIndex::of(output.lengths).ok_or(NotKept::BadLengths)?);
        if index.bytes() == 0 {
            return Err(NotKept::Empty);
        }
        let id = self.table.begin(output.key, &index, output.host).map_err(|why| match why {
            NotBegun::Present => NotKept::Present,
            NotBegun::Limit => NotKept::NoRoom,
            NotBegun::Lost => NotKept::Lost,
        })?;
        let filled = self.fill(arena, staging, output, index.bytes(), wait);
        match filled {
            Ok(memory) => {
                self.table.filled(id, memory);
                // It may have been lost since the copy began.
                if self.is_lost() { Err(NotKept::Lost) } else { Ok(()) }
            }
            Err(why) => {
                self.table.failed(id);
                self.table.count(|counts| match why {
                    NotKept::NoMemory => counts.refused_by_memory += 1,
                    _ => counts.failed += 1,
                });
                self.is_lost();
                Err(why)
            }
        }
    }

    fn fill(
        &self,
        arena: &StreamArena,
        staging: &mut Staging,
        output: &HostOutput<'_>,
        bytes: u64,
        wait: Wait<'_>,
    ) -> Result<CopyMemory, NotKept> {
        let unread = |why: io::Error| NotKept::HostCopy(why.to_string());
        let file = File::open(output.file).map_err(unread)?;
        if file.metadata().map_err(unread)?.len() != bytes {
            return Err(NotKept::HostCopy("its file has another length".into()));
        }
        let length = usize::try_from(bytes).map_err(|_| NotKept::NoMemory)?;
        // What is free in the arena below is used by no work of the device. A copy neither waits for memory, as an
        // encode does, nor drops others for it.
        let lease = arena.memory().lease(length).or_else(|_| {
            // Leases in limbo whose work has ended.
            let _ = arena.poll();
            arena.memory().lease(length)
        });
        let lease = lease.map_err(|_| NotKept::NoMemory)?;
        let memory = CopyMemory { lease: Some(lease), sealed: output.sealed, context: self.context.clone() };
        let stream = self.context.thread_stream();
        // SAFETY: the lease has so many bytes, and nobody else knows of it.
        unsafe {
            staging.put_all(&stream, memory.address(), bytes, wait, |piece, at| {
                file.read_exact_at(piece, at).map_err(unread)
            })?;
        }
        Ok(memory)
    }

    /// Counts an output that was not kept because no pinned buffer was free.
    pub(crate) fn count_busy(&self) {
        self.table.count(|counts| counts.refused_busy += 1);
    }

    /// Counts a read that the host's copy has to serve.
    fn missed(&self, miss: Miss) -> Miss {
        if miss != Miss::HostPreferred {
            self.table.count(|counts| counts.misses += 1);
        }
        self.is_lost();
        miss
    }

    /// Finds partitions for a reader, in the tier that it prefers: on the device they are pinned.
    pub fn locate(self: &Arc<Self>, key: CopyKey, partitions: Range<u32>, prefers: Tier) -> Located {
        if prefers == Tier::Host {
            return Located::Host(Miss::HostPreferred);
        }
        match self.pin(key, &partitions) {
            Ok(pin) => {
                self.hit(pin.len());
                Located::Device(pin)
            }
            Err(why) => Located::Host(self.missed(why)),
        }
    }

    /// Whether a reader in host memory should read the device's copy: there is one, and the host's is on a disk.
    pub fn are_nearer(&self, key: CopyKey) -> bool {
        !self.is_lost() && self.table.is_nearer_than_host(key)
    }

    fn hit(&self, bytes: u64) {
        self.table.count(|counts| {
            counts.hits += 1;
            counts.hit_bytes += bytes;
        });
    }

    /// Pins partitions for a read that is counted when it has ended.
    pub(crate) fn pin(self: &Arc<Self>, key: CopyKey, partitions: &Range<u32>) -> Result<PinnedCopy, Miss> {
        if self.is_lost() {
            return Err(Miss::Lost);
        }
        let pinned = self.table.pin(key, partitions).map_err(|()| Miss::BadRange)?;
        let Pin { id, memory, bytes } = pinned.ok_or(Miss::Absent)?;
        Ok(PinnedCopy { copies: Arc::clone(self), id, memory, bytes })
    }

    /// Counts a read to host memory.
    pub(crate) fn answered(&self, read: Result<(), Miss>, bytes: usize) -> Result<(), Miss> {
        match read {
            Ok(()) => {
                self.hit(bytes as u64);
                Ok(())
            }
            Err(why) => Err(self.missed(why)),
        }
    }

    /// Copies pinned partitions to memory of the host, of exactly the length that the reader's index says, and checks
    /// the frames.
    pub(crate) fn read(
        &self,
        staging: &mut Staging,
        pin: &PinnedCopy,
        target: &mut [u8],
        wait: Wait<'_>,
    ) -> Result<(), Miss> {
        let damaged = || {
            self.table.forget_damaged(pin.id);
            Miss::Damaged
        };
        if pin.len() != target.len() as u64 {
            return Err(damaged());
        }
        let stream = self.context.thread_stream();
        // SAFETY: the pinned bytes are allocated and filled; any bytes are bytes.
        unsafe { staging.get_all(&stream, pin.address().0, target, wait)? };
        if !pin.memory.sealed && !are_frames(target) {
            return Err(damaged());
        }
        Ok(())
    }

    /// Drops an output's copy, because the output was removed; whether there was one.
    pub fn forget(&self, key: CopyKey) -> bool {
        !self.is_lost() && self.table.forget(key)
    }

    /// Drops all copies of a shuffle that has ended, those that are in use when their readers have left; how many.
    pub fn forget_shuffle(&self, shuffle: u32) -> usize {
        if self.is_lost() { 0 } else { self.table.forget_shuffle(shuffle) }
    }

    /// Drops copies until so many bytes are free, or none is left that is not in use; whether any was dropped.
    pub fn shrink(&self, bytes: usize) -> bool {
        !self.is_lost() && self.table.shrink(bytes as u64)
    }

    /// The host's copy has moved between memory and disk.
    pub fn host_copy_moved(&self, key: CopyKey, host: HostCopy) {
        self.table.moved(key, host);
    }

    /// Figures of this moment.
    pub fn counts(&self) -> CopyCounts {
        self.is_lost();
        self.table.counts()
    }
}

/// Whether these bytes are frames that are not sealed, each with the payload that its checksum was made of.
pub fn are_frames(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Ok(header) = FrameHeader::parse(bytes) else { return false };
        let end = HEADER_BYTES.saturating_add(header.encoded_bytes as usize);
        let Some(payload) = bytes.get(HEADER_BYTES..end) else { return false };
        if header.check_payload(payload).is_err() {
            return false;
        }
        bytes = &bytes[end..];
    }
    true
}

#[cfg(test)]
#[path = "device_copies_tests.rs"]
mod tests;
