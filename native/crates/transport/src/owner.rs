//! The side whose memory is read: proves itself to readers, tells those that have proven themselves where blocks are,
//! and keeps what it has told of in place until they are done.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::message::{Block, Body, Found, InstanceId, Key, Nonce, Proof, Range};
use crate::proof::{Handshake, Role, Secret, random_nonce};
use crate::sample::Sample;
use crate::windows::{WINDOW_BYTES, Windows};
use crate::wire::{Region, Wire};

/// What a reader is told, or why it is refused.
pub(crate) type Answer = Result<Body, String>;

/// What a reader has proven and what it reads.
struct Session {
    address: Vec<u8>,
    reader_nonce: Nonce,
    owner_nonce: Nonce,
    proven: bool,
    pins: HashMap<u64, Vec<Region>>,
}

/// All readers of this process's memory.
///
/// A pin ends with DONE or with the connection, never by time alone: over some wires a read is a message that this process
/// answers by touching the memory, and then nothing must be unmapped that a connected reader knows of.
pub(crate) struct Owner {
    instance: InstanceId,
    secret: Secret,
    catalog: Arc<Catalog>,
    pub(crate) windows: Windows,
    sample: Sample,
    sessions: HashMap<InstanceId, Session>,
}

impl Owner {
    pub(crate) fn new(instance: InstanceId, secret: Secret, catalog: Arc<Catalog>, windows: Windows) -> Self {
        Self { instance, secret, catalog, windows, sample: Sample::new(), sessions: HashMap::new() }
    }

    pub(crate) fn has_session(&self, reader: InstanceId) -> bool {
        self.sessions.contains_key(&reader)
    }

    /// Whether a reader was told of something that it may still be reading.
    pub(crate) fn has_pins(&self, reader: InstanceId) -> bool {
        self.sessions.get(&reader).is_some_and(|session| session.pins.values().any(|pins| !pins.is_empty()))
    }

    /// A reader's first message. The answer proves that this side knows the secret, and asks the same of the reader. One that
    /// greets again over the same connection may still be reading what it was told of before.
    pub(crate) fn hello(&mut self, reader: InstanceId, reader_nonce: Nonce, address: &[u8]) -> Body {
        let owner_nonce = random_nonce();
        let pins = self.sessions.remove(&reader).map(|session| session.pins).unwrap_or_default();
        let session = Session { address: address.to_vec(), reader_nonce, owner_nonce, proven: false, pins };
        let proof = self.secret.prove(Role::Owner, &handshake(self.instance, reader, &session));
        self.sessions.insert(reader, session);
        Body::Challenge { reader_nonce, nonce: owner_nonce, proof }
    }

    /// The reader's proof; if it is right, the reader is told what to read first.
    pub(crate) fn proof<W: Wire>(&mut self, wire: &mut W, reader: InstanceId, proof: &Proof) -> Option<Answer> {
        let session = self.sessions.get_mut(&reader)?;
        let about = handshake(self.instance, reader, session);
        session.proven = self.secret.verify(Role::Reader, &about, proof);
        if !session.proven {
            return Some(Err("this application's secret is another".into()));
        }
        Some(self.sample.message(wire).map_err(|error| format!("nothing can be read here: {error}")))
    }

    /// Where the blocks are. They stay there until DONE or the end of the connection. `step` is called after each.
    pub(crate) fn locate<W: Wire>(
        &mut self,
        wire: &mut W,
        reader: InstanceId,
        batch: u64,
        blocks: &[Block],
        step: impl Fn(),
    ) -> Answer {
        let Some(session) = self.sessions.get_mut(&reader).filter(|session| session.proven) else {
            return Err("it asked for locations without having proven that it knows the secret".into());
        };
        let mut located = Located::default();
        for block in blocks {
            let found = locate_block(&self.catalog, &mut self.windows, wire, block, &mut located);
            located.found.push(found);
            step();
        }
        session.pins.entry(batch).or_default().append(&mut located.pins);
        Ok(Body::Located { batch, keys: located.keys, found: located.found })
    }

    /// The reader has read what these batches' answers told of.
    pub(crate) fn done<W: Wire>(&mut self, wire: &mut W, reader: InstanceId, batches: &[u64]) {
        let Some(session) = self.sessions.get_mut(&reader) else { return };
        let pins = batches.iter().filter_map(|batch| session.pins.remove(batch));
        pins.flatten().for_each(|region| self.windows.unpin(wire, region));
    }

    /// The connection to the reader has been closed on this side.
    pub(crate) fn forget<W: Wire>(&mut self, wire: &mut W, reader: InstanceId) {
        let pins = self.sessions.remove(&reader).map(|session| session.pins).unwrap_or_default();
        pins.into_values().flatten().for_each(|region| self.windows.unpin(wire, region));
    }

    /// Gives up everything that can be read.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W) {
        self.windows.clear(wire);
        self.sample.close(wire);
    }
}

fn handshake(owner: InstanceId, reader: InstanceId, session: &Session) -> Handshake<'_> {
    Handshake {
        owner,
        reader,
        reader_address: &session.address,
        owner_nonce: session.owner_nonce,
        reader_nonce: session.reader_nonce,
    }
}

/// The answer to LOCATE while it is made.
#[derive(Default)]
struct Located {
    keys: Vec<Key>,
    indexes: HashMap<Region, u16>,
    found: Vec<Found>,
    pins: Vec<Region>,
}

/// A block that is not here, or cannot be shown, is one that the reader must have in another way.
fn locate_block<W: Wire>(
    catalog: &Catalog,
    windows: &mut Windows,
    wire: &mut W,
    block: &Block,
    located: &mut Located,
) -> Found {
    let output = catalog.find(block.shuffle, block.map)?;
    let (start, end) = output.extent(block)?;
    // Keys have numbers of 16 bits in the answer.
    let windows_at_most = (end - start) / WINDOW_BYTES + 2;
    if located.keys.len() as u64 + windows_at_most > u64::from(u16::MAX) {
        return None;
    }
    let places = windows.pin(wire, &output, start, end).ok()?;
    located.pins.extend(places.iter().map(|place| place.region));
    let range = |place: &crate::windows::Place| {
        let key = *located.indexes.entry(place.region).or_insert_with(|| {
            located.keys.push(Key { region: place.region.0, bytes: windows.key(place.region).to_vec() });
            (located.keys.len() - 1) as u16
        });
        Range { key, address: place.address, bytes: place.bytes }
    };
    Some(places.iter().map(range).collect())
}
