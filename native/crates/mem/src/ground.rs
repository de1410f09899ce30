//! The books of some regions of the global arena: which extents are free, which regions are idle. Every call is made under
//! the ground's lock.

use crate::extent::{Extent, FreeExtents};
use crate::frame::{FRAME_GRANULES, GRANULE_BYTES, SLOT_GRANULES, Tag};
use crate::nearby::Nearby;
use crate::provider::MappedRegion;
use crate::region::{self, Regions};
use crate::slack::Slack;

/// What to cut out of a free extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// A large lease of this many granules.
    Large(usize),
    /// A superblock of this many slots.
    Superblock(usize),
}

impl Want {
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
pub(crate) struct Ground {
    /// What the frames of its regions call it.
    number: usize,
    free: FreeExtents,
    regions: Regions,
    /// Granules of regions that are wholly free.
    idle: usize,
    large_leases: u64,
    large_releases: u64,
}

/// What the books of a ground, or of all, say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GlobalBooks {
    pub(crate) large_leases: u64,
    pub(crate) large_releases: u64,
    pub(crate) large_bytes: usize,
    pub(crate) free_bytes: usize,
    pub(crate) regions: usize,
}

impl GlobalBooks {
    /// Adds those of another ground.
    pub(crate) fn add(mut self, other: Self) -> Self {
        self.large_leases += other.large_leases;
        self.large_releases += other.large_releases;
        self.large_bytes += other.large_bytes;
        self.free_bytes += other.free_bytes;
        self.regions += other.regions;
        self
    }
}

impl Ground {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            free: FreeExtents::new(),
            regions: Regions::default(),
            idle: 0,
            large_leases: 0,
            large_releases: 0,
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

    pub(crate) fn books(&self) -> GlobalBooks {
        GlobalBooks {
            large_leases: self.large_leases,
            large_releases: self.large_releases,
            free_bytes: self.free.granules() * GRANULE_BYTES,
            regions: self.regions.len(),
            ..GlobalBooks::default()
        }
    }

    /// Cuts the wanted part out of a free extent: its address.
    pub(crate) fn take(&mut self, frames: &Nearby<'_>, slack: &Slack, want: Want) -> Option<usize> {
        let extent = self.free.find(want.granules(), want.align())?;
        let part = extent.part(want.granules(), want.align())?;
        if frames.region_at(extent.start) == extent.granules {
            self.idle -= extent.granules;
            slack.use_up(extent.granules);
        }
        self.cut(frames, extent, part);
        let address = part.start * GRANULE_BYTES;
        match want {
            Want::Large(granules) => {
                frames.set_tag(part.start, Tag::Large(granules));
                self.large_leases += 1;
            }
            Want::Superblock(slots) => {
                frames.set_tag(part.start, Tag::Superblock(part.granules));
                frames.mark_slots(address, slots, true);
            }
        }
        Some(address)
    }

    /// Leaves of the free `extent` what lies before and after `part`.
    fn cut(&mut self, frames: &Nearby<'_>, extent: Extent, part: Extent) {
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
    }

    fn shrink(&mut self, frames: &Nearby<'_>, from: Extent, to: Extent) {
        self.free.replace(from, to);
        tag_free(frames, to);
    }

    /// Ends the large lease that starts at granule `start`, if one does: its granules, and a region to unmap.
    pub(crate) fn give_large(
        &mut self,
        frames: &Nearby<'_>,
        slack: &Slack,
        start: usize,
    ) -> Option<(usize, Option<MappedRegion>)> {
        if frames.ground_of(start) != Some(self.number) {
            return None;
        }
        let Tag::Large(granules) = frames.tag(start) else {
            return None;
        };
        self.large_releases += 1;
        Some((granules, self.give(frames, slack, Extent { start, granules })))
    }

    /// Takes a superblock back. Returns a region to unmap.
    pub(crate) fn give_superblock(
        &mut self,
        frames: &Nearby<'_>,
        slack: &Slack,
        start: usize,
        slots: usize,
    ) -> Option<MappedRegion> {
        frames.mark_slots(start * GRANULE_BYTES, slots, false);
        self.give(frames, slack, Extent { start, granules: slots * SLOT_GRANULES })
    }

    /// Makes an extent free and joins it with free neighbours in its region. Returns a region to unmap, if the whole of
    /// it became free and the slack is used up.
    fn give(&mut self, frames: &Nearby<'_>, slack: &Slack, extent: Extent) -> Option<MappedRegion> {
        frames.set_tag(extent.start, Tag::Inside);
        let region = frames.region_start(extent.start);
        let before = free_before(frames, region, extent.start);
        let after = free_after(frames, region, extent.end());
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
        if slack.keep(whole.granules) {
            self.idle += whole.granules;
            return None;
        }
        self.remove_region(frames, whole)
    }

    /// Adds a region of which [`Self::take`] takes a part next.
    pub(crate) fn add_region(&mut self, frames: &Nearby<'_>, slack: &Slack, region: MappedRegion) {
        let extent = region::extent_of(&region);
        frames.open_region(extent.start, extent.granules, self.number);
        self.regions.insert(region);
        self.free.insert(extent);
        tag_free(frames, extent);
        self.idle += extent.granules;
        slack.add(extent.granules);
    }

    /// Takes the wholly free region `extent` out of the books.
    fn remove_region(&mut self, frames: &Nearby<'_>, extent: Extent) -> Option<MappedRegion> {
        self.free.remove(extent);
        frames.set_tag(extent.start, Tag::Inside);
        frames.set_tag(extent.end() - 1, Tag::Inside);
        frames.close_region(extent.start, extent.granules);
        self.regions.remove(extent)
    }

    /// Takes the wholly free region with the highest address out of the books.
    pub(crate) fn remove_idle_region(&mut self, frames: &Nearby<'_>, slack: &Slack) -> Option<MappedRegion> {
        let idle = |extent: &Extent| frames.tag(extent.start) == Tag::Free(extent.granules);
        let extent = self.regions.iter().rev().map(region::extent_of).find(idle)?;
        self.idle -= extent.granules;
        slack.use_up(extent.granules);
        self.remove_region(frames, extent)
    }

    /// Checks the invariants of [`crate::global`]; `superblock` is called with address and slots of each superblock.
    pub(crate) fn check(
        &self,
        frames: &Nearby<'_>,
        superblock: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    ) -> Result<GlobalBooks, String> {
        self.free.check()?;
        let mut books = self.books();
        let (mut free, mut idle) = (0, 0);
        for region in self.regions.iter() {
            let whole = region::extent_of(region);
            self.check_owner(frames, whole)?;
            let mut walk = region::Walk::of(region);
            while let Some((extent, tag)) = walk.next(frames)? {
                match tag {
                    Tag::Free(granules) => {
                        free += granules;
                        idle += if extent == whole { granules } else { 0 };
                        if !self.free.contains(extent) {
                            return Err(format!("free extent {extent:?} is in no bin"));
                        }
                    }
                    Tag::Large(granules) => books.large_bytes += granules * GRANULE_BYTES,
                    _ => superblock(extent.start * GRANULE_BYTES, extent.granules / SLOT_GRANULES)?,
                }
            }
        }
        let booked = (self.free.granules(), self.idle);
        if (free, idle) != booked {
            return Err(format!("free and idle granules are {free} and {idle}, booked {booked:?}"));
        }
        Ok(books)
    }

    fn check_owner(&self, frames: &Nearby<'_>, region: Extent) -> Result<(), String> {
        for granule in (region.start..region.end()).step_by(FRAME_GRANULES) {
            let found = (frames.region_start(granule), frames.ground_of(granule));
            if found != (region.start, Some(self.number)) {
                return Err(format!("frame {granule:#x} of {region:?} of ground {} says {found:?}", self.number));
            }
        }
        Ok(())
    }
}

fn tag_free(frames: &Nearby<'_>, extent: Extent) {
    frames.set_tag(extent.start, Tag::Free(extent.granules));
    if extent.granules > 1 {
        frames.set_tag(extent.end() - 1, Tag::FreeEnd(extent.granules));
    }
}

/// The free extent of `region` that ends where `start` begins.
fn free_before(frames: &Nearby<'_>, region: usize, start: usize) -> Option<Extent> {
    if start == region {
        return None;
    }
    match frames.tag(start.checked_sub(1)?) {
        Tag::Free(1) => Some(Extent { start: start - 1, granules: 1 }),
        Tag::FreeEnd(granules) => Some(Extent { start: start - granules, granules }),
        _ => None,
    }
}

/// The free extent of `region` that begins at `end`.
fn free_after(frames: &Nearby<'_>, region: usize, end: usize) -> Option<Extent> {
    match frames.tag(end) {
        Tag::Free(granules) if frames.region_start(end) == region => Some(Extent { start: end, granules }),
        _ => None,
    }
}
