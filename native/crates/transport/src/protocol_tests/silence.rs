//! Peers that send nothing, that die, or that stop: what was asked of them ends, and nothing stays pinned or leased.

use std::time::{Duration, Instant};

use super::world::{Reads, TIMEOUT, World, block, bytes_of, failure_of};
use crate::completions::Failure;
use crate::loopback::Faults;
use crate::statistics::Statistic;
use crate::wire::{Endpoint, Event, WireError};

pub(super) fn a_silent_peer_times_out_and_can_be_connected_again(reads: Reads) {
    let mut world = World::new(reads, 6, &["", ""]);
    let data = world.publish(1, 1, &[100]);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    drop(world.ended(0, 1));
    let owner = world.node(1);
    world.network.silence(&owner, true);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(TIMEOUT.as_millis() as usize - 1000);
    assert!(world.take(0).is_empty(), "not yet");
    let ended = world.ended(0, 1);
    assert_eq!(failure_of(&ended[0]), Failure::Timeout);
    assert!(world.error(0, 1).contains("20000 ms"), "{}", world.error(0, 1));
    world.network.silence(&owner, false);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    world.assert_nothing_left();
}

/// A caller that learns of a failed block asks at once why (`PeerTable.failed`): while the reason cannot be told, the
/// failure is not either.
pub(super) fn the_reason_of_a_failure_is_told_before_its_blocks_end(reads: Reads) {
    let mut world = World::new(reads, 7, &["", ""]);
    world.publish(1, 1, &[100]);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    drop(world.ended(0, 1));
    let owner = world.node(1);
    world.network.silence(&owner, true);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    let shared = std::sync::Arc::clone(&world.processes[0].shared);
    let table = shared.peers.lock().expect("no panic");
    world.run(TIMEOUT.as_millis() as usize + 1000);
    assert!(world.take(0).is_empty(), "its reason is not told");
    drop(table);
    world.run(1);
    assert_eq!(failure_of(&world.take(0)[0]), Failure::Timeout);
    assert_ne!(world.error(0, 1), "");
}

/// A thread of this side hangs in a read: this side's blocks end, and the other side is told.
pub(super) fn a_read_that_does_not_end_ends_its_connection(reads: Reads) {
    let mut world = World::new(reads, 23, &["", ""]);
    let data = world.publish(1, 1, &[100]);
    world.publish(0, 1, &[100]);
    world.connect(0, 1);
    world.connect(1, 0);
    world.run(40);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    // It has asked, and there is no answer yet.
    world.run(1);
    assert!(world.take(0).is_empty());
    // The network has chosen the connection's number; events of other numbers have no effect.
    for number in 0..10 {
        let (endpoint, error) = (Endpoint(number), WireError("it hangs".into()));
        world.processes[0].agent.event(Event::Stuck { endpoint, error }, Instant::now());
    }
    assert_eq!(failure_of(&world.ended(0, 1)[0]), Failure::Timeout);
    world.run(5);
    assert_eq!(world.error(0, 1), "it hangs");
    // It was told, and had nothing under way.
    assert_eq!((world.error(1, 0).as_str(), world.statistic(1, Statistic::ConnectionsLostIdle)), ("", 1));
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    world.assert_nothing_left();
}

/// A stopped process can receive nothing.
pub(super) fn a_pause_of_this_process_does_not_count_against_its_peers(reads: Reads) {
    let mut world = World::new(reads, 21, &["", "", ""]);
    let data = [1, 2].map(|owner| world.publish(owner, 1, &[20 << 20]));
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    [1, 2].into_iter().for_each(|owner| world.connect(0, owner));
    world.run(40);
    [1, 2].into_iter().for_each(|owner| _ = world.fetch(0, owner, &[block(1, 0, 1)]));
    world.run(1);
    // The reader has sent its questions and is stopped for a while. When it runs again, no answer has arrived yet.
    world.step(2 * TIMEOUT);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.request);
    assert!(bytes_of(&ended[0]) == data[0] && bytes_of(&ended[1]) == data[1]);
    drop(ended);
    world.assert_nothing_left();
}

pub(super) fn repeated_pauses_do_not_hide_a_silent_peer(reads: Reads) {
    let mut world = World::new(reads, 22, &["", ""]);
    world.publish(1, 1, &[100]);
    world.connect(0, 1);
    world.run(40);
    let owner = world.node(1);
    world.network.silence(&owner, true);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    let late = Duration::from_millis(300);
    (0..2 * TIMEOUT.as_millis() / late.as_millis() + 5).for_each(|_| world.step(late));
    assert_eq!(failure_of(&world.take(0)[0]), Failure::Timeout);
}

pub(super) fn a_dead_peer_fails_the_blocks_asked_of_it(reads: Reads) {
    let mut world = World::new(reads, 7, &["", "", ""]);
    world.publish(1, 1, &[50 << 20]);
    let data = world.publish(2, 1, &[1000]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.connect(0, 2);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(12);
    assert!(world.pins(1) > 0, "it is being read");
    let owner = world.node(1);
    world.network.kill(&owner);
    let ended = world.ended(0, 1);
    assert_eq!(failure_of(&ended[0]), Failure::Peer);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(failure_of(&world.ended(0, 1)[0]), Failure::Peer, "and what is asked later");
    world.fetch(0, 2, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data, "others go on");
    assert_eq!(world.processes[0].arena.leased_bytes(), 0);
}

pub(super) fn the_pins_of_a_dead_reader_are_released(reads: Reads) {
    let mut world = World::new(reads, 8, &["", ""]);
    world.publish(1, 1, &[50 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(12);
    assert!(world.pins(1) > 0, "it is reading");
    let reader = world.node(0);
    world.network.kill(&reader);
    world.run(10);
    assert_eq!(world.pins(1), 0);
}

pub(super) fn a_stopped_agent_releases_everything(reads: Reads) {
    let mut world = World::new(reads, 14, &["", ""]);
    world.publish(1, 1, &[50 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(12);
    world.processes[0].agent.stop();
    assert!(world.processes[0].shared.completions.take(1, Duration::from_secs(60)).is_none(), "at once");
    assert_eq!(world.processes[0].arena.leased_bytes(), 0);
    world.processes[1].agent.stop();
    assert_eq!((world.network.regions(), world.network.connections()), (0, 0));
}
