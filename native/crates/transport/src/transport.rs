//! The agent's thread, and what other threads may ask of it.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_mem::Arena;

use crate::agent::{Agent, Command, PeerState, Shared, TransportOptions};
use crate::completions::Completion;
use crate::message::Block;
use crate::statistics::Statistic;
use crate::wire::{Waker, Wire, WireError};

/// The longest that the agent sleeps; at least this often it looks for peers that have sent nothing for too long.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// The same when blocks wait for memory: tasks that give some back wake nobody.
const MEMORY_WAIT: Duration = Duration::from_millis(1);
/// The longest that a wire may take to be made, and that the thread may take to end.
const LONGEST_START: Duration = Duration::from_secs(30);
const LONGEST_STOP: Duration = Duration::from_secs(10);
/// No thread is said to be stuck earlier than this.
const SHORTEST_STUCK: Duration = Duration::from_secs(10);
/// Turns without work before the agent sleeps when it expects something: an answer that comes at once finds it awake.
/// A process that is only read by others sleeps at once, so that being read takes next to no processor time.
const IDLE_TURNS: u32 = 64;

/// How long a thread of a transport with this timeout may be in one call of the system or of the library before it is
/// said to be stuck.
pub fn longest_step(timeout: Duration) -> Duration {
    (2 * timeout).max(SHORTEST_STUCK)
}

/// Why a fetch was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// The peer was never connected, or was disconnected.
    UnknownPeer,
    /// The peer has failed since it was connected, in this way.
    FailedPeer(String),
}

/// Why there are no completions any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The transport was stopped, or its thread has panicked (which that thread has said).
    Stopped,
    /// The agent's thread has been in one call of the system or of the library for so long: a disk or a device hangs.
    Stuck(Duration),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the transport was stopped"),
            Self::Stuck(time) => {
                let time = time.as_secs();
                write!(
                    f,
                    "the transport's thread has been stuck in one call for {time} s: a disk or device hangs, see the \
                     kernel's log"
                )
            }
        }
    }
}

/// A process's transport. Any thread may call anything.
pub struct Transport {
    shared: Arc<Shared>,
    address: Vec<u8>,
    waker: Arc<dyn Waker>,
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    watch: Mutex<Watch>,
    longest_step: Duration,
    /// Of fetches and of attempts to connect.
    numbers: AtomicU64,
}

impl Transport {
    /// Makes the wire on a new thread, the only one that uses it, and starts the agent there.
    ///
    /// # Errors
    /// The wire cannot be made, or the thread, or it takes too long; the thread then ends by itself when it can.
    pub fn start<W: Wire + 'static>(
        make: impl FnOnce() -> Result<W, WireError> + Send + 'static,
        arena: Arc<Arena>,
        options: TransportOptions,
    ) -> Result<Self, WireError> {
        let shared = Arc::new(Shared::default());
        let stopped = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let (shared_there, stopped_there) = (Arc::clone(&shared), Arc::clone(&stopped));
        let completions = Arc::clone(&shared.completions);
        let longest_step = longest_step(options.timeout);
        let agent = move || make().and_then(|wire| Agent::new(wire, arena, shared_there, &options));
        let run = move || match agent() {
            Ok(mut agent) => {
                let told = tell.send(Ok((agent.address().to_vec(), agent.wire().waker())));
                let life = AssertUnwindSafe(|| {
                    if told.is_ok() {
                        run(&mut agent, &stopped_there);
                    }
                    agent.stop();
                });
                if catch_unwind(life).is_err() {
                    // Reads under way may still write to what the agent has leased: it keeps everything.
                    completions.close();
                    std::mem::forget(agent);
                }
            }
            Err(error) => drop(tell.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("sluice-ucx".into()).spawn(run);
        let thread = thread.map_err(|e| WireError(format!("starting a thread: {e}")))?;
        let made = told.recv_timeout(LONGEST_START).map_err(|e| match e {
            mpsc::RecvTimeoutError::Disconnected => WireError("the transport's thread ended at its start".into()),
            mpsc::RecvTimeoutError::Timeout => {
                WireError(format!("the library was not ready within {} s", LONGEST_START.as_secs()))
            }
        })?;
        let (address, waker) = made?;
        let (thread, numbers) = (Mutex::new(Some(thread)), AtomicU64::new(0));
        let watch = Mutex::default();
        Ok(Self { shared, address, waker, stopped, thread, watch, longest_step, numbers })
    }

    /// What peers need to connect to here.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Makes a map output readable; one of the same map is replaced. `offsets`: where each partition begins in the
    /// file, and where the last ends. `index` is a file with the same numbers as Spark writes it (big-endian, 64 bits),
    /// from which they are read when they would take too much memory. The files are opened when a block is asked for.
    ///
    /// # Errors
    /// `offsets` is empty or descends.
    pub fn publish(
        &self,
        shuffle: u32,
        map: u64,
        path: PathBuf,
        index: Option<PathBuf>,
        offsets: Vec<u64>,
    ) -> Result<(), String> {
        let replaced = self.shared.catalog.publish(shuffle, map, path, index, offsets)?;
        replaced.into_iter().for_each(|output| self.command(Command::Withdraw(vec![output])));
        Ok(())
    }

    /// Says that the file of an output lies elsewhere now, behind the same path and with the same bytes: what is mapped
    /// of the old one is given up, when reads under way are done. How many outputs there were: 0 or 1.
    pub fn renew(&self, shuffle: u32, map: u64) -> usize {
        let replaced = self.shared.catalog.renew(shuffle, map);
        let count = usize::from(replaced.is_some());
        replaced.into_iter().for_each(|output| self.command(Command::Withdraw(vec![output])));
        count
    }

    /// Ends what `publish` began; reads under way finish. How many outputs there were: 0 or 1.
    pub fn withdraw(&self, shuffle: u32, map: u64) -> usize {
        let output = self.shared.catalog.withdraw(shuffle, map);
        let count = usize::from(output.is_some());
        output.into_iter().for_each(|output| self.command(Command::Withdraw(vec![output])));
        count
    }

    /// Withdraws all outputs of a shuffle. How many there were.
    pub fn withdraw_shuffle(&self, shuffle: u32) -> usize {
        let outputs = self.shared.catalog.withdraw_shuffle(shuffle);
        let count = outputs.len();
        if count > 0 {
            self.command(Command::Withdraw(outputs));
        }
        count
    }

    /// Makes a peer known, or tries one that has failed again.
    pub fn connect(&self, peer: u64, address: &[u8]) {
        let attempt = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        self.peers().insert(peer, PeerState { attempt, ..PeerState::default() });
        self.command(Command::Connect { peer, attempt, address: address.to_vec() });
    }

    /// Forgets a peer.
    pub fn disconnect(&self, peer: u64) {
        self.peers().remove(&peer);
        self.command(Command::Disconnect { peer });
    }

    /// Starts to read blocks of a peer. Each ends in one completion.
    ///
    /// # Errors
    /// The peer is not there: no completion follows.
    pub fn fetch(&self, peer: u64, blocks: Vec<Block>) -> Result<u64, FetchError> {
        match self.peers().get(&peer) {
            None => return Err(FetchError::UnknownPeer),
            Some(PeerState { error: Some(error), .. }) => return Err(FetchError::FailedPeer(error.clone())),
            Some(_) => {}
        }
        let request = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        self.command(Command::Fetch { request, peer, blocks });
        Ok(request)
    }

    /// Takes up to `most` completions, waiting for the first. Must be called again and again: that is how a stuck agent
    /// is noticed, after twice the timeout of the options (but at least 10 s).
    ///
    /// # Errors
    /// Nothing comes any more. What a stuck agent has leased stays with it.
    pub fn poll(&self, most: usize, longest: Duration) -> Result<Vec<Completion>, Ended> {
        let start = Instant::now();
        let taken = self.shared.completions.take(most, longest).ok_or(Ended::Stopped)?;
        let steps = self.shared.steps.load(Ordering::Relaxed);
        // This process may have been stopped meanwhile, as a whole: no call counts for more than it was to take.
        let stuck =
            self.watch.lock().unwrap_or_else(PoisonError::into_inner).stuck(steps, start.elapsed().min(longest));
        if stuck < self.longest_step {
            return Ok(taken);
        }
        // If the call returns after all, the leases of what it has read are freed.
        self.shared.completions.close();
        Err(Ended::Stuck(stuck))
    }

    /// Whether a peer may be asked at once: true when its self-test was passed since it was connected, none while it is
    /// not known yet, false when it has failed.
    pub fn peer_ready(&self, peer: u64) -> Option<bool> {
        let peers = self.peers();
        let state = peers.get(&peer)?;
        if state.error.is_some() { Some(false) } else { state.ready.then_some(true) }
    }

    /// Whether the memory of a peer's GPU can be read from here: a sample has come from there as it was. False before
    /// that is known, and where either process has no GPU.
    pub fn reads_device_of(&self, peer: u64) -> bool {
        self.peers().get(&peer).is_some_and(|state| state.error.is_none() && state.reads_device)
    }

    /// How a peer has failed since it was connected; empty when it has not.
    pub fn peer_error(&self, peer: u64) -> String {
        self.peers().get(&peer).and_then(|state| state.error.clone()).unwrap_or_default()
    }

    /// What of the options had to be changed for this machine, in words; for the log.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// By what other hosts are reached, as [`Wire::means`] says; for the log.
    pub fn means(&self) -> Vec<String> {
        self.shared.means.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// By directory of the options, in words: how files there are registered; for the log. Empty where registering pins
    /// no memory.
    pub fn registrations(&self) -> Vec<String> {
        self.shared.registrations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What this transport says of itself, in the order of [`Statistic::NAMES`].
    pub fn statistics(&self) -> [u64; Statistic::NAMES.len()] {
        self.shared.statistics().set(Statistic::QueuedCommands, self.shared.queued() as u64);
        self.shared.statistics().set(Statistic::QueuedCompletions, self.shared.completions.waiting() as u64);
        self.shared.statistics().set(Statistic::PublishedOutputs, self.shared.catalog.outputs() as u64);
        self.shared.statistics().snapshot()
    }

    /// Stops the thread and gives everything back. Fetches under way are not completed. Later calls have no effect. A
    /// thread that hangs in a library call for too long is not waited for; what it has leased stays leased.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let end = Instant::now() + LONGEST_STOP;
            while !thread.is_finished() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
            // A panic of the thread has been told on the standard error; the queue is closed in any case.
            self.shared.completions.close();
        }
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<u64, PeerState>> {
        self.shared.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self, command: Command) {
        self.shared.inbox.push(command, &*self.waker);
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the polls have seen of the agent.
#[derive(Default)]
struct Watch {
    steps: u64,
    unchanged: Duration,
}

impl Watch {
    /// How long the agent has not moved, as far as it was watched; it was for another `time` now.
    fn stuck(&mut self, steps: u64, time: Duration) -> Duration {
        if std::mem::replace(&mut self.steps, steps) == steps {
            self.unchanged += time;
        } else {
            self.unchanged = Duration::ZERO;
        }
        self.unchanged
    }
}

fn run<W: Wire>(agent: &mut Agent<W>, stopped: &AtomicBool) {
    let mut idle = 0;
    while !stopped.load(Ordering::Acquire) {
        idle = if agent.turn(Instant::now()) { 0 } else { idle + 1 };
        if idle >= IDLE_TURNS || (idle > 0 && !agent.expects()) {
            let longest = if agent.waits_for_memory() { MEMORY_WAIT } else { LONGEST_WAIT };
            agent.wire().wait(longest);
            idle = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_mem::MemoryKind;

    use super::*;
    use crate::cma::CmaWire;
    use crate::wire::{Endpoint, Event, Get, Region};

    /// A wire of which only `progress` does something.
    struct Odd(fn());

    struct NoWaker;

    impl Waker for NoWaker {
        fn wake(&self) {}
    }

    impl Wire for Odd {
        fn address(&self) -> &[u8] {
            &[]
        }

        fn open(&mut self, _: &[u8]) -> Result<crate::wire::Opened, WireError> {
            Ok(crate::wire::Opened { endpoint: Endpoint(1), number: 1 })
        }

        fn close(&mut self, _: Endpoint) {}

        fn send(&mut self, _: Endpoint, _: Vec<u8>) {}

        unsafe fn register(&mut self, _: usize, _: usize, _: MemoryKind) -> Result<(Region, Vec<u8>), WireError> {
            Err(WireError("never".into()))
        }

        fn means(&self) -> Vec<String> {
            vec!["tcp/eth0".into()]
        }

        fn failed_registrations(&self) -> u64 {
            3
        }

        fn unregister(&mut self, _: Region) {}

        unsafe fn get(&mut self, _: Endpoint, _: Get<'_>) {}

        fn progress(&mut self, _: &mut Vec<Event>) {
            (self.0)();
        }

        fn wait(&mut self, _: Duration) {}

        fn waker(&self) -> Arc<dyn Waker> {
            Arc::new(NoWaker)
        }
    }

    /// What polling comes to, and after how long.
    fn end_of(progress: fn()) -> (Ended, Duration) {
        let options = TransportOptions { timeout: Duration::from_millis(1), ..TransportOptions::default() };
        let transport = Transport::start(move || Ok(Odd(progress)), Arena::host(1 << 20), options).expect("started");
        let start = Instant::now();
        loop {
            match transport.poll(1, Duration::from_millis(100)) {
                Ok(taken) => assert!(taken.is_empty() && start.elapsed() < Duration::from_secs(60)),
                Err(ended) => return (ended, start.elapsed()),
            }
        }
    }

    #[test]
    fn a_panic_of_the_agents_thread_ends_every_wait() {
        let (ended, _) = end_of(|| panic!("on purpose"));
        assert_eq!(ended, Ended::Stopped);
    }

    #[test]
    fn an_agent_without_a_turn_for_the_timeout_is_stuck() {
        let (ended, time) = end_of(|| std::thread::sleep(Duration::from_secs(13)));
        assert!(matches!(ended, Ended::Stuck(stuck) if stuck >= SHORTEST_STUCK && stuck <= time), "{ended:?}");
    }

    #[test]
    fn the_wires_failed_registrations_are_counted() {
        let make = || Ok(CmaWire::new(Odd(|| {}), false, Arc::default()));
        let transport = Transport::start(make, Arena::host(1 << 20), TransportOptions::default()).expect("started");
        assert_eq!(transport.means(), ["tcp/eth0"], "what the wire below says");
        let end = Instant::now() + Duration::from_secs(10);
        while transport.statistics()[Statistic::FailedRegistrations as usize] != 3 {
            assert!(Instant::now() < end, "{:?}", transport.statistics());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn stuck_time_adds_up_over_checks_and_a_turn_resets_it() {
        let (mut watch, step) = (Watch::default(), Duration::from_millis(100));
        assert_eq!(watch.stuck(0, step), step);
        assert_eq!(watch.stuck(0, step), 2 * step);
        assert_eq!(watch.stuck(1, step), Duration::ZERO);
        assert_eq!(watch.stuck(1, step), step);
    }
}
