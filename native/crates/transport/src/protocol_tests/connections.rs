//! How many connections there are: idle ones are closed and opened again when needed, and there are never more than the
//! limit.

use std::time::Duration;

use super::world::{Reads, STEP, World, block, bytes_of, failure_of};
use crate::agent::{Command, PeerState};
use crate::completions::Failure;
use crate::loopback::Faults;
use crate::options::TransportOptions;
use crate::statistics::Statistic;

const IDLE: Duration = Duration::from_millis(500);
const IDLE_STEPS: usize = IDLE.as_millis() as usize;

fn short_lived(options: &mut TransportOptions) {
    options.connection_idle = IDLE;
}

fn limited(max_connections: usize) -> impl Fn(&mut TransportOptions) {
    move |options| options.max_connections = max_connections
}

pub(super) fn an_idle_connection_is_closed_and_the_next_fetch_connects_again(reads: Reads) {
    let mut world = World::with(reads, 28, &["s", "s"], short_lived);
    let data = [world.publish(0, 1, &[5000]), world.publish(1, 1, &[7000])];
    world.connect(0, 1);
    world.connect(1, 0);
    for round in 1..4 {
        for (reader, owner) in [(0, 1), (1, 0)] {
            world.fetch(reader, owner, &[block(1, 0, 1)]);
            assert_eq!(bytes_of(&world.ended(reader, 1)[0]), data[owner]);
        }
        assert_eq!(world.network.connections(), 1);
        world.run(IDLE_STEPS - 300);
        assert_eq!(world.network.connections(), 1, "not yet");
        world.run(700);
        assert_eq!(world.network.connections(), 0, "round {round}");
        assert_eq!((world.error(0, 1), world.error(1, 0)), (String::new(), String::new()), "no connection has failed");
        assert_eq!(world.statistic(0, Statistic::ConnectionsOpened), round);
        assert_eq!(world.statistic(0, Statistic::Connections) + world.statistic(1, Statistic::Connections), 0);
    }
    assert!(
        world.statistic(0, Statistic::ConnectionsClosedIdle) + world.statistic(1, Statistic::ConnectionsClosedIdle)
            >= 3
    );
    world.assert_nothing_left();
}

pub(super) fn a_connection_that_is_read_over_is_not_idle(reads: Reads) {
    let mut world = World::with(reads, 29, &["s", "s"], short_lived);
    let data = world.publish(1, 1, &[40 << 20]);
    world.connect(0, 1);
    world.run(10);
    // Each read takes up to a fifth of the idle time, and there are many, one after the other: messages pass only
    // before and after.
    world.network.set_faults(Faults { delay: IDLE / 5, ..Faults::default() });
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert!(bytes_of(&world.ended(0, 1)[0]) == data);
    assert_eq!(
        world.statistic(0, Statistic::ConnectionsClosedIdle) + world.statistic(1, Statistic::ConnectionsClosedIdle),
        0
    );
    world.assert_nothing_left();
}

/// The owner closes the connection while the question is on its way to it, or it has just closed it, or is about to.
pub(super) fn a_question_that_crosses_the_end_of_its_connection_is_asked_again(reads: Reads) {
    // Only the owner closes it.
    let options = |process, options: &mut TransportOptions| {
        if process == 1 {
            short_lived(options);
        }
    };
    let mut world = World::with_each(reads, 30, &["s", "s"], options);
    let data = world.publish(1, 1, &[100]);
    world.network.set_faults(Faults { delay: Duration::from_millis(40), ..Faults::default() });
    world.connect(0, 1);
    for round in 0..100 {
        world.fetch(0, 1, &[block(1, 0, 1)]);
        let ended = world.ended(0, 1);
        assert_eq!(bytes_of(&ended[0]), data, "round {round}: {}", world.error(0, 1));
        // `ended` has run for 200 more.
        world.run(IDLE_STEPS - 300 + 2 * round);
    }
    assert!(world.statistic(1, Statistic::ConnectionsClosedIdle) > 20, "the owner has closed it often enough");
    world.run(2 * IDLE_STEPS);
    world.assert_nothing_left();
}

/// A firewall, or the peer's kernel, ends the connection while nothing is under way over it.
pub(super) fn a_connection_that_is_lost_while_it_is_idle_is_opened_again(reads: Reads) {
    let mut world = World::new(reads, 33, &["s", "s"]);
    let data = [world.publish(0, 1, &[5000]), world.publish(1, 1, &[7000])];
    world.connect(0, 1);
    for round in 1..4 {
        world.fetch(0, 1, &[block(1, 0, 1)]);
        assert_eq!(bytes_of(&world.ended(0, 1)[0]), data[1], "round {round}: {}", world.error(0, 1));
        assert_eq!(world.statistic(0, Statistic::ConnectionsLostIdle), round - 1);
        let owner = world.node(1);
        world.network.reset(&owner);
        world.run(10);
        assert_eq!((world.network.connections(), world.error(0, 1).as_str()), (0, ""));
    }
    // The other way round, from the side that was read from only.
    world.connect(1, 0);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(1, 1)[0]), data[0]);
    world.assert_nothing_left();
}

/// One side closes it as idle, and its CLOSING does not come: the other side sees a failure.
pub(super) fn a_connection_whose_closing_was_lost_is_opened_again(reads: Reads) {
    let options = |process, options: &mut TransportOptions| {
        if process == 1 {
            short_lived(options);
        }
    };
    let mut world = World::with_each(reads, 34, &["s", "s"], options);
    let data = world.publish(1, 1, &[7000]);
    world.connect(0, 1);
    for round in 1..4 {
        world.fetch(0, 1, &[block(1, 0, 1)]);
        assert_eq!(bytes_of(&world.ended(0, 1)[0]), data, "round {round}: {}", world.error(0, 1));
        world.network.set_faults(Faults { failing_messages: 1000, ..Faults::default() });
        world.run(IDLE_STEPS + 100);
        world.network.set_faults(Faults::default());
        assert_eq!(world.statistic(1, Statistic::ConnectionsClosedIdle), round, "the owner has closed it");
        assert_eq!(world.statistic(0, Statistic::ConnectionsLostIdle), round, "the reader was not told");
    }
    world.assert_nothing_left();
}

/// The failure is noticed when the next question is on its way: that is asked again, once.
pub(super) fn a_question_over_a_connection_that_was_lost_before_is_asked_again_once(reads: Reads) {
    let mut world = World::new(reads, 35, &["s", "s"]);
    let data = world.publish(1, 1, &[7000]);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    let (reader, owner) = (world.node(0), world.node(1));
    let ask = |world: &mut World| {
        world.network.set_faults(Faults { delay: Duration::from_millis(100), ..Faults::default() });
        world.fetch(0, 1, &[block(1, 0, 1)]);
        world.step(STEP);
        world.network.set_faults(Faults::default());
    };
    ask(&mut world);
    world.network.reset(&reader);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data, "{}", world.error(0, 1));
    assert_eq!(world.statistic(0, Statistic::ConnectionsLostIdle), 1);
    // Lost again as soon as it is open again: the blocks end.
    ask(&mut world);
    for _ in 0..20 {
        world.network.reset(&reader);
        world.step(STEP);
    }
    assert_eq!(failure_of(&world.ended(0, 1)[0]), Failure::Peer);
    assert!(world.error(0, 1).contains("reset"), "{}", world.error(0, 1));
    // A peer that is gone is not waited for any longer than before, and what has failed late is not asked again.
    world.connect(0, 1);
    world.run(20);
    world.network.silence(&owner, true);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(3000);
    world.network.silence(&owner, false);
    world.network.reset(&reader);
    assert_eq!(failure_of(&world.ended(0, 1)[0]), Failure::Peer);
    world.assert_nothing_left();
}

/// An owner that ends while nothing is read from it: the next fetch ends at once, and says why; the process in its
/// place has an address of its own.
pub(super) fn an_owner_that_has_ended_meanwhile_fails_the_next_fetch_at_once(reads: Reads) {
    let mut world = World::new(reads, 36, &["s", "s", "s"]);
    let data = [1, 2].map(|owner| world.publish(owner, 1, &[7000]));
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data[0]);
    let owner = world.node(1);
    world.network.kill(&owner);
    world.run(10);
    assert_eq!(world.error(0, 1), "", "nothing was to be read");
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(3);
    assert_eq!(failure_of(&world.take(0)[0]), Failure::Peer);
    assert!(world.error(0, 1).contains("no process at this address"), "{}", world.error(0, 1));
    let address = world.processes[2].agent.address().to_vec();
    world.processes[0].shared.peers.lock().expect("no panic").insert(1, PeerState::default());
    world.command(0, Command::Connect { peer: 1, attempt: 0, address });
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data[1], "{}", world.error(0, 1));
    assert_eq!(world.processes[0].arena.leased_bytes(), 0);
}

pub(super) fn a_reader_has_no_more_connections_than_its_limit(reads: Reads) {
    const OWNERS: usize = 8;
    let mut world = World::with(reads, 31, &["s"; OWNERS + 1], limited(3));
    let data: Vec<_> = (1..=OWNERS).map(|owner| world.publish(owner, 1, &[1 << 20])).collect();
    (1..=OWNERS).for_each(|owner| world.connect(0, owner));
    (1..=OWNERS).for_each(|owner| _ = world.fetch(0, owner, &[block(1, 0, 1)]));
    let (mut read, mut failed) = (0, 0);
    for _ in 0..100 {
        world.step(STEP);
        assert!(world.network.connections() <= 3 && world.statistic(0, Statistic::Connections) <= 3);
        for completion in world.take(0) {
            match completion.result {
                Ok(_) => read += 1,
                Err(failure) => failed += usize::from(failure == Failure::Peer),
            }
        }
    }
    assert_eq!((read, failed), (3, OWNERS - 3), "fetches over the limit end at once");
    assert!((4..=OWNERS).all(|owner| world.error(0, owner).contains("no room")), "{}", world.error(0, 4));
    assert_eq!(world.statistic(0, Statistic::ConnectionsRefused), OWNERS as u64 - 3);
    // Connections over which nothing was read for a second make room.
    for owner in (1..=OWNERS).cycle().take(3 * OWNERS) {
        world.run(1000);
        if !world.error(0, owner).is_empty() {
            world.connect(0, owner);
        }
        world.fetch(0, owner, &[block(1, 0, 1)]);
        assert!(bytes_of(&world.ended(0, 1)[0]) == data[owner - 1], "{}", world.error(0, owner));
        assert!(world.network.connections() <= 3);
    }
    world.assert_nothing_left();
}

pub(super) fn an_owner_at_its_connection_limit_refuses_at_once(reads: Reads) {
    const READERS: usize = 5;
    let mut world = World::with(reads, 32, &["s"; READERS + 1], limited(2));
    let data = world.publish(0, 1, &[30 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    for reader in 1..=READERS {
        world.connect(reader, 0);
        world.fetch(reader, 0, &[block(1, 0, 1)]);
    }
    let (mut right, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..2000 {
        world.step(STEP);
        assert!(world.statistic(0, Statistic::Connections) <= 2);
        for reader in 1..=READERS {
            for completion in world.take(reader) {
                match completion.result {
                    Ok(_) => right.push((reader, bytes_of(&completion) == data)),
                    Err(_) => refused.push((reader, failure_of(&completion))),
                }
            }
        }
    }
    assert_eq!(right.len(), 2);
    assert!(right.iter().all(|(_, right)| *right));
    assert_eq!(refused.len(), READERS - 2);
    assert!(refused.iter().all(|(_, failure)| *failure == Failure::Peer), "none by the timeout: {refused:?}");
    let (late, _) = refused[0];
    assert!(world.error(late, 0).contains("no room"), "{}", world.error(late, 0));
    assert!(world.network.connections() <= 2, "those of the refusals are closed");
    world.connect(late, 0);
    world.fetch(late, 0, &[block(1, 0, 1)]);
    assert!(bytes_of(&world.ended(late, 1)[0]) == data, "there is room now: {}", world.error(late, 0));
    world.assert_nothing_left();
}

/// With reads by the loopback, because it counts the calls; what is before it asks it for less.
#[test]
fn idle_peers_cost_a_turn_no_call() {
    const PEERS: usize = 1000;
    let mut world = World::new(Reads::Loopback, 27, &[""; PEERS + 1]);
    let data = world.publish(1, 1, &[100]);
    (1..=PEERS).for_each(|owner| world.connect(0, owner));
    world.run(PEERS / 2);
    assert!((1..=PEERS).all(|owner| world.is_ready(0, owner)));
    let node = world.node(0);
    world.network.take_calls(&node);
    world.step(STEP);
    assert_eq!(world.network.take_calls(&node), 1, "the wire's progress");
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    world.assert_nothing_left();
}
