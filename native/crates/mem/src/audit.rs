//! The invariant checker of a whole arena.
//!
//! It stops every bin and the global arena, in lock order, walks all regions and compares what it finds with the books:
//!
//! - the global arena's own invariants ([`crate::global`]);
//! - every superblock extent has its marks, and a descriptor that is owned by one bin (or by none, on its way);
//! - a bin's open list holds exactly its superblocks with a free block, by falling address;
//! - blocks found on lease = leases - releases of the bins; likewise for large leases;
//! - what is booked against the limit covers everything found (it is more only while calls are under way).

use crate::budget::Budget;
use crate::frame::{FrameTable, GRANULE_BYTES, SLOT_BYTES};
use crate::global::GlobalArena;
use crate::size_class::{CLASS_COUNT, CLASSES};
use crate::superblock::{NO_OWNER, Superblock};
use crate::thread_arena::{Bin, ThreadArenas};
use std::sync::MutexGuard;

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
struct Tally {
    superblocks: usize,
    open: usize,
    live: usize,
}

/// Checks everything; see the module.
pub(crate) fn audit(budget: &Budget, threads: &ThreadArenas, global: &GlobalArena) -> Result<Found, String> {
    let bins = threads.freeze();
    let ground = global.freeze();
    let mut tallies = vec![Tally::default(); bins.len()];
    let books = ground.check(global.frames(), &mut |address, slots| {
        check_superblock(global.frames(), &bins, &mut tallies, address, slots)
    })?;
    let large = books.large_leases - books.large_releases;
    let mut found = Found { leases: large, bytes: books.large_bytes };
    for (owner, (bin, tally)) in bins.iter().zip(&tallies).enumerate() {
        bin.check(tally.superblocks, tally.open, tally.live).map_err(|error| format!("bin {owner}: {error}"))?;
        found.leases += tally.live as u64;
        found.bytes += tally.live * CLASSES[owner % CLASS_COUNT].block_bytes;
    }
    if budget.taken() < found.bytes {
        return Err(format!("{} bytes are on lease, only {} are booked", found.bytes, budget.taken()));
    }
    Ok(found)
}

fn check_superblock(
    frames: &FrameTable,
    bins: &[MutexGuard<'_, Bin>],
    tallies: &mut [Tally],
    address: usize,
    slots: usize,
) -> Result<(), String> {
    for nth in 0..slots {
        if usize::from(frames.mark(address + nth * SLOT_BYTES)) != nth + 1 {
            return Err(format!("slot {nth} of superblock {address:#x} has a wrong mark"));
        }
    }
    debug_assert!(address.is_multiple_of(GRANULE_BYTES));
    let Some(superblock) = frames.superblock_at(address).filter(|found| found.owner() != NO_OWNER) else {
        return Ok(());
    };
    let owner = superblock.owner() as usize;
    let (Some(bin), Some(tally)) = (bins.get(owner), tallies.get_mut(owner)) else {
        return Err(format!("superblock {address:#x} is owned by {owner}, which is no bin"));
    };
    let class = &CLASSES[owner % CLASS_COUNT];
    superblock.check(class)?;
    let open = superblock.live() < class.blocks;
    if class.slots != slots || bin.has_open(superblock) != open {
        return Err(format!("superblock {address:#x}: {slots} slots, open: {open}; bin {owner} disagrees"));
    }
    add(tally, superblock, open);
    Ok(())
}

fn add(tally: &mut Tally, superblock: &Superblock, open: bool) {
    tally.superblocks += 1;
    tally.open += usize::from(open);
    tally.live += superblock.live();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Tag;
    use crate::host::HostProvider;
    use crate::nearby::Nearby;
    use crate::provider::REGION_UNIT_BYTES;
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
            let global = GlobalArena::new(provider, REGION_UNIT_BYTES, 0, 1);
            let (threads, budget) = (ThreadArenas::new(1), Budget::new(1 << 30, 1));
            assert!(budget.charge((1 << 20) + 128));
            let large = global.lease_large(1 << 20).expect("memory");
            let small = threads.lease(class_of(128), &global).expect("memory");
            Self { budget, threads, global, large, small }
        }

        fn audit(&self) -> Result<Found, String> {
            audit(&self.budget, &self.threads, &self.global)
        }

        /// Sets a tag behind the arena's back and tells what the audit says, then puts the old one back.
        fn with_tag(&self, address: usize, tag: Tag) -> String {
            let (frames, granule) = (Nearby::new(self.global.frames()), address / GRANULE_BYTES);
            let before = frames.tag(granule);
            frames.set_tag(granule, tag);
            let error = self.audit().expect_err("the audit must see it");
            frames.set_tag(granule, before);
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
        let frames = parts.global.frames();
        let superblock = Arc::clone(frames.superblock_at(parts.small).expect("a superblock"));
        let class = &CLASSES[class_of(128)];
        Nearby::new(frames).mark_slots(superblock.address(), 1, false);
        assert!(parts.audit().expect_err("mark").contains("wrong mark"));
        Nearby::new(frames).mark_slots(superblock.address(), 1, true);
        assert!(superblock.release(class, parts.small));
        assert!(parts.audit().expect_err("live").contains("live blocks"));
        assert_eq!(superblock.lease(class), Some(parts.small));
        parts.budget.set_limit(0);
        parts.budget.refund(128);
        assert!(parts.audit().expect_err("budget").contains("are booked"));
    }
}
