//! The handshake: nothing is shown to, or asked of, a process that has not proven that it knows the secret.

use std::time::Duration;

use super::world::{Reads, STEP, World, block, bytes_of, failure_of};
use crate::completions::Failure;
use crate::message::{Body, InstanceId, Message, Tag, VERSION};
use crate::proof::{Greeting, Refusal, Role, Secret};
use crate::statistics::Statistic;
use crate::wire::{Event, Wire};

pub(super) fn a_reader_without_the_secret_gets_no_location(reads: Reads) {
    for secrets in [["a", "b"], ["", "b"], ["a", ""]] {
        let mut world = World::new(reads, 4, &secrets);
        world.publish(1, 1, &[100]);
        world.connect(0, 1);
        world.fetch(0, 1, &[block(1, 0, 1)]);
        let ended = world.ended(0, 1);
        assert_eq!(failure_of(&ended[0]), Failure::Timeout, "who cannot prove itself gets no answer");
        assert!(world.error(0, 1).contains("another secret"), "{}", world.error(0, 1));
        assert_eq!(world.network.regions(), 0, "nothing was registered for it");
    }
}

pub(super) fn messages_before_a_valid_proof_are_dropped(reads: Reads) {
    let mut world = World::new(reads, 5, &["s"]);
    world.publish(0, 1, &[100]);
    let mut wire = world.bare_wire();
    let owner = world.processes[0].agent.address().to_vec();
    let link = wire.open(&owner[8..]).expect("there");
    let me = InstanceId(99);
    let address = [&me.0.to_le_bytes(), wire.address()].concat();
    let mut say = |world: &mut World, body: Body| {
        wire.send(link.endpoint, Message::of(me, body).encode());
        world.run(5);
        let mut events = Vec::new();
        wire.progress(&mut events);
        events
    };
    let secret = Secret::new(b"s");
    let hello = |version, secret: &Secret| {
        let (reader, number, nonce) = (me, link.number, [1; 16]);
        let owner = InstanceId(u64::from_le_bytes(owner[..8].try_into().expect("8 bytes")));
        let greeting = Greeting { owner, reader, version, number, nonce, reader_address: &address };
        let proof = (version == VERSION).then(|| secret.prove_greeting(&greeting));
        Body::Hello { version, number, nonce, address: address.clone(), proof }
    };
    assert_eq!(say(&mut world, hello(VERSION, &Secret::new(b"t"))), [], "nothing is sent to who knows no secret");
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 1);
    assert_eq!(world.network.connections(), 1, "the stranger's own");
    let challenge = say(&mut world, hello(VERSION, &secret));
    assert!(matches!(&challenge[..], [event] if is_challenge(event)), "the owner proves itself and asks for the same");
    let unproven = world.statistic(0, Statistic::UnprovenMessages);
    let tag = Some(Tag { by: Role::Reader, number: 0, mac: [0; 32] });
    for (body, tag) in [
        (Body::Locate { batch: 1, done: vec![], blocks: vec![block(1, 0, 1)] }, tag),
        (Body::Proof { proof: [0; 32] }, None),
        (Body::Done { batches: vec![1] }, tag),
    ] {
        wire.send(link.endpoint, Message { sender: me, body, tag }.encode());
        world.run(5);
    }
    let mut answers = Vec::new();
    wire.progress(&mut answers);
    assert_eq!(answers, []);
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), unproven + 3);
    assert_eq!(world.network.regions(), 0);
}

/// Somebody who sees what a reader and its owner send: neither a recorded message nor one in the name of either ends
/// the session, and what is asked over it is answered.
pub(super) fn messages_in_the_name_of_others_end_no_session(reads: Reads) {
    let mut world = World::new(reads, 41, &["s", "s"]);
    let data = world.publish(1, 1, &[100]);
    world.connect(0, 1);
    world.run(10);
    let mut wires: Vec<_> = [0, 1].into_iter().map(|to| (to, world.bare_wire())).collect();
    let ids: Vec<InstanceId> = [0, 1].into_iter().map(|process| instance(&world, process)).collect();
    for (to, wire) in &mut wires {
        let sender = ids[1 - *to];
        let link = wire.open(&world.processes[*to].agent.address()[8..]).expect("there");
        let address = world.processes[1 - *to].agent.address().to_vec();
        let guessed = |by, number| Some(Tag { by, number, mac: [9; 32] });
        let (nonce, proof, number) = ([1; 16], [2; 32], link.number);
        for (body, tag) in [
            (Body::Hello { version: VERSION, number, nonce, address: address.clone(), proof: Some(proof) }, None),
            (Body::Hello { version: VERSION, number: 4000, nonce, address: address.clone(), proof: Some(proof) }, None),
            (Body::Hello { version: 5, number, nonce, address, proof: None }, None),
            (Body::Challenge { reader_nonce: nonce, nonce, proof }, None),
            (Body::Proof { proof }, None),
            (Body::Refused { number: 4000, refused: 4000, why: "no".into() }, None),
            (Body::Refused { number: 4000, refused: 4000, why: "no".into() }, guessed(Role::Owner, 1)),
            (Body::Closing { number }, None),
            (Body::Closing { number }, guessed(Role::Reader, 0)),
            (Body::Sample { on_device: false, address: 1, content: [0; 64], key: vec![] }, guessed(Role::Owner, 1)),
            (Body::Locate { batch: 1, done: vec![], blocks: vec![] }, guessed(Role::Reader, 0)),
        ] {
            wire.send(link.endpoint, Message { sender, body, tag }.encode());
            world.run(3);
        }
        let mut heard = Vec::new();
        wire.progress(&mut heard);
        assert_eq!(heard, []);
    }
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    assert_eq!((world.error(0, 1), world.error(1, 0)), (String::new(), String::new()));
    assert!((0..2).all(|process| world.statistic(process, Statistic::ConnectionsOpened) == 1));
    assert!((0..2).all(|process| world.statistic(process, Statistic::UnprovenMessages) >= 7));
    world.assert_nothing_left();
}

fn instance(world: &World, process: usize) -> InstanceId {
    let address = world.processes[process].agent.address();
    InstanceId(u64::from_le_bytes(address[..8].try_into().expect("8 bytes")))
}

/// A greeting of a version, in the name of `reader` from `address`, with a proof under `secret` where it has one.
fn greeting_of_version(world: &World, version: u16, reader: InstanceId, address: &[u8], secret: &str) -> Vec<u8> {
    let (owner, number, nonce) = (instance(world, 0), 1, [1; 16]);
    let address = [&reader.0.to_le_bytes()[..], address].concat();
    let greeting = Greeting { owner, reader, version, number, nonce, reader_address: &address };
    let proof = (version >= 6).then(|| Secret::new(secret.as_bytes()).prove_greeting(&greeting));
    Message::of(reader, Body::Hello { version, number, nonce, address, proof }).encode()
}

/// Later versions, and the one before this, are told which version is here, once for each greeting.
#[test]
fn readers_of_other_versions_that_know_the_secret_are_told() {
    for (secret, version) in [("s", 6), ("s", 8), ("s", u16::MAX), ("", 8)] {
        let mut world = World::new(Reads::Loopback, 42, &[secret]);
        world.publish(0, 1, &[100]);
        let (mut wire, reader) = (world.bare_wire(), InstanceId(99));
        let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
        let hello = greeting_of_version(&world, version, reader, wire.address(), secret);
        wire.send(link.endpoint, hello.clone());
        world.run(3);
        let mut heard = Vec::new();
        wire.progress(&mut heard);
        let [Event::Message(refusal)] = &heard[..] else { panic!("{heard:?}") };
        let refusal = Message::decode(refusal).expect("well-formed");
        let Body::TurnedAway { number, refused, reader_nonce, proof, why } = refusal.body else {
            panic!("{refusal:?}")
        };
        assert_eq!(why, format!("it speaks version 7 of Sluice's protocol, not {version}"));
        assert_eq!((refusal.sender, refused, reader_nonce), (instance(&world, 0), 1, [1; 16]));
        let about = Refusal { owner: refusal.sender, reader, reader_nonce, number, refused, why: &why };
        assert!(Secret::new(secret.as_bytes()).verify_refusal(&about, &proof), "nobody else could have sent it");
        assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 0);

        // Recorded and sent again.
        wire.send(link.endpoint, hello);
        world.run(3);
        heard.clear();
        wire.progress(&mut heard);
        assert_eq!(heard, []);
        assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 1);
        assert_eq!(world.network.regions(), 0);
        world.run(2000);
        assert_eq!(world.network.connections(), 0, "the one for the refusal is closed, and it was the reader's");
    }
}

/// Two processes of different versions greet each other at once: the connection that this one has opened is enough.
#[test]
fn a_reader_of_another_version_that_is_greeted_itself_is_told_over_the_same_connection() {
    let mut world = World::new(Reads::Loopback, 47, &["s", "s"]);
    world.network.silence(&world.node(1), true);
    world.connect(0, 1);
    world.run(3);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    let (reader, address) = (instance(&world, 1), world.processes[1].agent.address()[8..].to_vec());
    wire.send(link.endpoint, greeting_of_version(&world, 8, reader, &address, "s"));
    world.network.take_calls(&world.node(0));
    world.run(3);
    assert_eq!(world.network.take_calls(&world.node(0)), 4, "three looks and one message: nothing is opened");
    assert_eq!(world.statistic(0, Statistic::Connections), 1);
}

/// The bytes of a REFUSED of version 5, before such messages had a proof.
#[test]
fn a_refusal_of_version_5_is_understood() {
    let mut world = World::new(Reads::Loopback, 42, &["s", "s"]);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    world.network.silence(&world.node(1), true);
    world.connect(0, 1);
    world.run(3);
    let id = instance(&world, 1).0.to_le_bytes();
    let why = b"it speaks version 5 of Sluice's protocol, not 6";
    let refused = [&[7][..], &id, &[1, 0, 0, 0, 1, 0, 0, 0], why].concat();
    wire.send(link.endpoint, refused);
    world.run(3);
    assert_eq!(world.error(0, 1), "it refuses: it speaks version 5 of Sluice's protocol, not 6");
}

/// No address of a greeting that is not proven is opened, whatever version it names and whether somebody is there.
#[test]
fn greetings_that_are_not_proven_open_no_connection_in_any_version() {
    let mut world = World::new(Reads::Loopback, 43, &["s"]);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    let node = world.node(0);
    let addresses = [wire.address().to_vec(), vec![], vec![0xFF; 100], vec![1; 8000], vec![2; 100_000]];
    let mut sent = 0;
    for version in [0, 1, 5, 6, 7, 8, u16::MAX] {
        for address in &addresses {
            let hello = greeting_of_version(&world, version, InstanceId(99), address, "another secret");
            wire.send(link.endpoint, hello);
            sent += 1;
        }
    }
    world.network.take_calls(&node);
    let (mut turns, mut looks) = (0, 0);
    while turns < 3 || world.processes[0].shared.queued() > 0 {
        // A turn that has not taken up everything before does not look for more.
        looks += usize::from(world.processes[0].shared.queued() == 0);
        world.step(STEP);
        turns += 1;
    }
    assert_eq!(world.network.take_calls(&node), looks);
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), sent);
    assert_eq!(world.network.connections(), 1);
    let mut heard = Vec::new();
    wire.progress(&mut heard);
    assert_eq!(heard, []);
}

/// While this process waits for an owner's answer, somebody refuses in the owner's name.
pub(super) fn refusals_in_the_name_of_others_end_no_session_of_the_other_direction(reads: Reads) {
    let mut world = World::new(reads, 44, &["s", "s"]);
    let data = world.publish(0, 1, &[100]);
    world.connect(1, 0);
    world.run(10);
    let node = world.node(1);
    world.network.silence(&node, true);
    world.connect(0, 1);
    world.run(3);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    let sender = instance(&world, 1);
    let (number, refused) = (u32::MAX, u32::MAX);
    for body in [
        Body::Refused { number, refused, why: "no".into() },
        Body::Closing { number: 1 },
        Body::TurnedAway { number, refused, reader_nonce: [0; 16], proof: [0; 32], why: "no".into() },
    ] {
        wire.send(link.endpoint, Message::of(sender, body).encode());
    }
    world.run(3);
    assert_eq!(world.error(0, 1), "");
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 3);
    world.network.silence(&node, false);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(1, 1)[0]), data);
}

/// A connection that has no session can be refused in another's name, but the number that this names is not believed.
pub(super) fn numbers_without_a_proof_cost_no_openings(reads: Reads) {
    let mut world = World::new(reads, 45, &["s", "s"]);
    let data = world.publish(1, 1, &[100]);
    let (reader, owner) = (world.node(0), world.node(1));
    world.network.silence(&owner, true);
    world.connect(0, 1);
    world.run(3);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    let sender = instance(&world, 1);
    let refused = Body::Refused { number: u32::MAX, refused: u32::MAX, why: "no".into() };
    wire.send(link.endpoint, Message::of(sender, refused).encode());
    world.run(3);
    assert_eq!(world.error(0, 1), "it refuses: no");
    world.network.silence(&owner, false);
    world.network.take_calls(&reader);
    world.connect(0, 1);
    world.run(3);
    assert!(world.network.take_calls(&reader) < 20, "one opening");
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
}

/// Messages in the name of a connected process do not count as use of its connection.
pub(super) fn messages_in_the_name_of_others_keep_no_connection_open(reads: Reads) {
    let idle = Duration::from_millis(500);
    let mut world = World::with(reads, 46, &["s", "s"], |options| options.connection_idle = idle);
    world.connect(0, 1);
    world.run(10);
    assert!(world.is_ready(0, 1));
    let ids = [0, 1].map(|process| instance(&world, process));
    let addresses = [0, 1].map(|process| world.processes[process].agent.address().to_vec());
    let mut wires = [0, 1].map(|to| {
        let mut wire = world.bare_wire();
        let link = wire.open(&addresses[to][8..]).expect("there");
        (to, wire, link.endpoint)
    });
    for _ in 0..2 * idle.as_millis() {
        for (to, wire, endpoint) in &mut wires {
            let (sender, address) = (ids[1 - *to], addresses[1 - *to].clone());
            let (nonce, proof) = ([0xFF; 16], [2; 32]);
            let tag = Tag { by: Role::Reader, number: 0, mac: [9; 32] };
            for (body, tag) in [
                (Body::Hello { version: VERSION, number: 1, nonce, address, proof: Some(proof) }, None),
                (Body::Challenge { reader_nonce: nonce, nonce, proof }, None),
                (Body::Proof { proof }, None),
                (Body::Done { batches: vec![1] }, Some(tag)),
            ] {
                wire.send(*endpoint, Message { sender, body, tag }.encode());
            }
        }
        world.step(STEP);
    }
    assert_eq!(world.network.connections(), 2, "those of the flood");
}

fn is_challenge(event: &Event) -> bool {
    let Event::Message(bytes) = event else { return false };
    matches!(Message::decode(bytes).expect("well-formed").body, Body::Challenge { .. })
}

pub(super) fn is_refusal(event: &Event) -> bool {
    let Event::Message(bytes) = event else { return false };
    matches!(Message::decode(bytes).expect("well-formed").body, Body::Refused { .. })
}
