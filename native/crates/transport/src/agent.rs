//! The duty cycle: everything one process does for its transport, on one thread, without waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_mem::Arena;

use crate::catalog::{Catalog, MapOutput};
use crate::completions::{Completions, Failure};
use crate::links::Links;
use crate::message::{Block, Body, InstanceId, Message, VERSION};
use crate::owner::{Answer, Owner};
use crate::proof::{Secret, random_instance};
use crate::reader::{Broken, Outgoing, OwnerOf, PeerNumber, Reader};
use crate::windows::Windows;
use crate::wire::{Endpoint, Event, Opened, Wire};

/// How a transport is set up.
#[derive(Clone)]
pub struct Options {
    /// What peers must prove to know; empty when the application has no secret.
    pub secret: Vec<u8>,
    /// How long a peer of which something is expected may give no sign of life.
    pub timeout: Duration,
    /// How many bytes of mapped files that nobody reads are kept mapped and registered.
    pub idle_window_bytes: usize,
    /// The most connections at once, in both directions together.
    pub max_connections: usize,
    /// How long a connection that nothing passes over is kept.
    pub connection_idle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            secret: Vec::new(),
            timeout: Duration::from_secs(20),
            idle_window_bytes: 4 << 30,
            max_connections: 1024,
            // As Spark's own connections (spark.network.timeout).
            connection_idle: Duration::from_secs(120),
        }
    }
}

/// What the callers' threads want done.
pub(crate) enum Command {
    Connect { peer: PeerNumber, attempt: u64, address: Vec<u8> },
    Disconnect { peer: PeerNumber },
    Fetch { request: u64, peer: PeerNumber, blocks: Vec<Block> },
    Withdraw(Vec<Arc<MapOutput>>),
}

/// What an agent shares with its callers.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) completions: Arc<Completions>,
    pub(crate) commands: Mutex<Vec<Command>>,
    /// Grows with every small step of the agent: it stands still while a call of the system or the library does not return.
    pub(crate) steps: AtomicU64,
    pub(crate) connections: ConnectionCounts,
    /// The peers that were connected and not disconnected since.
    pub(crate) peers: Mutex<HashMap<PeerNumber, PeerState>>,
}

/// What has become of connections. Any thread may look at it.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    /// Connections that are open.
    pub open: AtomicU64,
    /// Connections that were opened.
    pub opened: AtomicU64,
    /// Those that were closed because nothing passed over them, or to make room for others.
    pub idle_closed: AtomicU64,
    /// Times that there was no room for one more.
    pub no_room: AtomicU64,
}

/// What a caller may know of a peer at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerState {
    /// The number of the last attempt to connect: what earlier ones came to does not count any more.
    pub(crate) attempt: u64,
    /// Whether its self-test was passed.
    pub(crate) ready: bool,
    /// How that attempt has failed.
    pub(crate) error: Option<String>,
}

impl Shared {
    fn take_commands(&self) -> Vec<Command> {
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The agent has come one step on.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn ready(&self, peer: PeerNumber, attempt: u64) {
        self.change(peer, attempt, |state| state.ready = true);
    }

    fn failed(&self, peer: PeerNumber, attempt: u64, why: &str) {
        self.change(peer, attempt, |state| state.error = Some(why.to_string()));
    }

    fn change(&self, peer: PeerNumber, attempt: u64, change: impl FnOnce(&mut PeerState)) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = peers.get_mut(&peer).filter(|state| state.attempt == attempt) {
            change(state);
        }
    }
}

/// Both sides of one process: the owner of its map outputs and the reader of others'.
///
/// Two processes share one connection, whoever opened it, so that each side's closing it ends what the other knows.
pub(crate) struct Agent<W: Wire> {
    wire: W,
    shared: Arc<Shared>,
    instance: InstanceId,
    address: Vec<u8>,
    owner: Owner,
    reader: Reader,
    links: Links,
    connection_idle: Duration,
    events: Vec<Event>,
    checked: Option<Instant>,
    turns: u64,
}

/// A turn that takes longer, or that comes later, is a pause of this process.
const LONGEST_TURN: Duration = Duration::from_millis(200);
/// What owners need not keep any more is told with the next question, when there is nothing else to do, or after so many turns.
const TURNS_BEFORE_DONE: u64 = 64;
/// How often silent peers are looked for.
const CHECK_EVERY: Duration = Duration::from_millis(50);

impl<W: Wire> Agent<W> {
    pub(crate) fn new(wire: W, arena: Arc<Arena>, shared: Arc<Shared>, options: &Options) -> Self {
        let instance = random_instance();
        let address = [&instance.0.to_le_bytes(), wire.address()].concat();
        let secret = Secret::new(&options.secret);
        let windows = Windows::new(options.idle_window_bytes);
        let owner = Owner::new(instance, secret.clone(), Arc::clone(&shared.catalog), windows);
        let completions = Arc::clone(&shared.completions);
        let reader = Reader::new(instance, address.clone(), secret, arena, completions, options.timeout);
        Self {
            wire,
            shared,
            instance,
            address,
            owner,
            reader,
            links: Links::new(options.max_connections),
            connection_idle: options.connection_idle,
            events: Vec::new(),
            checked: None,
            turns: 0,
        }
    }

    /// What peers need to connect: the instance, then the wire's address.
    pub(crate) fn address(&self) -> &[u8] {
        &self.address
    }

    pub(crate) fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    #[cfg(test)]
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    #[cfg(test)]
    pub(crate) fn windows(&self) -> &Windows {
        &self.owner.windows
    }

    /// Does what there is to do; whether there was anything.
    pub(crate) fn turn(&mut self, now: Instant) -> bool {
        let mut events = std::mem::take(&mut self.events);
        self.wire.progress(&mut events);
        // After the wire's turn: who asks for an output can have heard of it only after it was published.
        let commands = self.shared.take_commands();
        let worked = !events.is_empty() || !commands.is_empty();
        self.excuse_pause(now);
        for command in commands {
            self.shared.step();
            self.command(command, now);
        }
        for event in events.drain(..) {
            self.shared.step();
            self.event(event, now);
        }
        self.events = events;
        self.reader.start_gets(&mut self.wire);
        self.shared.step();
        self.turns += 1;
        if !worked || self.turns.is_multiple_of(TURNS_BEFORE_DONE) {
            let done = self.reader.take_done();
            self.send_all(done);
        }
        if self.checked.is_none_or(|last| now.saturating_duration_since(last) >= CHECK_EVERY) {
            self.checked = Some(now);
            self.reader.silent(now).into_iter().for_each(|broken| self.give_up(broken));
            self.close_idle(now);
        }
        self.reader.deliver();
        worked
    }

    /// Time in which this agent did not run is no silence of its peers.
    fn excuse_pause(&mut self, now: Instant) {
        let pause = self.checked.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        if pause > LONGEST_TURN {
            self.reader.excuse(pause, now);
        }
    }

    /// Whether something is waited for that may come at any moment.
    pub(crate) fn expects(&self) -> bool {
        self.reader.expects()
    }

    /// Ends everything; no block is completed any more.
    pub(crate) fn stop(&mut self) {
        self.shared.completions.close();
        for other in self.links.others() {
            self.close_link(other, Failure::Peer, "the transport was stopped");
        }
        self.links.close_refusals(&mut self.wire);
        // Reads end before their leases go.
        let end = Instant::now() + Duration::from_secs(1);
        let mut events = Vec::new();
        while self.reader.has_gets() && Instant::now() < end {
            self.wire.progress(&mut events);
            for event in events.drain(..) {
                if let Event::Got { token, result } = event {
                    let now = Instant::now();
                    if self.reader.tested(token, &result, now).is_none() {
                        self.reader.got(token, false, now);
                    }
                }
            }
        }
        self.reader.leak_gets();
        self.reader.deliver();
        self.owner.close(&mut self.wire);
    }

    fn command(&mut self, command: Command, now: Instant) {
        match command {
            Command::Connect { peer, attempt, address } => self.connect(peer, attempt, &address, now),
            Command::Disconnect { peer } => self.disconnect(peer),
            Command::Fetch { request, peer, blocks } => {
                self.reconnect(peer, now);
                let messages = self.reader.fetch(request, peer, &blocks, now);
                self.send_all(messages);
            }
            Command::Withdraw(outputs) => {
                outputs.iter().for_each(|output| self.owner.windows.withdraw(&mut self.wire, output));
            }
        }
    }

    fn connect(&mut self, peer: PeerNumber, attempt: u64, address: &[u8], now: Instant) {
        let Some((instance, _)) = split_address(address) else {
            self.shared.failed(peer, attempt, "its address is malformed");
            return;
        };
        if self.reader.owner_of(peer).is_some() {
            self.disconnect(peer);
        }
        match self.link(instance, address, now) {
            Ok(link) => {
                let owner = OwnerOf { attempt, instance, address: address.to_vec() };
                let hello = self.reader.connect(peer, owner, link, now);
                self.send(link.endpoint, hello);
            }
            Err(why) => {
                self.shared.failed(peer, attempt, &why);
                self.reader.give_up(peer, Failure::Peer);
            }
        }
    }

    /// Connects to a peer whose connection was closed because it was idle.
    fn reconnect(&mut self, peer: PeerNumber, now: Instant) {
        if let Some(owner) = self.reader.idle_owner(peer) {
            self.connect(peer, owner.attempt, &owner.address, now);
        }
    }

    /// Ends a peer's reading; the connection stays while the other side reads from here.
    fn disconnect(&mut self, peer: PeerNumber) {
        let Some(other) = self.reader.owner_of(peer) else { return self.reader.give_up(peer, Failure::Peer) };
        if self.owner.has_session(other) {
            self.reader.give_up(peer, Failure::Peer);
        } else {
            self.end_link(other, Failure::Peer, "it was disconnected");
        }
    }

    /// The connection to another process, opened if there is none and there is room for it.
    fn link(&mut self, other: InstanceId, address: &[u8], now: Instant) -> Result<Opened, String> {
        let (_, wire_address) = split_address(address).ok_or("its address is malformed")?;
        if !self.links.has_room_for(other) && !self.make_room(now) {
            self.shared.connections.no_room.fetch_add(1, Ordering::Relaxed);
            let limit = self.links.limit();
            return Err(format!(
                "there is no room for another connection: all {limit} are in use (spark.sluice.transport.maxConnections)"
            ));
        }
        let known = self.links.get(other).is_some();
        let link = self.links.open(&mut self.wire, other, wire_address, now).map_err(|e| e.to_string())?;
        if !known {
            self.shared.connections.opened.fetch_add(1, Ordering::Relaxed);
            self.shared.connections.open.fetch_add(1, Ordering::Relaxed);
        }
        Ok(link)
    }

    /// Closes the connection that was used least recently, of those over which nothing is under way; whether there was one.
    fn make_room(&mut self, now: Instant) -> bool {
        let Self { reader, owner, links, .. } = self;
        let idle = links.least_recent(now, |other| reader.expects_nothing_of(other) && !owner.has_pins(other));
        idle.into_iter().for_each(|other| self.close_idle_link(other, now));
        idle.is_some()
    }

    /// Closes the connections over which nothing has passed for long and nothing is under way.
    fn close_idle(&mut self, now: Instant) {
        loop {
            let Self { reader, owner, links, connection_idle, .. } = self;
            let may_close = |other| reader.expects_nothing_of(other) && !owner.has_pins(other);
            let Some(other) = links.idle_for(*connection_idle, now, may_close) else { break };
            self.close_idle_link(other, now);
        }
        self.links.end_refusals(&mut self.wire, now);
    }

    fn close_idle_link(&mut self, other: InstanceId, now: Instant) {
        if let Some(link) = self.links.get(other) {
            self.send(link.endpoint, Body::Closing { number: link.number });
        }
        self.shared.connections.idle_closed.fetch_add(1, Ordering::Relaxed);
        self.set_idle(other, now);
    }

    /// Closes a connection that either side has found idle. The peer stays known, and if it was being asked something in this very
    /// moment it is connected again.
    fn set_idle(&mut self, other: InstanceId, now: Instant) {
        self.drop_link(other);
        if let Some((peer, unanswered)) = self.reader.set_idle(other).filter(|(_, batches)| !batches.is_empty()) {
            self.reconnect(peer, now);
            self.reader.retry(peer, unanswered);
        }
    }

    /// Closes a connection and tells the other side, should it ever hear again: a wire need not do that, and then what it reads
    /// from here would have to wait for its own timeout.
    fn end_link(&mut self, other: InstanceId, failure: Failure, why: &str) {
        if let Some(link) = self.links.get(other) {
            let why = format!("it has closed the connection, because of this side: {why}");
            self.send(link.endpoint, Body::Refused { number: link.number, refused: link.number, why });
        }
        self.close_link(other, failure, why);
    }

    /// Closes a connection; both roles over it are at their end.
    fn close_link(&mut self, other: InstanceId, failure: Failure, why: &str) {
        self.drop_link(other);
        if let Some(peer) = self.reader.peer_of(other) {
            self.shared.failed(peer, self.reader.attempt_of(peer), why);
            self.reader.give_up(peer, failure);
        }
    }

    /// Closes a connection, and ends what the other side reads from here over it.
    fn drop_link(&mut self, other: InstanceId) {
        if self.links.get(other).is_some() {
            self.shared.connections.open.fetch_sub(1, Ordering::Relaxed);
        }
        self.links.close(&mut self.wire, other);
        self.owner.forget(&mut self.wire, other);
    }

    /// Gives a peer up.
    fn give_up(&mut self, broken: Broken) {
        if let Some(other) = self.reader.owner_of(broken.peer) {
            self.end_link(other, broken.failure, &broken.why);
        }
    }

    pub(crate) fn event(&mut self, event: Event, now: Instant) {
        match event {
            Event::Message(bytes) => {
                // What cannot be read has no sender that could be told.
                if let Ok(message) = Message::decode(&bytes) {
                    self.message(message, now);
                }
            }
            Event::Got { token, result } => match self.reader.tested(token, &result, now) {
                Some(Ok(tested)) => {
                    self.send_all(tested.messages);
                    if let Some(peer) = tested.ready {
                        self.shared.ready(peer, self.reader.attempt_of(peer));
                    }
                }
                Some(Err(broken)) => self.give_up(broken),
                None => self.reader.got(token, result.is_ok(), now),
            },
            Event::Stuck { endpoint, error } => {
                if let Some(other) = self.links.at(endpoint) {
                    self.end_link(other, Failure::Timeout, &error.to_string());
                }
            }
            Event::Failed { endpoint, error } => match self.links.at(endpoint) {
                Some(other) => self.close_link(other, Failure::Peer, &error.to_string()),
                None => self.wire.close(endpoint),
            },
        }
    }

    fn message(&mut self, message: Message, now: Instant) {
        let sender = message.sender;
        self.links.touch(sender, now);
        match message.body {
            Body::Hello { version, number, nonce, address } => {
                self.hello(sender, version, number, nonce, &address, now);
            }
            Body::Challenge { reader_nonce, nonce, proof } => {
                match self.reader.challenge(sender, reader_nonce, nonce, &proof, now) {
                    Ok(messages) => self.send_all(messages),
                    Err(broken) => self.give_up(broken),
                }
            }
            Body::Proof { proof } => {
                let answer = self.owner.proof(&mut self.wire, sender, &proof);
                self.answer(sender, answer);
            }
            Body::Sample { address, content, key } => {
                self.reader.sample(&mut self.wire, sender, address, content, &key, now);
            }
            Body::Locate { batch, done, blocks } => {
                self.owner.done(&mut self.wire, sender, &done);
                let answer = self.owner.locate(&mut self.wire, sender, batch, &blocks, || self.shared.step());
                self.answer(sender, Some(answer));
            }
            Body::Located { batch, keys, found } => {
                if let Err(broken) = self.reader.located(sender, batch, &keys, &found, now) {
                    self.give_up(broken);
                }
            }
            Body::Done { batches } => self.owner.done(&mut self.wire, sender, &batches),
            Body::Refused { number, refused, why } => self.refused(sender, number, refused, &why),
            Body::Closing { number } => {
                if self.links.get(sender).is_some_and(|link| link.number == number) {
                    self.set_idle(sender, now);
                }
            }
        }
    }

    /// The number says which connection of the reader's this came over. Only if it is the other end of this side's is there a
    /// session: closing another one here would not end the reads.
    fn hello(&mut self, reader: InstanceId, version: u16, number: u32, nonce: [u8; 16], address: &[u8], now: Instant) {
        if split_address(address).map(|(instance, _)| instance) != Some(reader) {
            return;
        }
        if version == VERSION {
            self.links.hear(reader, number);
            if self.links.get(reader).is_some_and(|link| link.number < number) {
                if self.reader.expects_nothing_of(reader) {
                    self.set_idle(reader, now);
                } else {
                    self.close_link(reader, Failure::Peer, "it has connected again");
                }
            }
        }
        let link = match self.link(reader, address, now) {
            Ok(link) => link,
            Err(why) => return self.refuse(number, why, address, now),
        };
        let refusal = |why| Body::Refused { number: link.number, refused: number, why };
        let answer = if version != VERSION {
            refusal(format!("it speaks version {VERSION} of Sluice's protocol, not {version}"))
        } else if link.number != number {
            refusal(format!("it knows connection {} where this is connection {number}", link.number))
        } else {
            self.owner.hello(reader, nonce, address)
        };
        self.send(link.endpoint, answer);
    }

    /// Tells a process to which there is no connection that there will be none.
    fn refuse(&mut self, number: u32, why: String, address: &[u8], now: Instant) {
        let Some((_, wire_address)) = split_address(address) else { return };
        if let Some(link) = self.links.open_refusal(&mut self.wire, wire_address, now) {
            self.send(link.endpoint, Body::Refused { number: link.number, refused: number, why });
        }
    }

    /// The other side has closed a connection, or waits at another one.
    fn refused(&mut self, sender: InstanceId, number: u32, refused: u32, why: &str) {
        self.links.hear(sender, number);
        // It may come late, when there is another connection.
        if self.links.get(sender).is_some_and(|link| link.number <= refused) {
            self.close_link(sender, Failure::Peer, &format!("it refuses: {why}"));
        }
    }

    /// Over the connection that there is; a refusal is of this connection.
    fn answer(&mut self, to: InstanceId, answer: Option<Answer>) {
        let (Some(link), Some(answer)) = (self.links.get(to), answer) else { return };
        let body = answer.unwrap_or_else(|why| Body::Refused { number: link.number, refused: link.number, why });
        self.send(link.endpoint, body);
    }

    fn send_all(&mut self, messages: impl IntoIterator<Item = Outgoing>) {
        messages.into_iter().for_each(|(to, body)| self.answer(to, Some(Ok(body))));
    }

    fn send(&mut self, endpoint: Endpoint, body: Body) {
        self.wire.send(endpoint, Message { sender: self.instance, body }.encode());
    }
}

/// An agent's address: the instance, then the wire's.
fn split_address(address: &[u8]) -> Option<(InstanceId, &[u8])> {
    let (instance, wire) = address.split_first_chunk::<8>()?;
    Some((InstanceId(u64::from_le_bytes(*instance)), wire))
}
