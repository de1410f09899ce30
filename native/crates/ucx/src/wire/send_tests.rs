//! Messages that cannot be sent show as the endpoint's failure: once, and while it is open. Needs a UCX, as the tests
//! in `tests/`; without one, each says that it was skipped.

use std::ffi::{c_uint, c_void};
use std::time::Instant;

use super::*;

/// Longer than what the kernel's buffers take for a peer that does not read.
const BACKLOG: usize = 64 << 20;
const MESSAGE_BYTES: usize = 1 << 20;
/// Over TCP it takes milliseconds; RDMA devices repeat what is not acknowledged for seconds.
const LONGEST_FAILURE: Duration = Duration::from_secs(60);
const NO_RESOURCE: sys::Status = -2;

pub(super) use super::common::ucx;

pub(super) fn wire(ucx: &Arc<Ucx>) -> UcxWire {
    UcxWire::new(Arc::clone(ucx)).expect("a wire")
}

/// The events of a time in which all wires go on.
pub(super) fn events_within(time: Duration, wires: &mut [&mut UcxWire]) -> Vec<Event> {
    let (begun, mut events) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        wires.iter_mut().for_each(|wire| wire.progress(&mut events));
        std::thread::sleep(Duration::from_millis(1));
    }
    events
}

/// Of at least 100 ms.
fn events_until_all_sends_end(wire: &mut UcxWire) -> Vec<Event> {
    let (mut events, end) = (Vec::new(), Instant::now() + LONGEST_FAILURE);
    loop {
        events.extend(events_within(Duration::from_millis(100), &mut [wire]));
        if wire.requests.is_empty() {
            return events;
        }
        assert!(Instant::now() < end, "sends have not ended");
    }
}

fn failures_of(endpoint: Endpoint, events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Failed { endpoint: failed, .. } if *failed == endpoint)).count()
}

/// Two wires, the first with an endpoint to the second over which a message has come.
fn connected(ucx: &Arc<Ucx>) -> (UcxWire, UcxWire, Endpoint) {
    let (mut one, mut other) = (wire(ucx), wire(ucx));
    let endpoint = one.open(other.address()).expect("opened").endpoint;
    one.send(endpoint, vec![1]);
    let end = Instant::now() + Duration::from_secs(10);
    while !events_within(Duration::from_millis(10), &mut [&mut one, &mut other]).contains(&Event::Message(vec![1])) {
        assert!(Instant::now() < end, "no message has come");
    }
    (one, other, endpoint)
}

/// Sends more than is taken for a peer that stands still, so that requests are under way.
fn fill(wire: &mut UcxWire, endpoint: Endpoint) {
    (0..BACKLOG / MESSAGE_BYTES).for_each(|_| wire.send(endpoint, vec![0; MESSAGE_BYTES]));
    assert!(wire.requests.sends() > 0, "sends are under way");
}

unsafe extern "C" fn refuse(
    _: sys::Ep,
    _: c_uint,
    _: *const c_void,
    _: usize,
    _: *const c_void,
    _: usize,
    _: *const sys::RequestParam,
) -> sys::StatusPtr {
    std::ptr::without_provenance_mut(isize::from(NO_RESOURCE) as usize)
}

#[test]
fn a_send_that_ucx_refuses_is_one_failure_of_its_endpoint() {
    let Some(ucx) = ucx() else { return };
    let mut refusing = ucx.copy();
    refusing.calls.am_send = refuse;
    let (other, mut sender) = (wire(&ucx), wire(&Arc::new(refusing)));
    let [kept, closed] = [(); 2].map(|()| sender.open(other.address()).expect("opened").endpoint);
    for endpoint in [kept, kept, closed] {
        sender.send(endpoint, vec![1]);
    }
    sender.close(closed);
    let begun = Instant::now();
    sender.wait(Duration::from_secs(60));
    assert!(begun.elapsed() < Duration::from_secs(30), "there is something to report");
    let events = events_within(Duration::from_millis(100), &mut [&mut sender]);
    assert_eq!((failures_of(kept, &events), failures_of(closed, &events)), (1, 0), "{events:?}");
    sender.send(kept, vec![1]);
    assert_eq!(events_within(Duration::from_millis(100), &mut [&mut sender]), []);
}

#[test]
fn sends_to_a_peer_that_is_gone_are_one_failure() {
    let Some(ucx) = ucx() else { return };
    let (mut one, other, endpoint) = connected(&ucx);
    fill(&mut one, endpoint);
    drop(other);
    let (mut events, end) = (Vec::new(), Instant::now() + LONGEST_FAILURE);
    while failures_of(endpoint, &events) == 0 && Instant::now() < end {
        events.extend(events_within(Duration::from_millis(100), &mut [&mut one]));
    }
    one.send(endpoint, vec![1]);
    events.extend(events_until_all_sends_end(&mut one));
    assert_eq!(failures_of(endpoint, &events), 1, "{events:?}");
}

#[test]
fn sends_that_a_close_cancels_are_silent() {
    let Some(ucx) = ucx() else { return };
    let (mut one, _other, endpoint) = connected(&ucx);
    fill(&mut one, endpoint);
    one.close(endpoint);
    assert_eq!(events_until_all_sends_end(&mut one), []);
}
