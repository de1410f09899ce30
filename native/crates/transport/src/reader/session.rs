//! One connection as its reader sees it: the handshake, then questions and their answers.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::message::{Body, InstanceId, Nonce, Proof, SAMPLE_BYTES, VERSION};
use crate::proof::{Greeting, Handshake, Refusal, Role, Secret, SessionKeys, Unproven, greeting_nonce};
use crate::told::Told;
use crate::wire::{Endpoint, Opened};

/// The caller's number for a peer.
pub(crate) type PeerNumber = u64;

/// A session of this process; numbers are never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId(pub(super) u64);

/// How this process identifies itself to owners.
pub(super) struct Identity {
    pub(super) instance: InstanceId,
    pub(super) address: Vec<u8>,
    pub(super) secret: Secret,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// HELLO was sent.
    Greeted,
    /// The owner has proven itself, PROOF was sent.
    Proven,
    /// The owner's sample is being read by the get with this token.
    Tested(u64),
    /// The owner may be asked.
    Ready,
}

/// What an owner has told of the sample in the memory of its GPU.
pub(super) struct DeviceSample {
    pub(super) remote: u64,
    pub(super) content: [u8; SAMPLE_BYTES],
    pub(super) key: Vec<u8>,
}

/// Whether the memory of the owner's GPU can be read.
enum DeviceReads {
    /// The owner has told of none.
    Unknown,
    /// To be tested when the session is ready.
    Told(DeviceSample),
    /// Being tested, or known.
    Tested(bool),
}

/// The process at the other end of a connection, and how to reach it again.
#[derive(Debug, Clone)]
pub(crate) struct PeerAddress {
    /// The caller's number of this attempt to connect.
    pub(crate) attempt: u64,
    pub(crate) instance: InstanceId,
    pub(crate) address: Vec<u8>,
}

/// A peer that is connected or about to be.
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) owner: PeerAddress,
    pub(super) endpoint: Endpoint,
    nonce: Nonce,
    stage: Stage,
    /// Batches to ask for when it is ready.
    unasked: Vec<u64>,
    /// Batches that were asked for and not answered: answers come in the same order.
    asked: VecDeque<u64>,
    /// When the first of those was asked for.
    asked_since: Option<Instant>,
    /// Batches with blocks that have not ended.
    open: HashSet<u64>,
    /// Whether it was opened for batches that the one before had not answered when it was closed as idle, and has
    /// answered none.
    retrying: bool,
    device: DeviceReads,
    /// What is kept of what the owner has told.
    pub(super) told: Rc<Told>,
}

impl Session {
    pub(super) fn new(id: SessionId, owner: PeerAddress, endpoint: Endpoint, told: Rc<Told>) -> Self {
        let (unasked, asked, asked_since, open, retrying) = Default::default();
        let nonce = greeting_nonce(id.0);
        let device = DeviceReads::Unknown;
        Self {
            id,
            owner,
            endpoint,
            nonce,
            stage: Stage::Greeted,
            unasked,
            asked,
            asked_since,
            open,
            retrying,
            device,
            told,
        }
    }

    /// The first message.
    pub(super) fn hello(&self, link: Opened, identity: &Identity) -> Body {
        let (version, number, nonce, address) = (VERSION, link.number, self.nonce, identity.address.clone());
        let (owner, reader) = (self.owner.instance, identity.instance);
        let greeting = Greeting { owner, reader, version, number, nonce, reader_address: &address };
        let proof = Some(identity.secret.prove_greeting(&greeting));
        Body::Hello { version, number, nonce, address, proof }
    }

    /// The owner's proof and challenge: the answer, and the keys of what follows; none when it answers another
    /// greeting.
    ///
    /// # Errors
    /// The proof is wrong.
    pub(super) fn challenge(
        &mut self,
        identity: &Identity,
        reader_nonce: Nonce,
        owner_nonce: Nonce,
        proof: &Proof,
    ) -> Result<Option<(Body, SessionKeys)>, Unproven> {
        if self.stage != Stage::Greeted || self.nonce != reader_nonce {
            return Ok(None);
        }
        let about = Handshake {
            owner: self.owner.instance,
            reader: identity.instance,
            reader_address: &identity.address,
            owner_nonce,
            reader_nonce,
        };
        if !identity.secret.verify(Role::Owner, &about, proof) {
            return Err(Unproven);
        }
        self.stage = Stage::Proven;
        let proof = identity.secret.prove(Role::Reader, &about);
        Ok(Some((Body::Proof { proof }, identity.secret.session_keys(&about))))
    }

    /// Whether the owner refuses this session's greeting.
    pub(super) fn is_turned_away(
        &self,
        identity: &Identity,
        reader_nonce: Nonce,
        (number, refused): (u32, u32),
        why: &str,
        proof: &Proof,
    ) -> bool {
        let (owner, reader) = (self.owner.instance, identity.instance);
        let refusal = Refusal { owner, reader, reader_nonce, number, refused, why };
        self.stage == Stage::Greeted && self.nonce == reader_nonce && identity.secret.verify_refusal(&refusal, proof)
    }

    /// The owner has accepted the proof and tells what to read first. Whether that is expected now; the get with this
    /// token is to read it.
    pub(super) fn test(&mut self, token: u64) -> bool {
        let expected = self.stage == Stage::Proven;
        if expected {
            self.stage = Stage::Tested(token);
        }
        expected
    }

    pub(super) fn is_tested_by(&self, token: u64) -> bool {
        self.stage == Stage::Tested(token)
    }

    /// The self-test was passed.
    pub(super) fn become_ready(&mut self) {
        self.stage = Stage::Ready;
    }

    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// The owner tells of a sample on its GPU; the first one counts.
    pub(super) fn hear_device_sample(&mut self, sample: DeviceSample) {
        if matches!(self.device, DeviceReads::Unknown) && self.stage != Stage::Greeted {
            self.device = DeviceReads::Told(sample);
        }
    }

    /// The sample to read now: once, when the session is ready.
    pub(super) fn take_device_sample(&mut self) -> Option<DeviceSample> {
        if !self.is_ready() || !matches!(self.device, DeviceReads::Told(_)) {
            return None;
        }
        match std::mem::replace(&mut self.device, DeviceReads::Tested(false)) {
            DeviceReads::Told(sample) => Some(sample),
            _ => None,
        }
    }

    pub(super) fn set_reads_device(&mut self, readable: bool) {
        self.device = DeviceReads::Tested(readable);
    }

    pub(super) fn reads_device(&self) -> bool {
        matches!(self.device, DeviceReads::Tested(true))
    }

    /// Whether no batch is open.
    pub(super) fn is_unused(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether an answer or a read is waited for.
    pub(super) fn expects(&self) -> bool {
        !self.is_ready() || !self.is_unused()
    }

    pub(super) fn add(&mut self, batch: u64) {
        self.open.insert(batch);
        self.unasked.push(batch);
    }

    /// Takes over batches that an earlier connection has not answered.
    pub(super) fn retry(&mut self, batches: Vec<u64>) {
        batches.into_iter().for_each(|batch| self.add(batch));
        self.retrying = true;
    }

    /// Whether batches that it does not answer may be asked for once more.
    pub(super) fn may_retry(&self) -> bool {
        !self.retrying
    }

    /// Whether the end of its connection, now, lets its batches be asked for over another one: the owner was reached
    /// over it before, and has answered nothing since it was asked for all of them, which is no longer ago than
    /// `patience`. So a connection that was lost while nothing passed over it costs no block, also where that is
    /// noticed by the next question only; and a peer that was lost is not waited for twice.
    pub(super) fn may_ask_elsewhere(&self, patience: Duration, now: Instant) -> bool {
        let asked_lately = || self.asked_since.is_some_and(|since| now.saturating_duration_since(since) <= patience);
        let unanswered = self.unasked.len() + self.asked.len();
        self.is_ready()
            && (self.is_unused()
                || self.open.len() == unanswered && self.may_retry() && (self.asked.is_empty() || asked_lately()))
    }

    /// The batches to ask for now.
    pub(super) fn ask(&mut self, now: Instant) -> Vec<u64> {
        let unasked = std::mem::take(&mut self.unasked);
        if self.asked.is_empty() {
            self.asked_since = Some(now);
        }
        self.asked.extend(&unasked);
        unasked
    }

    /// A batch is answered.
    ///
    /// # Errors
    /// It is not the one that was asked for next. A second answer must not move memory that gets are filling.
    pub(super) fn answered(&mut self, batch: u64) -> Result<(), String> {
        if self.asked.front() != Some(&batch) {
            return Err("it told out of turn where blocks are: a message was lost, or came twice".to_string());
        }
        self.asked.pop_front();
        self.asked_since = None;
        self.retrying = false;
        Ok(())
    }

    pub(super) fn finished(&mut self, batch: u64) {
        self.open.remove(&batch);
    }

    /// The connection is over: batches that were not answered, in their order, and the others that are open.
    pub(super) fn into_batches(self) -> (Vec<u64>, Vec<u64>) {
        let unanswered: Vec<u64> = self.asked.into_iter().chain(self.unasked).collect();
        let others = self.open.into_iter().filter(|batch| !unanswered.contains(batch)).collect();
        (unanswered, others)
    }
}
