//! Which gets are begun when: of each connection as many as may be under way, in the order in which they were planned.

use std::collections::{HashMap, VecDeque};

use super::batches::Batches;
use super::session::{PeerNumber, SessionId};
use crate::plan::Planned;
use crate::wire::{Endpoint, Get, Wire};

/// Gets under way at once over one connection, within what the wire says of their bytes.
const MAX_GETS: usize = 32;

/// The gets of one connection.
struct Queue {
    peer: PeerNumber,
    endpoint: Endpoint,
    planned: VecDeque<Planned>,
    gets: usize,
    bytes: usize,
    /// Whether it stands among the runnable ones.
    runnable: bool,
}

/// A get under way.
pub(super) struct Started {
    session: SessionId,
    pub(super) batch: u64,
    pub(super) part: usize,
    pub(super) bytes: usize,
}

/// The gets of all connections. A connection is looked at when something was planned for it or one of its gets has
/// ended, so a turn costs nothing for those that have nothing to do.
#[derive(Default)]
pub(super) struct Schedule {
    queues: HashMap<SessionId, Queue>,
    /// Connections with planned gets that may have room for them; each once.
    runnable: VecDeque<SessionId>,
    /// By token.
    under_way: HashMap<u64, Started>,
}

impl Schedule {
    pub(super) fn open(&mut self, session: SessionId, peer: PeerNumber, endpoint: Endpoint) {
        let queue = Queue { peer, endpoint, planned: VecDeque::new(), gets: 0, bytes: 0, runnable: false };
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

    /// The connection is looked at in this turn if it has planned gets.
    fn wake(&mut self, session: SessionId) {
        let Some(queue) = self.queues.get_mut(&session).filter(|queue| !queue.planned.is_empty()) else { return };
        if !std::mem::replace(&mut queue.runnable, true) {
            self.runnable.push_back(session);
        }
    }

    /// Begins as many gets as may be under way; the batches of which a block has ended, because there is no memory for
    /// it, or had ended before. `token` is the last one given; it is counted on.
    pub(super) fn begin<W: Wire>(&mut self, wire: &mut W, batches: &mut Batches, token: &mut u64) -> Vec<u64> {
        let mut over = Vec::new();
        while let Some(session) = self.runnable.pop_front() {
            let Some(queue) = self.queues.get_mut(&session) else { continue };
            queue.runnable = false;
            let most_bytes = wire.max_bytes_in_flight(queue.endpoint);
            while queue.gets < MAX_GETS && queue.bytes < most_bytes {
                let Some(planned) = queue.planned.front_mut() else { break };
                let (batch, part) = (planned.batch, planned.part);
                let Some(memory) = batches.begin_get(batch, part) else {
                    queue.planned.pop_front();
                    over.push(batch);
                    continue;
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
                // SAFETY: `local` lies in the block's lease for the piece's bytes (above); no two pieces overlap,
                // because each begins where the one before has ended; the lease stays with its batch while the batch
                // has a get under way.
                unsafe { wire.get(queue.endpoint, get) };
            }
        }
        over
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

    /// Gets under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Forgets the gets under way.
    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}
