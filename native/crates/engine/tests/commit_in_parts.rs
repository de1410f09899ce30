//! A commit in parts writes the same bytes as a commit at once, while the last batch is being encoded; what would lose
//! or repeat rows is refused.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;

use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::{ChecksumAlgorithm, ErrorKind, MapOutputWriter, Page};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row, xorshift};

const FAST: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const FIELDS: u32 = 2;
const PARTITIONS: u32 = 30;
const CRC: ChecksumAlgorithm = ChecksumAlgorithm::Crc32c;

/// A page in the JVM's layout.
struct Batch {
    memory: Vec<u8>,
    used: usize,
    entries: usize,
}

impl Batch {
    fn of(seed: u64, partitions: &[u32]) -> Self {
        let (mut memory, mut entries) = (Vec::new(), Vec::new());
        for (i, partition) in partitions.iter().enumerate() {
            entries.push(u64::from(*partition) << 32 | memory.len() as u64);
            let key = xorshift(seed ^ (i as u64) << 8);
            memory.extend(unsafe_row(&[Value::Word(key), Value::Bytes(vec![b'v'; (key % 50) as usize])]));
        }
        let used = memory.len();
        memory.extend(entries.iter().rev().flat_map(|entry| entry.to_le_bytes()));
        Self { memory, used, entries: partitions.len() }
    }

    fn pages(&self) -> [Page<'_>; 1] {
        [Page { memory: &self.memory, used: self.used, entries: self.entries }]
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sluice-parts-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn output(arena: &Arc<Arena>) -> MapOutputWriter {
    MapOutputWriter::new(Arc::clone(arena), PARTITIONS, FAST).expect("30 partitions").with_row_checksums()
}

fn bounds(cuts: &[u32]) -> Vec<u32> {
    let mut bounds: Vec<u32> = cuts.to_vec();
    bounds.push(PARTITIONS);
    bounds.sort_unstable();
    bounds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn writes_the_same_bytes_as_a_commit_at_once(
        earlier in prop::collection::vec((prop::collection::vec(0..PARTITIONS, 0..200), any::<bool>()), 0..5),
        last in prop::collection::vec(0..PARTITIONS, 0..600),
        cuts in prop::collection::vec(0..PARTITIONS, 0..5),
    ) {
        let folder = folder("same");
        let arena = Arena::host(64 << 20);
        let (at_once, in_parts) = (output(&arena), output(&arena));
        for (sequence, (partitions, spill)) in earlier.iter().enumerate() {
            let batch = Batch::of(sequence as u64 + 1, partitions);
            for (name, output) in [("once", &at_once), ("parts", &in_parts)] {
                output.encode(sequence as i64, FIELDS, &batch.pages()).expect("memory");
                if *spill { output.spill(&folder.join(format!("spill-{name}-{sequence}"))).expect("disk"); }
            }
        }
        let (batch, sequence) = (Batch::of(99, &last), earlier.len() as i64);
        at_once.encode(sequence, FIELDS, &batch.pages()).expect("memory");
        let rows = at_once.row_checksum().expect("alive");
        let expected = at_once.commit(&folder.join("once"), CRC).expect("disk");
        let path = folder.join("parts");
        in_parts.begin_parts(&path, CRC).expect("disk");
        let (encoded, parts) = channel();
        std::thread::scope(|threads| {
            let (in_parts, batch) = (&in_parts, &batch);
            let cuts = bounds(&cuts);
            threads.spawn(move || {
                for until in cuts {
                    in_parts.encode_until(sequence, FIELDS, &batch.pages(), until).expect("memory");
                    encoded.send(until).expect("a receiver");
                }
            });
            for until in parts {
                in_parts.commit_part(until).expect("disk");
            }
        });
        prop_assert_eq!(in_parts.row_checksum(), Ok(rows));
        prop_assert_eq!(in_parts.end_parts(), Ok(expected));
        prop_assert_eq!(fs::read(&path).expect("a file"), fs::read(folder.join("once")).expect("a file"));
        prop_assert_eq!((in_parts.memory_bytes(), arena.leased_bytes()), (0, 0));
        prop_assert!(in_parts.commit(&path, CRC).is_err(), "it is committed");
        fs::remove_dir_all(folder).expect("removed");
    }

    /// Whatever was encoded and written when it ends, nothing is lost.
    #[test]
    fn after_an_abort_the_output_can_be_committed_at_once(
        last in prop::collection::vec(0..PARTITIONS, 0..600),
        cuts in prop::collection::vec(0..PARTITIONS, 0..5),
        encoded: prop::sample::Index,
        written: prop::sample::Index,
    ) {
        let folder = folder("abort");
        let arena = Arena::host(64 << 20);
        let (at_once, in_parts) = (output(&arena), output(&arena));
        let (first, batch) = (Batch::of(1, &[0, 29, 3, 3]), Batch::of(99, &last));
        for output in [&at_once, &in_parts] {
            output.encode(0, FIELDS, &first.pages()).expect("memory");
        }
        at_once.encode(1, FIELDS, &batch.pages()).expect("memory");
        let expected = at_once.commit(&folder.join("once"), CRC).expect("disk");
        let path = folder.join("parts");
        in_parts.begin_parts(&path, CRC).expect("disk");
        let cuts = bounds(&cuts);
        let encoded = encoded.index(cuts.len());
        for (i, until) in cuts[..encoded].iter().enumerate() {
            in_parts.encode_until(1, FIELDS, &batch.pages(), *until).expect("memory");
            if i < written.index(cuts.len()) {
                in_parts.commit_part(*until).expect("disk");
            }
        }
        in_parts.abort_parts().expect("begun");
        prop_assert!(!path.exists());
        in_parts.encode(1, FIELDS, &batch.pages()).expect("memory");
        prop_assert_eq!(in_parts.commit(&path, CRC), Ok(expected));
        prop_assert_eq!(fs::read(&path).expect("a file"), fs::read(folder.join("once")).expect("a file"));
        prop_assert_eq!(arena.leased_bytes(), 0);
        fs::remove_dir_all(folder).expect("removed");
    }
}

/// The last batch has rows in every partition.
fn begun(name: &str) -> (MapOutputWriter, Batch, PathBuf) {
    let output = output(&Arena::host(64 << 20));
    let batch = Batch::of(7, &(0..PARTITIONS).cycle().take(900).collect::<Vec<_>>());
    let path = folder(name).join("data");
    output.begin_parts(&path, CRC).expect("disk");
    (output, batch, path)
}

#[test]
fn partitions_that_are_not_encoded_are_not_written() {
    let (output, batch, path) = begun("early");
    output.encode_until(0, FIELDS, &batch.pages(), 10).expect("memory");
    assert_eq!(output.commit_part(11).expect_err("10 are encoded").kind, ErrorKind::WrongPhase);
    output.commit_part(10).expect("disk");
    assert_eq!(output.end_parts().expect_err("20 are missing").kind, ErrorKind::WrongPhase);
    assert!(!path.exists(), "as if aborted");
    output.encode(0, FIELDS, &batch.pages()).expect("memory");
    output.commit(&path, CRC).expect("disk");
}

/// The first range has all rows; the others must not repeat them.
#[test]
fn ranges_without_rows_repeat_nothing() {
    let output = output(&Arena::host(64 << 20));
    let batch = Batch::of(7, &[0, 0, 1]);
    let path = folder("empty").join("data");
    output.begin_parts(&path, CRC).expect("disk");
    for until in [2, 20, PARTITIONS] {
        output.encode_until(0, FIELDS, &batch.pages(), until).expect("memory");
        output.commit_part(until).expect("disk");
    }
    let lengths = output.end_parts().expect("complete").lengths;
    assert_eq!(lengths.iter().filter(|length| **length > 0).count(), 2);
}

#[test]
fn rows_of_partitions_that_are_written_are_an_error() {
    let (output, batch, path) = begun("late");
    // No batch is under way, as far as the output knows.
    output.commit_part(10).expect("disk");
    output.encode_until(0, FIELDS, &batch.pages(), 20).expect("memory");
    let error = output.commit_part(20).expect_err("rows of partition 0 come late");
    assert_eq!((error.kind, error.message.contains("partition 0")), (ErrorKind::Invalid, true), "{error}");
    output.abort_parts().expect("begun");
    output.encode(0, FIELDS, &batch.pages()).expect("memory");
    assert!(output.commit(&path, CRC).expect("disk").lengths.iter().all(|length| *length > 0));
}

#[test]
fn rows_that_no_part_has_taken_are_an_error() {
    let (output, batch, path) = begun("untaken");
    output.commit_part(PARTITIONS).expect("disk");
    output.encode(0, FIELDS, &batch.pages()).expect("memory");
    assert_eq!(output.end_parts().expect_err("rows are missing").kind, ErrorKind::WrongPhase);
    assert!(output.commit(&path, CRC).expect("disk").lengths.iter().all(|length| *length > 0));
}

#[test]
fn calls_in_the_wrong_phase_are_refused() {
    let (output, batch, path) = begun("phase");
    let wrong = |error: sluice_engine::EngineError| assert_eq!(error.kind, ErrorKind::WrongPhase, "{error}");
    wrong(output.begin_parts(&path, CRC).expect_err("it has begun"));
    wrong(output.commit(&path, CRC).expect_err("in parts"));
    wrong(output.spill(&path.with_extension("spill")).expect_err("in parts"));
    output.abort_parts().expect("begun");
    wrong(output.abort_parts().expect_err("ended"));
    wrong(output.commit_part(1).expect_err("not begun"));
    wrong(output.end_parts().expect_err("not begun"));
    output.encode_until(0, FIELDS, &batch.pages(), 3).expect("memory");
    wrong(output.begin_parts(&path, CRC).expect_err("a batch is encoded in part"));
    wrong(output.commit(&path, CRC).expect_err("a batch is encoded in part"));
    output.encode(0, FIELDS, &batch.pages()).expect("memory");
    output.commit(&path, CRC).expect("disk");
    wrong(output.begin_parts(&path, CRC).expect_err("committed"));
}

#[test]
fn a_full_disk_leaves_the_runs() {
    let (output, batch, path) = begun("full");
    output.abort_parts().expect("begun");
    std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
    output.begin_parts(&path, CRC).expect("opened");
    output.encode(0, FIELDS, &batch.pages()).expect("memory");
    let held = output.memory_bytes();
    assert_eq!(output.commit_part(PARTITIONS).expect_err("full").kind, ErrorKind::DiskFull);
    assert_eq!(output.memory_bytes(), held);
    output.abort_parts().expect("begun");
    assert!(path.symlink_metadata().is_err(), "the file is removed");
    assert!(output.commit(&path, CRC).expect("disk").lengths.iter().all(|length| *length > 0));
}
