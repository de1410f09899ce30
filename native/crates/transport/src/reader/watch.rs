//! Peers of which something is expected, and how long they have given no sign of life.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::session::PeerNumber;

/// A peer's last sign of life.
struct Sign {
    at: Instant,
    /// What of the time since then this process has paused.
    excused: Duration,
}

/// Watches only peers of which something is expected, so the others cost nothing.
pub(super) struct Watch {
    pub(super) timeout: Duration,
    expected: HashMap<PeerNumber, Sign>,
}

impl Watch {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, expected: HashMap::new() }
    }

    /// Something is expected of the peer; its time begins now.
    pub(super) fn expect(&mut self, peer: PeerNumber, now: Instant) {
        self.expected.insert(peer, Sign { at: now, excused: Duration::ZERO });
    }

    /// The peer has given a sign of life.
    pub(super) fn sign(&mut self, peer: PeerNumber, now: Instant) {
        if self.expected.contains_key(&peer) {
            self.expect(peer, now);
        }
    }

    /// Nothing is expected of the peer any more.
    pub(super) fn settle(&mut self, peer: PeerNumber) {
        self.expected.remove(&peer);
    }

    /// This process has paused for so long until now: nobody could give it a sign. But it has listened between its
    /// pauses, so pauses as long as the timeout, without a sign between them, are the last that excuse: a process that
    /// is always late would wait for ever.
    pub(super) fn excuse(&mut self, pause: Duration, now: Instant) {
        let timeout = self.timeout;
        for sign in self.expected.values_mut().filter(|sign| sign.excused < timeout) {
            sign.at = now.min(sign.at + pause);
            sign.excused += pause;
        }
    }

    /// Peers that have been silent for too long.
    pub(super) fn silent(&self, now: Instant) -> impl Iterator<Item = PeerNumber> {
        let silent = move |sign: &Sign| now.saturating_duration_since(sign.at) > self.timeout;
        self.expected.iter().filter(move |(_, sign)| silent(sign)).map(|(peer, _)| *peer)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }
}
