//! What an agent does about events of the wire and messages of other agents.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use super::{Agent, PeerNews, split_address};
use crate::completions::Failure;
use crate::message::{Body, InstanceId, MAX_MESSAGE_BYTES, Malformed, Message, Nonce, Proof, TaggedBy, VERSION};
use crate::owner::Answer;
use crate::proof::{Unproven, greeting_of};
use crate::reader::Outgoing;
use crate::statistics::Statistic;
use crate::tags::Verdict;
use crate::wire::{Endpoint, Event, Wire};

/// How many senders of malformed messages are logged; messages of others are only counted.
const MAX_MALFORMED_SENDERS: usize = 64;
/// The longest address that is accepted. UCX's have some 100 bytes for each device; a wire may keep each that it has
/// opened.
const MAX_ADDRESS_BYTES: usize = 8 << 10;
/// The most characters of a refusal's reason that are repeated in logs.
const MAX_WHY: usize = 300;

/// Senders of malformed messages, as named in the messages.
#[derive(Default)]
pub(super) struct MalformedSenders {
    told: HashSet<Option<InstanceId>>,
    /// The last turn that has logged one.
    turn: Option<u64>,
}

impl MalformedSenders {
    /// Whether a sender is to be logged: the first time, unless too many others have been, or one was in this turn
    /// (writing a line may take longer than all else that a turn does).
    fn is_news(&mut self, sender: Option<InstanceId>, turn: u64) -> bool {
        let may_tell = self.told.len() < MAX_MALFORMED_SENDERS && self.turn != Some(turn);
        let is_news = may_tell && self.told.insert(sender);
        if is_news {
            self.turn = Some(turn);
        }
        is_news
    }
}

/// The reason of a refusal, which anybody may have written, as it is logged: cut, and without control characters.
fn readable(why: &str) -> String {
    why.chars().take(MAX_WHY).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// A reader's first message.
struct Hello<'a> {
    version: u16,
    number: u32,
    nonce: Nonce,
    address: &'a [u8],
    proof: Option<Proof>,
}

/// A reader whose greeting is proven and new, and that is to get its answer.
pub(super) struct Greeter {
    reader: InstanceId,
    number: u32,
    nonce: Nonce,
    address: Vec<u8>,
}

/// Readers that wait until a turn can open a connection for the answer to their greeting, each once.
#[derive(Default)]
pub(super) struct Greeters {
    /// In the order of their first greetings.
    order: VecDeque<InstanceId>,
    last_greeting: HashMap<InstanceId, Greeter>,
}

impl Greeters {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Has a reader wait, if there are fewer than `most`; one that waits already waits for the answer to this greeting.
    fn add(&mut self, greeter: Greeter, most: usize) {
        let reader = greeter.reader;
        if self.last_greeting.contains_key(&reader) {
            self.last_greeting.insert(reader, greeter);
        } else if self.order.len() < most {
            self.order.push_back(reader);
            self.last_greeting.insert(reader, greeter);
        }
    }

    fn waits(&self, reader: InstanceId) -> bool {
        self.last_greeting.contains_key(&reader)
    }

    fn take_first(&mut self) -> Option<Greeter> {
        self.order.pop_front().and_then(|reader| self.last_greeting.remove(&reader))
    }

    fn put_back(&mut self, greeter: Greeter) {
        self.order.push_front(greeter.reader);
        self.last_greeting.insert(greeter.reader, greeter);
    }
}

impl<W: Wire> Agent<W> {
    pub(crate) fn event(&mut self, event: Event, now: Instant) {
        match event {
            Event::Message(bytes) => self.received(&bytes, now),
            Event::Got { token, result } => match self.reader.tested(&mut self.wire, token, &result, now) {
                Some(Ok(tested)) => {
                    self.send_all(tested.messages);
                    match tested.device {
                        Some(true) => self.shared.statistics().add(Statistic::DevicesReadable, 1),
                        Some(false) => self.shared.statistics().add(Statistic::DevicesUnreadable, 1),
                        None => {}
                    }
                    if let Some(peer) = tested.ready {
                        let (attempt, reads_device) = (self.reader.attempt_of(peer), self.reader.reads_device_of(peer));
                        self.news.push(PeerNews { peer, attempt, error: None, reads_device });
                    }
                }
                Some(Err(broken)) => self.give_up(broken),
                None => self.reader.got(token, result.is_ok(), now),
            },
            Event::Stuck { endpoint, error } => {
                if let Some(other) = self.links.at(endpoint) {
                    self.end_link(other, Failure::Timeout, &error.to_string());
                }
            }
            Event::Failed { endpoint, error } => match self.links.at(endpoint) {
                Some(other) => self.connection_lost(other, &error.to_string(), now),
                None => self.wire.close(endpoint),
            },
        }
    }

    /// A message's bytes. Those of a tagged one are read further only if the tag is right, and none of one that is
    /// longer than any honest one.
    fn received(&mut self, bytes: &[u8], now: Instant) {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return self.malformed(bytes);
        }
        let tagged = Message::tag_of(bytes);
        if let Ok((sender, Some(tag))) = tagged {
            match self.tags.judge(sender, &tag, bytes) {
                Verdict::Right => self.links.touch(sender, now),
                Verdict::Early => return self.end_link(sender, Failure::Peer, "a message of it was lost or came late"),
                Verdict::Wrong => return self.unproven(),
            }
        }
        match tagged.and_then(|_| Message::decode(bytes)) {
            Ok(message) if message.tag.is_some() || self.may_have_no_tag(&message) => self.message(message, now),
            Ok(_) => self.unproven(),
            Err(Malformed) => self.malformed(bytes),
        }
    }

    fn message(&mut self, message: Message, now: Instant) {
        let sender = message.sender;
        match message.body {
            Body::Hello { version, number, nonce, address, proof } => {
                self.hello(sender, Hello { version, number, nonce, address: &address, proof }, now);
            }
            Body::Challenge { reader_nonce, nonce, proof } => {
                match self.reader.challenge(sender, reader_nonce, nonce, &proof, now) {
                    Ok(Some((proof, keys))) => {
                        self.links.touch(sender, now);
                        self.answer(sender, Ok(proof));
                        self.tags.read_from(sender, keys);
                    }
                    Ok(None) => {}
                    Err(Unproven) => self.unproven(),
                }
            }
            Body::Proof { proof } => match self.owner.proof(&mut self.wire, sender, &proof) {
                Ok((keys, answer)) => {
                    self.links.touch(sender, now);
                    self.tags.serve(sender, keys);
                    let accepted = answer.is_ok();
                    self.answer(sender, answer);
                    let device = if accepted { self.owner.device_sample(&mut self.wire) } else { None };
                    device.into_iter().for_each(|sample| self.answer(sender, Ok(sample)));
                }
                Err(Unproven) => self.unproven(),
            },
            Body::Sample { on_device: false, address, content, key } => {
                let told = self.reader.sample(&mut self.wire, sender, address, content, &key, now);
                told.err().into_iter().for_each(|broken| self.give_up(broken));
            }
            Body::Sample { on_device: true, address, content, key } => {
                let told = self.reader.device_sample(&mut self.wire, sender, address, content, key);
                told.err().into_iter().for_each(|broken| self.give_up(broken));
            }
            Body::Locate { batch, done, blocks } => {
                self.owner.done(&mut self.wire, sender, &done);
                self.owner.locate(&mut self.wire, sender, batch, &blocks, now, || self.shared.step());
                self.send_answers();
            }
            Body::Located { batch, keys, found } => {
                if let Err(broken) = self.reader.located(sender, batch, &keys, &found, now) {
                    self.give_up(broken);
                }
            }
            Body::Done { batches } => self.owner.done(&mut self.wire, sender, &batches),
            Body::Refused { number, refused, why } => {
                self.refused(sender, message.tag.map(|_| number), refused, &why, now);
            }
            Body::TurnedAway { number, refused, reader_nonce, proof, why } => {
                if self.reader.is_turned_away(sender, reader_nonce, (number, refused), &why, &proof) {
                    self.refused(sender, Some(number), refused, &why, now);
                } else {
                    self.unproven();
                }
            }
            Body::Closing { number } => {
                if self.links.get(sender).is_some_and(|link| link.number == number) {
                    self.set_idle(sender);
                }
            }
        }
    }

    /// Whether a message that came without a tag may be what it says. A process that refuses this one, or closes a
    /// connection, has no keys where there is no session, in either direction.
    fn may_have_no_tag(&self, message: &Message) -> bool {
        let sender = message.sender;
        match message.body.tagged_by() {
            TaggedBy::Nobody => true,
            _ => self.links.get(sender).is_some() && !self.tags.knows(sender),
        }
    }

    fn unproven(&self) {
        self.shared.statistics().add(Statistic::UnprovenMessages, 1);
    }

    /// A reader's first message. Who does not know the secret gets no answer, and no connection is opened for it,
    /// whatever version it names. Who knows it and speaks another version is told so.
    fn hello(&mut self, reader: InstanceId, hello: Hello<'_>, now: Instant) {
        let Hello { version, number, nonce, address, proof } = hello;
        let instance = split_address(address).map(|(instance, _)| instance);
        if instance != Some(reader) || address.len() > MAX_ADDRESS_BYTES {
            return self.unproven();
        }
        if !proof.is_some_and(|proof| self.owner.knows_secret(reader, version, number, nonce, address, &proof)) {
            return self.no_proof(reader, version);
        }
        if !self.links.hear_greeting(reader, greeting_of(nonce)) {
            return self.greeted_again(reader, nonce);
        }
        if version == VERSION {
            self.greeted(reader, number, nonce, address, now);
        } else {
            let why = format!("it speaks version {VERSION} of Sluice's protocol, not {version}");
            self.refuse(reader, number, nonce, why, address, now);
        }
    }

    /// A greeting without a proof, or with a wrong one: counted, and logged once.
    fn no_proof(&mut self, reader: InstanceId, version: u16) {
        self.unproven();
        if !std::mem::replace(&mut self.no_proof_told, true) {
            eprintln!(
                "sluice-transport: a greeting in the name of {:#018x}, of version {version} of Sluice's protocol (this \
                 process speaks {VERSION}), was not proven with this application's secret and was dropped. Another \
                 application, or something that is not Sluice, sends to this port; further ones are only counted",
                reader.0
            );
        }
    }

    /// A greeting of this version that is proven, and later than all before it.
    fn greeted(&mut self, reader: InstanceId, number: u32, nonce: Nonce, address: &[u8], now: Instant) {
        self.links.hear(reader, number);
        let greeter = Greeter { reader, number, nonce, address: address.to_vec() };
        let left = if self.greeters.waits(reader) { Some(greeter) } else { self.admit(greeter, now) };
        // As many as there can be connections; of another one the greeting counts as lost.
        left.into_iter().for_each(|greeter| self.greeters.add(greeter, self.links.limit()));
    }

    /// Answers readers that have waited for the answer to their greeting, as far as this turn can.
    pub(super) fn admit_greeters(&mut self, now: Instant) {
        while let Some(greeter) = self.greeters.take_first() {
            self.shared.step();
            if let Some(greeter) = self.admit(greeter, now) {
                return self.greeters.put_back(greeter);
            }
        }
    }

    /// Connects to a reader and answers its greeting, or refuses it; gives it back if that must wait for another turn.
    ///
    /// The number says which connection of the reader's this came over. Only if it is the other end of this side's is
    /// there a session: closing another one here would not end the reads.
    fn admit(&mut self, greeter: Greeter, now: Instant) -> Option<Greeter> {
        let Greeter { reader, number, nonce, ref address } = greeter;
        if self.openings.are_used_up() && self.links.get(reader).is_none_or(|link| link.number < number) {
            return Some(greeter);
        }
        self.links.touch(reader, now);
        if self.links.get(reader).is_some_and(|link| link.number < number) {
            if self.reader.expects_nothing_of(reader) {
                self.set_idle(reader);
            } else {
                self.close_link(reader, Failure::Peer, "it has connected again");
            }
        }
        let link = match self.link(reader, address, now) {
            Ok(Some(link)) => link,
            Ok(None) => return Some(greeter),
            Err(why) => {
                self.refuse(reader, number, nonce, why, address, now);
                return None;
            }
        };
        let answer = if link.number != number {
            let why = format!("it knows connection {} where this is connection {number}", link.number);
            self.owner.turn_away(reader, nonce, link.number, number, why)
        } else {
            self.owner.hello(reader, nonce, address)
        };
        self.send(reader, link.endpoint, answer);
        None
    }

    /// A greeting that is not later than the last one was recorded and sent again, perhaps by somebody else: it is
    /// dropped. If it is the one whose PROOF is waited for, it gets the same answer.
    fn greeted_again(&mut self, reader: InstanceId, nonce: Nonce) {
        match (self.links.get(reader), self.owner.hello_again(reader, nonce)) {
            (Some(link), Some(challenge)) => self.send(reader, link.endpoint, challenge),
            _ => self.unproven(),
        }
    }

    /// Tells a reader whose greeting was proven that there will be no session: over the connection to it, if this
    /// process has opened one, or one that is opened for this.
    fn refuse(&mut self, reader: InstanceId, number: u32, nonce: Nonce, why: String, address: &[u8], now: Instant) {
        let Some((_, wire_address)) = split_address(address) else { return };
        let link = match self.links.get(reader).filter(|link| link.number >= number) {
            None => self.refusals.open(&mut self.wire, &mut self.openings, wire_address, now),
            open => open,
        };
        if let Some(link) = link {
            let refusal = self.owner.turn_away(reader, nonce, link.number, number, why);
            self.send(reader, link.endpoint, refusal);
        }
    }

    /// The other side has closed a connection, or waits at another one. Its `number` is believed if it is proven.
    fn refused(&mut self, sender: InstanceId, number: Option<u32>, refused: u32, why: &str, now: Instant) {
        number.into_iter().for_each(|number| self.links.hear(sender, number));
        // It may come late, when there is another connection.
        if self.links.get(sender).is_some_and(|link| link.number <= refused) {
            self.connection_lost(sender, &format!("it refuses: {}", readable(why)), now);
        }
    }

    /// Sends an answer over the open connection. If it is a refusal, it ends this connection.
    fn answer(&mut self, to: InstanceId, answer: Answer) {
        let Some(link) = self.links.get(to) else { return };
        let body = answer.unwrap_or_else(|why| Body::Refused { number: link.number, refused: link.number, why });
        self.send(to, link.endpoint, body);
    }

    /// A malformed message: counted, and logged once for each sender that it names.
    fn malformed(&mut self, bytes: &[u8]) {
        self.shared.statistics().add(Statistic::MalformedMessages, 1);
        let sender = Message::sender_of(bytes);
        if self.malformed.is_news(sender, self.turns) {
            let sender =
                sender.map_or_else(|| "an unreadable sender".to_string(), |sender| format!("{:#018x}", sender.0));
            eprintln!(
                "sluice-transport: a message of {} bytes in the name of {sender} is malformed and was dropped. Another \
                 version of Sluice, or something that is not Sluice, sends to this port; further ones of this sender \
                 are only counted",
                bytes.len()
            );
        }
    }

    /// Sends the answers that the owner has completed.
    pub(super) fn send_answers(&mut self) {
        for (reader, answer) in self.owner.answers() {
            self.answer(reader, Ok(answer));
        }
    }

    pub(super) fn send_all(&mut self, messages: impl IntoIterator<Item = Outgoing>) {
        messages.into_iter().for_each(|(to, body)| self.answer(to, Ok(body)));
    }

    /// Sends a message to a process over this endpoint. One that needs a tag and has no session any more is dropped:
    /// the connection that it was for is closed.
    pub(super) fn send(&mut self, to: InstanceId, endpoint: Endpoint, body: Body) {
        if let Some(bytes) = self.tags.encode(to, Message::of(self.instance, body)) {
            self.wire.send(endpoint, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_and_breaks_no_line() {
        assert_eq!(readable("no\r\n\u{1B}[2J at é"), "no\u{FFFD}\u{FFFD}\u{FFFD}[2J at é");
        assert_eq!(readable(&"é".repeat(10_000)), "é".repeat(MAX_WHY));
    }

    #[test]
    fn a_sender_of_malformed_messages_is_told_of_once_one_in_a_turn_and_a_flood_of_names_ends() {
        let mut senders = MalformedSenders::default();
        let first = [None, Some(InstanceId(1)), Some(InstanceId(2))];
        for (turn, sender) in first.into_iter().enumerate() {
            assert!(senders.is_news(sender, turn as u64));
            assert!(!senders.is_news(sender, turn as u64 + 1));
            assert!(!senders.is_news(Some(InstanceId(9)), turn as u64), "another one in the same turn");
        }
        let told = (100..1000).filter(|sender| senders.is_news(Some(InstanceId(*sender)), *sender)).count();
        assert_eq!(told, MAX_MALFORMED_SENDERS - 3);
    }
}
