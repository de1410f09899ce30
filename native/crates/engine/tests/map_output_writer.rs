//! A map output gives back every record, in order, whatever is spilled and in whichever order runs finish.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Decoder, FrameHeader, HEADER_BYTES, Level};
use sluice_engine::{ChecksumAlgorithm, ErrorKind, FrameInFile, MapOutputWriter, Page};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row};

const FAST: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const FIELDS: u32 = 2;

type Batch = Vec<(u32, Vec<u8>)>;

/// A page in the JVM's layout.
fn page(batch: &Batch) -> (Vec<u8>, usize) {
    let mut memory: Vec<u8> = batch.iter().flat_map(|(_, row)| row.clone()).collect();
    let used = memory.len();
    let mut offset = used;
    for (partition, row) in batch.iter().rev() {
        offset -= row.len();
        memory.extend_from_slice(&(offset as u32).to_le_bytes());
        memory.extend_from_slice(&partition.to_le_bytes());
    }
    (memory, used)
}

fn encode(output: &MapOutputWriter, sequence: i64, batch: &Batch) -> Result<usize, sluice_engine::EngineError> {
    let (memory, used) = page(batch);
    output.encode(sequence, FIELDS, &[Page { memory: &memory, used, entries: batch.len() }])
}

fn decode_block(mut block: &[u8]) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    while !block.is_empty() {
        let header = FrameHeader::parse(block).expect("frame header");
        let (frame, rest) = block.split_at(HEADER_BYTES + header.encoded_bytes as usize);
        let mut target = vec![0; header.decoded_bytes as usize];
        let mut lengths = vec![0; header.records as usize];
        Decoder::new().decode(frame, &mut target, &mut lengths).expect("frame");
        let mut at = 0;
        for len in lengths {
            rows.push(target[at..at + len as usize].to_vec());
            at += len as usize;
        }
        block = rest;
    }
    rows
}

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("sluice-engine-{}-{name}", std::process::id()));
    fs::create_dir_all(&dir).expect("scratch folder");
    dir
}

fn row(key: u64) -> Vec<u8> {
    unsafe_row(&[Value::Word(key), Value::Bytes(vec![b'v'; (key % 50) as usize])])
}

fn check_file(path: &PathBuf, lengths: &[i64], expected: &BTreeMap<u32, Vec<Vec<u8>>>) {
    let file = fs::read(path).expect("data file");
    assert_eq!(lengths.iter().sum::<i64>(), file.len() as i64);
    let mut at = 0;
    for (partition, len) in lengths.iter().enumerate() {
        let block = &file[at..at + *len as usize];
        assert_eq!(decode_block(block), expected.get(&(partition as u32)).cloned().unwrap_or_default());
        at += *len as usize;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn keeps_every_record_in_order(
        batches in prop::collection::vec((prop::collection::vec(0u32..30, 0..300), any::<bool>()), 0..8),
        shuffle: u64,
    ) {
        let dir = scratch("order");
        let arena = Arena::host(64 << 20);
        let output = MapOutputWriter::new(Arc::clone(&arena), 30, FAST).expect("30 partitions");
        let mut expected: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
        let mut made: Vec<(i64, Batch, bool)> = Vec::new();
        for (sequence, (keys, spill)) in batches.iter().enumerate() {
            let key = |i: usize| sequence as u64 * 1000 + i as u64;
            let batch: Batch = keys.iter().enumerate().map(|(i, p)| (*p, row(key(i)))).collect();
            for (p, r) in &batch { expected.entry(*p).or_default().push(r.clone()); }
            made.push((sequence as i64, batch, *spill));
        }
        // Runs finish in any order; the sequence decides.
        made.sort_by_key(|m| sluice_testkit::xorshift(shuffle ^ m.0 as u64));
        for (sequence, batch, spill) in &made {
            encode(&output, *sequence, batch).expect("memory");
            if *spill { output.spill(&dir.join(format!("spill-{sequence}"))).expect("disk"); }
        }
        let path = dir.join("data");
        let done = output.commit(&path, ChecksumAlgorithm::Crc32c).expect("disk");
        prop_assert_eq!(done.lengths.len(), 30);
        check_file(&path, &done.lengths, &expected);
        let file = fs::read(&path).expect("data file");
        let mut at = 0;
        for (len, sum) in done.lengths.iter().zip(&done.checksums) {
            prop_assert_eq!(i64::from(crc32c::crc32c(&file[at..at + *len as usize])), *sum);
            at += *len as usize;
        }
        prop_assert_eq!(output.memory_bytes(), 0);
        drop(output);
        prop_assert_eq!(arena.leased_bytes(), 0);
        fs::remove_dir_all(dir).expect("scratch folder");
    }
}

#[test]
fn a_failed_spill_or_commit_loses_nothing() {
    let dir = scratch("fail");
    let output = MapOutputWriter::new(Arena::host(64 << 20), 3, FAST).expect("3 partitions");
    let batch: Batch = (0..1000).map(|i| (i % 3, row(u64::from(i)))).collect();
    encode(&output, 0, &batch).expect("memory");
    let held = output.memory_bytes();
    let nowhere = dir.join("no-such-folder/file");
    let failed = output.spill(&nowhere).expect_err("must fail");
    assert_eq!((failed.kind, failed.directory.as_deref()), (ErrorKind::DirectoryFailed, nowhere.parent()));
    let failed = output.commit(&nowhere, ChecksumAlgorithm::None).expect_err("must fail");
    assert_eq!((failed.kind, failed.directory.as_deref()), (ErrorKind::DirectoryFailed, nowhere.parent()));
    // A link, because a failed commit removes its file.
    let full = dir.join("full");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let failed = output.commit(&full, ChecksumAlgorithm::None).expect_err("must fail");
    assert_eq!(failed.kind, ErrorKind::DiskFull);
    assert!(full.symlink_metadata().is_err(), "the half-written file is removed");
    assert_eq!(output.memory_bytes(), held);
    let mut expected: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for (p, r) in batch {
        expected.entry(p).or_default().push(r);
    }
    let done = output.commit(&dir.join("data"), ChecksumAlgorithm::Adler32).expect("disk");
    check_file(&dir.join("data"), &done.lengths, &expected);
    fs::remove_dir_all(dir).expect("scratch folder");
}

#[test]
fn a_truncated_spill_file_is_an_error_that_names_it() {
    let dir = scratch("truncated");
    let output = MapOutputWriter::new(Arena::host(64 << 20), 1, FAST).expect("1 partition");
    encode(&output, 0, &(0..1000).map(|i| (0, row(i))).collect()).expect("memory");
    let spill = dir.join("spill");
    assert!(output.spill(&spill).expect("disk") > 0);
    assert_eq!(output.memory_bytes(), 0);
    fs::OpenOptions::new().write(true).open(&spill).expect("spill file").set_len(10).expect("truncate");
    let error = output.commit(&dir.join("data"), ChecksumAlgorithm::None).expect_err("must fail");
    assert!(error.message.contains("spill"), "{error}");
    fs::remove_dir_all(dir).expect("scratch folder");
}

#[test]
fn memory_is_refused_as_a_value_and_returned_at_close() {
    let arena = Arena::host(256 << 10);
    let output = MapOutputWriter::new(Arc::clone(&arena), 5, CodecOptions { codec: Codec::None, level: Level::Plain })
        .expect("5");
    let batch: Batch = (0..2000).map(|i| (i % 5, row(u64::from(i)))).collect();
    let mut sequence = 0;
    let refused = loop {
        match encode(&output, sequence, &batch) {
            Ok(_) => sequence += 1,
            Err(e) => break e,
        }
        assert!(sequence < 1000, "the limit never bites");
    };
    assert_eq!(refused.kind, ErrorKind::NoMemory);
    let dir = scratch("memory");
    assert!(output.spill(&dir.join("spill")).expect("disk") > 0);
    encode(&output, sequence, &batch).expect("memory is free again");
    output.close();
    assert_eq!(encode(&output, 9, &batch).expect_err("must fail").kind, ErrorKind::Closed);
    drop(output);
    assert_eq!(arena.leased_bytes(), 0);
    fs::remove_dir_all(dir).expect("scratch folder");
}

#[test]
fn encodes_may_run_at_once() {
    let dir = scratch("threads");
    let output = Arc::new(MapOutputWriter::new(Arena::host(256 << 20), 7, FAST).expect("7 partitions"));
    let batches: Vec<Batch> =
        (0..40u64).map(|s| (0..500).map(|i| ((i % 7) as u32, row(s * 1000 + i))).collect()).collect();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let (output, batches, dir) = (&output, &batches, &dir);
            scope.spawn(move || {
                for s in (t..40).step_by(4) {
                    encode(output, s as i64, &batches[s]).expect("memory");
                    if s % 9 == 0 {
                        output.spill(&dir.join(format!("s{s}"))).expect("disk");
                    }
                }
            });
        }
    });
    let mut expected: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for (p, r) in batches.into_iter().flatten() {
        expected.entry(p).or_default().push(r);
    }
    let done = output.commit(&dir.join("data"), ChecksumAlgorithm::Crc32).expect("disk");
    check_file(&dir.join("data"), &done.lengths, &expected);
    fs::remove_dir_all(dir).expect("scratch folder");
}

#[test]
fn partition_counts_out_of_range_are_refused() {
    for partitions in [0, (1 << 24) + 1] {
        assert_eq!(
            MapOutputWriter::new(Arena::host(1 << 20), partitions, FAST).err().map(|e| e.kind),
            Some(ErrorKind::Invalid)
        );
    }
    let output = MapOutputWriter::new(Arena::host(1 << 20), 2, FAST).expect("2 partitions");
    assert_eq!(encode(&output, 0, &vec![(2, row(1))]).expect_err("must fail").kind, ErrorKind::Invalid);
    assert_eq!(
        output.commit(&std::env::temp_dir().join("sluice-empty"), ChecksumAlgorithm::Adler32).expect("disk").lengths,
        [0, 0]
    );
}

#[test]
fn rows_in_files_are_merged_in_their_place() {
    let dir = scratch("rows-in-files");
    let output = MapOutputWriter::new(Arena::host(64 << 20), 3, FAST).expect("writer").with_row_checksums();
    let same_rows = MapOutputWriter::new(Arena::host(64 << 20), 3, FAST).expect("writer").with_row_checksums();
    let rows: Vec<Vec<u8>> = (0..4).map(row).collect();
    let (path, other) = (dir.join("two rows"), dir.join("one row"));
    let frames = [plain_frame(&rows[1]), plain_frame(&rows[2])];
    fs::write(&path, [&frames[0][..], &frames[1]].concat()).expect("file of rows");
    fs::write(&other, &frames[0]).expect("file of a row");
    let frame = |path, start, index: usize| FrameInFile {
        path,
        start,
        bytes: frames[index - 1].len() as u64,
        seal: None,
        row_hash: xxhash_rust::xxh64::xxh64(&rows[index], 0),
    };

    encode(&output, 0, &vec![(1, rows[0].clone()), (2, rows[0].clone())]).expect("first run");
    encode(&output, 3, &vec![(1, rows[3].clone())]).expect("last run");
    output.add_row(2, 1, &frame(&path, frames[0].len() as u64, 2)).expect("second row");
    output.add_row(1, 1, &frame(&path, 0, 1)).expect("first row");
    output.add_row(4, 2, &frame(&other, 0, 1)).expect("row in another file");
    let batch = [(2, 0), (1, 0), (1, 3), (1, 2), (2, 1), (1, 1)].map(|(p, r): (u32, usize)| (p, rows[r].clone()));
    encode(&same_rows, 0, &batch.to_vec()).expect("the same rows");
    assert_eq!(output.row_checksum(), same_rows.row_checksum());

    let refused = |partition, frame: FrameInFile<'_>| output.add_row(5, partition, &frame).expect_err("refused").kind;
    assert_eq!(refused(3, frame(&path, 0, 1)), ErrorKind::Invalid);
    let none = dir.join("none");
    assert_eq!(refused(0, frame(&none, 0, 1)), ErrorKind::Io);
    assert_eq!(refused(0, frame(&other, 1, 1)), ErrorKind::Invalid);
    assert_eq!(refused(0, frame(&other, u64::MAX, 1)), ErrorKind::Invalid);
    assert_eq!(refused(0, FrameInFile { bytes: 0, ..frame(&other, 0, 1) }), ErrorKind::Invalid);

    let data = dir.join("data");
    let done = output.commit(&data, ChecksumAlgorithm::None).expect("commit");
    let expected = BTreeMap::from([(1, rows.clone()), (2, vec![rows[0].clone(), rows[1].clone()])]);
    check_file(&data, &done.lengths, &expected);
    assert_eq!(refused(1, frame(&path, 0, 1)), ErrorKind::WrongPhase);
    fs::remove_dir_all(&dir).expect("scratch folder");
}

/// A frame of one row as it is.
fn plain_frame(row: &[u8]) -> Vec<u8> {
    let mut payload = (row.len() as u32).to_le_bytes().to_vec();
    payload.extend_from_slice(row);
    let header = FrameHeader {
        path: 1,
        encoding: 0,
        records: 1,
        fields: FIELDS,
        decoded_bytes: row.len() as u32,
        encoded_bytes: payload.len() as u32,
        payload_crc: crc32c::crc32c(&payload),
    };
    [&header.to_bytes()[..], &payload].concat()
}
