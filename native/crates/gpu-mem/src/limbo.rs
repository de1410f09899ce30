//! A stream's limbo: the leases that it has freed and that the device may still use, because the stream's work before
//! the free may not have ended.
//!
//! ```text
//!   free ──► open batch ── 64 leases or 8 MiB: an event is recorded ──► sealed batches ── event has ended ──► arena
//!                │                                                            │
//!   lease ◄──────┴──────────── the same stream, a block of the same size ─────┘
//! ```
//!
//! Every lease is an entry in two lists: its batch, and its size class (or, of large ones, its length). An entry
//! knows its place in both, so that it is taken out of both in constant time, whether it is leased again or its batch
//! ends.

use sluice_mem::Block;
use std::collections::{BTreeMap, VecDeque};

/// A batch gets its event when it has so many leases,
pub(crate) const BATCH_LEASES: usize = 64;
/// or so many bytes.
pub(crate) const BATCH_BYTES: usize = 8 << 20;
/// Sealed batches of a stream at most; then the newest one takes in the open one.
pub(crate) const MOST_BATCHES: usize = 64;

/// A lease that was freed.
#[derive(Debug, Clone, Copy)]
struct Entry {
    address: usize,
    block: Block,
    batch: u64,
    /// Its place in the batch's list, and in that of its size.
    in_batch: usize,
    in_size: usize,
}

/// Entries in the order in which they were freed, until one is leased again: the last one then takes its place.
#[derive(Debug, Default)]
struct Batch {
    entries: Vec<u32>,
    bytes: usize,
}

#[derive(Debug)]
struct Sealed<E> {
    batch: Batch,
    event: E,
}

/// See the module. `E` is an event that was recorded after the last use of the batch's leases.
#[derive(Debug)]
pub(crate) struct Limbo<E> {
    entries: Vec<Entry>,
    /// Entries that are not in use.
    unused: Vec<u32>,
    /// By size class.
    classes: Vec<Vec<u32>>,
    /// By length, of those that have no class. No list is empty.
    large: BTreeMap<usize, Vec<u32>>,
    open: Batch,
    /// The oldest first.
    sealed: VecDeque<Sealed<E>>,
    /// The number of the oldest sealed batch; the open one has the number after the newest one.
    oldest: u64,
}

impl<E> Limbo<E> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            unused: Vec::new(),
            classes: vec![Vec::new(); Block::CLASSES],
            large: BTreeMap::new(),
            open: Batch::default(),
            sealed: VecDeque::new(),
            oldest: 0,
        }
    }

    /// Adds a lease to the open batch; whether the batch should be sealed now.
    pub(crate) fn put(&mut self, address: usize, block: Block) -> bool {
        let batch = self.oldest + self.sealed.len() as u64;
        let in_batch = self.open.entries.len();
        let nth = self.add(Entry { address, block, batch, in_batch, in_size: 0 });
        self.open.entries.push(nth);
        self.open.bytes += block.bytes();
        self.is_full()
    }

    /// Adds a lease to the newest sealed batch, whose event was recorded after the lease's last use; false when there
    /// is none, which means that its event has ended.
    pub(crate) fn put_into_newest(&mut self, address: usize, block: Block) -> bool {
        let Some(newest) = self.sealed.back() else { return false };
        let (in_batch, batch) = (newest.batch.entries.len(), self.oldest + self.sealed.len() as u64 - 1);
        let nth = self.add(Entry { address, block, batch, in_batch, in_size: 0 });
        if let Some(newest) = self.sealed.back_mut() {
            newest.batch.entries.push(nth);
            newest.batch.bytes += block.bytes();
        }
        true
    }

    /// Whether the open batch has as much as one event is for.
    pub(crate) fn is_full(&self) -> bool {
        self.open.entries.len() >= BATCH_LEASES || self.open.bytes >= BATCH_BYTES
    }

    /// Leases in the open batch.
    pub(crate) fn open_leases(&self) -> usize {
        self.open.entries.len()
    }

    /// Leases in all batches, and their bytes.
    pub(crate) fn held(&self) -> (usize, usize) {
        let sealed = self.sealed.iter().map(|sealed| &sealed.batch);
        sealed.fold((self.open.entries.len(), self.open.bytes), |(leases, bytes), batch| {
            (leases + batch.entries.len(), bytes + batch.bytes)
        })
    }

    /// Sealed batches.
    pub(crate) fn batches(&self) -> usize {
        self.sealed.len()
    }

    /// Takes out a lease with this block, or with a larger one of at most an eighth more: the one that was freed last,
    /// or, after others were taken out or ended, any of them.
    pub(crate) fn take(&mut self, block: Block) -> Option<(usize, Block)> {
        let nth = match block.class() {
            Some(class) => *self.classes[class].last()?,
            None => {
                let most = block.bytes() + block.bytes() / 8;
                *self.large.range(block.bytes()..=most).next()?.1.last()?
            }
        };
        let entry = self.entries[nth as usize];
        self.unlink_from_batch(entry);
        self.unlink_from_size(nth);
        Some((entry.address, entry.block))
    }

    /// Seals the open batch, also an empty one, with an event that was recorded just now.
    pub(crate) fn seal(&mut self, event: E) {
        self.sealed.push_back(Sealed { batch: std::mem::take(&mut self.open), event });
    }

    /// The newest sealed batch's event, to be recorded again so that [`Self::join_newest`] may follow.
    pub(crate) fn newest(&self) -> Option<&E> {
        self.sealed.back().map(|sealed| &sealed.event)
    }

    /// Moves the open batch into the newest sealed one, whose event was recorded again just now.
    pub(crate) fn join_newest(&mut self) {
        let open = self.oldest + self.sealed.len() as u64;
        let Some(newest) = self.sealed.back_mut() else { return };
        for nth in self.open.entries.drain(..) {
            let entry = &mut self.entries[nth as usize];
            (entry.batch, entry.in_batch) = (open - 1, newest.batch.entries.len());
            newest.batch.entries.push(nth);
        }
        newest.batch.bytes += std::mem::take(&mut self.open.bytes);
    }

    /// The oldest sealed batch's event.
    pub(crate) fn oldest(&self) -> Option<&E> {
        self.sealed.front().map(|sealed| &sealed.event)
    }

    /// Ends the oldest sealed batch, whose event has ended: calls `release` with the address of each of its leases, and
    /// returns the event to be used again.
    pub(crate) fn end_oldest(&mut self, mut release: impl FnMut(usize)) -> Option<E> {
        let Sealed { batch, event } = self.sealed.pop_front()?;
        self.oldest += 1;
        for nth in batch.entries {
            release(self.entries[nth as usize].address);
            self.unlink_from_size(nth);
        }
        Some(event)
    }

    fn add(&mut self, mut entry: Entry) -> u32 {
        let Self { entries, unused, classes, large, .. } = self;
        let list = match entry.block.class() {
            Some(class) => &mut classes[class],
            None => large.entry(entry.block.bytes()).or_default(),
        };
        entry.in_size = list.len();
        let nth = unused.pop().unwrap_or(entries.len() as u32);
        list.push(nth);
        match entries.get_mut(nth as usize) {
            Some(old) => *old = entry,
            None => entries.push(entry),
        }
        nth
    }

    fn unlink_from_batch(&mut self, entry: Entry) {
        let batch = match self.sealed.get_mut((entry.batch - self.oldest) as usize) {
            Some(sealed) => &mut sealed.batch,
            None => &mut self.open,
        };
        batch.bytes -= entry.block.bytes();
        batch.entries.swap_remove(entry.in_batch);
        if let Some(&moved) = batch.entries.get(entry.in_batch) {
            self.entries[moved as usize].in_batch = entry.in_batch;
        }
    }

    /// Takes an entry that is in no batch out of the list of its size; the entry is unused then.
    fn unlink_from_size(&mut self, nth: u32) {
        let Entry { block, in_size, .. } = self.entries[nth as usize];
        let list = match block.class() {
            Some(class) => &mut self.classes[class],
            None => self.large.entry(block.bytes()).or_default(),
        };
        list.swap_remove(in_size);
        if let Some(&moved) = list.get(in_size) {
            self.entries[moved as usize].in_size = in_size;
        }
        if list.is_empty() && block.class().is_none() {
            self.large.remove(&block.bytes());
        }
        self.unused.push(nth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const KIB: usize = 1 << 10;

    fn addresses(limbo: &mut Limbo<u32>) -> (Option<u32>, Vec<usize>) {
        let mut released = Vec::new();
        let event = limbo.end_oldest(|address| released.push(address));
        (event, released)
    }

    #[test]
    fn a_batch_is_full_by_leases_or_by_bytes() {
        let mut limbo = Limbo::<u32>::new();
        let small = Block::of(100);
        assert!((1..BATCH_LEASES).all(|nth| !limbo.put(nth * 64, small)) && limbo.put(1 << 20, small));
        limbo.seal(1);
        assert!(!limbo.put(1 << 30, Block::of(BATCH_BYTES - 4096)) && limbo.put(1 << 31, Block::of(4096)));
        limbo.seal(2);
        assert_eq!((limbo.held().0, limbo.batches(), limbo.oldest()), (BATCH_LEASES + 2, 2, Some(&1)));
        assert_eq!((addresses(&mut limbo).1.len(), addresses(&mut limbo).0, limbo.held()), (64, Some(2), (0, 0)));
        assert_eq!(addresses(&mut limbo), (None, vec![]));
    }

    #[test]
    fn what_is_taken_again_is_in_no_batch_any_more() {
        let mut limbo = Limbo::<u32>::new();
        for nth in 0..4 {
            limbo.put(1_000 + nth, Block::of(100));
        }
        limbo.seal(7);
        limbo.put(2_000, Block::of(100));
        let mut taken: Vec<usize> = (0..3).filter_map(|_| limbo.take(Block::of(110))).map(|taken| taken.0).collect();
        taken.sort_unstable();
        assert_eq!((taken, limbo.open_leases()), (vec![1_002, 1_003, 2_000], 0), "the last ones first");
        assert_eq!(limbo.take(Block::of(5_000)), None);
        assert_eq!(addresses(&mut limbo), (Some(7), vec![1_000, 1_001]));
        assert_eq!(limbo.take(Block::of(100)), None);
    }

    #[test]
    fn a_large_lease_takes_a_block_of_at_most_an_eighth_more() {
        let mut limbo = Limbo::<u32>::new();
        limbo.put(1, Block::of(900 * KIB));
        limbo.put(2, Block::of(1_024 * KIB));
        assert_eq!(limbo.take(Block::of(1_028 * KIB)), None);
        assert_eq!(limbo.take(Block::of(700 * KIB)), None);
        assert_eq!(limbo.take(Block::of(1_000 * KIB)), Some((2, Block::of(1_024 * KIB))), "with its true length");
        assert_eq!(limbo.take(Block::of(800 * KIB)), Some((1, Block::of(900 * KIB))));
    }

    #[test]
    fn a_batch_that_joins_the_newest_one_ends_with_it() {
        let mut limbo = Limbo::<u32>::new();
        assert!(!limbo.put_into_newest(9, Block::of(64)), "its event has ended");
        limbo.put(1, Block::of(64));
        limbo.seal(5);
        limbo.put(2, Block::of(64));
        limbo.put(3, Block::of(700));
        limbo.join_newest();
        assert!(limbo.put_into_newest(4, Block::of(64)));
        assert_eq!((limbo.open_leases(), limbo.batches(), limbo.newest()), (0, 1, Some(&5)));
        assert_eq!(limbo.take(Block::of(700)), Some((3, Block::of(700))));
        assert_eq!(addresses(&mut limbo), (Some(5), vec![1, 2, 4]));
    }

    #[derive(Debug, Clone)]
    enum Call {
        Put(usize),
        Take(usize),
        Seal,
        Join,
        PutIntoNewest(usize),
        End,
    }

    fn call() -> impl Strategy<Value = Call> {
        let bytes = || prop_oneof![0usize..3_000, 100_000usize..200_000, Just(1usize << 20)];
        prop_oneof![
            6 => bytes().prop_map(Call::Put),
            4 => bytes().prop_map(Call::Take),
            1 => Just(Call::Seal),
            1 => Just(Call::Join),
            1 => bytes().prop_map(Call::PutIntoNewest),
            1 => Just(Call::End),
        ]
    }

    /// Batches as plain lists, the open one last.
    #[derive(Debug)]
    struct Model {
        batches: VecDeque<Vec<(usize, Block)>>,
        /// Of all batches but the open one: numbers in the order in which they were sealed.
        events: VecDeque<u32>,
        next: usize,
    }

    impl Model {
        fn run(&mut self, limbo: &mut Limbo<u32>, call: &Call) {
            self.next += 1;
            let newest = self.batches.len().checked_sub(2);
            match *call {
                Call::Put(bytes) => {
                    let full = limbo.put(self.next, Block::of(bytes));
                    let open = self.batches.back_mut().expect("open");
                    open.push((self.next, Block::of(bytes)));
                    let sum: usize = open.iter().map(|entry| entry.1.bytes()).sum();
                    assert_eq!(full, open.len() >= 64 || sum >= 8 << 20);
                }
                Call::PutIntoNewest(bytes) => {
                    assert_eq!(limbo.put_into_newest(self.next, Block::of(bytes)), newest.is_some());
                    newest.into_iter().for_each(|nth| self.batches[nth].push((self.next, Block::of(bytes))));
                }
                Call::Take(bytes) => self.take(limbo, Block::of(bytes)),
                Call::Seal => {
                    limbo.seal(self.next as u32);
                    self.events.push_back(self.next as u32);
                    self.batches.push_back(Vec::new());
                }
                Call::Join => {
                    limbo.join_newest();
                    if let Some(nth) = newest {
                        let open = std::mem::take(self.batches.back_mut().expect("open"));
                        self.batches[nth].extend(open);
                    }
                }
                Call::End => {
                    let (event, released) = addresses(limbo);
                    assert_eq!(event, self.events.pop_front());
                    let released: BTreeSet<usize> = released.into_iter().collect();
                    let ended = if newest.is_some() { self.batches.pop_front().unwrap_or_default() } else { vec![] };
                    assert_eq!(released, ended.iter().map(|entry| entry.0).collect());
                }
            }
            let all = self.batches.iter().flatten();
            let held = all.fold((0, 0), |(leases, bytes), entry| (leases + 1, bytes + entry.1.bytes()));
            assert_eq!((limbo.held(), limbo.batches()), (held, self.batches.len() - 1));
            assert_eq!((limbo.oldest(), limbo.newest()), (self.events.front(), self.events.back()));
        }

        fn take(&mut self, limbo: &mut Limbo<u32>, block: Block) {
            let most = if block.class().is_some() { block.bytes() } else { block.bytes() + block.bytes() / 8 };
            let fits = |other: &Block| (block.bytes()..=most).contains(&other.bytes());
            match limbo.take(block) {
                None => assert!(!self.batches.iter().flatten().any(|entry| fits(&entry.1))),
                Some(taken) => {
                    assert!(fits(&taken.1));
                    let batch = self.batches.iter_mut().find(|batch| batch.contains(&taken)).expect("was put");
                    batch.retain(|entry| *entry != taken);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_like_lists_of_batches(calls in prop::collection::vec(call(), 1..200)) {
            let mut limbo = Limbo::new();
            let mut model = Model { batches: VecDeque::from([Vec::new()]), events: VecDeque::new(), next: 0 };
            calls.iter().for_each(|call| model.run(&mut limbo, call));
        }
    }
}
