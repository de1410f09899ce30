//! The mapped regions and the walk over a region's extents.

use crate::extent::Extent;
use crate::geometry::{ADDRESS_END, GRANULE_BYTES, SEGMENT_BYTES};
use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use crate::segment::Tag;
use crate::segment_lookup::SegmentLookup;
use std::collections::BTreeMap;

/// Regions by first granule.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    by_start: BTreeMap<usize, MappedRegion>,
}

impl Regions {
    pub(crate) fn len(&self) -> usize {
        self.by_start.len()
    }

    pub(crate) fn insert(&mut self, region: MappedRegion) {
        self.by_start.insert(extent_of(&region).start, region);
    }

    pub(crate) fn remove(&mut self, extent: Extent) -> Option<MappedRegion> {
        self.by_start.remove(&extent.start)
    }

    /// By rising address.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &MappedRegion> {
        self.by_start.values()
    }
}

/// A region as one extent.
pub(crate) fn extent_of(region: &MappedRegion) -> Extent {
    Extent { start: region.address() / GRANULE_BYTES, granules: region.bytes() / GRANULE_BYTES }
}

/// Asks the provider for a region of memory of `kind` and refuses one that breaks its contract.
pub(crate) fn map(provider: &dyn Provider, kind: MemoryKind, bytes: usize) -> Result<MappedRegion, MapError> {
    let region = provider.map(bytes)?;
    let end = region.address().checked_add(region.bytes());
    let inside = region.address() > 0 && end.is_some_and(|end| end <= ADDRESS_END);
    let shaped = inside && region.bytes() == bytes && region.address().is_multiple_of(SEGMENT_BYTES);
    // Of memory that this process cannot read, a lease must never become a slice.
    if shaped && region.device() == kind.device() {
        return Ok(region);
    }
    let what = region.device().map_or("of this process".to_owned(), |ordinal| format!("of GPU {ordinal}"));
    let reason = format!("the provider mapped {} bytes {what} at {:#x}", region.bytes(), region.address());
    provider.unmap(region);
    Err(MapError { bytes, reason })
}

/// Steps through a region's extents and checks their tags on the way.
#[derive(Debug)]
pub(crate) struct Walk {
    next: usize,
    end: usize,
    after_free: bool,
}

impl Walk {
    pub(crate) fn of(region: &MappedRegion) -> Self {
        let extent = extent_of(region);
        Self { next: extent.start, end: extent.end(), after_free: false }
    }

    /// The next extent and the tag of its first granule; `None` at the region's end.
    pub(crate) fn next(&mut self, segments: &SegmentLookup<'_>) -> Result<Option<(Extent, Tag)>, String> {
        if self.next == self.end {
            return Ok(None);
        }
        let (start, tag) = (self.next, segments.tag(self.next));
        let (granules, free) = match tag {
            Tag::Free(granules) => (granules, true),
            Tag::Large(granules) | Tag::Superblock(granules) | Tag::Purging(granules) => (granules, false),
            Tag::Inside | Tag::FreeEnd(_) => {
                return Err(format!("granule {start:#x} starts no extent: {tag:?}"));
            }
        };
        let extent = Extent { start, granules };
        if granules == 0 || extent.end() > self.end {
            return Err(format!("extent {extent:?} leaves its region, which ends at {:#x}", self.end));
        }
        if free && self.after_free {
            return Err(format!("free extent {extent:?} was not joined with the one before it"));
        }
        check_inside(segments, extent, free)?;
        (self.next, self.after_free) = (extent.end(), free);
        Ok(Some((extent, tag)))
    }
}

fn check_inside(segments: &SegmentLookup<'_>, extent: Extent, free: bool) -> Result<(), String> {
    for granule in extent.start + 1..extent.end() {
        let last = free && granule == extent.end() - 1;
        let expected = if last { Tag::FreeEnd(extent.granules) } else { Tag::Inside };
        if segments.tag(granule) != expected {
            return Err(format!("granule {granule:#x} of {extent:?} is tagged {:?}", segments.tag(granule)));
        }
    }
    Ok(())
}
