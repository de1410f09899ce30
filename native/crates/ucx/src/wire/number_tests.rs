//! UCX pairs the openings of two wires by their numbers, on which the transport's links rely. Needs a UCX, as the tests
//! in `tests/`.

use super::send_tests::{events_within, ucx, wire};
use super::*;

const PATIENCE: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(10);

/// Reads the owner's memory, which it shows for this; false when the read fails or does not end.
fn read(reader: &mut UcxWire, owner: &mut UcxWire, endpoint: Endpoint, patience: Duration) -> bool {
    // In memory that may be written, without which no RDMA device registers it; leaked, because it must stay.
    let shown: &'static [u8; 64] = Box::leak(Box::new([7; 64]));
    // SAFETY: it stays.
    let (_, key) = unsafe { owner.register(shown.as_ptr().expose_provenance(), shown.len(), MemoryKind::Host) }
        .expect("registered");
    let remote = shown.as_ptr().addr() as u64;
    // Leaked, because a read that did not end may still write to it.
    let local = Box::leak(Box::new([0u8; 64]));
    // SAFETY: leaked above.
    unsafe {
        reader.get(
            endpoint,
            Get { token: 1, key: &key, remote, local: local.as_mut_ptr(), bytes: local.len(), kind: MemoryKind::Host },
        )
    };
    let end = std::time::Instant::now() + patience;
    while std::time::Instant::now() < end {
        for event in events_within(SHORT, &mut [&mut *reader, &mut *owner]) {
            if let Event::Got { result, .. } = event {
                return result.is_ok() && *local == *shown;
            }
        }
    }
    false
}

#[test]
fn closing_one_end_ends_the_reads_over_the_end_of_the_same_number() {
    let Some(ucx) = ucx() else { return };
    for failed_openings in [0, 1, 5] {
        let (mut reader, mut owner) = (wire(&ucx), wire(&ucx));
        for _ in 0..failed_openings {
            let opened = reader.open(owner.address()).expect("opened");
            reader.close(opened.endpoint);
        }
        let link = reader.open(owner.address()).expect("opened");
        assert_eq!(link.number, failed_openings + 1);
        // The owner hears of it before it opens its own end, as it does by the reader's greeting.
        reader.send(link.endpoint, vec![1]);
        let end = std::time::Instant::now() + PATIENCE;
        while !events_within(SHORT, &mut [&mut reader, &mut owner]).contains(&Event::Message(vec![1])) {
            assert!(std::time::Instant::now() < end, "no message has come");
        }
        let mut other_end = owner.open(reader.address()).expect("opened");
        while other_end.number < link.number {
            owner.close(other_end.endpoint);
            other_end = owner.open(reader.address()).expect("opened");
        }
        assert!(read(&mut reader, &mut owner, link.endpoint, PATIENCE), "{failed_openings} in vain");
        owner.close(other_end.endpoint);
        // Over RDMA UCX destroys the queue pair a little later, and until then the device answers reads.
        let over_rdma = std::env::var("UCX_TLS").is_ok_and(|transports| transports.contains("rc"));
        let end = std::time::Instant::now() + if over_rdma { PATIENCE } else { Duration::ZERO };
        while read(&mut reader, &mut owner, link.endpoint, Duration::from_millis(300)) {
            assert!(std::time::Instant::now() < end, "{failed_openings} in vain");
        }
    }
}
