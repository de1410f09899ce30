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
        (any::<u16>(), any::<u32>(), any::<Nonce>(), vec(any::<u8>(), 0..300))
            .prop_map(|(version, number, nonce, address)| Body::Hello { version, number, nonce, address }),
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
        (any::<u64>(), any::<u8>(), vec(any::<u8>(), 0..200)).prop_map(|(address, byte, key)| Body::Sample {
            address,
            content: [byte; SAMPLE_BYTES],
            key
        }),
    ]
}

proptest! {
    #[test]
    fn every_message_comes_back_and_no_part_of_it_is_another(
        sender: u64,
        body in body(),
        cut: prop::sample::Index,
    ) {
        let message = Message { sender: InstanceId(sender), body };
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
    assert_eq!(Message::decode(&Message { sender: InstanceId(1), body }.encode()), Err(Malformed));
}
