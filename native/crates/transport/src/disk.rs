//! What may wait for a disk is done here and not on the agent's thread: opening and mapping a file, reading an index
//! file, bringing pages into memory, unmapping what deleted files had mapped. A few threads take jobs from one bounded
//! queue and wake the agent when one has ended. A disk that does not answer holds these threads only; the agent stops
//! waiting for them after a while (`locator.rs`), and when all of them are held, jobs are refused at once.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::catalog::PublishedOutput;
use crate::filesystems::Verdicts;
use crate::inbox::Inbox;
use crate::mapped_budget::Reservation;
use crate::mapping::{Discarded, Mapping};
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
    Map(Box<MapWork>),
    /// Bring a part of a mapping into memory.
    Populate { mapping: Arc<Mapping>, part: Range<usize> },
    /// Unmap what is not needed any more. Of a file that is deleted already, the kernel frees pages and disk blocks
    /// then, for which it may wait for the disk.
    Unmap(Discarded),
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
    /// What has made room for it, and is unmapped first.
    pub(crate) evicted: Vec<Arc<Mapping>>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Extent(Option<(u64, u64)>),
    Mapped(io::Result<Mapping>),
    Populated(io::Result<()>),
    Unmapped,
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
            Work::Unmap(discarded) => {
                drop(discarded);
                Outcome::Unmapped
            }
        };
        Ended { number: self.number, outcome }
    }
}

impl MapWork {
    fn run(self) -> io::Result<Mapping> {
        let Self { output, part, needed, verdicts, reservation, evicted } = self;
        drop(evicted);
        let verdict = |filesystem| verdicts.of(filesystem);
        let mapping = Mapping::of(&output.path, output.bytes(), part, verdict, reservation)?;
        mapping.populate(&needed)?;
        Ok(mapping)
    }
}

/// Runs jobs. Only the agent's thread calls it; nothing here waits.
pub(crate) trait Disk: Send {
    /// Takes a job.
    ///
    /// # Errors
    /// Too many wait already, or all threads are stuck: the job.
    fn submit(&mut self, job: Job) -> Result<(), Job>;

    /// Adds the jobs that have ended since.
    fn take_ended(&mut self, ended: &mut Vec<Ended>);
}

/// Threads that do jobs. The agent's thread takes no lock that one of them may hold: jobs go to them and come back by
/// queues without locks, and only the threads use the lock of the jobs that they have taken. To wake one that sleeps is
/// a call of the system (futex), which does not wait.
pub(crate) struct DiskThreads {
    queue: Arc<Queue>,
    threads: Vec<Thread>,
}

struct Queue {
    /// What the agent has appended.
    arrived: Inbox<Job>,
    /// What a thread has taken from there and none has begun. Only the threads lock it.
    taken: Mutex<VecDeque<Job>>,
    /// Jobs that no thread has begun.
    waiting: AtomicUsize,
    most: usize,
    ended: Inbox<Ended>,
    /// By thread: since when it has been in its job, in nanoseconds after `start`, and 1 more; 0: in none.
    running: Vec<AtomicU64>,
    start: Instant,
    /// A thread that has been in one job for longer is stuck: a disk hangs.
    patience: Duration,
    closed: AtomicBool,
    waker: Arc<dyn Waker>,
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
        let running = (0..threads).map(|_| AtomicU64::new(0)).collect();
        let (arrived, taken, waiting, ended, closed) = Default::default();
        let start = Instant::now();
        let queue = Arc::new(Queue { arrived, taken, waiting, most, ended, running, start, patience, closed, waker });
        // Made first, so that the threads before one that cannot be started end again.
        let mut disk = Self { queue, threads: Vec::new() };
        for number in 0..threads {
            let queue = Arc::clone(&disk.queue);
            let thread = std::thread::Builder::new().name(format!("sluice-disk-{number}"));
            let thread = thread
                .spawn(move || queue.work(number))
                .map_err(|e| WireError(format!("starting a thread for disks: {e}")))?;
            disk.threads.push(thread.thread().clone());
        }
        Ok(disk)
    }
}

impl Disk for DiskThreads {
    fn submit(&mut self, job: Job) -> Result<(), Job> {
        let queue = &self.queue;
        if queue.waiting.load(Ordering::Relaxed) >= queue.most || queue.is_stuck() {
            return Err(job);
        }
        queue.waiting.fetch_add(1, Ordering::Relaxed);
        queue.arrived.append(job);
        // All of them: one may be stuck. A thread that is unparked before it parks does not sleep.
        self.threads.iter().for_each(Thread::unpark);
        Ok(())
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.queue.ended.take());
    }
}

impl Drop for DiskThreads {
    /// The threads end when they have done their present job, and drop those that none has begun. One that hangs in a
    /// disk access is not waited for.
    fn drop(&mut self) {
        self.queue.closed.store(true, Ordering::Release);
        self.threads.iter().for_each(Thread::unpark);
    }
}

impl Queue {
    fn taken(&self) -> MutexGuard<'_, VecDeque<Job>> {
        // Consistent between any two statements below, so a poisoned lock is still good.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
    }

    /// Whether each thread has been in one job for too long.
    fn is_stuck(&self) -> bool {
        let (now, patience) = (self.now(), u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX));
        let since = |running: &AtomicU64| running.load(Ordering::Relaxed).checked_sub(1);
        self.running.iter().all(|running| since(running).is_some_and(|since| now.saturating_sub(since) > patience))
    }

    fn work(&self, thread: usize) {
        while !self.closed.load(Ordering::Acquire) {
            let Some(job) = self.next() else {
                std::thread::park_timeout(LONGEST_SLEEP);
                continue;
            };
            self.running[thread].store(self.now() + 1, Ordering::Relaxed);
            let ended = job.run();
            self.running[thread].store(0, Ordering::Relaxed);
            if !self.closed.load(Ordering::Acquire) {
                self.ended.push(ended, &*self.waker);
            }
        }
        drop(self.arrived.take());
        drop(std::mem::take(&mut *self.taken()));
    }

    fn next(&self) -> Option<Job> {
        let mut taken = self.taken();
        if taken.is_empty() {
            taken.extend(self.arrived.take());
        }
        let job = taken.pop_front()?;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(job)
    }
}
