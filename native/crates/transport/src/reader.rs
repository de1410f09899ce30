//! The side that reads: asks owners where blocks are, and fills leased memory by one-sided reads.
//!
//! ```text
//!   Reader ── Session    one connection: handshake, questions, answers
//!          ├─ Batches    the blocks of a question: their memory, their ends
//!          ├─ Schedule   which gets are begun when
//!          │   └─ Pace   how much one connection has under way
//!          └─ Watch      peers that have sent nothing for too long
//! ```

mod batches;
mod pace;
mod schedule;
mod session;
mod watch;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::{Arena, MemoryKind};

use self::batches::Batches;
pub use self::schedule::Waits;
use self::schedule::{Schedule, Turn};
use self::session::{DeviceSample, Identity, Session, SessionId};
pub(crate) use self::session::{PeerAddress, PeerNumber};
use self::watch::Watch;
use crate::completions::{Completion, Completions, Failure};
use crate::message::{Block, Body, Found, InstanceId, Key, MAX_DONE, Nonce, Proof, SAMPLE_BYTES};
use crate::options::TransportOptions;
use crate::plan::{Planned, plan};
use crate::proof::{Secret, SessionKeys, Unproven};
use crate::sample::Probe;
use crate::told::{MOST_OF_ALL, MOST_OF_ONE, Told, ToldBudget, ToldKey, check_key_length};
use crate::wire::{Get, Opened, Wire, WireError};

/// The part of the timeout for which a block waits for memory at most before it is fetched in another way: 2 s as a
/// rule.
const MEMORY_PATIENCE: u32 = 10;
/// The part of the timeout within which a connection must have failed after it was asked over, for its questions to be
/// asked again over another one: 2 s as a rule.
const FAILED_AT_ONCE: u32 = 10;
/// Blocks asked for with one message.
const BATCH_BLOCKS: usize = 512;

/// Every fetch of this process.
pub(crate) struct Reader {
    identity: Identity,
    completions: Arc<Completions>,
    sessions: HashMap<PeerNumber, Session>,
    by_owner: HashMap<InstanceId, PeerNumber>,
    /// Peers whose connections were closed because they were idle: the next fetch connects again.
    idle: HashMap<PeerNumber, PeerAddress>,
    batches: Batches,
    schedule: Schedule,
    watch: Watch,
    /// By token: the samples that are being read, and whose they are.
    probes: HashMap<u64, (PeerNumber, Probe)>,
    /// The same, of the memory of owners' GPUs.
    device_probes: HashMap<u64, (SessionId, PeerNumber, Probe)>,
    /// For what all owners have told.
    told: Rc<ToldBudget>,
    /// Connections that were ended because their owners told of more than may be kept.
    told_too_much: u64,
    /// Of batches and gets: the last one given.
    last: u64,
    last_session: u64,
}

/// A message and the peer that it is for.
pub(crate) type Outgoing = (InstanceId, Body);

/// What follows from the end of a sample's read.
#[derive(Default)]
pub(crate) struct Tested {
    /// A peer that may be asked, from now on or already.
    pub(crate) ready: Option<PeerNumber>,
    /// Whether the memory of the owner's GPU can be read, if that was tested.
    pub(crate) device: Option<bool>,
    pub(crate) messages: Vec<Outgoing>,
}

/// A peer that must be given up, and why.
pub(crate) struct Broken {
    pub(crate) peer: PeerNumber,
    pub(crate) failure: Failure,
    pub(crate) why: String,
}

impl Broken {
    /// The peer, or the way to it, has failed.
    fn peer(peer: PeerNumber, why: String) -> Self {
        Self { peer, failure: Failure::Peer, why }
    }
}

impl Reader {
    pub(crate) fn new(
        instance: InstanceId,
        address: Vec<u8>,
        secret: Secret,
        arena: Arc<Arena>,
        completions: Arc<Completions>,
        options: &TransportOptions,
    ) -> Self {
        let identity = Identity { instance, address, secret };
        let (batches, watch) = (Batches::new(arena), Watch::new(options.timeout));
        let schedule = Schedule::new(options.timeout / MEMORY_PATIENCE, options.max_gets);
        let (sessions, by_owner, idle, probes, device_probes, last, last_session, told_too_much) = Default::default();
        let told = ToldBudget::new(MOST_OF_ONE, MOST_OF_ALL);
        Self {
            identity,
            completions,
            sessions,
            by_owner,
            idle,
            batches,
            schedule,
            watch,
            probes,
            device_probes,
            told,
            told_too_much,
            last,
            last_session,
        }
    }

    pub(crate) fn peer_of(&self, owner: InstanceId) -> Option<PeerNumber> {
        self.by_owner.get(&owner).copied()
    }

    pub(crate) fn owner_of(&self, peer: PeerNumber) -> Option<InstanceId> {
        self.sessions.get(&peer).map(|session| session.owner.instance)
    }

    /// Whether it is the owner that refuses this process's greeting: nobody else has the proof.
    pub(crate) fn is_turned_away(
        &self,
        owner: InstanceId,
        reader_nonce: Nonce,
        numbers: (u32, u32),
        why: &str,
        proof: &Proof,
    ) -> bool {
        let session = self.peer_of(owner).and_then(|peer| self.sessions.get(&peer));
        session.is_some_and(|session| session.is_turned_away(&self.identity, reader_nonce, numbers, why, proof))
    }

    pub(crate) fn attempt_of(&self, peer: PeerNumber) -> u64 {
        self.sessions.get(&peer).map_or(0, |session| session.owner.attempt)
    }

    /// A new connection to an owner; the greeting to send.
    pub(crate) fn connect(&mut self, peer: PeerNumber, owner: PeerAddress, link: Opened, now: Instant) -> Body {
        self.last_session += 1;
        let (id, instance) = (SessionId(self.last_session), owner.instance);
        let session = Session::new(id, owner, link.endpoint, Told::new(&self.told));
        let hello = session.hello(link, &self.identity);
        self.schedule.open(id, peer, link.endpoint);
        self.idle.remove(&peer);
        self.sessions.insert(peer, session);
        self.by_owner.insert(instance, peer);
        self.watch.expect(peer, now);
        hello
    }

    /// Accepts a fetch. Of a peer that is not there, its blocks end at once.
    pub(crate) fn fetch(&mut self, request: u64, peer: PeerNumber, blocks: &[Block], now: Instant) -> Vec<Outgoing> {
        let Some(session) = self.sessions.get_mut(&peer) else {
            let failed = |index| Completion { request, index, result: Err(Failure::Peer) };
            self.batches.ended.extend((0..blocks.len() as u32).map(failed));
            return Vec::new();
        };
        if session.is_unused() {
            self.watch.expect(peer, now);
        }
        let (accepted, of) = (self.schedule.waited(session.id, now), (peer, session.owner.instance));
        for (chunk, blocks) in blocks.chunks(BATCH_BLOCKS).enumerate() {
            self.last += 1;
            let first = (chunk * BATCH_BLOCKS) as u32;
            self.batches.add(self.last, of, request, first, blocks, accepted);
            session.add(self.last);
        }
        self.settle(peer);
        self.ask(peer, now)
    }

    /// The questions that may be asked now. None over a connection that waits for memory: what an answer tells of stays
    /// registered at its owner until it has been read.
    fn ask(&mut self, peer: PeerNumber, now: Instant) -> Vec<Outgoing> {
        let schedule = &self.schedule;
        let may_ask = |session: &&mut Session| session.is_ready() && !schedule.is_waiting(session.id);
        let Some(session) = self.sessions.get_mut(&peer).filter(may_ask) else {
            return Vec::new();
        };
        let (owner, unasked) = (session.owner.instance, session.ask(now));
        let mut done = if unasked.is_empty() { Vec::new() } else { self.batches.take_done_of(owner, MAX_DONE) };
        let ask = |batch: u64| {
            let blocks = self.batches.blocks(batch)?;
            Some((owner, Body::Locate { batch, done: std::mem::take(&mut done), blocks }))
        };
        unasked.into_iter().filter_map(ask).collect()
    }

    /// The owner's proof and challenge: the answer, after which messages have tags of these keys; none when it answers
    /// another greeting.
    ///
    /// # Errors
    /// The owner's proof is wrong. It may come from somebody else, so the owner's own is waited for.
    pub(crate) fn challenge(
        &mut self,
        owner: InstanceId,
        reader_nonce: Nonce,
        owner_nonce: Nonce,
        proof: &Proof,
        now: Instant,
    ) -> Result<Option<(Body, SessionKeys)>, Unproven> {
        let known = self.peer_of(owner).and_then(|peer| Some((peer, self.sessions.get_mut(&peer)?)));
        let Some((peer, session)) = known else { return Ok(None) };
        let answer = session.challenge(&self.identity, reader_nonce, owner_nonce, proof)?;
        if answer.is_some() {
            self.watch.heard(peer, now);
        }
        Ok(answer)
    }

    /// The owner has accepted the proof and tells what to read first.
    ///
    /// # Errors
    /// The key is too long to be one.
    pub(crate) fn sample<W: Wire>(
        &mut self,
        wire: &mut W,
        owner: InstanceId,
        remote: u64,
        content: [u8; SAMPLE_BYTES],
        key: &[u8],
        now: Instant,
    ) -> Result<(), Broken> {
        let Some(peer) = self.peer_of(owner) else { return Ok(()) };
        let token = self.last + 1;
        let Some(session) = self.sessions.get_mut(&peer) else { return Ok(()) };
        if !session.test(token) {
            return Ok(());
        }
        check_key_length(key.len()).map_err(|why| self.too_much(peer, why))?;
        let Some(session) = self.sessions.get(&peer) else { return Ok(()) };
        self.last = token;
        self.watch.heard(peer, now);
        let mut probe = Probe::new(content);
        let get = Get { token, key, remote, local: probe.memory(), bytes: SAMPLE_BYTES, kind: MemoryKind::Host };
        self.probes.insert(token, (peer, probe));
        // SAFETY: the probe's memory is on the heap and stays until `tested` has been told that the read has ended, or
        // is leaked (`leak_gets`).
        unsafe { wire.get(session.endpoint, get) };
        Ok(())
    }

    /// The owner has told of more than is kept, or of what is no key.
    fn too_much(&mut self, peer: PeerNumber, why: String) -> Broken {
        self.told_too_much += 1;
        Broken::peer(peer, why)
    }

    /// The owner tells of a sample in the memory of its GPU. It is read when the host's has come, so that nothing waits
    /// for it; of a second one nothing is done.
    ///
    /// # Errors
    /// The key is too long to be one.
    pub(crate) fn device_sample<W: Wire>(
        &mut self,
        wire: &mut W,
        owner: InstanceId,
        remote: u64,
        content: [u8; SAMPLE_BYTES],
        key: Vec<u8>,
    ) -> Result<(), Broken> {
        let Some(peer) = self.peer_of(owner) else { return Ok(()) };
        check_key_length(key.len()).map_err(|why| self.too_much(peer, why))?;
        let Some(session) = self.sessions.get_mut(&peer) else { return Ok(()) };
        session.hear_device_sample(DeviceSample { remote, content, key });
        self.test_device(wire, peer);
        Ok(())
    }

    fn test_device<W: Wire>(&mut self, wire: &mut W, peer: PeerNumber) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let Some(DeviceSample { remote, content, key }) = session.take_device_sample() else { return };
        self.last += 1;
        let (token, mut probe) = (self.last, Probe::new(content));
        let (local, bytes, kind) = (probe.memory(), SAMPLE_BYTES, MemoryKind::Host);
        let get = Get { token, key: &key, remote, local, bytes, kind };
        self.device_probes.insert(token, (session.id, peer, probe));
        // SAFETY: the probe's memory is on the heap and stays until `device_tested` has been told that the read has
        // ended, or is leaked (`leak_gets`).
        unsafe { wire.get(session.endpoint, get) };
    }

    /// The read of a sample on a device has ended.
    fn device_tested(&mut self, token: u64, result: &Result<(), WireError>) -> Option<Tested> {
        let (session, peer, probe) = self.device_probes.remove(&token)?;
        let readable = result.is_ok() && probe.is_right();
        let Some(session) = self.sessions.get_mut(&peer).filter(|known| known.id == session) else {
            return Some(Tested::default());
        };
        session.set_reads_device(readable);
        Some(Tested { ready: Some(peer), device: Some(readable), messages: Vec::new() })
    }

    /// Whether the memory of this owner's GPU can be read: not before a sample has come from there as it was.
    pub(crate) fn reads_device_of(&self, peer: PeerNumber) -> bool {
        self.sessions.get(&peer).is_some_and(Session::reads_device)
    }

    /// A read has ended; if it was a sample's and its bytes are right, its owner is ready and is asked. `None`: it was
    /// none of these.
    pub(crate) fn tested<W: Wire>(
        &mut self,
        wire: &mut W,
        token: u64,
        result: &Result<(), WireError>,
        now: Instant,
    ) -> Option<Result<Tested, Broken>> {
        if let Some(tested) = self.device_tested(token, result) {
            return Some(Ok(tested));
        }
        let (peer, probe) = self.probes.remove(&token)?;
        let Some(session) = self.sessions.get_mut(&peer).filter(|session| session.is_tested_by(token)) else {
            return Some(Ok(Tested::default()));
        };
        let why = match result {
            Ok(()) if probe.is_right() => {
                session.become_ready();
                self.watch.heard(peer, now);
                self.settle(peer);
                self.test_device(wire, peer);
                return Some(Ok(Tested { ready: Some(peer), device: None, messages: self.ask(peer, now) }));
            }
            Ok(()) => "the self-test read other bytes than it has".to_string(),
            Err(error) => format!("the self-test could not read it: {error}"),
        };
        Some(Err(Broken::peer(peer, why)))
    }

    /// Where the blocks of a batch are.
    ///
    /// # Errors
    /// The answer is not one to what was asked, or more than is kept of an owner's answers.
    pub(crate) fn located(
        &mut self,
        owner: InstanceId,
        batch: u64,
        keys: &[Key],
        found: &[Found],
        now: Instant,
    ) -> Result<(), Broken> {
        let known = self.peer_of(owner).and_then(|peer| Some((peer, self.sessions.get_mut(&peer)?)));
        let (Some((peer, session)), Some(blocks)) = (known, self.batches.expected_of(batch, owner)) else {
            self.batches.tell_done(owner, batch);
            return Ok(());
        };
        self.watch.heard(peer, now);
        session.answered(batch).map_err(|why| Broken::peer(peer, why))?;
        if found.len() != blocks {
            let why = format!("it told of {} blocks when asked for {blocks}", found.len());
            return Err(Broken::peer(peer, why));
        }
        let kept = session.told.keep(keys, found, size_of::<Planned>());
        let session = session.id;
        let keys: Vec<Rc<ToldKey>> = kept.map_err(|why| self.too_much(peer, why))?;
        let batches = &mut self.batches;
        self.schedule.plan(session, |planned| {
            for (part, found) in found.iter().enumerate() {
                batches.located(batch, part, plan(found, &keys, batch, part, planned));
            }
        });
        self.finish(batch);
        Ok(())
    }

    /// Hands the blocks that have ended to the callers; whether that could be done without waiting for one of them.
    pub(crate) fn deliver(&mut self) -> bool {
        self.completions.append(&mut self.batches.ended)
    }

    /// Starts as many reads as may be under way; what is asked of peers whose connections wait for memory no longer.
    pub(crate) fn start_gets<W: Wire>(&mut self, wire: &mut W, now: Instant) -> Vec<Outgoing> {
        let Turn { over, resumed } = self.schedule.begin(wire, &mut self.batches, &mut self.last, now);
        over.into_iter().for_each(|batch| self.finish(batch));
        resumed.into_iter().flat_map(|peer| self.ask(peer, now)).collect()
    }

    /// A read has ended.
    pub(crate) fn got(&mut self, token: u64, ok: bool, now: Instant) {
        let Some((started, peer)) = self.schedule.ended(token, now) else { return };
        peer.into_iter().for_each(|peer| self.watch.heard(peer, now));
        let held = self.batches.end_get(started.batch, started.part, started.bytes, ok);
        self.schedule.let_go(started.session, held);
        self.finish(started.batch);
    }

    /// Forgets a batch if it has come to its end; its owner is to know.
    fn finish(&mut self, batch: u64) {
        let Some(peer) = self.batches.finish(batch) else { return };
        if let Some(session) = self.sessions.get_mut(&peer) {
            session.finished(batch);
            self.settle(peer);
        }
    }

    /// Stops watching a peer of which nothing is expected any more.
    fn settle(&mut self, peer: PeerNumber) {
        if self.sessions.get(&peer).is_none_or(|session| !session.expects()) {
            self.watch.settle(peer);
        }
    }

    /// What owners are to know that no question has told them.
    pub(crate) fn take_done(&mut self) -> Vec<Outgoing> {
        let done = self.batches.take_done();
        let messages = |(owner, batches): (InstanceId, Vec<u64>)| -> Vec<Outgoing> {
            batches.chunks(MAX_DONE).map(|batches| (owner, Body::Done { batches: batches.to_vec() })).collect()
        };
        done.flat_map(messages).collect()
    }

    /// Whether nothing is expected of a process: it may not be a peer at all.
    pub(crate) fn expects_nothing_of(&self, owner: InstanceId) -> bool {
        let session = self.peer_of(owner).and_then(|peer| self.sessions.get(&peer));
        session.is_none_or(|session| !session.expects())
    }

    /// Whether a connection to an owner that has ended now counts as one that was closed because it was idle
    /// ([`Reader::set_idle`]): nothing is under way over it but questions that were asked a moment ago. False if the
    /// process is no peer.
    pub(crate) fn may_connect_again(&self, owner: InstanceId, now: Instant) -> bool {
        let session = self.peer_of(owner).and_then(|peer| self.sessions.get(&peer));
        let patience = self.watch.timeout / FAILED_AT_ONCE;
        session.is_some_and(|session| session.may_ask_elsewhere(patience, now))
    }

    /// The connection to an owner was closed because it was idle. The peer stays known; if it was being asked something
    /// in this very moment, those batches are given back, to be asked for again ([`Reader::retry`]).
    pub(crate) fn set_idle(&mut self, owner: InstanceId) -> Option<(PeerNumber, Vec<u64>)> {
        let peer = self.peer_of(owner)?;
        let lost = self.remove(peer)?;
        self.idle.insert(peer, lost.owner.clone());
        let may_retry = lost.may_retry();
        let (unanswered, others) = lost.into_batches();
        // Neither side closes a connection over which something was answered and is being read.
        self.fail(others.into_iter(), Failure::Peer);
        if may_retry {
            return Some((peer, unanswered));
        }
        self.fail(unanswered.into_iter(), Failure::Peer);
        Some((peer, Vec::new()))
    }

    /// The identity of a peer whose connection was closed because it was idle.
    pub(crate) fn idle_owner(&self, peer: PeerNumber) -> Option<PeerAddress> {
        self.idle.get(&peer).cloned()
    }

    /// Asks for batches again over the connection that was opened for them; if there is none, their blocks end.
    pub(crate) fn retry(&mut self, peer: PeerNumber, batches: Vec<u64>, now: Instant) -> Vec<Outgoing> {
        let Some(session) = self.sessions.get_mut(&peer) else {
            self.fail(batches.into_iter(), Failure::Peer);
            return Vec::new();
        };
        batches.iter().for_each(|batch| self.batches.move_to_new_connection(*batch));
        if session.is_ready() && session.is_unused() {
            self.watch.expect(peer, now);
        }
        session.retry(batches);
        self.ask(peer, now)
    }

    /// Gives a peer up: its blocks end now, its leases when no read is under way.
    pub(crate) fn give_up(&mut self, peer: PeerNumber, failure: Failure) {
        self.idle.remove(&peer);
        let Some(lost) = self.remove(peer) else { return };
        let (unanswered, others) = lost.into_batches();
        self.fail(unanswered.into_iter().chain(others), failure);
    }

    fn remove(&mut self, peer: PeerNumber) -> Option<Session> {
        let lost = self.sessions.remove(&peer)?;
        self.by_owner.remove(&lost.owner.instance);
        self.schedule.close(lost.id);
        self.watch.settle(peer);
        Some(lost)
    }

    fn fail(&mut self, batches: impl Iterator<Item = u64>, failure: Failure) {
        for batch in batches {
            self.batches.fail(batch, failure);
            self.finish(batch);
        }
    }

    /// This process has paused for so long until now.
    pub(crate) fn excuse(&mut self, pause: Duration, now: Instant) {
        self.watch.excuse(pause, now);
    }

    /// Peers from which something is expected and nothing has come for too long.
    pub(crate) fn silent(&mut self, now: Instant) -> Vec<Broken> {
        // Of these it is this process that wants nothing now.
        let held_up: Vec<PeerNumber> = self.schedule.held_up().collect();
        held_up.into_iter().for_each(|peer| self.watch.heard(peer, now));
        let broken = |peer: PeerNumber| {
            let ready = self.sessions.get(&peer).is_some_and(Session::is_ready);
            let (what, hint) = match ready {
                true => ("answered", ""),
                false => ("greeted back", ": it hangs, or was greeted with another secret than this application's"),
            };
            let why = format!("it has not {what} within {} ms{hint}", self.watch.timeout.as_millis());
            Broken { peer, failure: Failure::Timeout, why }
        };
        self.watch.silent(now).map(broken).collect()
    }

    /// Whether an answer or a read is waited for.
    pub(crate) fn expects(&self) -> bool {
        !self.watch.is_empty()
    }

    /// Whether blocks wait for memory that other threads give back.
    pub(crate) fn waits_for_memory(&self) -> bool {
        self.schedule.waits_for_memory()
    }

    /// What waiting for memory has cost.
    pub(crate) fn waits(&self) -> Waits {
        self.schedule.waits()
    }

    /// Bytes that are kept of what owners have told, and how many have told of too much.
    pub(crate) fn told(&self) -> (usize, u64) {
        (self.told.kept(), self.told_too_much)
    }

    /// Reads of blocks under way.
    pub(crate) fn gets_in_flight(&self) -> usize {
        self.schedule.under_way()
    }

    /// Whether any read is under way.
    pub(crate) fn has_gets(&self) -> bool {
        self.schedule.under_way() > 0 || !self.probes.is_empty() || !self.device_probes.is_empty()
    }

    /// Gives up the leases that reads may still write to; they are never used again.
    pub(crate) fn leak_gets(&mut self) {
        self.batches.leak();
        self.schedule.clear();
        self.probes.drain().for_each(std::mem::forget);
        self.device_probes.drain().for_each(std::mem::forget);
    }

    /// Whether nothing is under way.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        let no_probes = self.probes.is_empty() && self.device_probes.is_empty();
        self.batches.is_empty() && self.schedule.under_way() == 0 && no_probes
    }
}
