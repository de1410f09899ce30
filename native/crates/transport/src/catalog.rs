//! What this process has published: map outputs, by shuffle and map.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::Block;

/// One publication; a number is never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OutputId(u64);

/// A committed map output: a file and where its partitions lie in it. 8 bytes of memory per partition.
#[derive(Debug)]
pub(crate) struct MapOutput {
    pub(crate) id: OutputId,
    pub(crate) path: PathBuf,
    /// Partitions + 1, ascending.
    offsets: Arc<[u64]>,
}

impl MapOutput {
    /// The bytes of the block in the file, or `None` for partitions that there are not.
    pub(crate) fn extent(&self, block: &Block) -> Option<(u64, u64)> {
        let first = *self.offsets.get(block.first as usize)?;
        let end = *self.offsets.get(block.end as usize)?;
        (block.first <= block.end).then_some((first, end))
    }

    /// Where the last partition ends.
    pub(crate) fn bytes(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }
}

/// All publications. Any thread may call anything.
#[derive(Debug, Default)]
pub struct Catalog {
    shuffles: Mutex<HashMap<u32, HashMap<u64, Arc<MapOutput>>>>,
    next: AtomicU64,
}

impl Catalog {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, HashMap<u64, Arc<MapOutput>>>> {
        // Consistent between any two statements below, so a poisoned lock is still good.
        self.shuffles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an output; one of the same map replaces it. Returns the one replaced.
    ///
    /// # Errors
    /// `offsets` is empty or descends: a bug in the caller.
    pub(crate) fn publish(
        &self,
        shuffle: u32,
        map: u64,
        path: PathBuf,
        offsets: Vec<u64>,
    ) -> Result<Option<Arc<MapOutput>>, String> {
        if offsets.is_empty() || !offsets.is_sorted() {
            return Err(format!("the offsets of map {map} of shuffle {shuffle} are empty or descend"));
        }
        let id = OutputId(self.next.fetch_add(1, Ordering::Relaxed));
        let output = Arc::new(MapOutput { id, path, offsets: offsets.into() });
        Ok(self.lock().entry(shuffle).or_default().insert(map, output))
    }

    /// Publishes an output anew, because its file lies elsewhere now behind the same path. Returns the one replaced.
    pub(crate) fn renew(&self, shuffle: u32, map: u64) -> Option<Arc<MapOutput>> {
        let mut shuffles = self.lock();
        let known = shuffles.get_mut(&shuffle)?.get_mut(&map)?;
        let id = OutputId(self.next.fetch_add(1, Ordering::Relaxed));
        let renewed = MapOutput { id, path: known.path.clone(), offsets: Arc::clone(&known.offsets) };
        Some(std::mem::replace(known, Arc::new(renewed)))
    }

    pub(crate) fn find(&self, shuffle: u32, map: u64) -> Option<Arc<MapOutput>> {
        self.lock().get(&shuffle)?.get(&map).cloned()
    }

    pub(crate) fn withdraw(&self, shuffle: u32, map: u64) -> Option<Arc<MapOutput>> {
        let mut shuffles = self.lock();
        let outputs = shuffles.get_mut(&shuffle)?;
        let withdrawn = outputs.remove(&map);
        if outputs.is_empty() {
            shuffles.remove(&shuffle);
        }
        withdrawn
    }

    pub(crate) fn withdraw_shuffle(&self, shuffle: u32) -> Vec<Arc<MapOutput>> {
        let outputs = self.lock().remove(&shuffle).unwrap_or_default();
        outputs.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(first: u32, end: u32) -> Block {
        Block { shuffle: 1, map: 7, first, end }
    }

    #[test]
    fn extents_are_those_of_the_offsets() {
        let catalog = Catalog::default();
        assert!(catalog.publish(1, 7, "f".into(), vec![0, 10, 10, 30]).expect("good").is_none());
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
            assert_eq!(output.extent(&block), expected, "{block:?}");
        }
    }

    #[test]
    fn what_is_withdrawn_or_replaced_is_named_once() {
        let catalog = Catalog::default();
        catalog.publish(1, 7, "f".into(), vec![0]).expect("good");
        let first = catalog.find(1, 7).expect("there").id;
        let replaced = catalog.publish(1, 7, "g".into(), vec![0]).expect("good");
        assert_eq!(replaced.map(|output| output.id), Some(first));
        catalog.publish(1, 8, "h".into(), vec![0]).expect("good");
        assert!(catalog.withdraw(1, 7).is_some());
        assert!(catalog.withdraw(1, 7).is_none());
        assert_eq!(catalog.withdraw_shuffle(1).len(), 1);
        assert!(catalog.withdraw_shuffle(1).is_empty());
        assert!(catalog.find(1, 8).is_none());
    }

    #[test]
    fn what_is_renewed_is_another_publication_of_the_same_extents() {
        let catalog = Catalog::default();
        assert!(catalog.renew(1, 7).is_none());
        catalog.publish(1, 7, "f".into(), vec![0, 10, 30]).expect("good");
        let before = catalog.find(1, 7).expect("there");
        let replaced = catalog.renew(1, 7).expect("there");
        let after = catalog.find(1, 7).expect("there");
        assert_eq!(replaced.id, before.id);
        assert_ne!(after.id, before.id);
        assert_eq!((after.extent(&block(1, 2)), &after.path), (Some((10, 30)), &before.path));
    }

    #[test]
    fn bad_offsets_are_refused() {
        let catalog = Catalog::default();
        assert!(catalog.publish(1, 1, "f".into(), vec![]).is_err());
        assert!(catalog.publish(1, 1, "f".into(), vec![0, 5, 4]).is_err());
        assert!(catalog.find(1, 1).is_none());
    }
}
