//! Which gets are begun when: of each connection as many as may be under way ([`Pace`]), in the order in which they
//! were planned, as far as there is memory for what they bring.
//!
//! **Memory.** A block's memory is leased when its first get begins. Where there is none, the connection waits: its
//! other reads go on, and nothing more is asked for over it. The connections that wait are looked at in turn, and each
//! gets memory if its next block fits into what is free: none is kept for one whose block does not fit, so a large
//! block holds up no other connection. So that slow peers do not keep all memory while their reads are under way, a
//! connection that has memory gets more only as long as it has less than what is free ([`Batches::begin_get`]): with n
//! peers that want as much as they can get, each has 1/(n + 1), and as much is free for a peer that comes. (This is how
//! switches share packet buffers: A. Choudhury and E. Hahne, "Dynamic queue length thresholds for shared-memory packet
//! switches", 1998.)
//!
//! **How long a block waits.** Each connection has a clock that runs while there is no memory for its next block. A
//! block that finds no memory when that clock has run for `patience` since the block was accepted is given up: it is
//! fetched in another way. So the waits of a block for memory, together with those of the blocks before it, are never
//! longer than `patience`. Time in which the connection's own reads use up its share does not count: it ends with them.
//! No block waits when none has been given memory for [`STALLED`]: tasks keep what they have, perhaps until they have
//! read what waits. Nor does one that needs more than a 64th of all memory (and 1 MiB), because those behind it would
//! wait with it.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use sluice_mem::MemoryKind;

use super::batches::{Batches, Begun};
use super::pace::Pace;
use super::session::{PeerNumber, SessionId};
use crate::plan::{GET_BYTES, Planned};
use crate::wire::{Endpoint, Get, Wire};

/// While tasks read blocks they give memory back every few milliseconds.
const STALLED: Duration = Duration::from_millis(20);
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
    pace: Pace,
    /// Bytes of the blocks that have memory and are being read.
    held: usize,
    /// Whether it stands among the runnable ones.
    runnable: bool,
    /// Whether it stands among those that wait for memory.
    waiting: bool,
    /// Since when there is no memory for its next block.
    short_since: Option<Instant>,
    /// How long there was none before.
    short: Duration,
}

impl Queue {
    /// Its clock of waits for memory.
    fn waited(&self, now: Instant) -> Duration {
        self.short + self.short_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Starts or stops the clock.
    fn set_short(&mut self, is_short: bool, now: Instant) {
        if is_short {
            self.short_since.get_or_insert(now);
        } else {
            self.short = self.waited(now);
            self.short_since = None;
        }
    }
}

/// A get under way.
pub(super) struct Started {
    pub(super) session: SessionId,
    pub(super) batch: u64,
    pub(super) part: usize,
    pub(super) bytes: usize,
    begun: Instant,
}

/// What waiting for memory has cost since the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Times that a connection had to wait.
    pub waits: u64,
    /// How long all of them have waited together, those that wait now included.
    pub time: Duration,
    /// Blocks that were given up, after a wait or because they are too large to wait.
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

/// What came of a turn, beside the gets that were begun.
#[derive(Default)]
pub(super) struct Turn {
    /// The batches of which a block has ended, because there is no memory for it, or had ended before.
    pub(super) over: Vec<u64>,
    /// Peers whose connections wait no longer.
    pub(super) resumed: Vec<PeerNumber>,
}

/// The gets of all connections. A connection is looked at when something was planned for it or one of its gets has
/// ended, so a turn costs nothing for those that have nothing to do.
pub(super) struct Schedule {
    queues: HashMap<SessionId, Queue>,
    /// Connections with planned gets that may have room for them; each once.
    runnable: VecDeque<SessionId>,
    /// Connections that wait for memory, each once; some may have been closed.
    waiting: VecDeque<SessionId>,
    /// How many of those are open.
    waiters: u32,
    /// By token.
    under_way: HashMap<u64, Started>,
    /// How long a block waits for memory.
    patience: Duration,
    /// For measurements: [`TransportOptions::max_gets`](crate::TransportOptions).
    max_gets: Option<usize>,
    /// When a block was last given memory.
    given: Option<Instant>,
    /// Until when the time of waits has been counted.
    counted: Option<Instant>,
    waits: Waits,
}

impl Schedule {
    pub(super) fn new(patience: Duration, max_gets: Option<usize>) -> Self {
        let (queues, runnable, waiting, waiters, under_way, given, counted, waits) = Default::default();
        Self { queues, runnable, waiting, waiters, under_way, patience, max_gets, given, counted, waits }
    }

    pub(super) fn open(&mut self, session: SessionId, peer: PeerNumber, endpoint: Endpoint) {
        let (planned, gets, bytes, pace, held, runnable, waiting, short_since, short) = Default::default();
        let queue = Queue { peer, endpoint, planned, gets, bytes, pace, held, runnable, waiting, short_since, short };
        self.queues.insert(session, queue);
    }

    /// Begins no more gets of this connection. Those under way go on.
    pub(super) fn close(&mut self, session: SessionId) {
        let closed = self.queues.remove(&session);
        self.waiters -= u32::from(closed.is_some_and(|queue| queue.waiting));
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

    /// A connection's clock of waits for memory.
    pub(super) fn waited(&self, session: SessionId, now: Instant) -> Duration {
        self.queues.get(&session).map_or(Duration::ZERO, |queue| queue.waited(now))
    }

    /// Whether a connection waits for memory.
    pub(super) fn is_waiting(&self, session: SessionId) -> bool {
        self.queues.get(&session).is_some_and(|queue| queue.waiting)
    }

    /// The connection is looked at in this turn if it has planned gets. One that waits for memory keeps its place.
    fn wake(&mut self, session: SessionId) {
        let Some(queue) = self.queues.get_mut(&session).filter(|queue| !queue.planned.is_empty()) else { return };
        if !queue.waiting && !std::mem::replace(&mut queue.runnable, true) {
            self.runnable.push_back(session);
        }
    }

    /// Begins as many gets as may be under way. `token` is the last one given; it is counted on.
    pub(super) fn begin<W: Wire>(
        &mut self,
        wire: &mut W,
        batches: &mut Batches,
        token: &mut u64,
        now: Instant,
    ) -> Turn {
        let last = self.counted.replace(now).unwrap_or(now);
        self.waits.time += now.saturating_duration_since(last) * self.waiters;
        let mut turn = Turn::default();
        self.resume(wire, batches, token, now, &mut turn);
        while let Some(session) = self.runnable.pop_front() {
            let Some(queue) = self.queues.get_mut(&session) else { continue };
            queue.runnable = false;
            match self.fill_or_give_up(session, wire, batches, token, now, &mut turn.over) {
                Filled::Yes => {}
                Filled::Partly => self.wake(session),
                Filled::OverShare | Filled::NoMemory => self.wait(session),
            }
        }
        turn
    }

    /// Goes on with connections that wait for memory, in their order, until enough were looked at.
    fn resume<W: Wire>(&mut self, wire: &mut W, batches: &mut Batches, token: &mut u64, now: Instant, turn: &mut Turn) {
        for _ in 0..self.waiting.len().min(WAITING_A_TURN) {
            let Some(session) = self.waiting.pop_front() else { break };
            if !self.queues.contains_key(&session) {
                continue;
            }
            match self.fill_or_give_up(session, wire, batches, token, now, &mut turn.over) {
                Filled::Yes | Filled::Partly => turn.resumed.extend(self.end_wait(session)),
                Filled::OverShare | Filled::NoMemory => self.waiting.push_back(session),
            }
        }
    }

    fn wait(&mut self, session: SessionId) {
        let Some(queue) = self.queues.get_mut(&session) else { return };
        queue.waiting = true;
        self.waiters += 1;
        self.waits.waits += 1;
        self.waiting.push_back(session);
    }

    /// The connection waits no longer; its peer.
    fn end_wait(&mut self, session: SessionId) -> Option<PeerNumber> {
        let queue = self.queues.get_mut(&session)?;
        queue.waiting = false;
        let peer = queue.peer;
        self.waiters -= 1;
        self.wake(session);
        Some(peer)
    }

    /// Begins gets of one connection as [`Schedule::fill`] does, and gives up its blocks in front for which there is no
    /// memory and that have waited long enough.
    fn fill_or_give_up<W: Wire>(
        &mut self,
        session: SessionId,
        wire: &mut W,
        batches: &mut Batches,
        token: &mut u64,
        now: Instant,
        over: &mut Vec<u64>,
    ) -> Filled {
        loop {
            let filled = self.fill(session, wire, batches, token, now, over);
            let Some(queue) = self.queues.get_mut(&session) else { return Filled::Yes };
            queue.set_short(filled == Filled::NoMemory, now);
            let Some(front) = queue.planned.front().filter(|_| filled == Filled::NoMemory) else { return filled };
            let (batch, part) = (front.batch, front.part);
            let is_stalled = self.given.is_none_or(|given| now.saturating_duration_since(given) >= STALLED);
            if !is_stalled && queue.waited(now).saturating_sub(batches.accepted(batch)) < self.patience {
                return filled;
            }
            batches.give_up_waiting(batch, part);
            queue.planned.pop_front();
            over.push(batch);
            self.waits.given_up += 1;
        }
    }

    /// Begins gets of one connection: those of blocks that have memory, and of one more. So connections that are looked
    /// at together get memory in turn, a block at a time.
    fn fill<W: Wire>(
        &mut self,
        session: SessionId,
        wire: &mut W,
        batches: &mut Batches,
        token: &mut u64,
        now: Instant,
        over: &mut Vec<u64>,
    ) -> Filled {
        let Some(queue) = self.queues.get_mut(&session) else { return Filled::Yes };
        let (most_gets, most_bytes, largest_get) = match self.max_gets {
            Some(gets) => (gets, usize::MAX, usize::MAX),
            None => {
                let most = queue.pace.window(wire.max_bytes_in_flight(queue.endpoint));
                (MAX_GETS, most, queue.pace.piece(GET_BYTES))
            }
        };
        let mut has_leased = false;
        while queue.gets < most_gets && queue.bytes < most_bytes {
            let Some(planned) = queue.planned.front_mut() else { break };
            let (batch, part) = (planned.batch, planned.part);
            if has_leased && !batches.has_memory(batch, part) {
                return Filled::Partly;
            }
            let memory = match batches.begin_get(batch, part, queue.held) {
                Begun::Memory { local, leased } => {
                    queue.held += leased;
                    if leased > 0 {
                        self.given = Some(now);
                    }
                    has_leased |= leased > 0;
                    local
                }
                ended @ (Begun::Ended | Begun::GivenUp) => {
                    self.waits.given_up += u64::from(matches!(ended, Begun::GivenUp));
                    queue.planned.pop_front();
                    over.push(batch);
                    continue;
                }
                Begun::OverShare => {
                    queue.pace.has_room();
                    return Filled::OverShare;
                }
                Begun::NoMemory => {
                    queue.pace.has_room();
                    return Filled::NoMemory;
                }
            };
            let piece = planned.cut(largest_get);
            if planned.is_cut() {
                queue.planned.pop_front();
            }
            *token += 1;
            self.under_way.insert(*token, Started { session, batch, part, bytes: piece.bytes, begun: now });
            queue.pace.begun(now);
            queue.gets += 1;
            queue.bytes += piece.bytes;
            // SAFETY: the ranges of a block add up to the bytes that are leased for it (`plan`), so the piece lies
            // within.
            let local = unsafe { memory.add(piece.offset) };
            let get = Get {
                token: *token,
                key: piece.key.bytes(),
                remote: piece.remote,
                local,
                bytes: piece.bytes,
                kind: MemoryKind::Host,
            };
            // SAFETY: `local` lies in the block's lease for the piece's bytes (above); no two pieces overlap, because
            // each begins where the one before has ended; the lease stays with its batch while the batch has a get
            // under way.
            unsafe { wire.get(queue.endpoint, get) };
        }
        if queue.bytes < most_bytes {
            queue.pace.has_room();
        }
        Filled::Yes
    }

    /// A get has ended: what it was, and whose, if its connection is still the one that it was begun on.
    pub(super) fn ended(&mut self, token: u64, now: Instant) -> Option<(Started, Option<PeerNumber>)> {
        let started = self.under_way.remove(&token)?;
        let queue = self.queues.get_mut(&started.session);
        let peer = queue.map(|queue| {
            queue.gets -= 1;
            queue.bytes -= started.bytes;
            let took = now.saturating_duration_since(started.begun);
            queue.pace.ended(started.bytes, took, queue.bytes, now);
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
