//! The address table as one change of a ground sees it: the frame looked at last is at hand.
//!
//! A change looks up a dozen granules, nearly all in one frame. Finding a frame costs several dependent loads; finding it again,
//! a comparison.

use crate::frame::{FRAME_GRANULES, Frame, FrameTable, GRANULE_BYTES, SLOT_BYTES, Tag};
use crate::provider::REGION_UNIT_BYTES;
use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A [`FrameTable`] and the frame last found in it. Made for one change, never kept.
#[derive(Debug)]
pub(crate) struct Nearby<'a> {
    table: &'a FrameTable,
    /// Number of the frame (address / 64 MiB) and the frame.
    last: Cell<Option<(usize, &'a Frame)>>,
}

impl<'a> Nearby<'a> {
    pub(crate) fn new(table: &'a FrameTable) -> Self {
        Self { table, last: Cell::new(None) }
    }

    fn frame(&self, granule: usize) -> Option<&'a Frame> {
        let number = granule / FRAME_GRANULES;
        match self.last.get() {
            Some((last, frame)) if last == number => Some(frame),
            _ => {
                let frame = self.table.frame(granule * GRANULE_BYTES)?;
                self.last.set(Some((number, frame)));
                Some(frame)
            }
        }
    }

    /// The frame of a granule that was mapped some time, so that [`FrameTable::cover`] has made it.
    fn mapped(&self, granule: usize) -> &'a Frame {
        self.frame(granule).expect("regions are covered before they are opened")
    }

    /// Notes that `ground` holds a region of `granules` granules that starts at `start`.
    pub(crate) fn open_region(&self, start: usize, granules: usize, ground: usize) {
        for granule in (start..start + granules).step_by(FRAME_GRANULES) {
            let frame = self.mapped(granule);
            frame.region_granules.store(granules, Relaxed);
            frame.ground.store(ground, Relaxed);
            // Who sees this region sees its ground too, not that of an earlier region.
            frame.region_start.store(start, Release);
        }
    }

    /// Notes that the region that starts at `start` is gone; its tags must be [`Tag::Inside`] throughout.
    pub(crate) fn close_region(&self, start: usize, granules: usize) {
        for granule in (start..start + granules).step_by(FRAME_GRANULES) {
            self.mapped(granule).region_start.store(0, Relaxed);
        }
    }

    /// Granules of the region that starts at `granule`, or 0.
    pub(crate) fn region_at(&self, granule: usize) -> usize {
        let starts = |frame: &&Frame| frame.region_start.load(Relaxed) == granule;
        self.frame(granule).filter(starts).map_or(0, |frame| frame.region_granules.load(Relaxed))
    }

    /// First granule of the region that `granule` is in, or 0. Whether that is a certain region is exact for the holder
    /// of that region's lock, whatever becomes of other grounds' regions beside it.
    pub(crate) fn region_start(&self, granule: usize) -> usize {
        self.frame(granule).map_or(0, |frame| frame.region_start.load(Relaxed))
    }

    /// The ground of the region that `granule` is in. To be asked again under that ground's lock: only then does the
    /// answer stay.
    pub(crate) fn ground_of(&self, granule: usize) -> Option<usize> {
        let open = |frame: &&Frame| frame.region_start.load(Acquire) != 0;
        self.frame(granule).filter(open).map(|frame| frame.ground.load(Relaxed))
    }

    /// The tag of a granule; [`Tag::Inside`] for one that was never mapped.
    pub(crate) fn tag(&self, granule: usize) -> Tag {
        let tag = self.frame(granule).map(|frame| &frame.tags[granule % FRAME_GRANULES]);
        tag.map_or(Tag::Inside, |tag| Tag::unpack(tag.load(Relaxed)))
    }

    /// Sets the tag of a granule of an open region.
    pub(crate) fn set_tag(&self, granule: usize, tag: Tag) {
        let frame = self.mapped(granule);
        frame.tags[granule % FRAME_GRANULES].store(tag.pack(), Relaxed);
    }

    /// Sets the marks of `slots` slots from `address` (their head) on: a superblock, or none.
    pub(crate) fn mark_slots(&self, address: usize, slots: usize, superblock: bool) {
        for nth in 0..slots {
            let slot = address + nth * SLOT_BYTES;
            let mark = if superblock { nth as u8 + 1 } else { 0 };
            self.mapped(slot / GRANULE_BYTES).marks[slot % REGION_UNIT_BYTES / SLOT_BYTES].store(mark, Relaxed);
        }
    }
}
