//! The unpacked remote keys of all endpoints, under limits of their number and of their bytes. UCX wants a key until
//! the last get that was begun with it has ended.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use sluice_transport::Endpoint;

/// A key in the cache; numbers are never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct KeyId(u64);

/// What is kept at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyLimits {
    /// Keys of all endpoints.
    pub(super) keys: usize,
    /// Bytes of these, as [`bytes_of`] counts them.
    pub(super) bytes: usize,
    /// Bytes of one endpoint's keys, so that one peer does not drive out the keys of the others.
    pub(super) endpoint_bytes: usize,
}

/// What an unpacked key takes beside what grows with its packed form.
const UNPACKED_BYTES: usize = 300;

/// What a key takes: here, with its packed form, and at UCX, which keeps about as much of it in its own way.
fn bytes_of(packed: &[u8]) -> usize {
    UNPACKED_BYTES + 2 * packed.len()
}

struct Entry<K> {
    key: K,
    endpoint: Endpoint,
    packed: Rc<[u8]>,
    /// Gets under way that were begun with it.
    gets: usize,
    /// Its place in the order of last use; none while there are gets.
    idle: Option<u64>,
    /// Whether the endpoint has been closed: it is destroyed when the last get has ended.
    closed: bool,
}

/// The keys of one endpoint.
#[derive(Default)]
struct EndpointKeys {
    by_packed: HashMap<Rc<[u8]>, KeyId>,
    /// Those without gets, the one used least recently first.
    idle: BTreeMap<u64, KeyId>,
    bytes: usize,
}

/// Keys by endpoint and packed bytes. Beyond a limit, the one that was used least recently and that no get needs is
/// given up, of the endpoint whose limit it is: there are never more than the limits and the gets under way.
pub(super) struct KeyCache<K> {
    limits: KeyLimits,
    entries: HashMap<KeyId, Entry<K>>,
    endpoints: HashMap<Endpoint, EndpointKeys>,
    /// Keys without gets, the one used least recently first.
    idle: BTreeMap<u64, KeyId>,
    /// Of all keys.
    bytes: usize,
    /// Of keys and of uses.
    next: u64,
}

impl<K: Copy> KeyCache<K> {
    pub(super) fn new(limits: KeyLimits) -> Self {
        let (entries, endpoints, idle, bytes, next) = Default::default();
        Self { limits, entries, endpoints, idle, bytes, next }
    }

    pub(super) fn find(&self, endpoint: Endpoint, packed: &[u8]) -> Option<KeyId> {
        self.endpoints.get(&endpoint)?.by_packed.get(packed).copied()
    }

    /// Keeps a key that is not there yet, and returns those to destroy.
    #[must_use]
    pub(super) fn insert(&mut self, endpoint: Endpoint, packed: &[u8], key: K) -> (KeyId, Vec<K>) {
        let (bytes, mut over) = (bytes_of(packed), Vec::new());
        while self.endpoints.get(&endpoint).is_some_and(|keys| keys.bytes + bytes > self.limits.endpoint_bytes)
            && let Some(oldest) = self.endpoints.get(&endpoint).and_then(|keys| keys.idle.values().next().copied())
        {
            over.extend(self.forget(oldest));
        }
        while (self.entries.len() >= self.limits.keys || self.bytes + bytes > self.limits.bytes)
            && let Some(oldest) = self.idle.values().next().copied()
        {
            over.extend(self.forget(oldest));
        }
        self.next += 1;
        let id = KeyId(self.next);
        let packed: Rc<[u8]> = packed.into();
        let of_endpoint = self.endpoints.entry(endpoint).or_default();
        of_endpoint.by_packed.insert(Rc::clone(&packed), id);
        of_endpoint.bytes += bytes;
        self.bytes += bytes;
        self.entries.insert(id, Entry { key, endpoint, packed, gets: 0, idle: None, closed: false });
        self.set_idle(id);
        (id, over)
    }

    /// No get needs the key now.
    fn set_idle(&mut self, id: KeyId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        self.next += 1;
        entry.idle = Some(self.next);
        self.idle.insert(self.next, id);
        self.endpoints.get_mut(&entry.endpoint).into_iter().for_each(|keys| _ = keys.idle.insert(self.next, id));
    }

    /// A get is to begin with this key, which stays until [`KeyCache::ended`].
    pub(super) fn begin(&mut self, id: KeyId) -> Option<K> {
        let entry = self.entries.get_mut(&id)?;
        entry.gets += 1;
        if let Some(place) = entry.idle.take() {
            self.idle.remove(&place);
            self.endpoints.get_mut(&entry.endpoint).into_iter().for_each(|keys| _ = keys.idle.remove(&place));
        }
        Some(entry.key)
    }

    /// A get has ended. Returns the keys to destroy.
    #[must_use]
    pub(super) fn ended(&mut self, id: KeyId) -> Vec<K> {
        let Some(entry) = self.entries.get_mut(&id) else { return Vec::new() };
        entry.gets -= 1;
        if entry.gets > 0 {
            return Vec::new();
        }
        let of_endpoint = self.endpoints.get(&entry.endpoint).map_or(0, |keys| keys.bytes);
        let KeyLimits { keys, bytes, endpoint_bytes } = self.limits;
        if entry.closed || of_endpoint > endpoint_bytes || self.bytes > bytes || self.entries.len() > keys {
            return self.forget(id).into_iter().collect();
        }
        self.set_idle(id);
        Vec::new()
    }

    /// The endpoint is closed. Returns the keys to destroy; those that gets need follow when these have ended.
    #[must_use]
    pub(super) fn close(&mut self, endpoint: Endpoint) -> Vec<K> {
        let ids: Vec<KeyId> = self.endpoints.remove(&endpoint).unwrap_or_default().by_packed.into_values().collect();
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
        let bytes = bytes_of(&entry.packed);
        self.bytes -= bytes;
        entry.idle.into_iter().for_each(|place| _ = self.idle.remove(&place));
        if let Some(keys) = self.endpoints.get_mut(&entry.endpoint) {
            entry.idle.into_iter().for_each(|place| _ = keys.idle.remove(&place));
            keys.by_packed.remove(&entry.packed);
            keys.bytes -= bytes;
            if keys.by_packed.is_empty() {
                self.endpoints.remove(&entry.endpoint);
            }
        }
        Some(entry.key)
    }

    /// All of them: no get is under way any more.
    pub(super) fn drain(&mut self) -> Vec<K> {
        self.endpoints.clear();
        self.idle.clear();
        self.bytes = 0;
        self.entries.drain().map(|(_, entry)| entry.key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 100;

    /// With this limit of keys only.
    fn cache(keys: usize) -> KeyCache<u32> {
        KeyCache::new(KeyLimits { keys, bytes: usize::MAX, endpoint_bytes: usize::MAX })
    }

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
        let (mut keys, mut destroyed) = (cache(LIMIT), Vec::new());
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
        let (mut keys, mut destroyed) = (cache(3), Vec::new());
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
        let (mut keys, mut destroyed) = (cache(2), Vec::new());
        let ids: Vec<KeyId> = (0..5).map(|key| begin(&mut keys, Endpoint(0), key, &mut destroyed)).collect();
        assert_eq!((keys.entries.len(), destroyed.len()), (5, 0));
        ids[1..].iter().for_each(|id| destroyed.extend(keys.ended(*id)));
        assert_eq!((keys.entries.len(), destroyed.len()), (2, 3));
        assert!(keys.find(Endpoint(0), &packed(0)).is_some());
    }

    #[test]
    fn keys_of_a_closed_endpoint_go_when_their_gets_have_ended() {
        let (mut keys, mut destroyed) = (cache(LIMIT), Vec::new());
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

    /// A peer whose keys are long keeps few of them, and drives out none of another's.
    #[test]
    fn the_bytes_of_an_endpoints_keys_and_of_all_are_bounded() {
        let limits = KeyLimits { keys: 1000, bytes: 25_000, endpoint_bytes: 20_000 };
        let mut keys = KeyCache::new(limits);
        let insert = |keys: &mut KeyCache<u32>, endpoint: u64, number: u32, bytes: usize| {
            let packed = [&packed(number)[..], &vec![0; bytes - 4]].concat();
            let (id, over) = keys.insert(Endpoint(endpoint), &packed, number);
            assert_eq!(keys.begin(id), Some(number));
            [over, keys.ended(id)].concat()
        };
        let (mut own, mut of_all) = (0, 0);
        assert!((0..10).all(|number| insert(&mut keys, 1, number, 60).is_empty()), "another peer's");
        for number in 1000..1100 {
            let over = insert(&mut keys, 2, number, 4000);
            assert!(over.iter().all(|gone| *gone >= 1000), "its own: {over:?}");
            own += over.len();
            assert!(keys.endpoints[&Endpoint(2)].bytes <= limits.endpoint_bytes);
        }
        assert_eq!(own, 100 - 20_000 / bytes_of(&[0; 4000]));
        for endpoint in 3..10 {
            of_all += insert(&mut keys, endpoint, 2000, 4000).len();
            assert!(keys.bytes <= limits.bytes, "{}", keys.bytes);
        }
        assert!(of_all > 0, "the least recently used of all");
        // Of gets under way there may be more, which go with these.
        let ids: Vec<KeyId> = (0..10)
            .map(|number| {
                let (id, _) = keys.insert(Endpoint(20), &[&packed(number)[..], &[0; 3000]].concat(), number);
                keys.begin(id).expect("it is there");
                id
            })
            .collect();
        assert!(keys.bytes > limits.bytes);
        ids.into_iter().for_each(|id| _ = keys.ended(id));
        assert!(keys.bytes <= limits.bytes);
        let _ = keys.drain();
        assert_eq!((keys.bytes, keys.idle.len(), keys.endpoints.len()), (0, 0, 0));
    }
}
