//! Which copies there are, in which states, and which one is dropped first.
//!
//! Copies are dropped in the order of GreedyDual-Size (Cao and Irani, USENIX 1997): the copy with the smallest
//! `clock at its last use + cost to bring it back / bytes` goes first, and the clock becomes its value.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::counts::CopyCounts;
use super::index::PartitionIndex;
use super::state::{CopyEvent, CopyState};

/// Which map output a copy is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyKey {
    /// Spark's number of the shuffle.
    pub shuffle: u32,
    /// Spark's number of the map task's attempt.
    pub map: u64,
}

/// Where the host's copy is, from which the device's could be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostCopy {
    /// A memory file.
    Memory,
    /// A file on a disk.
    Disk,
}

impl HostCopy {
    /// Nanoseconds to bring a copy back, for each KiB of it. Guesses: what matters is that a disk costs more than
    /// memory, and a byte of a small output more than one of a large output, because of what each output costs.
    fn nanos_per_kib(self, bytes: u64) -> u64 {
        let (each, per_kib) = match self {
            Self::Memory => (50_000, 100),
            Self::Disk => (1_000_000, 2_000),
        };
        per_kib + each * 1024 / bytes.max(1)
    }
}

/// Why no copy was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// There is one, or one is being filled.
    Present,
    /// The limit has no room, or none beside copies that are in use.
    Limit,
    /// The device is lost.
    Lost,
}

/// A copy's number; no other copy ever has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CopyId(u64);

/// The order in which resident copies are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    value: u64,
    /// Where values are equal: the copy that was not used for the longest time.
    used: u64,
    id: CopyId,
}

struct Copy<M> {
    key: CopyKey,
    state: CopyState,
    host: HostCopy,
    index: Arc<PartitionIndex>,
    /// None while it is being filled: the filling thread has it.
    memory: Option<Arc<M>>,
    /// Its place in the order while it is resident.
    rank: Rank,
}

impl<M> Copy<M> {
    fn bytes(&self) -> u64 {
        self.index.bytes()
    }
}

struct Inner<M> {
    copies: HashMap<CopyId, Copy<M>>,
    /// Those that can be found: being filled, resident or pinned.
    by_key: BTreeMap<CopyKey, CopyId>,
    /// The resident ones.
    order: BTreeSet<Rank>,
    resident_bytes: u64,
    /// The value of the copy that was dropped last.
    clock: u64,
    /// Grows with each use.
    uses: u64,
    /// Gives the next copy its number.
    next: u64,
    lost: bool,
    counts: CopyCounts,
}

/// The copies of one device. `M` is a copy's memory; it is dropped without the table's lock.
pub(crate) struct CopyTable<M> {
    limit: u64,
    inner: Mutex<Inner<M>>,
}

/// What a reader has pinned.
pub(crate) struct Pin<M> {
    pub(crate) id: CopyId,
    pub(crate) memory: Arc<M>,
    pub(crate) bytes: Range<u64>,
}

/// Memory that is dropped when the lock is free again.
type Freed<M> = Vec<Arc<M>>;

impl<M> CopyTable<M> {
    /// Without copies.
    pub(crate) fn new(limit: u64) -> Self {
        let inner = Inner {
            copies: HashMap::new(),
            by_key: BTreeMap::new(),
            order: BTreeSet::new(),
            resident_bytes: 0,
            clock: 0,
            uses: 0,
            next: 0,
            lost: false,
            counts: CopyCounts::default(),
        };
        Self { limit, inner: Mutex::new(inner) }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Each change is made whole, after all that can panic.
    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` under the lock, and drops what it has freed afterwards.
    fn with<T>(&self, work: impl FnOnce(&mut Inner<M>, &mut Freed<M>) -> T) -> T {
        let mut freed = Freed::new();
        let answer = work(&mut self.lock(), &mut freed);
        drop(freed);
        answer
    }

    /// Reserves room for a copy, for which others are evicted. The caller fills it and then calls [`Self::filled`] or
    /// [`Self::failed`].
    ///
    /// # Errors
    /// Nothing was changed, and no copy is to be filled.
    pub(crate) fn begin(&self, key: CopyKey, index: &Arc<PartitionIndex>, host: HostCopy) -> Result<CopyId, NotBegun> {
        self.with(|inner, freed| inner.begin(self.limit, key, index, host, freed))
    }

    /// A copy has its bytes. It can be found from now on, unless it was dropped meanwhile.
    pub(crate) fn filled(&self, id: CopyId, memory: M) {
        // Unless it was dropped meanwhile, this one is not the last, and it is dropped without the lock in any case.
        let memory = Arc::new(memory);
        self.with(|inner, freed| {
            if let Some(copy) = inner.copies.get_mut(&id) {
                copy.memory = Some(Arc::clone(&memory));
                if copy.state == CopyState::Copying {
                    inner.counts.kept += 1;
                    inner.counts.kept_bytes += copy.index.bytes();
                }
                inner.step(id, CopyEvent::Filled, freed);
            }
        });
    }

    /// A copy could not be filled. Its memory is the caller's.
    pub(crate) fn failed(&self, id: CopyId) {
        self.with(|inner, freed| inner.step(id, CopyEvent::Failed, freed));
    }

    /// Pins a copy for a reader, which calls [`Self::unpin`]; none if there is none.
    ///
    /// # Errors
    /// There is one, and it has no such partitions.
    pub(crate) fn pin(&self, key: CopyKey, partitions: &Range<u32>) -> Result<Option<Pin<M>>, ()> {
        self.with(|inner, freed| {
            let Some(&id) = inner.by_key.get(&key) else { return Ok(None) };
            let Some(copy) = inner.copies.get(&id).filter(|copy| copy.state.is_readable()) else { return Ok(None) };
            let bytes = copy.index.range(partitions).ok_or(())?;
            let Some(memory) = copy.memory.clone() else { return Ok(None) };
            inner.step(id, CopyEvent::Pin, freed);
            inner.used(id);
            Ok(Some(Pin { id, memory, bytes }))
        })
    }

    /// Whether there is a copy that can be read, and the host's is on a disk.
    pub(crate) fn is_nearer_than_host(&self, key: CopyKey) -> bool {
        let inner = self.lock();
        let copy = inner.by_key.get(&key).and_then(|id| inner.copies.get(id));
        copy.is_some_and(|copy| copy.state.is_readable() && copy.host == HostCopy::Disk)
    }

    /// A reader ends, and all its work on the device has.
    pub(crate) fn unpin(&self, id: CopyId) {
        self.with(|inner, freed| inner.step(id, CopyEvent::Unpin, freed));
    }

    /// Drops a copy, if there is one; whether there was.
    pub(crate) fn forget(&self, key: CopyKey) -> bool {
        self.with(|inner, freed| {
            let id = inner.by_key.get(&key).copied();
            id.is_some_and(|id| inner.drop_copy(id, freed)) && {
                inner.counts.forgotten += 1;
                true
            }
        })
    }

    /// As [`Self::forget`], because its bytes are not those of the host copy.
    pub(crate) fn forget_damaged(&self, id: CopyId) {
        self.with(|inner, freed| {
            if inner.drop_copy(id, freed) {
                inner.counts.damaged += 1;
            }
        });
    }

    /// Drops all copies of a shuffle; how many.
    pub(crate) fn forget_shuffle(&self, shuffle: u32) -> usize {
        self.with(|inner, freed| {
            let of_shuffle = CopyKey { shuffle, map: 0 }..=CopyKey { shuffle, map: u64::MAX };
            let ids: Vec<CopyId> = inner.by_key.range(of_shuffle).map(|(_, id)| *id).collect();
            ids.iter().for_each(|id| _ = inner.drop_copy(*id, freed));
            inner.counts.forgotten += ids.len() as u64;
            ids.len()
        })
    }

    /// Drops resident copies until so many bytes are free, or none is left; whether any was dropped.
    pub(crate) fn shrink(&self, bytes: u64) -> bool {
        self.with(|inner, freed| {
            let before = inner.counts.pressure_drops;
            let mut dropped = 0u64;
            while dropped < bytes {
                let Some(copy_bytes) = inner.drop_first(freed) else { break };
                inner.counts.pressure_drops += 1;
                dropped = dropped.saturating_add(copy_bytes);
            }
            inner.counts.pressure_drops > before
        })
    }

    /// The device is lost: all copies are gone, and none is begun any more.
    pub(crate) fn lose(&self) {
        self.with(|inner, freed| {
            if std::mem::replace(&mut inner.lost, true) {
                return;
            }
            inner.counts.lost += inner.by_key.len() as u64;
            let ids: Vec<CopyId> = inner.copies.keys().copied().collect();
            ids.into_iter().for_each(|id| inner.step(id, CopyEvent::Lose, freed));
        });
    }

    /// The host's copy is elsewhere now.
    pub(crate) fn moved(&self, key: CopyKey, host: HostCopy) {
        self.with(|inner, _| {
            let Some(&id) = inner.by_key.get(&key) else { return };
            let Some(copy) = inner.copies.get_mut(&id) else { return };
            let was_resident = inner.order.remove(&copy.rank);
            let (bytes, before) = (copy.bytes(), copy.host);
            // The clock of its last use stays.
            let clock = copy.rank.value.saturating_sub(before.nanos_per_kib(bytes));
            copy.rank.value = clock.saturating_add(host.nanos_per_kib(bytes));
            copy.host = host;
            if was_resident {
                inner.order.insert(copy.rank);
            }
        });
    }

    /// Changes the counts.
    pub(crate) fn count(&self, change: impl FnOnce(&mut CopyCounts)) {
        change(&mut self.lock().counts);
    }

    pub(crate) fn counts(&self) -> CopyCounts {
        self.lock().counts
    }

    /// The state of the copy that can be found under a key.
    #[cfg(test)]
    pub(crate) fn state(&self, key: CopyKey) -> CopyState {
        let inner = self.lock();
        let copy = inner.by_key.get(&key).and_then(|id| inner.copies.get(id));
        copy.map_or(CopyState::Absent, |copy| copy.state)
    }

    /// What does not fit together, if anything.
    #[cfg(test)]
    pub(crate) fn check(&self) -> Result<(), String> {
        self.lock().check(self.limit)
    }
}

impl<M> Inner<M> {
    fn begin(
        &mut self,
        limit: u64,
        key: CopyKey,
        index: &Arc<PartitionIndex>,
        host: HostCopy,
        freed: &mut Freed<M>,
    ) -> Result<CopyId, NotBegun> {
        if self.lost {
            return Err(NotBegun::Lost);
        }
        if self.by_key.contains_key(&key) {
            return Err(NotBegun::Present);
        }
        let bytes = index.bytes();
        let in_use = self.counts.bytes - self.resident_bytes;
        if in_use.checked_add(bytes).is_none_or(|bytes| bytes > limit) {
            self.counts.refused_by_limit += 1;
            return Err(NotBegun::Limit);
        }
        while self.counts.bytes + bytes > limit && self.drop_first(freed).is_some() {
            self.counts.evictions += 1;
        }
        let id = CopyId(self.next);
        self.next += 1;
        let (rank, index) = (Rank { value: 0, used: 0, id }, Arc::clone(index));
        self.copies.insert(id, Copy { key, state: CopyState::Absent, host, index, memory: None, rank });
        self.by_key.insert(key, id);
        self.counts.bytes += bytes;
        self.counts.copies += 1;
        self.used(id);
        self.step(id, CopyEvent::Begin, freed);
        Ok(id)
    }

    /// A copy that is not resident was used just now.
    fn used(&mut self, id: CopyId) {
        self.uses += 1;
        if let Some(copy) = self.copies.get_mut(&id) {
            let value = self.clock.saturating_add(copy.host.nanos_per_kib(copy.bytes()));
            copy.rank = Rank { value, used: self.uses, id };
        }
    }

    /// Changes a copy's state, and the lists that depend on it.
    fn step(&mut self, id: CopyId, event: CopyEvent, freed: &mut Freed<M>) {
        let Some(copy) = self.copies.get_mut(&id) else { return };
        let next = match copy.state.after(event) {
            Ok(next) => next,
            Err(why) => {
                debug_assert!(false, "{why:?}");
                return;
            }
        };
        let (before, bytes) = (std::mem::replace(&mut copy.state, next), copy.bytes());
        if before == CopyState::Resident {
            self.order.remove(&copy.rank);
            self.resident_bytes -= bytes;
        }
        if next == CopyState::Resident {
            self.order.insert(copy.rank);
            self.resident_bytes += bytes;
        }
        let found = next == CopyState::Copying || next.is_readable();
        // Another copy may have come under the key when this one was dropped.
        if !found && self.by_key.get(&copy.key) == Some(&id) {
            self.by_key.remove(&copy.key);
        }
        if next.is_over()
            && let Some(copy) = self.copies.remove(&id)
        {
            self.counts.bytes -= bytes;
            self.counts.copies -= 1;
            freed.extend(copy.memory);
        }
    }

    /// Drops a copy that can be found; false if it was dropped before.
    fn drop_copy(&mut self, id: CopyId, freed: &mut Freed<M>) -> bool {
        let found = self.copies.get(&id).is_some_and(|copy| copy.state.after(CopyEvent::Drop).is_ok());
        if found {
            self.step(id, CopyEvent::Drop, freed);
        }
        found
    }

    /// Drops the first resident copy: its bytes.
    fn drop_first(&mut self, freed: &mut Freed<M>) -> Option<u64> {
        let first = *self.order.first()?;
        let bytes = self.copies.get(&first.id)?.bytes();
        self.clock = first.value;
        self.step(first.id, CopyEvent::Drop, freed);
        Some(bytes)
    }

    #[cfg(test)]
    fn check(&self, limit: u64) -> Result<(), String> {
        let sum = |copies: &mut dyn Iterator<Item = &Copy<M>>| copies.map(Copy::bytes).sum::<u64>();
        let resident = |copy: &&Copy<M>| copy.state == CopyState::Resident;
        let expected = (
            sum(&mut self.copies.values()),
            self.copies.len() as u64,
            sum(&mut self.copies.values().filter(resident)),
            self.copies.values().filter(resident).count(),
        );
        let found = (self.counts.bytes, self.counts.copies, self.resident_bytes, self.order.len());
        if found != expected {
            return Err(format!("bytes, copies, resident bytes, resident copies: {found:?}, not {expected:?}"));
        }
        let by_key = self.copies.values().filter(|copy| copy.state == CopyState::Copying || copy.state.is_readable());
        if by_key.count() != self.by_key.len() {
            return Err("copies that can be found, and keys".into());
        }
        if self.copies.values().any(|copy| copy.state.is_over()) {
            return Err("a copy that is over".into());
        }
        if self.counts.bytes > limit {
            return Err(format!("{} bytes of {limit}", self.counts.bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
