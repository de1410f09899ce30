//! When the next purge pass is due, and what purges have done.

use crate::os;
use crate::sync::{AtomicU64, Relaxed};
use std::cell::Cell;
use std::time::Duration;

/// A thread reads the clock at one of so many releases of less than a purge unit: reading it at each would cost several
/// percent of one.
const RELEASES_PER_CLOCK: u32 = 16;

thread_local! {
    static RELEASES: Cell<u32> = const { Cell::new(0) };
}

/// Counts a release of the calling thread; whether it should see if a purge is due. A thread that is ending does not.
#[inline]
pub(crate) fn thread_checks_clock() -> bool {
    let count = |releases: &Cell<u32>| {
        releases.set(releases.get().wrapping_add(1));
        releases.get().is_multiple_of(RELEASES_PER_CLOCK)
    };
    RELEASES.try_with(count).unwrap_or(false)
}

/// `next` when no pass is ever due.
const NEVER: u64 = u64::MAX;

/// The schedule. Every method may be called from any thread.
#[derive(Debug)]
pub(crate) struct PurgeSchedule {
    interval_ms: Option<u64>,
    /// When the next step is due, in milliseconds of the clock.
    next: AtomicU64,
    passes: AtomicU64,
    purged_bytes: AtomicU64,
    failures: AtomicU64,
}

impl PurgeSchedule {
    /// A pass each `interval`; `None`: none is ever due.
    pub(crate) fn new(interval: Option<Duration>) -> Self {
        let interval_ms = interval.map(|interval| interval.as_millis().try_into().unwrap_or(NEVER));
        let schedule = Self {
            interval_ms,
            next: AtomicU64::new(NEVER),
            passes: AtomicU64::new(0),
            purged_bytes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        };
        schedule.set_next();
        schedule
    }

    /// Whether a step of a pass is due.
    pub(crate) fn is_due(&self) -> bool {
        self.interval_ms.is_some() && os::coarse_clock_ms() >= self.next.load(Relaxed)
    }

    /// Counts a step that gave back `bytes`. The pass goes on.
    pub(crate) fn count_purged(&self, bytes: usize) {
        self.purged_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts a provider that did not give back what it was asked to.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    /// Ends a pass: the next one is due after the interval.
    pub(crate) fn end_pass(&self) {
        self.passes.fetch_add(1, Relaxed);
        self.set_next();
    }

    fn set_next(&self) {
        let next = self.interval_ms.map_or(NEVER, |interval| os::coarse_clock_ms().saturating_add(interval));
        self.next.store(next, Relaxed);
    }

    pub(crate) fn passes(&self) -> u64 {
        self.passes.load(Relaxed)
    }

    pub(crate) fn purged_bytes(&self) -> u64 {
        self.purged_bytes.load(Relaxed)
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}
