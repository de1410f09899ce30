//! The global arena: regions from the provider, cut into extents of 4 KiB granules for large leases and superblocks.
//!
//! The regions belong to several [`SubArenas`], each with a lock of its own.
//!
//! Invariants (checked by [`crate::sub_arenas::Frozen::check`]):
//! 1. extents tile every region: each granule belongs to exactly one large lease, superblock, free extent or part being
//!    purged;
//! 2. two free extents of a region are never neighbours;
//! 3. the tag of an extent's first granule says kind and length, the last granule of a free one points back, and every
//!    other granule is tagged [`crate::segment::Tag::Inside`];
//! 4. a region without leases is one free extent; their sum (`idle`) is at most the slack, the rest is unmapped;
//! 5. the segments of a region name it and its sub-arena.
//!
//! A sub-arena's lock is held for a few table updates, never while the provider maps, unmaps or purges.
//!
//! # Purging
//! Free memory that no lease has used for a while is given back to the system, in whole 2 MiB units, and
//! stays mapped ([`crate::residency`] says which). The arena has no thread for it: a release that comes to this arena
//! (of 2 MiB or more, or every 16th of a thread) reads a coarse clock, and when a pass is due the releasing thread
//! makes one step of it, at most one segment. A step detaches a part from the free extents, has the provider give its
//! pages back, and makes it free again. It holds `growth` meanwhile, so that a thread that finds no free memory waits
//! for the part instead of mapping a region, or being refused, for want of it.

use crate::asan;
use crate::geometry::{GRANULE_BYTES, MAX_EXTENT_BYTES, PURGE_BYTES, SEGMENT_BYTES, SLOT_BYTES};
use crate::provider::{MappedRegion, MemoryKind, Provider};
use crate::purge_schedule::{self, PurgeSchedule};
use crate::region;
use crate::residency::Purgeable;
use crate::segment::SegmentTable;
use crate::sub_arena::{Request, SubArenaCounts};
use crate::sub_arenas::{Frozen, SubArenas};
use crate::superblock::Superblock;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Relaxed, lock, try_lock};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// How a [`GlobalArena`] is set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GlobalOptions {
    pub(crate) region_bytes: usize,
    pub(crate) slack_bytes: usize,
    /// As many sub-arenas as asked for, within the bounds of [`SubArenas::new`].
    pub(crate) sub_arenas: usize,
    pub(crate) purge_interval: Option<Duration>,
}

/// Regions and their extents.
#[derive(Debug)]
pub(crate) struct GlobalArena {
    provider: Arc<dyn Provider>,
    kind: MemoryKind,
    segments: SegmentTable,
    sub_arenas: SubArenas,
    /// Held while a region is being mapped, so that waiting threads share it instead of mapping one each; and during a
    /// step of a purge.
    growth: Mutex<()>,
    region_bytes: usize,
    reserved: AtomicUsize,
    map_error: Mutex<Option<String>>,
    purges: PurgeSchedule,
}

impl GlobalArena {
    /// An arena without regions.
    pub(crate) fn new(provider: Arc<dyn Provider>, options: GlobalOptions) -> Self {
        Self {
            kind: provider.kind(),
            provider,
            segments: SegmentTable::new(),
            sub_arenas: SubArenas::new(options.sub_arenas, options.slack_bytes),
            growth: Mutex::new(()),
            region_bytes: options.region_bytes.clamp(1, MAX_EXTENT_BYTES).next_multiple_of(SEGMENT_BYTES),
            reserved: AtomicUsize::new(0),
            map_error: Mutex::new(None),
            purges: PurgeSchedule::new(options.purge_interval),
        }
    }

    pub(crate) fn segments(&self) -> &SegmentTable {
        &self.segments
    }

    /// The kind of memory of every region.
    pub(crate) fn kind(&self) -> MemoryKind {
        self.kind
    }

    pub(crate) fn purges(&self) -> &PurgeSchedule {
        &self.purges
    }

    /// Bytes of all mapped regions.
    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved.load(Relaxed)
    }

    /// The provider's latest reason for not mapping a region.
    pub(crate) fn map_error(&self) -> Option<String> {
        lock(&self.map_error).clone()
    }

    /// A large lease of `bytes` (a multiple of the granule): its address.
    pub(crate) fn lease_large(&self, bytes: usize) -> Option<usize> {
        self.allocate(Request::Large(bytes / GRANULE_BYTES))
    }

    /// A superblock of `slots` slots that no bin holds yet.
    pub(crate) fn take_superblock(&self, slots: usize) -> Option<Arc<Superblock>> {
        let address = self.allocate(Request::Superblock(slots))?;
        Some(Arc::clone(self.segments.superblock_of_slot(address)))
    }

    /// Takes back a superblock of `slots` slots whose owner is already gone.
    pub(crate) fn return_superblock(&self, superblock: &Superblock, slots: usize) {
        let surplus = self.sub_arenas.return_superblock(&self.segments, superblock.address() / GRANULE_BYTES, slots);
        self.after_release(slots * SLOT_BYTES, surplus);
    }

    /// Ends the large lease that starts at `address`: its bytes, or `None` and no change when none does.
    pub(crate) fn release_large(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(GRANULE_BYTES) {
            return None;
        }
        let (granules, surplus) = self.sub_arenas.release_large(&self.segments, address / GRANULE_BYTES)?;
        self.after_release(granules * GRANULE_BYTES, surplus);
        Some(granules * GRANULE_BYTES)
    }

    /// What remains to be done when the sub-arena is unlocked: a region to unmap, a purge that may be due.
    #[inline]
    fn after_release(&self, bytes: usize, surplus: Option<MappedRegion>) {
        if let Some(region) = surplus {
            self.unmap(region);
        }
        if bytes >= PURGE_BYTES || purge_schedule::thread_checks_clock() {
            self.purge_if_due();
        }
    }

    fn allocate(&self, request: Request) -> Option<usize> {
        if request.granules() > MAX_EXTENT_BYTES / GRANULE_BYTES {
            return None;
        }
        self.sub_arenas.allocate(&self.segments, request).or_else(|| self.grow_and_allocate(request))
    }

    /// Maps a region and allocates from it, unless there is enough free memory by now: another thread's new region, or
    /// a part that has been purged.
    fn grow_and_allocate(&self, request: Request) -> Option<usize> {
        let _growth = lock(&self.growth);
        let address = self.sub_arenas.allocate(&self.segments, request);
        if address.is_some() {
            return address;
        }
        let region = self.map_region((request.granules() * GRANULE_BYTES).next_multiple_of(SEGMENT_BYTES))?;
        let bytes = region.bytes();
        asan::poison(region.address(), bytes);
        self.segments.cover(region.address(), bytes);
        self.reserved.fetch_add(bytes, Relaxed);
        let (address, unneeded) = self.sub_arenas.add_region_and_allocate(&self.segments, region, request);
        unneeded.into_iter().for_each(|region| self.unmap(region));
        address
    }

    /// Maps a region of the ordinary length, or of `least` bytes when that is more or the provider has no more: a GPU
    /// that others use too may have no gigabyte in one piece.
    #[cold]
    #[inline(never)]
    fn map_region(&self, least: usize) -> Option<MappedRegion> {
        let map = |bytes: usize| region::map(&*self.provider, self.kind, bytes);
        let ordinary = least.max(self.region_bytes);
        let region = map(ordinary).or_else(|error| if ordinary > least { map(least) } else { Err(error) });
        region.map_err(|error| *lock(&self.map_error) = Some(error.to_string())).ok()
    }

    /// Unmaps every wholly free region beyond `keep_bytes`.
    pub(crate) fn trim(&self, keep_bytes: usize) {
        while let Some(region) = self.sub_arenas.remove_idle_region(&self.segments, keep_bytes) {
            self.unmap(region);
        }
    }

    /// Sets how many bytes of wholly free regions stay mapped; unmaps those beyond it.
    pub(crate) fn set_slack(&self, bytes: usize) {
        let surplus = self.sub_arenas.set_slack(&self.segments, bytes);
        surplus.into_iter().for_each(|region| self.unmap(region));
    }

    /// Makes one step of a purge pass, if one is due and no other thread is at it or mapping a region.
    pub(crate) fn purge_if_due(&self) {
        if !self.purges.is_due() {
            return;
        }
        if let Some(growth) = try_lock(&self.growth) {
            self.purge_step(growth, Purgeable::NotRecent);
        }
    }

    /// Makes a whole purge pass, at once: how many bytes were given back. Beside threads that lease and release it ends
    /// when as much was given back as was mapped when it began.
    pub(crate) fn purge(&self, which: Purgeable) -> u64 {
        let (before, most) = (self.purges.purged_bytes(), self.reserved_bytes() as u64);
        while self.purge_step(lock(&self.growth), which) && self.purges.purged_bytes() - before < most {}
        self.purges.purged_bytes() - before
    }

    /// Gives one part back. Without a purgeable part, or when the provider fails, it ends the pass and returns false.
    fn purge_step(&self, growth: MutexGuard<'_, ()>, which: Purgeable) -> bool {
        let Some(part) = self.sub_arenas.detach_purgeable(&self.segments, which) else {
            self.sub_arenas.end_purge_pass(&self.segments);
            self.purges.end_pass();
            return false;
        };
        let bytes = part.extent.granules * GRANULE_BYTES;
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut(part.extent.start * GRANULE_BYTES));
        // SAFETY: the part lies in one region of this provider, which stays mapped while the part is detached; a
        // detached part is in no lease and in no free extent, so nothing else refers to it.
        let purged = start.is_some_and(|start| unsafe { self.provider.purge(start, bytes) });
        let surplus = self.sub_arenas.attach_purged(&self.segments, part, purged);
        drop(growth);
        surplus.into_iter().for_each(|region| self.unmap(region));
        if purged {
            self.purges.count_purged(bytes);
        } else {
            self.purges.count_failure();
            self.purges.end_pass();
        }
        purged
    }

    fn unmap(&self, region: MappedRegion) {
        self.reserved.fetch_sub(region.bytes(), Relaxed);
        asan::unpoison(region.address(), region.bytes());
        self.provider.unmap(region);
    }

    /// The sums over all sub-arenas, locked one after another.
    pub(crate) fn counts(&self) -> SubArenaCounts {
        self.sub_arenas.counts(&self.segments)
    }

    /// Locks every sub-arena, for checks; nothing moves while the guard lives.
    pub(crate) fn freeze(&self) -> Frozen<'_> {
        self.sub_arenas.freeze()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::host::HostProvider;

    fn arena() -> GlobalArena {
        let provider = Arc::new(HostProvider { huge_pages: false });
        let (region_bytes, slack_bytes) = (SEGMENT_BYTES, 4 * SEGMENT_BYTES);
        GlobalArena::new(provider, GlobalOptions { region_bytes, slack_bytes, sub_arenas: 1, purge_interval: None })
    }

    fn touched(arena: &GlobalArena) -> usize {
        arena.reserved_bytes() - arena.counts().untouched_bytes
    }

    /// Ten buffers as a task leases them, all released again.
    fn work(arena: &GlobalArena) {
        let buffers: Vec<usize> = (1..=10).filter_map(|nth| arena.lease_large(nth * 700 * GRANULE_BYTES)).collect();
        assert_eq!(buffers.len(), 10);
        buffers.into_iter().for_each(|buffer| assert!(arena.release_large(buffer).is_some()));
    }

    #[test]
    fn passes_beside_steady_work_purge_nothing_and_the_second_pass_after_its_end_everything() {
        let arena = arena();
        let round = || {
            work(&arena);
            arena.purge(Purgeable::NotRecent)
        };
        // The first round maps the regions one after another, so its buffers lie elsewhere than those of the later
        // ones.
        (0..3).for_each(|_| _ = round());
        (0..50).for_each(|_| assert_eq!(round(), 0));
        let before = touched(&arena);
        assert!(before >= 150 << 20, "otherwise this test shows nothing: {before}");
        assert_eq!(arena.purge(Purgeable::NotRecent), before as u64);
        assert_eq!((touched(&arena), arena.purge(Purgeable::NotRecent)), (0, 0));
    }

    #[test]
    fn of_a_burst_only_what_is_not_used_any_more_is_purged() {
        let arena = arena();
        work(&arena);
        let small = || {
            let buffer = arena.lease_large(PURGE_BYTES).expect("memory");
            assert!(arena.release_large(buffer).is_some());
        };
        small();
        assert_eq!(arena.purge(Purgeable::NotRecent), 0);
        let before = touched(&arena);
        small();
        assert_eq!(arena.purge(Purgeable::NotRecent), (before - PURGE_BYTES) as u64);
        small();
        assert_eq!((arena.purge(Purgeable::NotRecent), touched(&arena)), (0, PURGE_BYTES));
    }
}
