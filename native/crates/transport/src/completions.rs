//! The queue by which callers learn which blocks have been read and which have failed.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use sluice_mem::Lease;

/// Why a block must be fetched in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The arena has no room for it now.
    NoMemory,
    /// The peer has no such output.
    NotFound,
    /// The peer may have it, and has reached a limit of its own or waits for its disk.
    Busy,
    /// Its bytes could not be read. Other blocks of the peer may be fine.
    NotRead,
    /// The peer, or the way to it, has failed.
    Peer,
    /// The peer has sent nothing for too long.
    Timeout,
}

/// The end of one block of an accepted fetch; there is exactly one for each.
#[derive(Debug)]
pub struct Completion {
    /// The fetch.
    pub request: u64,
    /// The block's place in it.
    pub index: u32,
    /// The block's bytes (`None`: it has none), or why there are not any.
    pub result: Result<Option<Lease>, Failure>,
}

/// A queue with one or more takers. It is bounded by the blocks of the fetches that were accepted.
#[derive(Debug, Default)]
pub struct Completions {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Completion>,
    closed: bool,
}

impl Completions {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all of them here, waking a taker once; a closed queue frees them. Does not wait: whether they are here
    /// now. If not, because another thread has the queue at this moment, they stay with the caller.
    pub(crate) fn append(&self, completions: &mut Vec<Completion>) -> bool {
        if completions.is_empty() {
            return true;
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if state.closed {
            drop(state);
            completions.clear();
        } else {
            state.queue.extend(completions.drain(..));
            drop(state);
            self.arrived.notify_one();
        }
        true
    }

    /// How many no caller has taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().queue.len()
    }

    /// Ends all waits; nothing comes any more, and what was not taken is freed.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.queue);
        drop(state);
        drop(left);
        self.arrived.notify_all();
    }

    /// Takes up to `most`, waiting for the first until `longest` is over. `None` when the queue has been closed.
    pub fn take(&self, most: usize, longest: Duration) -> Option<Vec<Completion>> {
        let end = Instant::now() + longest;
        let mut state = self.lock();
        while state.queue.is_empty() && !state.closed {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(Vec::new());
            }
            state = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed {
            return None;
        }
        let count = most.min(state.queue.len());
        Some(state.queue.drain(..count).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(index: u32) -> Completion {
        Completion { request: 1, index, result: Err(Failure::Busy) }
    }

    #[test]
    fn the_agent_keeps_what_it_cannot_hand_over_at_once() {
        let (queue, mut ended) = (Completions::default(), vec![failed(0), failed(1)]);
        let taker = queue.lock();
        assert!(!queue.append(&mut ended), "another thread has the queue");
        assert_eq!(ended.len(), 2);
        drop(taker);
        assert!(queue.append(&mut ended) && ended.is_empty());
        let taken = queue.take(10, Duration::ZERO).expect("open");
        assert_eq!(taken.iter().map(|completion| completion.index).collect::<Vec<_>>(), [0, 1]);
        queue.close();
        ended.push(failed(2));
        assert!(queue.append(&mut ended) && ended.is_empty(), "a closed queue frees them");
    }
}
