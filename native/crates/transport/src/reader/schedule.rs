//! Which gets are begun when: of each connection as many as may be under way, in the order in which they were planned,
//! as far as there is memory for what they bring.
//!
//! **Memory.** A block's memory is leased when its first get begins. Where there is none, the connection waits until
//! memory is given back: its owner is asked for nothing meanwhile, and no block is lost. Connections that wait are
//! served in turn. So that slow peers do not keep all memory while their reads are under way, a connection that has
//! memory gets more only as long as it has less than what is free ([`Batches::begin_get`]): with n peers that want as
//! much as they can get, each has 1/(n + 1), and as much is free for a peer that comes. (This is how switches share
//! packet buffers: A. Choudhury and E. Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
//! 1998.)
//!
//! What has waited too long is given up: its blocks are fetched in another way.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::batches::{Batches, Begun};
use super::session::{PeerNumber, SessionId};
use crate::plan::Planned;
use crate::wire::{Endpoint, Get, Wire};

/// Gets under way at once over one connection, within what the wire says of their bytes.
const MAX_GETS: usize = 32;
/// Connections that wait for memory of which one turn looks whether they can go on.
const WAITING_A_TURN: usize = 8;

/// The gets of one connection.
struct Queue {
    peer: PeerNumber,
    endpoint: Endpoint,
    planned: VecDeque<Planned>,
    gets: usize,
    bytes: usize,
    /// Bytes of the blocks that have memory and are being read.
    held: usize,
    /// Whether it stands among the runnable ones.
    runnable: bool,
    /// Since when it stands among those that wait for memory.
    waiting: Option<Instant>,
}

/// A get under way.
pub(super) struct Started {
    pub(super) session: SessionId,
    pub(super) batch: u64,
    pub(super) part: usize,
    pub(super) bytes: usize,
}

/// What waiting for memory has cost since the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Times that a connection had to wait.
    pub waits: u64,
    /// How long all of them have waited together.
    pub time: Duration,
    /// Blocks that were given up after a wait.
    pub given_up: u64,
}

/// What became of a connection's gets.
#[derive(PartialEq, Eq)]
enum Filled {
    /// As many are under way as may be, or none is left.
    Yes,
    /// A block was given memory, and there is more to begin.
    Partly,
    /// It has more than its share of memory.
    OverShare,
    /// There is no memory for its next block.
    NoMemory,
}

/// The gets of all connections. A connection is looked at when something was planned for it or one of its gets has
/// ended, so a turn costs nothing for those that have nothing to do.
pub(super) struct Schedule {
    queues: HashMap<SessionId, Queue>,
    /// Connections with planned gets that may have room for them; each once.
    runnable: VecDeque<SessionId>,
    /// Connections that wait for memory, each once; some may have been closed.
    waiting: VecDeque<SessionId>,
    /// By token.
    under_way: HashMap<u64, Started>,
    /// How long a connection waits for memory.
    patience: Duration,
    /// Whether there was no memory for a connection that has none, when that was last looked at: no other connection
    /// is to get some before it.
    is_short: bool,
    waits: Waits,
}

impl Schedule {
    pub(super) fn new(patience: Duration) -> Self {
        let (queues, runnable, waiting, under_way, is_short, waits) = Default::default();
        Self { queues, runnable, waiting, under_way, patience, is_short, waits }
    }

    pub(super) fn open(&mut self, session: SessionId, peer: PeerNumber, endpoint: Endpoint) {
        let planned = VecDeque::new();
        let queue = Queue { peer, endpoint, planned, gets: 0, bytes: 0, held: 0, runnable: false, waiting: None };
        self.queues.insert(session, queue);
    }

    /// Begins no more gets of this connection. Those under way go on.
    pub(super) fn close(&mut self, session: SessionId) {
        self.queues.remove(&session);
    }

    /// Lets the caller append what is to be read.
    pub(super) fn plan<T>(
        &mut self,
        session: SessionId,
        append: impl FnOnce(&mut VecDeque<Planned>) -> T,
    ) -> Option<T> {
        let queue = self.queues.get_mut(&session)?;
        let appended = append(&mut queue.planned);
        self.wake(session);
        Some(appended)
    }

    /// The connection is looked at in this turn if it has planned gets. One that waits for memory keeps its place.
    fn wake(&mut self, session: SessionId) {
        let Some(queue) = self.queues.get_mut(&session).filter(|queue| !queue.planned.is_empty()) else { return };
        if queue.waiting.is_none() && !std::mem::replace(&mut queue.runnable, true) {
            self.runnable.push_back(session);
        }
    }

    /// Begins as many gets as may be under way; the batches of which a block has ended, because there is no memory for
    /// it, or had ended before. `token` is the last one given; it is counted on.
    pub(super) fn begin<W: Wire>(
        &mut self,
        wire: &mut W,
        batches: &mut Batches,
        token: &mut u64,
        now: Instant,
    ) -> Vec<u64> {
        let mut over = Vec::new();
        self.resume(wire, batches, token, now, &mut over);
        while let Some(session) = self.runnable.pop_front() {
            let Some(queue) = self.queues.get_mut(&session) else { continue };
            queue.runnable = false;
            let may_lease = !self.is_short;
            let filled = self.fill(session, may_lease, wire, batches, token, &mut over);
            self.is_short |= filled == Filled::NoMemory;
            match filled {
                Filled::Yes => {}
                Filled::Partly => self.wake(session),
                Filled::OverShare | Filled::NoMemory => self.wait(session, now),
            }
        }
        over
    }

    /// Goes on with connections that wait for memory, in their order, until there is none or enough were looked at.
    fn resume<W: Wire>(
        &mut self,
        wire: &mut W,
        batches: &mut Batches,
        token: &mut u64,
        now: Instant,
        over: &mut Vec<u64>,
    ) {
        self.is_short = false;
        for _ in 0..self.waiting.len().min(WAITING_A_TURN) {
            let Some(session) = self.waiting.pop_front() else { break };
            let Some(since) = self.queues.get(&session).and_then(|queue| queue.waiting) else { continue };
            match self.fill(session, true, wire, batches, token, over) {
                Filled::Yes | Filled::Partly => self.end_wait(session, now),
                Filled::OverShare => self.waiting.push_back(session),
                Filled::NoMemory if now.saturating_duration_since(since) > self.patience => {
                    self.end_wait(session, now);
                    self.give_up(session, batches, over);
                }
                Filled::NoMemory => {
                    self.waiting.push_front(session);
                    self.is_short = true;
                    break;
                }
            }
        }
    }

    fn wait(&mut self, session: SessionId, now: Instant) {
        let Some(queue) = self.queues.get_mut(&session) else { return };
        queue.waiting = Some(now);
        self.waits.waits += 1;
        self.waiting.push_back(session);
    }

    fn end_wait(&mut self, session: SessionId, now: Instant) {
        let since = self.queues.get_mut(&session).and_then(|queue| queue.waiting.take());
        self.waits.time += since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.wake(session);
    }

    /// The blocks of a connection that have no memory end without. Those that have some go on.
    fn give_up(&mut self, session: SessionId, batches: &mut Batches, over: &mut Vec<u64>) {
        let Some(queue) = self.queues.get_mut(&session) else { return };
        let before = over.len();
        queue.planned.retain(|planned| {
            let is_given_up = batches.give_up_waiting(planned.batch, planned.part);
            if is_given_up {
                over.push(planned.batch);
            }
            !is_given_up
        });
        self.waits.given_up += (over.len() - before) as u64;
    }

    /// Begins gets of one connection: those of blocks that have memory and, if it `may_lease`, of one more. So
    /// connections that are looked at together get memory in turn, a block at a time.
    fn fill<W: Wire>(
        &mut self,
        session: SessionId,
        may_lease: bool,
        wire: &mut W,
        batches: &mut Batches,
        token: &mut u64,
        over: &mut Vec<u64>,
    ) -> Filled {
        let Some(queue) = self.queues.get_mut(&session) else { return Filled::Yes };
        let (most_bytes, mut has_leased) = (wire.max_bytes_in_flight(queue.endpoint), false);
        while queue.gets < MAX_GETS && queue.bytes < most_bytes {
            let Some(planned) = queue.planned.front_mut() else { break };
            let (batch, part) = (planned.batch, planned.part);
            if has_leased && !batches.has_memory(batch, part) {
                return Filled::Partly;
            }
            let memory = match batches.begin_get(batch, part, may_lease, queue.held) {
                Begun::Memory { local, leased } => {
                    queue.held += leased;
                    has_leased |= leased > 0;
                    local
                }
                Begun::Ended => {
                    queue.planned.pop_front();
                    over.push(batch);
                    continue;
                }
                Begun::OverShare => return Filled::OverShare,
                Begun::NoMemory => return Filled::NoMemory,
            };
            let piece = planned.cut();
            if planned.is_cut() {
                queue.planned.pop_front();
            }
            *token += 1;
            self.under_way.insert(*token, Started { session, batch, part, bytes: piece.bytes });
            queue.gets += 1;
            queue.bytes += piece.bytes;
            // SAFETY: the ranges of a block add up to the bytes that are leased for it (`plan`), so the piece lies
            // within.
            let local = unsafe { memory.add(piece.offset) };
            let get = Get { token: *token, key: &piece.key, remote: piece.remote, local, bytes: piece.bytes };
            // SAFETY: `local` lies in the block's lease for the piece's bytes (above); no two pieces overlap, because
            // each begins where the one before has ended; the lease stays with its batch while the batch has a get
            // under way.
            unsafe { wire.get(queue.endpoint, get) };
        }
        Filled::Yes
    }

    /// A get has ended: what it was, and whose, if its connection is still the one that it was begun on.
    pub(super) fn ended(&mut self, token: u64) -> Option<(Started, Option<PeerNumber>)> {
        let started = self.under_way.remove(&token)?;
        let queue = self.queues.get_mut(&started.session);
        let peer = queue.map(|queue| {
            queue.gets -= 1;
            queue.bytes -= started.bytes;
            queue.peer
        });
        self.wake(started.session);
        Some((started, peer))
    }

    /// A block of a connection has ended, for which it had so many bytes of memory.
    pub(super) fn let_go(&mut self, session: SessionId, bytes: usize) {
        self.queues.get_mut(&session).into_iter().for_each(|queue| queue.held -= bytes);
    }

    /// Whether a connection waits for memory.
    pub(super) fn waits_for_memory(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Peers of which nothing is read, because this process has no memory for it.
    pub(super) fn held_up(&self) -> impl Iterator<Item = PeerNumber> {
        let queues = self.waiting.iter().filter_map(|session| self.queues.get(session));
        queues.filter(|queue| queue.gets == 0).map(|queue| queue.peer)
    }

    pub(super) fn waits(&self) -> Waits {
        self.waits
    }

    /// Gets under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Forgets the gets under way.
    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}
