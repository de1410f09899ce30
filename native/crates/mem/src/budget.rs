//! The hard limit on leased bytes.
//!
//! ```text
//! charged = bytes on lease + unused quota of every shard <= limit
//! ```
//!
//! Every thread would change `charged` at every lease and release. So each shard holds a quota, a part of the limit
//! that is charged in advance: a small lease takes from it, a small release adds to it, and only when it runs out or
//! grows too large does the thread change `charged`.
//!
//! Unused quota must never cause a refusal. So before the budget refuses, it takes every shard's quota back and
//! switches quotas off: all threads then change `charged` themselves. It switches them on again when the limit is so
//! far away that all shards could hold a full quota.
//!
//! Relaxed order is enough: the numbers guard no other memory, and a read-modify-write always sees the latest one.

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Relaxed, lock, try_lock};

/// The most unused quota of a shard.
pub(crate) const QUOTA_BYTES: usize = 512 << 10;
/// The largest charge that is taken from quota. A larger one would nearly always have to fetch quota too, which costs
/// more than it saves.
const MAX_BYTES_FROM_QUOTA: usize = 128 << 10;

/// Keeps what threads write often on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CacheLine<T>(T);

/// Bytes on lease and how many there may be. Exact except for calls that are under way.
#[derive(Debug)]
pub(crate) struct Budget {
    charged: CacheLine<AtomicUsize>,
    quotas: Box<[CacheLine<AtomicUsize>]>,
    quotas_on: CacheLine<AtomicBool>,
    limit: AtomicUsize,
    peak: AtomicUsize,
    refusals: AtomicU64,
    /// Held while bytes move between `charged` and a quota, so that a thread that is about to refuse a lease finds them
    /// in one or the other; and to switch quotas on or off.
    moving: Mutex<()>,
}

impl Budget {
    /// A budget with a quota for each of `shards` shards (at least 1).
    pub(crate) fn new(limit: usize, shards: usize) -> Self {
        let budget = Self {
            charged: CacheLine::default(),
            quotas: (0..shards.max(1)).map(|_| CacheLine::default()).collect(),
            quotas_on: CacheLine::default(),
            limit: AtomicUsize::new(limit),
            peak: AtomicUsize::new(0),
            refusals: AtomicU64::new(0),
            moving: Mutex::new(()),
        };
        budget.quotas_on.0.store(budget.is_far_from_limit(), Relaxed);
        budget
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        let _moving = lock(&self.moving);
        self.quotas_on.0.store(false, Relaxed);
        self.limit.store(bytes, Relaxed);
        self.take_quotas_back();
        self.quotas_on.0.store(self.is_far_from_limit(), Relaxed);
    }

    /// Bytes on lease; while other threads lease and release, an approximation.
    pub(crate) fn leased(&self) -> usize {
        let unused: usize = self.quotas.iter().map(|quota| quota.0.load(Relaxed)).sum();
        self.charged().saturating_sub(unused)
    }

    /// Bytes on lease and unused quota together: never less than is on lease, whatever other threads do.
    pub(crate) fn charged(&self) -> usize {
        self.charged.0.load(Relaxed)
    }

    /// The most bytes ever charged at once: what was leased at most, or up to [`QUOTA_BYTES`] per shard more.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// How often [`Self::charge`] refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Charges `bytes` before a thread of `shard` leases them; false, and no change, when the limit refuses.
    pub(crate) fn charge(&self, shard: usize, bytes: usize) -> bool {
        if bytes <= MAX_BYTES_FROM_QUOTA && self.quotas_on.0.load(Relaxed) {
            let quota = &self.quotas[shard].0;
            if quota.fetch_update(Relaxed, Relaxed, |unused| unused.checked_sub(bytes)).is_ok() {
                return true;
            }
            if self.charge_and_fetch_quota(quota, bytes) {
                return true;
            }
        }
        self.charge_shared(bytes) || self.charge_without_quotas(bytes)
    }

    /// Takes `bytes` off after a thread of `shard` released them, or when charged bytes could not be leased.
    pub(crate) fn refund(&self, shard: usize, bytes: usize) {
        let quotas_on = self.quotas_on.0.load(Relaxed);
        if quotas_on && bytes <= MAX_BYTES_FROM_QUOTA {
            return self.add_to_quota(shard, bytes);
        }
        self.charged.0.fetch_sub(bytes, Relaxed);
        if !quotas_on {
            self.switch_quotas_on();
        }
    }

    /// Adds to the quota; when it becomes too large, half of the most stays.
    fn add_to_quota(&self, shard: usize, bytes: usize) {
        let quota = &self.quotas[shard].0;
        if quota.fetch_add(bytes, Relaxed) + bytes <= QUOTA_BYTES {
            return;
        }
        // When another thread has the lock, the quota stays too large until the next release.
        if let Some(_moving) = try_lock(&self.moving) {
            let halved = |unused: usize| (unused > QUOTA_BYTES).then_some(QUOTA_BYTES / 2);
            if let Ok(unused) = quota.fetch_update(Relaxed, Relaxed, halved) {
                self.charged.0.fetch_sub(unused - QUOTA_BYTES / 2, Relaxed);
            }
        }
    }

    /// Charges `bytes` and half a quota; false, and no change, when the limit refuses or another thread has the lock.
    fn charge_and_fetch_quota(&self, quota: &AtomicUsize, bytes: usize) -> bool {
        let Some(_moving) = try_lock(&self.moving) else {
            return false;
        };
        let charged = self.quotas_on.0.load(Relaxed) && self.charge_shared(bytes + QUOTA_BYTES / 2);
        if charged {
            quota.fetch_add(QUOTA_BYTES / 2, Relaxed);
        }
        charged
    }

    fn charge_shared(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let within = |charged: usize| charged.checked_add(bytes).filter(|&sum| sum <= limit);
        let Ok(before) = self.charged.0.fetch_update(Relaxed, Relaxed, within) else {
            return false;
        };
        if before + bytes > self.peak() {
            self.peak.fetch_max(before + bytes, Relaxed);
        }
        true
    }

    /// Charges after all quotas were taken back.
    #[cold]
    fn charge_without_quotas(&self, bytes: usize) -> bool {
        let _moving = lock(&self.moving);
        self.quotas_on.0.store(false, Relaxed);
        // A thread that read `quotas_on` a moment ago may still release into a quota: repeat until all are empty.
        loop {
            let taken_back = self.take_quotas_back();
            if self.charge_shared(bytes) {
                return true;
            }
            if taken_back == 0 {
                self.refusals.fetch_add(1, Relaxed);
                return false;
            }
        }
    }

    /// Empties every quota: how many bytes there were.
    fn take_quotas_back(&self) -> usize {
        let unused = self.quotas.iter().map(|quota| quota.0.swap(0, Relaxed)).sum();
        self.charged.0.fetch_sub(unused, Relaxed);
        unused
    }

    /// Switches quotas on if the limit is far away.
    fn switch_quotas_on(&self) {
        if self.is_far_from_limit() {
            let _moving = lock(&self.moving);
            self.quotas_on.0.store(self.is_far_from_limit(), Relaxed);
        }
    }

    /// Whether all shards could have a full quota and twice as much would still be left.
    fn is_far_from_limit(&self) -> bool {
        let margin = self.quotas.len() * QUOTA_BYTES * 2;
        self.charged().checked_add(margin).is_some_and(|sum| sum <= self.limit())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    #[test]
    fn the_limit_is_exact() {
        let budget = Budget::new(100, 4);
        assert!(budget.charge(0, 60) && budget.charge(0, 40));
        assert!(!budget.charge(0, 1));
        budget.refund(0, 60);
        assert!(!budget.charge(0, usize::MAX), "no overflow");
        assert!(budget.charge(0, 60));
        assert_eq!((budget.leased(), budget.peak(), budget.refusals()), (100, 100, 2));
    }

    #[test]
    fn a_limit_below_what_is_leased_refuses_until_enough_came_back() {
        let budget = Budget::new(100, 4);
        assert!(budget.charge(0, 80));
        budget.set_limit(50);
        assert!(!budget.charge(0, 0), "even an empty lease");
        budget.refund(0, 40);
        assert!(budget.charge(0, 10));
        assert!(!budget.charge(0, 1));
    }

    #[test]
    fn small_charges_come_from_the_quota_which_counts_as_free() {
        let budget = Budget::new(100_000 * KIB, 4);
        assert!(budget.charge(0, 100 * KIB));
        assert_eq!((budget.leased(), budget.charged()), (100 * KIB, 356 * KIB));
        assert!((0..2).all(|_| budget.charge(0, 128 * KIB)), "from the quota");
        assert_eq!((budget.leased(), budget.charged()), (356 * KIB, 356 * KIB));
        (0..2).for_each(|_| budget.refund(0, 128 * KIB));
        assert_eq!((budget.leased(), budget.charged()), (100 * KIB, 356 * KIB));
        assert!(budget.charge(0, 129 * KIB));
        assert_eq!(budget.charged(), 485 * KIB, "not from the quota");
        (0..20).for_each(|_| assert!(budget.charge(0, 100 * KIB)));
        (0..21).for_each(|_| budget.refund(0, 100 * KIB));
        budget.refund(0, 129 * KIB);
        assert_eq!(budget.leased(), 0);
        assert!(budget.charged() <= QUOTA_BYTES);
    }

    #[test]
    fn nothing_is_refused_because_other_shards_hold_quota() {
        let budget = Budget::new(64_000 * KIB, 8);
        (0..8).for_each(|shard| assert!(budget.charge(shard, 1)));
        (0..8).for_each(|shard| budget.refund(shard, 1));
        assert!(budget.leased() == 0 && budget.charged() > 500 * KIB, "otherwise this test shows nothing");
        assert!(budget.charge(0, 64_000 * KIB));
        assert!(!budget.charge(0, 1));
        budget.refund(0, 64_000 * KIB);
        assert!(budget.charge(0, 1) && budget.charged() > 1, "quotas are on again");
    }

    #[test]
    fn a_lowered_limit_holds_for_quotas_too() {
        let budget = Budget::new(100_000 * KIB, 1);
        assert!(budget.charge(0, KIB));
        budget.set_limit(KIB);
        assert!(!budget.charge(0, 1));
        budget.set_limit(100_000 * KIB);
        assert!(budget.charge(0, 1));
    }
}
