//! The queue by which callers learn which blocks have been read and which have failed.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
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

    /// Moves all of them here, waking a taker once; a closed queue frees them.
    pub(crate) fn append(&self, completions: &mut Vec<Completion>) {
        if completions.is_empty() {
            return;
        }
        let mut state = self.lock();
        if state.closed {
            drop(state);
            completions.clear();
        } else {
            state.queue.extend(completions.drain(..));
            drop(state);
            self.arrived.notify_one();
        }
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
