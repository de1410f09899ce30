//! Tags: after the handshake each message has one, so that nobody who does not know the secret can send in the name of
//! one who does.
//!
//! A tag is an HMAC-SHA-256 over the message's bytes and its number. The number says how many messages with the same
//! key were sent before. Each session has two keys, one for each direction, which both sides derive from the secret and
//! the handshake's nonces. The wire brings the messages of a connection in order and once; a message that was changed,
//! repeated or left out, or comes from another session, has the wrong number or tag. It is dropped, and the number that
//! comes next stays the same: a message that somebody else sends ends no session.
//!
//! A message with a right tag and a later number is the other side's own, and one before it is lost or late: the
//! connection ends at once, because nothing after it could be accepted either. Only REFUSED and CLOSING are accepted
//! then, which end it themselves.
//!
//! **When keys change.** Two processes may hold two sessions over one connection, one in each direction of reading, and
//! a reader may greet again over the same connection. A reader's messages have tags of the new session after its PROOF.
//! An owner's have them after it has accepted the PROOF; the reader sees that by the first tag of the new session that
//! comes, and accepts those of the old one until then.

use std::collections::HashMap;

use ring::hmac;

use crate::message::{InstanceId, Message, TAG_MAC_BYTES, Tag, TaggedBy};
use crate::proof::{Role, SessionKeys};

/// What a message's tag says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the other side's next message, or its last one.
    Right,
    /// It is the other side's, and one before it has not come.
    Early,
    /// It is somebody else's, or was changed or sent again.
    Wrong,
}

/// The messages of one direction of a session.
struct Stream {
    key: hmac::Key,
    count: u64,
}

impl Stream {
    fn new(key: hmac::Key) -> Self {
        Self { key, count: 0 }
    }

    /// Counts the message if its tag is right.
    fn judge(&mut self, bytes: &[u8], tag: &Tag) -> Verdict {
        let tagged = &bytes[..bytes.len() - TAG_MAC_BYTES];
        if tag.number < self.count || hmac::verify(&self.key, tagged, &tag.mac).is_err() {
            return Verdict::Wrong;
        }
        if tag.number > self.count && !Message::is_an_end(bytes) {
            return Verdict::Early;
        }
        self.count = tag.number.saturating_add(1);
        Verdict::Right
    }
}

/// A session in which this process reads.
struct Reading {
    sent: Stream,
    received: Option<Stream>,
    /// Of the session for which a PROOF was sent: none of its messages has come.
    next: Option<Stream>,
}

/// A session in which this process is read from.
struct Serving {
    sent: Stream,
    received: Stream,
}

/// The sessions over one connection.
#[derive(Default)]
struct Sessions {
    reading: Option<Reading>,
    serving: Option<Serving>,
}

/// The keys and numbers of all connections.
#[derive(Default)]
pub(crate) struct Tags(HashMap<InstanceId, Sessions>);

impl Tags {
    /// The owner has proven itself, and PROOF is sent to it.
    pub(crate) fn read_from(&mut self, owner: InstanceId, keys: SessionKeys) {
        let sessions = self.0.entry(owner).or_default();
        let received = sessions.reading.take().and_then(|reading| reading.received);
        let (sent, next) = (Stream::new(keys.of_reader), Some(Stream::new(keys.of_owner)));
        sessions.reading = Some(Reading { sent, received, next });
    }

    /// The reader's PROOF was right.
    pub(crate) fn serve(&mut self, reader: InstanceId, keys: SessionKeys) {
        let (sent, received) = (Stream::new(keys.of_owner), Stream::new(keys.of_reader));
        self.0.entry(reader).or_default().serving = Some(Serving { sent, received });
    }

    /// The connection is closed.
    pub(crate) fn forget(&mut self, other: InstanceId) {
        self.0.remove(&other);
    }

    /// Whether messages of another process can be told from those of others in its name.
    pub(crate) fn knows(&self, other: InstanceId) -> bool {
        self.0.get(&other).is_some_and(|sessions| {
            sessions.serving.is_some() || sessions.reading.as_ref().is_some_and(|reading| reading.received.is_some())
        })
    }

    /// The bytes to send; `None` for a message that needs a tag where there is no session.
    pub(crate) fn encode(&mut self, to: InstanceId, mut message: Message) -> Option<Vec<u8>> {
        let sessions = self.0.get_mut(&to);
        let (serving, reading) = sessions.map_or((None, None), |sessions| {
            (sessions.serving.as_mut().map(|s| &mut s.sent), sessions.reading.as_mut().map(|r| &mut r.sent))
        });
        let (by, stream) = match message.body.tagged_by() {
            TaggedBy::Nobody => return Some(message.encode()),
            TaggedBy::Side(Role::Owner) => (Role::Owner, serving?),
            TaggedBy::Side(Role::Reader) => (Role::Reader, reading?),
            TaggedBy::AnySide => match (serving, reading) {
                (Some(stream), _) => (Role::Owner, stream),
                (None, Some(stream)) => (Role::Reader, stream),
                (None, None) => return Some(message.encode()),
            },
        };
        message.tag = Some(Tag { by, number: stream.count, mac: [0; TAG_MAC_BYTES] });
        stream.count += 1;
        let mut bytes = message.encode();
        let end = bytes.len() - TAG_MAC_BYTES;
        let mac = hmac::sign(&stream.key, &bytes[..end]);
        bytes[end..].copy_from_slice(mac.as_ref());
        Some(bytes)
    }

    /// What a message's tag says; `bytes` are the message's, of which nothing else need be well-formed.
    pub(crate) fn judge(&mut self, sender: InstanceId, tag: &Tag, bytes: &[u8]) -> Verdict {
        let Some(sessions) = self.0.get_mut(&sender) else { return Verdict::Wrong };
        match (tag.by, &mut sessions.reading, &mut sessions.serving) {
            (Role::Reader, _, Some(serving)) => serving.received.judge(bytes, tag),
            (Role::Owner, Some(reading), _) => {
                let of_next = reading.next.as_mut().map_or(Verdict::Wrong, |next| next.judge(bytes, tag));
                if of_next == Verdict::Right {
                    reading.received = reading.next.take();
                }
                match &mut reading.received {
                    Some(received) if of_next == Verdict::Wrong => received.judge(bytes, tag),
                    _ => of_next,
                }
            }
            _ => Verdict::Wrong,
        }
    }

    /// Whether a message's tag is right.
    #[cfg(test)]
    pub(crate) fn accepts(&mut self, sender: InstanceId, tag: &Tag, bytes: &[u8]) -> bool {
        self.judge(sender, tag, bytes) == Verdict::Right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, NONCE_BYTES};
    use crate::proof::{Handshake, Secret};

    const OWNER: InstanceId = InstanceId(1);
    const READER: InstanceId = InstanceId(2);

    fn keys(nonce: u8) -> SessionKeys {
        let (owner_nonce, reader_nonce) = ([nonce; NONCE_BYTES], [0; NONCE_BYTES]);
        let about = Handshake { owner: OWNER, reader: READER, reader_address: b"", owner_nonce, reader_nonce };
        Secret::new(b"s").session_keys(&about)
    }

    /// The tags of an owner and of its reader, whose handshake is done.
    fn session() -> (Tags, Tags) {
        let (mut owner, mut reader) = (Tags::default(), Tags::default());
        owner.serve(READER, keys(1));
        reader.read_from(OWNER, keys(1));
        (owner, reader)
    }

    fn asks(reader: &mut Tags, batch: u64) -> Vec<u8> {
        let body = Body::Locate { batch, done: vec![], blocks: vec![] };
        reader.encode(OWNER, Message::of(READER, body)).expect("a session")
    }

    fn answers(owner: &mut Tags, batch: u64) -> Vec<u8> {
        let body = Body::Located { batch, keys: vec![], found: vec![] };
        owner.encode(READER, Message::of(OWNER, body)).expect("a session")
    }

    fn accepts(tags: &mut Tags, bytes: &[u8]) -> bool {
        let message = Message::decode(bytes).expect("well-formed");
        tags.accepts(message.sender, &message.tag.expect("a tag"), bytes)
    }

    #[test]
    fn messages_are_accepted_once_in_their_order_and_as_they_were() {
        let (mut owner, mut reader) = session();
        let (first, second, third) = (asks(&mut reader, 1), asks(&mut reader, 2), asks(&mut reader, 3));
        assert!(!accepts(&mut owner, &second), "the first one is missing");
        assert!(accepts(&mut owner, &first));
        assert!(!accepts(&mut owner, &first), "a second time");
        for at in 9..second.len() {
            let mut changed = second.clone();
            changed[at] ^= 1;
            if let Ok(message) = Message::decode(&changed) {
                assert!(!owner.accepts(READER, &message.tag.expect("a tag"), &changed), "byte {at}");
            }
        }
        assert!(accepts(&mut owner, &second), "what was refused changes nothing");
        assert!(accepts(&mut owner, &third));
    }

    #[test]
    fn a_right_tag_with_a_later_number_is_known_and_accepted_of_an_end_only() {
        let judge = |tags: &mut Tags, bytes: &[u8]| {
            let (sender, tag) = Message::tag_of(bytes).expect("a message's ends");
            tags.judge(sender, &tag.expect("a tag"), bytes)
        };
        let (mut owner, mut reader) = session();
        let (first, second) = (asks(&mut reader, 1), asks(&mut reader, 2));
        assert_eq!(judge(&mut owner, &second), Verdict::Early);
        let mut forged = second.clone();
        *forged.last_mut().expect("bytes") ^= 1;
        assert_eq!(judge(&mut owner, &forged), Verdict::Wrong);
        for body in [Body::Closing { number: 1 }, Body::Refused { number: 1, refused: 1, why: "no".into() }] {
            let end = reader.encode(OWNER, Message::of(READER, body)).expect("a session");
            assert_eq!(judge(&mut owner, &end), Verdict::Right);
            assert_eq!(judge(&mut owner, &end), Verdict::Wrong, "a second time");
        }
        assert_eq!(judge(&mut owner, &first), Verdict::Wrong, "it is before the end");
    }

    #[test]
    fn a_tag_is_of_one_direction_and_one_session() {
        let (mut owner, mut reader) = session();
        let question = asks(&mut reader, 1);
        assert!(!accepts(&mut reader, &question), "its own message");
        let mut renamed = Message::decode(&question).expect("well-formed");
        renamed.sender = OWNER;
        assert!(!accepts(&mut reader, &renamed.encode()));
        let mut other = Tags::default();
        other.serve(READER, keys(2));
        assert!(!accepts(&mut other, &question));
        assert!(accepts(&mut owner, &question));
        owner.forget(READER);
        let next = asks(&mut reader, 2);
        assert!(!accepts(&mut owner, &next), "the connection is closed");
    }

    #[test]
    fn a_reader_that_greets_again_accepts_the_old_session_until_the_new_one_answers() {
        let (mut owner, mut reader) = session();
        let (early, late) = (answers(&mut owner, 1), answers(&mut owner, 2));
        assert!(!reader.knows(OWNER), "it has only sent its proof");
        assert!(accepts(&mut reader, &early));
        assert!(reader.knows(OWNER) && owner.knows(READER));
        reader.read_from(OWNER, keys(3));
        assert!(accepts(&mut reader, &late), "sent before the owner has heard of the new session");
        owner.serve(READER, keys(3));
        let (new, newer) = (answers(&mut owner, 3), answers(&mut owner, 4));
        assert!(accepts(&mut reader, &new));
        assert!(accepts(&mut reader, &newer));
        assert!(accepts(&mut owner, &asks(&mut reader, 5)));
    }

    #[test]
    fn what_needs_a_tag_is_not_sent_without_a_session() {
        let mut tags = Tags::default();
        let locate = Body::Locate { batch: 1, done: vec![], blocks: vec![] };
        assert_eq!(tags.encode(OWNER, Message::of(READER, locate)), None);
        let closing = Message::of(READER, Body::Closing { number: 1 });
        let bytes = tags.encode(OWNER, closing.clone()).expect("of a connection without a session");
        assert_eq!(Message::decode(&bytes), Ok(closing.clone()));
        tags.read_from(OWNER, keys(1));
        let tagged = tags.encode(OWNER, closing).expect("a session");
        assert_eq!(Message::decode(&tagged).expect("well-formed").tag.map(|tag| tag.by), Some(Role::Reader));
    }
}
