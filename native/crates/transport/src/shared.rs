//! What the agent's thread shares with the threads of its callers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::catalog::{Catalog, PublishedOutput};
use crate::completions::Completions;
use crate::inbox::Inbox;
use crate::message::Block;
use crate::reader::PeerNumber;
use crate::statistics::Statistics;

/// What the callers' threads want done.
pub(crate) enum Command {
    Connect { peer: PeerNumber, attempt: u64, address: Vec<u8> },
    Disconnect { peer: PeerNumber },
    Fetch { request: u64, peer: PeerNumber, blocks: Vec<Block> },
    Withdraw(Vec<Arc<PublishedOutput>>),
}

/// What an agent shares with its callers.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) completions: Arc<Completions>,
    pub(crate) inbox: Inbox<Command>,
    /// Grows with every small step of the agent; it does not grow while a system call or a call of the library hangs.
    pub(crate) steps: AtomicU64,
    /// The peers that were connected and not disconnected since.
    pub(crate) peers: Mutex<HashMap<PeerNumber, PeerState>>,
    pub(crate) statistics: Statistics,
    /// What of the options had to be changed for this machine, in words.
    pub(crate) warnings: Mutex<Vec<String>>,
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
    /// How that attempt has failed.
    pub(crate) error: Option<String>,
}

impl Shared {
    /// The agent has come one step on.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ready(&self, peer: PeerNumber, attempt: u64) {
        self.change(peer, attempt, |state| state.ready = true);
    }

    pub(crate) fn failed(&self, peer: PeerNumber, attempt: u64, why: &str) {
        self.change(peer, attempt, |state| state.error = Some(why.to_string()));
    }

    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn change(&self, peer: PeerNumber, attempt: u64, change: impl FnOnce(&mut PeerState)) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = peers.get_mut(&peer).filter(|state| state.attempt == attempt) {
            change(state);
        }
    }
}
