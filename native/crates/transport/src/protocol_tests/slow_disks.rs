//! The agent's thread never waits for a disk: other threads do the jobs that may wait, and when a disk hangs only its
//! own blocks travel by Netty.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sluice_mem::Arena;

use super::both_ways;
use super::world::{Reads, TIMEOUT, World, block, bytes_of, failure_of};
use crate::catalog::{Catalog, PublishedOutput};
use crate::completions::{Completion, Failure};
use crate::disk::{Disk, DiskThreads, Ended, Job, MapWork, Outcome, Work};
use crate::filesystems::Verdicts;
use crate::loopback::Network;
use crate::mapped_budget::Reservation;
use crate::mapping::Way;
use crate::options::TransportOptions;
use crate::statistics::Statistic;
use crate::transport::Transport;
use crate::wire::Wire;

#[test]
fn a_hanging_disk_delays_no_other_reader_and_its_own_until_the_timeout() {
    both_ways("a_hanging_disk_delays_no_other_reader_and_its_own_until_the_timeout", |reads| {
        let mut world = World::new(reads, 40, &["", "", ""]);
        let data = [1, 2].map(|map| world.publish(2, map, &[100_000]));
        world.processes[2].disk.hold(&world.files.join("2-1"));
        [0, 1].into_iter().for_each(|reader| world.connect(reader, 2));
        world.run(40);
        let hung = world.fetch(0, 2, &[block(1, 0, 1)]);
        world.fetch(0, 2, &[block(2, 0, 1)]);
        world.run(5);
        assert_eq!((world.processes[2].disk.waiting(), world.statistic(2, Statistic::DiskJobs)), (1, 1));
        for _ in 0..5 {
            world.fetch(1, 2, &[block(2, 0, 1)]);
            assert!(bytes_of(&world.ended(1, 1)[0]) == data[1], "the other reader is answered meanwhile");
        }
        assert!(world.take(0).is_empty(), "answers come in the order of the questions");
        world.run(TIMEOUT.as_millis() as usize / 2);
        let mut ended = world.ended(0, 2);
        ended.sort_by_key(|completion| completion.request);
        assert_eq!((ended[0].request, failure_of(&ended[0])), (hung, Failure::Busy));
        assert!(bytes_of(&ended[1]) == data[1]);
        assert_eq!(world.statistic(2, Statistic::DiskTimeouts), 1);
        assert_eq!(world.error(0, 2), "", "the peer is well");
        world.processes[2].disk.let_go();
        world.fetch(0, 2, &[block(1, 0, 1)]);
        assert!(bytes_of(&world.ended(0, 1)[0]) == data[0], "and when the disk answers again, so does it");
        drop(ended);
        world.assert_nothing_left();
    });
}

/// The file is mapped already, and what is asked for now is not in memory.
#[test]
fn pages_not_in_memory_are_read_by_the_disk_threads() {
    let mut world = World::new(Reads::Loopback, 41, &["", ""]);
    let path = world.files.join("sparse");
    File::create(&path).expect("created").set_len(4 << 20).expect("sparse");
    let offsets = vec![0, 100_000, 1 << 20, 2 << 20];
    world.processes[1].shared.catalog.publish(1, 1, path, None, offsets).expect("good");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    drop(world.ended(0, 1));
    world.processes[1].disk.hold_all(true);
    world.fetch(0, 1, &[block(1, 2, 3)]);
    world.run(10);
    assert_eq!(world.processes[1].disk.waiting(), 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(100);
    assert!(world.take(0).is_empty());
    assert_eq!(world.processes[1].disk.waiting(), 1, "what was read is in memory");
    world.processes[1].disk.hold_all(false);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.request);
    assert!(bytes_of(&ended[0]) == vec![0; 1 << 20] && bytes_of(&ended[1]) == [0; 100_000]);
    drop(ended);
    world.assert_nothing_left();
}

#[test]
fn index_files_are_read_by_the_disk_threads() {
    let mut world = World::keeping_offsets(Reads::Loopback, 42, &["", ""], 0);
    let data: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
    let (path, index) = (world.files.join("data"), world.files.join("index"));
    let offsets = vec![0u64, 400, 1000];
    std::fs::write(&path, &data).expect("written");
    std::fs::write(&index, offsets.iter().flat_map(|offset| offset.to_be_bytes()).collect::<Vec<u8>>())
        .expect("written");
    let catalog = &world.processes[1].shared.catalog;
    catalog.publish(1, 1, path.clone(), Some(index.clone()), offsets).expect("good");
    world.processes[1].disk.hold(&path);
    world.connect(0, 1);
    world.run(10);
    world.fetch(0, 1, &[block(1, 1, 2)]);
    world.run(10);
    assert_eq!(world.processes[1].disk.waiting(), 1);
    world.processes[1].disk.let_go();
    assert!(bytes_of(&world.ended(0, 1)[0]) == data[400..]);
    std::fs::remove_file(&index).expect("removed");
    world.fetch(0, 1, &[block(1, 1, 2), block(1, 1, 3)]);
    assert!(world.ended(0, 2).iter().all(|completion| failure_of(completion) == Failure::NotFound));
    world.assert_nothing_left();
}

#[test]
fn a_reader_that_disconnects_while_its_blocks_are_mapped_leaves_no_pin() {
    let mut world = World::new(Reads::Loopback, 43, &["", ""]);
    world.publish(1, 1, &[100_000]);
    world.processes[1].disk.hold_all(true);
    world.connect(0, 1);
    world.run(10);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(10);
    assert_eq!((world.processes[1].disk.waiting(), world.pins(1)), (1, 1));
    let reader = world.node(0);
    world.network.kill(&reader);
    world.run(10);
    assert_eq!(world.pins(1), 0);
    assert_eq!(world.statistic(1, Statistic::OpenQuestions), 0);
    world.processes[1].disk.hold_all(false);
    world.run(10);
    assert_eq!((world.pins(1), world.network.regions()), (0, 2), "the sample, and a region that no reader uses");
}

/// Two processes with their real threads. Opening a named pipe to read it waits until it is opened for writing, as
/// opening a file does on a disk that hangs.
#[test]
fn a_named_pipe_in_place_of_a_file_fails_its_own_block_only() {
    let folder = std::env::temp_dir().join(format!("sluice-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (pipe, file) = (folder.join("pipe"), folder.join("file"));
    make_pipe(&pipe);
    std::fs::write(&file, [7; 1000]).expect("written");
    let network = Network::new(44);
    let start = |timeout| {
        let wire = network.wire();
        let options = TransportOptions { timeout, ..TransportOptions::default() };
        Transport::start(move || Ok(wire), Arena::host(1 << 20), options).expect("started")
    };
    let (owner, reader) = (start(Duration::from_secs(4)), start(Duration::from_secs(60)));
    owner.publish(1, 1, pipe.clone(), None, vec![0, 1000]).expect("good");
    owner.publish(1, 2, file, None, vec![0, 1000]).expect("good");
    reader.connect(1, owner.address());
    let fetch = |map| _ = reader.fetch(1, vec![block(map, 0, 1)]).expect("known");
    [2, 1, 2].into_iter().for_each(fetch);
    let ended = take(&reader, 3);
    assert_eq!(failure_of(&ended[1]), Failure::Busy);
    assert!(bytes_of(&ended[0]) == [7; 1000] && bytes_of(&ended[2]) == [7; 1000]);
    // Ends the wait of the owner's thread.
    drop(File::options().write(true).open(&pipe).expect("opened"));
    fetch(2);
    assert!(bytes_of(&take(&reader, 1)[0]) == [7; 1000]);
    std::fs::remove_dir_all(&folder).expect("removed");
}

fn make_pipe(path: &Path) {
    let name = std::ffi::CString::new(path.to_str().expect("a name")).expect("no zero in it");
    // SAFETY: a name that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{}", std::io::Error::last_os_error());
}

/// The next completions, by request.
fn take(reader: &Transport, blocks: usize) -> Vec<Completion> {
    let (end, mut ended) = (Instant::now() + Duration::from_secs(60), Vec::new());
    while ended.len() < blocks {
        assert!(Instant::now() < end, "{ended:?}");
        ended.extend(reader.poll(blocks, Duration::from_millis(100)).expect("running"));
    }
    ended.sort_by_key(|completion| completion.request);
    ended
}

/// Threads for disks, and a named pipe whose opening holds them.
struct HeldThreads {
    disk: DiskThreads,
    output: Arc<PublishedOutput>,
    jobs: u64,
    folder: PathBuf,
    /// When the test has failed.
    end: Instant,
}

impl HeldThreads {
    fn start(most: usize, patience: Duration) -> Self {
        static FOLDERS: AtomicU64 = AtomicU64::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sluice-queue-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let pipe = folder.join("pipe");
        make_pipe(&pipe);
        let catalog = Catalog::default();
        catalog.publish(1, 1, pipe, None, vec![0, 1000]).expect("good");
        let output = catalog.find(1, 1).expect("there");
        let disk = DiskThreads::start(1, most, patience, Network::new(1).wire().waker()).expect("started");
        Self { disk, output, jobs: 0, folder, end: Instant::now() + Duration::from_secs(60) }
    }

    fn submit(&mut self) -> bool {
        let (output, reservation) = (Arc::clone(&self.output), Reservation::unlimited());
        let (part, needed, verdicts) = (0..1000, 0..1000, Verdicts::always(Way::ReadOnly));
        let work = MapWork { output, part, needed, verdicts, reservation, evicted: Vec::new() };
        let work = Work::Map(Box::new(work));
        let is_taken = self.disk.submit(Job { number: self.jobs, work }).is_ok();
        self.jobs += u64::from(is_taken);
        is_taken
    }

    /// Lets every job end that was taken.
    fn let_go(&mut self) {
        let mut ended: Vec<Ended> = Vec::new();
        while (ended.len() as u64) < self.jobs {
            assert!(Instant::now() < self.end, "{ended:?}");
            // Opens the other end, if a thread waits for that.
            drop(File::options().write(true).custom_flags(libc::O_NONBLOCK).open(&self.output.path));
            self.disk.take_ended(&mut ended);
            std::thread::yield_now();
        }
        assert!(ended.iter().all(|ended| matches!(ended.outcome, Outcome::Mapped(Err(_)))), "{ended:?}");
        self.jobs = 0;
    }
}

impl Drop for HeldThreads {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn jobs_beyond_the_queue_limit_are_refused_at_once() {
    let mut held = HeldThreads::start(2, Duration::from_secs(3600));
    // The thread has one, two wait.
    while held.jobs < 3 {
        assert!(Instant::now() < held.end);
        held.submit();
        std::thread::yield_now();
    }
    assert!(!held.submit() && !held.submit());
    held.let_go();
    assert!(held.submit());
    held.let_go();
}

#[test]
fn no_job_is_accepted_while_all_threads_are_stuck() {
    let mut held = HeldThreads::start(usize::MAX, Duration::ZERO);
    while held.submit() {
        assert!(Instant::now() < held.end, "the thread is stuck, and jobs are taken");
        std::thread::sleep(Duration::from_millis(1));
    }
    held.let_go();
    assert!(held.submit(), "it is not stuck any more");
    held.let_go();
}
