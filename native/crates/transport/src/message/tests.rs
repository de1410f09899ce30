//! Messages come back as they were sent, and other bytes are malformed.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn found() -> impl Strategy<Value = Found> {
    let range = (any::<u64>(), any::<u64>()).prop_map(|(address, bytes)| Range { key: 0, address, bytes });
    prop_oneof![vec(range, 0..4).prop_map(Ok), Just(Err(Missing::NotFound)), Just(Err(Missing::Busy))]
}

fn body() -> impl Strategy<Value = Body> {
    let block = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(shuffle, map, first, end)| Block {
        shuffle,
        map,
        first,
        end,
    });
    let key = (any::<u64>(), vec(any::<u8>(), 0..200)).prop_map(|(region, bytes)| Key { region, bytes });
    prop_oneof![
        (
            prop_oneof![Just(VERSION), 0..VERSION, any::<u16>()],
            any::<u32>(),
            any::<Nonce>(),
            vec(any::<u8>(), 0..300),
            any::<Proof>()
        )
            .prop_map(|(version, number, nonce, address, proof)| Body::Hello {
                version,
                number,
                nonce,
                address,
                proof: (version >= FIRST_VERSION_WITH_PROOF).then_some(proof),
            }),
        (any::<Nonce>(), any::<Nonce>(), any::<Proof>()).prop_map(|(reader_nonce, nonce, proof)| Body::Challenge {
            reader_nonce,
            nonce,
            proof
        }),
        any::<Proof>().prop_map(|proof| Body::Proof { proof }),
        any::<u32>().prop_map(|number| Body::Closing { number }),
        (any::<u64>(), vec(any::<u64>(), 0..4), vec(block, 0..50)).prop_map(|(batch, done, blocks)| Body::Locate {
            batch,
            done,
            blocks
        }),
        (any::<u64>(), vec(key, 1..4), vec(found(), 0..20)).prop_map(|(batch, keys, found)| Body::Located {
            batch,
            keys,
            found
        }),
        vec(any::<u64>(), 1..4).prop_map(|batches| Body::Done { batches }),
        (any::<u32>(), any::<u32>(), ".*").prop_map(|(number, refused, why)| Body::Refused { number, refused, why }),
        (any::<u32>(), any::<u32>(), any::<Nonce>(), any::<Proof>(), ".*").prop_map(
            |(number, refused, reader_nonce, proof, why)| Body::TurnedAway {
                number,
                refused,
                reader_nonce,
                proof,
                why
            }
        ),
        (any::<bool>(), any::<u64>(), any::<u8>(), vec(any::<u8>(), 0..200)).prop_map(
            |(on_device, address, byte, key)| Body::Sample { on_device, address, content: [byte; SAMPLE_BYTES], key }
        ),
    ]
}

proptest! {
    #[test]
    fn every_message_comes_back_and_no_part_of_it_is_another(
        sender: u64,
        body in body(),
        tag in (any::<bool>(), any::<u64>(), any::<[u8; TAG_MAC_BYTES]>()),
        cut: prop::sample::Index,
    ) {
        let (of_owner, number, mac) = tag;
        let by = match body.tagged_by() {
            TaggedBy::Nobody => None,
            TaggedBy::Side(side) => Some(side),
            TaggedBy::AnySide => Some(if of_owner { Role::Owner } else { Role::Reader }),
        };
        let message = Message { sender: InstanceId(sender), body, tag: by.map(|by| Tag { by, number, mac }) };
        let bytes = message.encode();
        prop_assert_eq!(Message::decode(&bytes), Ok(message.clone()));
        let part = &bytes[..cut.index(bytes.len())];
        prop_assert_ne!(Message::decode(part), Ok(message));
    }

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..400)) {
        let _ = Message::decode(&bytes);
    }
}

#[test]
fn a_range_of_a_key_that_is_not_there_is_malformed() {
    let ranges = vec![Range { key: 1, address: 0, bytes: 1 }];
    let keys = vec![Key { region: 1, bytes: vec![] }];
    let body = Body::Located { batch: 1, keys, found: vec![Ok(ranges)] };
    let tag = Some(Tag { by: Role::Owner, number: 0, mac: [0; TAG_MAC_BYTES] });
    let sender = InstanceId(1);
    assert_eq!(Message::decode(&Message { sender, body, tag }.encode()), Err(Malformed));
}

#[test]
fn a_message_without_the_tag_of_its_side_is_malformed() {
    let of = |by| Some(Tag { by, number: 0, mac: [0; TAG_MAC_BYTES] });
    let sender = InstanceId(1);
    let done = Body::Done { batches: vec![1] };
    let proof = Body::Proof { proof: [0; PROOF_BYTES] };
    for (body, tag) in [(done.clone(), None), (done, of(Role::Owner)), (proof, of(Role::Reader))] {
        assert_eq!(Message::decode(&Message { sender, body, tag }.encode()), Err(Malformed));
    }
    let closing = |tag| Message { sender, body: Body::Closing { number: 1 }, tag };
    for tag in [None, of(Role::Owner), of(Role::Reader)] {
        assert_eq!(Message::decode(&closing(tag).encode()), Ok(closing(tag)));
    }
    let mut of_both = closing(of(Role::Owner)).encode();
    of_both[0] |= TAG_OF_READER;
    assert_eq!(Message::decode(&of_both), Err(Malformed));
}

/// What [`LocatedBytes`] lets in is what the message takes, to the byte.
#[test]
fn an_answer_that_is_kept_to_the_limit_is_no_longer_than_a_message_may_be() {
    const BLOCKS: usize = 512;
    let (mut left, mut keys, mut ranges) = (LocatedBytes::of_blocks(BLOCKS), Vec::new(), Vec::new());
    while left.take_key(1000) && left.take_range() {
        ranges.push(Range { key: keys.len() as u16, address: 1, bytes: 1 });
        keys.push(Key { region: 1, bytes: vec![1; 1000] });
    }
    while left.take_range() {
        ranges.push(Range { key: 0, address: 1, bytes: 1 });
    }
    let mut found: Vec<Found> = vec![Err(Missing::Busy); BLOCKS - 1];
    found.push(Ok(ranges));
    let tag = Some(Tag { by: Role::Owner, number: 1, mac: [0; TAG_MAC_BYTES] });
    let message = Message { sender: InstanceId(1), body: Body::Located { batch: 1, keys, found }, tag };
    let bytes = message.encode().len();
    assert!(bytes <= MAX_MESSAGE_BYTES && bytes > MAX_MESSAGE_BYTES - 2000, "{bytes}");
}
