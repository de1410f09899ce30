//! A sub-arena: some regions of the global arena and their free extents. Every call is made under the sub-arena's lock.

use crate::asan;
use crate::extent::{Extent, FreeExtents};
use crate::geometry::{GRANULE_BYTES, PURGE_BYTES, PURGE_GRANULES, SEGMENT_GRANULES, SLOT_GRANULES};
use crate::provider::MappedRegion;
use crate::region::{self, Regions};
use crate::residency::{self, Purgeable};
use crate::segment::Tag;
use crate::segment_lookup::SegmentLookup;
use crate::slack::Slack;

/// What to cut out of a free extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// A large lease of this many granules.
    Large(usize),
    /// A superblock of this many slots.
    Superblock(usize),
}

impl Request {
    /// Its length in granules.
    pub(crate) fn granules(self) -> usize {
        match self {
            Self::Large(granules) => granules,
            Self::Superblock(slots) => slots * SLOT_GRANULES,
        }
    }

    /// What its first granule must be a multiple of.
    fn align(self) -> usize {
        match self {
            Self::Large(_) => 1,
            Self::Superblock(_) => SLOT_GRANULES,
        }
    }
}

/// The state under the lock.
#[derive(Debug)]
pub(crate) struct SubArena {
    /// Its number among the sub-arenas, which the segments of its regions hold.
    number: usize,
    free: FreeExtents,
    regions: Regions,
    /// Granules of regions that are wholly free.
    idle: usize,
    large_leases: u64,
    large_releases: u64,
    /// Large releases by threads whose own sub-arena is another one.
    cross_thread_releases: u64,
}

/// Sums over a sub-arena, or over all.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubArenaCounts {
    pub(crate) large_leases: u64,
    pub(crate) large_releases: u64,
    pub(crate) large_bytes: usize,
    pub(crate) cross_thread_releases: u64,
    pub(crate) free_bytes: usize,
    pub(crate) untouched_bytes: usize,
    pub(crate) regions: usize,
}

impl SubArenaCounts {
    /// Adds those of another sub-arena.
    pub(crate) fn add(mut self, other: Self) -> Self {
        self.large_leases += other.large_leases;
        self.large_releases += other.large_releases;
        self.large_bytes += other.large_bytes;
        self.cross_thread_releases += other.cross_thread_releases;
        self.free_bytes += other.free_bytes;
        self.untouched_bytes += other.untouched_bytes;
        self.regions += other.regions;
        self
    }
}

impl SubArena {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            free: FreeExtents::new(),
            regions: Regions::default(),
            idle: 0,
            large_leases: 0,
            large_releases: 0,
            cross_thread_releases: 0,
        }
    }

    /// Granules of wholly free regions.
    pub(crate) fn idle_granules(&self) -> usize {
        self.idle
    }

    /// Granules in free extents.
    pub(crate) fn free_granules(&self) -> usize {
        self.free.granules()
    }

    pub(crate) fn counts(&self, segments: &SegmentLookup<'_>) -> SubArenaCounts {
        let untouched = self.free.at_least(PURGE_GRANULES).map(|free| residency::untouched_units(segments, *free));
        SubArenaCounts {
            large_leases: self.large_leases,
            large_releases: self.large_releases,
            cross_thread_releases: self.cross_thread_releases,
            free_bytes: self.free.granules() * GRANULE_BYTES,
            untouched_bytes: untouched.sum::<usize>() * PURGE_BYTES,
            regions: self.regions.len(),
            ..SubArenaCounts::default()
        }
    }

    /// Cuts what is requested out of a free extent: its address.
    pub(crate) fn allocate(&mut self, segments: &SegmentLookup<'_>, slack: &Slack, request: Request) -> Option<usize> {
        let extent = self.free.find(request.granules(), request.align())?;
        let part = extent.part(request.granules(), request.align())?;
        self.detach(segments, slack, extent, part);
        let address = part.start * GRANULE_BYTES;
        match request {
            Request::Large(granules) => {
                segments.set_tag(part.start, Tag::Large(granules));
                self.large_leases += 1;
            }
            Request::Superblock(slots) => {
                segments.set_tag(part.start, Tag::Superblock(part.granules));
                segments.mark_slots(address, slots, true);
            }
        }
        Some(address)
    }

    /// Takes `part` of the free `extent` out of the free extents.
    #[inline(always)]
    fn detach(&mut self, segments: &SegmentLookup<'_>, slack: &Slack, extent: Extent, part: Extent) {
        if segments.region_at(extent.start) == extent.granules {
            self.idle -= extent.granules;
            slack.use_up(extent.granules);
        }
        self.cut(segments, extent, part);
    }

    /// Leaves of the free `extent` what lies before and after `part`.
    fn cut(&mut self, segments: &SegmentLookup<'_>, extent: Extent, part: Extent) {
        let before = Extent { start: extent.start, granules: part.start - extent.start };
        let after = Extent { start: part.end(), granules: extent.end() - part.end() };
        segments.set_tag(extent.end() - 1, Tag::Inside);
        match (before.granules > 0, after.granules > 0) {
            (false, false) => _ = self.free.remove(extent),
            (true, false) => self.shrink(segments, extent, before),
            (false, true) => self.shrink(segments, extent, after),
            (true, true) => {
                self.shrink(segments, extent, before);
                self.free.insert(after);
                tag_free(segments, after);
            }
        }
    }

    fn shrink(&mut self, segments: &SegmentLookup<'_>, from: Extent, to: Extent) {
        self.free.replace(from, to);
        tag_free(segments, to);
    }

    /// Ends the large lease that starts at granule `start`, if one does: its granules, and a region to unmap. `home` is
    /// the number of the releasing thread's own sub-arena.
    pub(crate) fn release_large(
        &mut self,
        segments: &SegmentLookup<'_>,
        slack: &Slack,
        start: usize,
        home: usize,
    ) -> Option<(usize, Option<MappedRegion>)> {
        if segments.sub_arena_of(start) != Some(self.number) {
            return None;
        }
        let Tag::Large(granules) = segments.tag(start) else {
            return None;
        };
        self.large_releases += 1;
        self.cross_thread_releases += u64::from(home != self.number);
        let extent = Extent { start, granules };
        // Before the sub-arena is unlocked: after that the extent may be on lease again.
        asan::poison(start * GRANULE_BYTES, granules * GRANULE_BYTES);
        residency::note_released(segments, extent);
        Some((granules, self.attach(segments, slack, extent)))
    }

    /// Takes a superblock back. Returns a region to unmap.
    pub(crate) fn return_superblock(
        &mut self,
        segments: &SegmentLookup<'_>,
        slack: &Slack,
        start: usize,
        slots: usize,
    ) -> Option<MappedRegion> {
        segments.mark_slots(start * GRANULE_BYTES, slots, false);
        let extent = Extent { start, granules: slots * SLOT_GRANULES };
        residency::note_released(segments, extent);
        self.attach(segments, slack, extent)
    }

    /// Makes an extent free and joins it with free neighbours in its region. Returns a region to unmap, if the whole of
    /// it became free and the slack is used up.
    #[inline(always)]
    fn attach(&mut self, segments: &SegmentLookup<'_>, slack: &Slack, extent: Extent) -> Option<MappedRegion> {
        segments.set_tag(extent.start, Tag::Inside);
        let region = segments.region_start(extent.start);
        let before = free_before(segments, region, extent.start);
        let after = free_after(segments, region, extent.end());
        let start = before.map_or(extent.start, |before| before.start);
        let end = after.map_or(extent.end(), |after| after.end());
        let whole = Extent { start, granules: end - start };
        if before.is_some() {
            segments.set_tag(extent.start - 1, Tag::Inside);
        }
        if after.is_some() {
            segments.set_tag(extent.end(), Tag::Inside);
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
        tag_free(segments, whole);
        if segments.region_at(start) != whole.granules {
            return None;
        }
        if slack.keep(whole.granules) {
            self.idle += whole.granules;
            return None;
        }
        self.remove_region(segments, whole)
    }

    /// Adds a region, wholly free, that the slack has counted.
    pub(crate) fn add_region(&mut self, segments: &SegmentLookup<'_>, region: MappedRegion) {
        let extent = region::extent_of(&region);
        segments.open_region(extent.start, extent.granules, self.number);
        self.regions.insert(region);
        self.free.insert(extent);
        tag_free(segments, extent);
        self.idle += extent.granules;
    }

    /// Takes a run of purgeable units out of the free extents, until [`Self::attach_purged`].
    pub(crate) fn detach_purgeable(
        &mut self,
        segments: &SegmentLookup<'_>,
        slack: &Slack,
        which: Purgeable,
    ) -> Option<Extent> {
        let find = |free: &Extent| residency::find_purgeable(segments, *free, which).map(|part| (*free, part));
        let found = self.free.at_least(PURGE_GRANULES).find_map(find);
        let (free, part) = found?;
        self.detach(segments, slack, free, part);
        segments.set_tag(part.start, Tag::Purging(part.granules));
        Some(part)
    }

    /// Makes a detached run free again; `purged` says whether the provider has given its pages back. Returns a region
    /// to unmap.
    pub(crate) fn attach_purged(
        &mut self,
        segments: &SegmentLookup<'_>,
        slack: &Slack,
        part: Extent,
        purged: bool,
    ) -> Option<MappedRegion> {
        if purged {
            residency::note_purged(segments, part);
        }
        self.attach(segments, slack, part)
    }

    /// Ends a purge pass: what is not leased until the next pass has ended is then purgeable.
    pub(crate) fn end_purge_pass(&mut self, segments: &SegmentLookup<'_>) {
        self.regions.iter().map(region::extent_of).for_each(|region| residency::end_pass(segments, region));
    }

    /// Removes the wholly free region `extent`.
    fn remove_region(&mut self, segments: &SegmentLookup<'_>, extent: Extent) -> Option<MappedRegion> {
        self.free.remove(extent);
        segments.set_tag(extent.start, Tag::Inside);
        segments.set_tag(extent.end() - 1, Tag::Inside);
        segments.close_region(extent.start, extent.granules);
        self.regions.remove(extent)
    }

    /// Removes the wholly free region with the highest address.
    pub(crate) fn remove_idle_region(&mut self, segments: &SegmentLookup<'_>, slack: &Slack) -> Option<MappedRegion> {
        let idle = |extent: &Extent| segments.tag(extent.start) == Tag::Free(extent.granules);
        let extent = self.regions.iter().rev().map(region::extent_of).find(idle)?;
        self.idle -= extent.granules;
        slack.use_up(extent.granules);
        self.remove_region(segments, extent)
    }

    /// Checks the invariants of [`crate::global`]; `superblock` is called with address and slots of each superblock.
    pub(crate) fn check(
        &self,
        segments: &SegmentLookup<'_>,
        superblock: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    ) -> Result<SubArenaCounts, String> {
        self.free.check()?;
        let mut counts = self.counts(segments);
        let (mut free, mut idle) = (0, 0);
        for region in self.regions.iter() {
            let whole = region::extent_of(region);
            self.check_owner(segments, whole)?;

            let mut walk = region::Walk::of(region);
            while let Some((extent, tag)) = walk.next(segments)? {
                match tag {
                    Tag::Free(granules) => {
                        free += granules;
                        idle += if extent == whole { granules } else { 0 };
                        if !self.free.contains(extent) {
                            return Err(format!("free extent {extent:?} is in no bin"));
                        }
                    }
                    Tag::Large(granules) => counts.large_bytes += granules * GRANULE_BYTES,
                    Tag::Purging(_) => {}
                    _ => superblock(extent.start * GRANULE_BYTES, extent.granules / SLOT_GRANULES)?,
                }
            }
        }
        let counted = (self.free.granules(), self.idle);
        if (free, idle) != counted {
            return Err(format!("free and idle granules are {free} and {idle}, counted {counted:?}"));
        }
        Ok(counts)
    }

    fn check_owner(&self, segments: &SegmentLookup<'_>, region: Extent) -> Result<(), String> {
        for granule in (region.start..region.end()).step_by(SEGMENT_GRANULES) {
            let found = (segments.region_start(granule), segments.sub_arena_of(granule));
            if found != (region.start, Some(self.number)) {
                return Err(format!("segment {granule:#x} of {region:?} of sub-arena {} says {found:?}", self.number));
            }
        }
        Ok(())
    }
}

fn tag_free(segments: &SegmentLookup<'_>, extent: Extent) {
    segments.set_tag(extent.start, Tag::Free(extent.granules));
    if extent.granules > 1 {
        segments.set_tag(extent.end() - 1, Tag::FreeEnd(extent.granules));
    }
}

/// The free extent of `region` that ends where `start` begins.
fn free_before(segments: &SegmentLookup<'_>, region: usize, start: usize) -> Option<Extent> {
    if start == region {
        return None;
    }
    match segments.tag(start.checked_sub(1)?) {
        Tag::Free(1) => Some(Extent { start: start - 1, granules: 1 }),
        Tag::FreeEnd(granules) => Some(Extent { start: start - granules, granules }),
        _ => None,
    }
}

/// The free extent of `region` that begins at `end`.
fn free_after(segments: &SegmentLookup<'_>, region: usize, end: usize) -> Option<Extent> {
    match segments.tag(end) {
        Tag::Free(granules) if segments.region_start(end) == region => Some(Extent { start: end, granules }),
        _ => None,
    }
}
