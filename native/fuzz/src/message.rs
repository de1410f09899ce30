//! Messages between two agents: what the table in `transport/src/message.rs` says of their bytes, read again from the
//! table alone, and a generator of messages that follow it or break one of its rules.

use sluice_transport::fuzzing::reencode_message;

use crate::Choices;
use crate::bytes::Bytes;

/// Raw bytes as a message. Panics unless the bytes are accepted exactly where the table permits them, and what was
/// accepted is encoded to the same bytes again: each message has one form.
pub fn run(data: &[u8]) {
    let again = reencode_message(data);
    assert_eq!(again.is_some(), is_message(data), "accepted, and a message by the table: {data:?}");
    assert!(again.is_none_or(|again| again == data), "a message that is encoded in another way than it was read");
}

/// The bits of the first byte that say what a message is; the others say whose tag ends it.
pub const KIND: u8 = 0x3F;
/// How many kinds of messages there are: 1 to this.
pub const KINDS: usize = 11;
const TAG_OF_OWNER: u8 = 0x80;
const TAG_OF_READER: u8 = 0x40;
/// Versions before it have no proof in the first message.
const FIRST_VERSION_WITH_PROOF: u64 = 6;

fn is_message(data: &[u8]) -> bool {
    let mut input = Bytes(data);
    parts(&mut input).is_some() && input.0.is_empty()
}

/// Takes the parts of a message; `None` where one is missing or wrong.
fn parts(input: &mut Bytes<'_>) -> Option<()> {
    let first = input.byte()?;
    input.take(8)?;
    let (kind, tags) = (first & KIND, first & !KIND);
    let may_have = match kind {
        1..=3 | 10 => tags == 0,
        4 | 6 => tags == TAG_OF_READER,
        5 | 8 | 11 => tags == TAG_OF_OWNER,
        7 | 9 => tags != TAG_OF_READER | TAG_OF_OWNER,
        _ => false,
    };
    if !may_have {
        return None;
    }
    if tags != 0 {
        // A number and a code.
        without_last(input, 8 + 32)?;
    }
    match kind {
        // A version, a number and a nonce; then an address, and a proof.
        1 => {
            let version = input.number(2)?;
            input.take(4 + 16)?;
            if version >= FIRST_VERSION_WITH_PROOF {
                without_last(input, 32)?;
            }
            input.0 = &[];
            Some(())
        }
        2 => input.take(16 + 16 + 32).map(drop),
        3 => input.take(32).map(drop),
        4 => {
            input.take(8)?;
            let done = input.number(2)?;
            input.take(8 * done as usize)?;
            repeated(input, 4 + 8 + 4 + 4)
        }
        5 => located(input),
        6 => repeated(input, 8),
        7 | 10 => {
            // Two numbers, and of 10 a nonce and a proof.
            input.take(if kind == 7 { 4 + 4 } else { 4 + 4 + 16 + 32 })?;
            let why = input.take(input.0.len())?;
            std::str::from_utf8(why).ok().map(drop)
        }
        // An address and the content there; then a key.
        8 | 11 => input.take(8 + 64).map(|_| input.0 = &[]),
        9 => input.take(4).map(drop),
        _ => None,
    }
}

fn without_last(input: &mut Bytes<'_>, bytes: usize) -> Option<()> {
    input.0 = &input.0[..input.0.len().checked_sub(bytes)?];
    Some(())
}

/// Takes as many parts of so many bytes as there are.
fn repeated(input: &mut Bytes<'_>, bytes: usize) -> Option<()> {
    input.take(input.0.len() / bytes * bytes).map(drop)
}

fn located(input: &mut Bytes<'_>) -> Option<()> {
    input.take(8)?;
    let keys = input.number(2)?;
    for _ in 0..keys {
        input.take(8)?;
        let length = input.number(2)?;
        input.take(length as usize)?;
    }
    for _ in 0..input.number(4)? {
        let (status, ranges) = (input.byte()?, input.number(2)?);
        if status > 2 || (status != 1 && ranges > 0) {
            return None;
        }
        for _ in 0..ranges {
            if input.number(2)? >= keys {
                return None;
            }
            input.take(8 + 8)?;
        }
    }
    Some(())
}

/// The bytes of a message of any kind; of every second one some are changed, and once in a while a rule is broken.
pub fn generate(c: &mut Choices<'_>) -> Vec<u8> {
    let kind = 1 + c.below(KINDS) as u8;
    let changes = if c.one_in(2) { 1 + c.below(2) } else { 0 };
    let tag = match kind {
        4 | 6 => TAG_OF_READER,
        5 | 8 | 11 => TAG_OF_OWNER,
        7 | 9 => c.pick(&[0, TAG_OF_OWNER, TAG_OF_READER]),
        _ => 0,
    };
    let tag = if c.one_in(32) { c.pick(&[0, TAG_OF_OWNER, TAG_OF_READER, TAG_OF_OWNER | TAG_OF_READER]) } else { tag };
    let mut message = [&[kind | tag][..], &c.word().to_le_bytes()].concat();
    match kind {
        1 => put_hello(c, &mut message),
        2 => put(c, &mut message, &[16, 16, 32], 0),
        3 => put(c, &mut message, &[32], 0),
        4 => put_locate(c, &mut message),
        5 => put_located(c, &mut message),
        6 => (0..c.below(5)).for_each(|_| put(c, &mut message, &[8], 0)),
        7 => put_refused(c, &mut message, &[4, 4]),
        10 => put_refused(c, &mut message, &[4, 4, 16, 32]),
        8 | 11 => put(c, &mut message, &[8, 64], 40),
        _ => put(c, &mut message, &[4], 0),
    }
    if tag != 0 {
        put(c, &mut message, &[8, 32], 0);
    }
    for _ in 0..changes {
        change(c, &mut message);
    }
    message
}

/// Appends parts of these lengths, each of one byte's value, and then fewer than `rest` more bytes.
fn put(c: &mut Choices<'_>, message: &mut Vec<u8>, parts: &[usize], rest: usize) {
    let rest = if rest > 0 { c.below(rest) } else { 0 };
    for bytes in parts.iter().chain([&rest]) {
        let value = c.byte();
        message.extend(std::iter::repeat_n(value, *bytes));
    }
}

/// Of this version or another, with a proof or without.
fn put_hello(c: &mut Choices<'_>, message: &mut Vec<u8>) {
    let version = c.pick(&[7u16, 7, 8, 6, 5, 0, u16::MAX]);
    message.extend(version.to_le_bytes());
    put(c, message, &[4, 16], 40);
    if c.one_in(2) {
        put(c, message, &[32], 0);
    }
}

fn put_locate(c: &mut Choices<'_>, message: &mut Vec<u8>) {
    put(c, message, &[8], 0);
    let done = c.below(4);
    message.extend((done as u16).to_le_bytes());
    (0..done).for_each(|_| put(c, message, &[8], 0));
    (0..c.below(6)).for_each(|_| put(c, message, &[4, 8, 4, 4], 0));
}

/// Once in a while with a range of a key that is not there, a status that is none, or ranges of a block that is not
/// found.
fn put_located(c: &mut Choices<'_>, message: &mut Vec<u8>) {
    put(c, message, &[8], 0);
    let keys = c.below(4);
    message.extend((keys as u16).to_le_bytes());
    for _ in 0..keys {
        put(c, message, &[8], 0);
        let length = c.below(20);
        message.extend((length as u16).to_le_bytes());
        put(c, message, &[length], 0);
    }
    let blocks = c.below(6);
    message.extend((blocks as u32).to_le_bytes());
    for _ in 0..blocks {
        let status = if c.one_in(32) { 3 } else { c.pick(&[0, 1, 1, 1, 2]) };
        let ranges = if (status == 1 && keys > 0) || c.one_in(32) { c.below(4) } else { 0 };
        message.push(status);
        message.extend((ranges as u16).to_le_bytes());
        for _ in 0..ranges {
            let beyond = usize::from(keys == 0 || c.one_in(16));
            message.extend((c.below(keys + beyond) as u16).to_le_bytes());
            put(c, message, &[8, 8], 0);
        }
    }
}

/// Once in a while with text that is no UTF-8.
fn put_refused(c: &mut Choices<'_>, message: &mut Vec<u8>, parts: &[usize]) {
    put(c, message, parts, 0);
    for _ in 0..c.below(6) {
        message.extend(c.pick(&["a", "wrong version", "\u{E9}", "\u{1F980}"]).as_bytes());
    }
    if c.one_in(8) {
        message.push(c.pick(&[0x80, 0xC3, 0xF0, 0xFF]));
    }
}

/// A message that is cut, continued, or has another byte or another kind.
fn change(c: &mut Choices<'_>, message: &mut Vec<u8>) {
    match c.below(4) {
        0 => message.truncate(c.below(message.len() + 1)),
        1 => message.extend((0..1 + c.below(20)).map(|_| c.byte())),
        _ if message.is_empty() => {}
        2 => {
            let at = c.below(message.len());
            message[at] = c.pick(&[0, 1, 2, 3, 0x7F, 0x80, 0xFF]);
        }
        _ => message[0] = c.pick(&[0, 4, 5, 6, 9, 10, 11, 12, 0x49, 0x86, 0xFF]),
    }
}
