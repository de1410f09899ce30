//! A map output refuses calls in the wrong phase.

use std::ffi::CString;
use std::fs;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::{ChecksumAlgorithm, EngineError, ErrorKind, MapOutputWriter, Page};
use sluice_mem::{Arena, ArenaOptions, HostProvider, MapError, MappedRegion, MemoryKind, Provider};
use sluice_testkit::{Value, unsafe_row, xorshift};

const PLAIN: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Plain };
/// More than a pipe holds (64 KiB), so that a spill to one waits for its reader.
const ROWS: u32 = 20_000;
const LIMIT: Duration = Duration::from_secs(60);

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sluice-phases-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn encode(output: &MapOutputWriter, sequence: i64) -> Result<usize, EngineError> {
    let (mut memory, mut entries) = (Vec::new(), Vec::new());
    for i in 0..ROWS {
        entries.push(u64::from(i % 3) << 32 | memory.len() as u64);
        memory.extend(unsafe_row(&[Value::Word(xorshift(u64::from(i)))]));
    }
    let used = memory.len();
    memory.extend(entries.iter().rev().flat_map(|entry| entry.to_le_bytes()));
    output.encode(sequence, 1, &[Page { memory: &memory, used, entries: ROWS as usize }])
}

fn commit(output: &MapOutputWriter, path: &Path) -> Result<u64, EngineError> {
    output.commit(path, ChecksumAlgorithm::Crc32c).map(|committed| committed.total)
}

fn wrong_phase<T: std::fmt::Debug>(result: Result<T, EngineError>, words: &str) {
    let error = result.expect_err("must be refused");
    assert_eq!(error.kind, ErrorKind::WrongPhase, "{error}");
    assert!(error.message.contains(words), "{error}");
}

fn await_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "{what} never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A named pipe, which stops a spill when it is full. Both ends must be open for the reader not to block at its open,
/// so it is opened for writing too.
fn pipe(path: &Path) -> fs::File {
    let name = CString::new(path.to_str().expect("utf-8")).expect("no zero");
    // SAFETY: the name is a C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{}", std::io::Error::last_os_error());
    fs::OpenOptions::new().read(true).write(true).open(path).expect("the pipe")
}

fn bytes_in(pipe: &fs::File) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, which lives on this stack.
    assert_eq!(unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(pipe), libc::FIONREAD, &mut bytes) }, 0);
    bytes as usize
}

#[test]
fn a_commit_beside_a_spill_that_waits_is_refused_and_loses_nothing() {
    let folder = folder("blocked");
    let output = Arc::new(MapOutputWriter::new(Arena::host(64 << 20), 3, PLAIN).expect("3 partitions"));
    encode(&output, 0).expect("memory");
    let held = output.memory_bytes();
    let (spill, data) = (folder.join("spill"), folder.join("data"));
    let mut pipe = pipe(&spill);
    let spilling = {
        // Not scoped: where an assertion fails below, nothing would read the pipe, and the thread would never end.
        let (output, spill) = (Arc::clone(&output), spill.clone());
        std::thread::spawn(move || output.spill(&spill))
    };
    await_until("the spill", || bytes_in(&pipe) > 0);
    wrong_phase(commit(&output, &data), "0 encodes and 1 spills");
    assert!(!data.exists(), "a refused commit must not touch the file");
    assert_eq!(output.memory_bytes(), held, "what is being spilled is still in memory");
    encode(&output, 1).expect("an encode may run beside a spill");
    let mut spilled = vec![0; 1 << 16];
    let mut total = 0;
    await_until("the end of the spill", || {
        while bytes_in(&pipe) > 0 {
            total += pipe.read(&mut spilled).expect("bytes");
        }
        spilling.is_finished()
    });
    while bytes_in(&pipe) > 0 {
        total += pipe.read(&mut spilled).expect("bytes");
    }
    assert_eq!(spilling.join().expect("no panic").expect("a spill"), total as u64);
    assert!(total > ROWS as usize * 16);
    // The bytes went through the pipe and cannot be read back: that must be an error, not a shorter output.
    assert_eq!(commit(&output, &data).expect_err("the pipe is not a file").kind, ErrorKind::Io);
    fs::remove_dir_all(folder).expect("the folder");
}

#[test]
fn a_committed_output_takes_nothing_more_and_keeps_its_file() {
    let folder = folder("twice");
    let output = MapOutputWriter::new(Arena::host(64 << 20), 3, PLAIN).expect("3 partitions").with_row_checksums();
    encode(&output, 0).expect("memory");
    let data = folder.join("data");
    let total = commit(&output, &data).expect("disk");
    let checksum = output.row_checksum().expect("it is still known");
    assert_ne!(checksum, 0);
    wrong_phase(commit(&output, &data), "already committed");
    wrong_phase(encode(&output, 1), "already committed");
    wrong_phase(output.spill(&folder.join("spill")), "already committed");
    assert_eq!(fs::metadata(&data).expect("the file").len(), total, "the second commit must not cut the file");
    assert_eq!(output.row_checksum().expect("known"), checksum);
    assert_eq!(output.memory_bytes(), 0);
    output.close();
    assert_eq!(commit(&output, &data).expect_err("closed").kind, ErrorKind::Closed);
    fs::remove_dir_all(folder).expect("the folder");
}

#[test]
fn after_a_failed_spill_and_a_failed_commit_everything_may_be_repeated() {
    let folder = folder("failed");
    let output = MapOutputWriter::new(Arena::host(64 << 20), 3, PLAIN).expect("3 partitions");
    encode(&output, 0).expect("memory");
    // Links, because a failed spill or commit removes its file.
    let full = folder.join("full");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    output.spill(&full).expect_err("a full disk");
    assert!(!full.exists(), "the half-written file is removed");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    commit(&output, &full).expect_err("a full disk");
    assert!(full.symlink_metadata().is_err(), "the half-written file is removed");
    encode(&output, 1).expect("memory");
    output.spill(&folder.join("spill")).expect("disk");
    let total = commit(&output, &folder.join("data")).expect("disk");
    assert!(total > 2 * 16 * u64::from(ROWS), "both runs are in it");
    fs::remove_dir_all(folder).expect("the folder");
}

/// Maps memory, or panics.
#[derive(Debug, Default)]
struct PanickingProvider {
    inner: HostProvider,
    armed: AtomicBool,
}

impl Provider for PanickingProvider {
    fn kind(&self) -> MemoryKind {
        self.inner.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        assert!(!self.armed.load(Ordering::Relaxed), "no region on purpose");
        self.inner.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        self.inner.unmap(region);
    }
}

#[test]
fn a_call_that_panics_fails_the_output() {
    let provider = Arc::new(PanickingProvider::default());
    let arena = Arena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &ArenaOptions::with_limit(64 << 20));
    let output = MapOutputWriter::new(Arc::clone(&arena), 3, PLAIN).expect("3 partitions");
    provider.armed.store(true, Ordering::Relaxed);
    catch_unwind(AssertUnwindSafe(|| encode(&output, 0))).expect_err("the provider panics");
    provider.armed.store(false, Ordering::Relaxed);
    let nowhere = Path::new("/no-such-folder/file");
    wrong_phase(encode(&output, 0), "an earlier call (encode) panicked");
    wrong_phase(output.spill(nowhere), "panicked");
    wrong_phase(commit(&output, nowhere), "panicked");
    wrong_phase(output.row_checksum(), "panicked");
    assert_eq!(output.memory_bytes(), 0);
    let other = MapOutputWriter::new(arena, 3, PLAIN).expect("3 partitions");
    encode(&other, 0).expect("only the output concerned has failed");
}
