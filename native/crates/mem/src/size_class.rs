//! Size classes of small and medium leases, generated from [`crate::log_linear`].
//!
//! A class is a block size (a multiple of 64 bytes) and the superblock that blocks of this size are cut from.
//! What holds for every class (the tests of this file):
//! - rounding a request up to its class wastes less than 64 bytes or less than 1/8 of the request;
//! - the tail of a superblock that holds no block is at most 1/8 of it;
//! - a superblock holds at least 2 blocks and at most [`MAX_BLOCKS`].

use crate::geometry::{ALIGN_BYTES, MEDIUM_BYTES, SLOT_BYTES};
use crate::log_linear::{ceil_step, value_of};

/// Blocks in the superblock of the smallest class.
pub(crate) const MAX_BLOCKS: usize = SLOT_BYTES / ALIGN_BYTES;
/// Number of size classes.
pub(crate) const CLASS_COUNT: usize = ceil_step(MEDIUM_BYTES / ALIGN_BYTES);

/// One size class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeClass {
    /// Bytes of a block.
    pub(crate) block_bytes: usize,
    /// Blocks in a superblock.
    pub(crate) blocks: usize,
    /// Slots of [`SLOT_BYTES`] that a superblock takes.
    pub(crate) slots: usize,
}

impl SizeClass {
    /// Bytes of a superblock of this class.
    pub(crate) const fn superblock_bytes(&self) -> usize {
        self.slots * SLOT_BYTES
    }

    /// The smallest superblock whose unused tail is at most an eighth.
    const fn with_block(block_bytes: usize) -> Self {
        let mut slots = 1;
        loop {
            let bytes = slots * SLOT_BYTES;
            let blocks = bytes / block_bytes;
            if blocks >= 2 && (bytes - blocks * block_bytes) * 8 <= bytes {
                return Self { block_bytes, blocks, slots };
            }
            slots += 1;
        }
    }
}

const fn generate() -> [SizeClass; CLASS_COUNT] {
    let mut classes = [SizeClass::with_block(ALIGN_BYTES); CLASS_COUNT];
    let mut index = 0;
    while index < CLASS_COUNT {
        classes[index] = SizeClass::with_block(value_of(index + 1) * ALIGN_BYTES);
        index += 1;
    }
    classes
}

/// Every class, by rising block size.
pub(crate) static CLASSES: [SizeClass; CLASS_COUNT] = generate();

/// The class index for a request of at most [`MEDIUM_BYTES`]; 0 bytes take the smallest block.
pub(crate) const fn class_of(bytes: usize) -> usize {
    let units = bytes.div_ceil(ALIGN_BYTES);
    if units == 0 { 0 } else { ceil_step(units) - 1 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_request_gets_the_smallest_class_that_holds_it() {
        for bytes in 0..=MEDIUM_BYTES {
            let class = class_of(bytes);
            assert!(CLASSES[class].block_bytes >= bytes, "{bytes}");
            assert!(class == 0 || CLASSES[class - 1].block_bytes < bytes, "{bytes}");
        }
    }

    #[test]
    fn rounding_wastes_less_than_an_eighth_or_a_cache_line() {
        for bytes in 1..=MEDIUM_BYTES {
            let waste = CLASSES[class_of(bytes)].block_bytes - bytes;
            assert!(waste < ALIGN_BYTES || waste * 8 < bytes, "{bytes} wastes {waste}");
        }
    }

    #[test]
    fn superblocks_hold_two_blocks_and_waste_little() {
        for class in &CLASSES {
            let tail = class.superblock_bytes() - class.blocks * class.block_bytes;
            assert_eq!(class.block_bytes % ALIGN_BYTES, 0);
            assert!(tail < class.block_bytes && tail * 8 <= class.superblock_bytes(), "{class:?}");
            assert!((2..=MAX_BLOCKS).contains(&class.blocks), "{class:?}");
            assert!(class.slots <= 3, "{class:?}");
        }
        assert_eq!(CLASSES[CLASS_COUNT - 1].block_bytes, MEDIUM_BYTES);
    }
}
