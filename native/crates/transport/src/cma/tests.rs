//! CMA reads between two wires of this process, above the loopback. What the loopback reads is not counted as read
//! so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use super::call::stalls;
use super::format::{Origin, RegionKey};
use super::queue::{CALL_BYTES, CALL_GETS};
use super::validity::ValidityMark;
use super::{CmaWire, TURN_CALLS, faults, permitted};
use crate::loopback::{Loopback, Network};
use crate::mapping::Mapping;
use crate::wire::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

const MIB: usize = 1 << 20;

struct Pair<W: Wire = Loopback> {
    owner: CmaWire<Loopback>,
    reader: CmaWire<W>,
    endpoint: Endpoint,
    cma_bytes: Arc<AtomicU64>,
}

impl Pair {
    fn new() -> Self {
        Self::with(true, |address| address.to_vec())
    }

    /// The reader is given the owner's address as `change` makes it.
    fn with(owner_enabled: bool, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let (network, cma_bytes) = (Network::new(1), Arc::new(AtomicU64::new(0)));
        let owner = CmaWire::new(network.wire(), owner_enabled, Arc::default());
        let mut reader = CmaWire::new(network.wire(), true, Arc::clone(&cma_bytes));
        let endpoint = reader.open(&change(owner.address())).expect("well-formed").endpoint;
        Self { owner, reader, endpoint, cma_bytes }
    }
}

impl<W: Wire> Pair<W> {
    /// The reader reads by CMA in front of what `make` makes of the loopback.
    fn on(make: impl FnOnce(Loopback) -> W) -> Self {
        let (network, cma_bytes) = (Network::new(1), Arc::new(AtomicU64::new(0)));
        let owner = CmaWire::new(network.wire(), true, Arc::default());
        let mut reader = CmaWire::new(make(network.wire()), true, Arc::clone(&cma_bytes));
        let endpoint = reader.open(owner.address()).expect("well-formed").endpoint;
        Self { owner, reader, endpoint, cma_bytes }
    }

    /// With a second thread that reads.
    fn helped(self) -> Self {
        self.helped_with_patience(Duration::MAX)
    }

    fn helped_with_patience(mut self, patience: Duration) -> Self {
        self.reader = self.reader.with_helper(patience).expect("a thread");
        assert!(self.reader.queue.has_helper());
        self
    }

    fn get(&mut self, token: u64, key: &[u8], from: &[u8], to: &mut [u8]) {
        let remote = from.as_ptr().expose_provenance() as u64;
        let get = Get { token, key, remote, local: to.as_mut_ptr(), bytes: from.len().min(to.len()) };
        // SAFETY: the tests keep `to` until they have seen the get's end.
        unsafe { self.reader.get(self.endpoint, get) };
    }

    fn register(&mut self, memory: &[u8]) -> (Region, Vec<u8>) {
        let address = memory.as_ptr().expose_provenance();
        // SAFETY: the tests keep `memory` as long as any get may read it.
        unsafe { self.owner.register(address, memory.len()) }.expect("registered")
    }

    fn turn(&mut self) -> Vec<(u64, bool)> {
        let mut events = Vec::new();
        self.reader.progress(&mut events);
        let ended = |event| match event {
            Event::Got { token, result } => (token, result.is_ok()),
            other => panic!("{other:?}"),
        };
        events.into_iter().map(ended).collect()
    }

    fn cma_bytes(&self) -> u64 {
        self.cma_bytes.load(Ordering::Relaxed)
    }
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i / 7 + i) as u8).collect()
}

#[test]
fn what_is_registered_is_read_without_the_inner_wire() {
    if !permitted("what_is_registered_is_read_without_the_inner_wire") {
        return;
    }
    let mut pair = Pair::new();
    let (from, mut to) = (content(3 * MIB + 5), vec![0; 3 * MIB + 5]);
    let (_, key) = pair.register(&from);
    pair.get(1, &key, &from, &mut to);
    assert_eq!(pair.turn(), [(1, true)]);
    assert!(from == to);
    assert_eq!(pair.cma_bytes(), from.len() as u64);
}

#[test]
fn a_region_that_has_ended_is_never_read_even_where_another_has_begun() {
    let mut pair = Pair::new();
    let (mut memory, mut to) = (content(100), vec![0; 100]);
    let (region, key) = pair.register(&memory);
    pair.get(1, &key, &memory, &mut to);
    // Between the get and its turn.
    pair.owner.unregister(region);
    memory.fill(9);
    assert_eq!(pair.turn(), [(1, false)]);
    // The pool gives the same word again, unless another test has it by now.
    let (_, other) = pair.register(&memory);
    pair.get(2, &key, &memory, &mut to);
    assert_eq!(pair.turn(), [(2, false)]);
    assert_eq!(pair.cma_bytes(), 0);
    pair.get(3, &other, &memory, &mut to);
    assert_eq!(pair.turn(), [(3, true)]);
    assert_eq!(to, [9; 100]);
}

#[test]
fn nothing_is_read_by_cma_once_the_owners_wire_is_gone() {
    let mut pair = Pair::new();
    let (memory, mut to) = (content(100), vec![0; 100]);
    let (_, key) = pair.register(&memory);
    let Pair { owner, mut reader, endpoint, cma_bytes, .. } = pair;
    drop(owner);
    let remote = memory.as_ptr().expose_provenance() as u64;
    // SAFETY: `to` is kept until the end.
    unsafe { reader.get(endpoint, Get { token: 1, key: &key, remote, local: to.as_mut_ptr(), bytes: 100 }) };
    let mut events = Vec::new();
    reader.progress(&mut events);
    // The loopback knows of no end of its wires and reads it.
    assert_eq!(events, [Event::Got { token: 1, result: Ok(()) }]);
    assert_eq!(cma_bytes.load(Ordering::Relaxed), 0);
}

#[test]
fn who_is_not_the_process_in_the_address_is_not_read_by_cma() {
    let origin = |change: fn(&mut Origin)| {
        move |address: &[u8]| {
            let (mut origin, inner) = Origin::decode(address).expect("well-formed");
            change(&mut origin);
            origin.encode(inner)
        }
    };
    let changes: [fn(&mut Origin); 7] = [
        |origin| origin.pid = 0,
        |origin| origin.pid = 1,
        |origin| origin.pid = i32::MAX as u32,
        |origin| origin.pid = u32::MAX,
        |origin| origin.mark.value += 2,
        |origin| origin.mark.address = 8,
        |origin| origin.mark.address = u64::MAX - 3,
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let mut pair = Pair::with(true, origin(change));
        assert_read_by_inner(&mut pair, nth);
    }
    assert_read_by_inner(&mut Pair::with(false, |address| address.to_vec()), usize::MAX);
}

fn assert_read_by_inner(pair: &mut Pair, case: usize) {
    let (from, mut to) = (content(1000), vec![0; 1000]);
    let (_, key) = pair.register(&from);
    pair.get(1, &key, &from, &mut to);
    assert_eq!(pair.turn(), [(1, true)], "case {case}");
    assert!(from == to);
    assert_eq!(pair.cma_bytes(), 0, "case {case}");
}

#[test]
fn malformed_addresses_and_keys_are_errors() {
    let mut pair = Pair::new();
    let whole = pair.owner.address().to_vec();
    let malformed = Err(WireError("the address is malformed".into()));
    for cut in 0..24 {
        assert_eq!(pair.reader.open(&whole[..cut]), malformed, "{cut}");
    }
    assert_eq!(pair.reader.open(&whole[4..]), malformed);
    assert!(pair.reader.open(&whole[..24]).is_err(), "the inner wire's refusal");
    let (from, mut to) = (content(10), vec![0; 10]);
    let (_, key) = pair.register(&from);
    pair.get(1, &key[..31], &from, &mut to);
    assert_eq!(pair.turn(), [(1, false)]);
    pair.get(2, &[], &from, &mut to);
    assert_eq!(pair.turn(), [(2, false)]);
}

#[test]
fn a_read_outside_of_its_region_is_left_to_the_inner_wire() {
    let mut pair = Pair::new();
    let (from, mut to) = (content(100), vec![0; 100]);
    let (_, key) = pair.register(&from[..99]);
    pair.get(1, &key, &from, &mut to);
    assert_eq!(pair.turn(), [(1, false)]);
}

#[test]
fn closing_ends_what_is_queued() {
    let mut pair = Pair::new();
    let (from, mut to) = (content(4 * MIB), vec![0; 4 * MIB]);
    let (_, key) = pair.register(&from);
    for (token, (from, to)) in from.chunks(MIB).zip(to.chunks_mut(MIB)).enumerate() {
        pair.get(token as u64, &key, from, to);
    }
    let mut ended = pair.turn();
    let endpoint = pair.endpoint;
    pair.reader.close(endpoint);
    ended.extend(pair.turn());
    ended.sort_unstable();
    assert_eq!(ended, [(0, true), (1, false), (2, false), (3, false)]);
    assert_eq!(pair.turn(), []);
    pair.get(9, &key, &from[..10], &mut to);
    assert_eq!(pair.turn(), [(9, false)], "of a closed endpoint");
}

#[test]
fn a_turn_has_an_end() {
    if !permitted("a_turn_has_an_end") {
        return;
    }
    let mut pair = Pair::new();
    let (from, mut to) = (content(8 * MIB), vec![0; 8 * MIB]);
    let (_, key) = pair.register(&from);
    for size in [MIB, 100_000, 8 * MIB] {
        let gets = from.len().div_ceil(size);
        for (token, (from, to)) in from.chunks(size).zip(to.chunks_mut(size)).enumerate() {
            pair.get(token as u64, &key, from, to);
        }
        let mut turns: Vec<Vec<(u64, bool)>> = Vec::new();
        while turns.concat().len() < gets {
            turns.push(pair.turn());
            let bytes = turns.last().map_or(0, Vec::len) * size;
            assert!(bytes < CALL_BYTES + size && bytes > 0, "{bytes} in one turn");
        }
        let order: Vec<(u64, bool)> = (0..gets as u64).map(|token| (token, true)).collect();
        assert_eq!(turns.concat(), order, "in the order in which they came");
        assert!(from == to);
    }
    let small = TURN_CALLS * CALL_GETS + 1;
    for token in 0..small {
        pair.get(token as u64, &key, &from[token..=token], &mut to[token..=token]);
    }
    assert_eq!(pair.turn().len(), small - 1);
    assert_eq!(pair.turn().len(), 1);
}

#[test]
fn one_get_that_cannot_be_read_takes_no_other_with_it() {
    if !permitted("one_get_that_cannot_be_read_takes_no_other_with_it") {
        return;
    }
    let mut pair = Pair::new();
    let (from, mut to) = (content(1000), vec![0; 1000]);
    let (_, good) = pair.register(&from);
    let (region, stale) = pair.register(&from);
    pair.owner.unregister(region);
    // Its validity word is where nothing is mapped, so a call with it fails as a whole.
    let (unreadable, inner) = RegionKey::decode(&good).expect("well-formed");
    let unreadable = RegionKey { mark: ValidityMark { address: 8, value: 1 }, ..unreadable }.encode(inner);
    for (token, (from, to)) in from.chunks(100).zip(to.chunks_mut(100)).enumerate() {
        let key = [&good, &stale, &unreadable][match token {
            3 => 1,
            6 => 2,
            _ => 0,
        }];
        pair.get(token as u64, key, from, to);
    }
    let mut ended = pair.turn();
    ended.extend(pair.turn());
    ended.sort_unstable();
    let expected: Vec<(u64, bool)> = (0..10).map(|token| (token, token != 3 && token != 6)).collect();
    assert_eq!(ended, expected, "the stale one and the unreadable one fail");
    assert_eq!(pair.cma_bytes(), 800);
    assert!(from[..300] == to[..300] && from[400..600] == to[400..600] && from[700..] == to[700..]);
}

/// An access to that memory in the owner's process would end it (SIGBUS), so the loopback must not be asked.
#[test]
fn a_file_that_is_cut_short_while_it_is_mapped_is_an_error() {
    if !permitted("a_file_that_is_cut_short_while_it_is_mapped_is_an_error") {
        return;
    }
    let path = std::env::temp_dir().join(format!("sluice-cut-{}", std::process::id()));
    std::fs::write(&path, content(3 * 4096)).expect("written");
    let mapping = Mapping::unlimited(&path, 3 * 4096, 0..3 * 4096, false).expect("mapped");
    let mut pair = Pair::new();
    // SAFETY: the mapping lives until the end; that it has no file behind it any more is what is tested.
    let (_, key) = unsafe { pair.owner.register(mapping.address(), 3 * 4096) }.expect("registered");
    std::fs::File::options().write(true).open(&path).expect("opened").set_len(4096).expect("cut");
    let mut to = vec![0; 4096];
    for (token, offset) in [(1, 0), (2, 2 * 4096), (3, 0)] {
        let remote = (mapping.address() + offset) as u64;
        let get = Get { token, key: &key, remote, local: to.as_mut_ptr(), bytes: 4096 };
        // SAFETY: `to` is kept until the end.
        unsafe { pair.reader.get(pair.endpoint, get) };
        assert_eq!(pair.turn(), [(token, offset == 0)]);
    }
    assert!(to == content(4096));
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn an_endpoint_that_is_refused_stays_with_the_inner_wire() {
    if !permitted("an_endpoint_that_is_refused_stays_with_the_inner_wire") {
        return;
    }
    let mut pair = Pair::new();
    let (from, mut to) = (content(200), vec![0; 200]);
    let (_, key) = pair.register(&from);
    pair.get(1, &key, &from[..100], &mut to[..100]);
    pair.get(2, &key, &from[100..], &mut to[100..]);
    faults::order(1, 0, 1000);
    let mut ended = pair.turn();
    faults::order(1, 0, 0);
    ended.sort_unstable();
    assert_eq!(ended, [(1, true), (2, true)]);
    pair.get(3, &key, &from, &mut to);
    assert_eq!(pair.turn(), [(3, true)]);
    assert_eq!(pair.cma_bytes(), 0);
    assert!(from == to);
}

/// The loopback with a wait that a waker ends, which is all that ends it but the time.
struct Sleeper {
    inner: Loopback,
    bell: Arc<Bell>,
}

#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Waker for Bell {
    fn wake(&self) {
        *self.rung.lock().expect("no panic") = true;
        self.rings.notify_all();
    }
}

impl Wire for Sleeper {
    fn address(&self) -> &[u8] {
        self.inner.address()
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        self.inner.open(address)
    }

    fn close(&mut self, endpoint: Endpoint) {
        self.inner.close(endpoint);
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        self.inner.send(endpoint, message);
    }

    unsafe fn register(&mut self, address: usize, bytes: usize) -> Result<(Region, Vec<u8>), WireError> {
        // SAFETY: the caller promises the same.
        unsafe { self.inner.register(address, bytes) }
    }

    fn unregister(&mut self, region: Region) {
        self.inner.unregister(region);
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        // SAFETY: the caller promises the same.
        unsafe { self.inner.get(endpoint, get) }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        self.inner.progress(events);
    }

    fn wait(&mut self, longest: Duration) {
        let rung = self.bell.rung.lock().expect("no panic");
        let (mut rung, _) = self.bell.rings.wait_timeout_while(rung, longest, |rung| !*rung).expect("no panic");
        *rung = false;
    }

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::clone(&self.bell) as Arc<dyn Waker>
    }
}

/// Turns, with waits between them, until so many gets have ended; sorted.
fn ended<W: Wire>(pair: &mut Pair<W>, gets: usize) -> Vec<(u64, bool)> {
    let (end, mut ended) = (Instant::now() + Duration::from_secs(60), Vec::new());
    while ended.len() < gets {
        assert!(Instant::now() < end, "{} of {gets} gets have ended", ended.len());
        let turn = pair.turn();
        if turn.is_empty() {
            pair.reader.wait(Duration::from_millis(50));
        }
        ended.extend(turn);
    }
    ended.sort_unstable();
    ended
}

/// Sizes from a byte to several calls' worth, regions that end meanwhile, calls that fail, and both threads at work.
#[test]
fn two_threads_read_what_one_does() {
    if !permitted("two_threads_read_what_one_does") {
        return;
    }
    let mut pair = Pair::new().helped();
    let (from, mut by_cma) = (content(4 * MIB), 0);
    for round in 0..60usize {
        let mut to = vec![0; from.len()];
        let (_, good) = pair.register(&from);
        let (region, stale) = pair.register(&from);
        pair.owner.unregister(region);
        let (unreadable, inner) = RegionKey::decode(&good).expect("well-formed");
        let unreadable = RegionKey { mark: ValidityMark { address: 8, value: 1 }, ..unreadable }.encode(inner);
        let mut parts = Vec::new();
        let (mut from_left, mut to_left) = (&from[..], &mut to[..]);
        for nth in 0.. {
            let bytes = [1, 100, 5_000, 64 << 10, CALL_BYTES, CALL_BYTES + 1, MIB][(nth * 5 + round) % 7];
            let bytes = bytes.min(from_left.len());
            if bytes == 0 {
                break;
            }
            let (part, rest) = from_left.split_at(bytes);
            let (to_part, to_rest) = to_left.split_at_mut(bytes);
            let (key, read) = match (nth + round) % 11 {
                0 => (&stale, false),
                6 => (&unreadable, false),
                _ => (&good, true),
            };
            pair.get(nth as u64, key, part, to_part);
            by_cma += if read { bytes as u64 } else { 0 };
            parts.push((part, &to_part[..], read));
            (from_left, to_left) = (rest, to_rest);
        }
        let expected: Vec<(u64, bool)> = (0..).zip(&parts).map(|(nth, (_, _, read))| (nth, *read)).collect();
        assert_eq!(ended(&mut pair, parts.len()), expected);
        // Otherwise its memory is not defined.
        assert!(parts.iter().all(|(part, to, read)| !*read || part == to), "round {round}");
        assert_eq!(pair.cma_bytes(), by_cma);
    }
}

/// Calls' worth of gets, of which the helper's first is held up: it was called when the second get came, and takes the
/// first.
fn with_a_stalled_helper<W: Wire>(pair: &mut Pair<W>, from: &[u8], to: &mut [u8], key: &[u8]) -> stalls::Stall {
    let stall = stalls::at(from.as_ptr().expose_provenance() as u64);
    for (token, (from, to)) in from.chunks(CALL_BYTES).zip(to.chunks_mut(CALL_BYTES)).enumerate() {
        pair.get(token as u64, key, from, to);
    }
    stall.wait_for_entry();
    stall
}

#[test]
fn a_helper_that_does_not_come_round_is_told_once_and_holds_nothing_up() {
    if !permitted("a_helper_that_does_not_come_round_is_told_once_and_holds_nothing_up") {
        return;
    }
    let mut pair = Pair::new().helped_with_patience(Duration::from_millis(300));
    let (from, mut to) = (content(4 * CALL_BYTES), vec![0; 4 * CALL_BYTES]);
    let (_, key) = pair.register(&from);
    let stall = with_a_stalled_helper(&mut pair, &from, &mut to, &key);
    let (end, mut events) = (Instant::now() + Duration::from_secs(60), Vec::new());
    while events.len() < 4 {
        assert!(Instant::now() < end, "{events:?}");
        pair.reader.progress(&mut events);
        std::thread::sleep(Duration::from_millis(10));
    }
    for _ in 0..100 {
        pair.reader.progress(&mut events);
        std::thread::sleep(Duration::from_millis(5));
    }
    let (got, told): (Vec<Event>, Vec<Event>) = events.into_iter().partition(|e| matches!(e, Event::Got { .. }));
    assert_eq!(got, [1, 2, 3].map(|token| Event::Got { token, result: Ok(()) }));
    assert!(matches!(&told[..], [Event::Stuck { endpoint, .. }] if *endpoint == pair.endpoint), "{told:?}");
    let endpoint = pair.endpoint;
    pair.reader.close(endpoint);
    assert_eq!(pair.turn(), [], "its memory may still be written to");
    drop(stall);
    assert_eq!(ended(&mut pair, 1), [(0, true)]);
    assert!(from == to);
}

/// The wire's thread sleeps without end in sight, and what the helper has read wakes it.
#[test]
fn what_the_helper_has_read_ends_a_wait() {
    if !permitted("what_the_helper_has_read_ends_a_wait") {
        return;
    }
    let mut pair = Pair::on(|inner| Sleeper { inner, bell: Arc::default() }).helped();
    let (from, mut to) = (content(2 * CALL_BYTES), vec![0; 2 * CALL_BYTES]);
    let (_, key) = pair.register(&from);
    let stall = with_a_stalled_helper(&mut pair, &from, &mut to, &key);
    assert_eq!(ended(&mut pair, 1), [(1, true)]);
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        drop(stall);
    });
    let start = Instant::now();
    pair.reader.wait(Duration::from_secs(60));
    assert!(start.elapsed() < Duration::from_secs(30), "nobody has ended the wait");
    assert_eq!(ended(&mut pair, 1), [(0, true)]);
    later.join().expect("no panic");
}

#[test]
fn what_the_helper_is_refused_is_the_inner_wires() {
    if !permitted("what_the_helper_is_refused_is_the_inner_wires") {
        return;
    }
    let mut pair = Pair::new().helped();
    let (from, mut to) = (content(3 * CALL_BYTES), vec![0; 3 * CALL_BYTES]);
    let (_, key) = pair.register(&from);
    let stall = with_a_stalled_helper(&mut pair, &from, &mut to, &key);
    stall.refuse();
    assert_eq!(ended(&mut pair, 3), [(0, true), (1, true), (2, true)]);
    assert!(from == to);
    let by_cma = pair.cma_bytes();
    assert!(by_cma <= 2 * CALL_BYTES as u64);
    pair.get(3, &key, &from, &mut to);
    assert_eq!(ended(&mut pair, 1), [(3, true)]);
    assert_eq!(pair.cma_bytes(), by_cma, "the endpoint is not read by CMA any more");
}

#[test]
fn a_wire_that_ends_does_not_wait_for_a_helper_in_a_call() {
    if !permitted("a_wire_that_ends_does_not_wait_for_a_helper_in_a_call") {
        return;
    }
    let mut pair = Pair::new().helped();
    let (from, mut to) = (content(2 * CALL_BYTES), vec![0; 2 * CALL_BYTES]);
    let (_, key) = pair.register(&from);
    let stall = with_a_stalled_helper(&mut pair, &from, &mut to, &key);
    let (tell, told) = mpsc::channel();
    let watch = std::thread::spawn(move || {
        let in_time = told.recv_timeout(Duration::from_secs(30)).is_ok();
        drop(stall);
        in_time
    });
    drop(pair);
    // The helper's call writes to this when it goes on.
    std::mem::forget((from, to));
    let _ = tell.send(());
    assert!(watch.join().expect("no panic"), "the wire has waited");
}
