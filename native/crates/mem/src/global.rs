//! The global arena: regions from the provider, cut into extents of 4 KiB granules for large leases and superblocks.
//!
//! Invariants (checked by [`Ground::check`]):
//! 1. extents tile every region: each granule belongs to exactly one large lease, superblock or free extent;
//! 2. two free extents of a region are never neighbours;
//! 3. the tag of an extent's first granule says kind and length, the last granule of a free one points back, and every
//!    other granule is tagged [`Tag::Inside`];
//! 4. a region without leases is one free extent; their sum (`idle`) is at most the slack, the rest went back.
//!
//! The lock is held for a few table updates, never while the provider maps or unmaps.

use crate::frame::{FrameTable, GRANULE_BYTES, MAX_GRANULES};
use crate::ground::{Ground, Want};
use crate::lock::lock;
use crate::provider::{MappedRegion, Provider, REGION_UNIT_BYTES};
use crate::region;
use crate::superblock::Superblock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// Largest extent that can be asked for, in bytes: 1 TiB.
pub(crate) const MAX_EXTENT_BYTES: usize = MAX_GRANULES * GRANULE_BYTES / 2;

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
        Self {
            provider,
            frames: FrameTable::new(),
            ground: Mutex::new(Ground::new(slack_bytes)),
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
        self.take(Want::Large(bytes / GRANULE_BYTES))
    }

    /// A superblock of `slots` slots that no bin holds yet.
    pub(crate) fn take_superblock(&self, slots: usize) -> Option<Arc<Superblock>> {
        let address = self.take(Want::Superblock(slots))?;
        Some(Arc::clone(self.frames.superblock_of_slot(address)))
    }

    /// Takes back a superblock of `slots` slots whose owner is already gone.
    pub(crate) fn return_superblock(&self, superblock: &Superblock, slots: usize) {
        let mut ground = lock(&self.ground);
        let gone = ground.give_superblock(&self.frames, superblock.address() / GRANULE_BYTES, slots);
        self.unmap(ground, gone);
    }

    /// Ends the large lease that starts at `address`: its bytes, or `None` and no change when none does.
    pub(crate) fn release_large(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(GRANULE_BYTES) {
            return None;
        }
        let start = address / GRANULE_BYTES;
        let mut ground = lock(&self.ground);
        let (granules, gone) = ground.give_large(&self.frames, start)?;
        self.unmap(ground, gone);
        Some(granules * GRANULE_BYTES)
    }

    fn take(&self, want: Want) -> Option<usize> {
        if want.granules() > MAX_EXTENT_BYTES / GRANULE_BYTES {
            return None;
        }
        let taken = lock(&self.ground).take(&self.frames, want);
        taken.or_else(|| self.grow_and_take(want))
    }

    /// Maps a region and takes the first part of it, unless another thread's new region has room by now.
    fn grow_and_take(&self, want: Want) -> Option<usize> {
        let growth = lock(&self.growth);
        let taken = lock(&self.ground).take(&self.frames, want);
        if taken.is_some() {
            return taken;
        }
        let bytes = (want.granules() * GRANULE_BYTES).next_multiple_of(REGION_UNIT_BYTES).max(self.region_bytes);
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
        let taken = ground.take(&self.frames, want);
        drop(ground);
        drop(growth);
        taken
    }

    /// Gives back every wholly free region beyond `keep_bytes`.
    pub(crate) fn trim(&self, keep_bytes: usize) {
        loop {
            let mut ground = lock(&self.ground);
            if ground.idle_bytes() <= keep_bytes {
                return;
            }
            let gone = ground.remove_idle_region(&self.frames);
            if gone.is_none() {
                return;
            }
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

    /// Locks the books for [`Ground::check`] and statistics; nothing moves while the guard lives.
    pub(crate) fn freeze(&self) -> MutexGuard<'_, Ground> {
        lock(&self.ground)
    }
}
