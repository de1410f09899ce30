//! The side whose memory is read: it proves to readers that it knows the secret, tells readers that have proven the
//! same where blocks are, and keeps those blocks mapped until the readers are done. Where blocks are:
//! [`crate::locator`].

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::answers::{Question, QuestionNumber};
use crate::locator::Locator;
use crate::message::{Block, Body, InstanceId, Nonce, Proof};
use crate::proof::{Greeting, Handshake, Refusal, Role, Secret, SessionKeys, Unproven, random_nonce};
use crate::regions::RegionNumber;
use crate::sample::Sample;
use crate::wire::Wire;

/// What a reader is told, or why it is refused.
pub(crate) type Answer = Result<Body, String>;

/// Questions of one reader that were not answered, or whose answers are in use (no DONE yet). What is asked beyond that
/// is busy. Of 512 blocks each these are half a million blocks.
pub(crate) const MAX_OPEN_QUESTIONS: usize = 1024;

/// How often a greeting that comes again gets the same answer. A wire keeps what it cannot send yet, and a reader that
/// stands still receives nothing.
const MOST_ANSWERS: usize = 4;

/// A reader's greeting, which its PROOF is to follow.
struct Pending {
    address: Vec<u8>,
    reader_nonce: Nonce,
    owner_nonce: Nonce,
    /// How often it was answered.
    answers: usize,
}

/// What a reader reads.
#[derive(Default)]
struct Session {
    /// A session stays as it is until the reader has proven that the greeting is its own.
    pending: Option<Pending>,
    /// Whether a proof has come.
    proven: bool,
    /// By batch: what its answer told of.
    pins: HashMap<u64, Vec<RegionNumber>>,
    /// In the order in which they were asked.
    questions: VecDeque<QuestionNumber>,
}

/// All readers of this process's memory.
///
/// A pin ends with DONE or with the connection, never by time alone: over some wires a read is a message that this
/// process answers by touching the memory, and then nothing must be unmapped that a connected reader knows of.
pub(crate) struct Owner {
    instance: InstanceId,
    secret: Secret,
    pub(crate) locator: Locator,
    sample: Sample,
    sessions: HashMap<InstanceId, Session>,
    /// Answers without DONE, of all readers.
    answers_in_use: usize,
}

impl Owner {
    pub(crate) fn new(instance: InstanceId, secret: Secret, locator: Locator) -> Self {
        Self { instance, secret, locator, sample: Sample::new(), sessions: HashMap::new(), answers_in_use: 0 }
    }

    /// Whether a reader has proven itself.
    pub(crate) fn has_session(&self, reader: InstanceId) -> bool {
        self.sessions.get(&reader).is_some_and(|session| session.proven)
    }

    /// Whether a reader waits for an answer, or was told of something that it may still be reading.
    pub(crate) fn is_read_by(&self, reader: InstanceId) -> bool {
        let session = self.sessions.get(&reader);
        session.is_some_and(|session| !session.questions.is_empty() || !session.pins.is_empty())
    }

    /// Whether a reader's first message, of whatever version, comes from a process that knows the secret. It may have
    /// been recorded and sent again.
    pub(crate) fn knows_secret(
        &self,
        reader: InstanceId,
        version: u16,
        number: u32,
        nonce: Nonce,
        reader_address: &[u8],
        proof: &Proof,
    ) -> bool {
        let owner = self.instance;
        self.secret.verify_greeting(&Greeting { owner, reader, version, number, nonce, reader_address }, proof)
    }

    /// A reader's first message. The answer proves that this side knows the secret, and asks the reader to prove that
    /// it is there now. One that greets again over the same connection may still be reading what it was told of before.
    pub(crate) fn hello(&mut self, reader: InstanceId, reader_nonce: Nonce, address: &[u8]) -> Body {
        let pending = Pending { address: address.to_vec(), reader_nonce, owner_nonce: random_nonce(), answers: 1 };
        let challenge = self.challenge(reader, &pending);
        self.sessions.entry(reader).or_default().pending = Some(pending);
        challenge
    }

    /// The answer to a greeting that comes once more: the same one, as long as its PROOF is waited for, a few times.
    pub(crate) fn hello_again(&mut self, reader: InstanceId, reader_nonce: Nonce) -> Option<Body> {
        let pending = self.sessions.get_mut(&reader)?.pending.as_mut()?;
        if pending.reader_nonce != reader_nonce || pending.answers >= MOST_ANSWERS {
            return None;
        }
        pending.answers += 1;
        let pending = self.sessions.get(&reader)?.pending.as_ref()?;
        Some(self.challenge(reader, pending))
    }

    fn challenge(&self, reader: InstanceId, pending: &Pending) -> Body {
        let proof = self.secret.prove(Role::Owner, &handshake(self.instance, reader, pending));
        Body::Challenge { reader_nonce: pending.reader_nonce, nonce: pending.owner_nonce, proof }
    }

    /// What tells a reader whose greeting was right that it is refused.
    pub(crate) fn turn_away(
        &self,
        reader: InstanceId,
        reader_nonce: Nonce,
        number: u32,
        refused: u32,
        why: String,
    ) -> Body {
        let refusal = Refusal { owner: self.instance, reader, reader_nonce, number, refused, why: &why };
        let proof = self.secret.prove_refusal(&refusal);
        Body::TurnedAway { number, refused, reader_nonce, proof, why }
    }

    /// The reader's proof; if it is right, a session begins with these keys, and the reader is told what to read first.
    pub(crate) fn proof<W: Wire>(
        &mut self,
        wire: &mut W,
        reader: InstanceId,
        proof: &Proof,
    ) -> Result<(SessionKeys, Answer), Unproven> {
        let session = self.sessions.get_mut(&reader).ok_or(Unproven)?;
        let pending = session
            .pending
            .take_if(|pending| self.secret.verify(Role::Reader, &handshake(self.instance, reader, pending), proof));
        let keys = self.secret.session_keys(&handshake(self.instance, reader, &pending.ok_or(Unproven)?));
        session.proven = true;
        std::mem::take(&mut session.questions).into_iter().for_each(|question| self.locator.cancel(wire, question));
        let sample = self.sample.message(wire).map_err(|error| format!("nothing can be read here: {error}"));
        Ok((keys, sample))
    }

    /// What a reader that was told of the sample is told of this process's GPU.
    pub(crate) fn device_sample<W: Wire>(&mut self, wire: &mut W) -> Option<Body> {
        self.sample.device_message(wire)
    }

    /// Where are the blocks? The answer comes by [`Owner::answers`], at once if no disk is needed. `step` is called for
    /// each block. The reader has a session: the question's tag was right.
    pub(crate) fn locate<W: Wire>(
        &mut self,
        wire: &mut W,
        reader: InstanceId,
        batch: u64,
        blocks: &[Block],
        now: Instant,
        step: impl Fn(),
    ) {
        let Some(session) = self.sessions.get_mut(&reader) else { return };
        let question = Question::new(reader, batch, blocks, now);
        let number = if session.pins.len() + session.questions.len() < MAX_OPEN_QUESTIONS {
            self.locator.ask(wire, question, now, step)
        } else {
            self.locator.turn_away(question)
        };
        session.questions.push_back(number);
    }

    /// The answers that are complete: to each reader in the order of its questions.
    pub(crate) fn answers(&mut self) -> Vec<(InstanceId, Body)> {
        let mut answers = Vec::new();
        for reader in self.locator.take_decided() {
            let Some(session) = self.sessions.get_mut(&reader) else { continue };
            while let Some(question) = session.questions.front().and_then(|number| self.locator.take(*number)) {
                session.questions.pop_front();
                answers.push((reader, question.answer(self.locator.regions())));
                let mut pins = question.pins();
                if !pins.is_empty() {
                    let of_batch = session.pins.entry(question.batch).or_default();
                    self.answers_in_use += usize::from(of_batch.is_empty());
                    of_batch.append(&mut pins);
                }
            }
        }
        answers
    }

    /// The reader has read what these batches' answers told of.
    pub(crate) fn done<W: Wire>(&mut self, wire: &mut W, reader: InstanceId, batches: &[u64]) {
        let Some(session) = self.sessions.get_mut(&reader) else { return };
        let pins: Vec<_> = batches.iter().filter_map(|batch| session.pins.remove(batch)).collect();
        self.answers_in_use -= pins.len();
        pins.into_iter().flatten().for_each(|region| self.locator.regions_mut().unpin(wire, region));
    }

    /// The connection to the reader has been closed on this side.
    pub(crate) fn forget<W: Wire>(&mut self, wire: &mut W, reader: InstanceId) {
        let Some(session) = self.sessions.remove(&reader) else { return };
        self.answers_in_use -= session.pins.len();
        let pins = session.pins.into_values().flatten();
        pins.for_each(|region| self.locator.regions_mut().unpin(wire, region));
        session.questions.into_iter().for_each(|question| self.locator.cancel(wire, question));
    }

    /// Unmaps everything that peers can read.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W) {
        self.locator.regions_mut().clear(wire);
        self.sample.close(wire);
    }

    /// Questions that were not answered, or whose answers are in use.
    pub(crate) fn open_questions(&self) -> usize {
        self.locator.questions() + self.answers_in_use
    }
}

fn handshake(owner: InstanceId, reader: InstanceId, pending: &Pending) -> Handshake<'_> {
    Handshake {
        owner,
        reader,
        reader_address: &pending.address,
        owner_nonce: pending.owner_nonce,
        reader_nonce: pending.reader_nonce,
    }
}
