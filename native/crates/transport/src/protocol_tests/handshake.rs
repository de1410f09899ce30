//! The handshake: nothing is shown to, or asked of, a process that has not proven that it knows the secret.

use std::time::Duration;

use super::world::{Reads, STEP, World, block, bytes_of, failure_of};
use crate::completions::Failure;
use crate::message::{Body, InstanceId, Message, Tag, VERSION};
use crate::proof::{Greeting, Role, Secret};
use crate::refusals::MAX_STRANGERS;
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

/// The bytes of a HELLO and a REFUSED of version 5, as Sluice wrote them before HELLO had a proof.
#[test]
fn greetings_and_refusals_of_version_5_say_so() {
    let mut world = World::new(Reads::Loopback, 42, &["s", "s"]);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    let hello =
        [&[1, 99, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0][..], &[0xAB; 16], &[99, 0, 0, 0, 0, 0, 0, 0], wire.address()];
    wire.send(link.endpoint, hello.concat());
    world.run(3);
    let mut heard = Vec::new();
    wire.progress(&mut heard);
    let id = instance(&world, 0).0.to_le_bytes();
    let why = b"it speaks version 7 of Sluice's protocol, not 5";
    let refused = [&[7][..], &id, &[1, 0, 0, 0, 1, 0, 0, 0], why].concat();
    assert_eq!(heard, [Event::Message(refused)]);
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 1);

    // Process 1 is another version: it does not understand HELLO, and refuses.
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

/// Strangers choose the address that a refusal goes to: few are opened, whether they are there or not.
#[test]
fn greetings_of_other_versions_open_few_connections() {
    let mut world = World::new(Reads::Loopback, 43, &["s"]);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[0].agent.address()[8..]).expect("there");
    let node = world.node(0);
    let before_node = wire.address()[..wire.address().len() - 8].to_vec();
    let address_of = |node: u64| [&before_node[..], &node.to_le_bytes()].concat();
    let mut calls = |world: &mut World, addresses: &mut dyn Iterator<Item = Vec<u8>>| {
        let sender = InstanceId(99);
        for address in addresses {
            let address = [&sender.0.to_le_bytes()[..], &address].concat();
            let hello = Body::Hello { version: 5, number: 1, nonce: [1; 16], address, proof: None };
            wire.send(link.endpoint, Message::of(sender, hello).encode());
        }
        world.network.take_calls(&node);
        let (mut turns, mut looks) = (0, 0);
        while turns < 3 || world.processes[0].shared.queued() > 0 {
            // A turn that has not taken up everything before does not look for more.
            looks += usize::from(world.processes[0].shared.queued() == 0);
            world.step(STEP);
            turns += 1;
        }
        world.network.take_calls(&node) - looks
    };
    assert_eq!(calls(&mut world, &mut (0..100).map(|i| vec![i; 100_000])), 0, "too long to be opened");
    let mut changing = (1000..3000u64).map(address_of);
    assert_eq!(calls(&mut world, &mut changing), MAX_STRANGERS);
    world.run(3000);
    let mut changing = (3000..5000u64).map(address_of);
    assert_eq!(calls(&mut world, &mut changing), 0, "no more in this process's life");
    assert_eq!(world.statistic(0, Statistic::UnprovenMessages), 4100);
    assert_eq!(world.network.connections(), 1);
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
