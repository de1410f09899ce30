//! The agent's thread, and what other threads may ask of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_mem::Arena;

use crate::agent::{Agent, Command, Options, PeerState, Shared};
use crate::completions::Completion;
use crate::message::Block;
use crate::wire::{Waker, Wire, WireError};

/// The longest that the agent sleeps: silent peers are looked for as often.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// The longest that a wire may take to be made, and that the thread may take to end.
const LONGEST_START: Duration = Duration::from_secs(30);
const LONGEST_STOP: Duration = Duration::from_secs(10);
/// Turns without work before the agent sleeps: an answer that comes at once finds it awake.
const IDLE_TURNS: u32 = 64;

/// Why a fetch was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// The peer was never connected, or was disconnected.
    UnknownPeer,
    /// The peer has failed since it was connected, in this way.
    FailedPeer(String),
}

/// A process's transport. Any thread may call anything.
pub struct Transport {
    shared: Arc<Shared>,
    address: Vec<u8>,
    waker: Arc<dyn Waker>,
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
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
        options: Options,
    ) -> Result<Self, WireError> {
        let shared = Arc::new(Shared::default());
        let stopped = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let (shared_there, stopped_there) = (Arc::clone(&shared), Arc::clone(&stopped));
        let run = move || match make() {
            Ok(wire) => {
                let mut agent = Agent::new(wire, arena, shared_there, &options);
                let told = tell.send(Ok((agent.address().to_vec(), agent.wire().waker())));
                if told.is_ok() {
                    run(&mut agent, &stopped_there);
                }
                agent.stop();
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
        Ok(Self { shared, address, waker, stopped, thread, numbers })
    }

    /// What peers need to connect to here.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Makes a map output readable; one of the same map is replaced. `offsets`: where each partition begins in the file,
    /// and where the last ends. The file is opened when a block of it is asked for.
    ///
    /// # Errors
    /// `offsets` is empty or descends.
    pub fn publish(&self, shuffle: u32, map: u64, path: PathBuf, offsets: Vec<u64>) -> Result<(), String> {
        let replaced = self.shared.catalog.publish(shuffle, map, path, offsets)?;
        replaced.into_iter().for_each(|output| self.command(Command::Withdraw(vec![output])));
        Ok(())
    }

    /// Says that the file of an output lies elsewhere now, behind the same path and with the same bytes: what is mapped of
    /// the old one is given up, when reads under way are done. How many outputs there were: 0 or 1.
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
        self.peers().insert(peer, PeerState { attempt, error: None });
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

    /// Takes up to `most` completions, waiting for the first. `None` when the transport was stopped.
    pub fn poll(&self, most: usize, longest: Duration) -> Option<Vec<Completion>> {
        self.shared.completions.take(most, longest)
    }

    /// How a peer has failed since it was connected; empty when it has not.
    pub fn peer_error(&self, peer: u64) -> String {
        self.peers().get(&peer).and_then(|state| state.error.clone()).unwrap_or_default()
    }

    /// Stops the thread and gives everything back. Fetches under way are not completed. Later calls have no effect. A thread
    /// that a library call holds for too long is left to itself, with what it has.
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
        self.shared.commands.lock().unwrap_or_else(PoisonError::into_inner).push(command);
        self.waker.wake();
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run<W: Wire>(agent: &mut Agent<W>, stopped: &AtomicBool) {
    let mut idle = 0;
    while !stopped.load(Ordering::Acquire) {
        idle = if agent.turn(Instant::now()) { 0 } else { idle + 1 };
        if idle >= IDLE_TURNS {
            agent.wire().wait(LONGEST_WAIT);
            idle = 0;
        }
    }
}
