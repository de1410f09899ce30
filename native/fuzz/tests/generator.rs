//! A fixed number of payloads and rows out of the generators, from fixed seeds: the same in every run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sluice_fuzz::{Choices, payload, target};
use sluice_testkit::xorshift;

/// The faults planted so far were found within the first 200; 3 s on one core.
const PAYLOADS: u64 = 20_000;
const ROWS: u64 = 2_000;
/// The faults of `tools/verify-native planted` are found within the first 300 of each.
const INDEX_FILES: u64 = 5_000;
const SPILL_FILES: u64 = 1_000;
const MEMORY_FILES: u64 = 3_000;

/// Bytes to choose from.
fn bytes(seed: u64) -> Vec<u8> {
    let words = 16 + xorshift(seed) % 400;
    (0..words).flat_map(|i| xorshift(seed << 20 | i).to_le_bytes()).collect()
}

/// Runs a target on `count` inputs; on a panic says which input it was.
fn run(name: &str, count: u64) {
    let target = target(name).expect("a target of this name");
    for seed in 1..=count {
        let input = bytes(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        assert!(outcome.is_ok(), "target {name} fails on input {seed} of {count} (its panic is above)");
    }
}

#[test]
fn payloads_decode_as_specified_or_fail() {
    run("grammar", PAYLOADS);
}

#[test]
fn rows_come_back() {
    run("rows", ROWS);
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
