//! An owner and a reader that only asks, for measurements of what it costs to tell where blocks are. No part of the
//! library's interface.
//!
//! The owner is an agent with map outputs in files, on a network within the process; the reader's messages are written
//! here. Nothing of a block is read. Threading: none; disk jobs are done in the owner's turn.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sluice_mem::Arena;

use crate::agent::{Agent, Shared, TransportOptions};
use crate::disk::{Disk, Ended, Job};
use crate::loopback::{Loopback, Network};
use crate::message::{Block, Body, InstanceId, Message, VERSION};
use crate::proof::{Greeting, Handshake, Role, Secret, greeting_nonce};
use crate::tags::Tags;
use crate::wire::{Event, Opened, Wire, WireError};

const READER: InstanceId = InstanceId(1);
/// Blocks asked for with one message, as the reader of this crate does it.
const BATCH_BLOCKS: usize = 512;
const SHUFFLE: u32 = 1;

/// Messages and their bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Both ways.
    pub messages: u64,
    /// From the reader to the owner.
    pub asked_bytes: u64,
    /// From the owner to the reader.
    pub told_bytes: u64,
    /// Blocks that the owner has told the place of.
    pub found: u64,
}

/// The owner and its reader.
pub struct Questioned {
    owner: Agent<Loopback>,
    shared: Arc<Shared>,
    reader: Loopback,
    opened: Opened,
    instance: InstanceId,
    tags: Tags,
    batches: u64,
    done: Vec<u64>,
    traffic: Traffic,
}

impl Questioned {
    /// An owner without map outputs, and a reader that may ask it.
    ///
    /// # Errors
    /// The options allow too little.
    pub fn new(options: &TransportOptions) -> Result<Self, WireError> {
        let network = Network::new(1);
        let shared = Arc::new(Shared::default());
        let (arena, there) = (Arena::host(1 << 20), Arc::clone(&shared));
        let disk = Box::new(AtOnce::default());
        let owner = Agent::with_disk(network.wire(), arena, there, options, disk)?;
        let mut reader = network.wire();
        let (instance, address) = owner.address().split_first_chunk().expect("an address begins with its instance");
        let instance = InstanceId(u64::from_le_bytes(*instance));
        let opened = reader.open(address)?;
        let (tags, batches, done, traffic) = Default::default();
        let mut questioned = Self { owner, shared, reader, opened, instance, tags, batches, done, traffic };
        questioned.greet(&Secret::new(&options.secret));
        Ok(questioned)
    }

    /// The reader's side of a handshake.
    fn greet(&mut self, secret: &Secret) {
        let address = [&READER.0.to_le_bytes(), self.reader.address()].concat();
        let (version, number, nonce) = (VERSION, self.opened.number, greeting_nonce(1));
        let greeting =
            Greeting { owner: self.instance, reader: READER, version, number, nonce, reader_address: &address };
        let proof = Some(secret.prove_greeting(&greeting));
        self.say(Body::Hello { version, number, nonce, address: address.clone(), proof });
        let challenge = self.hear().into_iter().find_map(|message| match message.body {
            Body::Challenge { nonce, .. } => Some(nonce),
            _ => None,
        });
        let owner_nonce = challenge.expect("the greeting is right");
        let about = Handshake {
            owner: self.instance,
            reader: READER,
            reader_address: &address,
            owner_nonce,
            reader_nonce: nonce,
        };
        self.say(Body::Proof { proof: secret.prove(Role::Reader, &about) });
        self.tags.read_from(self.instance, secret.session_keys(&about));
        self.hear();
        self.traffic = Traffic::default();
    }

    /// Publishes the output of a map task, of the shuffle that is asked for: partitions of equal size in a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn publish(&mut self, map: u64, file: &Path, partitions: u32, partition_bytes: usize) -> std::io::Result<()> {
        std::fs::write(file, vec![0; partitions as usize * partition_bytes])?;
        let offsets = (0..=u64::from(partitions)).map(|partition| partition * partition_bytes as u64).collect();
        let published = self.shared.catalog.publish(SHUFFLE, map, file.to_path_buf(), None, offsets);
        published.map(drop).map_err(std::io::Error::other)
    }

    /// Asks where a partition of each of these maps is, as a reduce task does, and says that what was asked for before
    /// has been read. The owner has not answered yet: [`Questioned::answer`].
    pub fn ask(&mut self, maps: u64, partition: u32) {
        let blocks: Vec<Block> =
            (0..maps).map(|map| Block { shuffle: SHUFFLE, map, first: partition, end: partition + 1 }).collect();
        let mut done = std::mem::take(&mut self.done);
        for blocks in blocks.chunks(BATCH_BLOCKS) {
            self.batches += 1;
            self.done.push(self.batches);
            let done = std::mem::take(&mut done);
            self.say(Body::Locate { batch: self.batches, done, blocks: blocks.to_vec() });
        }
    }

    /// The owner does all that it has to do.
    pub fn answer(&mut self) {
        while self.owner.turn(Instant::now()) {}
    }

    /// What has been said since the greeting, after the reader has read the answers.
    pub fn traffic(&mut self) -> Traffic {
        self.receive();
        self.traffic
    }

    fn say(&mut self, body: Body) {
        let bytes = self.tags.encode(self.instance, Message::of(READER, body)).expect("a session");
        self.traffic.messages += 1;
        self.traffic.asked_bytes += bytes.len() as u64;
        self.reader.send(self.opened.endpoint, bytes);
    }

    fn hear(&mut self) -> Vec<Message> {
        self.answer();
        self.receive()
    }

    fn receive(&mut self) -> Vec<Message> {
        let mut events = Vec::new();
        self.reader.progress(&mut events);
        let mut messages = Vec::new();
        for event in events {
            let Event::Message(bytes) = event else { continue };
            self.traffic.messages += 1;
            self.traffic.told_bytes += bytes.len() as u64;
            let message = Message::decode(&bytes).expect("the owner is honest");
            if let Body::Located { found, .. } = &message.body {
                self.traffic.found += found.iter().filter(|found| found.is_ok()).count() as u64;
            }
            messages.push(message);
        }
        messages
    }
}

/// Does each job when it is asked what has ended.
#[derive(Default)]
struct AtOnce(Vec<Job>);

impl Disk for AtOnce {
    fn submit(&mut self, job: Job) -> Result<(), Job> {
        self.0.push(job);
        Ok(())
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.extend(self.0.drain(..).map(Job::run));
    }
}
