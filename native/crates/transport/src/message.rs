//! The messages between two agents, and their bytes.
//!
//! ```text
//! every message   kind u8 · sender u64 · body · tag     (little endian throughout)
//!                 kind: 0x80 is set where an owner's tag ends the message, 0x40 where a reader's does
//!                 tag: number u64 · HMAC of all before it 32, as tags.rs says
//! HELLO           version u16 · number u32 · nonce 16 · address … · proof 32
//!                 reader → owner: the first message of a connection; no tag. The nonce begins with the number of the
//!                 reader's greeting, u64. All versions from 6 on have this form, the proof over the same bytes, and
//!                 TURNED_AWAY as it is here, so that an owner can check the greeting of another version and tell the
//!                 reader; older ones have no proof
//! CHALLENGE       reader's nonce 16 · nonce 16 · proof 32   no tag
//! PROOF           proof 32                              reader → owner; no tag
//! SAMPLE          address u64 · content 64 · key …
//!                 owner → reader: it may ask, once it has read this content there
//! DEVICE_SAMPLE   as SAMPLE, in the memory of the owner's GPU: owner → reader, after SAMPLE, if it has one
//! LOCATE          batch u64 · done u16 · batch u64 × done · block × n
//!                 reader → owner: where are these blocks, and DONE
//!                 block: shuffle u32 · map u64 · first u32 · end u32
//! LOCATED         batch u64 · keys u16 · key × keys · blocks u32 · found × blocks
//!                 key: region u64 · length u16 · bytes
//!                 found: status u8 (0 not found, 1 found, 2 busy) · ranges u16 · range × ranges
//!                 range: index of the key u16 · address u64 · bytes u64
//! DONE            batch u64 × n                         reader → owner: what LOCATED said is not used any more
//! REFUSED         number u32 · refused u32 · why, UTF-8
//!                 either way: the receiver's connection `refused` and all before it are over; with a tag if there is
//!                 a session, and so is CLOSING
//! CLOSING         number u32
//!                 either way: connection `number` was idle and is closed; it may be opened again
//! TURNED_AWAY     number u32 · refused u32 · reader's nonce 16 · proof 32 · why, UTF-8
//!                 owner → reader: as REFUSED, in answer to a greeting; no tag
//! ```

use std::fmt;

use crate::proof::Role;

/// What this agent speaks; both sides must speak the same.
pub(crate) const VERSION: u16 = 7;
/// The first version whose HELLO has a proof.
const FIRST_VERSION_WITH_PROOF: u16 = 6;
pub(crate) const NONCE_BYTES: usize = 16;
pub(crate) const PROOF_BYTES: usize = 32;
pub(crate) const SAMPLE_BYTES: usize = 64;
pub(crate) const TAG_MAC_BYTES: usize = 32;
/// The longest message; longer ones are not looked at. Owners keep their answers below it
/// ([`crate::answers`]): of keys of 100 bytes it has room for 4,000, which are 16 GiB of blocks.
pub(crate) const MAX_MESSAGE_BYTES: usize = 512 << 10;
/// The longest key of a region that is accepted. UCX's over TCP, shared memory and one InfiniBand device have some 60
/// bytes, and some 20 more for each further device.
pub(crate) const MAX_KEY_BYTES: usize = 4 << 10;
/// The most batches that one message says are done.
pub(crate) const MAX_DONE: usize = 1024;
const TAG_BYTES: usize = 8 + TAG_MAC_BYTES;
/// Bits of a message's first byte: whose tag it has.
const TAG_OF_OWNER: u8 = 0x80;
const TAG_OF_READER: u8 = 0x40;
const REFUSED: u8 = 7;
const CLOSING: u8 = 9;

/// A random number that is part of a proof, so that the proof is of no use for another connection.
pub(crate) type Nonce = [u8; NONCE_BYTES];
/// A proof: only a process that knows the secret can compute it.
pub(crate) type Proof = [u8; PROOF_BYTES];

/// Identifies a process: random, so that a process that starts later at the same address has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u64);

/// A range of partitions of one map output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    /// Spark's shuffle id.
    pub shuffle: u32,
    /// Spark's map id: the attempt id of the map task, unique in an application.
    pub map: u64,
    /// The first partition.
    pub first: u32,
    /// The partition after the last.
    pub end: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) region: u64,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// Index into the message's keys.
    pub(crate) key: u16,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// Why a block is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There is no such output, or its file cannot be read.
    NotFound,
    /// A limit of the owner's is reached, or its disk does not answer in time.
    Busy,
}

/// Where a block is, or why it is not shown.
pub(crate) type Found = Result<Vec<Range>, Missing>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// `proof` is `None` where the version is before 6.
    Hello {
        version: u16,
        number: u32,
        nonce: Nonce,
        address: Vec<u8>,
        proof: Option<Proof>,
    },
    Challenge {
        reader_nonce: Nonce,
        nonce: Nonce,
        proof: Proof,
    },
    Proof {
        proof: Proof,
    },
    /// `on_device`: of DEVICE_SAMPLE.
    Sample {
        on_device: bool,
        address: u64,
        content: [u8; SAMPLE_BYTES],
        key: Vec<u8>,
    },
    Locate {
        batch: u64,
        done: Vec<u64>,
        blocks: Vec<Block>,
    },
    Located {
        batch: u64,
        keys: Vec<Key>,
        found: Vec<Found>,
    },
    Done {
        batches: Vec<u64>,
    },
    Refused {
        number: u32,
        refused: u32,
        why: String,
    },
    Closing {
        number: u32,
    },
    TurnedAway {
        number: u32,
        refused: u32,
        reader_nonce: Nonce,
        proof: Proof,
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) sender: InstanceId,
    pub(crate) body: Body,
    pub(crate) tag: Option<Tag>,
}

/// Proves who has sent a message ([`crate::tags`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) by: Role,
    pub(crate) number: u64,
    pub(crate) mac: [u8; TAG_MAC_BYTES],
}

/// Which side's tag a kind of message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaggedBy {
    /// It has none.
    Nobody,
    /// Always that of this side.
    Side(Role),
    /// That of either side; none where there is no session.
    AnySide,
}

/// Bytes that are no message of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message that is none of ours")
    }
}

impl Message {
    /// A message without a tag.
    pub(crate) fn of(sender: InstanceId, body: Body) -> Self {
        Self { sender, body, tag: None }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let tag_bit = self.tag.map_or(0, |tag| if tag.by == Role::Owner { TAG_OF_OWNER } else { TAG_OF_READER });
        let mut out = vec![self.body.kind() | tag_bit];
        out.extend(self.sender.0.to_le_bytes());
        self.body.encode(&mut out);
        if let Some(tag) = self.tag {
            out.extend(tag.number.to_le_bytes());
            out.extend(tag.mac);
        }
        out
    }

    /// The sender that a message names which may be malformed; `None` when it is too short to name one.
    pub(crate) fn sender_of(bytes: &[u8]) -> Option<InstanceId> {
        let mut input = Input(bytes);
        input.u8().and_then(|_| input.u64()).ok().map(InstanceId)
    }

    /// The sender that a message names and its tag, so that the tag can be checked before anything else is read.
    pub(crate) fn tag_of(bytes: &[u8]) -> Result<(InstanceId, Option<Tag>), Malformed> {
        Self::ends(&mut Input(bytes)).map(|(_, sender, tag)| (sender, tag))
    }

    /// Whether a message ends a connection, REFUSED or CLOSING, by its first byte.
    pub(crate) fn is_an_end(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|kind| matches!(kind & !(TAG_OF_OWNER | TAG_OF_READER), REFUSED | CLOSING))
    }

    /// Takes what is before and behind the body: kind, sender and tag.
    fn ends(input: &mut Input<'_>) -> Result<(u8, InstanceId, Option<Tag>), Malformed> {
        let kind = input.u8()?;
        let sender = InstanceId(input.u64()?);
        let tag = match kind & (TAG_OF_OWNER | TAG_OF_READER) {
            0 => None,
            TAG_OF_OWNER => Some(input.tag(Role::Owner)?),
            TAG_OF_READER => Some(input.tag(Role::Reader)?),
            _ => return Err(Malformed),
        };
        Ok((kind & !(TAG_OF_OWNER | TAG_OF_READER), sender, tag))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input(bytes);
        let (kind, sender, tag) = Self::ends(&mut input)?;
        let body = Body::decode(kind, &mut input)?;
        let may_be = match body.tagged_by() {
            TaggedBy::Nobody => tag.is_none(),
            TaggedBy::Side(side) => tag.is_some_and(|tag| tag.by == side),
            TaggedBy::AnySide => true,
        };
        if input.0.is_empty() && may_be { Ok(Self { sender, body, tag }) } else { Err(Malformed) }
    }
}

impl Body {
    /// Whose tag it must have.
    pub(crate) fn tagged_by(&self) -> TaggedBy {
        match self {
            Self::Hello { .. } | Self::Challenge { .. } | Self::Proof { .. } | Self::TurnedAway { .. } => {
                TaggedBy::Nobody
            }
            Self::Locate { .. } | Self::Done { .. } => TaggedBy::Side(Role::Reader),
            Self::Located { .. } | Self::Sample { .. } => TaggedBy::Side(Role::Owner),
            Self::Refused { .. } | Self::Closing { .. } => TaggedBy::AnySide,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Challenge { .. } => 2,
            Self::Proof { .. } => 3,
            Self::Locate { .. } => 4,
            Self::Located { .. } => 5,
            Self::Done { .. } => 6,
            Self::Refused { .. } => REFUSED,
            Self::Sample { on_device: false, .. } => 8,
            Self::Sample { on_device: true, .. } => 11,
            Self::Closing { .. } => CLOSING,
            Self::TurnedAway { .. } => 10,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, number, nonce, address, proof } => {
                out.extend(version.to_le_bytes());
                out.extend(number.to_le_bytes());
                out.extend(nonce);
                out.extend(address);
                out.extend(proof.iter().flatten());
            }
            Self::Challenge { reader_nonce, nonce, proof } => {
                out.extend(reader_nonce);
                out.extend(nonce);
                out.extend(proof);
            }
            Self::Proof { proof } => out.extend(proof),
            Self::Locate { batch, done, blocks } => {
                out.extend(batch.to_le_bytes());
                out.extend((done.len() as u16).to_le_bytes());
                done.iter().for_each(|batch| out.extend(batch.to_le_bytes()));
                blocks.iter().for_each(|block| block.encode(out));
            }
            Self::Located { batch, keys, found } => encode_located(*batch, keys, found, out),
            Self::Done { batches } => batches.iter().for_each(|batch| out.extend(batch.to_le_bytes())),
            Self::Refused { number, refused, why } => {
                out.extend(number.to_le_bytes());
                out.extend(refused.to_le_bytes());
                out.extend(why.as_bytes());
            }
            Self::Closing { number } => out.extend(number.to_le_bytes()),
            Self::TurnedAway { number, refused, reader_nonce, proof, why } => {
                out.extend(number.to_le_bytes());
                out.extend(refused.to_le_bytes());
                out.extend(reader_nonce);
                out.extend(proof);
                out.extend(why.as_bytes());
            }
            Self::Sample { address, content, key, .. } => {
                out.extend(address.to_le_bytes());
                out.extend(content);
                out.extend(key);
            }
        }
    }

    fn decode(kind: u8, input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(match kind {
            1 => {
                let (version, number, nonce) = (input.u16()?, input.u32()?, input.array()?);
                let has_proof = version >= FIRST_VERSION_WITH_PROOF;
                let proof = if has_proof { Some(input.last()?) } else { None };
                Self::Hello { version, number, nonce, address: input.rest().to_vec(), proof }
            }
            2 => Self::Challenge { reader_nonce: input.array()?, nonce: input.array()?, proof: input.array()? },
            3 => Self::Proof { proof: input.array()? },
            4 => {
                let batch = input.u64()?;
                let done = (0..input.u16()?).map(|_| input.u64()).collect::<Result<_, _>>()?;
                let mut blocks = Vec::with_capacity(input.0.len() / Block::BYTES);
                while !input.0.is_empty() {
                    blocks.push(Block::decode(input)?);
                }
                Self::Locate { batch, done, blocks }
            }
            5 => decode_located(input)?,
            6 => {
                let mut batches = Vec::with_capacity(input.0.len() / 8);
                while !input.0.is_empty() {
                    batches.push(input.u64()?);
                }
                Self::Done { batches }
            }
            REFUSED => Self::Refused { number: input.u32()?, refused: input.u32()?, why: input.text()? },
            8 | 11 => Self::Sample {
                on_device: kind == 11,
                address: input.u64()?,
                content: input.array()?,
                key: input.rest().to_vec(),
            },
            CLOSING => Self::Closing { number: input.u32()? },
            10 => Self::TurnedAway {
                number: input.u32()?,
                refused: input.u32()?,
                reader_nonce: input.array()?,
                proof: input.array()?,
                why: input.text()?,
            },
            _ => return Err(Malformed),
        })
    }
}

impl Block {
    const BYTES: usize = 20;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.shuffle.to_le_bytes());
        out.extend(self.map.to_le_bytes());
        out.extend(self.first.to_le_bytes());
        out.extend(self.end.to_le_bytes());
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(Self { shuffle: input.u32()?, map: input.u64()?, first: input.u32()?, end: input.u32()? })
    }
}

/// The room that is left in a LOCATED for keys and ranges.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocatedBytes(usize);

impl LocatedBytes {
    /// Of one that answers for so many blocks.
    pub(crate) fn of_blocks(blocks: usize) -> Self {
        const HEADER: usize = 1 + 8 + 8 + 2 + 4 + TAG_BYTES;
        Self(MAX_MESSAGE_BYTES.saturating_sub(HEADER + blocks * (1 + 2)))
    }

    /// Takes room for a key of so many bytes, as far as there is.
    pub(crate) fn take_key(&mut self, bytes: usize) -> bool {
        self.take(8 + 2 + bytes)
    }

    /// Takes room for a range.
    pub(crate) fn take_range(&mut self) -> bool {
        self.take(2 + 8 + 8)
    }

    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        left.into_iter().for_each(|left| self.0 = left);
        left.is_some()
    }
}

fn encode_located(batch: u64, keys: &[Key], found: &[Found], out: &mut Vec<u8>) {
    out.extend(batch.to_le_bytes());
    out.extend((keys.len() as u16).to_le_bytes());
    for key in keys {
        out.extend(key.region.to_le_bytes());
        out.extend((key.bytes.len() as u16).to_le_bytes());
        out.extend(&key.bytes);
    }
    out.extend((found.len() as u32).to_le_bytes());
    for block in found {
        let (status, ranges) = match block {
            Ok(ranges) => (1, &ranges[..]),
            Err(Missing::NotFound) => (0, &[][..]),
            Err(Missing::Busy) => (2, &[][..]),
        };
        out.push(status);
        out.extend((ranges.len() as u16).to_le_bytes());
        for range in ranges {
            out.extend(range.key.to_le_bytes());
            out.extend(range.address.to_le_bytes());
            out.extend(range.bytes.to_le_bytes());
        }
    }
}

fn decode_located(input: &mut Input<'_>) -> Result<Body, Malformed> {
    let batch = input.u64()?;
    let mut keys = Vec::new();
    for _ in 0..input.u16()? {
        let (region, length) = (input.u64()?, input.u16()?);
        keys.push(Key { region, bytes: input.take(length.into())?.to_vec() });
    }
    let mut found = Vec::new();
    for _ in 0..input.u32()? {
        let (is_found, count) = (input.u8()?, input.u16()?);
        let mut ranges = Vec::new();
        for _ in 0..count {
            let range = Range { key: input.u16()?, address: input.u64()?, bytes: input.u64()? };
            if usize::from(range.key) >= keys.len() {
                return Err(Malformed);
            }
            ranges.push(range);
        }
        found.push(match is_found {
            0 if count == 0 => Err(Missing::NotFound),
            1 => Ok(ranges),
            2 if count == 0 => Err(Missing::Busy),
            _ => return Err(Malformed),
        });
    }
    Ok(Body::Located { batch, keys, found })
}

/// What is left to decode.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(bytes).ok_or(Malformed)?;
        self.0 = tail;
        Ok(head)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = tail;
        Ok(*head)
    }

    /// Takes the last bytes.
    fn last<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_last_chunk::<N>().ok_or(Malformed)?;
        self.0 = head;
        Ok(*tail)
    }

    fn text(&mut self) -> Result<String, Malformed> {
        String::from_utf8(self.rest().to_vec()).map_err(|_| Malformed)
    }

    /// Takes the tag that ends a message.
    fn tag(&mut self, by: Role) -> Result<Tag, Malformed> {
        let tag: [u8; TAG_BYTES] = self.last()?;
        let mut tag = Input(&tag);
        Ok(Tag { by, number: tag.u64()?, mac: tag.array()? })
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests;
