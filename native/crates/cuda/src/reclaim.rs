//! The driver's calls that may wait for work of the device, made by a thread that nobody else waits for without limit.
//!
//! Freeing memory, ending a registration or the context and unloading code let the driver wait for the work of the
//! device. If that work never ends, the call never returns, and would hold up whoever drops the memory: a task that was
//! killed because it waited for the same work. So one thread for each device makes these calls. Who gives something
//! back waits for the thread up to a limit; then it goes on, and what it gave back is counted as left.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Calls that may wait for the thread while it makes another.
const QUEUED: usize = 4096;
/// Longer than the work of a device that does its work takes to end, as a rule.
const LIMIT: Duration = Duration::from_secs(10);

thread_local!(static RECLAIMS: Cell<bool> = const { Cell::new(false) });

/// What happens to a call that is not begun when its caller stops waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// It is made all the same, later: nobody can use again what it gives back before that.
    Made,
    /// It is not made: its address may mean something else by then.
    Dropped,
}

struct Job {
    call: Box<dyn FnOnce() -> bool + Send>,
    /// Whoever sets it first decides: the thread, which makes the call then, or the caller, who drops it.
    taken: Arc<AtomicBool>,
    done: SyncSender<bool>,
}

/// One per device and process.
#[derive(Debug)]
pub(crate) struct Reclaimer {
    jobs: Mutex<Option<SyncSender<Job>>>,
    /// A caller has waited up to the limit, and no call has ended since: later callers do not wait.
    stuck: Arc<AtomicBool>,
    limit_ms: AtomicU64,
}

impl Default for Reclaimer {
    fn default() -> Self {
        Self { jobs: Mutex::default(), stuck: Arc::default(), limit_ms: AtomicU64::new(LIMIT.as_millis() as u64) }
    }
}

impl Reclaimer {
    pub(crate) fn set_limit(&self, limit: Duration) {
        self.limit_ms.store(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Lets the thread make a call, which answers whether it worked. False also if it has not ended within the limit.
    pub(crate) fn make(&self, late: Late, call: impl FnOnce() -> bool + Send + 'static) -> bool {
        // What a call drops may give something back itself.
        if RECLAIMS.get() {
            return call();
        }
        let (done, answer) = mpsc::sync_channel(1);
        let taken = Arc::new(AtomicBool::new(false));
        let stuck = self.stuck.load(Ordering::Relaxed);
        if stuck && late == Late::Dropped {
            return false;
        }
        if !self.send(Job { call: Box::new(call), taken: Arc::clone(&taken), done }) || stuck {
            return false;
        }
        let limit = Duration::from_millis(self.limit_ms.load(Ordering::Relaxed));
        if let Ok(worked) = answer.recv_timeout(limit) {
            return worked;
        }
        self.stuck.store(true, Ordering::Relaxed);
        if late == Late::Dropped {
            taken.store(true, Ordering::SeqCst);
        }
        // It may have ended just now.
        answer.try_recv().unwrap_or(false)
    }

    /// False if there is no thread, or the queue is full.
    fn send(&self, job: Job) -> bool {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.is_none() {
            let (sender, receiver) = mpsc::sync_channel(QUEUED);
            let stuck = Arc::clone(&self.stuck);
            let thread = std::thread::Builder::new().name("sluice-gpu-free".into());
            if thread.spawn(move || run(&receiver, &stuck)).is_err() {
                return false;
            }
            *jobs = Some(sender);
        }
        jobs.as_ref().is_some_and(|sender| sender.try_send(job).is_ok())
    }
}

fn run(jobs: &Receiver<Job>, stuck: &AtomicBool) {
    RECLAIMS.set(true);
    while let Ok(Job { call, taken, done }) = jobs.recv() {
        if !taken.swap(true, Ordering::SeqCst) {
            let worked = call();
            stuck.store(false, Ordering::Relaxed);
            // The caller may have gone on.
            let _ = done.try_send(worked);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_call_that_does_not_end_holds_up_nobody() {
        let reclaimer = Reclaimer::default();
        reclaimer.set_limit(Duration::from_secs(600));
        assert!(reclaimer.make(Late::Made, || true) && !reclaimer.make(Late::Made, || false), "its answer");
        reclaimer.set_limit(Duration::from_millis(20));
        let (release, released) = mpsc::channel::<()>();
        assert!(!reclaimer.make(Late::Made, move || released.recv().is_ok()), "does not end");
        let (dropped, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mark = |flag: &Arc<AtomicBool>| {
            let flag = Arc::clone(flag);
            move || !flag.swap(true, Ordering::SeqCst)
        };
        let began = Instant::now();
        reclaimer.set_limit(Duration::from_secs(600));
        assert!(!reclaimer.make(Late::Dropped, mark(&dropped)) && !reclaimer.make(Late::Made, mark(&made)));
        assert!(began.elapsed() < Duration::from_secs(300), "only the first waits");
        release.send(()).expect("waited for");
        while reclaimer.stuck.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(reclaimer.make(Late::Dropped, || true), "behind the others");
        assert!(!dropped.load(Ordering::SeqCst) && made.load(Ordering::SeqCst));
    }

    #[test]
    fn a_call_that_gives_back_itself_does_not_wait_for_its_own_thread() {
        let reclaimer = Arc::new(Reclaimer::default());
        let inner = Arc::clone(&reclaimer);
        assert!(reclaimer.make(Late::Made, move || inner.make(Late::Dropped, || true)));
    }
}
