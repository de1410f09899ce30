//! Map outputs larger than 32 bits can address, read by UCX and, within the machine, by system calls: a sparse file
//! with known bytes at a few places. Needs a UCX, as `two_workers`; without, the test says that it was skipped.

mod common;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Transport, TransportOptions, Wire, WireError};
use sluice_ucx::UcxWire;

const TIMEOUT: Duration = Duration::from_secs(20);
const GIB: u64 = 1 << 30;
const FILE_BYTES: u64 = 5 * GIB;
/// How much of a file is mapped, and so registered, at once.
const WINDOW_BYTES: u64 = 4 << 20;
const BLOCK_BYTES: u64 = 9001;
/// Where blocks begin: around what 31 and 32 bits address, one of them across it; across the end of a window beyond;
/// and at the file's end.
const STARTS: [u64; 7] = [
    0,
    2 * GIB - BLOCK_BYTES,
    2 * GIB,
    4 * GIB - 1,
    4 * GIB + 54_321,
    4 * GIB + 3 * WINDOW_BYTES - BLOCK_BYTES / 2,
    FILE_BYTES - BLOCK_BYTES,
];

/// A sparse file with bytes of their own in each of the blocks. It goes with this value.
struct Sparse(PathBuf);

impl Sparse {
    fn write(name: &str) -> Self {
        let sparse = Self(std::env::temp_dir().join(format!("sluice-large-{}-{name}", std::process::id())));
        let file = File::create(&sparse.0).expect("made");
        file.set_len(FILE_BYTES).expect("sparse");
        for (index, start) in STARTS.iter().enumerate() {
            file.write_all_at(&content(index), *start).expect("written");
        }
        sparse
    }

    /// Partitions are the blocks and what is between them: partition `2 * index` is the block `index`.
    fn offsets() -> Vec<u64> {
        STARTS.iter().flat_map(|start| [*start, start + BLOCK_BYTES]).collect()
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn content(index: usize) -> Vec<u8> {
    (0..BLOCK_BYTES as usize).map(|i| (i / 7 + i + 31 * index + 1) as u8).collect()
}

fn start<W, F>(make: F, arena: &Arc<Arena>) -> Transport
where
    W: Wire + 'static,
    F: FnOnce() -> Result<W, WireError> + Send + 'static,
{
    let options = TransportOptions { timeout: TIMEOUT, ..TransportOptions::default() };
    Transport::start(make, Arc::clone(arena), options).expect("started")
}

/// Reads all blocks of `owner`'s one map output, and compares them.
fn read(owner: &Transport, reader: &Transport, name: &str) {
    let file = Sparse::write(name);
    owner.publish(1, 1, file.0.clone(), None, Sparse::offsets()).expect("good offsets");
    reader.connect(1, owner.address());
    let partitions = (0..STARTS.len() as u32).map(|index| 2 * index);
    let wanted = partitions.map(|first| Block { shuffle: 1, map: 1, first, end: first + 1 }).collect();
    reader.fetch(1, wanted).expect("known");
    let end = Instant::now() + TIMEOUT;
    let mut ended = Vec::new();
    while ended.len() < STARTS.len() {
        assert!(Instant::now() < end, "{} blocks have ended", ended.len());
        ended.extend(reader.poll(STARTS.len(), Duration::from_millis(100)).expect("running"));
    }
    for completion in ended {
        let index = completion.index as usize;
        let lease = completion.result.expect("read").expect("it has bytes");
        assert!(lease.as_slice() == content(index), "the block at {}", STARTS[index]);
    }
}

#[test]
fn large_outputs_are_read_over_ucx() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(64 << 20);
    let [owner, reader] = [(); 2].map(|()| {
        let ucx = Arc::clone(&ucx);
        start(move || UcxWire::new(ucx), &arena)
    });
    read(&owner, &reader, "ucx");
    assert_eq!(arena.leased_bytes(), 0);
}

/// What a connection's self-test reads.
const SAMPLE_BYTES: u64 = 64;

#[test]
fn large_outputs_are_read_near() {
    let Some(ucx) = common::ucx() else { return };
    let ((arena, regions), cma_bytes) = (common::receive_arena(64 << 20), Arc::new(AtomicU64::new(0)));
    let [owner, reader] = [(); 2].map(|()| {
        let (ucx, regions, counted) = (Arc::clone(&ucx), Arc::clone(&regions), Arc::clone(&cma_bytes));
        start(move || sluice_ucx::wire(ucx, regions, counted, TIMEOUT), &arena)
    });
    read(&owner, &reader, "cma");
    let all = STARTS.len() as u64 * BLOCK_BYTES;
    match cma_bytes.load(Ordering::Relaxed) {
        0 => eprintln!("skipped: large_outputs_are_read_near: process_vm_readv is not permitted here; read over UCX"),
        near => assert_eq!(near, all + SAMPLE_BYTES),
    }
    assert_eq!(arena.leased_bytes(), 0);
}
