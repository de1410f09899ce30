//! The segment table: from any address to what is known about it, without touching the memory there.
//!
//! A segment is 64 MiB of address space ([`crate::geometry`]). A [`Segment`] stays in the table for the arena's life
//! once its addresses were ever mapped, and a [`Superblock`] descriptor stays with its slot: a late reader with a stale
//! address therefore finds valid metadata of *that* address, which says "not leased". The cost is 0.1 % of the address
//! space ever mapped.
//!
//! Everything here is written and read under the lock of the region's [`crate::sub_arena::SubArena`], except two things
//! that are also read without it, as a hint that is confirmed under a lock: slot marks (under that of the superblock's
//! bin) and which sub-arena a region belongs to (under that of the sub-arena).

use crate::geometry::{LEAF_BITS, MAX_GRANULES, ROOT_BITS, SEGMENT_BYTES, SEGMENT_GRANULES, SEGMENT_SLOTS, SLOT_BYTES};
use crate::superblock::Superblock;
use crate::sync::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Relaxed};
use std::sync::{Arc, OnceLock};

/// What a granule says about the extent that it belongs to. Lengths are in granules, below 2^29.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Inside an extent, or not mapped.
    Inside,
    /// First granule of a free extent of this length.
    Free(usize),
    /// Last granule of a free extent of this length (2 or more).
    FreeEnd(usize),
    /// First granule of a large lease.
    Large(usize),
    /// First granule of a superblock.
    Superblock(usize),
    /// First granule of an extent that a purge has taken out of the free ones while it gives its pages back.
    Purging(usize),
}

const KIND_SHIFT: u32 = MAX_GRANULES.ilog2();

impl Tag {
    pub(crate) fn pack(self) -> u32 {
        let (kind, granules) = match self {
            Self::Inside => (0, 0),
            Self::Free(granules) => (1, granules),
            Self::FreeEnd(granules) => (2, granules),
            Self::Large(granules) => (3, granules),
            Self::Superblock(granules) => (4, granules),
            Self::Purging(granules) => (5, granules),
        };
        debug_assert!(granules < MAX_GRANULES);
        (kind << KIND_SHIFT) | granules as u32
    }

    pub(crate) fn unpack(word: u32) -> Self {
        let granules = word as usize & (MAX_GRANULES - 1);
        match word >> KIND_SHIFT {
            1 => Self::Free(granules),
            2 => Self::FreeEnd(granules),
            3 => Self::Large(granules),
            4 => Self::Superblock(granules),
            5 => Self::Purging(granules),
            _ => Self::Inside,
        }
    }
}

/// Metadata of one segment.
#[derive(Debug)]
pub(crate) struct Segment {
    tags: Box<[AtomicU32]>,
    /// 0: no superblock here; n: slot n-1 of a superblock (counted from its head).
    marks: Box<[AtomicU8]>,
    superblocks: Box<[OnceLock<Arc<Superblock>>]>,
    /// First granule of the region that this segment is in, 0 for none.
    pub(crate) region_start: AtomicUsize,
    /// Granules of that region.
    pub(crate) region_granules: AtomicUsize,
    /// The sub-arena that holds that region.
    pub(crate) sub_arena: AtomicUsize,
    /// Two bits for each purge unit: see [`crate::residency`].
    pub(crate) residency: AtomicU64,
}

impl Segment {
    fn new() -> Self {
        Self {
            tags: (0..SEGMENT_GRANULES).map(|_| AtomicU32::new(0)).collect(),
            marks: (0..SEGMENT_SLOTS).map(|_| AtomicU8::new(0)).collect(),
            superblocks: (0..SEGMENT_SLOTS).map(|_| OnceLock::new()).collect(),
            region_start: AtomicUsize::new(0),
            region_granules: AtomicUsize::new(0),
            sub_arena: AtomicUsize::new(0),
            residency: AtomicU64::new(0),
        }
    }

    /// The tag of a granule, which lies in this segment.
    pub(crate) fn tag(&self, granule: usize) -> &AtomicU32 {
        &self.tags[granule % SEGMENT_GRANULES]
    }

    /// The mark of the slot that holds `address`, which lies in this segment.
    pub(crate) fn mark(&self, address: usize) -> &AtomicU8 {
        &self.marks[address % SEGMENT_BYTES / SLOT_BYTES]
    }
}

type Leaf = Box<[OnceLock<Box<Segment>>]>;

/// Radix table of every [`Segment`]; reading takes no lock.
#[derive(Debug)]
pub(crate) struct SegmentTable {
    root: Box<[OnceLock<Leaf>]>,
}

impl SegmentTable {
    pub(crate) fn new() -> Self {
        Self { root: (0..1 << ROOT_BITS).map(|_| OnceLock::new()).collect() }
    }

    /// The segment of an address, if it was ever mapped.
    pub(crate) fn segment(&self, address: usize) -> Option<&Segment> {
        let number = address / SEGMENT_BYTES;
        let leaf = self.root.get(number >> LEAF_BITS)?.get()?;
        leaf[number & ((1 << LEAF_BITS) - 1)].get().map(|segment| &**segment)
    }

    fn segment_or_new(&self, address: usize) -> &Segment {
        let number = address / SEGMENT_BYTES;
        let leaf =
            self.root[number >> LEAF_BITS].get_or_init(|| (0..1 << LEAF_BITS).map(|_| OnceLock::new()).collect());
        leaf[number & ((1 << LEAF_BITS) - 1)].get_or_init(|| Box::new(Segment::new()))
    }

    /// Makes the metadata of a region's addresses exist. Takes no lock; call it before `SegmentLookup::open_region`.
    pub(crate) fn cover(&self, address: usize, bytes: usize) {
        for segment in (address..address + bytes).step_by(SEGMENT_BYTES) {
            self.segment_or_new(segment);
        }
    }

    /// The mark of the slot that holds `address`; see [`Self::superblock_at`].
    pub(crate) fn mark(&self, address: usize) -> u8 {
        self.segment(address).map_or(0, |segment| segment.mark(address).load(Relaxed))
    }

    /// The descriptor of the superblock that `address` lies in, as far as the marks say.
    pub(crate) fn superblock_at(&self, address: usize) -> Option<&Arc<Superblock>> {
        let before = usize::from(self.mark(address)).checked_sub(1)?;
        let head = (address / SLOT_BYTES).checked_sub(before)? * SLOT_BYTES;
        self.segment(head)?.superblocks[head % SEGMENT_BYTES / SLOT_BYTES].get()
    }

    /// The descriptor that belongs to the slot at `address`, made on first use.
    pub(crate) fn superblock_of_slot(&self, address: usize) -> &Arc<Superblock> {
        let slot = &self.segment_or_new(address).superblocks[address % SEGMENT_BYTES / SLOT_BYTES];
        slot.get_or_init(|| Arc::new(Superblock::new(address)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::geometry::{ADDRESS_END, GRANULE_BYTES};
    use crate::segment_lookup::SegmentLookup;

    #[test]
    fn tags_survive_packing() {
        let longest = MAX_GRANULES - 1;
        for tag in
            [Tag::Inside, Tag::Free(1), Tag::FreeEnd(2), Tag::Large(longest), Tag::Superblock(64), Tag::Purging(512)]
        {
            assert_eq!(Tag::unpack(tag.pack()), tag);
        }
    }

    #[test]
    fn addresses_outside_the_table_are_unknown() {
        let table = SegmentTable::new();
        for address in [0, 64, ADDRESS_END - 1, ADDRESS_END, usize::MAX] {
            assert_eq!(SegmentLookup::new(&table).tag(address / GRANULE_BYTES), Tag::Inside);
            assert_eq!(table.mark(address), 0);
            assert!(table.superblock_at(address).is_none());
        }
    }

    #[test]
    fn slots_find_their_head_across_a_frame_border() {
        let table = SegmentTable::new();
        let head = 3 * SEGMENT_BYTES - SLOT_BYTES;
        table.cover(2 * SEGMENT_BYTES, 2 * SEGMENT_BYTES);
        let superblock = Arc::clone(table.superblock_of_slot(head));
        SegmentLookup::new(&table).mark_slots(head, 2, true);
        for address in [head, head + 100, head + SLOT_BYTES, head + 2 * SLOT_BYTES - 1] {
            assert!(table.superblock_at(address).is_some_and(|found| Arc::ptr_eq(found, &superblock)));
        }
        assert!(table.superblock_at(head + 2 * SLOT_BYTES).is_none());
        SegmentLookup::new(&table).mark_slots(head, 2, false);
        assert!(table.superblock_at(head).is_none());
    }
}
