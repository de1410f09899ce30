//! A flood of messages of processes that do not know the secret: cut, changed, replayed, guessed and random ones. They
//! learn nothing, are counted, take no memory, and leave the owner able to serve its own readers.

use sluice_testkit::memory::live_bytes;
use sluice_testkit::xorshift;

use super::world::{Reads, STEP, World, block, bytes_of};
use crate::cma::CmaWire;
use crate::links::MAX_HEARD;
use crate::loopback::Loopback;
use crate::message::{Body, InstanceId, Message, VERSION};
use crate::proof::{Handshake, Role, Secret};
use crate::statistics::Statistic;
use crate::wire::{Endpoint, Event, Wire};

const SECRET: &str = "the application's secret";
const MESSAGES: usize = 100_000;
/// `./sluice test --all` sets it to a million.
const MESSAGES_VARIABLE: &str = "SLUICE_HOSTILE_MESSAGES";
const EACH_STEP: usize = 20;
const MAX_CONNECTIONS: usize = 64;
const READER: InstanceId = InstanceId(77);
const INTRUDER: InstanceId = InstanceId(99);
/// Of a proof that is kept for each message, or a name, more would stay.
const MOST_BYTES_A_MESSAGE: i64 = 2;

/// A process without an agent, connected to process 0 of the world.
struct Stranger {
    wire: CmaWire<Loopback>,
    id: InstanceId,
    endpoint: Endpoint,
    number: u32,
}

impl Stranger {
    fn new(world: &World, id: InstanceId) -> Self {
        let mut wire = world.bare_wire();
        let opened = wire.open(owner_of(world)).expect("there");
        Self { wire, id, endpoint: opened.endpoint, number: opened.number }
    }

    fn address(&self) -> Vec<u8> {
        [&self.id.0.to_le_bytes(), self.wire.address()].concat()
    }

    fn hello(&self) -> Vec<u8> {
        let (number, nonce, address) = (self.number, [1; 16], self.address());
        Message { sender: self.id, body: Body::Hello { version: VERSION, number, nonce, address } }.encode()
    }

    /// What answers a challenge of the world's process 0, from who believes that this is the secret.
    fn proof(&self, world: &World, secret: &str, challenge: &Body) -> Vec<u8> {
        let Body::Challenge { reader_nonce, nonce, .. } = challenge else { panic!("{challenge:?}") };
        let (owner, address) = (world.processes[0].agent.address(), self.address());
        let about = Handshake {
            owner: InstanceId(u64::from_le_bytes(owner[..8].try_into().expect("8 bytes"))),
            reader: self.id,
            reader_address: &address,
            owner_nonce: *nonce,
            reader_nonce: *reader_nonce,
        };
        let proof = Secret::new(secret.as_bytes()).prove(Role::Reader, &about);
        Message { sender: self.id, body: Body::Proof { proof } }.encode()
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
}

/// The wire's address of process 0.
fn owner_of(world: &World) -> &[u8] {
    &world.processes[0].agent.address()[8..]
}

fn body(bytes: &[u8]) -> Body {
    Message::decode(bytes).expect("well-formed").body
}

/// A reader that knows the secret asks for a block, and ends its connection: all messages, as an observer of the wire
/// sees them.
fn honest_exchange(world: &mut World) -> (Stranger, Vec<Vec<u8>>) {
    let mut reader = Stranger::new(world, READER);
    let mut seen = Vec::new();
    let mut say = |world: &mut World, reader: &mut Stranger, message: Vec<u8>| {
        reader.wire.send(reader.endpoint, message.clone());
        world.run(5);
        let heard = reader.hear(world);
        seen.push(message);
        seen.extend(heard.clone());
        heard
    };
    let hello = reader.hello();
    let challenge = say(world, &mut reader, hello);
    let proof = reader.proof(world, SECRET, &body(&challenge[0]));
    let sample = say(world, &mut reader, proof);
    assert!(matches!(body(&sample[0]), Body::Sample { .. }));
    let locate = Body::Locate { batch: 1, done: vec![], blocks: vec![block(0, 0, 1)] };
    let located = say(world, &mut reader, Message { sender: READER, body: locate }.encode());
    assert!(matches!(body(&located[0]), Body::Located { .. }));
    say(world, &mut reader, Message { sender: READER, body: Body::Done { batches: vec![1] } }.encode());
    reader.wire.close(reader.endpoint);
    world.run(5);
    (reader, seen)
}

/// One hostile message, which follows from `random`.
fn hostile(intruder: &Stranger, seen: &[Vec<u8>], random: u64) -> Vec<u8> {
    let (kind, fresh) = (random % 10, InstanceId(random | 1 << 63));
    let old = &seen[(random >> 8) as usize % seen.len()];
    let at = (random >> 16) as usize;
    let of = |sender, body| Message { sender, body }.encode();
    match kind {
        0 => (0..at % 64).map(|i| xorshift(random ^ i as u64) as u8).collect(),
        1 => old[..at % old.len()].to_vec(),
        2 => old.clone(),
        3 => {
            let mut renamed = old.clone();
            renamed[1..9].copy_from_slice(&fresh.0.to_le_bytes());
            renamed
        }
        4 => {
            let mut changed = old.clone();
            changed[at % old.len()] ^= 1 << (random >> 60 & 7);
            changed
        }
        5 => {
            let (number, nonce) = (1 + at as u32 % 3, [3; 16]);
            let address = [&fresh.0.to_le_bytes(), intruder.wire.address()].concat();
            of(fresh, Body::Hello { version: VERSION, number, nonce, address })
        }
        6 => intruder.hello(),
        7 => of(INTRUDER, Body::Locate { batch: random, done: vec![1, 2], blocks: vec![block(0, 0, 1); 3] }),
        8 => of(fresh, Body::Refused { number: at as u32, refused: at as u32, why: "go away".into() }),
        _ => of(READER, Body::Closing { number: at as u32 % 3 }),
    }
}

/// A SAMPLE or LOCATED would have an address and a key.
fn assert_learns_nothing(heard: &[Vec<u8>]) {
    for bytes in heard {
        let body = body(bytes);
        assert!(matches!(body, Body::Challenge { .. } | Body::Refused { .. } | Body::Closing { .. }), "{body:?}");
    }
}

#[test]
fn a_flood_of_hostile_messages_learns_nothing_and_takes_no_memory() {
    let messages = std::env::var(MESSAGES_VARIABLE).map_or(MESSAGES, |count| count.parse().expect("a number"));
    let mut world = World::with(Reads::Loopback, 40, &[SECRET, SECRET], |options| {
        options.max_connections = MAX_CONNECTIONS;
    });
    let content = world.publish(0, 0, &[100]);
    let (mut reader, seen) = honest_exchange(&mut world);
    let registered = world.network.regions();
    let mut intruder = Stranger::new(&world, INTRUDER);
    // Before connections of other names come, whose numbers would not be this one's.
    intruder.wire.send(intruder.endpoint, intruder.hello());
    world.step(STEP);
    // By when every bounded thing is full.
    let (warm, mut live_then, mut challenges) = (messages * 2 / 5, 0, 0);
    for step in 0..messages / EACH_STEP {
        if step == warm / EACH_STEP {
            live_then = live_bytes();
        }
        for i in 0..EACH_STEP {
            let random = xorshift((step * EACH_STEP + i) as u64 + 1);
            intruder.wire.send(intruder.endpoint, hostile(&intruder, &seen, random));
        }
        world.step(STEP);
        // What is sent to the reader in whose name messages were replayed; it takes no part any more.
        reader.wire.progress(&mut Vec::new());
        let heard = intruder.hear(&world);
        assert_learns_nothing(&heard);
        for challenge in heard.iter().map(|bytes| body(bytes)).filter(|b| matches!(b, Body::Challenge { .. })) {
            challenges += 1;
            let guess = intruder.proof(&world, "a guess", &challenge);
            let Body::Challenge { proof, .. } = challenge else { unreachable!("filtered") };
            intruder.wire.send(intruder.endpoint, guess);
            // The owner's own proof, sent back to it.
            let mirrored = Message { sender: INTRUDER, body: Body::Proof { proof } }.encode();
            intruder.wire.send(intruder.endpoint, mirrored);
        }
        assert!(world.statistic(0, Statistic::Connections) <= MAX_CONNECTIONS as u64);
        assert_eq!(world.network.regions(), registered, "nothing more was registered");
    }
    let grown = live_bytes() - live_then;
    assert!(
        grown < MOST_BYTES_A_MESSAGE * (messages - warm) as i64,
        "{grown} bytes more than before the last messages"
    );
    assert!(challenges > messages / 1000, "{challenges} proofs were tried");
    let (malformed, unproven) =
        (world.statistic(0, Statistic::MalformedMessages), world.statistic(0, Statistic::UnprovenMessages));
    assert!(malformed > messages as u64 / 20, "{malformed} were malformed");
    assert!(unproven > messages as u64 / 20, "{unproven} were without proof");
    assert!(world.statistic(0, Statistic::ConnectionsRefused) > 0);
    // Idle ones make room.
    world.run(1100);
    world.connect(1, 0);
    world.fetch(1, 0, &[block(0, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(1, 1)[0]), content);
}

#[test]
fn numbers_of_processes_without_a_connection_are_forgotten_in_the_end() {
    let mut links = crate::links::Links::new(1);
    (0..4 * MAX_HEARD as u64).for_each(|id| links.hear(InstanceId(id), 1));
    assert_eq!(links.remembered(), MAX_HEARD);
}
