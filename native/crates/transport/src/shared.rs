//! What the agent's thread shares with the threads of its callers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use crate::catalog::{Catalog, PublishedOutput};
use crate::completions::Completions;
use crate::inbox::Inbox;
use crate::message::Block;
use crate::reader::PeerNumber;
use crate::statistics::Statistics;

/// What the callers' threads want done.
pub(crate) enum Command {
    Connect {
        peer: PeerNumber,
        attempt: u64,
        address: Vec<u8>,
    },
    Disconnect {
        peer: PeerNumber,
    },
    Fetch {
        request: u64,
        peer: PeerNumber,
        blocks: Vec<Block>,
    },
    /// The agent's own: connect a peer again, and ask it once more for what the connection that was closed as idle has
    /// not answered.
    Retry {
        peer: PeerNumber,
        batches: Vec<u64>,
    },
    Withdraw(Vec<Arc<PublishedOutput>>),
}

impl Command {
    /// The peer that it is for: commands for one peer are carried out in their order.
    pub(crate) fn peer(&self) -> Option<PeerNumber> {
        match self {
            Self::Connect { peer, .. }
            | Self::Disconnect { peer }
            | Self::Fetch { peer, .. }
            | Self::Retry { peer, .. } => Some(*peer),
            Self::Withdraw(_) => None,
        }
    }
}

/// What an agent shares with its callers.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) completions: Arc<Completions>,
    pub(crate) inbox: Inbox<Command>,
    /// Commands, greetings and what has arrived otherwise that the agent puts off to a later turn.
    pub(crate) put_off: AtomicUsize,
    /// Grows with every small step of the agent; it does not grow while a system call or a call of the library hangs.
    pub(crate) steps: AtomicU64,
    /// The peers that were connected and not disconnected since.
    pub(crate) peers: Mutex<HashMap<PeerNumber, PeerState>>,
    pub(crate) statistics: Statistics,
    /// What of the options had to be changed for this machine, in words.
    pub(crate) warnings: Mutex<Vec<String>>,
    /// By what other hosts are reached, in the wire's words.
    pub(crate) means: Mutex<Vec<String>>,
    /// By directory of map outputs, in words: how files there are registered.
    pub(crate) registrations: Mutex<Vec<String>>,
}

/// What a caller can learn of a peer without waiting.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerState {
    /// The number of the last attempt to connect; results of earlier attempts are ignored.
    pub(crate) attempt: u64,
    /// Whether its self-test was passed.
    pub(crate) ready: bool,
    /// Whether the memory of its GPU can be read.
    pub(crate) reads_device: bool,
    /// How that attempt has failed.
    pub(crate) error: Option<String>,
}

/// What has become of a peer.
pub(crate) struct PeerNews {
    pub(crate) peer: PeerNumber,
    /// Of the attempt to connect that this is about.
    pub(crate) attempt: u64,
    /// How it has failed; none: it may be asked.
    pub(crate) error: Option<String>,
    /// Whether the memory of its GPU can be read, too.
    pub(crate) reads_device: bool,
}

impl Shared {
    /// What callers and peers want done and the agent has not done.
    pub(crate) fn queued(&self) -> usize {
        self.inbox.len() + self.put_off.load(Ordering::Relaxed)
    }

    /// The agent has come one step on.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells callers what has become of peers, in this order. Does not wait: what is left in `news` is to be told
    /// again, because a caller has the table at this moment.
    pub(crate) fn tell(&self, news: &mut Vec<PeerNews>) {
        if news.is_empty() {
            return;
        }
        let mut peers = match self.peers.try_lock() {
            Ok(peers) => peers,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for PeerNews { peer, attempt, error, reads_device } in news.drain(..) {
            if let Some(state) = peers.get_mut(&peer).filter(|state| state.attempt == attempt) {
                state.ready |= error.is_none();
                state.reads_device = error.is_none() && reads_device;
                state.error = error.or(state.error.take());
            }
        }
    }

    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_of_peers_wait_while_a_caller_has_the_table() {
        let shared = Shared::default();
        shared.peers.lock().expect("no panic").insert(1, PeerState { attempt: 2, ..PeerState::default() });
        let of = |attempt, error: Option<&str>| PeerNews {
            peer: 1,
            attempt,
            error: error.map(str::to_string),
            reads_device: false,
        };
        let mut news = vec![of(2, None), of(1, Some("an earlier attempt"))];
        let caller = shared.peers.lock().expect("no panic");
        shared.tell(&mut news);
        assert_eq!(news.len(), 2);
        drop(caller);
        shared.tell(&mut news);
        let state = || shared.peers.lock().expect("no panic")[&1].clone();
        assert!(news.is_empty() && state().ready && state().error.is_none());
        shared.tell(&mut vec![of(2, Some("reset"))]);
        assert_eq!(state().error.as_deref(), Some("reset"));
    }
}
