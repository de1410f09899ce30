//! The units in which the arena divides memory and addresses.
//!
//! ```text
//! address (48 bits)  | root 11 | leaf 11 | segment 26 = 64 MiB                    |
//!                                        | purge unit 5 = 2 MiB                   |
//!                                        | slot 8 = 256 KiB  |                    |
//!                                        | granule 14 = 4 KiB    | 12             |
//! ```
//!
//! A region, which a provider maps, is one segment or several in a row. Under `cfg(loom)` all units are small, so that
//! a model has few atomics; the code is the same.

/// Alignment of every lease and unit of every block size, in bytes: a cache line, and an AVX-512 register.
pub const ALIGN_BYTES: usize = 64;

#[cfg(not(loom))]
mod units {
    /// Unit of the global arena, in bytes.
    pub(crate) const GRANULE_BYTES: usize = 4 << 10;
    /// Unit and alignment of superblocks, in bytes.
    pub(crate) const SLOT_BYTES: usize = 256 << 10;
    /// Unit in which free memory is given back, in bytes: a huge page, because the kernel would fill up one that was
    /// given back in part.
    pub(crate) const PURGE_BYTES: usize = 2 << 20;
    /// Alignment and size unit of every region, in bytes: 64 MiB.
    ///
    /// Regions of this shape make "which region is this address in?" a table look-up, and every region huge-page
    /// aligned.
    pub const SEGMENT_BYTES: usize = 64 << 20;
    /// Requests above this many bytes come straight from the global arena.
    pub(crate) const MEDIUM_BYTES: usize = 120 << 10;
    pub(crate) const ADDRESS_BITS: u32 = 48;
    pub(crate) const LEAF_BITS: u32 = 11;
}

#[cfg(loom)]
mod units {
    pub(crate) const GRANULE_BYTES: usize = 1 << 10;
    pub(crate) const SLOT_BYTES: usize = 4 << 10;
    pub(crate) const PURGE_BYTES: usize = 8 << 10;
    /// Alignment and size unit of every region, in bytes.
    pub const SEGMENT_BYTES: usize = 16 << 10;
    pub(crate) const MEDIUM_BYTES: usize = 1920;
    pub(crate) const ADDRESS_BITS: u32 = 20;
    pub(crate) const LEAF_BITS: u32 = 3;
}

pub use units::SEGMENT_BYTES;
pub(crate) use units::{ADDRESS_BITS, GRANULE_BYTES, LEAF_BITS, MEDIUM_BYTES, PURGE_BYTES, SLOT_BYTES};

/// Granules in a slot.
pub(crate) const SLOT_GRANULES: usize = SLOT_BYTES / GRANULE_BYTES;
/// Granules in a purge unit.
pub(crate) const PURGE_GRANULES: usize = PURGE_BYTES / GRANULE_BYTES;
/// Granules in a segment.
pub(crate) const SEGMENT_GRANULES: usize = SEGMENT_BYTES / GRANULE_BYTES;
/// Slots in a segment.
pub(crate) const SEGMENT_SLOTS: usize = SEGMENT_BYTES / SLOT_BYTES;
/// Address bits that the root of the segment table takes.
pub(crate) const ROOT_BITS: u32 = ADDRESS_BITS - LEAF_BITS - SEGMENT_BYTES.ilog2();
/// First address beyond the segment table.
pub(crate) const ADDRESS_END: usize = 1 << ADDRESS_BITS;
/// First length in granules that a [`crate::segment::Tag`] cannot hold.
pub(crate) const MAX_GRANULES: usize = 1 << 29;
/// Largest extent that can be asked for, in bytes: 1 TiB.
pub(crate) const MAX_EXTENT_BYTES: usize = MAX_GRANULES * GRANULE_BYTES / 2;

// One bit of a word for each purge unit of a segment: see `crate::residency`.
const _: () = assert!(SEGMENT_BYTES / PURGE_BYTES <= u32::BITS as usize);
