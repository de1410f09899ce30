//! Many peers of one agent, simulated without agents of their own: for tests and benchmarks of what an agent costs with
//! a thousand of them. No part of the library's interface.
//!
//! Each peer answers the agent's messages at once, as an owner and as a reader. Reads of its memory end at the rate
//! that the test gives it. Time is the test's: it passes when [`Crowd::pass`] is called. Threading: none.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::{Arena, MemoryKind};

use crate::agent::{Agent, Command, PeerState, Shared, TransportOptions};
use crate::completions::Completion;
use crate::disk::{Disk, Ended, Job};
use crate::loopback::NoWaker;
use crate::message::{Block, Body, InstanceId, Key, Message, Range, SAMPLE_BYTES, VERSION};
use crate::proof::{Greeting, Handshake, Role, Secret};
pub use crate::reader::Waits;
use crate::statistics::Statistic;
use crate::tags::Tags;
use crate::wire::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

/// As long as a packed key of UCX over TCP and InfiniBand.
const KEY_BYTES: usize = 60;
/// As long as an address of a UCX worker.
const ADDRESS_BYTES: usize = 250;
const SAMPLE: [u8; SAMPLE_BYTES] = [7; SAMPLE_BYTES];
/// The nonce of every peer, in both roles.
const NONCE: [u8; 16] = [3; 16];

/// An agent and its peers.
pub struct Crowd {
    agent: Agent<CrowdWire>,
    shared: Arc<Shared>,
    arena: Arc<Arena>,
    start: Instant,
    elapsed: Duration,
    requests: u64,
}

impl Crowd {
    /// An agent with so many peers, none of which is connected; each of their blocks has `block_bytes` bytes. What is
    /// received goes to `arena`.
    ///
    /// # Errors
    /// The options allow too little.
    pub fn new(
        peers: usize,
        block_bytes: usize,
        arena: Arc<Arena>,
        options: &TransportOptions,
    ) -> Result<Self, WireError> {
        let shared = Arc::new(Shared::default());
        let wire = CrowdWire::new(peers, block_bytes);
        let mut agent = Agent::with_disk(wire, Arc::clone(&arena), Arc::clone(&shared), options, Box::new(NoDisk))?;
        let instance = agent.address().first_chunk().map(|instance| InstanceId(u64::from_le_bytes(*instance)));
        agent.wire().agent = instance.ok_or_else(|| WireError("an agent without an instance".into()))?;
        let (start, elapsed, requests) = (Instant::now(), Duration::ZERO, 0);
        Ok(Self { agent, shared, arena, start, elapsed, requests })
    }

    /// How many bytes each block of a peer has.
    pub fn set_block_bytes(&mut self, peer: usize, bytes: usize) {
        self.agent.wire().peers[peer].block_bytes = bytes;
    }

    /// How many bytes of reads each peer serves in one turn of the agent; usually all.
    pub fn set_rate(&mut self, peer: usize, bytes: usize) {
        self.agent.wire().peers[peer].bytes_in_a_turn = bytes;
    }

    /// How many bytes of reads all peers together serve in one turn of the agent; usually all.
    pub fn set_common_rate(&mut self, bytes: usize) {
        self.agent.wire().bytes_in_a_turn = bytes;
    }

    /// Has the agent connect to a peer.
    pub fn connect(&mut self, peer: usize) {
        let state = PeerState::default();
        self.shared.peers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(peer as u64, state);
        let address = address_of(peer);
        self.shared.inbox.push(Command::Connect { peer: peer as u64, attempt: 0, address }, &NoWaker);
    }

    /// Has a peer connect to the agent, as a reader does.
    pub fn greet(&mut self, peer: usize) {
        let number = self.agent.wire().peers[peer].openings.max(1);
        self.agent.wire().greet(peer, number);
    }

    /// The same, of a peer that has tried in vain before: it names its connection with this number.
    pub fn greet_with(&mut self, peer: usize, number: u32) {
        self.agent.wire().greet(peer, number);
    }

    /// Has a peer ask the agent for blocks, as a reader does.
    pub fn ask(&mut self, peer: usize, batch: u64, blocks: Vec<Block>) {
        self.agent.wire().say(peer, Body::Locate { batch, done: Vec::new(), blocks });
    }

    /// Has the agent read so many blocks of a peer.
    pub fn fetch(&mut self, peer: usize, blocks: usize) -> u64 {
        self.requests += 1;
        let block = |map: usize| Block { shuffle: 1, map: map as u64, first: 0, end: 1 };
        let blocks = (0..blocks).map(block).collect();
        self.shared.inbox.push(Command::Fetch { request: self.requests, peer: peer as u64, blocks }, &NoWaker);
        self.requests
    }

    /// One turn of the agent; whether there was anything to do.
    pub fn turn(&mut self) -> bool {
        self.agent.turn(self.start + self.elapsed)
    }

    /// Turns until there is nothing to do; how many there were. Reads may be under way then.
    pub fn settle(&mut self) -> usize {
        let mut turns = 1;
        while self.turn() {
            turns += 1;
        }
        turns
    }

    /// So many turns.
    pub fn settle_for(&mut self, turns: usize) {
        (0..turns).for_each(|_| _ = self.turn());
    }

    /// One turn of the agent, and the time that it takes.
    pub fn turn_for(&mut self, time: Duration) -> bool {
        self.pass(time);
        self.turn()
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.elapsed += time;
    }

    /// The blocks that have ended since the last call.
    pub fn take(&mut self) -> Vec<Completion> {
        self.shared.completions.take(usize::MAX, Duration::ZERO).unwrap_or_default()
    }

    /// Reads under way.
    pub fn gets_in_flight(&self) -> usize {
        self.agent.reader().gets_in_flight()
    }

    /// What waiting for memory has cost.
    pub fn waits(&self) -> Waits {
        self.agent.reader().waits()
    }

    /// Bytes of reads under way to one peer.
    pub fn bytes_in_flight(&mut self, peer: usize) -> usize {
        self.agent.wire().peers[peer].gets.iter().map(|get| get.bytes).sum()
    }

    /// The greetings that the agent has sent since the last call.
    pub fn take_greetings(&mut self) -> usize {
        std::mem::take(&mut self.agent.wire().greetings)
    }

    /// The questions that the agent has asked since the last call.
    pub fn take_questions(&mut self) -> usize {
        std::mem::take(&mut self.agent.wire().questions)
    }

    /// The endpoints that the agent has opened since the last call, those that it has closed again included.
    pub fn take_openings(&mut self) -> usize {
        std::mem::take(&mut self.agent.wire().openings)
    }

    /// What callers and peers want done and the agent has not done.
    pub fn queued(&self) -> usize {
        self.shared.queued()
    }

    /// The memory that is received into.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// A number that the agent says of itself.
    pub fn statistic(&self, statistic: Statistic) -> u64 {
        self.shared.statistics().snapshot()[statistic as usize]
    }

    /// Ends every connection as a pause of the network does: each one fails, all at the same moment.
    pub fn fail_all(&mut self) {
        let wire = self.agent.wire();
        let error = || WireError("the connection timed out".into());
        let failed: Vec<Event> =
            wire.endpoints.keys().map(|endpoint| Event::Failed { endpoint: *endpoint, error: error() }).collect();
        wire.events.extend(failed);
    }
}

fn instance_of(peer: usize) -> InstanceId {
    InstanceId(peer as u64 + 1)
}

fn address_of(peer: usize) -> Vec<u8> {
    let mut address = instance_of(peer).0.to_le_bytes().to_vec();
    address.extend((peer as u64).to_le_bytes());
    address.resize(8 + ADDRESS_BYTES, 0);
    address
}

/// A read under way.
struct Reading {
    token: u64,
    bytes: usize,
}

struct Peer {
    endpoint: Option<Endpoint>,
    openings: u32,
    block_bytes: usize,
    bytes_in_a_turn: usize,
    /// What it may serve beyond this turn's bytes, because earlier turns were not used up by whole reads.
    saved: usize,
    gets: VecDeque<Reading>,
    tags: Tags,
}

/// The wire of the agent: the peers' messages and reads, without any network.
struct CrowdWire {
    peers: Vec<Peer>,
    endpoints: HashMap<Endpoint, usize>,
    /// Peers with reads under way, each once.
    busy: VecDeque<usize>,
    events: Vec<Event>,
    bytes_in_a_turn: usize,
    next: u64,
    greetings: usize,
    questions: usize,
    openings: usize,
    address: Vec<u8>,
    agent: InstanceId,
}

impl CrowdWire {
    fn new(peers: usize, block_bytes: usize) -> Self {
        let peer = |_| Peer {
            endpoint: None,
            openings: 0,
            block_bytes,
            bytes_in_a_turn: usize::MAX,
            saved: 0,
            gets: VecDeque::new(),
            tags: Tags::default(),
        };
        let (endpoints, busy, events, next, greetings, questions, openings) = Default::default();
        let (peers, bytes_in_a_turn) = ((0..peers).map(peer).collect(), usize::MAX);
        let (address, agent) = (vec![1; ADDRESS_BYTES], InstanceId(0));
        Self { peers, endpoints, busy, events, bytes_in_a_turn, next, greetings, questions, openings, address, agent }
    }

    /// A peer's message arrives.
    fn say(&mut self, peer: usize, body: Body) {
        let bytes = self.peers[peer].tags.encode(self.agent, Message::of(instance_of(peer), body));
        self.events.extend(bytes.map(Event::Message));
    }

    fn greet(&mut self, peer: usize, number: u32) {
        let address = address_of(peer);
        let greeting = Greeting {
            owner: self.agent,
            reader: instance_of(peer),
            version: VERSION,
            number,
            nonce: NONCE,
            reader_address: &address,
        };
        let proof = Some(Secret::new(b"").prove_greeting(&greeting));
        self.say(peer, Body::Hello { version: VERSION, number, nonce: NONCE, address, proof });
    }

    /// What a peer answers to a message of the agent's.
    fn answer(&mut self, peer: usize, message: Message) -> Option<Body> {
        let agent = message.sender;
        match message.body {
            Body::Hello { nonce: reader_nonce, address, .. } => {
                self.greetings += 1;
                let about = Handshake {
                    owner: instance_of(peer),
                    reader: agent,
                    reader_address: &address,
                    owner_nonce: NONCE,
                    reader_nonce,
                };
                let secret = Secret::new(b"");
                let proof = secret.prove(Role::Owner, &about);
                self.peers[peer].tags.serve(agent, secret.session_keys(&about));
                Some(Body::Challenge { reader_nonce, nonce: NONCE, proof })
            }
            Body::Proof { .. } => {
                Some(Body::Sample { on_device: false, address: 1, content: SAMPLE, key: vec![1; KEY_BYTES] })
            }
            Body::Challenge { nonce, .. } => {
                let address = address_of(peer);
                let about = Handshake {
                    owner: agent,
                    reader: instance_of(peer),
                    reader_address: &address,
                    owner_nonce: nonce,
                    reader_nonce: NONCE,
                };
                let secret = Secret::new(b"");
                let proof = secret.prove(Role::Reader, &about);
                self.peers[peer].tags.read_from(agent, secret.session_keys(&about));
                Some(Body::Proof { proof })
            }
            Body::Locate { batch, blocks, .. } => {
                self.questions += 1;
                let keys = vec![Key { region: 1, bytes: vec![1; KEY_BYTES] }];
                let range = Range { key: 0, address: 1, bytes: self.peers[peer].block_bytes as u64 };
                Some(Body::Located { batch, keys, found: blocks.iter().map(|_| Ok(vec![range])).collect() })
            }
            _ => None,
        }
    }

    /// Ends what a peer can serve of its reads in this turn, within what all can: how many bytes.
    fn serve(&mut self, number: usize, most: usize) -> usize {
        let peer = &mut self.peers[number];
        let mut allowed = peer.bytes_in_a_turn.saturating_add(peer.saved).min(most);
        let mut served = 0;
        while let Some(get) = peer.gets.front().filter(|get| get.bytes <= allowed) {
            allowed -= get.bytes;
            served += get.bytes;
            self.events.push(Event::Got { token: get.token, result: Ok(()) });
            peer.gets.pop_front();
        }
        peer.saved = if peer.gets.is_empty() || peer.bytes_in_a_turn == usize::MAX { 0 } else { allowed };
        served
    }
}

impl Wire for CrowdWire {
    fn address(&self) -> &[u8] {
        &self.address
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        let peer = address.first_chunk().map(|peer| u64::from_le_bytes(*peer) as usize);
        let peer = peer.filter(|peer| *peer < self.peers.len()).ok_or_else(|| WireError("no such peer".into()))?;
        self.next += 1;
        self.openings += 1;
        let endpoint = Endpoint(self.next);
        self.endpoints.insert(endpoint, peer);
        let known = &mut self.peers[peer];
        known.openings += 1;
        known.endpoint = Some(endpoint);
        Ok(Opened { endpoint, number: known.openings })
    }

    fn close(&mut self, endpoint: Endpoint) {
        let Some(peer) = self.endpoints.remove(&endpoint) else { return };
        let peer = &mut self.peers[peer];
        peer.endpoint = None;
        let error = || Err(WireError("the connection is closed".into()));
        self.events.extend(peer.gets.drain(..).map(|get| Event::Got { token: get.token, result: error() }));
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        let Some(peer) = self.endpoints.get(&endpoint).copied() else { return };
        let answer = Message::decode(&message).ok().and_then(|message| self.answer(peer, message));
        answer.into_iter().for_each(|answer| self.say(peer, answer));
    }

    unsafe fn register(&mut self, _: usize, _: usize, _: MemoryKind) -> Result<(Region, Vec<u8>), WireError> {
        self.next += 1;
        Ok((Region(self.next), vec![1; KEY_BYTES]))
    }

    fn unregister(&mut self, _: Region) {}

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let Some(peer) = self.endpoints.get(&endpoint).copied() else {
            let result = Err(WireError("the connection is closed".into()));
            return self.events.push(Event::Got { token: get.token, result });
        };
        if get.bytes == SAMPLE_BYTES {
            // SAFETY: `local` is writable for `bytes` (contract).
            unsafe { std::ptr::copy_nonoverlapping(SAMPLE.as_ptr(), get.local, SAMPLE_BYTES) };
            return self.events.push(Event::Got { token: get.token, result: Ok(()) });
        }
        // The bytes of blocks are not written: only their number matters.
        if self.peers[peer].gets.is_empty() {
            self.busy.push_back(peer);
        }
        self.peers[peer].gets.push_back(Reading { token: get.token, bytes: get.bytes });
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        let mut left = self.bytes_in_a_turn;
        for _ in 0..self.busy.len() {
            let Some(peer) = self.busy.pop_front() else { break };
            left -= self.serve(peer, left);
            if !self.peers[peer].gets.is_empty() {
                self.busy.push_back(peer);
            }
            if left == 0 {
                break;
            }
        }
        events.append(&mut self.events);
    }

    fn wait(&mut self, _: Duration) {}

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::new(NoWaker)
    }
}

/// No job is taken: the agent of a crowd has no map outputs.
struct NoDisk;

impl Disk for NoDisk {
    fn submit(&mut self, job: Job) -> Result<(), Job> {
        Err(job)
    }

    fn take_ended(&mut self, _: &mut Vec<Ended>) {}
}
