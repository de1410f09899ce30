//! What the arena leases for a request: for those that keep released leases to use them again.

use crate::arena::charged_bytes;
use crate::geometry::MEDIUM_BYTES;
use crate::size_class::{CLASS_COUNT, class_of};

/// The block of memory that a lease of so many bytes takes. Two requests of the same block can have each other's
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    bytes: usize,
    class: Option<u16>,
}

impl Block {
    /// Number of size classes; those of [`Self::class`] are below it.
    pub const CLASSES: usize = CLASS_COUNT;

    /// The block of a lease of `bytes` bytes.
    pub fn of(bytes: usize) -> Self {
        let class = (bytes <= MEDIUM_BYTES).then(|| class_of(bytes) as u16);
        Self { bytes: charged_bytes(bytes), class }
    }

    /// Its length, which is what the lease counts against the arena's limit.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Its size class; `None` for a large lease, whose block is a multiple of 4 KiB.
    pub fn class(self) -> Option<usize> {
        self.class.map(usize::from)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_a_lease_counts() {
        let arena = crate::Arena::host(1 << 30);
        for bytes in [0, 1, 64, 65, 5_000, 122_880, 122_881, 131_072, 1 << 20] {
            let lease = arena.lease(bytes).expect("memory");
            assert_eq!(Block::of(bytes).bytes(), arena.leased_bytes(), "{bytes}");
            assert_eq!(Block::of(bytes).class().is_some(), bytes <= MEDIUM_BYTES, "{bytes}");
            drop(lease);
        }
        assert!(Block::of(122_880).class().is_some_and(|class| class + 1 == Block::CLASSES));
        assert_eq!((Block::of(1_000), Block::of(130_000)), (Block::of(1_024), Block::of(131_072)));
    }
}
