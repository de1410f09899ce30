//! Tails in mode WORDS whose lengths are no whole number of words: the last word would reach behind its slot, into the
//! next row or behind the target. Such payloads are corrupt.

use sluice_codec::{CodecError, Decoder, FrameHeader, HEADER_BYTES, Kernels};

/// A columnar payload's header; 0 fields, so a row is nothing but its tail.
fn header(payload: &[u8], records: u32, decoded_bytes: u32) -> FrameHeader {
    FrameHeader {
        path: 1,
        encoding: 1,
        records,
        fields: 0,
        decoded_bytes,
        encoded_bytes: payload.len() as u32,
        payload_crc: crc32c::crc32c(payload),
    }
}

fn frame(payload: &[u8], records: u32, decoded_bytes: u32) -> Vec<u8> {
    [&header(payload, records, decoded_bytes).to_bytes()[..], payload].concat()
}

/// Decodes as a payload and as a whole frame, with every kernel set; returns the error, which must be the same each
/// time.
fn refused(payload: &[u8], records: u32, decoded_bytes: u32) -> CodecError {
    let (mut target, mut lengths) = (vec![0; decoded_bytes as usize], vec![0; records as usize]);
    let mut errors = Vec::new();
    for k in Kernels::all() {
        let mut decoder = Decoder::with_kernels(k);
        let header = header(payload, records, decoded_bytes);
        errors.push(decoder.decode_payload(&header, payload, &mut target, &mut lengths).expect_err("corrupt"));
        let frame = frame(payload, records, decoded_bytes);
        errors.push(decoder.decode(&frame, &mut target, &mut lengths).expect_err("corrupt"));
    }
    assert!(errors.windows(2).all(|e| e[0] == e[1]), "{errors:?}");
    errors.remove(0)
}

#[test]
fn one_tail_of_five_bytes_stored_as_words() {
    // Tail flag, their lengths (constant 5), mode words, its first column (constant 0).
    let payload = [1, 0x10, 5, 0, 0];
    assert_eq!(frame(&payload, 1, 5).len(), HEADER_BYTES + 5);
    let error = refused(&payload, 1, 5).to_string();
    assert!(error.contains("multiples of 8"), "{error}");
}

#[test]
fn tails_of_thirteen_and_sixteen_bytes_stored_as_words() {
    let ones = [vec![0x80], vec![1; 8]].concat();
    let raw = |words: &[[u8; 8]]| [&[5][..], &words.concat()].concat();
    let lengths = raw(&[13u64.to_le_bytes(), 16u64.to_le_bytes()]);
    let payload = [&[1][..], &lengths, &[0], &ones, &raw(&[[0xAA; 8], [0xBB; 8]])].concat();
    let error = refused(&payload, 2, 29).to_string();
    assert!(error.contains("multiples of 8"), "{error}");
}

#[test]
fn tails_of_whole_words_stored_as_words_are_read() {
    // Lengths 8 and 16: word 0 of both, word 1 of the second only.
    let raw = |words: &[u64]| [vec![5], words.iter().flat_map(|w| w.to_le_bytes()).collect()].concat();
    let payload = [&[1][..], &raw(&[8, 16]), &[0], &raw(&[1, 2]), &raw(&[3])].concat();
    let (mut target, mut lengths) = (vec![0; 24], vec![0; 2]);
    let rows = Decoder::new().decode(&frame(&payload, 2, 24), &mut target, &mut lengths);
    let expected: Vec<u8> = [1u64, 2, 3].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!((rows, target, lengths), (Ok(2), expected, vec![8, 16]));
}
