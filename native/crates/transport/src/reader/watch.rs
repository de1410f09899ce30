//! Timeouts of peers: for each peer whose answer this process waits for, when it last sent a message. Time in which
//! this process itself did not run does not count.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::session::PeerNumber;

/// The last message of a peer.
struct LastMessage {
    /// When it came, moved later by each pause of this process since.
    at: Instant,
    /// The pauses of this process since then, added up.
    paused: Duration,
}

/// The peers that this process waits for. Others are not kept here, so a check costs nothing for them.
pub(super) struct Watch {
    pub(super) timeout: Duration,
    expected: HashMap<PeerNumber, LastMessage>,
}

impl Watch {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, expected: HashMap::new() }
    }

    /// This process waits for the peer from now on; the timeout starts.
    pub(super) fn expect(&mut self, peer: PeerNumber, now: Instant) {
        self.expected.insert(peer, LastMessage { at: now, paused: Duration::ZERO });
    }

    /// A message of the peer has come; its timeout starts again.
    pub(super) fn heard(&mut self, peer: PeerNumber, now: Instant) {
        if self.expected.contains_key(&peer) {
            self.expect(peer, now);
        }
    }

    /// This process does not wait for the peer any more.
    pub(super) fn settle(&mut self, peer: PeerNumber) {
        self.expected.remove(&peer);
    }

    /// This process did not run for `pause` until `now` (SIGSTOP, or a host without a free core). It received nothing
    /// meanwhile, so the pause does not count as silence of any peer. Between two messages of a peer, at most one
    /// timeout's worth of pauses is left out: between pauses messages are received, and a process that pauses again and
    /// again must still notice a dead peer.
    pub(super) fn excuse(&mut self, pause: Duration, now: Instant) {
        let timeout = self.timeout;
        for last in self.expected.values_mut().filter(|last| last.paused < timeout) {
            last.at = now.min(last.at + pause);
            last.paused += pause;
        }
    }

    /// Peers that have sent nothing for longer than the timeout.
    pub(super) fn silent(&self, now: Instant) -> impl Iterator<Item = PeerNumber> {
        let silent = move |last: &LastMessage| now.saturating_duration_since(last.at) > self.timeout;
        self.expected.iter().filter(move |(_, last)| silent(last)).map(|(peer, _)| *peer)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }
}
