//! The hard limit on leased bytes.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Keeps what every lease writes on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// Bytes on lease and how many there may be. Exact: charges of all threads meet in one word.
///
/// Relaxed order is enough: the numbers guard no other memory, and a read-modify-write always sees the latest one.
#[derive(Debug)]
pub(crate) struct Budget {
    leased: Line<AtomicUsize>,
    limit: AtomicUsize,
    peak: AtomicUsize,
    refusals: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            leased: Line::default(),
            limit: AtomicUsize::new(limit),
            peak: AtomicUsize::new(0),
            refusals: AtomicU64::new(0),
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
    }

    pub(crate) fn leased(&self) -> usize {
        self.leased.0.load(Relaxed)
    }

    /// The most bytes ever leased at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// How often [`Self::charge`] refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Books `bytes` before they are leased; false, and no change, when the limit refuses.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let within = |leased: usize| leased.checked_add(bytes).filter(|&sum| sum <= limit);
        match self.leased.0.fetch_update(Relaxed, Relaxed, within) {
            Ok(before) => {
                if before + bytes > self.peak() {
                    self.peak.fetch_max(before + bytes, Relaxed);
                }
                true
            }
            Err(_) => {
                self.refusals.fetch_add(1, Relaxed);
                false
            }
        }
    }

    /// Books `bytes` off after they were released, or when charged bytes could not be leased.
    pub(crate) fn refund(&self, bytes: usize) {
        self.leased.0.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_exact() {
        let budget = Budget::new(100);
        assert!(budget.charge(60) && budget.charge(40));
        assert!(!budget.charge(1));
        budget.refund(60);
        assert!(!budget.charge(usize::MAX), "no overflow");
        assert!(budget.charge(60));
        assert_eq!((budget.leased(), budget.peak(), budget.refusals()), (100, 100, 2));
    }

    #[test]
    fn a_limit_below_what_is_leased_refuses_until_enough_came_back() {
        let budget = Budget::new(100);
        assert!(budget.charge(80));
        budget.set_limit(50);
        assert!(!budget.charge(0), "even an empty lease");
        budget.refund(40);
        assert!(budget.charge(10));
        assert!(!budget.charge(1));
    }
}
