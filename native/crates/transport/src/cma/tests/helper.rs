//! A second thread that reads beside the wire's own.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::pair::{MIB, Pair, content};
use super::sleeper::Sleeper;
use crate::cma::call::stalls;
use crate::cma::format::RegionKey;
use crate::cma::permitted;
use crate::cma::queue::CALL_BYTES;
use crate::cma::validity::ValidityMark;
use crate::wire::{Event, Wire};

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
fn two_threads_read_the_same_bytes_as_one() {
    if !permitted("two_threads_read_the_same_bytes_as_one") {
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
fn one_get_alone_does_not_call_the_helper_and_a_second_one_does() {
    if !permitted("one_get_alone_does_not_call_the_helper_and_a_second_one_does") {
        return;
    }
    let mut pair = Pair::new().helped();
    let (from, mut to) = (content(4 * CALL_BYTES), vec![0; 4 * CALL_BYTES]);
    let (_, key) = pair.register(&from);
    let end = Instant::now() + Duration::from_secs(60);
    while !pair.reader.queue.helper_sleeps() {
        assert!(Instant::now() < end, "the helper has not begun to wait");
        std::thread::sleep(Duration::from_millis(1));
    }
    let (first_to, second_to) = to.split_at_mut(2 * CALL_BYTES);
    let (first, second) = from.split_at(2 * CALL_BYTES);
    let stall = stalls::at(first.as_ptr().expose_provenance() as u64);
    pair.get(0, &key, first, first_to);
    assert!(pair.reader.queue.helper_sleeps(), "it was called for one get");
    pair.get(1, &key, second, second_to);
    stall.wait_for_entry();
    drop(stall);
    assert_eq!(ended(&mut pair, 2), [(0, true), (1, true)]);
    assert!(from == to);
}

#[test]
fn a_stuck_helper_is_reported_once_and_delays_no_other_read() {
    if !permitted("a_stuck_helper_is_reported_once_and_delays_no_other_read") {
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
fn a_read_by_the_helper_ends_a_wait() {
    if !permitted("a_read_by_the_helper_ends_a_wait") {
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
    assert!(start.elapsed() < Duration::from_secs(30), "the wait has not ended");
    assert_eq!(ended(&mut pair, 1), [(0, true)]);
    later.join().expect("no panic");
}

#[test]
fn reads_that_the_helper_is_refused_go_to_the_inner_wire() {
    if !permitted("reads_that_the_helper_is_refused_go_to_the_inner_wire") {
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
