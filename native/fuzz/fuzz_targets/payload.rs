//! Raw bytes as a payload: 8 bytes choose the header's fields, the rest is decoded without looking at checksums.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_codec::{Decoder, FrameHeader};

fuzz_target!(|data: &[u8]| {
    let Some((head, payload)) = data.split_first_chunk::<8>() else { return };
    let header = FrameHeader {
        path: 1,
        encoding: head[0] & 1,
        records: 1 + u32::from(u16::from_le_bytes([head[1], head[2]])),
        fields: u32::from(head[3]),
        decoded_bytes: u32::from_le_bytes([head[4], head[5], head[6], 0]) % (1 << 20),
        encoded_bytes: payload.len() as u32,
        payload_crc: 0,
    };
    let (mut target, mut lengths) = (vec![0; 1 << 20], vec![0; 1 << 16]);
    let _ = Decoder::new().decode_payload(&header, payload, &mut target, &mut lengths);
});
