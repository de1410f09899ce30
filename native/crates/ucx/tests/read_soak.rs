//! Many reads over one connection, of outputs that are published and withdrawn: neither side holds more memory or
//! descriptors after many of them than after a few. In a process of its own, because it counts what the process holds.
//! `SLUICE_SOAK_ROUNDS` says how many rounds; at ten a second, 300,000 are eight hours.

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_mem::Arena;
use sluice_transport::{Block, Completion, Failure, Transport, TransportOptions};
use sluice_ucx::{Ucx, UcxWire};

/// Blocks of an output, each a request's block, of different sizes: all but the smallest begin and end inside a page.
const BLOCKS: usize = 24;
const LARGEST_BYTES: usize = 40_000;
/// Outputs that can be read at once; the oldest goes when another comes.
const OUTPUTS: u64 = 16;
const MOST_GROWTH_KIB: usize = 8 << 10;
const MOST_DESCRIPTORS: usize = 4;
const MOST_MAPPINGS: usize = 32;

/// What the process holds.
#[derive(Debug)]
struct Held {
    resident_kib: usize,
    descriptors: usize,
    mappings: usize,
}

impl Held {
    fn now() -> Self {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).expect("Linux");
        let status = read("status");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
        Self {
            resident_kib: resident.trim().trim_end_matches(" kB").parse().expect("a number"),
            descriptors: std::fs::read_dir("/proc/self/fd").expect("Linux").count(),
            mappings: read("maps").lines().count(),
        }
    }

    fn assert_no_more_than(&self, earlier: &Self) {
        assert!(self.resident_kib <= earlier.resident_kib + MOST_GROWTH_KIB, "{self:?}, earlier {earlier:?}");
        assert!(self.descriptors <= earlier.descriptors + MOST_DESCRIPTORS, "{self:?}, earlier {earlier:?}");
        assert!(self.mappings <= earlier.mappings + MOST_MAPPINGS, "{self:?}, earlier {earlier:?}");
    }
}

/// The files of outputs, which later outputs take up again, and what is in all of them.
struct Files {
    paths: Vec<PathBuf>,
    offsets: Vec<u64>,
    content: Vec<u8>,
}

impl Files {
    fn write() -> Self {
        let bytes = |block: usize| 1 + block * LARGEST_BYTES / BLOCKS;
        let mut offsets = vec![0];
        (0..BLOCKS).for_each(|block| offsets.push(offsets[block] + bytes(block) as u64));
        let content: Vec<u8> = (0..offsets[BLOCKS]).map(|i| (i / 7 + i) as u8).collect();
        let path = |i| std::env::temp_dir().join(format!("sluice-read-soak-{}-{i}", std::process::id()));
        let paths: Vec<PathBuf> = (0..OUTPUTS).map(path).collect();
        paths.iter().for_each(|path| std::fs::write(path, &content).expect("written"));
        Self { paths, offsets, content }
    }

    fn publish(&self, owner: &Transport, map: u64) {
        let path = self.paths[(map % OUTPUTS) as usize].clone();
        owner.publish(1, map, path, None, self.offsets.clone()).expect("good offsets");
    }

    fn block(&self, index: usize) -> &[u8] {
        &self.content[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

fn start(ucx: &Arc<Ucx>, arena: &Arc<Arena>) -> Transport {
    let options =
        TransportOptions { secret: b"s".to_vec(), timeout: Duration::from_secs(10), ..TransportOptions::default() };
    let ucx = Arc::clone(ucx);
    Transport::start(move || UcxWire::new(ucx), Arc::clone(arena), options).expect("started")
}

/// All blocks of a map output, in one request.
fn read(reader: &Transport, map: u64) -> Vec<Completion> {
    let wanted = (0..BLOCKS as u32).map(|first| Block { shuffle: 1, map, first, end: first + 1 }).collect();
    reader.fetch(1, wanted).unwrap_or_else(|e| panic!("map {map}: {e:?}"));
    let end = Instant::now() + Duration::from_secs(30);
    let mut ended = Vec::new();
    while ended.len() < BLOCKS {
        assert!(Instant::now() < end, "map {map}: {} of {BLOCKS} blocks have ended", ended.len());
        ended.extend(reader.poll(BLOCKS, Duration::from_millis(200)).expect("running"));
    }
    ended
}

/// One output comes, the oldest goes; the new one and one in the middle are read, and the oldest is not found.
fn round(owner: &Transport, reader: &Transport, files: &Files, map: u64) {
    files.publish(owner, map);
    if map >= OUTPUTS {
        assert_eq!(owner.withdraw(1, map - OUTPUTS), 1);
        assert!(read(reader, map - OUTPUTS).iter().all(|lost| matches!(lost.result, Err(Failure::NotFound))));
    }
    for map in [map, map.saturating_sub(OUTPUTS / 2)] {
        for completion in read(reader, map) {
            let lease = completion.result.as_ref();
            let lease = lease.unwrap_or_else(|e| panic!("map {map}: {e:?} {}", reader.peer_error(1)));
            assert!(lease.as_ref().expect("it has bytes").as_slice() == files.block(completion.index as usize));
        }
    }
}

#[test]
fn memory_and_descriptors_do_not_grow_with_the_bytes_read() {
    let Some(ucx) = common::ucx() else { return };
    let rounds: u64 = std::env::var("SLUICE_SOAK_ROUNDS").map_or(300, |text| text.parse().expect("a number"));
    let arena = Arena::host(256 << 20);
    let (owner, reader) = (start(&ucx, &arena), start(&ucx, &arena));
    reader.connect(1, owner.address());
    let files = Files::write();
    let mut settled = Held::now();
    for map in 0..rounds {
        round(&owner, &reader, &files, map);
        if map == rounds / 5 {
            settled = Held::now();
        }
    }
    Held::now().assert_no_more_than(&settled);
    assert_eq!(arena.leased_bytes(), 0);
}
