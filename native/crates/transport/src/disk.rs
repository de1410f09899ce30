//! What may wait for a disk is done here and not on the agent's thread: opening and mapping a file, reading an index
//! file, bringing pages into memory. A few threads take jobs from one bounded queue and wake the agent when one has
//! ended. A disk that does not answer holds these threads only; the agent stops waiting for them after a while
//! (`locator.rs`), and when all of them are held, jobs are refused at once.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::catalog::PublishedOutput;
use crate::filesystems::Verdicts;
use crate::mapped_budget::Reservation;
use crate::mapping::Mapping;
use crate::message::Block;
use crate::wire::{Waker, WireError};

/// Threads that wait for disks. They sleep while everything that is asked for is in memory.
pub(crate) const DISK_THREADS: usize = 2;
/// Jobs that may wait for a thread, some 200 bytes each. The first questions after a map stage need one for each file,
/// and such a job takes some 20 microseconds.
pub(crate) const MAX_DISK_JOBS: usize = 65_536;
/// How long an idle thread sleeps before it looks again whether the queue was closed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Something to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// Read from Spark's index file where a block lies.
    Extent { output: Arc<PublishedOutput>, block: Block },
    /// Map a part of a file, and bring what is needed of it into memory.
    Map(MapWork),
    /// Bring a part of a mapping into memory.
    Populate { mapping: Arc<Mapping>, part: Range<usize> },
}

#[derive(Debug)]
pub(crate) struct MapWork {
    pub(crate) output: Arc<PublishedOutput>,
    /// What to map of the file.
    pub(crate) part: Range<u64>,
    /// What of that part is needed in memory.
    pub(crate) needed: Range<usize>,
    /// How files of each filesystem are mapped.
    pub(crate) verdicts: Verdicts,
    pub(crate) reservation: Reservation,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Extent(Option<(u64, u64)>),
    Mapped(io::Result<Mapping>),
    Populated(io::Result<()>),
}

/// By the number that the agent has given it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) number: u64,
    pub(crate) work: Work,
}

/// A job that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
}

impl Job {
    /// Does it, however long that takes.
    pub(crate) fn run(self) -> Ended {
        let outcome = match self.work {
            Work::Extent { output, block } => Outcome::Extent(output.extent_in_file(&block)),
            Work::Map(work) => Outcome::Mapped(work.run()),
            Work::Populate { mapping, part } => Outcome::Populated(mapping.populate(&part)),
        };
        Ended { number: self.number, outcome }
    }
}

impl MapWork {
    fn run(self) -> io::Result<Mapping> {
        let Self { output, part, needed, verdicts, reservation } = self;
        let verdict = |filesystem| verdicts.of(filesystem);
        let mapping = Mapping::of(&output.path, output.bytes(), part, verdict, reservation)?;
        mapping.populate(&needed)?;
        Ok(mapping)
    }
}

/// Runs jobs. Only the agent's thread calls it; nothing here waits.
pub(crate) trait Disk: Send {
    /// Takes a job, unless too many wait already, or all threads are stuck.
    fn submit(&mut self, job: Job) -> bool;

    /// Adds the jobs that have ended since.
    fn take_ended(&mut self, ended: &mut Vec<Ended>);
}

/// Threads that do jobs.
pub(crate) struct DiskThreads {
    queue: Arc<Queue>,
}

struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    most: usize,
    /// A thread that has been in one job for longer is stuck: a disk hangs.
    patience: Duration,
    waker: Arc<dyn Waker>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// By thread: since when it has been in its job.
    running: Vec<Option<Instant>>,
    ended: Vec<Ended>,
    closed: bool,
}

impl DiskThreads {
    /// Starts `threads` of them, which wake the agent by `waker`; at most `most` jobs wait. While each has been in one
    /// job for longer than `patience`, no job is taken.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(
        threads: usize,
        most: usize,
        patience: Duration,
        waker: Arc<dyn Waker>,
    ) -> Result<Self, WireError> {
        let state = Mutex::new(State { running: vec![None; threads], ..State::default() });
        let queue = Arc::new(Queue { state, arrived: Condvar::new(), most, patience, waker });
        // Made first, so that the threads before one that cannot be started end again.
        let disk = Self { queue };
        for number in 0..threads {
            let queue = Arc::clone(&disk.queue);
            let thread = std::thread::Builder::new().name(format!("sluice-disk-{number}"));
            thread
                .spawn(move || queue.work(number))
                .map_err(|e| WireError(format!("starting a thread for disks: {e}")))?;
        }
        Ok(disk)
    }
}

impl Disk for DiskThreads {
    fn submit(&mut self, job: Job) -> bool {
        let mut state = self.queue.lock();
        let is_stuck = |since: &Option<Instant>| since.is_some_and(|since| since.elapsed() > self.queue.patience);
        if state.jobs.len() >= self.queue.most || state.running.iter().all(is_stuck) {
            return false;
        }
        state.jobs.push_back(job);
        drop(state);
        self.queue.arrived.notify_one();
        true
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.queue.lock().ended);
    }
}

impl Drop for DiskThreads {
    /// The threads end when they have done their present job. One that hangs in a disk access is not waited for.
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        drop(jobs);
        self.queue.arrived.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Consistent between any two statements below, so a poisoned lock is still good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, thread: usize) {
        while let Some(job) = self.next(thread) {
            let ended = job.run();
            let mut state = self.lock();
            state.running[thread] = None;
            if state.closed {
                return;
            }
            let wakes = state.ended.is_empty();
            state.ended.push(ended);
            drop(state);
            if wakes {
                self.waker.wake();
            }
        }
    }

    /// The next job; `None` at the end.
    fn next(&self, thread: usize) -> Option<Job> {
        let mut state = self.lock();
        while !state.closed {
            if let Some(job) = state.jobs.pop_front() {
                state.running[thread] = Some(Instant::now());
                return Some(job);
            }
            state = self.arrived.wait_timeout(state, LONGEST_SLEEP).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}
