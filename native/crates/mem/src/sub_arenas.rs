//! The sub-arenas of the global arena: every region belongs to one of several locks, so that threads seldom wait for
//! each other.
//!
//! ```text
//! thread number mod sub-arenas → own ── sub-arena 0: regions, free extents
//!                                       sub-arena 1 …
//! ```
//!
//! A region belongs to the sub-arena of the thread that mapped it, for as long as it is mapped. A thread allocates from
//! its own sub-arena if no other thread holds that one's lock; else from any other with enough free memory whose lock
//! is free; else it waits for the locked ones; and only then is a new region mapped. So free memory of any sub-arena is
//! used before memory grows. Released memory goes back to the sub-arena of its region, whichever thread releases it.
//!
//! No thread holds the locks of two sub-arenas, except one that takes all of them, in order ([`SubArenas::freeze`]).

use crate::extent::Extent;
use crate::geometry::GRANULE_BYTES;
use crate::provider::MappedRegion;
use crate::residency::Purgeable;
use crate::segment::SegmentTable;
use crate::segment_lookup::SegmentLookup;
use crate::slack::Slack;
use crate::sub_arena::{Request, SubArena, SubArenaCounts};
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Relaxed, lock, try_lock};
use crate::thread_slot;

/// Sub-arenas that there can be: bits of the word that remembers the locked ones.
const MAX_SUB_ARENAS: usize = 64;

/// A sub-arena behind its lock, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct LockedSubArena {
    sub_arena: Mutex<SubArena>,
    /// Its free granules when the lock was last released: a search skips a sub-arena that cannot have enough.
    free: AtomicUsize,
}

impl LockedSubArena {
    fn new(number: usize) -> Self {
        Self { sub_arena: Mutex::new(SubArena::new(number)), free: AtomicUsize::new(0) }
    }

    /// Changes the sub-arena, then unlocks it.
    fn change<T>(&self, mut sub_arena: MutexGuard<'_, SubArena>, change: impl FnOnce(&mut SubArena) -> T) -> T {
        let result = change(&mut sub_arena);
        self.free.store(sub_arena.free_granules(), Relaxed);
        result
    }
}

/// A run of free memory that is detached while its pages are given back.
#[derive(Debug)]
pub(crate) struct DetachedPart {
    sub_arena: usize,
    pub(crate) extent: Extent,
}

/// Every sub-arena, and the slack that they share.
#[derive(Debug)]
pub(crate) struct SubArenas {
    all: Box<[LockedSubArena]>,
    slack: Slack,
}

impl SubArenas {
    /// `count` sub-arenas, at least 1 and at most [`MAX_SUB_ARENAS`].
    pub(crate) fn new(count: usize, slack_bytes: usize) -> Self {
        let count = count.clamp(1, MAX_SUB_ARENAS);
        Self { all: (0..count).map(LockedSubArena::new).collect(), slack: Slack::new(slack_bytes / GRANULE_BYTES) }
    }

    /// The number of the calling thread's own sub-arena.
    fn own(&self) -> usize {
        thread_slot::current() % self.all.len()
    }

    /// Cuts what is requested out of a free extent of any sub-arena: its address.
    pub(crate) fn allocate(&self, segments: &SegmentTable, request: Request) -> Option<usize> {
        let (own, count) = (self.own(), self.all.len());
        let mut skipped = 0u64;
        for number in (own..count).chain(0..own) {
            let locked = &self.all[number];
            if locked.free.load(Relaxed) < request.granules() {
                continue;
            }
            let Some(sub_arena) = try_lock(&locked.sub_arena) else {
                skipped |= 1 << number;
                continue;
            };
            let allocate =
                |sub_arena: &mut SubArena| sub_arena.allocate(&SegmentLookup::new(segments), &self.slack, request);
            let address = locked.change(sub_arena, allocate);
            if address.is_some() {
                return address;
            }
        }
        self.allocate_from_skipped(segments, request, skipped)
    }

    /// Waits for the sub-arenas that other threads had locked.
    fn allocate_from_skipped(&self, segments: &SegmentTable, request: Request, mut skipped: u64) -> Option<usize> {
        while skipped != 0 {
            let number = skipped.trailing_zeros() as usize;
            skipped &= skipped - 1;
            let address = self
                .change(number, |sub_arena| sub_arena.allocate(&SegmentLookup::new(segments), &self.slack, request));
            if address.is_some() {
                return address;
            }
        }
        None
    }

    /// Adds a new region to the calling thread's own sub-arena and allocates from it. If that sub-arena has had enough
    /// memory released since it was asked, the request is served from there, and the new region is kept when the slack
    /// allows it. Else it is returned to be unmapped, which the lease then waits for.
    pub(crate) fn add_region_and_allocate(
        &self,
        segments: &SegmentTable,
        region: MappedRegion,
        request: Request,
    ) -> (Option<usize>, Option<MappedRegion>) {
        let segments = &SegmentLookup::new(segments);
        self.change(self.own(), |sub_arena| {
            if let Some(address) = sub_arena.allocate(segments, &self.slack, request) {
                if !self.slack.keep(region.bytes() / GRANULE_BYTES) {
                    return (Some(address), Some(region));
                }
                sub_arena.add_region(segments, region);
                return (Some(address), None);
            }
            self.slack.add(region.bytes() / GRANULE_BYTES);
            sub_arena.add_region(segments, region);
            (sub_arena.allocate(segments, &self.slack, request), None)
        })
    }

    /// Ends the large lease that starts at granule `start`, if one does: its granules, and a region to unmap.
    pub(crate) fn release_large(&self, segments: &SegmentTable, start: usize) -> Option<(usize, Option<MappedRegion>)> {
        let segments = &SegmentLookup::new(segments);
        let (own, number) = (self.own(), segments.sub_arena_of(start)?);
        self.change(number, |sub_arena| sub_arena.release_large(segments, &self.slack, start, own))
    }

    /// Takes a superblock back. Returns a region to unmap.
    pub(crate) fn return_superblock(
        &self,
        segments: &SegmentTable,
        start: usize,
        slots: usize,
    ) -> Option<MappedRegion> {
        let segments = &SegmentLookup::new(segments);
        let number = segments.sub_arena_of(start)?;
        self.change(number, |sub_arena| sub_arena.return_superblock(segments, &self.slack, start, slots))
    }

    /// Removes one wholly free region, if more than `keep_bytes` are idle.
    pub(crate) fn remove_idle_region(&self, segments: &SegmentTable, keep_bytes: usize) -> Option<MappedRegion> {
        let segments = &SegmentLookup::new(segments);
        let remove = |sub_arena: &mut SubArena| {
            let surplus = self.slack.idle() > keep_bytes / GRANULE_BYTES;
            if surplus { sub_arena.remove_idle_region(segments, &self.slack) } else { None }
        };
        (0..self.all.len()).rev().find_map(|number| self.change(number, remove))
    }

    /// Sets how many bytes of idle regions are kept. Returns the regions to unmap.
    pub(crate) fn set_slack(&self, segments: &SegmentTable, bytes: usize) -> Vec<MappedRegion> {
        let segments = &SegmentLookup::new(segments);
        let mut surplus = Vec::new();
        // With every lock held, so that no thread ever sees more idle regions than the slack.
        let mut all: Vec<_> = self.all.iter().map(|locked| lock(&locked.sub_arena)).collect();
        self.slack.set_most(bytes / GRANULE_BYTES);
        for (sub_arena, locked) in all.iter_mut().zip(&self.all) {
            while self.slack.idle() > self.slack.most() {
                let Some(region) = sub_arena.remove_idle_region(segments, &self.slack) else {
                    break;
                };
                surplus.push(region);
            }
            locked.free.store(sub_arena.free_granules(), Relaxed);
        }
        surplus
    }

    /// Takes a run of purgeable units out of any sub-arena's free extents.
    pub(crate) fn detach_purgeable(&self, segments: &SegmentTable, which: Purgeable) -> Option<DetachedPart> {
        let segments = &SegmentLookup::new(segments);
        (0..self.all.len()).find_map(|sub_arena| {
            let extent = self.change(sub_arena, |own| own.detach_purgeable(segments, &self.slack, which))?;
            Some(DetachedPart { sub_arena, extent })
        })
    }

    /// Makes a detached part free again; `purged` says whether its pages were given back. Returns a region to unmap.
    pub(crate) fn attach_purged(
        &self,
        segments: &SegmentTable,
        part: DetachedPart,
        purged: bool,
    ) -> Option<MappedRegion> {
        let segments = &SegmentLookup::new(segments);
        self.change(part.sub_arena, |own| own.attach_purged(segments, &self.slack, part.extent, purged))
    }

    /// Ends a purge pass: see [`crate::residency`].
    pub(crate) fn end_purge_pass(&self, segments: &SegmentTable) {
        let segments = &SegmentLookup::new(segments);
        (0..self.all.len()).for_each(|number| self.change(number, |own| own.end_purge_pass(segments)));
    }

    fn change<T>(&self, number: usize, change: impl FnOnce(&mut SubArena) -> T) -> T {
        let locked = &self.all[number];
        locked.change(lock(&locked.sub_arena), change)
    }

    /// The sums over all sub-arenas, locked one after another.
    pub(crate) fn counts(&self, segments: &SegmentTable) -> SubArenaCounts {
        let counts = self.all.iter().map(|locked| lock(&locked.sub_arena).counts(&SegmentLookup::new(segments)));
        counts.fold(SubArenaCounts::default(), SubArenaCounts::add)
    }

    /// Locks every sub-arena; nothing moves while the guards live.
    pub(crate) fn freeze(&self) -> Frozen<'_> {
        Frozen { sub_arenas: self.all.iter().map(|locked| lock(&locked.sub_arena)).collect(), slack: &self.slack }
    }
}

/// All sub-arenas, locked.
pub(crate) struct Frozen<'a> {
    sub_arenas: Vec<MutexGuard<'a, SubArena>>,
    slack: &'a Slack,
}

impl Frozen<'_> {
    /// Checks every sub-arena and the slack; `superblock` is called with address and slots of each superblock.
    pub(crate) fn check(
        &self,
        segments: &SegmentTable,
        superblock: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    ) -> Result<SubArenaCounts, String> {
        let (mut counts, mut idle) = (SubArenaCounts::default(), 0);
        for (number, sub_arena) in self.sub_arenas.iter().enumerate() {
            let found = sub_arena
                .check(&SegmentLookup::new(segments), superblock)
                .map_err(|error| format!("sub-arena {number}: {error}"))?;
            counts = counts.add(found);
            idle += sub_arena.idle_granules();
        }
        if idle != self.slack.idle() || idle > self.slack.most() {
            return Err(format!("{idle} idle granules, counted {}, slack {}", self.slack.idle(), self.slack.most()));
        }
        Ok(counts)
    }
}
