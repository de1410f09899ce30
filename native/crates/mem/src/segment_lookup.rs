//! The segment table as one change of a sub-arena uses it: the segment looked up last is cached.
//!
//! A change looks up a dozen granules, nearly all in one segment. Finding a segment costs several dependent loads;
//! finding it again, a comparison.

use crate::geometry::{GRANULE_BYTES, SEGMENT_GRANULES, SLOT_BYTES};
use crate::segment::{Segment, SegmentTable, Tag};
use crate::sync::{Acquire, Relaxed, Release};
use std::cell::Cell;

/// A [`SegmentTable`] and the segment last found in it. Made for one change, never kept.
#[derive(Debug)]
pub(crate) struct SegmentLookup<'a> {
    table: &'a SegmentTable,
    /// Number of the segment (address / 64 MiB) and the segment.
    last: Cell<Option<(usize, &'a Segment)>>,
}

impl<'a> SegmentLookup<'a> {
    pub(crate) fn new(table: &'a SegmentTable) -> Self {
        Self { table, last: Cell::new(None) }
    }

    #[inline]
    pub(crate) fn segment(&self, granule: usize) -> Option<&'a Segment> {
        let number = granule / SEGMENT_GRANULES;
        match self.last.get() {
            Some((last, segment)) if last == number => Some(segment),
            _ => {
                let segment = self.table.segment(granule * GRANULE_BYTES)?;
                self.last.set(Some((number, segment)));
                Some(segment)
            }
        }
    }

    /// The segment of a granule that was mapped some time, so that [`SegmentTable::cover`] has made it.
    pub(crate) fn mapped(&self, granule: usize) -> &'a Segment {
        self.segment(granule).expect("regions are covered before they are opened")
    }

    /// Notes that `sub_arena` holds a region of `granules` granules that starts at `start`.
    pub(crate) fn open_region(&self, start: usize, granules: usize, sub_arena: usize) {
        for granule in (start..start + granules).step_by(SEGMENT_GRANULES) {
            let segment = self.mapped(granule);
            segment.region_granules.store(granules, Relaxed);
            segment.sub_arena.store(sub_arena, Relaxed);
            segment.residency.store(0, Relaxed);
            // A thread that reads this region's start also reads its sub-arena, not that of an earlier region.
            segment.region_start.store(start, Release);
        }
    }

    /// Notes that the region that starts at `start` is gone; its tags must be [`Tag::Inside`] throughout.
    pub(crate) fn close_region(&self, start: usize, granules: usize) {
        for granule in (start..start + granules).step_by(SEGMENT_GRANULES) {
            self.mapped(granule).region_start.store(0, Relaxed);
        }
    }

    /// Granules of the region that starts at `granule`, or 0.
    pub(crate) fn region_at(&self, granule: usize) -> usize {
        let starts = |segment: &&Segment| segment.region_start.load(Relaxed) == granule;
        self.segment(granule).filter(starts).map_or(0, |segment| segment.region_granules.load(Relaxed))
    }

    /// First granule of the region that `granule` is in, or 0. Whether that is a certain region is exact for the holder
    /// of that region's lock, whatever becomes of other sub-arenas' regions beside it.
    pub(crate) fn region_start(&self, granule: usize) -> usize {
        self.segment(granule).map_or(0, |segment| segment.region_start.load(Relaxed))
    }

    /// The sub-arena of the region that `granule` is in. To be asked again under that sub-arena's lock: only then does
    /// the answer stay.
    pub(crate) fn sub_arena_of(&self, granule: usize) -> Option<usize> {
        let open = |segment: &&Segment| segment.region_start.load(Acquire) != 0;
        self.segment(granule).filter(open).map(|segment| segment.sub_arena.load(Relaxed))
    }

    /// The tag of a granule; [`Tag::Inside`] for one that was never mapped.
    pub(crate) fn tag(&self, granule: usize) -> Tag {
        self.segment(granule).map_or(Tag::Inside, |segment| Tag::unpack(segment.tag(granule).load(Relaxed)))
    }

    /// Sets the tag of a granule of an open region.
    #[inline]
    pub(crate) fn set_tag(&self, granule: usize, tag: Tag) {
        self.mapped(granule).tag(granule).store(tag.pack(), Relaxed);
    }

    /// Sets the marks of `slots` slots from `address` (their head) on: a superblock, or none.
    pub(crate) fn mark_slots(&self, address: usize, slots: usize, superblock: bool) {
        for nth in 0..slots {
            let slot = address + nth * SLOT_BYTES;
            let mark = if superblock { nth as u8 + 1 } else { 0 };
            self.mapped(slot / GRANULE_BYTES).mark(slot).store(mark, Relaxed);
        }
    }
}
