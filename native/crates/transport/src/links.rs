//! The connections of one process: at most one to each other process, of each its number, and not too many of them.
//!
//! To connect, each side opens an endpoint to the other, and a wire pairs the n-th opening of one side with the n-th of
//! the other. An opening that failed on one side (the other was not there yet, or was kept waiting) counts too, so from
//! then on the numbers of the two sides differ. Therefore the side that greets (HELLO) tells its number; the other side
//! opens endpoints until it has the same number or, if its own is larger, tells its own.
//!
//! There are never more than [`Links::limit`] connections, and [`MAX_REFUSALS`] that only say so to a process that asks
//! for one more.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::message::InstanceId;
use crate::wire::{Endpoint, Opened, Wire, WireError};

/// How often one attempt to connect opens in a row, to reach the other side's number: a side that is further behind
/// comes nearer with each attempt.
const CATCH_UP: u32 = 1024;
/// A connection that was used within this time is not closed to make room for another: two that want the last place
/// would take it from each other before either has been answered.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);
/// Connections at once that are opened only to send a refusal.
const MAX_REFUSALS: usize = 16;
/// How long such a connection stays, so that the refusal gets through.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// An open connection.
struct Link {
    opened: Opened,
    used: Instant,
    /// Its place in the order of last use.
    place: u64,
}

/// Connections by what is at their other end.
pub(crate) struct Links {
    limit: usize,
    open: HashMap<InstanceId, Link>,
    by_endpoint: HashMap<Endpoint, InstanceId>,
    /// Used least recently first.
    by_use: BTreeMap<u64, InstanceId>,
    uses: u64,
    /// The greatest number that was heard of each process: not forgotten, because the wires do not forget, either.
    heard: HashMap<InstanceId, u32>,
    refusals: VecDeque<(Instant, Endpoint)>,
}

impl Links {
    /// `limit`: the most connections at once, at least 1.
    pub(crate) fn new(limit: usize) -> Self {
        let (open, by_endpoint, by_use, uses, heard, refusals) = Default::default();
        Self { limit: limit.max(1), open, by_endpoint, by_use, uses, heard, refusals }
    }

    /// The open connection to another process.
    pub(crate) fn get(&self, other: InstanceId) -> Option<Opened> {
        self.open.get(&other).map(|link| link.opened)
    }

    /// At whose connection this is the end here.
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

    /// The other side has opened a connection to here so often.
    pub(crate) fn hear(&mut self, other: InstanceId, number: u32) {
        let heard = self.heard.entry(other).or_default();
        *heard = number.max(*heard);
    }

    /// Something has passed over the connection to another process; there may be none.
    pub(crate) fn touch(&mut self, other: InstanceId, now: Instant) {
        let Some(link) = self.open.get_mut(&other) else { return };
        self.uses += 1;
        self.by_use.remove(&link.place);
        (link.used, link.place) = (now, self.uses);
        self.by_use.insert(self.uses, other);
    }

    /// The connection to another process; if there is none it is opened, with the other side's number if that can be.
    pub(crate) fn open<W: Wire>(
        &mut self,
        wire: &mut W,
        other: InstanceId,
        wire_address: &[u8],
        now: Instant,
    ) -> Result<Opened, WireError> {
        if let Some(opened) = self.get(other) {
            return Ok(opened);
        }
        let heard = self.heard.get(&other).copied().unwrap_or_default();
        let mut opened = wire.open(wire_address)?;
        for _ in 1..CATCH_UP {
            if opened.number >= heard {
                break;
            }
            wire.close(opened.endpoint);
            opened = wire.open(wire_address)?;
        }
        self.uses += 1;
        self.open.insert(other, Link { opened, used: now, place: self.uses });
        self.by_use.insert(self.uses, other);
        self.by_endpoint.insert(opened.endpoint, other);
        Ok(opened)
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

    /// A connection that nothing has passed over for so long, and that `may_close`; the others count as used now.
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

    /// A connection for a message that there is no room; none when too many are told that already, or it cannot be
    /// opened. It is closed by [`Links::end_refusals`].
    pub(crate) fn open_refusal<W: Wire>(&mut self, wire: &mut W, wire_address: &[u8], now: Instant) -> Option<Opened> {
        if self.refusals.len() >= MAX_REFUSALS {
            return None;
        }
        let opened = wire.open(wire_address).ok()?;
        self.refusals.push_back((now, opened.endpoint));
        Some(opened)
    }

    /// Closes the connections of refusals that had the time to get through.
    pub(crate) fn end_refusals<W: Wire>(&mut self, wire: &mut W, now: Instant) {
        while let Some((since, endpoint)) = self.refusals.front().copied()
            && now.saturating_duration_since(since) >= REFUSAL_TIME
        {
            self.refusals.pop_front();
            wire.close(endpoint);
        }
    }

    /// Closes those of all refusals.
    pub(crate) fn close_refusals<W: Wire>(&mut self, wire: &mut W) {
        self.refusals.drain(..).for_each(|(_, endpoint)| wire.close(endpoint));
    }
}
