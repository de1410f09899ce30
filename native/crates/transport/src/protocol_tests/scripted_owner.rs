//! An owner whose messages the test writes one by one, so that it can break the protocol.

use sluice_mem::MemoryKind;

use super::world::{Reads, World, block, failure_of};
use crate::agent::{Command, PeerState};
use crate::cma::CmaWire;
use crate::completions::Failure;
use crate::loopback::Loopback;
use crate::message::{Body, InstanceId, Message, VERSION};
use crate::proof::{Greeting, Handshake, Role, Secret, greeting_nonce};
use crate::tags::Tags;
use crate::wire::{Event, Opened, Wire};

/// An owner whose messages the test writes. Its reader is process 0 of the world, which knows it as peer 7. The
/// handshake is done.
pub(super) struct ScriptedOwner {
    pub(super) world: World,
    pub(super) wire: CmaWire<Loopback>,
    opened: Opened,
    reader: InstanceId,
    tags: Tags,
}

const SCRIPTED_OWNER: InstanceId = InstanceId(99);
pub(super) const SCRIPTED_PEER: u64 = 7;

impl ScriptedOwner {
    pub(super) fn new(reads: Reads, seed: u64) -> Self {
        let mut world = World::new(reads, seed, &[""]);
        let mut wire = world.bare_wire();
        let address = [&SCRIPTED_OWNER.0.to_le_bytes(), wire.address()].concat();
        world.processes[0].shared.peers.lock().expect("no panic").insert(SCRIPTED_PEER, PeerState::default());
        world.command(0, Command::Connect { peer: SCRIPTED_PEER, attempt: 0, address });
        world.run(2);
        let reader_address = world.processes[0].agent.address().to_vec();
        let opened = wire.open(&reader_address[8..]).expect("there");
        let mut heard = Vec::new();
        wire.progress(&mut heard);
        let Event::Message(hello) = &heard[0] else { panic!("{heard:?}") };
        let Message { sender: reader, body: Body::Hello { nonce: reader_nonce, .. }, .. } =
            Message::decode(hello).expect("good")
        else {
            panic!("{heard:?}")
        };
        let owner_nonce = [2; 16];
        let about =
            Handshake { owner: SCRIPTED_OWNER, reader, reader_address: &reader_address, owner_nonce, reader_nonce };
        let secret = Secret::new(b"");
        let proof = secret.prove(Role::Owner, &about);
        let keys = secret.session_keys(&about);
        let mut owner = Self { world, wire, opened, reader, tags: Tags::default() };
        owner.say(Body::Challenge { reader_nonce, nonce: owner_nonce, proof });
        owner.tags.serve(reader, keys);
        owner.world.run(2);
        owner
    }

    pub(super) fn say(&mut self, body: Body) {
        let bytes = self.tags.encode(self.reader, Message::of(SCRIPTED_OWNER, body)).expect("a session");
        self.wire.send(self.opened.endpoint, bytes);
    }

    /// A message that does not come.
    pub(super) fn lose(&mut self, body: Body) {
        self.tags.encode(self.reader, Message::of(SCRIPTED_OWNER, body)).expect("a session");
    }

    /// Greets the reader, to read from it too.
    pub(super) fn greet(&mut self) {
        let address = [&SCRIPTED_OWNER.0.to_le_bytes(), self.wire.address()].concat();
        let (version, number, nonce) = (VERSION, self.opened.number, greeting_nonce(1));
        let (owner, reader) = (self.reader, SCRIPTED_OWNER);
        let greeting = Greeting { owner, reader, version, number, nonce, reader_address: &address };
        let proof = Some(Secret::new(b"").prove_greeting(&greeting));
        self.say(Body::Hello { version, number, nonce, address, proof });
        self.world.run(2);
    }

    /// Shows `memory` as what the reader is to read first, and says that it is `content`.
    pub(super) fn show(&mut self, memory: &[u8; 64], content: [u8; 64]) {
        let (address, key) = self.register(memory);
        self.say(Body::Sample { on_device: false, address, content, key });
        self.world.run(3);
    }

    /// Lets others read `memory`, which must stay as long as the world runs.
    pub(super) fn register(&mut self, memory: &[u8; 64]) -> (u64, Vec<u8>) {
        let address = memory.as_ptr().expose_provenance();
        // SAFETY: the tests keep `memory`.
        let (_, key) = unsafe { self.wire.register(address, 64, MemoryKind::Host) }.expect("registered");
        (address as u64, key)
    }

    /// Has the reader ask for one block more; batch numbers begin with the token of the sample, 1.
    pub(super) fn fetch(&mut self) {
        self.world.processes[0].requests += 1;
        let request = self.world.processes[0].requests;
        self.world.command(0, Command::Fetch { request, peer: SCRIPTED_PEER, blocks: vec![block(1, 0, 1)] });
        self.world.run(2);
    }

    /// Memory that the reader cannot read.
    pub(super) fn locate(&mut self, batch: u64) {
        let keys = vec![crate::message::Key { region: 1, bytes: vec![0; 40] }];
        let range = crate::message::Range { key: 0, address: 1, bytes: 4096 };
        self.say(Body::Located { batch, keys, found: vec![Ok(vec![range])] });
    }

    /// Whether the reader has asked for a block since the last look.
    pub(super) fn was_asked(&mut self) -> bool {
        let mut heard = Vec::new();
        self.wire.progress(&mut heard);
        let asks = |event: &Event| match event {
            Event::Message(bytes) => {
                matches!(Message::decode(bytes), Ok(Message { body: Body::Locate { .. }, .. }))
            }
            _ => false,
        };
        heard.iter().any(asks)
    }

    pub(super) fn assert_given_up(&mut self, blocks: usize, why: &str) {
        self.world.run(5);
        let ended = self.world.take(0);
        assert_eq!(ended.len(), blocks, "each block ends once");
        assert!(ended.iter().all(|completion| failure_of(completion) == Failure::Peer), "{ended:?}");
        let error = self.world.error(0, SCRIPTED_PEER as usize);
        assert!(error.contains(why), "{error}");
        assert_eq!(self.world.processes[0].arena.leased_bytes(), 0);
    }
}
