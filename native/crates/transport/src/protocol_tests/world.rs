//! Processes on one network whose time and faults the test decides, and what a test asks of them. Threading: none;
//! everything runs in the calling thread, when [`World::step`] is called.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sluice_mem::Arena;

use crate::agent::{Agent, Command, PeerState, Shared, TransportOptions};
use crate::catalog::Catalog;
use crate::cma::CmaWire;
use crate::completions::{Completion, Failure};
use crate::disk::{Disk, Ended, Job, MAX_DISK_JOBS, Work};
use crate::loopback::{Loopback, Network, NoWaker};
use crate::message::Block;
use crate::regions::LARGE_REGION_BYTES;
use crate::statistics::Statistic;
use crate::wire::Wire;

pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
pub(super) const STEP: Duration = Duration::from_millis(1);

/// The process that reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    Loopback,
    Cma,
}

/// A process: its agent, and what its callers see of it.
pub(super) struct Process {
    pub(super) agent: Agent<CmaWire<Loopback>>,
    pub(super) shared: Arc<Shared>,
    pub(super) arena: Arc<Arena>,
    pub(super) requests: u64,
    pub(super) disk: HeldDisk,
}

/// Processes on one network, run in turn.
pub(super) struct World {
    pub(super) network: Network,
    start: Instant,
    elapsed: Duration,
    pub(super) processes: Vec<Process>,
    pub(super) files: PathBuf,
    reads: Reads,
    /// What was read by system calls, by all processes.
    pub(super) cma_bytes: Arc<AtomicU64>,
}

impl World {
    pub(super) fn new(reads: Reads, seed: u64, secrets: &[&str]) -> Self {
        Self::with(reads, seed, secrets, |_| {})
    }

    /// With other options than usual.
    pub(super) fn with(reads: Reads, seed: u64, secrets: &[&str], change: impl Fn(&mut TransportOptions)) -> Self {
        Self::with_each(reads, seed, secrets, |_, options| change(options))
    }

    /// With other options than usual, which depend on the process.
    pub(super) fn with_each(
        reads: Reads,
        seed: u64,
        secrets: &[&str],
        change: impl Fn(usize, &mut TransportOptions),
    ) -> Self {
        Self::of(reads, seed, secrets, change, Shared::default)
    }

    /// With catalogs that keep so many bytes of offsets in memory.
    pub(super) fn keeping_offsets(reads: Reads, seed: u64, secrets: &[&str], bytes: usize) -> Self {
        Self::of(
            reads,
            seed,
            secrets,
            |_, _| {},
            || Shared { catalog: Arc::new(Catalog::keeping(bytes)), ..Shared::default() },
        )
    }

    fn of(
        reads: Reads,
        seed: u64,
        secrets: &[&str],
        change: impl Fn(usize, &mut TransportOptions),
        shared: impl Fn() -> Shared,
    ) -> Self {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let world = WORLDS.fetch_add(1, Ordering::Relaxed);
        let files = std::env::temp_dir().join(format!("sluice-transport-{}-{world}", std::process::id()));
        std::fs::create_dir_all(&files).expect("a folder");
        let network = Network::new(seed);
        let cma_bytes = Arc::new(AtomicU64::new(0));
        let process = |(process, secret): (usize, &&str)| {
            let (shared, arena) = (Arc::new(shared()), Arena::host(1 << 30));
            let mut options = TransportOptions {
                secret: secret.as_bytes().to_vec(),
                timeout: TIMEOUT,
                idle_mapped_bytes: 4 * LARGE_REGION_BYTES as usize,
                ..TransportOptions::default()
            };
            change(process, &mut options);
            let wire = CmaWire::new(network.wire(), reads == Reads::Cma, Arc::clone(&cma_bytes));
            let disk = HeldDisk::default();
            let (arena_there, shared_there) = (Arc::clone(&arena), Arc::clone(&shared));
            let agent = Agent::with_disk(wire, arena_there, shared_there, &options, Box::new(disk.clone()));
            Process { agent: agent.expect("good options"), shared, arena, requests: 0, disk }
        };
        let processes = secrets.iter().enumerate().map(process).collect();
        Self { network, start: Instant::now(), elapsed: Duration::ZERO, processes, files, reads, cma_bytes }
    }

    /// A wire of this network without an agent: the test speaks for it.
    pub(super) fn bare_wire(&self) -> CmaWire<Loopback> {
        CmaWire::new(self.network.wire(), self.reads == Reads::Cma, Arc::clone(&self.cma_bytes))
    }

    /// A process's place on the network, which ends its address.
    pub(super) fn node(&self, process: usize) -> Vec<u8> {
        let address = self.processes[process].agent.address();
        address[address.len() - 8..].to_vec()
    }

    pub(super) fn command(&self, process: usize, command: Command) {
        self.processes[process].shared.inbox.push(command, &NoWaker);
    }

    /// The reader knows the owner by the owner's index.
    pub(super) fn connect(&self, reader: usize, owner: usize) {
        let address = self.processes[owner].agent.address().to_vec();
        self.processes[reader].shared.peers.lock().expect("no panic").insert(owner as u64, PeerState::default());
        self.command(reader, Command::Connect { peer: owner as u64, attempt: 0, address });
    }

    /// So many connections of which the other side never hears.
    pub(super) fn open_and_fail(&mut self, from: usize, to: usize, times: u32) {
        let address = self.processes[to].agent.address()[8..].to_vec();
        let wire = self.processes[from].agent.wire();
        for _ in 0..times {
            let opened = wire.open(&address).expect("there");
            wire.close(opened.endpoint);
        }
    }

    pub(super) fn fetch(&mut self, reader: usize, owner: usize, blocks: &[Block]) -> u64 {
        self.processes[reader].requests += 1;
        let request = self.processes[reader].requests;
        self.command(reader, Command::Fetch { request, peer: owner as u64, blocks: blocks.to_vec() });
        request
    }

    /// Publishes a map output with these partitions; returns its bytes.
    pub(super) fn publish(&self, owner: usize, map: u64, partitions: &[usize]) -> Vec<u8> {
        let bytes: Vec<u8> = (0..partitions.iter().sum()).map(|i: usize| (i * 31 + map as usize * 7) as u8).collect();
        let path = self.files.join(format!("{owner}-{map}"));
        std::fs::write(&path, &bytes).expect("written");
        let ends = partitions.iter().scan(0u64, |end, bytes| {
            *end += *bytes as u64;
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(ends).collect();
        let catalog = &self.processes[owner].shared.catalog;
        catalog.publish(1, map, path, None, offsets).expect("good offsets");
        bytes
    }

    pub(super) fn withdraw(&self, owner: usize, map: u64) {
        let output = self.processes[owner].shared.catalog.withdraw(1, map).expect("published");
        self.command(owner, Command::Withdraw(vec![output]));
    }

    pub(super) fn step(&mut self, time: Duration) {
        self.network.advance(time);
        self.elapsed += time;
        let now = self.start + self.elapsed;
        self.processes.iter_mut().for_each(|process| _ = process.agent.turn(now));
    }

    pub(super) fn run(&mut self, steps: usize) {
        (0..steps).for_each(|_| self.step(STEP));
    }

    /// Runs until so many blocks have ended, and a little longer: too many would show.
    pub(super) fn ended(&mut self, reader: usize, blocks: usize) -> Vec<Completion> {
        let mut ended = Vec::new();
        for _ in 0..60_000 {
            self.step(STEP);
            ended.extend(self.take(reader));
            if ended.len() >= blocks {
                break;
            }
        }
        self.run(200);
        ended.extend(self.take(reader));
        assert_eq!(ended.len(), blocks, "each block ends once");
        ended
    }

    pub(super) fn take(&self, process: usize) -> Vec<Completion> {
        self.processes[process].shared.completions.take(usize::MAX, Duration::ZERO).expect("not stopped")
    }

    pub(super) fn error(&self, reader: usize, owner: usize) -> String {
        let peers = self.processes[reader].shared.peers.lock().expect("no panic");
        peers.get(&(owner as u64)).and_then(|state| state.error.clone()).unwrap_or_default()
    }

    pub(super) fn is_ready(&self, reader: usize, owner: usize) -> bool {
        let peers = self.processes[reader].shared.peers.lock().expect("no panic");
        peers.get(&(owner as u64)).is_some_and(|state| state.ready)
    }

    /// The same of process 0 and any peer.
    pub(super) fn is_ready_to(&self, peer: u64) -> bool {
        let peers = self.processes[0].shared.peers.lock().expect("no panic");
        peers.get(&peer).is_some_and(|state| state.ready && state.error.is_none())
    }

    /// Whether process 0 reads the memory of a peer's GPU.
    pub(super) fn reads_device(&self, peer: u64) -> bool {
        let peers = self.processes[0].shared.peers.lock().expect("no panic");
        peers.get(&peer).is_some_and(|state| state.reads_device)
    }

    pub(super) fn pins(&self, owner: usize) -> usize {
        self.processes[owner].agent.regions().pins()
    }

    pub(super) fn statistic(&self, process: usize, statistic: Statistic) -> u64 {
        self.processes[process].shared.statistics().value(statistic)
    }

    pub(super) fn assert_nothing_left(&self) {
        for process in &self.processes {
            assert!(process.agent.reader().is_idle(), "nothing is under way");
            assert_eq!(process.agent.regions().pins(), 0, "no region is pinned");
            assert_eq!(process.arena.leased_bytes(), 0, "no memory is leased");
        }
    }
}

/// A disk whose jobs are done in the agent's thread when the agent asks what has ended, but for those of files that it
/// is told to hold: they end when they are let go.
#[derive(Clone, Default)]
pub(super) struct HeldDisk(Arc<Mutex<HeldJobs>>);

#[derive(Default)]
struct HeldJobs {
    waiting: Vec<Job>,
    held: HashSet<PathBuf>,
    /// Also what has no file: parts of mappings that are not in memory.
    holds_all: bool,
}

impl HeldJobs {
    fn holds(&self, work: &Work) -> bool {
        self.holds_all
            || match work {
                Work::Extent { output, .. } => self.held.contains(&output.path),
                Work::Map(work) => self.held.contains(&work.output.path),
                Work::Populate { .. } | Work::Unmap(_) => false,
            }
    }
}

impl HeldDisk {
    pub(super) fn hold(&self, file: &Path) {
        self.0.lock().expect("no panic").held.insert(file.to_path_buf());
    }

    pub(super) fn hold_all(&self, holds: bool) {
        self.0.lock().expect("no panic").holds_all = holds;
    }

    pub(super) fn let_go(&self) {
        self.0.lock().expect("no panic").held.clear();
    }

    pub(super) fn waiting(&self) -> usize {
        self.0.lock().expect("no panic").waiting.len()
    }
}

impl Disk for HeldDisk {
    fn submit(&mut self, job: Job) -> Result<(), Job> {
        let mut jobs = self.0.lock().expect("no panic");
        if jobs.waiting.len() >= MAX_DISK_JOBS {
            return Err(job);
        }
        jobs.waiting.push(job);
        Ok(())
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        let mut jobs = self.0.lock().expect("no panic");
        let (held, free) = std::mem::take(&mut jobs.waiting).into_iter().partition(|job| jobs.holds(&job.work));
        jobs.waiting = held;
        let free: Vec<Job> = free;
        ended.extend(free.into_iter().map(Job::run));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.files);
    }
}

pub(super) fn block(map: u64, first: u32, end: u32) -> Block {
    Block { shuffle: 1, map, first, end }
}

pub(super) fn bytes_of(completion: &Completion) -> Vec<u8> {
    let lease = completion.result.as_ref().expect("the block was read");
    lease.as_ref().map_or_else(Vec::new, |lease| lease.as_slice().to_vec())
}

pub(super) fn failure_of(completion: &Completion) -> Failure {
    *completion.result.as_ref().expect_err("the block was not read")
}
