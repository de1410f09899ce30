//! The handshake: nothing is shown to, or asked of, a process that has not proven that it knows the secret.

use super::world::{Reads, World, block, failure_of};
use crate::completions::Failure;
use crate::message::{Body, InstanceId, Message, VERSION};
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

pub(super) fn messages_before_a_valid_proof_are_refused(reads: Reads) {
    let mut world = World::new(reads, 5, &["s"]);
    world.publish(0, 1, &[100]);
    let mut wire = world.bare_wire();
    let owner = world.processes[0].agent.address().to_vec();
    let link = wire.open(&owner[8..]).expect("there");
    let me = InstanceId(99);
    let address = [&me.0.to_le_bytes(), wire.address()].concat();
    let mut say = |world: &mut World, body: Body| {
        wire.send(link.endpoint, Message { sender: me, body }.encode());
        world.run(5);
        let mut events = Vec::new();
        wire.progress(&mut events);
        events
    };
    let nonce = [1; 16];
    let challenge =
        say(&mut world, Body::Hello { version: VERSION, number: link.number, nonce, address: address.clone() });
    assert_eq!(challenge.len(), 1, "the owner proves itself and asks for the same");
    for body in [
        Body::Locate { batch: 1, done: vec![], blocks: vec![block(1, 0, 1)] },
        Body::Proof { proof: [0; 32] },
        Body::Done { batches: vec![1] },
    ] {
        for event in say(&mut world, body) {
            assert!(is_refusal(&event), "{event:?}");
        }
    }
    let old = say(&mut world, Body::Hello { version: 0, number: link.number, nonce, address });
    assert!(old.iter().any(is_refusal), "{old:?}");
    assert_eq!(world.network.regions(), 0);
}

pub(super) fn is_refusal(event: &Event) -> bool {
    let Event::Message(bytes) = event else { return false };
    matches!(Message::decode(bytes).expect("well-formed").body, Body::Refused { .. })
}
