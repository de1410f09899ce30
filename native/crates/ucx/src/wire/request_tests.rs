//! Callbacks and requests on a fake UCX: no library is needed, so Miri can run them (`cargo +nightly miri test -p
//! sluice-ucx request_tests`), which sees a pointer that moving the wire has made invalid.

use std::time::Duration;

use super::fake::{self, Planned};
use super::*;
use crate::library::OLDEST;

fn wire() -> UcxWire {
    UcxWire::new(Arc::new(Ucx::of(fake::functions(), OLDEST))).expect("a wire")
}

fn turn(wire: &mut UcxWire) -> Vec<Event> {
    let mut events = Vec::new();
    wire.progress(&mut events);
    events
}

/// Begins reads of a byte each, with one key; their memory.
fn read(wire: &mut UcxWire, endpoint: Endpoint, count: usize) -> Vec<u8> {
    let mut memory = vec![0; count];
    for (token, byte) in memory.iter_mut().enumerate() {
        let get = Get { token: token as u64, key: b"key", remote: 8, local: byte, bytes: 1, kind: MemoryKind::Host };
        // SAFETY: the callers keep the memory; the fake writes nothing to it.
        unsafe { wire.get(endpoint, get) };
    }
    memory
}

#[test]
fn a_wire_may_be_moved_while_ucx_has_pointers_into_it() {
    let mut made = wire();
    let endpoint = made.open(b"somebody").expect("opened").endpoint;
    let _memory = read(&mut made, endpoint, 1);
    let mut moved = Box::new(made);
    moved.open(b"somebody else").expect("opened");
    fake::plan(Planned::Message(vec![1, 2, 3]));
    fake::plan(Planned::Failure(0));
    fake::plan(Planned::End(0, -25));
    let events = turn(&mut moved);
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(events[0], Event::Message(vec![1, 2, 3]));
    assert!(matches!(events[1], Event::Failed { endpoint: failed, .. } if failed == endpoint), "{events:?}");
    assert!(matches!(events[2], Event::Got { token: 0, result: Err(_) }), "{events:?}");
}

#[test]
fn what_ucx_reaches_processes_by_is_told_once_each() {
    let mut wire = wire();
    assert!(wire.means().is_empty(), "not asked yet");
    wire.check_reach().expect("the fake connects");
    assert_eq!(wire.means(), ["rc_verbs/rxe0:1", "tcp/eth0"]);
}

#[test]
fn a_turn_touches_only_the_requests_that_have_ended() {
    let mut wire = wire();
    let endpoint = wire.open(b"somebody").expect("opened").endpoint;
    let _memory = read(&mut wire, endpoint, 1000);
    fake::take_calls();
    assert_eq!(turn(&mut wire), []);
    assert_eq!(fake::take_calls(), ["worker_progress"], "nothing has ended");
    for place in [999, 3, 500] {
        fake::plan(Planned::End(place, sys::OK));
    }
    let mut tokens: Vec<u64> = turn(&mut wire)
        .into_iter()
        .map(|event| match event {
            Event::Got { token, result: Ok(()) } => token,
            other => panic!("{other:?}"),
        })
        .collect();
    tokens.sort_unstable();
    assert_eq!(tokens, [3, 500, 999]);
    let (progress, others): (Vec<_>, Vec<_>) =
        fake::take_calls().into_iter().partition(|name| *name == "worker_progress");
    assert!(progress.len() <= 2, "{} calls", progress.len());
    assert_eq!(others, ["request_free"; 3]);
    // The wire would wait long for the others when it is dropped.
    (0..1000).filter(|place| !tokens.contains(&(*place as u64))).for_each(|place| fake::plan(Planned::End(place, -16)));
    assert_eq!(turn(&mut wire).len(), 997);
}

#[test]
fn the_wire_does_not_sleep_on_what_has_ended_inside_another_call() {
    let mut wire = wire();
    wire.inbox.completed.borrow_mut().push((null_mut(), sys::OK));
    fake::take_calls();
    wire.wait(Duration::from_secs(1));
    assert_eq!(fake::take_calls(), [""; 0], "not even armed");
}

#[test]
fn keys_of_a_closed_endpoint_are_destroyed_when_their_last_read_has_ended() {
    let mut wire = wire();
    let endpoint = wire.open(b"somebody").expect("opened").endpoint;
    let _memory = read(&mut wire, endpoint, 2);
    wire.close(endpoint);
    fake::plan(Planned::End(0, -16));
    turn(&mut wire);
    assert!(!fake::take_calls().contains(&"rkey_destroy"), "the other read may need it");
    fake::plan(Planned::End(1, -16));
    turn(&mut wire);
    assert_eq!(fake::take_calls().iter().filter(|name| **name == "rkey_destroy").count(), 1);
}
