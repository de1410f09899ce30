//! A superblock: blocks of equal size, and a bitmap of the free ones.
//!
//! Nothing is written into the memory itself: blocks carry no header, so a lease may be given to a device or a peer,
//! and a wild write into a block cannot break the arena.
//!
//! Fields change only under the lock of the bin that `owner` names. They are atomic because a release with a stale
//! address may look at a descriptor while it changes hands; it then decides under that lock.

use crate::asan;
use crate::size_class::{MAX_BLOCKS, SizeClass};
use crate::sync::{AtomicU32, AtomicU64, Relaxed};

const WORDS: usize = MAX_BLOCKS / 64;
/// `owner` of a superblock that no bin holds.
pub(crate) const NO_OWNER: u32 = u32::MAX;

/// Descriptor of the superblock that starts at one slot. It stays with the slot as long as the arena lives.
#[derive(Debug)]
pub(crate) struct Superblock {
    address: usize,
    owner: AtomicU32,
    live: AtomicU32,
    /// No word before this one has a free block.
    first_word: AtomicU32,
    /// Bit set: the block is free.
    free: [AtomicU64; WORDS],
}

impl Superblock {
    /// The descriptor of the slot at `address`, which no shard owns.
    pub(crate) fn new(address: usize) -> Self {
        Self {
            address,
            owner: AtomicU32::new(NO_OWNER),
            live: AtomicU32::new(0),
            first_word: AtomicU32::new(0),
            free: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Address of the first block.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Number of the bin that holds this superblock, or [`NO_OWNER`].
    pub(crate) fn owner(&self) -> u32 {
        self.owner.load(Relaxed)
    }

    /// Blocks on lease.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Relaxed) as usize
    }

    /// Hands the superblock to bin `owner` with every block of `class` free.
    pub(crate) fn open(&self, owner: u32, class: &SizeClass) {
        for (nth, word) in self.free.iter().enumerate() {
            let blocks = class.blocks.saturating_sub(nth * 64).min(64);
            word.store(if blocks == 64 { u64::MAX } else { (1 << blocks) - 1 }, Relaxed);
        }
        self.live.store(0, Relaxed);
        self.first_word.store(0, Relaxed);
        self.owner.store(owner, Relaxed);
    }

    /// Takes it from its bin. Every block must be free.
    pub(crate) fn close(&self) {
        debug_assert_eq!(self.live(), 0);
        self.owner.store(NO_OWNER, Relaxed);
    }

    /// Leases the free block with the lowest address; `None` when all are on lease.
    pub(crate) fn lease(&self, class: &SizeClass) -> Option<usize> {
        let first = self.first_word.load(Relaxed) as usize;
        for (nth, word) in self.free.iter().enumerate().skip(first) {
            let bits = word.load(Relaxed);
            if bits != 0 {
                word.store(bits & (bits - 1), Relaxed);
                self.first_word.store(nth as u32, Relaxed);
                self.live.store(self.live.load(Relaxed) + 1, Relaxed);
                return Some(self.address + (nth * 64 + bits.trailing_zeros() as usize) * class.block_bytes);
            }
        }
        None
    }

    /// Frees the block that starts at `address`; false, and no change, when no live block starts there.
    pub(crate) fn release(&self, class: &SizeClass, address: usize) -> bool {
        let Some(offset) = address.checked_sub(self.address) else {
            return false;
        };
        let block = offset / class.block_bytes;
        if block >= class.blocks || block * class.block_bytes != offset {
            return false;
        }
        let bits = self.free[block / 64].load(Relaxed);
        if bits & (1 << (block % 64)) != 0 {
            return false;
        }
        // Before the bin is unlocked: after that the block may be on lease again.
        asan::poison(address, class.block_bytes);
        self.free[block / 64].store(bits | (1 << (block % 64)), Relaxed);
        let first = self.first_word.load(Relaxed).min((block / 64) as u32);
        self.first_word.store(first, Relaxed);
        self.live.store(self.live.load(Relaxed) - 1, Relaxed);
        true
    }

    /// Checks the bitmap against the number of live blocks.
    pub(crate) fn check(&self, class: &SizeClass) -> Result<(), String> {
        let words: Vec<u64> = self.free.iter().map(|word| word.load(Relaxed)).collect();
        let free: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        let last = words.iter().rposition(|&word| word != 0).map(|nth| nth * 64 + words[nth].ilog2() as usize);
        let first = words.iter().position(|&word| word != 0).unwrap_or(WORDS);
        let at = self.address;
        if free + self.live() != class.blocks {
            return Err(format!("superblock {at:#x}: {free} free + {} live is not {}", self.live(), class.blocks));
        }
        if last.is_some_and(|block| block >= class.blocks) {
            return Err(format!("superblock {at:#x}: block {last:?} of {} is free", class.blocks));
        }
        if (self.first_word.load(Relaxed) as usize) > first {
            return Err(format!("superblock {at:#x}: a free block lies before the first word"));
        }
        Ok(())
    }
}

// Its addresses are made up, and AddressSanitizer would be told of them.
#[cfg(all(test, not(loom), not(sluice_asan)))]
mod tests {
    use super::*;
    use crate::size_class::CLASSES;

    const AT: usize = 64 << 20;

    #[test]
    fn leases_every_block_once_in_address_order() {
        for class in &CLASSES {
            let superblock = Superblock::new(AT);
            superblock.open(7, class);
            for nth in 0..class.blocks {
                assert_eq!(superblock.lease(class), Some(AT + nth * class.block_bytes));
            }
            assert_eq!(superblock.lease(class), None);
            superblock.check(class).expect("full");
            assert!((0..class.blocks).rev().all(|nth| superblock.release(class, AT + nth * class.block_bytes)));
            superblock.check(class).expect("empty");
            assert_eq!(superblock.live(), 0);
        }
    }

    #[test]
    fn refuses_what_is_not_a_live_block() {
        let class = &CLASSES[20];
        let superblock = Superblock::new(AT);
        superblock.open(1, class);
        let block = superblock.lease(class).expect("a free block");
        let beyond = AT + class.blocks * class.block_bytes;
        for address in [0, AT - 64, block + 1, block + 64, block + class.block_bytes, beyond, usize::MAX] {
            assert!(!superblock.release(class, address), "{address:#x}");
        }
        assert!(superblock.release(class, block));
        assert!(!superblock.release(class, block), "twice");
        superblock.check(class).expect("unchanged");
    }
}
