//! The global arena: regions from the provider, cut into extents of 4 KiB granules for large leases and superblocks.
//!
//! The extents are kept in several [`Grounds`], each with a lock of its own.
//!
//! Invariants (checked by [`crate::grounds::Frozen::check`]):
//! 1. extents tile every region: each granule belongs to exactly one large lease, superblock or free extent;
//! 2. two free extents of a region are never neighbours;
//! 3. the tag of an extent's first granule says kind and length, the last granule of a free one points back, and every
//!    other granule is tagged [`Tag::Inside`];
//! 4. a region without leases is one free extent; their sum (`idle`) is at most the slack, the rest went back;
//! 5. the frames of a region name it and its ground.
//!
//! A ground's lock is held for a few table updates, never while the provider maps or unmaps.

use crate::frame::{FrameTable, GRANULE_BYTES, MAX_GRANULES};
use crate::ground::Want;
use crate::grounds::{Frozen, Grounds};
use crate::lock::lock;
use crate::provider::{MappedRegion, Provider, REGION_UNIT_BYTES};
use crate::region;
use crate::superblock::Superblock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Largest extent that can be asked for, in bytes: 1 TiB.
pub(crate) const MAX_EXTENT_BYTES: usize = MAX_GRANULES * GRANULE_BYTES / 2;

/// Regions and their extents.
#[derive(Debug)]
pub(crate) struct GlobalArena {
    provider: Arc<dyn Provider>,
    frames: FrameTable,
    grounds: Grounds,
    /// Held while a region is being mapped, so that waiting threads share it instead of mapping one each.
    growth: Mutex<()>,
    region_bytes: usize,
    reserved: AtomicUsize,
    refusal: Mutex<Option<String>>,
}

impl GlobalArena {
    /// An arena without regions, with as many grounds as asked for (within [`Grounds::new`]'s bounds).
    pub(crate) fn new(provider: Arc<dyn Provider>, region_bytes: usize, slack_bytes: usize, grounds: usize) -> Self {
        Self {
            provider,
            frames: FrameTable::new(),
            grounds: Grounds::new(grounds, slack_bytes),
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
        let gone = self.grounds.give_superblock(&self.frames, superblock.address() / GRANULE_BYTES, slots);
        gone.into_iter().for_each(|region| self.unmap(region));
    }

    /// Ends the large lease that starts at `address`: its bytes, or `None` and no change when none does.
    pub(crate) fn release_large(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(GRANULE_BYTES) {
            return None;
        }
        let (granules, gone) = self.grounds.give_large(&self.frames, address / GRANULE_BYTES)?;
        gone.into_iter().for_each(|region| self.unmap(region));
        Some(granules * GRANULE_BYTES)
    }

    fn take(&self, want: Want) -> Option<usize> {
        if want.granules() > MAX_EXTENT_BYTES / GRANULE_BYTES {
            return None;
        }
        self.grounds.take(&self.frames, want).or_else(|| self.grow_and_take(want))
    }

    /// Maps a region and takes the first part of it, unless another thread's new region has room by now.
    fn grow_and_take(&self, want: Want) -> Option<usize> {
        let _growth = lock(&self.growth);
        let taken = self.grounds.take(&self.frames, want);
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
        let (taken, unneeded) = self.grounds.add_and_take(&self.frames, region, want);
        unneeded.into_iter().for_each(|region| self.unmap(region));
        taken
    }

    /// Gives back every wholly free region beyond `keep_bytes`.
    pub(crate) fn trim(&self, keep_bytes: usize) {
        while let Some(region) = self.grounds.remove_idle_region(&self.frames, keep_bytes) {
            self.unmap(region);
        }
    }

    fn unmap(&self, region: MappedRegion) {
        self.reserved.fetch_sub(region.bytes(), Relaxed);
        self.provider.unmap(region);
    }

    /// Locks the books for checks and statistics; nothing moves while the guard lives.
    pub(crate) fn freeze(&self) -> Frozen<'_> {
        self.grounds.freeze()
    }
}
