//! The address table: from any address to what we know about it, without touching the memory there.
//!
//! ```text
//! address (48 bits)  | root 11 | leaf 11 | frame 26 = 64 MiB                      |
//!                                        | slot 8 = 256 KiB  |                    |
//!                                        | granule 14 = 4 KiB    | 12             |
//! ```
//!
//! A frame is 64 MiB of address space; a region is one frame or several in a row. A [`Frame`] stays in the table for the
//! arena's life once its addresses were ever mapped, and a [`Superblock`] descriptor stays with its slot: a late reader
//! with a stale address therefore finds valid metadata of *that* address, which says "not leased". The cost is 0.1 % of
//! the address space ever mapped.
//!
//! Tags are written and read under the lock of the region's [`crate::ground::Ground`]. Two things are read without a lock, as
//! a hint that is confirmed under one: slot marks (the superblock's bin decides) and which ground a region belongs to.

use crate::provider::REGION_UNIT_BYTES;
use crate::superblock::Superblock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Unit of the global arena, in bytes.
pub(crate) const GRANULE_BYTES: usize = 4 << 10;
/// Unit and alignment of superblocks, in bytes.
pub(crate) const SLOT_BYTES: usize = 256 << 10;
/// Granules in a slot.
pub(crate) const SLOT_GRANULES: usize = SLOT_BYTES / GRANULE_BYTES;
/// Granules in a frame.
pub(crate) const FRAME_GRANULES: usize = REGION_UNIT_BYTES / GRANULE_BYTES;
const FRAME_SLOTS: usize = REGION_UNIT_BYTES / SLOT_BYTES;
const ADDRESS_BITS: u32 = 48;
const LEAF_BITS: u32 = 11;
const ROOT_BITS: u32 = ADDRESS_BITS - LEAF_BITS - REGION_UNIT_BYTES.ilog2();

/// First address beyond the table.
pub(crate) const ADDRESS_END: usize = 1 << ADDRESS_BITS;

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
}

const KIND_SHIFT: u32 = 29;
/// First length that a tag cannot hold.
pub(crate) const MAX_GRANULES: usize = 1 << KIND_SHIFT;

impl Tag {
    pub(crate) fn pack(self) -> u32 {
        let (kind, granules) = match self {
            Self::Inside => (0, 0),
            Self::Free(granules) => (1, granules),
            Self::FreeEnd(granules) => (2, granules),
            Self::Large(granules) => (3, granules),
            Self::Superblock(granules) => (4, granules),
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
            _ => Self::Inside,
        }
    }
}

/// Metadata of 64 MiB of address space.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) tags: Box<[AtomicU32]>,
    /// 0: no superblock here; n: slot n-1 of a superblock (counted from its head).
    pub(crate) marks: Box<[AtomicU8]>,
    superblocks: Box<[OnceLock<Arc<Superblock>>]>,
    /// First granule of the region that this frame is in, 0 for none.
    pub(crate) region_start: AtomicUsize,
    /// Granules of that region.
    pub(crate) region_granules: AtomicUsize,
    /// The ground that holds that region.
    pub(crate) ground: AtomicUsize,
}

impl Frame {
    fn new() -> Self {
        Self {
            tags: (0..FRAME_GRANULES).map(|_| AtomicU32::new(0)).collect(),
            marks: (0..FRAME_SLOTS).map(|_| AtomicU8::new(0)).collect(),
            superblocks: (0..FRAME_SLOTS).map(|_| OnceLock::new()).collect(),
            region_start: AtomicUsize::new(0),
            region_granules: AtomicUsize::new(0),
            ground: AtomicUsize::new(0),
        }
    }
}

type Leaf = Box<[OnceLock<Box<Frame>>]>;

/// Radix table of every [`Frame`]; reading takes no lock.
#[derive(Debug)]
pub(crate) struct FrameTable {
    root: Box<[OnceLock<Leaf>]>,
}

impl FrameTable {
    pub(crate) fn new() -> Self {
        Self { root: (0..1 << ROOT_BITS).map(|_| OnceLock::new()).collect() }
    }

    /// The frame of an address, if it was ever mapped.
    pub(crate) fn frame(&self, address: usize) -> Option<&Frame> {
        let number = address / REGION_UNIT_BYTES;
        let leaf = self.root.get(number >> LEAF_BITS)?.get()?;
        leaf[number & ((1 << LEAF_BITS) - 1)].get().map(|frame| &**frame)
    }

    fn frame_or_new(&self, address: usize) -> &Frame {
        let number = address / REGION_UNIT_BYTES;
        let leaf =
            self.root[number >> LEAF_BITS].get_or_init(|| (0..1 << LEAF_BITS).map(|_| OnceLock::new()).collect());
        leaf[number & ((1 << LEAF_BITS) - 1)].get_or_init(|| Box::new(Frame::new()))
    }

    /// Makes the metadata of a region's addresses exist. Takes no lock; call it before [`crate::nearby::Nearby::open_region`].
    pub(crate) fn cover(&self, address: usize, bytes: usize) {
        for frame in (address..address + bytes).step_by(REGION_UNIT_BYTES) {
            self.frame_or_new(frame);
        }
    }

    /// The mark of the slot that holds `address`; see [`Self::superblock_at`].
    pub(crate) fn mark(&self, address: usize) -> u8 {
        let mark = self.frame(address).map(|frame| &frame.marks[address % REGION_UNIT_BYTES / SLOT_BYTES]);
        mark.map_or(0, |mark| mark.load(Relaxed))
    }

    /// The descriptor of the superblock that `address` lies in, as far as the marks say.
    pub(crate) fn superblock_at(&self, address: usize) -> Option<&Arc<Superblock>> {
        let before = usize::from(self.mark(address)).checked_sub(1)?;
        let head = (address / SLOT_BYTES).checked_sub(before)? * SLOT_BYTES;
        self.frame(head)?.superblocks[head % REGION_UNIT_BYTES / SLOT_BYTES].get()
    }

    /// The descriptor that belongs to the slot at `address`, made on first use.
    pub(crate) fn superblock_of_slot(&self, address: usize) -> &Arc<Superblock> {
        let slot = &self.frame_or_new(address).superblocks[address % REGION_UNIT_BYTES / SLOT_BYTES];
        slot.get_or_init(|| Arc::new(Superblock::new(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nearby::Nearby;

    #[test]
    fn tags_survive_packing() {
        let longest = MAX_GRANULES - 1;
        for tag in [Tag::Inside, Tag::Free(1), Tag::FreeEnd(2), Tag::Large(longest), Tag::Superblock(64)] {
            assert_eq!(Tag::unpack(tag.pack()), tag);
        }
    }

    #[test]
    fn addresses_outside_the_table_are_unknown() {
        let table = FrameTable::new();
        for address in [0, 64, ADDRESS_END - 1, ADDRESS_END, usize::MAX] {
            assert_eq!(Nearby::new(&table).tag(address / GRANULE_BYTES), Tag::Inside);
            assert_eq!(table.mark(address), 0);
            assert!(table.superblock_at(address).is_none());
        }
    }

    #[test]
    fn slots_find_their_head_across_a_frame_border() {
        let table = FrameTable::new();
        let head = 3 * REGION_UNIT_BYTES - SLOT_BYTES;
        table.cover(2 * REGION_UNIT_BYTES, 2 * REGION_UNIT_BYTES);
        let superblock = Arc::clone(table.superblock_of_slot(head));
        Nearby::new(&table).mark_slots(head, 2, true);
        for address in [head, head + 100, head + SLOT_BYTES, head + 2 * SLOT_BYTES - 1] {
            assert!(table.superblock_at(address).is_some_and(|found| Arc::ptr_eq(found, &superblock)));
        }
        assert!(table.superblock_at(head + 2 * SLOT_BYTES).is_none());
        Nearby::new(&table).mark_slots(head, 2, false);
        assert!(table.superblock_at(head).is_none());
    }
}
