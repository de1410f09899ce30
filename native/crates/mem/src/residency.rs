//! Which 2 MiB units of the free memory may be resident, and which of them were in use lately.
//!
//! Two bits for each purge unit, in one word of its [`crate::segment::Segment`]:
//!
//! - `touched`: a lease of a part of the unit has ended since it was mapped or purged, so the kernel may have backed it
//!   with pages;
//! - `recent`: one has ended since the last purge pass.
//!
//! A purge pass gives back the free units that are touched but not recent, and then clears every `recent` bit (the
//! CLOCK algorithm). So a unit is given back in the second pass after its last lease ended, and one that is leased
//! again and again never.
//!
//! All of this is done under the lock of the region's sub-arena.

use crate::extent::Extent;
use crate::geometry::{PURGE_GRANULES, SEGMENT_GRANULES};
use crate::segment::Segment;
use crate::segment_lookup::SegmentLookup;
use crate::sync::Relaxed;

const RECENT_SHIFT: u32 = 32;

/// Which free units a purge gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purgeable {
    /// Those of which no lease has ended since the last purge pass.
    NotRecent,
    /// All.
    All,
}

/// The bits of the units that lie in one segment, from the unit of granule `first` up to the unit of granule `last`.
fn unit_bits(first: usize, last: usize) -> u32 {
    let (first, last) = (first % SEGMENT_GRANULES / PURGE_GRANULES, last % SEGMENT_GRANULES / PURGE_GRANULES);
    (u32::MAX >> (31 - last)) & (u32::MAX << first)
}

/// Calls `visit` for each segment of an open region that `extent` lies in, with the part of the extent that is in it.
fn for_each_segment<'a>(segments: &SegmentLookup<'a>, extent: Extent, mut visit: impl FnMut(&'a Segment, Extent)) {
    let mut start = extent.start;
    while start < extent.end() {
        let end = ((start / SEGMENT_GRANULES + 1) * SEGMENT_GRANULES).min(extent.end());
        visit(segments.mapped(start), Extent { start, granules: end - start });
        start = end;
    }
}

/// Notes that the lease of `extent` has ended.
#[inline]
pub(crate) fn note_released(segments: &SegmentLookup<'_>, extent: Extent) {
    if extent.start / SEGMENT_GRANULES == (extent.end() - 1) / SEGMENT_GRANULES {
        return set_released(segments.mapped(extent.start), extent);
    }
    for_each_segment(segments, extent, set_released);
}

/// Sets both bits of the units that the part of a segment has.
#[inline]
fn set_released(segment: &Segment, part: Extent) {
    let bits = u64::from(unit_bits(part.start, part.end() - 1));
    let (before, bits) = (segment.residency.load(Relaxed), bits | (bits << RECENT_SHIFT));
    if before & bits != bits {
        segment.residency.store(before | bits, Relaxed);
    }
}

/// Notes that the whole units of `extent` were purged.
pub(crate) fn note_purged(segments: &SegmentLookup<'_>, extent: Extent) {
    for_each_segment(segments, extent, |segment, part| {
        let bits = u64::from(unit_bits(part.start, part.end() - 1));
        segment.residency.store(segment.residency.load(Relaxed) & !bits, Relaxed);
    });
}

/// Clears the recent bits of a region.
pub(crate) fn end_pass(segments: &SegmentLookup<'_>, region: Extent) {
    for_each_segment(segments, region, |segment, _| {
        segment.residency.store(u64::from(touched(segment)), Relaxed);
    });
}

fn touched(segment: &Segment) -> u32 {
    segment.residency.load(Relaxed) as u32
}

fn recent(segment: &Segment) -> u32 {
    (segment.residency.load(Relaxed) >> RECENT_SHIFT) as u32
}

/// The whole units of an extent, if there are any.
fn whole_units(extent: Extent) -> Option<Extent> {
    let start = extent.start.next_multiple_of(PURGE_GRANULES);
    let end = extent.end() / PURGE_GRANULES * PURGE_GRANULES;
    (start < end).then(|| Extent { start, granules: end - start })
}

/// How many whole units of the free extent `free` are not resident.
pub(crate) fn untouched_units(segments: &SegmentLookup<'_>, free: Extent) -> usize {
    let Some(whole) = whole_units(free) else {
        return 0;
    };
    let mut units = 0;
    for_each_segment(segments, whole, |segment, part| {
        let bits = unit_bits(part.start, part.end() - 1);
        units += (bits & !touched(segment)).count_ones() as usize;
    });
    units
}

/// The first run of purgeable units that lie wholly in the free extent `free` and in one segment.
pub(crate) fn find_purgeable(segments: &SegmentLookup<'_>, free: Extent, which: Purgeable) -> Option<Extent> {
    let mut found = None;
    for_each_segment(segments, whole_units(free)?, |segment, part| {
        if found.is_none() {
            let kept = if which == Purgeable::All { 0 } else { recent(segment) };
            let bits = touched(segment) & !kept & unit_bits(part.start, part.end() - 1);
            found = first_run(bits).map(|(unit, units)| Extent {
                start: part.start / SEGMENT_GRANULES * SEGMENT_GRANULES + unit * PURGE_GRANULES,
                granules: units * PURGE_GRANULES,
            });
        }
    });
    found
}

/// The lowest run of set bits: its first bit and its length.
fn first_run(bits: u32) -> Option<(usize, usize)> {
    let first = bits.trailing_zeros();
    (bits != 0).then(|| (first as usize, (bits >> first).trailing_ones() as usize))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::geometry::{GRANULE_BYTES, SEGMENT_BYTES};
    use crate::segment::SegmentTable;

    const AT: usize = 5 * SEGMENT_GRANULES;

    fn extent(unit: usize, units: usize) -> Extent {
        Extent { start: AT + unit * PURGE_GRANULES, granules: units * PURGE_GRANULES }
    }

    /// A table with a region of two segments at [`AT`].
    fn table() -> SegmentTable {
        let table = SegmentTable::new();
        table.cover(AT * GRANULE_BYTES, 2 * SEGMENT_BYTES);
        SegmentLookup::new(&table).open_region(AT, 2 * SEGMENT_GRANULES, 0);
        table
    }

    #[test]
    fn runs_of_bits() {
        let found = [0, 1, 0b1100, 0b1011_0000, u32::MAX, 1 << 31].map(first_run);
        assert_eq!(found, [None, Some((0, 1)), Some((2, 2)), Some((4, 2)), Some((0, 32)), Some((31, 1))]);
    }

    #[test]
    fn a_unit_is_purgeable_in_the_second_pass_after_its_last_lease() {
        let table = table();
        let segments = &SegmentLookup::new(&table);
        let free = extent(0, 64);
        assert_eq!(find_purgeable(segments, free, Purgeable::All), None, "never touched");
        note_released(segments, extent(3, 2));
        note_released(segments, extent(4, 2));
        assert_eq!(untouched_units(segments, free), 61);
        assert_eq!(find_purgeable(segments, free, Purgeable::NotRecent), None);
        assert_eq!(find_purgeable(segments, free, Purgeable::All), Some(extent(3, 3)));
        end_pass(segments, free);
        note_released(segments, extent(5, 1));
        assert_eq!(find_purgeable(segments, free, Purgeable::NotRecent), Some(extent(3, 2)), "unit 5 was leased again");
        note_purged(segments, extent(3, 2));
        assert_eq!(untouched_units(segments, free), 63);
        assert_eq!(find_purgeable(segments, free, Purgeable::NotRecent), None);
    }

    #[test]
    fn only_whole_units_of_a_free_extent_are_purgeable() {
        let table = table();
        let segments = &SegmentLookup::new(&table);
        note_released(segments, extent(0, 64));
        let from_inside = Extent { start: AT + 1, granules: 3 * PURGE_GRANULES };
        assert_eq!(find_purgeable(segments, from_inside, Purgeable::All), Some(extent(1, 2)));
        let smaller = Extent { start: AT + 1, granules: 2 * PURGE_GRANULES - 2 };
        assert_eq!(find_purgeable(segments, smaller, Purgeable::All), None);
        assert_eq!((untouched_units(segments, smaller), untouched_units(segments, extent(0, 64))), (0, 0));
        assert_eq!(
            find_purgeable(segments, extent(30, 4), Purgeable::All),
            Some(extent(30, 2)),
            "one segment at a time"
        );
    }
}
