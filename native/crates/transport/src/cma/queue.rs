//! Gets that wait, and the threads that read them: the wire's own, and a helper that is woken when there is more than
//! one call's worth, and sleeps when nothing waits.
//!
//! One thread copies some 10 GB/s at best, and runs the protocol as well. The helper only reads: everything else of the
//! wire is done by the wire's thread, to which the helper returns the outcome of each get.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cma::job::{Ended, Queued, Reading};
use crate::wire::{Endpoint, Waker, WireError};

/// Bytes after which a call takes no other get. What a thread reads and what has just been delivered then fit into a
/// core's cache together: on one thread, blocks of 64 KiB took 9.5 us, 11.2 with 1 MiB, 13 with 2 MiB (medians on a
/// busy machine).
pub(crate) const CALL_BYTES: usize = 512 << 10;
/// Gets that one system call serves at most. Each is a piece and may need a validity word; the kernel takes 1024
/// pieces.
pub(crate) const CALL_GETS: usize = 64;

/// Of the time between two checks of the helper at most this much is counted, because the whole process may have been
/// stopped in between.
const LONGEST_LOOK: Duration = Duration::from_millis(100);

/// Of one wire, whose thread calls everything here.
pub(crate) struct Queue {
    shared: Arc<Shared>,
    helper: Option<JoinHandle<()>>,
    /// The longest that the helper may be in one system call: else a disk or a device hangs behind the memory.
    patience: Duration,
    watch: Watch,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something for the helper, or it is to end.
    called: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Queued>,
    waiting_bytes: usize,
    /// What the helper has read.
    ended: Vec<Ended>,
    /// Whose gets the helper is reading.
    helping: Option<Endpoint>,
    /// System calls that the helper has begun.
    calls: u64,
    /// Whether the helper sleeps.
    idle: bool,
    /// Whether the wire's thread sleeps and is to be woken by what the helper has read.
    wake: bool,
    closed: bool,
}

/// What has been seen of the helper's call.
#[derive(Default)]
struct Watch {
    call: u64,
    looked: Option<Instant>,
    time: Duration,
    told: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What the next call reads: gets of one endpoint, at least one if any waits, up to `room` bytes.
    fn take(&mut self, room: usize) -> Vec<Queued> {
        let (mut taken, mut bytes) = (Vec::new(), 0usize);
        while let Some(get) = self.waiting.front() {
            let with = bytes.saturating_add(get.bytes);
            let other = taken.first().is_some_and(|first: &Queued| first.endpoint != get.endpoint);
            if other || taken.len() == CALL_GETS || (!taken.is_empty() && with > room) {
                break;
            }
            bytes = with;
            taken.extend(self.waiting.pop_front());
        }
        self.waiting_bytes -= bytes;
        taken
    }
}

impl Queue {
    /// Without a helper.
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default(), helper: None, patience: Duration::MAX, watch: Watch::default() }
    }

    /// Starts the helper, which wakes the wire's thread by `waker`.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start_helper(&mut self, waker: Arc<dyn Waker>, patience: Duration) -> Result<(), WireError> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("sluice-cma".into()).spawn(move || help(&shared, &*waker));
        let no_thread = |e| {
            WireError(format!(
                "starting a second thread that reads: {e}; see the limits of processes (ulimit -u, pids)"
            ))
        };
        (self.helper, self.patience) = (Some(thread.map_err(no_thread)?), patience);
        Ok(())
    }

    pub(crate) fn has_helper(&self) -> bool {
        self.helper.is_some()
    }

    /// Whether the helper waits to be called.
    #[cfg(test)]
    pub(crate) fn helper_sleeps(&self) -> bool {
        self.shared.lock().idle
    }

    /// Another get, read after all before it or at the same time.
    pub(crate) fn push(&self, get: Queued) {
        let mut state = self.shared.lock();
        state.waiting_bytes += get.bytes;
        state.waiting.push_back(get);
        // One get is one call, however long: the caller, the wire's thread, makes it itself.
        if state.idle && state.waiting.len() > 1 && state.waiting_bytes > CALL_BYTES {
            state.idle = false;
            drop(state);
            self.shared.called.notify_one();
        }
    }

    /// Takes the gets of the next call, up to `room` bytes but at least one; none when none waits.
    pub(crate) fn take(&self, room: usize) -> Vec<Queued> {
        self.shared.lock().take(room)
    }

    /// Takes all gets of an endpoint that wait.
    pub(crate) fn take_all(&self, endpoint: Endpoint) -> Vec<Queued> {
        let mut state = self.shared.lock();
        let (taken, left) =
            std::mem::take(&mut state.waiting).into_iter().partition(|get: &Queued| get.endpoint == endpoint);
        let taken: VecDeque<Queued> = taken;
        state.waiting = left;
        state.waiting_bytes -= taken.iter().map(|get| get.bytes).sum::<usize>();
        taken.into()
    }

    /// Takes what the helper has read.
    pub(crate) fn take_ended(&self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.shared.lock().ended);
    }

    /// Whether there is nothing to do here; if so, the helper wakes the wire's thread when there is.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.shared.lock();
        let nothing = state.waiting.is_empty() && state.ended.is_empty();
        state.wake = nothing && state.helping.is_some();
        nothing
    }

    /// Looks at the helper. If it has just turned out to be stuck in a call: the endpoint that it reads from. Reported
    /// once for a call.
    pub(crate) fn stuck(&mut self) -> Option<Endpoint> {
        let state = self.shared.lock();
        let (call, endpoint) = (state.calls, state.helping?);
        drop(state);
        let (watch, now) = (&mut self.watch, Instant::now());
        if watch.call != call {
            *watch = Watch { call, ..Watch::default() };
        }
        let since = watch.looked.replace(now).map_or(Duration::ZERO, |looked| now.saturating_duration_since(looked));
        watch.time += since.min(LONGEST_LOOK);
        (watch.time > self.patience && !std::mem::replace(&mut watch.told, true)).then_some(endpoint)
    }
}

impl Drop for Queue {
    /// A helper that is in a call is not waited for: the gets' end has not been reported, so their memory stays.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let busy = state.helping.is_some();
        drop(state);
        self.shared.called.notify_one();
        if let Some(helper) = self.helper.take().filter(|_| !busy) {
            // Its panic has been printed to the standard error.
            let _ = helper.join();
        }
    }
}

/// The helper's thread.
fn help(shared: &Shared, waker: &dyn Waker) {
    let (mut reading, mut ended) = (Reading::default(), Vec::new());
    let mut state = shared.lock();
    while !state.closed {
        let gets = state.take(CALL_BYTES);
        let Some(first) = gets.first() else {
            state.idle = true;
            state = shared.called.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.helping = Some(first.endpoint);
        drop(state);
        reading.read(gets, || shared.lock().calls += 1, &mut ended);
        state = shared.lock();
        state.ended.append(&mut ended);
        state.helping = None;
        if std::mem::take(&mut state.wake) {
            drop(state);
            waker.wake();
            state = shared.lock();
        }
    }
}
