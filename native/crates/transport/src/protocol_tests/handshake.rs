//! The handshake: nothing is shown to, or asked of, a process that has not proven that it knows the secret.

use super::world::{Reads, World, block, bytes_of, failure_of};
use crate::completions::Failure;
use crate::message::{Body, InstanceId, Message, Tag, VERSION};
use crate::proof::{Greeting, Role, Secret};
use crate::statistics::Statistic;
use crate::wire::{Event, Wire};

pub(super) fn a_reader_without_the_secret_gets_no_location(reads: Reads) {
    for secrets in [["a", "b"], ["", "b"], ["a", ""]] {
        let mut world = World::new(reads, 4, &secrets);
        world.publish(1, 1, &[100]);
        world.connect(0, 1);
        world.fetch(0, 1, &[block(1, 0, 1)]);
        let ended = world.ended(0, 1);
        assert_eq!(failure_of(&ended[0]), Failure::Peer);
        assert!(world.error(0, 1).contains("secret"), "{}", world.error(0, 1));
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
    for (wrong, why) in [(hello(VERSION, &Secret::new(b"t")), "secret"), (hello(0, &secret), "version")] {
        let refused = say(&mut world, wrong);
        assert!(refused.len() == 1 && refusal(&refused[0]).contains(why), "{refused:?}");
    }
    assert_eq!(world.statistic(0, Statistic::ConnectionsOpened), 0, "only for refusals");
    let challenge = say(&mut world, hello(VERSION, &secret));
    assert_eq!(challenge.len(), 1, "the owner proves itself and asks for the same");
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
            (Body::Sample { address: 1, content: [0; 64], key: vec![] }, guessed(Role::Owner, 1)),
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

fn refusal(event: &Event) -> String {
    let Event::Message(bytes) = event else { return String::new() };
    match Message::decode(bytes).expect("well-formed").body {
        Body::Refused { why, .. } => why,
        _ => String::new(),
    }
}

pub(super) fn is_refusal(event: &Event) -> bool {
    let Event::Message(bytes) = event else { return false };
    matches!(Message::decode(bytes).expect("well-formed").body, Body::Refused { .. })
}
