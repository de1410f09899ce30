//! Which reads are made by CMA, which are left to the inner wire, and which fail.

use std::sync::atomic::Ordering;

use sluice_mem::MemoryKind;

use super::pair::{MIB, Pair, content};
use crate::cma::format::{Origin, RegionKey};
use crate::cma::queue::{CALL_BYTES, CALL_GETS};
use crate::cma::validity::ValidityMark;
use crate::cma::{TURN_CALLS, faults, permitted};
use crate::mapping::{Mapping, Way};
use crate::wire::{Event, Get, Wire, WireError};

#[test]
fn registered_memory_is_read_without_the_inner_wire() {
    if !permitted("registered_memory_is_read_without_the_inner_wire") {
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
fn an_unregistered_region_is_never_read_even_if_its_memory_is_registered_again() {
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
    unsafe {
        reader.get(
            endpoint,
            Get { token: 1, key: &key, remote, local: to.as_mut_ptr(), bytes: 100, kind: MemoryKind::Host },
        )
    };
    let mut events = Vec::new();
    reader.progress(&mut events);
    // The loopback knows of no end of its wires and reads it.
    assert_eq!(events, [Event::Got { token: 1, result: Ok(()) }]);
    assert_eq!(cma_bytes.load(Ordering::Relaxed), 0);
}

#[test]
fn a_process_that_is_not_the_one_in_the_address_is_not_read_by_cma() {
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
fn the_bytes_and_calls_of_a_turn_are_limited() {
    if !permitted("the_bytes_and_calls_of_a_turn_are_limited") {
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
fn a_get_that_cannot_be_read_fails_no_other_get() {
    if !permitted("a_get_that_cannot_be_read_fails_no_other_get") {
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
    let mapping = Mapping::unlimited(&path, 3 * 4096, 0..3 * 4096, Way::ReadOnly).expect("mapped");
    let mut pair = Pair::new();
    // SAFETY: the mapping lives until the end; that it has no file behind it any more is what is tested.
    let (_, key) = unsafe { pair.owner.register(mapping.address(), 3 * 4096, MemoryKind::Host) }.expect("registered");
    std::fs::File::options().write(true).open(&path).expect("opened").set_len(4096).expect("cut");
    let mut to = vec![0; 4096];
    for (token, offset) in [(1, 0), (2, 2 * 4096), (3, 0)] {
        let remote = (mapping.address() + offset) as u64;
        let get = Get { token, key: &key, remote, local: to.as_mut_ptr(), bytes: 4096, kind: MemoryKind::Host };
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
