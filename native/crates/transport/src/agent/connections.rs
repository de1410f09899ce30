//! What an agent does about its connections: opens them when something is to be read, closes those that are idle or
//! have failed, and keeps to their limit.

use std::time::Instant;

use super::{Agent, Command, PeerNews, split_address};
use crate::completions::Failure;
use crate::message::{Body, InstanceId};
use crate::reader::{Broken, PeerAddress, PeerNumber};
use crate::statistics::Statistic;
use crate::wire::{Opened, Wire};

/// Idle connections that are closed at once, every 50 ms: closing one takes UCX some 30 us.
const MAX_CLOSED: usize = 16;

impl<W: Wire> Agent<W> {
    /// Connects to a peer, or tells that it has failed; whether that could be done in this turn.
    pub(super) fn connect(&mut self, peer: PeerNumber, attempt: u64, address: &[u8], now: Instant) -> bool {
        let Some((instance, _)) = split_address(address) else {
            self.tell_failed(peer, attempt, "its address is malformed");
            return true;
        };
        if self.reader.owner_of(peer).is_some() {
            self.disconnect(peer);
        }
        match self.link(instance, address, now) {
            Ok(None) => return false,
            Ok(Some(link)) => {
                let owner = PeerAddress { attempt, instance, address: address.to_vec() };
                let hello = self.reader.connect(peer, owner, link, now);
                self.send(instance, link.endpoint, hello);
            }
            Err(why) => {
                self.tell_failed(peer, attempt, &why);
                self.reader.give_up(peer, Failure::Peer);
            }
        }
        true
    }

    /// Callers are told, at the end of this turn, how a peer has failed.
    fn tell_failed(&mut self, peer: PeerNumber, attempt: u64, why: &str) {
        self.news.push(PeerNews { peer, attempt, error: Some(why.to_string()), reads_device: false });
    }

    /// Connects to a peer whose connection was closed because it was idle; whether that could be done in this turn.
    pub(super) fn reconnect(&mut self, peer: PeerNumber, now: Instant) -> bool {
        let owner = self.reader.idle_owner(peer);
        owner.is_none_or(|owner| self.connect(peer, owner.attempt, &owner.address, now))
    }

    /// Ends a peer's reading; the connection stays while the other side reads from here.
    pub(super) fn disconnect(&mut self, peer: PeerNumber) {
        let Some(other) = self.reader.owner_of(peer) else { return self.reader.give_up(peer, Failure::Peer) };
        if self.owner.has_session(other) {
            self.reader.give_up(peer, Failure::Peer);
        } else {
            self.end_link(other, Failure::Peer, "it was disconnected");
        }
    }

    /// The connection to another process, opened if there is none and there is room for it. None: in a later turn.
    pub(super) fn link(&mut self, other: InstanceId, address: &[u8], now: Instant) -> Result<Option<Opened>, String> {
        let (_, wire_address) = split_address(address).ok_or("its address is malformed")?;
        if self.openings.are_used_up() && self.links.get(other).is_none() {
            return Ok(None);
        }
        if !self.links.has_room_for(other) && !self.make_room(now) {
            self.shared.statistics().add(Statistic::ConnectionsRefused, 1);
            let limit = self.links.limit();
            return Err(format!(
                "there is no room for another connection: all {limit} are in use \
                 (spark.sluice.transport.maxConnections)"
            ));
        }
        let known = self.links.get(other).is_some();
        let link = self.links.open(&mut self.wire, &mut self.openings, other, wire_address, now);
        let link = link.map_err(|e| e.to_string())?;
        self.shared.statistics().add(Statistic::ConnectionsOpened, u64::from(!known && link.is_some()));
        self.note_connections();
        Ok(link)
    }

    /// Closes the connection that was used least recently, of those over which nothing is under way; whether there was
    /// one.
    fn make_room(&mut self, now: Instant) -> bool {
        let Self { reader, owner, links, .. } = self;
        let idle = links.least_recent(now, |other| reader.expects_nothing_of(other) && !owner.is_read_by(other));
        idle.into_iter().for_each(|other| self.close_idle_link(other));
        idle.is_some()
    }

    /// Closes the connections over which nothing has passed for long and nothing is under way, a few at a time.
    pub(super) fn close_idle(&mut self, now: Instant) {
        for _ in 0..MAX_CLOSED {
            let Self { reader, owner, links, connection_idle, .. } = self;
            let may_close = |other| reader.expects_nothing_of(other) && !owner.is_read_by(other);
            let Some(other) = links.idle_for(*connection_idle, now, may_close) else { break };
            self.close_idle_link(other);
        }
        self.refusals.end(&mut self.wire, now);
    }

    fn close_idle_link(&mut self, other: InstanceId) {
        if let Some(link) = self.links.get(other) {
            self.send(other, link.endpoint, Body::Closing { number: link.number });
        }
        self.shared.statistics().add(Statistic::ConnectionsClosedIdle, 1);
        self.set_idle(other);
    }

    /// Closes a connection that either side has found idle. The peer stays known, and if it was being asked something
    /// in this very moment it is connected again in the next turn.
    pub(super) fn set_idle(&mut self, other: InstanceId) {
        self.drop_link(other);
        if let Some((peer, batches)) = self.reader.set_idle(other).filter(|(_, batches)| !batches.is_empty()) {
            self.commands.push_front(Command::Retry { peer, batches });
        }
    }

    /// A connection has ended that this side did not close. If this side was expecting nothing over it, or has only
    /// just asked over it, the peer stays known and is connected again when something is to be read: the other side may
    /// have closed the connection as idle and its CLOSING was lost, or a firewall has forgotten it. Else the peer has
    /// failed.
    pub(super) fn connection_lost(&mut self, other: InstanceId, why: &str, now: Instant) {
        if self.reader.may_connect_again(other, now) {
            self.shared.statistics().add(Statistic::ConnectionsLostIdle, 1);
            self.set_idle(other);
        } else {
            self.close_link(other, Failure::Peer, why);
        }
    }

    /// Closes a connection and tells the other side, in case it can still receive: a wire need not report a close, and
    /// without the message the other side's reads from here would end only at their own timeout.
    pub(super) fn end_link(&mut self, other: InstanceId, failure: Failure, why: &str) {
        if let Some(link) = self.links.get(other) {
            let why = format!("it has closed the connection, because of this side: {why}");
            self.send(other, link.endpoint, Body::Refused { number: link.number, refused: link.number, why });
        }
        self.close_link(other, failure, why);
    }

    /// Closes a connection and ends both roles that use it: nothing more is read over it in either direction.
    pub(super) fn close_link(&mut self, other: InstanceId, failure: Failure, why: &str) {
        self.drop_link(other);
        if let Some(peer) = self.reader.peer_of(other) {
            self.tell_failed(peer, self.reader.attempt_of(peer), why);
            self.reader.give_up(peer, failure);
        }
    }

    /// Closes a connection, and ends what the other side reads from here over it.
    fn drop_link(&mut self, other: InstanceId) {
        self.links.close(&mut self.wire, other);
        self.tags.forget(other);
        self.owner.forget(&mut self.wire, other);
        self.note_connections();
    }

    fn note_connections(&self) {
        self.shared.statistics().set(Statistic::Connections, self.links.count() as u64);
    }

    /// Gives a peer up.
    pub(super) fn give_up(&mut self, broken: Broken) {
        if let Some(other) = self.reader.owner_of(broken.peer) {
            self.end_link(other, broken.failure, &broken.why);
        }
    }
}
