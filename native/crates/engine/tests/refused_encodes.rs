//! An encode that the arena refuses in the middle keeps what it has made, and goes on from there when it is repeated.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::{ChecksumAlgorithm, EngineError, ErrorKind, MapOutputWriter, Page};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row, xorshift};

const PLAIN: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Plain };
const FAST: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const PARTITIONS: u32 = 30;
const FIELDS: u32 = 2;

struct Batch {
    memory: Vec<u8>,
    used: usize,
    entries: usize,
}

impl Batch {
    /// Rows in random partitions; `bytes` of each are noise.
    fn of(seed: u64, rows: usize, bytes: impl Fn(u64) -> usize) -> Self {
        let (mut memory, mut entries) = (Vec::new(), Vec::new());
        for i in 0..rows as u64 {
            let key = xorshift(seed << 32 | i);
            entries.push((key % u64::from(PARTITIONS)) << 32 | memory.len() as u64);
            let noise = (0..bytes(key) as u64).map(|b| xorshift(key ^ b) as u8).collect();
            memory.extend(unsafe_row(&[Value::Word(key), Value::Bytes(noise)]));
        }
        let used = memory.len();
        memory.extend(entries.iter().rev().flat_map(|entry| entry.to_le_bytes()));
        Self { memory, used, entries: rows }
    }

    fn encode(&self, output: &MapOutputWriter, sequence: i64) -> Result<usize, EngineError> {
        output.encode(sequence, FIELDS, &[Page { memory: &self.memory, used: self.used, entries: self.entries }])
    }
}

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("sluice-refused-{}-{name}", std::process::id()));
    fs::create_dir_all(&dir).expect("scratch folder");
    dir
}

fn writer(arena: &Arc<Arena>, options: CodecOptions) -> MapOutputWriter {
    MapOutputWriter::new(Arc::clone(arena), PARTITIONS, options).expect("partitions").with_row_checksums()
}

/// Lengths, bytes and the checksum of the rows.
type Output = (Vec<i64>, Vec<u8>, u64);

fn commit(output: &MapOutputWriter, dir: &std::path::Path) -> Output {
    let path = dir.join("data");
    let done = output.commit(&path, ChecksumAlgorithm::None).expect("disk");
    (done.lengths, fs::read(&path).expect("data file"), output.row_checksum().expect("alive"))
}

/// What batches become with plenty of memory.
fn expected(batches: &[Batch], options: CodecOptions, dir: &std::path::Path) -> Output {
    let output = writer(&Arena::host(1 << 30), options);
    for (sequence, batch) in batches.iter().enumerate() {
        batch.encode(&output, sequence as i64).expect("memory");
    }
    commit(&output, dir)
}

/// Encodes as the JVM does: after each refusal it moves the runs to a file and repeats. Returns how often.
fn encode_with_spills(output: &MapOutputWriter, batches: &[Batch], dir: &std::path::Path) -> usize {
    let mut refusals = 0;
    for (sequence, batch) in batches.iter().enumerate() {
        while let Err(refused) = batch.encode(output, sequence as i64) {
            assert_eq!(refused.kind, ErrorKind::NoMemory, "{refused}");
            assert!(output.spill(&dir.join(format!("spill-{refusals}"))).expect("disk") > 0, "{refused}");
            refusals += 1;
        }
    }
    refusals
}

#[test]
fn a_refused_encode_keeps_its_frames_and_no_frame_is_made_twice() {
    let dir = scratch("frames");
    let shapes: [fn(u64) -> usize; 3] = [|_| 8, |_| 3000, |key| if key % 100 == 0 { 30_000 } else { 8 }];
    for (shape, rows) in shapes.into_iter().zip([200_000, 2_000, 20_000]) {
        for options in [PLAIN, FAST] {
            let batches: Vec<Batch> = (0..3).map(|seed| Batch::of(seed, rows, shape)).collect();
            let arena = Arena::host(3 << 20);
            let output = writer(&arena, options);
            let refusals = encode_with_spills(&output, &batches, &dir);
            assert!(refusals > 3, "{refusals} refusals: most batches go in at once");
            assert_eq!(output.frames_repeated(), 0);
            assert_same(&commit(&output, &dir), &expected(&batches, options, &dir));
            drop(output);
            assert_eq!(arena.leased_bytes(), 0);
        }
    }
    fs::remove_dir_all(dir).expect("scratch folder");
}

/// The same rows; where an encode stopped, windows of the sort and so frames may be others.
fn assert_same(found: &Output, wanted: &Output) {
    assert!(rows_by_partition(&found.0, &found.1) == rows_by_partition(&wanted.0, &wanted.1), "other rows");
    assert_eq!(found.2, wanted.2);
}

/// The rows of each partition.
fn rows_by_partition(lengths: &[i64], mut bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut partitions = Vec::new();
    for length in lengths {
        let (block, rest) = bytes.split_at(*length as usize);
        partitions.push(rows_of(block));
        bytes = rest;
    }
    partitions
}

fn rows_of(mut block: &[u8]) -> Vec<Vec<u8>> {
    use sluice_codec::{Decoder, FrameHeader, HEADER_BYTES};
    let mut rows = Vec::new();
    while !block.is_empty() {
        let header = FrameHeader::parse(block).expect("frame header");
        let (frame, rest) = block.split_at(HEADER_BYTES + header.encoded_bytes as usize);
        let mut target = vec![0; header.decoded_bytes as usize];
        let mut lengths = vec![0; header.records as usize];
        Decoder::new().decode(frame, &mut target, &mut lengths).expect("frame");
        let mut at = 0;
        for length in lengths {
            rows.push(target[at..at + length as usize].to_vec());
            at += length as usize;
        }
        block = rest;
    }
    rows
}

#[test]
fn a_batch_that_is_encoded_in_part_cannot_be_committed() {
    let dir = scratch("part");
    let arena = Arena::host(2 << 20);
    let output = writer(&arena, PLAIN);
    let batch = Batch::of(1, 2000, |_| 3000);
    assert_eq!(batch.encode(&output, 0).expect_err("6 MB do not fit").kind, ErrorKind::NoMemory);
    assert!(output.memory_bytes() > 1 << 20, "what was made is kept");
    let refused = output.commit(&dir.join("data"), ChecksumAlgorithm::None).expect_err("rows are missing");
    assert_eq!(refused.kind, ErrorKind::WrongPhase);
    assert!(!dir.join("data").exists());
    arena.set_limit(64 << 20);
    batch.encode(&output, 0).expect("memory");
    let batches = [batch];
    assert_same(&commit(&output, &dir), &expected(&batches, PLAIN, &dir));
    fs::remove_dir_all(dir).expect("scratch folder");
}

#[test]
fn a_batch_whose_sort_is_refused_cannot_be_left_out() {
    let dir = scratch("sort");
    let arena = Arena::host(64 << 10);
    let output = writer(&arena, PLAIN);
    let batch = Batch::of(1, 20_000, |_| 8);
    let _rest = arena.lease(60 << 10).expect("memory");
    assert_eq!(batch.encode(&output, 0).expect_err("no room for the sort").kind, ErrorKind::NoMemory);
    assert_eq!(output.memory_bytes(), 0);
    let refused = output.commit(&dir.join("data"), ChecksumAlgorithm::None).expect_err("rows are missing");
    assert_eq!(refused.kind, ErrorKind::WrongPhase);
    fs::remove_dir_all(dir).expect("scratch folder");
}

/// With nothing to spill, a frame is tried although there may be no room: what is lost is counted, and made again.
#[test]
fn a_frame_without_room_is_tried_when_nothing_can_be_spilled() {
    let dir = scratch("tried");
    let arena = Arena::host(256 << 10);
    let row = unsafe_row(&[Value::Word(1), Value::Bytes(vec![7; 200_000])]);
    let mut memory = row.clone();
    memory.extend(0u64.to_le_bytes());
    let batch = Batch { used: row.len(), entries: 1, memory };
    let output = writer(&arena, FAST);
    arena.set_limit(48 << 10);
    batch.encode(&output, 0).expect("its frame is short");
    assert_eq!(output.frames_repeated(), 0);
    output.spill(&dir.join("spill")).expect("disk");
    let batch = Batch::of(1, 1, |_| 500_000);
    assert_eq!(batch.encode(&output, 1).expect_err("no room").kind, ErrorKind::NoMemory);
    assert_eq!(output.frames_repeated(), 1);
    arena.set_limit(4 << 20);
    batch.encode(&output, 1).expect("room");
    assert_eq!(output.frames_repeated(), 1);
    let (lengths, bytes, checksum) = commit(&output, &dir);
    let found: usize = rows_by_partition(&lengths, &bytes).iter().map(Vec::len).sum();
    assert_eq!(found, 2);
    assert_ne!(checksum, 0);
    fs::remove_dir_all(dir).expect("scratch folder");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rows_and_checksums_are_the_same_at_any_limit(
        seed in 0u64..1000,
        batches in prop::collection::vec((1usize..3000, 0usize..2000), 1..5),
        limit in 700usize << 10..4 << 20,
    ) {
        let dir = scratch("any");
        let batches: Vec<Batch> =
            batches.iter().map(|(rows, bytes)| Batch::of(seed, *rows, |key| key as usize % (bytes + 1))).collect();
        let output = writer(&Arena::host(limit), FAST);
        encode_with_spills(&output, &batches, &dir);
        prop_assert_eq!(output.frames_repeated(), 0);
        assert_same(&commit(&output, &dir), &expected(&batches, FAST, &dir));
        fs::remove_dir_all(dir).expect("scratch folder");
    }
}
