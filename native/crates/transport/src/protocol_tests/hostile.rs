//! A flood of messages of a process that does not know the secret, and that sees what others send: cut, changed,
//! replayed, guessed and random ones. It learns nothing, its messages are counted and take no memory, no connection is
//! opened for it, and the connections of others stay as they are.

use std::time::Duration;

use sluice_testkit::memory::live_bytes;
use sluice_testkit::xorshift;

use super::world::{Reads, STEP, World, block, bytes_of};
use crate::cma::CmaWire;
use crate::effort::MOST_MESSAGES;
use crate::loopback::Loopback;
use crate::message::{Body, InstanceId, Message, Tag, TaggedBy, VERSION};
use crate::proof::{Greeting, Handshake, Role, Secret};
use crate::statistics::Statistic;
use crate::tags::Tags;
use crate::wire::{Endpoint, Event, Wire};

const SECRET: &str = "the application's secret";
const GUESS: &str = "a guess";
const MESSAGES: usize = 100_000;
/// `./sluice test --all` sets it to a million.
const MESSAGES_VARIABLE: &str = "SLUICE_HOSTILE_MESSAGES";
const EACH_STEP: usize = 20;
/// The honest reader asks in one of so many steps.
const STEPS_BETWEEN_QUESTIONS: usize = 50;
const READER: InstanceId = InstanceId(77);
const INTRUDER: InstanceId = InstanceId(99);
/// If something of each message stayed, or of each name, there would be more.
const MOST_BYTES: i64 = 64 << 10;

/// A process without an agent, connected to process 0 of the world.
struct Stranger {
    wire: CmaWire<Loopback>,
    id: InstanceId,
    secret: Secret,
    endpoint: Endpoint,
    number: u32,
    tags: Tags,
}

impl Stranger {
    fn new(world: &World, id: InstanceId, secret: &str) -> Self {
        let mut wire = world.bare_wire();
        let opened = wire.open(owner_of(world)).expect("there");
        let (endpoint, number) = (opened.endpoint, opened.number);
        Self { wire, id, secret: Secret::new(secret.as_bytes()), endpoint, number, tags: Tags::default() }
    }

    fn address(&self) -> Vec<u8> {
        [&self.id.0.to_le_bytes(), self.wire.address()].concat()
    }

    fn hello(&self, world: &World) -> Vec<u8> {
        self.greeting(world, 1)
    }

    fn greeting(&self, world: &World, greeting: u8) -> Vec<u8> {
        let (version, number, nonce, address) = (VERSION, self.number, [greeting; 16], self.address());
        let (owner, reader) = (instance(world, 0), self.id);
        let greeting = Greeting { owner, reader, version, number, nonce, reader_address: &address };
        let proof = Some(self.secret.prove_greeting(&greeting));
        Message::of(self.id, Body::Hello { version, number, nonce, address, proof }).encode()
    }

    /// What `reader`, who is at `address`, answers a challenge of process 0, if this process's secret is the right one.
    fn proof(&self, world: &World, reader: &Self, challenge: &Body) -> Vec<u8> {
        let proof = self.secret.prove(Role::Reader, &handshake(world, reader, &reader.address(), challenge));
        Message::of(reader.id, Body::Proof { proof }).encode()
    }

    /// The messages that have come; opens a new connection where the other side has closed this one.
    fn hear(&mut self, world: &World) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        self.wire.progress(&mut events);
        let mut messages = Vec::new();
        for event in events {
            match event {
                Event::Message(bytes) => messages.push(bytes),
                Event::Failed { .. } => {
                    let opened = self.wire.open(owner_of(world)).expect("there");
                    (self.endpoint, self.number) = (opened.endpoint, opened.number);
                }
                other => panic!("{other:?}"),
            }
        }
        messages
    }

    fn send(&mut self, bytes: &[u8]) {
        self.wire.send(self.endpoint, bytes.to_vec());
    }

    /// Sends a message of a session.
    fn say(&mut self, world: &World, body: Body) -> Vec<u8> {
        let bytes = self.tags.encode(instance(world, 0), Message::of(self.id, body)).expect("a session");
        self.send(&bytes);
        bytes
    }

    /// Asks for a block, and says that it was read. The messages of both sides; `others` hears what else has come.
    fn ask(&mut self, world: &mut World, batch: u64, others: &mut Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let question = self.say(world, Body::Locate { batch, done: vec![], blocks: vec![block(0, 0, 1)] });
        world.run(5);
        let heard = self.hear(world);
        let is_answer = |tags: &mut Tags, bytes: &Vec<u8>| {
            let message = Message::decode(bytes).expect("well-formed");
            let answers = matches!(message.body, Body::Located { batch: answered, .. } if answered == batch);
            answers && tags.accepts(message.sender, &message.tag.expect("a tag"), bytes)
        };
        let (answers, rest): (Vec<_>, Vec<_>) = heard.into_iter().partition(|bytes| is_answer(&mut self.tags, bytes));
        assert_eq!(answers.len(), 1, "the reader's session is as it was");
        others.extend(rest);
        let done = self.say(world, Body::Done { batches: vec![batch] });
        [vec![question], answers, vec![done]].concat()
    }
}

/// The wire's address of process 0.
fn owner_of(world: &World) -> &[u8] {
    &world.processes[0].agent.address()[8..]
}

fn instance(world: &World, process: usize) -> InstanceId {
    let address = world.processes[process].agent.address();
    InstanceId(u64::from_le_bytes(address[..8].try_into().expect("8 bytes")))
}

fn body(bytes: &[u8]) -> Body {
    Message::decode(bytes).expect("well-formed").body
}

fn handshake<'a>(world: &World, reader: &Stranger, reader_address: &'a [u8], challenge: &Body) -> Handshake<'a> {
    let Body::Challenge { reader_nonce, nonce, .. } = challenge else { panic!("{challenge:?}") };
    let (owner, reader) = (instance(world, 0), reader.id);
    Handshake { owner, reader, reader_address, owner_nonce: *nonce, reader_nonce: *reader_nonce }
}

/// A reader that knows the secret and keeps its session, and all messages so far, as an observer of the wire sees them.
fn honest_reader(world: &mut World) -> (Stranger, Vec<Vec<u8>>) {
    let mut reader = Stranger::new(world, READER, SECRET);
    let mut seen = vec![reader.hello(world)];
    reader.send(&seen[0]);
    world.run(5);
    let challenge = reader.hear(world).remove(0);
    let proof = reader.proof(world, &reader, &body(&challenge));
    reader.send(&proof);
    let address = reader.address();
    let keys = reader.secret.session_keys(&handshake(world, &reader, &address, &body(&challenge)));
    reader.tags.read_from(instance(world, 0), keys);
    world.run(5);
    let sample = reader.hear(world).remove(0);
    let message = Message::decode(&sample).expect("well-formed");
    assert!(matches!(message.body, Body::Sample { .. }));
    assert!(reader.tags.accepts(message.sender, &message.tag.expect("a tag"), &sample));
    seen.extend([challenge, proof, sample]);
    for batch in 1..4 {
        seen.extend(reader.ask(world, batch, &mut Vec::new()));
    }
    (reader, seen)
}

/// How many kinds of hostile messages there are.
const KINDS: u64 = 12;

/// One hostile message, which follows from `random`; `peer` is a process that the owner reads from.
fn hostile(world: &World, intruder: &Stranger, peer: InstanceId, seen: &[Vec<u8>], random: u64) -> Vec<u8> {
    let (kind, fresh) = (random % KINDS, InstanceId(random | 1 << 63));
    let old = &seen[(random >> 8) as usize % seen.len()];
    let at = (random >> 16) as usize;
    let named = [READER, peer, fresh][at % 3];
    match kind {
        0 => (0..at % 64).map(|i| xorshift(random ^ i as u64) as u8).collect(),
        1 => old[..at % old.len()].to_vec(),
        2 => old.clone(),
        3 => {
            let mut renamed = old.clone();
            renamed[1..9].copy_from_slice(&named.0.to_le_bytes());
            renamed
        }
        4 => {
            let mut changed = old.clone();
            changed[at % old.len()] ^= 1 << (random >> 60 & 7);
            changed
        }
        5 => {
            let (version, number, nonce) = (VERSION, at as u32, [3; 16]);
            let address = [&named.0.to_le_bytes(), intruder.wire.address()].concat();
            Message::of(named, Body::Hello { version, number, nonce, address, proof: Some([7; 32]) }).encode()
        }
        6 => intruder.hello(world),
        7 => tagged(READER, at, Body::Locate { batch: random, done: vec![1, 2], blocks: vec![block(0, 0, 1); 3] }),
        8 => Message::of(named, Body::Refused { number: at as u32, refused: u32::MAX, why: "go away".into() }).encode(),
        9 => Message::of(named, Body::Closing { number: 1 + at as u32 % 3 }).encode(),
        10 => {
            let (version, number, nonce) = ([5, 6, 8, u16::MAX][at % 4], at as u32, [3; 16]);
            let address = [&named.0.to_le_bytes(), intruder.wire.address()].concat();
            let proof = (version >= 6).then_some([7; 32]);
            Message::of(named, Body::Hello { version, number, nonce, address, proof }).encode()
        }
        _ => tagged(peer, at, Body::Located { batch: at as u64 % 9, keys: vec![], found: vec![Ok(vec![])] }),
    }
}

/// With a guessed tag, of a number that may be the next one.
fn tagged(sender: InstanceId, at: usize, body: Body) -> Vec<u8> {
    let TaggedBy::Side(by) = body.tagged_by() else { panic!("{body:?}") };
    Message { sender, body, tag: Some(Tag { by, number: at as u64 % 8, mac: [1; 32] }) }.encode()
}

/// A SAMPLE or LOCATED would have an address and a key.
fn assert_learns_nothing(heard: &[Vec<u8>]) {
    for bytes in heard {
        let body = body(bytes);
        assert!(matches!(body, Body::Closing { .. }), "{body:?}");
    }
}

/// Between CHALLENGE and PROOF somebody sends what the reader has sent so far, and proofs without the secret.
#[test]
fn who_follows_a_handshake_does_not_break_it() {
    let mut world = World::new(Reads::Loopback, 49, &[SECRET]);
    let mut reader = Stranger::new(&world, READER, SECRET);
    let mut intruder = Stranger::new(&world, INTRUDER, GUESS);
    let greetings = [reader.greeting(&world, 1), reader.greeting(&world, 2)];
    let mut challenges = Vec::new();
    for greeting in &greetings {
        reader.send(greeting);
        world.run(5);
        challenges.extend(reader.hear(&world));
    }
    let [_, challenge] = &challenges[..] else { panic!("{challenges:?}") };
    greetings.iter().for_each(|greeting| intruder.send(greeting));
    intruder.send(&intruder.proof(&world, &reader, &body(challenge)));
    let Body::Challenge { proof, .. } = body(challenge) else { panic!("{challenge:?}") };
    // The owner's own proof, sent back to it.
    intruder.send(&Message::of(READER, Body::Proof { proof }).encode());
    world.run(5);
    assert_eq!(reader.hear(&world), std::slice::from_ref(challenge), "the same answer to the last greeting");
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 3);
    let proof = reader.proof(&world, &reader, &body(challenge));
    reader.send(&proof);
    let address = reader.address();
    let keys = reader.secret.session_keys(&handshake(&world, &reader, &address, &body(challenge)));
    reader.tags.read_from(instance(&world, 0), keys);
    world.run(5);
    let sample = reader.hear(&world).remove(0);
    let (sender, tag) = Message::tag_of(&sample).expect("well-formed");
    assert!(matches!(body(&sample), Body::Sample { .. }));
    assert!(reader.tags.accepts(sender, &tag.expect("a tag"), &sample));
    // Recorded greetings of a reader that has left open nothing.
    reader.say(&world, Body::Closing { number: reader.number });
    world.run(5);
    assert_eq!(world.statistic(0, Statistic::Connections), 0);
    greetings.iter().for_each(|greeting| intruder.send(greeting));
    world.run(5);
    assert_eq!(world.statistic(0, Statistic::Connections), 0);
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 5);
    assert_eq!(intruder.hear(&world), Vec::<Vec<u8>>::new());
}

/// The flood that comes all at once: of each kind, and of what the reader has sent, its greeting above all.
#[test]
fn a_turn_takes_up_a_bounded_part_of_a_flood_of_any_kind() {
    const FLOOD: usize = 2000;
    let mut world = World::new(Reads::Loopback, 41, &[SECRET, SECRET]);
    world.publish(0, 0, &[100]);
    world.connect(0, 1);
    world.run(20);
    let (mut reader, seen) = honest_reader(&mut world);
    let (peer, mut intruder) = (instance(&world, 1), Stranger::new(&world, INTRUDER, GUESS));
    let (mut batch, mut longest) = (10, Duration::ZERO);
    let dropped = |world: &World| {
        world.statistic(0, Statistic::MalformedMessages) + world.statistic(0, Statistic::UnprovenMessages)
    };
    for kind in 0..KINDS + seen.len() as u64 {
        for i in 0..FLOOD as u64 {
            let random = xorshift((kind << 32) | (i + 1));
            let message = match kind.checked_sub(KINDS) {
                None => hostile(&world, &intruder, peer, &seen, random / KINDS * KINDS + kind),
                Some(old) => seen[old as usize].clone(),
            };
            intruder.send(&message);
        }
        // After all of the flood.
        batch += 1;
        let question = Body::Locate { batch, done: vec![], blocks: vec![block(0, 0, 1)] };
        reader.say(&world, question);
        let (first, mut left, mut turns) = (dropped(&world), FLOOD + 1, 0);
        while left > 0 {
            let start = processor_time();
            world.step(STEP);
            longest = longest.max(processor_time() - start);
            let now = world.processes[0].shared.queued();
            assert!(left - now <= MOST_MESSAGES, "{} of kind {kind} in one turn", left - now);
            (left, turns) = (now, turns + 1);
        }
        assert!((FLOOD / MOST_MESSAGES..FLOOD / 20).contains(&turns), "{turns} turns for kind {kind}");
        // A recorded CHALLENGE is the owner's own.
        let is_challenge = kind == KINDS + 1;
        let dropped = dropped(&world) - first;
        assert!(is_challenge || dropped >= FLOOD as u64 * 9 / 10, "{dropped} of kind {kind} were dropped");
        let answered = reader.hear(&world).iter().any(|bytes| {
            let (sender, tag) = Message::tag_of(bytes).expect("well-formed");
            tag.is_some_and(|tag| reader.tags.accepts(sender, &tag, bytes))
        });
        assert!(answered, "the reader's question of kind {kind}");
        reader.say(&world, Body::Done { batches: vec![batch] });
        intruder.hear(&world);
    }
    println!("the longest turn of two agents: {} us of the processor", longest.as_micros());
    assert_eq!(world.statistic(0, Statistic::ConnectionsOpened), 2, "none was closed and opened again");
}

/// That of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[test]
fn a_flood_of_hostile_messages_learns_nothing_and_takes_no_memory() {
    let messages = std::env::var(MESSAGES_VARIABLE).map_or(MESSAGES, |count| count.parse().expect("a number"));
    let mut world = World::new(Reads::Loopback, 40, &[SECRET, SECRET]);
    let content = [world.publish(0, 0, &[100]), world.publish(1, 0, &[200])];
    world.connect(0, 1);
    world.connect(1, 0);
    world.run(20);
    let (mut reader, seen) = honest_reader(&mut world);
    let (registered, peer) = (world.network.regions(), instance(&world, 1));
    let mut intruder = Stranger::new(&world, INTRUDER, GUESS);
    let (steps, mut batch, mut live_then) = (messages / EACH_STEP, 10, 0);
    for step in 0..steps {
        if step == steps / 5 {
            live_then = live_bytes();
        }
        for i in 0..EACH_STEP {
            let random = xorshift((step * EACH_STEP + i) as u64 + 1);
            intruder.send(&hostile(&world, &intruder, peer, &seen, random));
        }
        world.step(STEP);
        let mut of_reader = Vec::new();
        if step % STEPS_BETWEEN_QUESTIONS == 0 {
            batch += 1;
            reader.ask(&mut world, batch, &mut of_reader);
        } else {
            of_reader = reader.hear(&world);
        }
        assert_eq!(of_reader, Vec::<Vec<u8>>::new(), "its recorded greeting is not answered");
        assert_learns_nothing(&intruder.hear(&world));
        assert_eq!(world.statistic(0, Statistic::Connections), 2, "those of the reader and of the other process");
        assert!(world.network.connections() <= 3, "and the intruder's own");
        assert_eq!(world.network.regions(), registered, "nothing more was registered");
    }
    let grown = live_bytes() - live_then;
    assert!(grown < MOST_BYTES, "{grown} bytes more than before the last messages");
    let (malformed, unproven) =
        (world.statistic(0, Statistic::MalformedMessages), world.statistic(0, Statistic::UnprovenMessages));
    assert!(malformed > messages as u64 / 20, "{malformed} were malformed");
    assert!(unproven > messages as u64 / 3, "{unproven} were without proof");
    for (from, to) in [(0, 1), (1, 0)] {
        world.fetch(from, to, &[block(0, 0, 1)]);
        assert_eq!(bytes_of(&world.ended(from, 1)[0]), content[to]);
        assert_eq!(world.error(from, to), "");
    }
    assert_eq!(world.statistic(0, Statistic::ConnectionsOpened), 2, "none was closed and opened again");
}
