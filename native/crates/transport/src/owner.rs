//! The side whose memory is read: it proves to readers that it knows the secret, tells readers that have proven the
//! same where blocks are, and keeps those blocks mapped until the readers are done. Where blocks are:
//! [`crate::locator`].

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::answers::{Question, QuestionNumber};
use crate::locator::Locator;
use crate::message::{Block, Body, InstanceId, Nonce, Proof};
use crate::proof::{Handshake, Role, Secret, random_nonce};
use crate::regions::RegionNumber;
use crate::sample::Sample;
use crate::wire::Wire;

/// What a reader is told, or why it is refused.
pub(crate) type Answer = Result<Body, String>;

/// Questions of one reader that were not answered, or whose answers are in use (no DONE yet). What is asked beyond that
/// is busy. Of 512 blocks each these are half a million blocks.
pub(crate) const MAX_OPEN_QUESTIONS: usize = 1024;
/// What a reader has proven and what it reads.
struct Session {
    address: Vec<u8>,
    reader_nonce: Nonce,
    owner_nonce: Nonce,
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
    /// Wrong proofs, and questions of processes that have not proven anything.
    unproven: u64,
}

impl Owner {
    pub(crate) fn new(instance: InstanceId, secret: Secret, locator: Locator) -> Self {
        Self {
            instance,
            secret,
            locator,
            sample: Sample::new(),
            sessions: HashMap::new(),
            answers_in_use: 0,
            unproven: 0,
        }
    }

    pub(crate) fn has_session(&self, reader: InstanceId) -> bool {
        self.sessions.contains_key(&reader)
    }

    /// Whether a reader waits for an answer, or was told of something that it may still be reading.
    pub(crate) fn is_read_by(&self, reader: InstanceId) -> bool {
        let session = self.sessions.get(&reader);
        session.is_some_and(|session| !session.questions.is_empty() || !session.pins.is_empty())
    }

    /// A reader's first message. The answer proves that this side knows the secret, and asks the same of the reader.
    /// One that greets again over the same connection may still be reading what it was told of before.
    pub(crate) fn hello<W: Wire>(
        &mut self,
        wire: &mut W,
        reader: InstanceId,
        reader_nonce: Nonce,
        address: &[u8],
    ) -> Body {
        let owner_nonce = random_nonce();
        let (pins, asked) =
            self.sessions.remove(&reader).map(|known| (known.pins, known.questions)).unwrap_or_default();
        asked.into_iter().for_each(|question| self.locator.cancel(wire, question));
        let (address, questions) = (address.to_vec(), VecDeque::new());
        let session = Session { address, reader_nonce, owner_nonce, proven: false, pins, questions };
        let proof = self.secret.prove(Role::Owner, &handshake(self.instance, reader, &session));
        self.sessions.insert(reader, session);
        Body::Challenge { reader_nonce, nonce: owner_nonce, proof }
    }

    /// The reader's proof; if it is right, the reader is told what to read first.
    pub(crate) fn proof<W: Wire>(&mut self, wire: &mut W, reader: InstanceId, proof: &Proof) -> Option<Answer> {
        let Some(session) = self.sessions.get_mut(&reader) else {
            self.unproven += 1;
            return None;
        };
        let about = handshake(self.instance, reader, session);
        session.proven = self.secret.verify(Role::Reader, &about, proof);
        if !session.proven {
            self.unproven += 1;
            return Some(Err("this application's secret is another".into()));
        }
        Some(self.sample.message(wire).map_err(|error| format!("nothing can be read here: {error}")))
    }

    /// Where are the blocks? The answer comes by [`Owner::answers`], at once if no disk is needed. `step` is called for
    /// each block.
    ///
    /// # Errors
    /// The reader may not ask.
    pub(crate) fn locate<W: Wire>(
        &mut self,
        wire: &mut W,
        reader: InstanceId,
        batch: u64,
        blocks: &[Block],
        now: Instant,
        step: impl Fn(),
    ) -> Result<(), String> {
        let Some(session) = self.sessions.get_mut(&reader).filter(|session| session.proven) else {
            self.unproven += 1;
            return Err("it asked for locations without having proven that it knows the secret".into());
        };
        let question = Question::new(reader, batch, blocks, now);
        let number = if session.pins.len() + session.questions.len() < MAX_OPEN_QUESTIONS {
            self.locator.ask(wire, question, now, step)
        } else {
            self.locator.turn_away(question)
        };
        session.questions.push_back(number);
        Ok(())
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

    /// Wrong proofs, and questions of processes that have not proven anything.
    pub(crate) fn unproven(&self) -> u64 {
        self.unproven
    }

    /// Questions that were not answered, or whose answers are in use.
    pub(crate) fn open_questions(&self) -> usize {
        self.locator.questions() + self.answers_in_use
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
