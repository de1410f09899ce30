//! A fixed number of inputs out of the generators, from fixed seeds: the same in every run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sluice_fuzz::{Choices, message, payload, payload_input, target};
use sluice_testkit::xorshift;
use sluice_transport::fuzzing::reencode_message;

// How many inputs of each kind. Each fault of `tools/verify-native planted`, which prints the input that finds it, is
// found within the first 1,000.
const PAYLOADS: u64 = 20_000;
const RAW_PAYLOADS: u64 = 5_000;
const FRAMES: u64 = 5_000;
const ROWS: u64 = 2_000;
const MESSAGES: u64 = 20_000;
const INDEX_FILES: u64 = 5_000;
const COLUMNS: u64 = 5_000;
const SPILL_FILES: u64 = 1_000;
const SEALED_FRAMES: u64 = 20_000;
const MEMORY_FILES: u64 = 3_000;

/// Bytes to choose from.
fn bytes(seed: u64) -> Vec<u8> {
    let words = 16 + xorshift(seed) % 400;
    (0..words).flat_map(|i| xorshift(seed << 20 | i).to_le_bytes()).collect()
}

/// Runs a target on `count` inputs of bytes to choose from.
fn run(name: &str, count: u64) {
    run_on(name, count, |seed| Some(bytes(seed)));
}

/// Runs a target on the inputs of `count` seeds; on a panic says which of them it was.
fn run_on(name: &str, count: u64, input: impl Fn(u64) -> Option<Vec<u8>>) {
    let target = target(name).expect("a target of this name");
    for seed in 1..=count {
        let Some(input) = input(seed) else { continue };
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        assert!(outcome.is_ok(), "target {name} fails on input {seed} of {count} (its panic is above)");
    }
}

#[test]
fn payloads_decode_as_specified_or_fail() {
    run("grammar", PAYLOADS);
}

/// The target takes a header in 8 bytes; payloads whose header has larger numbers are left out.
#[test]
fn payloads_behind_eight_bytes_of_header_decode_as_specified_or_fail() {
    run_on("payload", RAW_PAYLOADS, |seed| {
        let case = payload::generate(&mut Choices::new(&bytes(seed)));
        payload_input(&case.header, &case.payload)
    });
}

#[test]
fn frames_decode_as_specified_or_fail() {
    run_on("frame", FRAMES, |seed| Some(payload::generate_frame(&mut Choices::new(&bytes(seed)))));
}

#[test]
fn messages_come_back_or_are_refused() {
    run_on("message", MESSAGES, |seed| Some(message::generate(&mut Choices::new(&bytes(seed)))));
}

#[test]
fn rows_come_back() {
    run("rows", ROWS);
}

#[test]
fn frames_become_columns_of_their_rows_or_fail() {
    run("columns", COLUMNS);
}

#[test]
fn blocks_of_damaged_index_files_are_refused_or_where_the_file_says() {
    run("index", INDEX_FILES);
}

#[test]
fn damaged_spill_files_fail_the_commit_or_change_nothing_else() {
    run("spill", SPILL_FILES);
}

#[test]
fn only_frames_as_they_were_sealed_open() {
    run("sealed", SEALED_FRAMES);
}

#[test]
fn memory_files_keep_their_name_and_bytes() {
    run("memory-file", MEMORY_FILES);
}

/// The generator is worth its time only if it reaches deep: half of the payloads are valid, and each kind of part
/// occurs.
#[test]
fn many_generated_payloads_are_valid() {
    let count = 4000;
    let valid = (1..=count).filter(|seed| {
        let case = payload::generate(&mut Choices::new(&bytes(*seed)));
        let (mut target, mut lengths) = (vec![0; 1 << 20], vec![0; 1 << 16]);
        let mut decoder = sluice_codec::Decoder::new();
        decoder.decode_payload(&case.header, &case.payload, &mut target, &mut lengths).is_ok()
    });
    let valid = valid.count() as u64;
    assert!(valid > count * 2 / 5 && valid < count * 9 / 10, "{valid} of {count}");
}

/// Likewise of messages: of each kind a third of those that are generated at least, and not all.
#[test]
fn many_generated_messages_of_each_kind_are_valid() {
    let count = 10_000;
    let mut valid = [0; message::KINDS + 1];
    for seed in 1..=count {
        let message = message::generate(&mut Choices::new(&bytes(seed)));
        if reencode_message(&message).is_some() {
            valid[usize::from(message[0] & message::KIND)] += 1;
        }
    }
    assert!(valid[1..].iter().all(|n| *n > count / message::KINDS as u64 / 3), "{valid:?} of {count}");
    assert!(valid.iter().sum::<u64>() < count * 9 / 10, "{valid:?} of {count}");
}
