//! The connections of one process: at most one to each other process, and at most [`Links::limit`] in all.
//!
//! **Numbers.** To connect, each of two processes opens an endpoint to the other. The wire pairs the n-th endpoint that
//! one process opens with the n-th that the other opens, and counts openings that fail (because the other process had
//! not started yet, for example). After a failed opening on one side, the two next endpoints would have different
//! numbers and would not be paired. So HELLO carries the sender's number. A receiver with a smaller number opens and
//! closes endpoints until it has the same; one with a larger number refuses and tells its own, and the sender catches
//! up.
//!
//! **Storms.** After a pause of the network or the driver all connections are opened again at once. Opening an endpoint
//! takes UCX some 100 us, so a turn of the agent opens at most [`MAX_OPENED`], for whatever reason; what needs another
//! one waits for the next turn.
//!
//! **Limit.** A process that asks for a connection beyond the limit is refused over a connection that is opened only
//! for that message ([`crate::refusals`]).
//!
//! **Greetings.** HELLO's nonce begins with the number of the reader's greeting, which grows. A greeting that is not
//! later than the last one of the same reader was recorded by somebody else and sent again.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::message::InstanceId;
use crate::wire::{Endpoint, Opened, Wire, WireError};

/// The most endpoints that one attempt to connect opens to reach the other side's number. A side that is further behind
/// needs several attempts.
const CATCH_UP: u32 = 1024;
/// Endpoints that one turn opens at most. A thousand peers that are connected again after a pause of the network then
/// hold up neither reads under way nor the answers to other peers.
pub(crate) const MAX_OPENED: usize = 4;
/// Processes whose numbers are remembered; those with an open connection are, in any case. A process that was forgotten
/// refuses the next connection with too small a number, and tells its own.
const MAX_HEARD: usize = 16_384;
/// A connection that was used within this time is not closed to make room for another. Without this, two peers that
/// compete for the last place would close each other's connection before either has its answer.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);

/// An open connection.
struct Link {
    opened: Opened,
    used: Instant,
    /// Its place in the order of last use.
    place: u64,
}

/// What another process has proven that it has sent: the greatest numbers.
#[derive(Default)]
struct Heard {
    connection: u32,
    greeting: u64,
    /// Endpoints that the present attempt to connect has opened and closed again.
    tried: u32,
}

/// How many endpoints were opened in this turn of the agent.
#[derive(Debug, Default)]
pub(crate) struct Openings(usize);

impl Openings {
    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.0
    }

    pub(crate) fn are_used_up(&self) -> bool {
        self.0 >= MAX_OPENED
    }

    /// Counts one. Refusals may be more than a turn opens otherwise.
    pub(crate) fn take(&mut self) {
        self.0 += 1;
    }
}

/// Connections by what is at their other end.
pub(crate) struct Links {
    limit: usize,
    open: HashMap<InstanceId, Link>,
    by_endpoint: HashMap<Endpoint, InstanceId>,
    /// Used least recently first.
    by_use: BTreeMap<u64, InstanceId>,
    uses: u64,
    /// Of about [`MAX_HEARD`] processes, because an application may have ever new executors. Kept after a connection is
    /// closed, because the wire's count of openings goes on too.
    heard: HashMap<InstanceId, Heard>,
}

impl Links {
    /// `limit`: the most connections at once, at least 1.
    pub(crate) fn new(limit: usize) -> Self {
        let (open, by_endpoint, by_use, uses, heard) = Default::default();
        Self { limit: limit.max(1), open, by_endpoint, by_use, uses, heard }
    }

    /// The open connection to another process.
    pub(crate) fn get(&self, other: InstanceId) -> Option<Opened> {
        self.open.get(&other).map(|link| link.opened)
    }

    /// The process to which this endpoint is connected.
    pub(crate) fn at(&self, endpoint: Endpoint) -> Option<InstanceId> {
        self.by_endpoint.get(&endpoint).copied()
    }

    /// All processes to which a connection is open.
    pub(crate) fn others(&self) -> Vec<InstanceId> {
        self.open.keys().copied().collect()
    }

    /// Connections that are open.
    pub(crate) fn count(&self) -> usize {
        self.open.len()
    }

    /// The most connections at once.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether there is a connection to this process, or room for one.
    pub(crate) fn has_room_for(&self, other: InstanceId) -> bool {
        self.open.contains_key(&other) || self.open.len() < self.limit
    }

    /// Notes the number that another process has sent: how many endpoints to this process it has opened. Only of
    /// messages that are proven to be its own: a number that is too large would stay, and each connection would cost
    /// [`CATCH_UP`] openings.
    pub(crate) fn hear(&mut self, other: InstanceId, number: u32) {
        let heard = self.heard(other);
        heard.connection = number.max(heard.connection);
    }

    /// Notes a reader's greeting; whether it is later than all before.
    pub(crate) fn hear_greeting(&mut self, reader: InstanceId, greeting: u64) -> bool {
        let heard = self.heard(reader);
        let is_later = greeting > heard.greeting;
        heard.greeting = greeting.max(heard.greeting);
        is_later
    }

    fn heard(&mut self, other: InstanceId) -> &mut Heard {
        if self.heard.len() >= MAX_HEARD && !self.heard.contains_key(&other) {
            let forgotten = self.heard.keys().find(|known| !self.open.contains_key(known)).copied();
            forgotten.into_iter().for_each(|known| _ = self.heard.remove(&known));
        }
        self.heard.entry(other).or_default()
    }

    /// Notes that a message or a read has passed over the connection to another process, if there is one.
    pub(crate) fn touch(&mut self, other: InstanceId, now: Instant) {
        let Some(link) = self.open.get_mut(&other) else { return };
        self.uses += 1;
        self.by_use.remove(&link.place);
        (link.used, link.place) = (now, self.uses);
        self.by_use.insert(self.uses, other);
    }

    /// The connection to another process. If there is none it is opened, with the other side's number where
    /// [`CATCH_UP`] openings suffice for that. None: this turn has no openings left, so that the next one must go on.
    pub(crate) fn open<W: Wire>(
        &mut self,
        wire: &mut W,
        openings: &mut Openings,
        other: InstanceId,
        wire_address: &[u8],
        now: Instant,
    ) -> Result<Option<Opened>, WireError> {
        if let Some(opened) = self.get(other) {
            return Ok(Some(opened));
        }
        let heard = self.heard(other);
        let opened = loop {
            if openings.are_used_up() {
                return Ok(None);
            }
            openings.take();
            let opened = wire.open(wire_address).inspect_err(|_| heard.tried = 0)?;
            heard.tried += 1;
            if opened.number >= heard.connection || heard.tried >= CATCH_UP {
                break opened;
            }
            wire.close(opened.endpoint);
        };
        heard.tried = 0;
        self.uses += 1;
        self.open.insert(other, Link { opened, used: now, place: self.uses });
        self.by_use.insert(self.uses, other);
        self.by_endpoint.insert(opened.endpoint, other);
        Ok(Some(opened))
    }

    /// Closes a connection; there may be none.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W, other: InstanceId) {
        if let Some(link) = self.open.remove(&other) {
            self.by_use.remove(&link.place);
            self.by_endpoint.remove(&link.opened.endpoint);
            wire.close(link.opened.endpoint);
        }
    }

    /// Of the connections that `may_close`, the one that was used least recently, if it can be closed to make room for
    /// another.
    pub(crate) fn least_recent(&self, now: Instant, may_close: impl Fn(InstanceId) -> bool) -> Option<InstanceId> {
        let aged = self.by_use.values().take_while(|other| self.idle_time(**other, now) >= SHORTEST_IDLE);
        aged.copied().find(|other| may_close(*other))
    }

    /// The connection that has been idle longest, if it has been for `time` and `may_close` permits. Idle ones that may
    /// not be closed count as used now.
    pub(crate) fn idle_for(
        &mut self,
        time: Duration,
        now: Instant,
        may_close: impl Fn(InstanceId) -> bool,
    ) -> Option<InstanceId> {
        loop {
            let (_, other) = self.by_use.first_key_value()?;
            let other = *other;
            if self.idle_time(other, now) < time {
                return None;
            }
            if may_close(other) {
                return Some(other);
            }
            self.touch(other, now);
        }
    }

    fn idle_time(&self, other: InstanceId, now: Instant) -> Duration {
        self.open.get(&other).map_or(Duration::ZERO, |link| now.saturating_duration_since(link.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_processes_without_a_connection_are_forgotten_in_the_end() {
        let mut links = Links::new(1);
        (0..4 * MAX_HEARD as u64).for_each(|id| links.hear(InstanceId(id), 1));
        assert_eq!(links.heard.len(), MAX_HEARD);
    }
}
