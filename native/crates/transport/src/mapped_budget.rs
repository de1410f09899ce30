//! How much of files this process may have mapped at once: bytes, and mappings. What is counted is everything that is
//! mapped or about to be, whether or not it is in use; it is counted until it is unmapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The limits, and what is taken of them. Any thread may reserve and give back; none waits for another. Nothing else is
/// ordered by these numbers.
#[derive(Debug)]
pub(crate) struct MappedBudget {
    max_bytes: usize,
    max_regions: usize,
    bytes: AtomicUsize,
    regions: AtomicUsize,
    peak_bytes: AtomicUsize,
}

impl MappedBudget {
    pub(crate) fn new(max_bytes: usize, max_regions: usize) -> Arc<Self> {
        let (bytes, regions, peak_bytes) = Default::default();
        Arc::new(Self { max_bytes, max_regions, bytes, regions, peak_bytes })
    }

    /// Room for one mapping of so many bytes, or `None`.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        add_within(&self.regions, 1, self.max_regions)?;
        let Some(total) = add_within(&self.bytes, bytes, self.max_bytes) else {
            self.regions.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        self.peak_bytes.fetch_max(total, Ordering::Relaxed);
        Some(Reservation { budget: Arc::clone(self), bytes, is_given_back: AtomicBool::new(false) })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn regions(&self) -> usize {
        self.regions.load(Ordering::Relaxed)
    }

    /// The most bytes that there were at once.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Ordering::Relaxed)
    }
}

/// Adds to a number that does not pass `most`; the sum, or none and no change.
fn add_within(number: &AtomicUsize, more: usize, most: usize) -> Option<usize> {
    let sum = |number: usize| number.checked_add(more).filter(|sum| *sum <= most);
    number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).ok().map(|before| before + more)
}

/// One mapping's share of the budget; dropping it gives it back, unless that was done before.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MappedBudget>,
    bytes: usize,
    is_given_back: AtomicBool,
}

impl Reservation {
    /// Gives it back before it is dropped; once.
    pub(crate) fn give_back(&self) {
        if !self.is_given_back.swap(true, Ordering::Relaxed) {
            self.budget.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
            self.budget.regions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
impl Reservation {
    pub(crate) fn unlimited() -> Self {
        MappedBudget::new(usize::MAX, usize::MAX).reserve(0).expect("no limit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_limit_is_passed_and_what_is_dropped_makes_room() {
        let budget = MappedBudget::new(100, 3);
        let first = budget.reserve(60).expect("room");
        assert!(budget.reserve(41).is_none(), "too many bytes");
        assert!(budget.reserve(usize::MAX).is_none());
        let others = [(); 2].map(|()| budget.reserve(20).expect("room"));
        assert!(budget.reserve(0).is_none(), "too many mappings");
        drop(first);
        assert_eq!((budget.bytes(), budget.regions(), budget.peak_bytes()), (40, 2, 100));
        others[0].give_back();
        others[0].give_back();
        assert_eq!((budget.bytes(), budget.regions()), (20, 1), "once");
        drop(others);
        assert!(budget.reserve(100).is_some());
    }
}
