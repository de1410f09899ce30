//! The side that reads: asks owners where blocks are, and fills leased memory by one-sided reads, a window of them at a
//! time for each peer. A block's memory is leased when its first read begins, so that what waits takes none.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::{Arena, Lease};

use crate::completions::{Completion, Completions, Failure};
use crate::message::{Block, Body, Found, InstanceId, Key, Nonce, Proof, SAMPLE_BYTES, VERSION};
use crate::plan::{Planned, plan};
use crate::proof::{Handshake, Role, Secret, random_nonce};
use crate::sample::Probe;
use crate::wire::{Endpoint, Get, Opened, Wire, WireError};

/// The caller's number for a peer.
pub(crate) type PeerNumber = u64;

/// Reads under way at once, for each peer, within what the wire says of their bytes.
const GETS_IN_FLIGHT: usize = 32;
/// Blocks asked for with one message.
const BATCH_BLOCKS: usize = 512;

/// A peer that is connected or about to be.
struct Peer {
    /// The caller's number of this attempt to connect.
    attempt: u64,
    owner: InstanceId,
    endpoint: Endpoint,
    nonce: Nonce,
    stage: Stage,
    /// Batches to ask for when it is ready.
    unasked: Vec<u64>,
    /// Batches that were asked for and not answered: answers come in the same order.
    asked: VecDeque<u64>,
    /// Batches with blocks that have not ended.
    open: HashSet<u64>,
    planned: VecDeque<Planned>,
    in_flight: usize,
    bytes_in_flight: usize,
    last_sign: Instant,
    /// What of the time since then this process has paused.
    excused: Duration,
}

impl Peer {
    fn give_sign(&mut self, now: Instant) {
        self.last_sign = now;
        self.excused = Duration::ZERO;
    }
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// HELLO was sent.
    Greeted,
    /// The owner has proven itself, PROOF was sent.
    Proven,
    /// The owner's sample is being read by the get with this token.
    Tested(u64),
    /// The owner may be asked.
    Ready,
}

/// Blocks of one fetch that are asked for together.
struct Batch {
    peer: PeerNumber,
    owner: InstanceId,
    request: u64,
    first: u32,
    blocks: Vec<Block>,
    parts: Vec<Part>,
    /// Parts that have not ended.
    open: usize,
    /// Reads under way; until there are none, the leases stay.
    in_flight: usize,
}

/// One block of a batch.
#[derive(Default)]
struct Part {
    lease: Option<Lease>,
    bytes: usize,
    /// Bytes that have been read.
    read: usize,
    ended: bool,
}

/// A read under way.
struct Started {
    batch: u64,
    part: usize,
    bytes: usize,
}

/// Every fetch of this process.
pub(crate) struct Reader {
    instance: InstanceId,
    address: Vec<u8>,
    secret: Secret,
    arena: Arc<Arena>,
    completions: Arc<Completions>,
    timeout: Duration,
    peers: HashMap<PeerNumber, Peer>,
    by_owner: HashMap<InstanceId, PeerNumber>,
    batches: HashMap<u64, Batch>,
    /// By token: the reads under way.
    gets: HashMap<u64, Started>,
    /// By token: the samples that are being read.
    probes: HashMap<u64, Probe>,
    /// Batches that have come to their end and of which their owners are not told yet.
    done: HashMap<InstanceId, Vec<u64>>,
    next: u64,
    /// Blocks that have ended in this turn.
    ended: Vec<Completion>,
}

/// A message and whom it is for.
pub(crate) type Outgoing = (InstanceId, Body);

/// What the end of a sample's read has brought.
#[derive(Default)]
pub(crate) struct Tested {
    /// Who may be asked from now on.
    pub(crate) ready: Option<PeerNumber>,
    pub(crate) messages: Vec<Outgoing>,
}

/// A peer that must be given up, and why.
pub(crate) struct Broken {
    pub(crate) peer: PeerNumber,
    pub(crate) failure: Failure,
    pub(crate) why: String,
}

impl Reader {
    pub(crate) fn new(
        instance: InstanceId,
        address: Vec<u8>,
        secret: Secret,
        arena: Arc<Arena>,
        completions: Arc<Completions>,
        timeout: Duration,
    ) -> Self {
        let (peers, by_owner, batches, gets, probes, done, ended) = Default::default();
        let next = 0;
        Self {
            instance,
            address,
            secret,
            arena,
            completions,
            timeout,
            peers,
            by_owner,
            batches,
            gets,
            probes,
            done,
            next,
            ended,
        }
    }

    pub(crate) fn peer_of(&self, owner: InstanceId) -> Option<PeerNumber> {
        self.by_owner.get(&owner).copied()
    }

    pub(crate) fn owner_of(&self, peer: PeerNumber) -> Option<InstanceId> {
        self.peers.get(&peer).map(|peer| peer.owner)
    }

    pub(crate) fn attempt_of(&self, peer: PeerNumber) -> u64 {
        self.peers.get(&peer).map_or(0, |peer| peer.attempt)
    }

    /// A new connection to an owner; the greeting to send.
    pub(crate) fn connect(
        &mut self,
        peer: PeerNumber,
        attempt: u64,
        owner: InstanceId,
        link: Opened,
        now: Instant,
    ) -> Body {
        let nonce = random_nonce();
        let connected = Peer {
            attempt,
            owner,
            endpoint: link.endpoint,
            nonce,
            stage: Stage::Greeted,
            unasked: Vec::new(),
            asked: VecDeque::new(),
            open: HashSet::new(),
            planned: VecDeque::new(),
            in_flight: 0,
            bytes_in_flight: 0,
            last_sign: now,
            excused: Duration::ZERO,
        };
        self.peers.insert(peer, connected);
        self.by_owner.insert(owner, peer);
        Body::Hello { version: VERSION, number: link.number, nonce, address: self.address.clone() }
    }

    /// Accepts a fetch. Of a peer that is not there, its blocks end at once.
    pub(crate) fn fetch(&mut self, request: u64, peer: PeerNumber, blocks: &[Block], now: Instant) -> Vec<Outgoing> {
        let Some(known) = self.peers.get_mut(&peer) else {
            let failed = |index| Completion { request, index, result: Err(Failure::Peer) };
            self.ended.extend((0..blocks.len() as u32).map(failed));
            return Vec::new();
        };
        if known.open.is_empty() {
            known.give_sign(now);
        }
        for (chunk, blocks) in blocks.chunks(BATCH_BLOCKS).enumerate() {
            self.next += 1;
            let parts = blocks.iter().map(|_| Part::default()).collect();
            let first = (chunk * BATCH_BLOCKS) as u32;
            let (owner, blocks, open) = (known.owner, blocks.to_vec(), blocks.len());
            let batch = Batch { peer, owner, request, first, blocks, parts, open, in_flight: 0 };
            self.batches.insert(self.next, batch);
            known.open.insert(self.next);
            known.unasked.push(self.next);
        }
        if known.stage == Stage::Ready { self.ask(peer) } else { Vec::new() }
    }

    fn ask(&mut self, peer: PeerNumber) -> Vec<Outgoing> {
        let Some(known) = self.peers.get_mut(&peer) else { return Vec::new() };
        let owner = known.owner;
        let unasked = std::mem::take(&mut known.unasked);
        known.asked.extend(&unasked);
        let mut done = if unasked.is_empty() { Vec::new() } else { self.done.remove(&owner).unwrap_or_default() };
        let ask = |batch: u64| {
            let blocks = self.batches.get(&batch)?.blocks.clone();
            Some((owner, Body::Locate { batch, done: std::mem::take(&mut done), blocks }))
        };
        unasked.into_iter().filter_map(ask).collect()
    }

    /// The owner's proof and challenge; what to answer, or why the owner is not to be trusted.
    pub(crate) fn challenge(
        &mut self,
        owner: InstanceId,
        reader_nonce: Nonce,
        owner_nonce: Nonce,
        proof: &Proof,
        now: Instant,
    ) -> Result<Vec<Outgoing>, Broken> {
        let Some(number) = self.peer_of(owner) else { return Ok(Vec::new()) };
        let Some(peer) =
            self.peers.get_mut(&number).filter(|peer| peer.stage == Stage::Greeted && peer.nonce == reader_nonce)
        else {
            return Ok(Vec::new());
        };
        let about =
            Handshake { owner, reader: self.instance, reader_address: &self.address, owner_nonce, reader_nonce };
        if !self.secret.verify(Role::Owner, &about, proof) {
            let why = "it does not know this application's secret".to_string();
            return Err(Broken { peer: number, failure: Failure::Peer, why });
        }
        peer.stage = Stage::Proven;
        peer.give_sign(now);
        Ok(vec![(owner, Body::Proof { proof: self.secret.prove(Role::Reader, &about) })])
    }

    /// The owner has accepted the proof and tells what to read first.
    pub(crate) fn sample<W: Wire>(
        &mut self,
        wire: &mut W,
        owner: InstanceId,
        remote: u64,
        content: [u8; SAMPLE_BYTES],
        key: &[u8],
        now: Instant,
    ) {
        let peer = self.by_owner.get(&owner).and_then(|number| self.peers.get_mut(number));
        let Some(peer) = peer.filter(|peer| peer.stage == Stage::Proven) else { return };
        self.next += 1;
        peer.stage = Stage::Tested(self.next);
        peer.give_sign(now);
        let mut probe = Probe::new(content);
        let get = Get { token: self.next, key, remote, local: probe.memory(), bytes: SAMPLE_BYTES };
        self.probes.insert(self.next, probe);
        // SAFETY: the probe's memory stays where it is until the read has ended.
        unsafe { wire.get(peer.endpoint, get) };
    }

    /// A read has ended; if it was a sample's and its bytes are right, its owner is ready and is asked. `None`: it was none of
    /// these.
    pub(crate) fn tested(
        &mut self,
        token: u64,
        result: &Result<(), WireError>,
        now: Instant,
    ) -> Option<Result<Tested, Broken>> {
        let probe = self.probes.remove(&token)?;
        let Some((number, peer)) = self.peers.iter_mut().find(|(_, peer)| peer.stage == Stage::Tested(token)) else {
            return Some(Ok(Tested::default()));
        };
        let (number, failure) = (*number, Failure::Peer);
        let why = match result {
            Ok(()) if probe.is_right() => {
                peer.stage = Stage::Ready;
                peer.give_sign(now);
                return Some(Ok(Tested { ready: Some(number), messages: self.ask(number) }));
            }
            Ok(()) => "the self-test read other bytes than it has".to_string(),
            Err(error) => format!("the self-test could not read it: {error}"),
        };
        Some(Err(Broken { peer: number, failure, why }))
    }

    /// Where the blocks of a batch are.
    pub(crate) fn located(
        &mut self,
        owner: InstanceId,
        batch: u64,
        keys: &[Key],
        found: &[Found],
        now: Instant,
    ) -> Result<(), Broken> {
        let peer = self.by_owner.get(&owner).and_then(|number| Some((*number, self.peers.get_mut(number)?)));
        let known = self.batches.get_mut(&batch).filter(|known| known.owner == owner && known.open > 0);
        let (Some((number, peer)), Some(known)) = (peer, known) else {
            self.done.entry(owner).or_default().push(batch);
            return Ok(());
        };
        peer.give_sign(now);
        // A second answer must not move memory that reads are filling.
        if peer.asked.front() != Some(&batch) {
            let why = "it told out of turn where blocks are: a message was lost, or came twice".to_string();
            return Err(Broken { peer: number, failure: Failure::Peer, why });
        }
        peer.asked.pop_front();
        if found.len() != known.parts.len() {
            let why = format!("it told of {} blocks when asked for {}", found.len(), known.parts.len());
            return Err(Broken { peer: number, failure: Failure::Peer, why });
        }
        let keys: Vec<Arc<[u8]>> = keys.iter().map(|key| key.bytes.clone().into()).collect();
        for (index, found) in found.iter().enumerate() {
            match plan(found, &keys, batch, index, &mut peer.planned) {
                Ok(0) => known.end(index, Ok(None), &mut self.ended),
                Ok(bytes) => known.parts[index].bytes = bytes,
                Err(failure) => known.end(index, Err(failure), &mut self.ended),
            }
        }
        self.finish(batch);
        Ok(())
    }

    /// Hands the blocks that have ended to the callers.
    pub(crate) fn deliver(&mut self) {
        self.completions.append(&mut self.ended);
    }

    /// Starts as many reads as may be under way.
    pub(crate) fn start_gets<W: Wire>(&mut self, wire: &mut W) {
        let mut over = Vec::new();
        let Self { peers, batches, arena, gets, next, ended, .. } = self;
        for peer in peers.values_mut() {
            let window = wire.window(peer.endpoint);
            while peer.in_flight < GETS_IN_FLIGHT && peer.bytes_in_flight < window {
                let Some(planned) = peer.planned.front_mut() else { break };
                let (number, part) = (planned.batch, planned.part);
                let batch = batches.get_mut(&number);
                let Some((batch, memory)) = batch.and_then(|batch| batch.memory(part, arena, ended)) else {
                    peer.planned.pop_front();
                    over.push(number);
                    continue;
                };
                let piece = planned.cut();
                if planned.is_cut() {
                    peer.planned.pop_front();
                }
                *next += 1;
                gets.insert(*next, Started { batch: number, part, bytes: piece.bytes });
                peer.in_flight += 1;
                peer.bytes_in_flight += piece.bytes;
                batch.in_flight += 1;
                // SAFETY: the ranges' bytes add up to the lease's (see `plan`), so the piece lies within it.
                let local = unsafe { memory.add(piece.offset) };
                let get = Get { token: *next, key: &piece.key, remote: piece.remote, local, bytes: piece.bytes };
                // SAFETY: `local` lies in the part's lease for the piece's bytes, no two pieces overlap, and the lease
                // stays with its batch until the batch has no read under way.
                unsafe { wire.get(peer.endpoint, get) };
            }
        }
        over.into_iter().for_each(|batch| self.finish(batch));
    }

    /// A read has ended.
    pub(crate) fn got(&mut self, token: u64, ok: bool, now: Instant) {
        let Some(Started { batch: number, part, bytes }) = self.gets.remove(&token) else { return };
        let Some(batch) = self.batches.get_mut(&number) else { return };
        batch.in_flight -= 1;
        if let Some(peer) = self.peers.get_mut(&batch.peer).filter(|peer| peer.open.contains(&number)) {
            peer.in_flight -= 1;
            peer.bytes_in_flight -= bytes;
            peer.give_sign(now);
        }
        if ok {
            let known = &mut batch.parts[part];
            known.read += bytes;
            if known.read == known.bytes && !known.ended {
                let lease = known.lease.take();
                batch.end(part, Ok(lease), &mut self.ended);
            }
        } else {
            // Its lease stays with the batch: other reads may be filling it.
            batch.end(part, Err(Failure::NotRead), &mut self.ended);
        }
        self.finish(number);
    }

    /// Forgets a batch if it has come to its end; its owner is to know.
    fn finish(&mut self, number: u64) {
        let ended = self.batches.get(&number).filter(|batch| batch.open == 0 && batch.in_flight == 0);
        let Some(batch) = ended else { return };
        self.done.entry(batch.owner).or_default().push(number);
        if let Some(peer) = self.peers.get_mut(&batch.peer) {
            peer.open.remove(&number);
        }
        self.batches.remove(&number);
    }

    /// What owners are to know that no question has told them.
    pub(crate) fn take_done(&mut self) -> Vec<Outgoing> {
        self.done.drain().map(|(owner, batches)| (owner, Body::Done { batches })).collect()
    }

    /// Gives a peer up: its blocks end now, its leases when no read is under way.
    pub(crate) fn give_up(&mut self, peer: PeerNumber, failure: Failure) {
        let Some(lost) = self.peers.remove(&peer) else { return };
        self.by_owner.remove(&lost.owner);
        for number in lost.open {
            let Some(batch) = self.batches.get_mut(&number) else { continue };
            for part in 0..batch.parts.len() {
                batch.end(part, Err(failure), &mut self.ended);
            }
            self.finish(number);
        }
    }

    /// This process has paused for so long until now: nobody could give it a sign. But it has listened between its pauses, so
    /// pauses as long as the timeout, without a sign between them, are the last that excuse: a process that is always late would
    /// wait for ever.
    pub(crate) fn excuse(&mut self, pause: Duration, now: Instant) {
        let timeout = self.timeout;
        for peer in self.peers.values_mut().filter(|peer| peer.excused < timeout) {
            peer.last_sign = now.min(peer.last_sign + pause);
            peer.excused += pause;
        }
    }

    /// Peers from which something is expected and nothing has come for too long.
    pub(crate) fn silent(&self, now: Instant) -> Vec<Broken> {
        let silent = |peer: &Peer| {
            (peer.stage != Stage::Ready || !peer.open.is_empty())
                && now.saturating_duration_since(peer.last_sign) > self.timeout
        };
        let why = |peer: &Peer| {
            let what = if peer.stage == Stage::Ready { "answered" } else { "greeted back" };
            format!("it has not {what} within {} ms", self.timeout.as_millis())
        };
        let broken =
            |(number, peer): (&PeerNumber, &Peer)| Broken { peer: *number, failure: Failure::Timeout, why: why(peer) };
        self.peers.iter().filter(|(_, peer)| silent(peer)).map(broken).collect()
    }

    /// Whether an answer or a read is waited for.
    pub(crate) fn expects(&self) -> bool {
        self.peers.values().any(|peer| peer.stage != Stage::Ready || !peer.open.is_empty())
    }

    /// Reads of blocks under way.
    pub(crate) fn gets_in_flight(&self) -> usize {
        self.gets.len()
    }

    /// Whether any read is under way.
    pub(crate) fn has_gets(&self) -> bool {
        !self.gets.is_empty() || !self.probes.is_empty()
    }

    /// Gives up the leases that reads may still write to; they are never used again.
    pub(crate) fn leak_gets(&mut self) {
        let under_way = self.batches.drain().filter(|(_, batch)| batch.in_flight > 0);
        under_way.flat_map(|(_, batch)| batch.parts).for_each(|part| std::mem::forget(part.lease));
        self.gets.clear();
        self.probes.drain().for_each(std::mem::forget);
    }

    /// Whether nothing is under way.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.batches.is_empty() && self.gets.is_empty() && self.probes.is_empty()
    }
}

impl Batch {
    /// A part's memory, leased if it is not yet; none when the part has ended, which it has when there is no room for it.
    fn memory(
        &mut self,
        index: usize,
        arena: &Arc<Arena>,
        ended: &mut Vec<Completion>,
    ) -> Option<(&mut Self, *mut u8)> {
        let part = &mut self.parts[index];
        if part.ended {
            return None;
        }
        if part.lease.is_none() {
            part.lease = arena.lease(part.bytes).ok();
        }
        match &part.lease {
            Some(lease) => {
                let memory = lease.as_ptr();
                Some((self, memory))
            }
            None => {
                self.end(index, Err(Failure::NoMemory), ended);
                None
            }
        }
    }

    /// Ends a part that has not ended.
    fn end(&mut self, index: usize, result: Result<Option<Lease>, Failure>, ended: &mut Vec<Completion>) {
        let part = &mut self.parts[index];
        if !part.ended {
            part.ended = true;
            self.open -= 1;
            ended.push(Completion { request: self.request, index: self.first + index as u32, result });
        }
    }
}
