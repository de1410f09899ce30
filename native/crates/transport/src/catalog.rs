//! What this process has published: map outputs, by shuffle and map.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::inbox::Inbox;
use crate::message::Block;

/// Bytes of offsets that are kept in memory: 4 for each partition of each output, 8 where the output has 4 GiB or more.
/// Beyond that they are read from Spark's index files when a reader asks, which takes a few microseconds a block: 16
/// million (map, partition) pairs are a large shuffle.
const KEPT_BYTES: usize = 64 << 20;

/// One publication; a number is never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OutputId(u64);

/// A committed map output: a file and where its partitions lie in it.
#[derive(Debug)]
pub(crate) struct PublishedOutput {
    pub(crate) id: OutputId,
    pub(crate) path: PathBuf,
    offsets: Offsets,
    bytes: u64,
}

/// Where a block lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// From the first byte to before the second; `None` if the output has no such partitions.
    Known(Option<(u64, u64)>),
    /// To be read from Spark's index file ([`PublishedOutput::extent_in_file`]).
    InFile,
}

/// Where each partition begins, and where the last ends: partitions + 1 numbers, ascending.
#[derive(Debug, Clone)]
enum Offsets {
    Kept(Arc<[u64]>),
    /// Of an output of less than 4 GiB.
    KeptNarrow(Arc<[u32]>),
    /// In Spark's index file: big-endian numbers of 64 bits. How many partitions there are.
    InFile(Arc<Path>, u32),
}

impl Offsets {
    /// Of an output with so many bytes.
    fn kept(offsets: &[u64], bytes: u64) -> Self {
        if bytes > u64::from(u32::MAX) {
            return Self::Kept(offsets.into());
        }
        // None is above the last.
        Self::KeptNarrow(offsets.iter().map(|offset| *offset as u32).collect())
    }

    /// Where a partition begins, or the last one ends; `None` beyond that, and for those in a file.
    fn get(&self, partition: u32) -> Option<u64> {
        match self {
            Self::Kept(offsets) => offsets.get(partition as usize).copied(),
            Self::KeptNarrow(offsets) => offsets.get(partition as usize).copied().map(u64::from),
            Self::InFile(..) => None,
        }
    }

    fn kept_bytes(&self) -> usize {
        match self {
            Self::Kept(offsets) => size_of_val(&**offsets),
            Self::KeptNarrow(offsets) => size_of_val(&**offsets),
            Self::InFile(..) => 0,
        }
    }
}

impl PublishedOutput {
    /// Where the block lies in the file, if that is known without reading another file.
    pub(crate) fn extent(&self, block: &Block) -> Extent {
        match &self.offsets {
            Offsets::InFile(_, partitions) if block.end > *partitions => Extent::Known(None),
            Offsets::InFile(..) => Extent::InFile,
            kept => {
                let ends = kept.get(block.first).zip(kept.get(block.end));
                Extent::Known(ends.filter(|ends| self.is_extent(block, *ends)))
            }
        }
    }

    /// The same for [`Extent::InFile`]: reads Spark's index file, and may wait for its disk. `None` when that cannot be
    /// read.
    pub(crate) fn extent_in_file(&self, block: &Block) -> Option<(u64, u64)> {
        let Offsets::InFile(index, _) = &self.offsets else { return None };
        read_offsets(index, block).ok().filter(|ends| self.is_extent(block, *ends))
    }

    fn is_extent(&self, block: &Block, (first, end): (u64, u64)) -> bool {
        block.first <= block.end && first <= end && end <= self.bytes
    }

    /// Where the last partition ends.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn read_offsets(index: &Path, block: &Block) -> io::Result<(u64, u64)> {
    let file = File::open(index)?;
    let offset_of = |partition: u32| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, u64::from(partition) * 8)?;
        io::Result::Ok(u64::from_be_bytes(bytes))
    };
    Ok((offset_of(block.first)?, offset_of(block.end)?))
}

/// All publications. Any thread may call anything.
#[derive(Debug)]
pub struct Catalog {
    state: Mutex<State>,
    most_kept_bytes: usize,
    next: AtomicU64,
    /// For the agent: what was changed, in the order in which it was. Appended under the lock.
    changes: Inbox<Change>,
}

/// A change of the catalog.
#[derive(Debug)]
enum Change {
    /// A map of a shuffle has this output now, or none.
    Output(u32, u64, Option<Arc<PublishedOutput>>),
    /// A shuffle has no output any more.
    Shuffle(u32),
}

#[derive(Debug, Default)]
struct State {
    shuffles: HashMap<u32, HashMap<u64, Arc<PublishedOutput>>>,
    kept_bytes: usize,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::keeping(KEPT_BYTES)
    }
}

impl Catalog {
    /// Keeps so many bytes of offsets in memory.
    pub(crate) fn keeping(most_kept_bytes: usize) -> Self {
        let (state, next, changes) = Default::default();
        Self { state, most_kept_bytes, next, changes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Consistent between any two statements below, so a poisoned lock is still good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an output; one of the same map replaces it. Returns the one replaced. `index` is a file with the same
    /// offsets, as Spark writes it; without one they are kept in memory in any case.
    ///
    /// # Errors
    /// `offsets` is empty or descends: a bug in the caller.
    pub(crate) fn publish(
        &self,
        shuffle: u32,
        map: u64,
        path: PathBuf,
        index: Option<PathBuf>,
        offsets: Vec<u64>,
    ) -> Result<Option<Arc<PublishedOutput>>, String> {
        let partitions = offsets.len().checked_sub(1).and_then(|partitions| u32::try_from(partitions).ok());
        let (Some(partitions), true) = (partitions, offsets.is_sorted()) else {
            return Err(format!("the offsets of map {map} of shuffle {shuffle} are empty, too many, or descend"));
        };
        let bytes = offsets[partitions as usize];
        let kept = Offsets::kept(&offsets, bytes);
        drop(offsets);
        let mut state = self.lock();
        let room = state.kept_bytes + kept.kept_bytes() <= self.most_kept_bytes;
        let offsets = match index {
            Some(index) if !room => Offsets::InFile(index.into(), partitions),
            _ => kept,
        };
        let id = OutputId(self.next.fetch_add(1, Ordering::Relaxed));
        state.kept_bytes += offsets.kept_bytes();
        let output = Arc::new(PublishedOutput { id, path, offsets, bytes });
        self.changes.append(Change::Output(shuffle, map, Some(Arc::clone(&output))));
        let replaced = state.shuffles.entry(shuffle).or_default().insert(map, output);
        state.forget(replaced.iter());
        Ok(replaced)
    }

    /// Publishes an output anew, because its file lies elsewhere now behind the same path. Returns the one replaced.
    pub(crate) fn renew(&self, shuffle: u32, map: u64) -> Option<Arc<PublishedOutput>> {
        let mut state = self.lock();
        let known = state.shuffles.get_mut(&shuffle)?.get_mut(&map)?;
        let id = OutputId(self.next.fetch_add(1, Ordering::Relaxed));
        let (path, offsets, bytes) = (known.path.clone(), known.offsets.clone(), known.bytes);
        let output = Arc::new(PublishedOutput { id, path, offsets, bytes });
        self.changes.append(Change::Output(shuffle, map, Some(Arc::clone(&output))));
        Some(std::mem::replace(known, output))
    }

    pub(crate) fn find(&self, shuffle: u32, map: u64) -> Option<Arc<PublishedOutput>> {
        self.lock().shuffles.get(&shuffle)?.get(&map).cloned()
    }

    /// How many are published.
    pub(crate) fn outputs(&self) -> usize {
        self.lock().shuffles.values().map(HashMap::len).sum()
    }

    pub(crate) fn withdraw(&self, shuffle: u32, map: u64) -> Option<Arc<PublishedOutput>> {
        let mut state = self.lock();
        let outputs = state.shuffles.get_mut(&shuffle)?;
        let withdrawn = outputs.remove(&map);
        self.changes.append(Change::Output(shuffle, map, None));
        if outputs.is_empty() {
            state.shuffles.remove(&shuffle);
        }
        state.forget(withdrawn.iter());
        withdrawn
    }

    pub(crate) fn withdraw_shuffle(&self, shuffle: u32) -> Vec<Arc<PublishedOutput>> {
        let mut state = self.lock();
        let outputs = state.shuffles.remove(&shuffle).unwrap_or_default();
        self.changes.append(Change::Shuffle(shuffle));
        state.forget(outputs.values());
        outputs.into_values().collect()
    }
}

/// The agent's own copy of a catalog: it finds outputs without a lock, which a thread that publishes might hold. There
/// is one of a catalog.
pub(crate) struct CatalogView {
    catalog: Arc<Catalog>,
    shuffles: HashMap<u32, HashMap<u64, Arc<PublishedOutput>>>,
}

impl CatalogView {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, shuffles: HashMap::new() }
    }

    /// The output of a map, as the calls that have returned have left it.
    pub(crate) fn find(&mut self, shuffle: u32, map: u64) -> Option<&Arc<PublishedOutput>> {
        self.refresh();
        self.shuffles.get(&shuffle)?.get(&map)
    }

    /// Makes the changes since the last call. To be called now and then, because they take memory until then.
    pub(crate) fn refresh(&mut self) {
        for change in self.catalog.changes.take() {
            match change {
                Change::Output(shuffle, map, Some(output)) => {
                    self.shuffles.entry(shuffle).or_default().insert(map, output);
                }
                Change::Output(shuffle, map, None) => self.remove(shuffle, map),
                Change::Shuffle(shuffle) => _ = self.shuffles.remove(&shuffle),
            }
        }
    }

    fn remove(&mut self, shuffle: u32, map: u64) {
        let Some(outputs) = self.shuffles.get_mut(&shuffle) else { return };
        outputs.remove(&map);
        if outputs.is_empty() {
            self.shuffles.remove(&shuffle);
        }
    }
}

impl State {
    fn forget<'a>(&mut self, outputs: impl Iterator<Item = &'a Arc<PublishedOutput>>) {
        self.kept_bytes -= outputs.map(|output| output.offsets.kept_bytes()).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a block lies, wherever that is written.
    fn extent(output: &PublishedOutput, block: &Block) -> Option<(u64, u64)> {
        match output.extent(block) {
            Extent::Known(extent) => extent,
            Extent::InFile => output.extent_in_file(block),
        }
    }

    fn block(first: u32, end: u32) -> Block {
        Block { shuffle: 1, map: 7, first, end }
    }

    #[test]
    fn outputs_are_counted_until_they_are_withdrawn() {
        let catalog = Catalog::default();
        for (shuffle, map, outputs) in [(1, 7, 1), (1, 8, 2), (2, 9, 3), (1, 7, 3)] {
            catalog.publish(shuffle, map, "f".into(), None, vec![0, 10]).expect("good");
            assert_eq!(catalog.outputs(), outputs);
        }
        catalog.renew(2, 9);
        assert_eq!(catalog.outputs(), 3);
        catalog.withdraw(1, 8);
        catalog.withdraw(1, 8);
        assert_eq!(catalog.outputs(), 2);
        catalog.withdraw_shuffle(2);
        catalog.withdraw_shuffle(1);
        assert_eq!(catalog.outputs(), 0);
    }

    #[test]
    fn extents_are_those_of_the_offsets() {
        let catalog = Catalog::default();
        assert!(catalog.publish(1, 7, "f".into(), None, vec![0, 10, 10, 30]).expect("good").is_none());
        let output = catalog.find(1, 7).expect("published");
        assert_eq!(output.bytes(), 30);
        let cases = [
            (block(0, 1), Some((0, 10))),
            (block(0, 3), Some((0, 30))),
            (block(1, 2), Some((10, 10))),
            (block(3, 3), Some((30, 30))),
            (block(2, 1), None),
            (block(2, 4), None),
            (block(u32::MAX, u32::MAX), None),
        ];
        for (block, expected) in cases {
            assert_eq!(extent(&output, &block), expected, "{block:?}");
        }
    }

    #[test]
    fn a_withdrawn_or_replaced_output_is_returned_once() {
        let catalog = Catalog::default();
        catalog.publish(1, 7, "f".into(), None, vec![0]).expect("good");
        let first = catalog.find(1, 7).expect("there").id;
        let replaced = catalog.publish(1, 7, "g".into(), None, vec![0]).expect("good");
        assert_eq!(replaced.map(|output| output.id), Some(first));
        catalog.publish(1, 8, "h".into(), None, vec![0]).expect("good");
        assert!(catalog.withdraw(1, 7).is_some());
        assert!(catalog.withdraw(1, 7).is_none());
        assert_eq!(catalog.withdraw_shuffle(1).len(), 1);
        assert!(catalog.withdraw_shuffle(1).is_empty());
        assert!(catalog.find(1, 8).is_none());
    }

    #[test]
    fn renewing_makes_another_publication_with_the_same_extents() {
        let catalog = Catalog::default();
        assert!(catalog.renew(1, 7).is_none());
        catalog.publish(1, 7, "f".into(), None, vec![0, 10, 30]).expect("good");
        let before = catalog.find(1, 7).expect("there");
        let replaced = catalog.renew(1, 7).expect("there");
        let after = catalog.find(1, 7).expect("there");
        assert_eq!(replaced.id, before.id);
        assert_ne!(after.id, before.id);
        assert_eq!((extent(&after, &block(1, 2)), &after.path), (Some((10, 30)), &before.path));
    }

    #[test]
    fn a_view_finds_what_the_catalog_has_while_another_thread_holds_its_lock() {
        const ASKED: [(u32, u64); 4] = [(1, 1), (1, 2), (1, 3), (2, 1)];
        let catalog = Arc::new(Catalog::default());
        let mut view = CatalogView::new(Arc::clone(&catalog));
        for (shuffle, map) in ASKED {
            catalog.publish(shuffle, map, "f".into(), None, vec![0, 10]).expect("good");
        }
        catalog.withdraw(1, 2).expect("there");
        catalog.renew(1, 3).expect("there");
        catalog.withdraw_shuffle(2);
        let expected = ASKED.map(|(shuffle, map)| catalog.find(shuffle, map).map(|output| output.id));
        let publisher = catalog.lock();
        let found = ASKED.map(|(shuffle, map)| view.find(shuffle, map).map(|output| output.id));
        drop(publisher);
        assert_eq!(found, expected);
        assert_eq!(found.map(|id| id.is_some()), [true, false, true, false]);
        assert_eq!(view.shuffles.len(), 1, "nothing stays of a shuffle that is gone");
    }

    /// 1,000,000 reducers on an executor with 100 maps would be 400 MB of offsets.
    #[test]
    fn offsets_beyond_what_is_kept_are_read_from_spark_s_index_files() {
        const PARTITIONS: u64 = 1_000_000;
        let folder = std::env::temp_dir().join(format!("sluice-catalog-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let index = folder.join("index");
        // Every other partition is empty.
        let offsets: Vec<u64> = (0..=PARTITIONS).map(|partition| partition / 2 * 7).collect();
        std::fs::write(&index, offsets.iter().flat_map(|offset| offset.to_be_bytes()).collect::<Vec<u8>>())
            .expect("written");
        let catalog = Catalog::keeping(20 << 20);
        for map in 0..100 {
            catalog.publish(1, map, "f".into(), Some(index.clone()), offsets.clone()).expect("good");
        }
        assert_eq!(catalog.lock().kept_bytes, 5 * 4 * (PARTITIONS as usize + 1), "five outputs fit");
        let last = PARTITIONS as u32;
        for (first, end) in [(0, 1), (1, 2), (499_999, 500_001), (last - 1, last), (0, last), (last, last)] {
            let expected = Some((offsets[first as usize], offsets[end as usize]));
            for map in [0, 4, 5, 99] {
                let output = catalog.find(1, map).expect("there");
                assert_eq!(extent(&output, &block(first, end)), expected, "{first} {end} {map}");
            }
        }
        for bad in [block(2, 1), block(last, last + 1), block(u32::MAX, u32::MAX)] {
            assert_eq!(extent(&catalog.find(1, 99).expect("there"), &bad), None, "{bad:?}");
        }
        // An index that is of another output, too short, or gone.
        std::fs::write(&index, [0xff; 16]).expect("written");
        assert_eq!(extent(&catalog.find(1, 99).expect("there"), &block(0, 1)), None);
        assert_eq!(extent(&catalog.find(1, 99).expect("there"), &block(1, 2)), None);
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(extent(&catalog.find(1, 99).expect("there"), &block(0, 1)), None);
        assert!(extent(&catalog.find(1, 0).expect("there"), &block(0, 1)).is_some(), "kept ones need no file");
        // A withdrawn output makes room again; offsets of an output without an index file stay in memory in any case.
        catalog.publish(1, 99, "f".into(), None, vec![0; 1000]).expect("good");
        catalog.renew(1, 99).expect("there");
        catalog.withdraw(1, 0).expect("there");
        assert_eq!(catalog.lock().kept_bytes, 4 * 4 * (PARTITIONS as usize + 1) + 4000);
        catalog.withdraw_shuffle(1);
        assert_eq!(catalog.lock().kept_bytes, 0);
    }

    #[test]
    fn offsets_of_large_outputs_are_kept_whole() {
        const NARROW: u64 = u32::MAX as u64;
        let catalog = Catalog::default();
        for (map, end, bytes) in [(7, NARROW, 4), (8, NARROW + 1, 8), (9, 3 * NARROW, 8)] {
            let before = catalog.lock().kept_bytes;
            catalog.publish(1, map, "f".into(), None, vec![0, end - 1, end]).expect("good");
            assert_eq!(catalog.lock().kept_bytes - before, 3 * bytes);
            let output = catalog.find(1, map).expect("there");
            assert_eq!(extent(&output, &block(0, 1)), Some((0, end - 1)));
            assert_eq!(extent(&output, &block(1, 2)), Some((end - 1, end)));
            assert_eq!(extent(&output, &block(2, 3)), None);
        }
    }

    #[test]
    fn bad_offsets_are_refused() {
        let catalog = Catalog::default();
        assert!(catalog.publish(1, 1, "f".into(), None, vec![]).is_err());
        assert!(catalog.publish(1, 1, "f".into(), None, vec![0, 5, 4]).is_err());
        assert!(catalog.find(1, 1).is_none());
    }
}
