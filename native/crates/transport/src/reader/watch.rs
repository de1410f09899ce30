//! Peers that this process waits for, and how long they have sent nothing.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::session::PeerNumber;

/// When a peer last sent something.
struct Sign {
    at: Instant,
    /// What of the time since then this process has paused.
    excused: Duration,
}

/// Watches only peers that this process waits for, so the others cost nothing.
pub(super) struct Watch {
    pub(super) timeout: Duration,
    expected: HashMap<PeerNumber, Sign>,
}

impl Watch {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, expected: HashMap::new() }
    }

    /// This process waits for the peer from now on; the timeout starts.
    pub(super) fn expect(&mut self, peer: PeerNumber, now: Instant) {
        self.expected.insert(peer, Sign { at: now, excused: Duration::ZERO });
    }

    /// The peer has sent something.
    pub(super) fn sign(&mut self, peer: PeerNumber, now: Instant) {
        if self.expected.contains_key(&peer) {
            self.expect(peer, now);
        }
    }

    /// This process does not wait for the peer any more.
    pub(super) fn settle(&mut self, peer: PeerNumber) {
        self.expected.remove(&peer);
    }

    /// This process has paused for so long until now and could receive nothing meanwhile, so the pause does not count
    /// against peers. But between two messages of a peer, pauses are subtracted only until they add up to the timeout,
    /// because between the pauses the process did receive: otherwise a process that pauses all the time would never
    /// give a peer up.
    pub(super) fn excuse(&mut self, pause: Duration, now: Instant) {
        let timeout = self.timeout;
        for sign in self.expected.values_mut().filter(|sign| sign.excused < timeout) {
            sign.at = now.min(sign.at + pause);
            sign.excused += pause;
        }
    }

    /// Peers that have sent nothing for too long.
    pub(super) fn silent(&self, now: Instant) -> impl Iterator<Item = PeerNumber> {
        let silent = move |sign: &Sign| now.saturating_duration_since(sign.at) > self.timeout;
        self.expected.iter().filter(move |(_, sign)| silent(sign)).map(|(peer, _)| *peer)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }
}
