//! The hard limit on leased bytes.
//!
//! ```text
//! taken = bytes on lease + credit of every shard <= limit
//! ```
//!
//! All threads meet at `taken`, so a shard keeps a little credit beside it: a lease spends it and a release earns it, and only
//! what goes beyond moves between the two. Credit must not make a refusal: before one, the budget turns tight, which takes
//! all credit back and has every thread charge `taken` itself. It turns roomy again when the limit is further away than all
//! credit there can be.
//!
//! Relaxed order is enough: the numbers guard no other memory, and a read-modify-write always sees the latest one.

use crate::lock::lock;
use crate::thread_slot;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The most credit of a shard.
const CREDIT_BYTES: usize = 512 << 10;
/// The largest charge that credit pays. A larger one would nearly always move credit too, which costs more than it spares.
const MOST_BY_CREDIT: usize = 128 << 10;

/// Keeps what threads write often on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// Bytes on lease and how many there may be. Exact but for calls that are under way.
#[derive(Debug)]
pub(crate) struct Budget {
    taken: Line<AtomicUsize>,
    credits: Box<[Line<AtomicUsize>]>,
    roomy: Line<AtomicBool>,
    limit: AtomicUsize,
    peak: AtomicUsize,
    refusals: AtomicU64,
    /// Held to turn tight or roomy.
    turn: Mutex<()>,
}

impl Budget {
    /// A budget whose threads share `shards` accounts of credit (at least 1).
    pub(crate) fn new(limit: usize, shards: usize) -> Self {
        let budget = Self {
            taken: Line::default(),
            credits: (0..shards.max(1)).map(|_| Line::default()).collect(),
            roomy: Line::default(),
            limit: AtomicUsize::new(limit),
            peak: AtomicUsize::new(0),
            refusals: AtomicU64::new(0),
            turn: Mutex::new(()),
        };
        budget.roomy.0.store(budget.has_room(), Relaxed);
        budget
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        let _turn = lock(&self.turn);
        self.roomy.0.store(false, Relaxed);
        self.limit.store(bytes, Relaxed);
        self.collect_credit();
        self.roomy.0.store(self.has_room(), Relaxed);
    }

    /// Bytes on lease; beside calls of other threads, of about this moment.
    pub(crate) fn leased(&self) -> usize {
        let credit: usize = self.credits.iter().map(|credit| credit.0.load(Relaxed)).sum();
        self.taken().saturating_sub(credit)
    }

    /// Bytes on lease and credit together: never less than is on lease, whatever other threads do.
    pub(crate) fn taken(&self) -> usize {
        self.taken.0.load(Relaxed)
    }

    /// The most bytes ever taken at once: what was leased at most, or up to [`CREDIT_BYTES`] per shard more.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// How often [`Self::charge`] refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Books `bytes` before they are leased; false, and no change, when the limit refuses.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        if bytes <= MOST_BY_CREDIT && self.roomy.0.load(Relaxed) {
            let credit = self.credit();
            let paid = credit.fetch_update(Relaxed, Relaxed, |credit| credit.checked_sub(bytes)).is_ok();
            if paid {
                return true;
            }
            if self.take(bytes + CREDIT_BYTES / 2) {
                credit.fetch_add(CREDIT_BYTES / 2, Relaxed);
                return true;
            }
        }
        self.take(bytes) || self.charge_tight(bytes)
    }

    /// Books `bytes` off after they were released, or when charged bytes could not be leased.
    pub(crate) fn refund(&self, bytes: usize) {
        let roomy = self.roomy.0.load(Relaxed);
        if roomy && bytes <= MOST_BY_CREDIT {
            return self.earn(bytes);
        }
        self.taken.0.fetch_sub(bytes, Relaxed);
        if !roomy {
            self.relax();
        }
    }

    /// The calling thread's account.
    fn credit(&self) -> &AtomicUsize {
        &self.credits[thread_slot::current() % self.credits.len()].0
    }

    /// Adds to the credit; when it becomes too much, half of what is allowed stays.
    fn earn(&self, bytes: usize) {
        let credit = self.credit();
        if credit.fetch_add(bytes, Relaxed) + bytes <= CREDIT_BYTES {
            return;
        }
        let halved = |credit: usize| (credit > CREDIT_BYTES).then_some(CREDIT_BYTES / 2);
        if let Ok(credit) = credit.fetch_update(Relaxed, Relaxed, halved) {
            self.taken.0.fetch_sub(credit - CREDIT_BYTES / 2, Relaxed);
        }
    }

    fn take(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let within = |taken: usize| taken.checked_add(bytes).filter(|&sum| sum <= limit);
        let Ok(before) = self.taken.0.fetch_update(Relaxed, Relaxed, within) else {
            return false;
        };
        if before + bytes > self.peak() {
            self.peak.fetch_max(before + bytes, Relaxed);
        }
        true
    }

    /// Charges after all credit was taken back.
    #[cold]
    fn charge_tight(&self, bytes: usize) -> bool {
        let _turn = lock(&self.turn);
        self.roomy.0.store(false, Relaxed);
        // Who saw the budget roomy a moment ago may still earn credit: look until a look finds none.
        loop {
            let collected = self.collect_credit();
            if self.take(bytes) {
                return true;
            }
            if collected == 0 {
                self.refusals.fetch_add(1, Relaxed);
                return false;
            }
        }
    }

    /// Takes all credit back: how much it was.
    fn collect_credit(&self) -> usize {
        let credit = self.credits.iter().map(|credit| credit.0.swap(0, Relaxed)).sum();
        self.taken.0.fetch_sub(credit, Relaxed);
        credit
    }

    /// Turns roomy if there is room.
    fn relax(&self) {
        if self.has_room() {
            let _turn = lock(&self.turn);
            self.roomy.0.store(self.has_room(), Relaxed);
        }
    }

    /// Whether all shards could have their credit and twice as much would still be left.
    fn has_room(&self) -> bool {
        let margin = self.credits.len() * CREDIT_BYTES * 2;
        self.taken().checked_add(margin).is_some_and(|sum| sum <= self.limit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    #[test]
    fn the_limit_is_exact() {
        let budget = Budget::new(100, 4);
        assert!(budget.charge(60) && budget.charge(40));
        assert!(!budget.charge(1));
        budget.refund(60);
        assert!(!budget.charge(usize::MAX), "no overflow");
        assert!(budget.charge(60));
        assert_eq!((budget.leased(), budget.peak(), budget.refusals()), (100, 100, 2));
    }

    #[test]
    fn a_limit_below_what_is_leased_refuses_until_enough_came_back() {
        let budget = Budget::new(100, 4);
        assert!(budget.charge(80));
        budget.set_limit(50);
        assert!(!budget.charge(0), "even an empty lease");
        budget.refund(40);
        assert!(budget.charge(10));
        assert!(!budget.charge(1));
    }

    #[test]
    fn credit_pays_small_charges_and_counts_as_free() {
        let budget = Budget::new(100_000 * KIB, 4);
        assert!(budget.charge(100 * KIB));
        assert_eq!((budget.leased(), budget.taken()), (100 * KIB, 356 * KIB));
        assert!((0..2).all(|_| budget.charge(128 * KIB)), "from credit");
        assert_eq!((budget.leased(), budget.taken()), (356 * KIB, 356 * KIB));
        (0..2).for_each(|_| budget.refund(128 * KIB));
        assert_eq!((budget.leased(), budget.taken()), (100 * KIB, 356 * KIB));
        assert!(budget.charge(129 * KIB));
        assert_eq!(budget.taken(), 485 * KIB, "not from credit");
        (0..20).for_each(|_| assert!(budget.charge(100 * KIB)));
        (0..21).for_each(|_| budget.refund(100 * KIB));
        budget.refund(129 * KIB);
        assert_eq!(budget.leased(), 0);
        assert!(budget.taken() <= CREDIT_BYTES);
    }

    #[test]
    fn nothing_is_refused_for_credit_of_others() {
        let budget = Budget::new(64_000 * KIB, 8);
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert!(budget.charge(1));
                    barrier.wait();
                    budget.refund(1);
                });
            }
        });
        assert!(budget.leased() == 0 && budget.taken() > 500 * KIB, "otherwise this test shows nothing");
        assert!(budget.charge(64_000 * KIB));
        assert!(!budget.charge(1));
        budget.refund(64_000 * KIB);
        assert!(budget.charge(1) && budget.taken() > 1, "roomy again");
    }

    #[test]
    fn a_lowered_limit_holds_for_credit_too() {
        let budget = Budget::new(100_000 * KIB, 1);
        assert!(budget.charge(KIB));
        budget.set_limit(KIB);
        assert!(!budget.charge(1));
        budget.set_limit(100_000 * KIB);
        assert!(budget.charge(1));
    }
}
