//! Frames of a few bytes that claim to be large: an error, and no memory where their bytes already show that they lie.

use sluice_codec::{Decoder, FrameHeader, RETAINED_LIMIT, Slots};
use sluice_testkit::memory::{RefusingAllocator, permitting};

#[global_allocator]
static ALLOCATOR: RefusingAllocator = RefusingAllocator;

/// More than any of the buffers whose length the rows alone decide.
const MOST: usize = 4 << 20;
const CLAIMED: u32 = 256 << 20;
const ROWS: u32 = 1 << 16;
/// A column of zeros.
const ZEROS: u8 = 0;

fn header(encoding: u8, records: u32, fields: u32, decoded_bytes: u32, payload: &[u8]) -> FrameHeader {
    let encoded_bytes = payload.len() as u32;
    FrameHeader { path: 1, encoding, records, fields, decoded_bytes, encoded_bytes, payload_crc: 0 }
}

#[track_caller]
fn assert_corrupt(header: FrameHeader, payload: &[u8], what: &str) {
    let slots = vec![Slots::None; header.fields as usize];
    let mut decoder = Decoder::new();
    let decoded = permitting(MOST, || decoder.decode_payload_columns(&header, payload, &slots).map(|d| d.is_some()));
    let error = decoded.expect_err("it must be refused");
    assert!(!error.is_no_memory() && error.to_string().contains(what), "{error}");
}

#[test]
fn a_plain_frame_has_the_bytes_of_its_rows() {
    assert_corrupt(header(0, 1, 1, u32::MAX, &[]), &[], "4294967299 bytes of rows in 0 of payload");
    let short = [16, 0, 0, 0, 1, 2, 3];
    assert_corrupt(header(0, 1, 1, 16, &short), &short, "20 bytes of rows in 7 of payload");
}

#[test]
fn rows_have_room_for_their_words() {
    assert_corrupt(header(1, ROWS, 600, CLAIMED, &[]), &[], "65536 rows of 610 words do not fit");
}

#[test]
fn rows_with_tails_are_as_long_as_the_header_says() {
    // Tail flag, the constant 5.
    let payload = [1, 0x10, 5];
    assert_corrupt(header(1, 1, 0, CLAIMED, &payload), &payload, "do not add up");
    // The constant 2^64 - 1, of two rows.
    let payload = [&[1, 0x80][..], &[0xFF; 8]].concat();
    assert_corrupt(header(1, 2, 0, CLAIMED, &payload), &payload, "do not add up");
}

#[test]
fn values_that_memory_has_no_room_for_are_an_error_and_leave_nothing_behind() {
    // One field with slots; null bits; sizes, of which the constant is one more; no tails; then a value's bytes,
    // missing.
    let size = 4096u16;
    let [low, high] = (size + 1).to_le_bytes();
    let payload = [1, ZEROS, 0x20, low, high, 0, 1];
    let header = header(1, ROWS, 1, ROWS * (16 + u32::from(size)), &payload);
    let mut decoder = Decoder::new();
    let mut decode = || decoder.decode_payload_columns(&header, &payload, &[Slots::Rounded]).map(|d| d.is_some());
    let error = permitting(MOST, &mut decode).expect_err("no memory");
    assert!(error.is_no_memory(), "{error}");
    let error = decode().expect_err("bytes that are missing");
    assert!(!error.is_no_memory(), "{error}");
    decoder.trim();
    assert!(decoder.retained_bytes() <= RETAINED_LIMIT, "{} bytes", decoder.retained_bytes());
}

#[test]
fn words_that_memory_has_no_room_for_are_an_error() {
    let fields = 600u32;
    let payload = vec![ZEROS; fields as usize / 4 + 610 + 1];
    let header = header(1, ROWS, fields, ROWS * 610 * 8, &payload);
    let slots = vec![Slots::None; fields as usize];
    let mut decoder = Decoder::new();
    let mut decode = || decoder.decode_payload_columns(&header, &payload, &slots).map(|d| d.is_some());
    let error = permitting(MOST, &mut decode).expect_err("no memory");
    assert!(error.is_no_memory(), "{error}");
    assert_eq!(decode(), Ok(true));
}
