//! The blocks that are asked for together with one message, their memory and their ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sluice_mem::{Arena, Lease};

use super::session::PeerNumber;
use crate::completions::{Completion, Failure};
use crate::message::{Block, InstanceId};

/// Blocks of one fetch that are asked for with one message.
struct Batch {
    peer: PeerNumber,
    owner: InstanceId,
    request: u64,
    /// The place of its first block in the fetch.
    first: u32,
    blocks: Vec<Block>,
    /// What its connection's clock of waits for memory said when it was accepted ([`super::schedule`]).
    accepted: Duration,
    parts: Vec<Part>,
    /// Parts that have not ended.
    open: usize,
    /// Gets under way; until there are none, the leases stay.
    gets: usize,
}

/// One block of a batch.
#[derive(Default)]
struct Part {
    lease: Option<Lease>,
    bytes: usize,
    /// Bytes that have been read.
    read: usize,
    ended: bool,
}

/// A block is leased memory if it is free, but waits for it only if it takes no more than this part of all: so much
/// becomes free soon, and the blocks behind it wait with it.
const LARGEST_THAT_WAITS: usize = 64;
/// That is at least so many bytes.
const ALWAYS_WAITS: usize = 1 << 20;

/// What comes of a get that is to begin.
pub(super) enum Begun {
    /// The block's memory, and how many bytes were leased for it now.
    Memory { local: *mut u8, leased: usize },
    /// The block had ended before.
    Ended,
    /// There is no memory for the block, and it is not to wait for some: it has ended now.
    GivenUp,
    /// There is memory, and its connection has its share already.
    OverShare,
    /// There is no memory for it now.
    NoMemory,
}

impl Batch {
    /// Ends a part that has not ended.
    fn end(&mut self, index: usize, result: Result<Option<Lease>, Failure>, ended: &mut Vec<Completion>) {
        let part = &mut self.parts[index];
        if !part.ended {
            part.ended = true;
            self.open -= 1;
            ended.push(Completion { request: self.request, index: self.first + index as u32, result });
        }
    }
}

/// All batches that have not come to their end. A block's memory is leased when its first get begins, so that a block
/// that waits takes none.
pub(super) struct Batches {
    arena: Arc<Arena>,
    open: HashMap<u64, Batch>,
    /// Blocks that have ended since they were last handed out.
    pub(super) ended: Vec<Completion>,
    /// Batches that have come to their end and of which their owners have not been told yet.
    done: HashMap<InstanceId, Vec<u64>>,
}

impl Batches {
    pub(super) fn new(arena: Arc<Arena>) -> Self {
        Self { arena, open: HashMap::new(), ended: Vec::new(), done: HashMap::new() }
    }

    /// `first`: the place of the first of these blocks in the fetch `request`.
    pub(super) fn add(
        &mut self,
        number: u64,
        (peer, owner): (PeerNumber, InstanceId),
        request: u64,
        first: u32,
        blocks: &[Block],
        accepted: Duration,
    ) {
        let parts = blocks.iter().map(|_| Part::default()).collect();
        let (open, blocks) = (blocks.len(), blocks.to_vec());
        self.open.insert(number, Batch { peer, owner, request, first, blocks, accepted, parts, open, gets: 0 });
    }

    /// The batch goes to another connection, whose clock of waits for memory begins at 0.
    pub(super) fn move_to_new_connection(&mut self, number: u64) {
        self.open.get_mut(&number).into_iter().for_each(|batch| batch.accepted = Duration::ZERO);
    }

    /// What its connection's clock of waits for memory said when the batch was accepted.
    pub(super) fn accepted(&self, number: u64) -> Duration {
        self.open.get(&number).map_or(Duration::ZERO, |batch| batch.accepted)
    }

    pub(super) fn blocks(&self, number: u64) -> Option<Vec<Block>> {
        self.open.get(&number).map(|batch| batch.blocks.clone())
    }

    /// How many blocks a batch has of which something is still expected from this owner.
    pub(super) fn expected_of(&self, number: u64, owner: InstanceId) -> Option<usize> {
        let batch = self.open.get(&number).filter(|batch| batch.owner == owner && batch.open > 0);
        batch.map(|batch| batch.parts.len())
    }

    /// The block is known to have so many bytes, none: it has ended.
    pub(super) fn located(&mut self, number: u64, part: usize, bytes: Result<usize, Failure>) {
        let Some(batch) = self.open.get_mut(&number) else { return };
        match bytes {
            Ok(0) => batch.end(part, Ok(None), &mut self.ended),
            Ok(bytes) => batch.parts[part].bytes = bytes,
            Err(failure) => batch.end(part, Err(failure), &mut self.ended),
        }
    }

    /// A get of this block begins. Unless it has memory, some is leased: if its connection, whose blocks have `held`
    /// bytes, has none yet, or if that and the block are together no more than what is free.
    pub(super) fn begin_get(&mut self, number: u64, part: usize, held: usize) -> Begun {
        let Some(batch) = self.open.get_mut(&number).filter(|batch| !batch.parts[part].ended) else {
            return Begun::Ended;
        };
        let known = &mut batch.parts[part];
        let mut leased = 0;
        if known.lease.is_none() {
            let (limit, wanted) = (self.arena.limit_bytes(), held.saturating_add(known.bytes));
            if known.bytes <= limit
                && held > 0
                && wanted > limit.saturating_sub(self.arena.charged_bytes())
                && wanted > limit.saturating_sub(self.arena.leased_bytes())
            {
                return Begun::OverShare;
            }
            known.lease = self.arena.lease(known.bytes).ok();
            if known.lease.is_none() && known.bytes > (limit / LARGEST_THAT_WAITS).max(ALWAYS_WAITS) {
                batch.end(part, Err(Failure::NoMemory), &mut self.ended);
                return Begun::GivenUp;
            }
            leased = known.bytes;
        }
        let Some(lease) = &known.lease else { return Begun::NoMemory };
        batch.gets += 1;
        Begun::Memory { local: lease.as_ptr(), leased }
    }

    /// Whether a get of this block can begin, or it has ended, without memory being leased.
    pub(super) fn has_memory(&self, number: u64, part: usize) -> bool {
        let batch = self.open.get(&number);
        batch.is_none_or(|batch| batch.parts[part].ended || batch.parts[part].lease.is_some())
    }

    /// A block that has no memory ends so.
    pub(super) fn give_up_waiting(&mut self, number: u64, part: usize) {
        let Some(batch) = self.open.get_mut(&number) else { return };
        if batch.parts[part].lease.is_none() {
            batch.end(part, Err(Failure::NoMemory), &mut self.ended);
        }
    }

    /// A get that was begun has ended. If its block has, too: the bytes of memory that it had.
    pub(super) fn end_get(&mut self, number: u64, part: usize, bytes: usize, ok: bool) -> usize {
        let Some(batch) = self.open.get_mut(&number) else { return 0 };
        batch.gets -= 1;
        let known = &mut batch.parts[part];
        known.read += if ok { bytes } else { 0 };
        if known.ended || ok && known.read < known.bytes {
            return 0;
        }
        let held = known.bytes;
        let result = if ok {
            Ok(known.lease.take())
        } else {
            // Its lease stays with the batch: other gets may be filling it.
            Err(Failure::NotRead)
        };
        batch.end(part, result, &mut self.ended);
        held
    }

    /// All blocks of a batch that have not ended end so.
    pub(super) fn fail(&mut self, number: u64, failure: Failure) {
        let Some(batch) = self.open.get_mut(&number) else { return };
        (0..batch.parts.len()).for_each(|part| batch.end(part, Err(failure), &mut self.ended));
    }

    /// Forgets a batch if it has come to its end, of which its owner is to know; whose it was.
    pub(super) fn finish(&mut self, number: u64) -> Option<PeerNumber> {
        self.open.get(&number).filter(|batch| batch.open == 0 && batch.gets == 0)?;
        let batch = self.open.remove(&number)?;
        self.tell_done(batch.owner, number);
        Some(batch.peer)
    }

    /// The owner is to know that it need not keep what it has told of in this batch.
    pub(super) fn tell_done(&mut self, owner: InstanceId, number: u64) {
        self.done.entry(owner).or_default().push(number);
    }

    /// The batches that an owner is to be told of, at most so many of them.
    pub(super) fn take_done_of(&mut self, owner: InstanceId, most: usize) -> Vec<u64> {
        let Some(done) = self.done.get_mut(&owner) else { return Vec::new() };
        if done.len() > most {
            return done.drain(..most).collect();
        }
        self.done.remove(&owner).unwrap_or_default()
    }

    pub(super) fn take_done(&mut self) -> impl Iterator<Item = (InstanceId, Vec<u64>)> {
        self.done.drain()
    }

    /// Gives up the leases that gets may still write to; they are never used again.
    pub(super) fn leak(&mut self) {
        let under_way = self.open.drain().filter(|(_, batch)| batch.gets > 0);
        under_way.flat_map(|(_, batch)| batch.parts).for_each(|part| std::mem::forget(part.lease));
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
