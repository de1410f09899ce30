//! Both processes give one connection the same number, whichever of their attempts have failed.

use std::time::Duration;

use super::world::{Reads, World, block, bytes_of, failure_of};
use crate::agent::Command;
use crate::completions::Failure;
use crate::loopback::Faults;

pub(super) fn both_read_from_each_other_over_one_connection(reads: Reads) {
    let mut world = World::new(reads, 11, &["s", "s"]);
    let data = [world.publish(0, 1, &[5000]), world.publish(1, 1, &[7000])];
    world.connect(0, 1);
    world.connect(1, 0);
    world.run(10);
    assert_eq!(world.network.connections(), 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data[1]);
    assert_eq!(bytes_of(&world.take(1)[0]), data[0]);
    world.command(0, Command::Disconnect { peer: 1 });
    world.run(5);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(1, 1)[0]), data[0], "the connection stays for the other side");
    world.assert_nothing_left();
}

/// The driver may take both for dead for a while: then each disconnects the other and connects it again later.
pub(super) fn a_reconnecting_peer_does_not_end_the_other_sides_reads(reads: Reads) {
    let mut world = World::new(reads, 23, &["s", "s"]);
    let data = [world.publish(0, 1, &[60 << 20]), world.publish(1, 1, &[50 << 20])];
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.connect(1, 0);
    world.run(40);
    let lost = world.fetch(0, 1, &[block(1, 0, 1)]);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    world.run(12);
    assert!(world.pins(0) > 0 && world.pins(1) > 0, "both are being read");
    world.command(0, Command::Disconnect { peer: 1 });
    world.connect(0, 1);
    let again = world.fetch(0, 1, &[block(1, 0, 1)]);
    let ended = world.ended(0, 2);
    let of = |request| ended.iter().find(|completion| completion.request == request).expect("ended");
    assert_eq!(failure_of(of(lost)), Failure::Peer);
    assert!(bytes_of(of(again)) == data[1]);
    assert!(bytes_of(&world.ended(1, 1)[0]) == data[0], "this one has heard of nothing");
    assert_eq!(world.network.connections(), 1);
    drop(ended);
    world.assert_nothing_left();
}

pub(super) fn a_reader_with_failed_openings_connects_at_once(reads: Reads) {
    let mut world = World::new(reads, 24, &["s", "s"]);
    let data = world.publish(1, 1, &[1000]);
    world.open_and_fail(0, 1, 3);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    assert_eq!(world.network.connections(), 1, "so that the owner can end it");
    world.assert_nothing_left();
}

pub(super) fn an_owner_with_failed_openings_is_reached_by_the_next_attempts(reads: Reads) {
    for failed_openings in [1, 3, 3000] {
        let mut world = World::new(reads, 25, &["s", "s"]);
        let data = world.publish(1, 1, &[1000]);
        world.open_and_fail(1, 0, failed_openings);
        let mut attempts = 0;
        loop {
            attempts += 1;
            world.connect(0, 1);
            world.fetch(0, 1, &[block(1, 0, 1)]);
            let ended = world.ended(0, 1);
            if ended[0].result.is_ok() {
                assert_eq!(bytes_of(&ended[0]), data);
                break;
            }
            assert!(world.error(0, 1).contains("it knows connection"), "{}", world.error(0, 1));
        }
        assert_eq!(attempts, 2 + failed_openings / 1024, "{failed_openings}");
        assert_eq!(world.network.connections(), 1);
        world.assert_nothing_left();
    }
}

/// The side with the lower number is refused by the other one, with whose number it has caught up meanwhile.
pub(super) fn crossing_hellos_leave_one_good_connection(reads: Reads) {
    let mut world = World::new(reads, 26, &["s", "s"]);
    let data = world.publish(1, 1, &[1000]);
    world.network.set_faults(Faults { delay: Duration::from_millis(5), ..Faults::default() });
    world.open_and_fail(0, 1, 5);
    world.connect(0, 1);
    world.connect(1, 0);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    assert!(world.error(1, 0).contains("connected again"), "{}", world.error(1, 0));
    world.connect(1, 0);
    world.run(100);
    assert_eq!((world.error(0, 1).as_str(), world.error(1, 0).as_str()), ("", ""));
    assert_eq!(world.network.connections(), 1);
    world.assert_nothing_left();
}

pub(super) fn ten_thousand_connections_leak_nothing(reads: Reads) {
    let mut world = World::new(reads, 12, &["s", "s"]);
    let data = world.publish(1, 1, &[100]);
    for cycle in 0..10_000 {
        world.connect(0, 1);
        if cycle % 100 == 0 {
            world.fetch(0, 1, &[block(1, 0, 1)]);
            let ended = loop {
                world.run(1);
                let ended = world.take(0);
                if !ended.is_empty() {
                    break ended;
                }
            };
            assert_eq!(bytes_of(&ended[0]), data);
        }
        world.command(0, Command::Disconnect { peer: 1 });
        world.run(if cycle % 3 == 0 { 4 } else { 1 });
    }
    world.run(10);
    assert_eq!(world.network.connections(), 0);
    assert_eq!(world.network.regions(), 2, "the sample, and one region, which no reader uses");
    world.assert_nothing_left();
}
