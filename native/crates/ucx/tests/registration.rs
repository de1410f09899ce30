//! Map outputs on different filesystems are registered and read, and the transport says how they were registered. In
//! `./sluice rdma-test` an RDMA device registers them: SLUICE_TEST_DIRECTORIES then has a line for each filesystem,
//! with a directory, `=` and how files there are to be registered. Otherwise one directory is read, and how its files
//! are registered depends on the machine. Needs a UCX, as `two_workers`; without, the test says that it was skipped.

mod common;

use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sluice_mem::Arena;
use sluice_transport::{Block, Statistic, Transport, TransportOptions};
use sluice_ucx::UcxWire;

const PATIENCE: Duration = Duration::from_secs(40);
/// More than one region: small ones, a whole chunk, and a chunk's rest.
const PARTITIONS: [usize; 5] = [1, 1000, 100_000, 4 << 20, 3_000_001];

/// Directories, and how their files are to be registered, if that is said.
fn directories() -> Vec<(PathBuf, Option<String>)> {
    let Ok(lines) = std::env::var("SLUICE_TEST_DIRECTORIES") else { return vec![(std::env::temp_dir(), None)] };
    let pairs = lines.lines().map(|line| line.split_once('=').expect("DIRECTORY=WAY"));
    pairs.map(|(directory, way)| (directory.into(), Some(way.into()))).collect()
}

fn content() -> Vec<u8> {
    (0..PARTITIONS.iter().sum()).map(|i: usize| (i / 7 + i) as u8).collect()
}

/// Reads every partition of a map output in `directory`; what the owner's statistics are then.
fn read_all(owner: &Transport, reader: &Transport, map: u64, directory: &Path) -> impl Fn(Statistic) -> u64 {
    let path = directory.join(format!("sluice-registration-test-{}", std::process::id()));
    std::fs::write(&path, content()).expect("written");
    read_file(owner, reader, map, &path);
    std::fs::remove_file(path).expect("removed");
    let statistics = owner.statistics();
    move |statistic| statistics[statistic as usize]
}

/// Reads every partition of the map output in a file of this [`content`].
fn read_file(owner: &Transport, reader: &Transport, map: u64, path: &Path) {
    let content = content();
    let mut offsets = vec![0];
    offsets.extend(PARTITIONS.iter().scan(0, |end, bytes| {
        *end += *bytes as u64;
        Some(*end)
    }));
    owner.publish(1, map, path.to_path_buf(), None, offsets.clone()).expect("good offsets");
    for (partition, ends) in offsets.windows(2).enumerate() {
        let first = partition as u32;
        reader.fetch(1, vec![Block { shuffle: 1, map, first, end: first + 1 }]).expect("known");
        let ended = reader.poll(1, PATIENCE).expect("running").pop().expect("it ends");
        let lease = ended.result.unwrap_or_else(|why| panic!("{}: {why:?}", path.display()));
        let expected = &content[ends[0] as usize..ends[1] as usize];
        assert!(lease.expect("it has bytes").as_slice() == expected, "{} {partition}", path.display());
    }
}

#[test]
fn map_outputs_of_every_filesystem_are_registered_and_read() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let start = |directories: Vec<PathBuf>| {
        let (ucx, options) = (ucx.clone(), TransportOptions { timeout: PATIENCE, ..TransportOptions::default() });
        let options = TransportOptions { directories, ..options };
        Transport::start(move || UcxWire::new(ucx), arena.clone(), options).expect("started")
    };
    let all = directories();
    // One owner is told the directories, the other finds out when it maps a file.
    let owners = [start(all.iter().map(|(directory, _)| directory.clone()).collect()), start(Vec::new())];
    println!("registrations: {:?}", owners[0].registrations());
    println!("warnings: {:?}", owners[0].warnings());
    for owner in &owners {
        let reader = start(Vec::new());
        reader.connect(1, owner.address());
        for (map, (directory, way)) in all.iter().enumerate() {
            let copied = owner.statistics()[Statistic::CopiedRegions as usize];
            let of = read_all(owner, &reader, map as u64, directory);
            let copies = of(Statistic::CopiedRegions) - copied;
            println!("{}: {copies} regions copied", directory.display());
            assert_eq!((of(Statistic::RefusedMapped), of(Statistic::RefusedFilesystems)), (0, 0));
            if let Some(way) = way {
                assert_eq!(copies > 0, way == "copies in memory", "{}", directory.display());
            }
            assert!(copies == 0 || of(Statistic::CopiedBytes) > 0);
        }
    }
    let said = owners[0].registrations();
    let expected =
        all.iter().filter_map(|(directory, way)| Some(format!("{}: {}", directory.display(), way.as_ref()?)));
    let expected: Vec<_> = expected.collect();
    if !expected.is_empty() {
        assert_eq!(said, expected);
    }
}

/// Map outputs in memory (`spark.sluice.mode=CACHE_ONLY`): sealed as those are, so that nobody can cut them short.
/// Their pages are registered as they are.
#[test]
fn map_outputs_in_memory_files_are_registered_and_read() {
    let Some(ucx) = common::ucx() else { return };
    let arena = Arena::host(1 << 30);
    let [owner, reader] = [(); 2].map(|()| {
        let (ucx, options) = (ucx.clone(), TransportOptions { timeout: PATIENCE, ..TransportOptions::default() });
        Transport::start(move || UcxWire::new(ucx), arena.clone(), options).expect("started")
    });
    reader.connect(1, owner.address());
    // SAFETY: a call with a name that ends with 0; it makes the descriptor, so no other code closes it.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(c"sluice-registration-test".as_ptr(), libc::MFD_ALLOW_SEALING);
        assert!(descriptor >= 0, "{}", std::io::Error::last_os_error());
        std::fs::File::from_raw_fd(descriptor)
    };
    file.write_all(&content()).expect("written");
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a call on a descriptor that is open.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    read_file(&owner, &reader, 1, Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())));
    let of = |statistic: Statistic| owner.statistics()[statistic as usize];
    assert_eq!((of(Statistic::RefusedMapped), of(Statistic::RefusedFilesystems)), (0, 0));
    assert_eq!(of(Statistic::CopiedRegions), 0, "registered as they are");
}
