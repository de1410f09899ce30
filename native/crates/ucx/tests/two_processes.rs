//! Reads between two processes of this machine, whatever the owner's process does meanwhile: made by system calls, or,
//! with a `UCX_TLS` of `rc,self` (`./sluice rdma-test`), by an RDMA device. The owner is this program again, started
//! for one ignored test. Needs a UCX, as `two_workers`, and for system calls a kernel that permits `process_vm_readv`;
//! without, each test says that it was skipped.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Completion, Failure, Transport, TransportOptions};
use sluice_ucx::Ucx;

const TIMEOUT: Duration = Duration::from_secs(20);
/// Where it is waited for.
const SHORT_TIMEOUT: Duration = Duration::from_secs(5);
const PARTITION: usize = 256 << 10;
const BLOCKS: usize = 512;
/// Names the file that [`owner_process`] publishes.
const FILE: &str = "SLUICE_TEST_OWNERS_FILE";
const ADDRESS: &str = "address ";

fn start(ucx: Arc<Ucx>, timeout: Duration) -> (Transport, Arc<Arena>, Arc<AtomicU64>) {
    let ((arena, regions), cma_bytes) = (common::receive_arena(1 << 30), Arc::new(AtomicU64::new(0)));
    let options = TransportOptions { secret: b"s".to_vec(), timeout, ..TransportOptions::default() };
    let counted = Arc::clone(&cma_bytes);
    let make = move || sluice_ucx::wire(ucx, regions, counted, timeout);
    let transport = Transport::start(make, Arc::clone(&arena), options);
    (transport.expect("started"), arena, cma_bytes)
}

#[test]
#[ignore = "the other process of the tests here"]
fn owner_process() {
    let (Some(file), Some(ucx)) = (std::env::var_os(FILE), common::ucx()) else { return };
    let (owner, _, _) = start(ucx, TIMEOUT);
    let offsets = (0..=BLOCKS).map(|block| (block * PARTITION) as u64).collect();
    owner.publish(1, 1, file.into(), None, offsets).expect("good offsets");
    let address: String = owner.address().iter().map(|byte| format!("{byte:02x}")).collect();
    // After the test harness's own words on this line.
    println!("\n{ADDRESS}{address}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// The owner's process, and its file's content. Both go with this value.
struct Owner {
    process: Child,
    address: Vec<u8>,
    file: PathBuf,
    content: Vec<u8>,
}

impl Owner {
    fn start(name: &str) -> Self {
        let file = std::env::temp_dir().join(format!("sluice-cma-{}-{name}", std::process::id()));
        let content: Vec<u8> = (0..BLOCKS * PARTITION).map(|i| (i / 7 + i) as u8).collect();
        std::fs::write(&file, &content).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["owner_process", "--exact", "--ignored", "--nocapture"]).env(FILE, &file);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let line = lines.map_while(Result::ok).find(|line| line.starts_with(ADDRESS)).expect("an address");
        let digits = line.as_bytes()[ADDRESS.len()..].chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
        Self { process, address: digits.map(byte).collect(), file, content }
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.process.id() as libc::pid_t, signal) }, 0);
    }

    /// Whether this process can read the owner's memory: by RDMA, or because the kernel lets it; if not, says that the
    /// test was skipped.
    fn may_be_read(&self, test: &str) -> bool {
        if by_rdma() {
            return true;
        }
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.process.id())).unwrap_or_default();
        let readable = maps.lines().find(|line| line.contains(" r")).and_then(|line| line.split('-').next());
        let address = readable.and_then(|start| usize::from_str_radix(start, 16).ok()).unwrap_or(0);
        let mut byte = 0u8;
        let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: 1 };
        // SAFETY: one byte, to `byte`.
        let read = unsafe { libc::process_vm_readv(self.process.id() as libc::pid_t, &local, 1, &remote, 1, 0) };
        if read != 1 {
            eprintln!("skipped: {test}: process_vm_readv is not permitted here");
        }
        read == 1
    }

    fn is_right(&self, completion: &Completion) -> bool {
        self.are_right(completion, 1)
    }

    /// The block has so many partitions, from that of its number on.
    fn are_right(&self, completion: &Completion, partitions: usize) -> bool {
        let lease = completion.result.as_ref().expect("read").as_ref().expect("it has bytes");
        let start = completion.index as usize * PARTITION;
        lease.as_slice() == &self.content[start..start + partitions * PARTITION]
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Whether the test is to run over an RDMA device, and therefore never by system calls.
fn by_rdma() -> bool {
    std::env::var("UCX_TLS").is_ok_and(|transports| transports == "rc,self")
}

fn blocks(range: std::ops::Range<usize>) -> Vec<Block> {
    range.map(|first| Block { shuffle: 1, map: 1, first: first as u32, end: first as u32 + 1 }).collect()
}

fn take(reader: &Transport, count: usize, longest: Duration) -> Vec<Completion> {
    let end = Instant::now() + longest;
    let mut taken = Vec::new();
    while taken.len() < count {
        assert!(Instant::now() < end, "{} of {count} blocks have ended", taken.len());
        taken.extend(reader.poll(count - taken.len(), Duration::from_millis(50)).expect("running"));
    }
    taken
}

/// What a connection's self-test reads.
const SAMPLE_BYTES: u64 = 64;

#[test]
fn another_process_is_read_and_by_system_calls_where_these_are_used() {
    let Some(ucx) = common::ucx() else { return };
    let owner = Owner::start("read");
    if !owner.may_be_read("another_process_is_read_and_by_system_calls_where_these_are_used") {
        return;
    }
    let (reader, arena, cma_bytes) = start(ucx, TIMEOUT);
    reader.connect(1, &owner.address);
    reader.fetch(1, blocks(0..BLOCKS)).expect("known");
    let taken = take(&reader, BLOCKS, 4 * TIMEOUT);
    assert!(taken.iter().all(|completion| owner.is_right(completion)));
    let blocks = (BLOCKS * PARTITION) as u64;
    let expected = if by_rdma() { 0 } else { SAMPLE_BYTES + blocks };
    assert_eq!(cma_bytes.load(Ordering::Relaxed), expected, "all of them by CMA, or none");
    drop(taken);
    assert_eq!(arena.leased_bytes(), 0);
}

#[test]
fn reads_go_on_while_the_owner_stands_still() {
    let Some(ucx) = common::ucx() else { return };
    let owner = Owner::start("stopped");
    if !owner.may_be_read("reads_go_on_while_the_owner_stands_still") {
        return;
    }
    let (reader, _arena, cma_bytes) = start(ucx, TIMEOUT);
    reader.connect(1, &owner.address);
    // One question and one answer for all of them, which has come when the first has; and 0.5 GB, which take a while,
    // or 16 MB by a device that the kernel emulates.
    let partitions = if by_rdma() { 1 } else { 4 };
    let count = if by_rdma() { 64 } else { BLOCKS - 3 };
    let longer = |block: Block| Block { end: block.first + partitions, ..block };
    let many: Vec<Block> = blocks(0..count).into_iter().map(longer).collect();
    // Once more where all had been read before the owner stood still.
    let read_later = (0..10).any(|_| {
        reader.fetch(1, many.clone()).expect("known");
        let mut taken = reader.poll(1, 4 * TIMEOUT).expect("running");
        owner.signal(libc::SIGSTOP);
        let (before, left) = (cma_bytes.load(Ordering::Relaxed), count - taken.len());
        taken.extend(take(&reader, left, TIMEOUT));
        assert!(taken.iter().all(|completion| owner.are_right(completion, partitions as usize)));
        owner.signal(libc::SIGCONT);
        if by_rdma() { left > 1 } else { cma_bytes.load(Ordering::Relaxed) > before }
    });
    assert!(read_later, "nothing was left to read when the owner had been stopped");
    reader.fetch(1, blocks(0..1)).expect("known");
    assert!(owner.is_right(&take(&reader, 1, 4 * TIMEOUT)[0]), "and it answers again");
}

#[test]
fn an_owner_that_is_killed_ends_every_block_and_none_is_wrong() {
    let Some(ucx) = common::ucx() else { return };
    let owner = Owner::start("killed");
    if !owner.may_be_read("an_owner_that_is_killed_ends_every_block_and_none_is_wrong") {
        return;
    }
    let (reader, arena, _) = start(ucx, SHORT_TIMEOUT);
    reader.connect(1, &owner.address);
    reader.fetch(1, blocks(0..BLOCKS)).expect("known");
    let mut taken = reader.poll(1, 4 * TIMEOUT).expect("running");
    owner.signal(libc::SIGKILL);
    taken.extend(take(&reader, BLOCKS - taken.len(), 4 * TIMEOUT));
    for completion in &taken {
        match &completion.result {
            Ok(_) => assert!(owner.is_right(completion)),
            Err(failure) => assert!(matches!(failure, Failure::Peer | Failure::Timeout), "{failure:?}"),
        }
    }
    let begun = Instant::now();
    if reader.fetch(1, blocks(0..1)).is_ok() {
        assert!(take(&reader, 1, 4 * TIMEOUT)[0].result.is_err());
    }
    assert!(begun.elapsed() < 2 * TIMEOUT);
    drop(taken);
    // What was being read is given back when those reads have ended, which may be after their blocks.
    let end = Instant::now() + TIMEOUT;
    while arena.leased_bytes() > 0 {
        assert!(Instant::now() < end, "{} bytes are still leased", arena.leased_bytes());
        std::thread::sleep(Duration::from_millis(10));
    }
}
