//! Waiting for a device by asking it again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The shortest pause between two questions, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// Between them a pause is so much of the time that was waited already: what is done is seen that much later at most.
const PART: u32 = 8;

/// How long a wait may take, and what else ends it.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    limit: Duration,
    killed: Option<&'a AtomicBool>,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "only Done means that the work is done"]
pub enum Waited {
    /// The work is done.
    Done,
    /// The limit was reached first.
    TimedOut,
    /// The task is being killed.
    Killed,
}

impl Wait<'static> {
    /// A wait of at most `limit`.
    pub fn at_most(limit: Duration) -> Self {
        Self { limit, killed: None }
    }
}

impl<'a> Wait<'a> {
    /// The same, given up when `killed` becomes true.
    pub fn unless(self, killed: &'a AtomicBool) -> Self {
        Self { limit: self.limit, killed: Some(killed) }
    }

    /// The limit.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Asks `is_done` at once and then with growing pauses. What is done is `Done`, even if the limit is 0 or the task
    /// is being killed. For waits of others that are like those for a device.
    ///
    /// # Errors
    /// What `is_done` answers.
    pub fn until<E>(&self, mut is_done: impl FnMut() -> Result<bool, E>) -> Result<Waited, E> {
        let started = Instant::now();
        loop {
            if is_done()? {
                return Ok(Waited::Done);
            }
            if self.killed.is_some_and(|killed| killed.load(Ordering::Relaxed)) {
                return Ok(Waited::Killed);
            }
            let waited = started.elapsed();
            let left = self.limit.saturating_sub(waited);
            if left.is_zero() {
                return Ok(Waited::TimedOut);
            }
            std::thread::sleep((waited / PART).clamp(PAUSES.0, PAUSES.1).min(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn until(wait: Wait<'_>, mut is_done: impl FnMut() -> bool) -> Waited {
        let ended = wait.until(|| Ok::<_, Infallible>(is_done()));
        let Ok(waited) = ended;
        waited
    }

    #[test]
    fn what_is_done_needs_no_time() {
        let killed = AtomicBool::new(true);
        assert_eq!(until(Wait::at_most(Duration::ZERO).unless(&killed), || true), Waited::Done);
    }

    #[test]
    fn a_wait_ends_at_its_limit() {
        let started = Instant::now();
        assert_eq!(until(Wait::at_most(Duration::from_millis(20)), || false), Waited::TimedOut);
        assert!(started.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_killed_task_waits_no_longer() {
        let killed = AtomicBool::new(false);
        let mut asked = 0;
        let waited = until(Wait::at_most(Duration::from_secs(60)).unless(&killed), || {
            asked += 1;
            killed.store(asked == 3, Ordering::Relaxed);
            false
        });
        assert_eq!((waited, asked), (Waited::Killed, 3));
    }

    #[test]
    fn pauses_grow_to_a_millisecond() {
        let mut asked = 0;
        assert_eq!(
            until(Wait::at_most(Duration::from_millis(100)), || {
                asked += 1;
                false
            }),
            Waited::TimedOut
        );
        // Fewer on a machine that is busy with others.
        assert!((2..=150).contains(&asked), "{asked} questions in 100 ms");
    }
}
