//! The global arena: regions from the provider, cut into extents of 4 KiB granules for large leases and superblocks.
//!
//! Invariants (checked by [`GlobalArena::check`]):
//! 1. extents tile every region: each granule belongs to exactly one large lease, superblock or free extent;
//! 2. two free extents of a region are never neighbours;
//! 3. the tag of an extent's first granule says kind and length, the last granule of a free one points back, and every
//!    other granule is tagged [`Tag::Inside`];
//! 4. a region without leases is one free extent; their sum (`idle`) is at most the slack, the rest went back.
//!
//! The lock is held for a few table updates, never while the provider maps or unmaps.

use crate::extent::{Extent, FreeExtents};
use crate::frame::{FrameTable, GRANULE_BYTES, MAX_GRANULES, SLOT_GRANULES, Tag};
use crate::lock::lock;
use crate::provider::{MappedRegion, Provider, REGION_UNIT_BYTES};
use crate::region::{self, Regions};
use crate::superblock::Superblock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// Largest extent that can be asked for, in bytes: 1 TiB.
pub(crate) const MAX_EXTENT_BYTES: usize = MAX_GRANULES * GRANULE_BYTES / 2;

/// The state under the lock.
#[derive(Debug)]
pub(crate) struct Ground {
    free: FreeExtents,
    regions: Regions,
    /// Granules of regions that are wholly free.
    idle: usize,
    slack: usize,
    large_leases: u64,
    large_releases: u64,
}

/// What the books of the global arena say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GlobalBooks {
    pub(crate) large_leases: u64,
    pub(crate) large_releases: u64,
    pub(crate) large_bytes: usize,
    pub(crate) superblock_bytes: usize,
    pub(crate) free_bytes: usize,
    pub(crate) regions: usize,
}

/// Regions and their extents.
#[derive(Debug)]
pub(crate) struct GlobalArena {
    provider: Arc<dyn Provider>,
    frames: FrameTable,
    ground: Mutex<Ground>,
    /// Held while a region is being mapped, so that waiting threads share it instead of mapping one each.
    growth: Mutex<()>,
    region_bytes: usize,
    reserved: AtomicUsize,
    refusal: Mutex<Option<String>>,
}

impl GlobalArena {
    pub(crate) fn new(provider: Arc<dyn Provider>, region_bytes: usize, slack_bytes: usize) -> Self {
        let ground = Ground {
            free: FreeExtents::new(),
            regions: Regions::default(),
            idle: 0,
            slack: slack_bytes / GRANULE_BYTES,
            large_leases: 0,
            large_releases: 0,
        };
        Self {
            provider,
            frames: FrameTable::new(),
            ground: Mutex::new(ground),
            growth: Mutex::new(()),
            region_bytes: region_bytes.clamp(1, MAX_EXTENT_BYTES).next_multiple_of(REGION_UNIT_BYTES),
            reserved: AtomicUsize::new(0),
            refusal: Mutex::new(None),
        }
    }

    pub(crate) fn frames(&self) -> &FrameTable {
        &self.frames
    }

    /// Bytes of all mapped regions.
    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved.load(Relaxed)
    }

    /// The provider's latest reason for refusing a region.
    pub(crate) fn last_refusal(&self) -> Option<String> {
        lock(&self.refusal).clone()
    }

    /// A large lease of `bytes` (a multiple of the granule): its address.
    pub(crate) fn lease_large(&self, bytes: usize) -> Option<usize> {
        self.take(bytes / GRANULE_BYTES, 1, Tag::Large)
    }

    /// A superblock of `slots` slots that no bin holds yet.
    pub(crate) fn take_superblock(&self, slots: usize) -> Option<Arc<Superblock>> {
        let address = self.take(slots * SLOT_GRANULES, SLOT_GRANULES, Tag::Superblock)?;
        Some(Arc::clone(self.frames.superblock_of_slot(address)))
    }

    /// Takes back a superblock of `slots` slots whose owner is already gone.
    pub(crate) fn return_superblock(&self, superblock: &Superblock, slots: usize) {
        let mut ground = lock(&self.ground);
        self.frames.mark_slots(superblock.address(), slots, false);
        let extent =
            Extent { start: superblock.address() / GRANULE_BYTES, granules: slots * SLOT_GRANULES };
        let gone = ground.give(&self.frames, extent);
        self.unmap(ground, gone);
    }

    /// Ends the large lease that starts at `address`: its bytes, or `None` and no change when none does.
    pub(crate) fn release_large(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(GRANULE_BYTES) {
            return None;
        }
        let start = address / GRANULE_BYTES;
        let mut ground = lock(&self.ground);
        let Tag::Large(granules) = self.frames.tag(start) else {
            return None;
        };
        ground.large_releases += 1;
        let gone = ground.give(&self.frames, Extent { start, granules });
        self.unmap(ground, gone);
        Some(granules * GRANULE_BYTES)
    }

    fn take(&self, granules: usize, align: usize, tag: fn(usize) -> Tag) -> Option<usize> {
        if granules > MAX_EXTENT_BYTES / GRANULE_BYTES {
            return None;
        }
        let taken = lock(&self.ground).take(&self.frames, granules, align, tag);
        taken.or_else(|| self.grow_and_take(granules, align, tag))
    }

    /// Maps a region and takes the first part of it, unless another thread's new region has room by now.
    fn grow_and_take(&self, granules: usize, align: usize, tag: fn(usize) -> Tag) -> Option<usize> {
        let growth = lock(&self.growth);
        let taken = lock(&self.ground).take(&self.frames, granules, align, tag);
        if taken.is_some() {
            return taken;
        }
        let bytes = (granules * GRANULE_BYTES).next_multiple_of(REGION_UNIT_BYTES).max(self.region_bytes);
        let region = match region::map(&*self.provider, bytes) {
            Ok(region) => region,
            Err(error) => {
                *lock(&self.refusal) = Some(error.to_string());
                return None;
            }
        };
        self.frames.cover(region.address(), bytes);
        self.reserved.fetch_add(bytes, Relaxed);
        let mut ground = lock(&self.ground);
        ground.add_region(&self.frames, region);
        let taken = ground.take(&self.frames, granules, align, tag);
        drop(ground);
        drop(growth);
        taken
    }

    /// Gives back every wholly free region beyond `keep_bytes`.
    pub(crate) fn trim(&self, keep_bytes: usize) {
        loop {
            let mut ground = lock(&self.ground);
            if ground.idle * GRANULE_BYTES <= keep_bytes {
                return;
            }
            let gone = ground.remove_idle_region(&self.frames);
            self.unmap(ground, gone);
        }
    }

    /// Unlocks, then gives `region` back.
    fn unmap(&self, ground: MutexGuard<'_, Ground>, region: Option<MappedRegion>) {
        drop(ground);
        if let Some(region) = region {
            self.reserved.fetch_sub(region.bytes(), Relaxed);
            self.provider.unmap(region);
        }
    }

    /// Locks the books for [`Self::check`] and statistics; nothing moves while the guard lives.
    pub(crate) fn freeze(&self) -> MutexGuard<'_, Ground> {
        lock(&self.ground)
    }

    /// Checks the invariants above; `superblock` is called with address and slots of each superblock.
    pub(crate) fn check(
        &self,
        ground: &Ground,
        superblock: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    ) -> Result<GlobalBooks, String> {
        ground.free.check()?;
        let mut books = ground.books();
        let (mut free, mut idle) = (0, 0);
        for region in ground.regions.iter() {
            let mut walk = region::Walk::of(region);
            while let Some((extent, tag)) = walk.next(&self.frames)? {
                match tag {
                    Tag::Free(granules) => {
                        free += granules;
                        idle += if extent.granules * GRANULE_BYTES == region.bytes() { granules } else { 0 };
                        if !ground.free.contains(extent) {
                            return Err(format!("free extent {extent:?} is in no bin"));
                        }
                    }
                    Tag::Large(granules) => books.large_bytes += granules * GRANULE_BYTES,
                    _ => {
                        books.superblock_bytes += extent.granules * GRANULE_BYTES;
                        superblock(extent.start * GRANULE_BYTES, extent.granules / SLOT_GRANULES)?;
                    }
                }
            }
        }
        if free != ground.free.granules() || idle != ground.idle || idle > ground.slack {
            return Err(format!(
                "free granules {free} booked {}, idle {idle} booked {} of slack {}",
                ground.free.granules(),
                ground.idle,
                ground.slack
            ));
        }
        Ok(books)
    }
}

impl Drop for GlobalArena {
    /// Gives the free regions back. A region with a raw lease that nobody released stays mapped: its holder may still
    /// touch it.
    fn drop(&mut self) {
        self.trim(0);
    }
}

impl Ground {
    pub(crate) fn books(&self) -> GlobalBooks {
        GlobalBooks {
            large_leases: self.large_leases,
            large_releases: self.large_releases,
            free_bytes: self.free.granules() * GRANULE_BYTES,
            regions: self.regions.len(),
            ..GlobalBooks::default()
        }
    }

    /// Cuts `granules` granules, aligned, out of a free extent.
    fn take(
        &mut self,
        frames: &FrameTable,
        granules: usize,
        align: usize,
        tag: fn(usize) -> Tag,
    ) -> Option<usize> {
        let extent = self.free.find(granules, align)?;
        let part = extent.part(granules, align)?;
        if frames.region_at(extent.start) == extent.granules {
            self.idle -= extent.granules;
        }
        let before = Extent { start: extent.start, granules: part.start - extent.start };
        let after = Extent { start: part.end(), granules: extent.end() - part.end() };
        frames.set_tag(extent.end() - 1, Tag::Inside);
        match (before.granules > 0, after.granules > 0) {
            (false, false) => _ = self.free.remove(extent),
            (true, false) => self.shrink(frames, extent, before),
            (false, true) => self.shrink(frames, extent, after),
            (true, true) => {
                self.shrink(frames, extent, before);
                self.free.insert(after);
                tag_free(frames, after);
            }
        }
        let kind = tag(granules);
        frames.set_tag(part.start, kind);
        match kind {
            Tag::Superblock(_) => frames.mark_slots(part.start * GRANULE_BYTES, granules / SLOT_GRANULES, true),
            _ => self.large_leases += 1,
        }
        Some(part.start * GRANULE_BYTES)
    }

    fn shrink(&mut self, frames: &FrameTable, from: Extent, to: Extent) {
        self.free.replace(from, to);
        tag_free(frames, to);
    }

    /// Makes an extent free and joins it with free neighbours in its region. Returns a region to unmap, if the whole of
    /// it became free and the slack is used up.
    fn give(&mut self, frames: &FrameTable, extent: Extent) -> Option<MappedRegion> {
        frames.set_tag(extent.start, Tag::Inside);
        let before = free_before(frames, extent.start);
        let after = free_after(frames, extent.end());
        let start = before.map_or(extent.start, |before| before.start);
        let end = after.map_or(extent.end(), |after| after.end());
        let whole = Extent { start, granules: end - start };
        if before.is_some() {
            frames.set_tag(extent.start - 1, Tag::Inside);
        }
        if after.is_some() {
            frames.set_tag(extent.end(), Tag::Inside);
        }
        match (before, after) {
            (None, None) => self.free.insert(whole),
            (Some(before), None) => _ = self.free.replace(before, whole),
            (None, Some(after)) => _ = self.free.replace(after, whole),
            (Some(before), Some(after)) => {
                self.free.remove(before);
                self.free.replace(after, whole);
            }
        }
        tag_free(frames, whole);
        if frames.region_at(start) != whole.granules {
            return None;
        }
        self.idle += whole.granules;
        if self.idle <= self.slack { None } else { self.remove_region(frames, whole) }
    }

    fn add_region(&mut self, frames: &FrameTable, region: MappedRegion) {
        let extent = region::extent_of(&region);
        frames.open_region(extent.start, extent.granules);
        self.regions.insert(region);
        self.free.insert(extent);
        tag_free(frames, extent);
        self.idle += extent.granules;
    }

    /// Takes the wholly free region `extent` out of the books.
    fn remove_region(&mut self, frames: &FrameTable, extent: Extent) -> Option<MappedRegion> {
        self.free.remove(extent);
        self.idle -= extent.granules;
        frames.set_tag(extent.start, Tag::Inside);
        frames.set_tag(extent.end() - 1, Tag::Inside);
        frames.close_region(extent.start);
        self.regions.remove(extent)
    }

    /// Takes the wholly free region with the highest address out of the books.
    fn remove_idle_region(&mut self, frames: &FrameTable) -> Option<MappedRegion> {
        let idle = |extent: &Extent| frames.tag(extent.start) == Tag::Free(extent.granules);
        let extent = self.regions.iter().rev().map(region::extent_of).find(idle)?;
        self.remove_region(frames, extent)
    }
}

fn tag_free(frames: &FrameTable, extent: Extent) {
    frames.set_tag(extent.start, Tag::Free(extent.granules));
    if extent.granules > 1 {
        frames.set_tag(extent.end() - 1, Tag::FreeEnd(extent.granules));
    }
}

/// The free extent that ends where `start` begins, in the same region.
fn free_before(frames: &FrameTable, start: usize) -> Option<Extent> {
    if frames.region_at(start) != 0 {
        return None;
    }
    match frames.tag(start.checked_sub(1)?) {
        Tag::Free(1) => Some(Extent { start: start - 1, granules: 1 }),
        Tag::FreeEnd(granules) => Some(Extent { start: start - granules, granules }),
        _ => None,
    }
}

/// The free extent that begins at `end`, in the same region.
fn free_after(frames: &FrameTable, end: usize) -> Option<Extent> {
    match frames.tag(end) {
        Tag::Free(granules) if frames.region_at(end) == 0 => Some(Extent { start: end, granules }),
        _ => None,
    }
}
