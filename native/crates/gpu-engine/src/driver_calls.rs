//! Whether an encode's calls of the driver return, for one who looks from outside.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The calls of one encode at a time. The encoding thread says when it begins, goes on and ends to call the driver; who
/// looks sees whether it has gone on since the last time. No clock is asked: a process that is stopped for a while
/// would seem stuck.
#[derive(Debug, Default)]
pub(crate) struct DriverCalls {
    /// Odd while the driver is called; another one after each step.
    number: AtomicU64,
}

impl DriverCalls {
    /// The calling thread calls the driver from now on.
    pub(crate) fn begin(&self) {
        // One thread at a time writes: the one that has the lane.
        self.number.store((self.number.load(Relaxed) + 1) | 1, Relaxed);
    }

    /// A call that waits for the device has returned, and others follow. Without a `begin` nothing is said.
    pub(crate) fn go_on(&self) {
        if self.step().is_some() {
            self.begin();
        }
    }

    /// The calling thread does not call the driver for a while.
    pub(crate) fn end(&self) {
        if let Some(step) = self.step() {
            self.number.store(step + 1, Relaxed);
        }
    }

    /// Does work that does not call the driver, in the middle of those that do.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        let under_way = self.step().is_some();
        self.end();
        let done = work();
        if under_way {
            self.begin();
        }
        done
    }

    /// The step in which calls are under way; none while there are none.
    pub(crate) fn step(&self) -> Option<u64> {
        Some(self.number.load(Relaxed)).filter(|number| number % 2 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_another_one() {
        let calls = DriverCalls::default();
        calls.go_on();
        assert_eq!(calls.step(), None, "nothing was begun");
        let mut seen = Vec::new();
        for _ in 0..3 {
            calls.begin();
            seen.extend(calls.step());
            calls.go_on();
            seen.extend(calls.step());
            calls.end();
            calls.end();
            assert_eq!(calls.step(), None);
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    }

    #[test]
    fn a_pause_is_no_step() {
        let calls = DriverCalls::default();
        assert_eq!((calls.pause(|| calls.step()), calls.step()), (None, None), "nothing was begun");
        calls.begin();
        let before = calls.step();
        assert_eq!(calls.pause(|| calls.step()), None);
        assert!(calls.step() > before, "{before:?}");
    }
}
