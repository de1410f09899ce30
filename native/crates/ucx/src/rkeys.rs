//! The unpacked remote keys of one endpoint. UCX wants a key until the last read that was begun with it has ended.

use std::collections::HashMap;

/// Keys of a generation; then another begins.
const GENERATION_KEYS: usize = 4096;

/// Keys by their packed bytes, in two generations: of the present one keys are taken, the retired one is destroyed when the last
/// read that was begun with a key of it has ended.
pub(crate) struct Rkeys<K> {
    present: HashMap<Vec<u8>, K>,
    generation: u64,
    /// Reads under way that were begun in this generation.
    gets: usize,
    retired: Vec<K>,
    /// Reads under way that were begun in the retired one.
    retired_gets: usize,
}

impl<K> Default for Rkeys<K> {
    fn default() -> Self {
        Self { present: HashMap::new(), generation: 0, gets: 0, retired: Vec::new(), retired_gets: 0 }
    }
}

impl<K: Copy> Rkeys<K> {
    pub(crate) fn get(&self, packed: &[u8]) -> Option<K> {
        self.present.get(packed).copied()
    }

    /// Keeps a key. Returns those to destroy.
    #[must_use]
    pub(crate) fn insert(&mut self, packed: &[u8], key: K) -> Vec<K> {
        if self.present.len() >= GENERATION_KEYS && self.retired.is_empty() {
            self.retired = self.present.drain().map(|(_, key)| key).collect();
            self.retired_gets = std::mem::take(&mut self.gets);
            self.generation += 1;
        }
        self.present.insert(packed.to_vec(), key);
        self.unused()
    }

    /// A read with a key of [`Rkeys::get`] or [`Rkeys::insert`] begins; the number is for its end.
    pub(crate) fn begun(&mut self) -> u64 {
        self.gets += 1;
        self.generation
    }

    /// A read has ended. Returns the keys to destroy.
    #[must_use]
    pub(crate) fn ended(&mut self, generation: u64) -> Vec<K> {
        if generation == self.generation {
            self.gets -= 1;
        } else {
            self.retired_gets -= 1;
        }
        self.unused()
    }

    fn unused(&mut self) -> Vec<K> {
        if self.retired_gets == 0 { std::mem::take(&mut self.retired) } else { Vec::new() }
    }

    /// All of them: the endpoint is closed.
    pub(crate) fn into_all(self) -> Vec<K> {
        self.present.into_values().chain(self.retired).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u32 = 3 * GENERATION_KEYS as u32;

    fn packed(key: u32) -> [u8; 4] {
        key.to_le_bytes()
    }

    #[test]
    fn keys_are_destroyed_once_and_never_under_a_read() {
        let mut keys = Rkeys::default();
        let mut destroyed = Vec::new();
        // Each read ends when two others have begun, as under a steady load: there is always one under way.
        let mut under_way = std::collections::VecDeque::new();
        for key in 0..MANY {
            destroyed.extend(keys.insert(&packed(key), key));
            assert_eq!(keys.get(&packed(key)), Some(key));
            under_way.push_back((key, keys.begun()));
            if under_way.len() > 2 {
                let (_, generation) = under_way.pop_front().expect("there");
                destroyed.extend(keys.ended(generation));
            }
            assert!(under_way.iter().all(|(key, _)| !destroyed.contains(key)));
        }
        assert_eq!(destroyed.len(), 2 * GENERATION_KEYS, "the first two generations");
        destroyed.extend(keys.into_all());
        destroyed.sort_unstable();
        assert_eq!(destroyed, (0..MANY).collect::<Vec<_>>());
    }

    #[test]
    fn a_read_that_does_not_end_keeps_its_generation_and_no_more_are_retired() {
        let mut keys = Rkeys::default();
        assert_eq!(keys.insert(&packed(0), 0), []);
        let stuck = keys.begun();
        for key in 1..MANY {
            assert_eq!(keys.insert(&packed(key), key), []);
        }
        let freed = keys.ended(stuck);
        assert_eq!(freed.len(), GENERATION_KEYS);
        assert!(freed.contains(&0));
    }
}
