//! The unpacked remote keys of all endpoints, under one limit. UCX wants a key until the last get that was begun with
//! it has ended.

use std::collections::{BTreeMap, HashMap};

use sluice_transport::Endpoint;

/// A key in the cache; numbers are never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct KeyId(u64);

struct Entry<K> {
    key: K,
    endpoint: Endpoint,
    packed: Box<[u8]>,
    /// Gets under way that were begun with it.
    gets: usize,
    /// Its place in the order of last use; none while there are gets.
    idle: Option<u64>,
    /// Whether the endpoint has been closed: it is destroyed when the last get has ended.
    closed: bool,
}

/// Keys by endpoint and packed bytes. Beyond the limit, the one that was used least recently and that no get needs is
/// given up: there are never more than the limit and the gets under way.
pub(super) struct KeyCache<K> {
    limit: usize,
    entries: HashMap<KeyId, Entry<K>>,
    by_bytes: HashMap<Endpoint, HashMap<Box<[u8]>, KeyId>>,
    /// Keys without gets, the one used least recently first.
    idle: BTreeMap<u64, KeyId>,
    /// Of keys and of uses.
    next: u64,
}

impl<K: Copy> KeyCache<K> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, entries: HashMap::new(), by_bytes: HashMap::new(), idle: BTreeMap::new(), next: 0 }
    }

    pub(super) fn find(&self, endpoint: Endpoint, packed: &[u8]) -> Option<KeyId> {
        self.by_bytes.get(&endpoint)?.get(packed).copied()
    }

    /// Keeps a key that is not there yet, and returns those to destroy.
    #[must_use]
    pub(super) fn insert(&mut self, endpoint: Endpoint, packed: &[u8], key: K) -> (KeyId, Vec<K>) {
        let mut over = Vec::new();
        while self.entries.len() >= self.limit
            && let Some((_, oldest)) = self.idle.pop_first()
        {
            over.extend(self.forget(oldest));
        }
        self.next += 1;
        let id = KeyId(self.next);
        let packed: Box<[u8]> = packed.into();
        self.by_bytes.entry(endpoint).or_default().insert(packed.clone(), id);
        self.idle.insert(self.next, id);
        self.entries.insert(id, Entry { key, endpoint, packed, gets: 0, idle: Some(self.next), closed: false });
        (id, over)
    }

    /// A get is to begin with this key, which stays until [`KeyCache::ended`].
    pub(super) fn begin(&mut self, id: KeyId) -> Option<K> {
        let entry = self.entries.get_mut(&id)?;
        entry.gets += 1;
        entry.idle.take().into_iter().for_each(|place| _ = self.idle.remove(&place));
        Some(entry.key)
    }

    /// A get has ended. Returns the keys to destroy.
    #[must_use]
    pub(super) fn ended(&mut self, id: KeyId) -> Vec<K> {
        let over = self.entries.len() > self.limit;
        let Some(entry) = self.entries.get_mut(&id) else { return Vec::new() };
        entry.gets -= 1;
        if entry.gets > 0 {
            return Vec::new();
        }
        if entry.closed || over {
            return self.forget(id).into_iter().collect();
        }
        self.next += 1;
        entry.idle = Some(self.next);
        self.idle.insert(self.next, id);
        Vec::new()
    }

    /// The endpoint is closed. Returns the keys to destroy; those that gets need follow when these have ended.
    #[must_use]
    pub(super) fn close(&mut self, endpoint: Endpoint) -> Vec<K> {
        let ids: Vec<KeyId> = self.by_bytes.remove(&endpoint).unwrap_or_default().into_values().collect();
        let mut unused = Vec::new();
        for id in ids {
            match self.entries.get_mut(&id) {
                Some(entry) if entry.gets > 0 => entry.closed = true,
                _ => unused.extend(self.forget(id)),
            }
        }
        unused
    }

    fn forget(&mut self, id: KeyId) -> Option<K> {
        let entry = self.entries.remove(&id)?;
        entry.idle.into_iter().for_each(|place| _ = self.idle.remove(&place));
        if let Some(keys) = self.by_bytes.get_mut(&entry.endpoint) {
            keys.remove(&entry.packed);
            if keys.is_empty() {
                self.by_bytes.remove(&entry.endpoint);
            }
        }
        Some(entry.key)
    }

    /// All of them: no get is under way any more.
    pub(super) fn drain(&mut self) -> Vec<K> {
        self.by_bytes.clear();
        self.idle.clear();
        self.entries.drain().map(|(_, entry)| entry.key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 100;

    fn packed(key: u32) -> [u8; 4] {
        key.to_le_bytes()
    }

    /// A key that is found or made; those that are destroyed for it are added.
    fn begin(keys: &mut KeyCache<u32>, endpoint: Endpoint, key: u32, destroyed: &mut Vec<u32>) -> KeyId {
        let id = keys.find(endpoint, &packed(key)).unwrap_or_else(|| {
            let (id, over) = keys.insert(endpoint, &packed(key), key);
            destroyed.extend(over);
            id
        });
        assert_eq!(keys.begin(id), Some(key));
        id
    }

    #[test]
    fn one_limit_holds_for_all_endpoints_and_no_key_is_destroyed_twice_or_under_a_get() {
        let (mut keys, mut destroyed) = (KeyCache::new(LIMIT), Vec::new());
        let mut under_way = std::collections::VecDeque::new();
        for key in 0..10_000u32 {
            under_way.push_back((key, begin(&mut keys, Endpoint(u64::from(key % 50)), key, &mut destroyed)));
            if under_way.len() > 3 {
                let (_, id) = under_way.pop_front().expect("there");
                destroyed.extend(keys.ended(id));
            }
            assert!(under_way.iter().all(|(key, _)| !destroyed.contains(key)), "{key}");
            assert!(keys.entries.len() <= LIMIT, "{} keys", keys.entries.len());
        }
        under_way.drain(..).for_each(|(_, id)| destroyed.extend(keys.ended(id)));
        destroyed.extend(keys.drain());
        destroyed.sort_unstable();
        assert_eq!(destroyed, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn the_key_used_least_recently_goes_first() {
        let (mut keys, mut destroyed) = (KeyCache::new(3), Vec::new());
        for key in [1, 2, 3, 1, 4] {
            let id = begin(&mut keys, Endpoint(0), key, &mut destroyed);
            destroyed.extend(keys.ended(id));
        }
        assert_eq!(destroyed, [2]);
        assert!([1, 3, 4].iter().all(|key| keys.find(Endpoint(0), &packed(*key)).is_some()));
    }

    /// A get that does not end keeps its own key only.
    #[test]
    fn keys_beyond_the_limit_are_those_of_gets_under_way() {
        let (mut keys, mut destroyed) = (KeyCache::new(2), Vec::new());
        let ids: Vec<KeyId> = (0..5).map(|key| begin(&mut keys, Endpoint(0), key, &mut destroyed)).collect();
        assert_eq!((keys.entries.len(), destroyed.len()), (5, 0));
        ids[1..].iter().for_each(|id| destroyed.extend(keys.ended(*id)));
        assert_eq!((keys.entries.len(), destroyed.len()), (2, 3));
        assert!(keys.find(Endpoint(0), &packed(0)).is_some());
    }

    #[test]
    fn keys_of_a_closed_endpoint_go_when_their_gets_have_ended() {
        let (mut keys, mut destroyed) = (KeyCache::new(LIMIT), Vec::new());
        let [used, unused, others] = [(0, 1), (0, 2), (1, 1)].map(|(endpoint, key)| {
            let id = begin(&mut keys, Endpoint(endpoint), key, &mut destroyed);
            (endpoint, key, id)
        });
        for (_, _, id) in [unused, others] {
            assert_eq!(keys.ended(id), []);
        }
        assert_eq!(keys.close(Endpoint(0)), [2]);
        assert_eq!(keys.find(Endpoint(0), &packed(1)), None, "a closed endpoint has no keys");
        assert_eq!(keys.ended(used.2), [1]);
        assert!(keys.find(Endpoint(1), &packed(1)).is_some());
    }
}
