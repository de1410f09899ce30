//! The invariant checker of a whole arena.
//!
//! It stops every bin and the global arena, in lock order, walks all regions and compares what it finds with what they
//! say:
//!
//! - the global arena's own invariants ([`crate::global`]);
//! - every superblock extent has its marks, and a descriptor that is owned by one bin (or by none, on its way);
//! - a bin's open list holds exactly its superblocks with a free block, by falling address;
//! - blocks found on lease = leases - releases of the bins; likewise for large leases;
//! - what is charged to the limit covers everything found (it is more by unused quota and calls under way).

use crate::budget::Budget;
use crate::geometry::{GRANULE_BYTES, SLOT_BYTES};
use crate::global::GlobalArena;
use crate::segment::SegmentTable;
use crate::size_class::{CLASS_COUNT, CLASSES};
use crate::superblock::{NO_OWNER, Superblock};
use crate::sync::MutexGuard;
use crate::thread_arena::{Bin, ThreadArenas};

/// What an audit found on lease.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Live leases.
    pub(crate) leases: u64,
    /// Their bytes, rounding included.
    pub(crate) bytes: usize,
}

/// Superblocks found for one bin.
#[derive(Debug, Default, Clone, Copy)]
struct SuperblockCounts {
    superblocks: usize,
    open: usize,
    live: usize,
}

/// Checks everything; see the module.
pub(crate) fn audit(budget: &Budget, threads: &ThreadArenas, global: &GlobalArena) -> Result<Found, String> {
    let bins = threads.freeze();
    let sub_arenas = global.freeze();
    let mut found_in_bins = vec![SuperblockCounts::default(); bins.len()];
    let global_counts = sub_arenas.check(global.segments(), &mut |address, slots| {
        check_superblock(global.segments(), &bins, &mut found_in_bins, address, slots)
    })?;
    let large = global_counts.large_leases - global_counts.large_releases;
    let mut found = Found { leases: large, bytes: global_counts.large_bytes };
    for (owner, (bin, counts)) in bins.iter().zip(&found_in_bins).enumerate() {
        bin.check(counts.superblocks, counts.open, counts.live).map_err(|error| format!("bin {owner}: {error}"))?;
        found.leases += counts.live as u64;
        found.bytes += counts.live * CLASSES[owner % CLASS_COUNT].block_bytes;
    }
    if budget.charged() < found.bytes {
        return Err(format!("{} bytes are on lease, only {} are charged", found.bytes, budget.charged()));
    }
    Ok(found)
}

fn check_superblock(
    segments: &SegmentTable,
    bins: &[MutexGuard<'_, Bin>],
    found_in_bins: &mut [SuperblockCounts],
    address: usize,
    slots: usize,
) -> Result<(), String> {
    for nth in 0..slots {
        if usize::from(segments.mark(address + nth * SLOT_BYTES)) != nth + 1 {
            return Err(format!("slot {nth} of superblock {address:#x} has a wrong mark"));
        }
    }
    debug_assert!(address.is_multiple_of(GRANULE_BYTES));
    let Some(superblock) = segments.superblock_at(address).filter(|found| found.owner() != NO_OWNER) else {
        return Ok(());
    };
    let owner = superblock.owner() as usize;
    let (Some(bin), Some(counts)) = (bins.get(owner), found_in_bins.get_mut(owner)) else {
        return Err(format!("superblock {address:#x} is owned by {owner}, which is no bin"));
    };
    let class = &CLASSES[owner % CLASS_COUNT];
    superblock.check(class)?;
    let open = superblock.live() < class.blocks;
    if class.slots != slots || bin.has_open(superblock) != open {
        return Err(format!("superblock {address:#x}: {slots} slots, open: {open}; bin {owner} disagrees"));
    }
    add(counts, superblock, open);
    Ok(())
}

fn add(counts: &mut SuperblockCounts, superblock: &Superblock, open: bool) {
    counts.superblocks += 1;
    counts.open += usize::from(open);
    counts.live += superblock.live();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::geometry::SEGMENT_BYTES;
    use crate::global::GlobalOptions;
    use crate::host::HostProvider;
    use crate::segment::Tag;
    use crate::segment_lookup::SegmentLookup;
    use crate::size_class::class_of;
    use std::sync::Arc;

    /// An arena in parts: a large lease, a small one, and free memory.
    struct Parts {
        budget: Budget,
        threads: ThreadArenas,
        global: GlobalArena,
        large: usize,
        small: usize,
    }

    impl Parts {
        fn new() -> Self {
            let provider = Arc::new(HostProvider { huge_pages: false });
            let options =
                GlobalOptions { region_bytes: SEGMENT_BYTES, slack_bytes: 0, sub_arenas: 1, purge_interval: None };
            let global = GlobalArena::new(provider, options);
            let (threads, budget) = (ThreadArenas::new(1), Budget::new(1 << 30, 1));
            assert!(budget.charge(0, (1 << 20) + 128));
            let large = global.lease_large(1 << 20).expect("memory");
            let small = threads.lease(0, class_of(128), &global).expect("memory");
            Self { budget, threads, global, large, small }
        }

        fn audit(&self) -> Result<Found, String> {
            audit(&self.budget, &self.threads, &self.global)
        }

        /// Sets a tag behind the arena's back and tells what the audit says, then puts the old one back.
        fn with_tag(&self, address: usize, tag: Tag) -> String {
            let (segments, granule) = (SegmentLookup::new(self.global.segments()), address / GRANULE_BYTES);
            let before = segments.tag(granule);
            segments.set_tag(granule, tag);
            let error = self.audit().expect_err("the audit must see it");
            segments.set_tag(granule, before);
            error
        }
    }

    #[test]
    fn finds_what_is_on_lease() {
        let found = Parts::new().audit().expect("sound");
        assert_eq!(found, Found { leases: 2, bytes: (1 << 20) + 128 });
    }

    #[test]
    fn sees_broken_tags() {
        let parts = Parts::new();
        let large = parts.large;
        assert!(parts.with_tag(large, Tag::Inside).contains("starts no extent"));
        assert!(parts.with_tag(large, Tag::Large(255)).contains("starts no extent"));
        assert!(parts.with_tag(large, Tag::Large(0)).contains("leaves its region"));
        assert!(parts.with_tag(large, Tag::Large(1 << 20)).contains("leaves its region"));
        assert!(parts.with_tag(large, Tag::Free(256)).contains("is tagged"));
        assert!(parts.with_tag(large + 4096, Tag::FreeEnd(2)).contains("is tagged"));
        assert!(parts.with_tag(large + (1 << 20), Tag::Large(64)).contains("bin"));
        parts.audit().expect("everything was put back");
    }

    #[test]
    fn sees_broken_superblocks_and_budgets() {
        let parts = Parts::new();
        let segments = parts.global.segments();
        let superblock = Arc::clone(segments.superblock_at(parts.small).expect("a superblock"));
        let class = &CLASSES[class_of(128)];
        SegmentLookup::new(segments).mark_slots(superblock.address(), 1, false);
        assert!(parts.audit().expect_err("mark").contains("wrong mark"));
        SegmentLookup::new(segments).mark_slots(superblock.address(), 1, true);
        assert!(superblock.release(class, parts.small));
        assert!(parts.audit().expect_err("live").contains("live blocks"));
        assert_eq!(superblock.lease(class), Some(parts.small));
        parts.budget.set_limit(0);
        parts.budget.refund(0, 128);
        assert!(parts.audit().expect_err("budget").contains("are charged"));
    }
}
