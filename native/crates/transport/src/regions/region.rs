//! One region: its part of a file, its state, and the two sizes that there are.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::catalog::OutputId;
use crate::mapping::Mapping;
use crate::wire::Region;

/// The size of a large region and of the chunk that it covers; a multiple of every page size.
pub(crate) const LARGE_REGION_BYTES: u64 = 4 << 20;
/// The size of a small region; a multiple of every page size of 64-bit Linux.
pub(crate) const SMALL_REGION_BYTES: u64 = 64 << 10;

/// A region's number in this process; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RegionNumber(pub(super) u64);

/// A part of a file that is mapped, or is being mapped.
pub(super) struct MappedRegion {
    pub(super) output: OutputId,
    pub(super) part: Range<u64>,
    pub(super) state: State,
    pub(super) pins: usize,
    /// Its place in `idle`; meaningless while pinned.
    pub(super) used: u64,
    /// Its output was withdrawn: no new reader gets it, and it is unmapped with the last pin.
    pub(super) withdrawn: bool,
}

pub(super) enum State {
    /// A job of the disk's threads maps it.
    Opening,
    Open {
        mapping: Arc<Mapping>,
        region: Region,
        key: Vec<u8>,
    },
}

/// The regions of one output: by the number of their chunk, or of their place among small regions.
#[derive(Default)]
pub(super) struct OutputRegions {
    pub(super) large: HashMap<u64, RegionNumber>,
    pub(super) small: BTreeMap<u64, RegionNumber>,
}

impl MappedRegion {
    pub(super) fn bytes(&self) -> usize {
        (self.part.end - self.part.start) as usize
    }
}

/// Whether a region of this part is kept among the large ones. One of a whole chunk that is no longer than a small
/// region is kept among the small ones, where every block of that chunk finds it.
pub(super) fn is_large(part: &Range<u64>) -> bool {
    part.end - part.start > SMALL_REGION_BYTES
}
