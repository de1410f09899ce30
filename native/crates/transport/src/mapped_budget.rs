//! How much of files this process may have mapped at once: bytes, and mappings. What is counted is everything that is
//! mapped or about to be, whether or not it is in use; it is counted until it is unmapped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limits, and what is taken of them. Any thread may reserve and give back.
#[derive(Debug)]
pub(crate) struct MappedBudget {
    max_bytes: usize,
    max_regions: usize,
    /// Both numbers under one lock: a reservation is compared with both limits and taken in one step.
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    regions: usize,
    peak_bytes: usize,
}

impl MappedBudget {
    pub(crate) fn new(max_bytes: usize, max_regions: usize) -> Arc<Self> {
        Arc::new(Self { max_bytes, max_regions, taken: Mutex::new(Taken::default()) })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // Nothing under the lock panics, so a poisoned lock guards good numbers.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one mapping of so many bytes, or `None`.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        let mut taken = self.lock();
        let total = taken.bytes.checked_add(bytes).filter(|total| *total <= self.max_bytes)?;
        if taken.regions >= self.max_regions {
            return None;
        }
        taken.bytes = total;
        taken.regions += 1;
        taken.peak_bytes = taken.peak_bytes.max(total);
        Some(Reservation { budget: Arc::clone(self), bytes })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(crate) fn regions(&self) -> usize {
        self.lock().regions
    }

    /// The most bytes that there were at once.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.lock().peak_bytes
    }
}

/// One mapping's share of the budget; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MappedBudget>,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut taken = self.budget.lock();
        taken.bytes -= self.bytes;
        taken.regions -= 1;
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
        drop(others);
        assert!(budget.reserve(100).is_some());
    }
}
