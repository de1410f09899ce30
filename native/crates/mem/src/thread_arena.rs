//! Thread arenas: small and medium leases, cut from superblocks.
//!
//! ```text
//! thread number mod shards → shard ── bin of class 0 ── open superblocks (some block free), lowest address last
//!                                  ├─ bin of class 1 …
//! ```
//!
//! A shard serves one thread as long as there are at most as many threads as shards, so its bins' locks are then free
//! except when another thread gives a block back. Full superblocks are in no list; a release finds the bin by the
//! descriptor's owner number. A shard keeps empty superblocks up to a few slots, and only the last open one of a bin;
//! the others go back to the global arena at once. Nothing belongs to a thread: when one ends, its shard's blocks are
//! released like any others, and [`crate::thread_slot`] gives the shard to the next thread.
//!
//! Lock order: bin, then (never while holding a bin on the lease path) the global arena. `freeze` takes all bins in
//! order.

use crate::geometry::SLOT_BYTES;
use crate::global::GlobalArena;
use crate::size_class::{CLASS_COUNT, CLASSES};
use crate::superblock::{NO_OWNER, Superblock};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Relaxed, lock};
use std::sync::Arc;

/// Bytes of empty superblocks that a shard may keep.
const CACHE_BYTES: usize = 8 * SLOT_BYTES;

/// The superblocks of one class in one shard.
#[derive(Debug, Default)]
pub(crate) struct Bin {
    /// Superblocks with a free block, by falling address.
    open: Vec<Arc<Superblock>>,
    /// Superblocks owned, the full ones included.
    superblocks: usize,
    leases: u64,
    releases: u64,
}

/// Keeps the locks of two bins off one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Padded(Mutex<Bin>);

#[derive(Debug)]
struct Shard {
    bins: Box<[Padded]>,
    /// Bytes of this shard's empty superblocks.
    cached: AtomicUsize,
    /// Releases of this shard's blocks by threads of other shards.
    cross_thread_releases: AtomicU64,
}

impl Shard {
    fn new() -> Self {
        let bins = (0..CLASS_COUNT).map(|_| Padded::default()).collect();
        Self { bins, cached: AtomicUsize::new(0), cross_thread_releases: AtomicU64::new(0) }
    }
}

/// Sums over all bins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BinCounts {
    pub(crate) leases: u64,
    pub(crate) releases: u64,
    pub(crate) superblock_bytes: usize,
}

/// All shards.
#[derive(Debug)]
pub(crate) struct ThreadArenas {
    shards: Box<[Shard]>,
}

impl ThreadArenas {
    /// `shards` is at least 1.
    pub(crate) fn new(shards: usize) -> Self {
        Self { shards: (0..shards.max(1)).map(|_| Shard::new()).collect() }
    }

    fn bin(&self, owner: u32) -> &Mutex<Bin> {
        let owner = owner as usize;
        &self.shards[owner / CLASS_COUNT].bins[owner % CLASS_COUNT].0
    }

    fn cached(&self, owner: u32) -> &AtomicUsize {
        &self.shards[owner as usize / CLASS_COUNT].cached
    }

    /// Leases a block of `class` from `shard`, the calling thread's own; `None` when there is no superblock to be had.
    pub(crate) fn lease(&self, shard: usize, class: usize, global: &GlobalArena) -> Option<usize> {
        let owner = (shard * CLASS_COUNT + class) as u32;
        let block = lock(self.bin(owner)).lease(class, self.cached(owner));
        block.or_else(|| self.lease_from_new(owner, class, global))
    }

    fn lease_from_new(&self, owner: u32, class: usize, global: &GlobalArena) -> Option<usize> {
        let superblock = global.take_superblock(CLASSES[class].slots)?;
        let mut bin = lock(self.bin(owner));
        superblock.open(owner, &CLASSES[class]);
        self.cached(owner).fetch_add(CLASSES[class].superblock_bytes(), Relaxed);
        bin.superblocks += 1;
        bin.insert(superblock);
        bin.lease(class, self.cached(owner))
    }

    /// Ends the lease of the block at `address`, which lies in `superblock` as far as the caller knows: its bytes, or
    /// `None` and no change when no live block starts there. `own_shard` is the releasing thread's.
    pub(crate) fn release(
        &self,
        own_shard: usize,
        superblock: &Arc<Superblock>,
        address: usize,
        global: &GlobalArena,
    ) -> Option<usize> {
        let owner = superblock.owner();
        if owner == NO_OWNER {
            return None;
        }
        let class = owner as usize % CLASS_COUNT;
        let mut bin = lock(self.bin(owner));
        // The owner changes only under its bin's lock, and while a block is on lease not at all. So for a stale address
        // it may be another one by now, for a valid one it is the same.
        if superblock.owner() != owner || !superblock.release(&CLASSES[class], address) {
            return None;
        }
        let emptied = bin.released(superblock, class, self.cached(owner));
        drop(bin);
        let shard = owner as usize / CLASS_COUNT;
        if own_shard != shard {
            self.shards[shard].cross_thread_releases.fetch_add(1, Relaxed);
        }
        if emptied {
            global.return_superblock(superblock, CLASSES[class].slots);
        }
        Some(CLASSES[class].block_bytes)
    }

    /// Returns every empty superblock to the global arena.
    pub(crate) fn reclaim(&self, global: &GlobalArena) {
        for owner in 0..(self.shards.len() * CLASS_COUNT) as u32 {
            let class = &CLASSES[owner as usize % CLASS_COUNT];
            let empty = lock(self.bin(owner)).take_empty();
            for superblock in empty {
                self.cached(owner).fetch_sub(class.superblock_bytes(), Relaxed);
                global.return_superblock(&superblock, class.slots);
            }
        }
    }

    /// Locks every bin, in owner order.
    pub(crate) fn freeze(&self) -> Vec<MutexGuard<'_, Bin>> {
        self.shards.iter().flat_map(|shard| &shard.bins).map(|bin| lock(&bin.0)).collect()
    }

    /// The sums over all bins, locked one after another.
    pub(crate) fn counts(&self) -> BinCounts {
        let mut counts = BinCounts::default();
        for shard in &self.shards {
            for (bin, class) in shard.bins.iter().zip(&CLASSES) {
                let bin = lock(&bin.0);
                counts.leases += bin.leases;
                counts.releases += bin.releases;
                counts.superblock_bytes += bin.superblocks * class.superblock_bytes();
            }
        }
        counts
    }

    /// Releases by threads of other shards than the block's.
    pub(crate) fn cross_thread_releases(&self) -> u64 {
        self.shards.iter().map(|shard| shard.cross_thread_releases.load(Relaxed)).sum()
    }

    /// Bytes of empty superblocks that the shards keep.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.cached.load(Relaxed)).sum()
    }
}

impl Bin {
    /// Leases the open block with the lowest address.
    fn lease(&mut self, class: usize, cached: &AtomicUsize) -> Option<usize> {
        let superblock = self.open.last()?;
        if superblock.live() == 0 {
            cached.fetch_sub(CLASSES[class].superblock_bytes(), Relaxed);
        }
        let address = superblock.lease(&CLASSES[class])?;
        if superblock.live() == CLASSES[class].blocks {
            self.open.pop();
        }
        self.leases += 1;
        Some(address)
    }

    /// Counts a block's release; true when the superblock became empty and left the bin.
    fn released(&mut self, superblock: &Arc<Superblock>, class: usize, cached: &AtomicUsize) -> bool {
        self.releases += 1;
        let live = superblock.live();
        if live + 1 == CLASSES[class].blocks {
            self.insert(Arc::clone(superblock));
        }
        if live > 0 {
            return false;
        }
        let bytes = CLASSES[class].superblock_bytes();
        let keep = |kept: usize| (kept + bytes <= CACHE_BYTES).then_some(kept + bytes);
        if self.open.len() == 1 && cached.fetch_update(Relaxed, Relaxed, keep).is_ok() {
            return false;
        }
        self.remove(superblock);
        true
    }

    fn insert(&mut self, superblock: Arc<Superblock>) {
        let at = self.position(&superblock);
        self.open.insert(at, superblock);
    }

    /// Gives up an empty superblock.
    fn remove(&mut self, superblock: &Arc<Superblock>) {
        let at = self.position(superblock);
        self.open.remove(at);
        self.superblocks -= 1;
        superblock.close();
    }

    fn position(&self, superblock: &Superblock) -> usize {
        self.open.partition_point(|other| other.address() > superblock.address())
    }

    /// Whether the open list holds this superblock.
    pub(crate) fn has_open(&self, superblock: &Superblock) -> bool {
        self.open.get(self.position(superblock)).is_some_and(|found| found.address() == superblock.address())
    }

    /// Compares the bin with what was found: superblocks, the open ones among them, and live blocks.
    pub(crate) fn check(&self, superblocks: usize, open: usize, live: usize) -> Result<(), String> {
        let live_blocks = (self.leases - self.releases) as usize;
        if (self.superblocks, self.open.len(), live_blocks) != (superblocks, open, live) {
            return Err(format!(
                "{superblocks} superblocks, {open} open, {live} live blocks; counted {}, {}, {live_blocks}",
                self.superblocks,
                self.open.len()
            ));
        }
        if !self.open.is_sorted_by(|left, right| left.address() > right.address()) {
            return Err("open superblocks are not ordered by address".to_owned());
        }
        Ok(())
    }

    /// Gives up every empty superblock.
    fn take_empty(&mut self) -> Vec<Arc<Superblock>> {
        let empty: Vec<_> = self.open.iter().filter(|superblock| superblock.live() == 0).cloned().collect();
        empty.iter().for_each(|superblock| self.remove(superblock));
        empty
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::geometry::SEGMENT_BYTES;
    use crate::global::GlobalOptions;
    use crate::host::HostProvider;
    use crate::size_class::class_of;

    const BLOCK: usize = 64 << 10;

    fn arenas() -> (ThreadArenas, GlobalArena) {
        let provider = Arc::new(HostProvider { huge_pages: false });
        let options =
            GlobalOptions { region_bytes: SEGMENT_BYTES, slack_bytes: 0, sub_arenas: 1, purge_interval: None };
        (ThreadArenas::new(1), GlobalArena::new(provider, options))
    }

    fn lease(threads: &ThreadArenas, global: &GlobalArena, bytes: usize) -> usize {
        threads.lease(0, class_of(bytes), global).expect("memory")
    }

    fn release(threads: &ThreadArenas, global: &GlobalArena, address: usize) -> Option<usize> {
        global.segments().superblock_at(address).and_then(|superblock| threads.release(0, superblock, address, global))
    }

    #[test]
    fn a_bin_keeps_one_empty_superblock_and_returns_the_others() {
        let (threads, global) = arenas();
        let blocks: Vec<usize> = (0..9).map(|_| lease(&threads, &global, BLOCK)).collect();
        let held = |threads: &ThreadArenas| threads.counts().superblock_bytes;
        assert_eq!(held(&threads), 3 * SLOT_BYTES);
        for block in blocks {
            assert_eq!(release(&threads, &global, block), Some(BLOCK));
        }
        assert_eq!((held(&threads), threads.cached_bytes()), (SLOT_BYTES, SLOT_BYTES));
        lease(&threads, &global, BLOCK);
        assert_eq!((held(&threads), threads.cached_bytes()), (SLOT_BYTES, 0), "the kept one is used");
    }

    #[test]
    fn a_shard_keeps_no_more_than_its_cache() {
        let (threads, global) = arenas();
        let blocks: Vec<usize> = (0..20).map(|nth| lease(&threads, &global, 64 << (nth / 2))).collect();
        let blocks = blocks.into_iter().chain((1..15).map(|nth| lease(&threads, &global, nth * 8_000)));
        let blocks: Vec<usize> = blocks.collect();
        for block in blocks {
            assert!(release(&threads, &global, block).is_some());
        }
        assert!((CACHE_BYTES / 2..=CACHE_BYTES).contains(&threads.cached_bytes()), "{}", threads.cached_bytes());
        threads.reclaim(&global);
        assert_eq!((threads.cached_bytes(), global.reserved_bytes()), (0, 0));
    }

    #[test]
    fn a_stale_descriptor_frees_nothing() {
        let (threads, global) = arenas();
        let block = lease(&threads, &global, BLOCK);
        let superblock = Arc::clone(global.segments().superblock_at(block).expect("a superblock"));
        assert!(threads.release(0, &superblock, block, &global).is_some());
        threads.reclaim(&global);
        assert_eq!(superblock.owner(), NO_OWNER);
        assert_eq!(threads.release(0, &superblock, block, &global), None);
    }
}
