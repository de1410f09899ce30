//! How many system calls a commit of spilled runs makes.

use std::fs;
use std::path::PathBuf;

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::{ChecksumAlgorithm, ErrorKind, MapOutputWriter, Page};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row};

const PLAIN: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Plain };
const PARTITIONS: u32 = 10_000;
const RUNS: u32 = 20;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sluice-merge-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Reads and writes that this thread has asked the system for.
fn read_and_write_calls() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").expect("counts of this thread");
    let value = |name| text.lines().find_map(|line| line.strip_prefix(name)).and_then(|n| n.trim().parse::<u64>().ok());
    value("syscr:").expect("reads") + value("syscw:").expect("writes")
}

/// A run with a row in each partition, which says the run and the partition.
fn encode(output: &MapOutputWriter, run: u32) {
    let rows: Vec<Vec<u8>> =
        (0..PARTITIONS).map(|p| unsafe_row(&[Value::Word(u64::from(p) << 32 | u64::from(run))])).collect();
    let mut memory = rows.concat();
    let used = memory.len();
    for (partition, at) in (0..PARTITIONS).zip((0..used).step_by(16)).rev() {
        memory.extend_from_slice(&(u64::from(partition) << 32 | at as u64).to_le_bytes());
    }
    output.encode(run.into(), 1, &[Page { memory: &memory, used, entries: rows.len() }]).expect("memory");
}

/// The values of the rows of a file of plain frames with one row each.
fn values(file: &[u8]) -> Vec<u64> {
    const FRAME_BYTES: usize = 32 + 4 + 16;
    assert_eq!(file.len() % FRAME_BYTES, 0);
    let value = |frame: &[u8]| u64::from_le_bytes(frame[FRAME_BYTES - 8..].try_into().expect("8 bytes"));
    file.chunks_exact(FRAME_BYTES).map(value).collect()
}

fn expected() -> Vec<u64> {
    (0..u64::from(PARTITIONS)).flat_map(|p| (0..u64::from(RUNS)).map(move |run| p << 32 | run)).collect()
}

fn commit_spilled(name: &str, arena_bytes: usize, runs_in_memory: u32) -> (u64, u64) {
    let folder = folder(name);
    let arena = Arena::host(64 << 20);
    let output = MapOutputWriter::new(arena.clone(), PARTITIONS, PLAIN).expect("partitions");
    for run in 0..RUNS {
        encode(&output, run);
        if run < RUNS - runs_in_memory {
            output.spill(&folder.join(format!("spill-{run}"))).expect("disk");
        }
    }
    arena.set_limit(arena_bytes);
    let path = folder.join("data");
    let before = read_and_write_calls();
    let committed = output.commit(&path, ChecksumAlgorithm::Adler32).expect("disk");
    let calls = read_and_write_calls() - before;
    assert_eq!(values(&fs::read(&path).expect("the file")), expected());
    assert_eq!(arena.leased_bytes(), 0, "buffers and runs are given back");
    fs::remove_dir_all(folder).expect("the folder");
    (calls, committed.total)
}

#[test]
fn small_segments_cost_no_calls_of_their_own() {
    for (name, arena_bytes, buffer_bytes) in [("room", 64 << 20, 16 << 20), ("none", 0, 1 << 20)] {
        for runs_in_memory in [0, 5] {
            let (calls, total) = commit_spilled(name, arena_bytes, runs_in_memory);
            // Each refill of a buffer is a read and a write; 1,024 pieces make a write too; the counting itself reads.
            let refills = u64::from(RUNS) * (total / u64::from(RUNS)).div_ceil(buffer_bytes / u64::from(RUNS));
            let most = 2 * refills + u64::from(PARTITIONS * RUNS).div_ceil(1024) + 4;
            println!("{name}: {calls} calls for {total} bytes in {} segments, at most {most}", PARTITIONS * RUNS);
            assert!(calls <= most, "{calls} calls, at most {most} expected");
        }
    }
}

#[test]
fn a_spill_file_that_was_cut_or_removed_is_an_error_or_the_same_rows() {
    let folder = folder("changed");
    for (cut, kind) in [(Some(0), Err(ErrorKind::Io)), (Some(100_000), Err(ErrorKind::Io)), (None, Ok(()))] {
        let output = MapOutputWriter::new(Arena::host(64 << 20), PARTITIONS, PLAIN).expect("partitions");
        let spills: Vec<PathBuf> = (0..RUNS).map(|run| folder.join(format!("spill-{run}"))).collect();
        for (run, spill) in (0..RUNS).zip(&spills) {
            encode(&output, run);
            output.spill(spill).expect("disk");
        }
        match cut {
            Some(bytes) => fs::File::options().write(true).open(&spills[7]).expect("file").set_len(bytes).expect("cut"),
            // A process that has the file open can still read it.
            None => fs::remove_file(&spills[7]).expect("file"),
        }
        let path = folder.join("data");
        let committed = output.commit(&path, ChecksumAlgorithm::None);
        if let Err(error) = &committed {
            assert!(error.message.contains("spill-7"), "{error}");
        }
        assert_eq!(committed.map(|_| ()).map_err(|e| e.kind), kind);
        if kind.is_ok() {
            assert_eq!(values(&fs::read(&path).expect("the file")), expected());
        }
    }
    fs::remove_dir_all(folder).expect("the folder");
}
