//! The table against a model that looks at all copies each time, and with several threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use proptest::prelude::*;
use sluice_cuda_sim::long_tests;

use super::*;

/// A copy's memory: how many there are, and whose it is.
struct Memory {
    live: Arc<AtomicUsize>,
    key: CopyKey,
    bytes: u64,
}

impl Memory {
    fn new(live: &Arc<AtomicUsize>, key: CopyKey, bytes: u64) -> Self {
        live.fetch_add(1, SeqCst);
        Self { live: Arc::clone(live), key, bytes }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.live.fetch_sub(1, SeqCst);
    }
}

const LIMIT: u64 = 1000;

#[derive(Debug, Clone, Copy)]
enum Call {
    Begin(CopyKey, u64, HostCopy),
    /// The nth of those that are being filled; whether it is filled.
    EndFill(usize, bool),
    Pin(CopyKey),
    /// The nth of the pins.
    Unpin(usize),
    Forget(CopyKey),
    ForgetShuffle(u32),
    Shrink(u64),
    Moved(CopyKey, HostCopy),
    Lose,
}

fn key() -> impl Strategy<Value = CopyKey> {
    (0u32..3, 0u64..5).prop_map(|(shuffle, map)| CopyKey { shuffle, map })
}

fn host() -> impl Strategy<Value = HostCopy> {
    prop_oneof![Just(HostCopy::Memory), Just(HostCopy::Disk)]
}

fn call(losing: u32) -> impl Strategy<Value = Call> {
    let bytes = prop_oneof![8 => 1u64..400, 1 => 900u64..1200];
    prop_oneof![
        9 => (key(), bytes, host()).prop_map(|(key, bytes, host)| Call::Begin(key, bytes, host)),
        9 => (0usize..8, prop::bool::weighted(0.9)).prop_map(|(nth, filled)| Call::EndFill(nth, filled)),
        8 => key().prop_map(Call::Pin),
        6 => (0usize..8).prop_map(Call::Unpin),
        2 => key().prop_map(Call::Forget),
        1 => (0u32..3).prop_map(Call::ForgetShuffle),
        2 => (1u64..600).prop_map(Call::Shrink),
        2 => (key(), host()).prop_map(|(key, host)| Call::Moved(key, host)),
        losing => Just(Call::Lose),
    ]
}

fn index(bytes: u64) -> Arc<PartitionIndex> {
    Arc::new(PartitionIndex::of(&[bytes as i64]).expect("a length"))
}

/// As the table, without any order or sum that has to be kept.
#[derive(Default)]
struct Model {
    copies: BTreeMap<u64, ModelCopy>,
    clock: u64,
    uses: u64,
    next: u64,
    lost: bool,
}

struct ModelCopy {
    key: CopyKey,
    bytes: u64,
    host: HostCopy,
    filling: bool,
    readers: usize,
    /// It cannot be found any more.
    gone: bool,
    clock: u64,
    used: u64,
}

impl Model {
    fn find(&mut self, key: CopyKey) -> Option<u64> {
        self.copies.iter().find(|(_, copy)| copy.key == key && !copy.gone).map(|(id, _)| *id)
    }

    fn bytes(&self) -> u64 {
        self.copies.values().map(|copy| copy.bytes).sum()
    }

    fn is_resident(copy: &ModelCopy) -> bool {
        !copy.filling && !copy.gone && copy.readers == 0
    }

    fn begin(&mut self, key: CopyKey, bytes: u64, host: HostCopy) -> Result<u64, NotBegun> {
        if self.lost {
            return Err(NotBegun::Lost);
        }
        if self.find(key).is_some() {
            return Err(NotBegun::Present);
        }
        let in_use: u64 = self.copies.values().filter(|copy| !Self::is_resident(copy)).map(|copy| copy.bytes).sum();
        if in_use + bytes > LIMIT {
            return Err(NotBegun::Limit);
        }
        while self.bytes() + bytes > LIMIT {
            self.drop_first().expect("a resident copy");
        }
        self.uses += 1;
        self.next += 1;
        let (clock, used) = (self.clock, self.uses);
        let copy = ModelCopy { key, bytes, host, filling: true, readers: 0, gone: false, clock, used };
        self.copies.insert(self.next, copy);
        Ok(self.next)
    }

    fn drop_first(&mut self) -> Option<u64> {
        let value = |copy: &ModelCopy| copy.clock + copy.host.nanos_per_kib(copy.bytes);
        let resident = self.copies.iter().filter(|(_, copy)| Self::is_resident(copy));
        let (id, first) = resident.min_by_key(|(_, copy)| (value(copy), copy.used))?;
        self.clock = value(first);
        let (id, bytes) = (*id, first.bytes);
        self.drop_copy(id);
        Some(bytes)
    }

    fn drop_copy(&mut self, id: u64) {
        let copy = self.copies.get_mut(&id).expect("a copy");
        copy.gone = true;
        self.end(id);
    }

    /// Forgets a copy that nobody can find or uses.
    fn end(&mut self, id: u64) {
        if self.copies.get(&id).is_some_and(|copy| copy.gone && !copy.filling && copy.readers == 0) {
            self.copies.remove(&id);
        }
    }

    fn state(&mut self, key: CopyKey) -> CopyState {
        let Some(id) = self.find(key) else { return CopyState::Absent };
        match &self.copies[&id] {
            copy if copy.filling => CopyState::Copying,
            copy if copy.readers == 0 => CopyState::Resident,
            copy => CopyState::Pinned(copy.readers as u32),
        }
    }
}

/// The table and the model, and what callers of both have.
struct Both {
    table: CopyTable<Memory>,
    model: Model,
    live: Arc<AtomicUsize>,
    fills: Vec<(CopyId, u64, CopyKey, u64)>,
    pins: Vec<(Pin<Memory>, u64)>,
}

impl Both {
    fn new() -> Self {
        let (table, model, live) = (CopyTable::new(LIMIT), Model::default(), Arc::default());
        Self { table, model, live, fills: Vec::new(), pins: Vec::new() }
    }

    fn call(&mut self, call: Call) {
        let Self { table, model, live, fills, pins } = self;
        match call {
            Call::Begin(key, bytes, host) => {
                match (table.begin(key, &index(bytes), host), model.begin(key, bytes, host)) {
                    (Ok(id), Ok(of_model)) => fills.push((id, of_model, key, bytes)),
                    (found, expected) => assert_eq!(found.err(), expected.err(), "{call:?}"),
                }
            }
            Call::EndFill(nth, filled) if nth < fills.len() => {
                let (id, of_model, key, bytes) = fills.swap_remove(nth);
                if filled {
                    table.filled(id, Memory::new(live, key, bytes));
                } else {
                    table.failed(id);
                }
                let copy = model.copies.get_mut(&of_model).expect("a copy that is filled");
                (copy.filling, copy.gone) = (false, copy.gone || !filled);
                model.end(of_model);
            }
            Call::Pin(key) => {
                let pin = table.pin(key, &(0..1)).expect("a partition");
                let found = model.find(key).filter(|id| !model.copies[id].filling);
                assert_eq!(pin.is_some(), found.is_some(), "{call:?}");
                if let (Some(pin), Some(of_model)) = (pin, found) {
                    let copy = model.copies.get_mut(&of_model).expect("a copy");
                    model.uses += 1;
                    (copy.readers, copy.clock, copy.used) = (copy.readers + 1, model.clock, model.uses);
                    assert_eq!((pin.memory.key, pin.bytes.clone()), (key, 0..copy.bytes));
                    pins.push((pin, of_model));
                }
            }
            Call::Unpin(nth) if nth < pins.len() => {
                let (pin, of_model) = pins.swap_remove(nth);
                table.unpin(pin.id);
                model.copies.get_mut(&of_model).expect("a copy that is read").readers -= 1;
                model.end(of_model);
            }
            Call::EndFill(..) | Call::Unpin(_) => {}
            Call::Forget(key) => {
                let found = model.find(key);
                assert_eq!(table.forget(key), found.is_some());
                found.into_iter().for_each(|id| model.drop_copy(id));
            }
            Call::ForgetShuffle(shuffle) => {
                let of_shuffle = model.copies.iter().filter(|(_, copy)| copy.key.shuffle == shuffle && !copy.gone);
                let ids: Vec<u64> = of_shuffle.map(|(id, _)| *id).collect();
                assert_eq!(table.forget_shuffle(shuffle), ids.len());
                ids.into_iter().for_each(|id| model.drop_copy(id));
            }
            Call::Shrink(bytes) => {
                let mut dropped = 0;
                while dropped < bytes {
                    let Some(bytes) = model.drop_first() else { break };
                    dropped += bytes;
                }
                assert_eq!(table.shrink(bytes), dropped > 0);
            }
            Call::Moved(key, host) => {
                table.moved(key, host);
                if let Some(id) = model.find(key) {
                    model.copies.get_mut(&id).expect("a copy").host = host;
                }
            }
            Call::Lose => {
                table.lose();
                model.lost = true;
                let ids: Vec<u64> = model.copies.keys().copied().collect();
                ids.into_iter().for_each(|id| model.drop_copy(id));
            }
        }
        self.compare(call);
    }

    fn compare(&mut self, call: Call) {
        self.table.check().unwrap_or_else(|what| panic!("{call:?}: {what}"));
        for (shuffle, map) in (0..3).flat_map(|shuffle| (0..5).map(move |map| (shuffle, map))) {
            let key = CopyKey { shuffle, map };
            assert_eq!(self.table.state(key), self.model.state(key), "{key:?} after {call:?}");
        }
        let counts = self.table.counts();
        assert_eq!((counts.bytes, counts.copies), (self.model.bytes(), self.model.copies.len() as u64), "{call:?}");
        let filled = self.model.copies.values().filter(|copy| !copy.filling).count();
        assert_eq!(self.live.load(SeqCst), filled, "memory after {call:?}");
    }

    /// Ends all fills and pins, and all shuffles: nothing is left.
    fn finish(mut self) {
        (0..3).for_each(|shuffle| self.call(Call::ForgetShuffle(shuffle)));
        while !self.fills.is_empty() {
            self.call(Call::EndFill(0, true));
        }
        while !self.pins.is_empty() {
            self.call(Call::Unpin(0));
        }
        assert_eq!((self.table.counts().bytes, self.table.counts().copies, self.live.load(SeqCst)), (0, 0, 0));
    }
}

/// One thread's part of the calls on a table that others use.
fn run(table: &CopyTable<Memory>, live: &Arc<AtomicUsize>, calls: &[Call]) {
    let (mut fills, mut pins) = (Vec::new(), Vec::<Pin<Memory>>::new());
    let end = |(id, key, bytes), filled| {
        if filled { table.filled(id, Memory::new(live, key, bytes)) } else { table.failed(id) }
    };
    for call in calls {
        match *call {
            Call::Begin(key, bytes, host) => {
                fills.extend(table.begin(key, &index(bytes), host).ok().map(|id| (id, key, bytes)));
            }
            Call::EndFill(nth, filled) if nth < fills.len() => end(fills.swap_remove(nth), filled),
            Call::Pin(key) => {
                let pin = table.pin(key, &(0..1)).expect("a partition");
                if let Some(pin) = pin {
                    assert_eq!((pin.memory.key, 0..pin.memory.bytes), (key, pin.bytes.clone()));
                    pins.push(pin);
                }
            }
            Call::Unpin(nth) if nth < pins.len() => table.unpin(pins.swap_remove(nth).id),
            Call::EndFill(..) | Call::Unpin(_) => {}
            Call::Forget(key) => _ = table.forget(key),
            Call::ForgetShuffle(shuffle) => _ = table.forget_shuffle(shuffle),
            Call::Shrink(bytes) => _ = table.shrink(bytes),
            Call::Moved(key, host) => table.moved(key, host),
            Call::Lose => table.lose(),
        }
        table.check().expect("sums and lists that fit together");
    }
    fills.into_iter().for_each(|fill| end(fill, true));
    pins.into_iter().for_each(|pin| table.unpin(pin.id));
}

fn cases(few: u32, many: u32) -> ProptestConfig {
    ProptestConfig { cases: if long_tests() { many } else { few }, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(300, 20_000))]
    #[test]
    fn the_table_does_what_the_model_does(calls in prop::collection::vec(call(0), 1..120)) {
        let mut both = Both::new();
        calls.into_iter().for_each(|call| both.call(call));
        both.finish();
    }

    #[test]
    fn also_when_the_device_is_lost(calls in prop::collection::vec(call(2), 1..60)) {
        let mut both = Both::new();
        calls.into_iter().for_each(|call| both.call(call));
        both.finish();
    }
}

proptest! {
    #![proptest_config(cases(60, 4_000))]
    #[test]
    fn threads_leave_nothing_behind(
        calls in prop::collection::vec(prop::collection::vec(call(0), 1..60), 4..5),
        lost in any::<bool>(),
    ) {
        let (table, live) = (CopyTable::new(LIMIT), Arc::<AtomicUsize>::default());
        std::thread::scope(|scope| {
            for calls in &calls {
                scope.spawn(|| run(&table, &live, calls));
            }
            if lost {
                scope.spawn(|| table.lose());
            }
        });
        table.check().expect("sums and lists that fit together");
        let counts = table.counts();
        prop_assert_eq!(live.load(SeqCst) as u64, counts.copies, "each copy that is left is resident");
        (0..3).for_each(|shuffle| _ = table.forget_shuffle(shuffle));
        prop_assert_eq!((table.counts().bytes, table.counts().copies, live.load(SeqCst)), (0, 0, 0));
    }
}

fn filled(table: &CopyTable<Memory>, map: u64, bytes: u64, host: HostCopy) {
    let key = CopyKey { shuffle: 1, map };
    let id = table.begin(key, &index(bytes), host).expect("room");
    table.filled(id, Memory::new(&Arc::default(), key, bytes));
}

fn left(table: &CopyTable<Memory>) -> Vec<u64> {
    (0..10).filter(|map| table.state(CopyKey { shuffle: 1, map: *map }) != CopyState::Absent).collect()
}

fn read(table: &CopyTable<Memory>, map: u64) {
    let pin = table.pin(CopyKey { shuffle: 1, map }, &(0..1)).expect("a partition").expect("a copy");
    table.unpin(pin.id);
}

#[test]
fn what_is_cheap_to_bring_back_and_not_used_goes_first() {
    let table = CopyTable::new(400);
    for (map, host) in [(0, HostCopy::Disk), (1, HostCopy::Memory), (2, HostCopy::Memory), (3, HostCopy::Memory)] {
        filled(&table, map, 100, host);
    }
    read(&table, 1);
    filled(&table, 4, 100, HostCopy::Memory);
    assert_eq!(left(&table), [0, 1, 3, 4], "2 was not used for the longest time");
    filled(&table, 5, 200, HostCopy::Memory);
    assert_eq!(left(&table), [0, 4, 5], "3 and 1 are older");
    // Each drop makes the clock later, so that also what a disk has goes when it is not used for long.
    for map in 6..2000 {
        filled(&table, map, 100, HostCopy::Memory);
    }
    assert_eq!(left(&table), Vec::<u64>::new());
    assert_eq!(table.counts().evictions, 1 + 2 + 1994 - 1);
}

#[test]
fn a_copy_whose_host_copy_has_gone_to_disk_is_worth_more() {
    let table = CopyTable::new(300);
    (0..3).for_each(|map| filled(&table, map, 100, HostCopy::Memory));
    table.moved(CopyKey { shuffle: 1, map: 0 }, HostCopy::Disk);
    assert!(table.shrink(150));
    assert_eq!((left(&table), table.counts().pressure_drops), (vec![0], 2));
    table.moved(CopyKey { shuffle: 1, map: 0 }, HostCopy::Memory);
    filled(&table, 3, 100, HostCopy::Disk);
    assert!(table.shrink(1));
    assert_eq!(left(&table), [3]);
}

#[test]
fn what_is_pinned_is_not_evicted_and_what_has_no_room_is_refused() {
    let table = CopyTable::new(300);
    (0..3).for_each(|map| filled(&table, map, 100, HostCopy::Memory));
    let key = |map| CopyKey { shuffle: 1, map };
    let pins: Vec<Pin<Memory>> = (0..2).map(|map| table.pin(key(map), &(0..1)).expect("one").expect("one")).collect();
    assert_eq!(table.begin(key(7), &index(200), HostCopy::Memory), Err(NotBegun::Limit));
    assert_eq!(left(&table), [0, 1, 2], "nothing goes for what has no room all the same");
    assert_eq!(table.begin(key(8), &index(301), HostCopy::Memory), Err(NotBegun::Limit));
    filled(&table, 9, 100, HostCopy::Memory);
    assert_eq!(left(&table), [0, 1, 9]);
    assert!(table.shrink(1000) && !table.shrink(1000));
    assert_eq!(left(&table), [0, 1]);
    // Their bytes count until the readers have left.
    assert_eq!(table.forget_shuffle(1), 2);
    assert_eq!((left(&table), table.counts().bytes), (vec![], 200));
    pins.into_iter().for_each(|pin| table.unpin(pin.id));
    let counts = table.counts();
    assert_eq!((counts.bytes, counts.copies, counts.refused_by_limit, counts.forgotten), (0, 0, 2, 2));
}
