//! The protocol on the loopback wire: virtual time, ordered faults. Everything runs twice: with the loopback's own
//! reads, and with reads by system calls before them ([`crate::cma::CmaWire`]).

mod connections;
mod limits;
mod slow_disks;
mod stranger;
mod world;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use self::connections::*;
use self::stranger::{STRANGER_PEER, Stranger};
use self::world::{Reads, STEP, TIMEOUT, World, block, bytes_of, failure_of};
use crate::agent::Command;
use crate::cma::{faults, permitted};
use crate::completions::Failure;
use crate::loopback::Faults;
use crate::message::{Block, Body, InstanceId, Message, SAMPLE_BYTES, VERSION};
use crate::regions::LARGE_REGION_BYTES;
use crate::wire::{Endpoint, Event, Wire, WireError};

/// Each of these, with both ways of reading.
macro_rules! suite {
    ($($name:ident)*) => {
        mod by_loopback {
            $(#[test] fn $name() { super::$name(super::Reads::Loopback) })*
        }
        mod by_cma {
            $(#[test] fn $name() {
                if super::permitted(stringify!($name)) {
                    super::$name(super::Reads::Cma)
                }
            })*
        }
    };
}

/// Runs a test with both ways of reading; where the kernel does not permit the one, with the other.
fn both_ways(name: &str, test: impl Fn(Reads)) {
    test(Reads::Loopback);
    if permitted(name) {
        test(Reads::Cma);
    }
}

suite! {
    blocks_are_read_and_what_is_not_there_is_not_found
    a_block_may_lie_in_several_regions
    memory_that_is_not_there_is_said_and_the_rest_is_read
    blocks_that_wait_take_no_memory
    who_does_not_know_the_secret_is_told_nothing
    locations_and_proofs_without_a_right_proof_before_are_refused
    an_owner_that_answers_twice_is_given_up_and_no_memory_is_lost
    an_answer_that_was_lost_is_noticed_by_the_next
    who_is_read_wrongly_is_never_asked
    who_cannot_be_read_is_never_asked
    a_read_that_fails_alone_ends_its_block_only
    a_silent_peer_is_given_up_after_the_timeout_and_can_be_connected_again
    a_read_that_does_not_end_ends_its_connection
    a_pause_of_this_process_is_no_silence_of_its_peers
    pauses_one_after_another_do_not_hide_that_a_peer_is_silent
    a_dead_peer_ends_what_was_asked_of_it
    a_reader_that_dies_leaves_no_pin
    an_output_withdrawn_while_it_is_read_is_read_to_its_end
    a_file_that_is_gone_or_too_short_is_not_found
    both_read_from_each_other_over_one_connection
    who_connects_again_cuts_nobody_off
    a_reader_whose_connections_came_to_nothing_is_followed
    an_owner_whose_connections_came_to_nothing_is_followed_by_the_next_attempt
    greetings_that_cross_leave_one_good_connection
    ten_thousand_connections_leave_nothing_behind
    idle_regions_are_bounded
    a_stopped_agent_gives_everything_back
    an_idle_connection_is_closed_and_the_next_fetch_connects_again
    a_connection_that_is_read_over_is_not_idle
    a_question_that_crosses_the_end_of_its_connection_is_asked_again
    a_reader_has_no_more_connections_than_its_limit
    an_owner_without_room_says_so_at_once
}

fn blocks_are_read_and_what_is_not_there_is_not_found(reads: Reads) {
    let mut world = World::new(reads, 1, &["s", "s"]);
    let data = world.publish(1, 7, &[10, 0, 3 << 20, 5]);
    world.connect(0, 1);
    let blocks = [block(7, 0, 1), block(7, 1, 2), block(7, 2, 3), block(7, 0, 4), block(7, 3, 5), block(8, 0, 1)];
    world.fetch(0, 1, &blocks);
    let mut ended = world.ended(0, blocks.len());
    ended.sort_by_key(|completion| completion.index);
    let large = 10 + (3 << 20);
    assert_eq!(bytes_of(&ended[0]), data[..10]);
    assert_eq!(bytes_of(&ended[1]), []);
    assert_eq!(bytes_of(&ended[2]), data[10..large]);
    assert_eq!(bytes_of(&ended[3]), data);
    assert_eq!(failure_of(&ended[4]), Failure::NotFound, "there are four partitions");
    assert_eq!(failure_of(&ended[5]), Failure::NotFound, "there is no such map");
    let by_cma = if reads == Reads::Cma { SAMPLE_BYTES + large + data.len() } else { 0 };
    assert_eq!(world.cma_bytes.load(Ordering::Relaxed), by_cma as u64);
    drop(ended);
    world.assert_nothing_left();
}

fn a_block_may_lie_in_several_regions(reads: Reads) {
    let mut world = World::new(reads, 2, &["", ""]);
    let path = world.files.join("large");
    let file = std::fs::File::create(&path).expect("created");
    let (total, edge) = (2 * LARGE_REGION_BYTES + 100, LARGE_REGION_BYTES);
    file.set_len(total).expect("sparse");
    std::os::unix::fs::FileExt::write_all_at(&file, b"over the edge", edge - 4).expect("written");
    let offsets = vec![0, edge - 10, edge + 20, total];
    world.processes[1].shared.catalog.publish(1, 1, path, None, offsets).expect("good");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 1, 2), block(1, 0, 3)]);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.index);
    assert_eq!(&bytes_of(&ended[0])[6..19], b"over the edge");
    let whole = bytes_of(&ended[1]);
    assert_eq!(whole.len() as u64, total);
    assert_eq!(&whole[edge as usize - 4..edge as usize + 9], b"over the edge");
    drop(ended);
    world.assert_nothing_left();
}

fn memory_that_is_not_there_is_said_and_the_rest_is_read(reads: Reads) {
    let mut world = World::new(reads, 3, &["", ""]);
    let data = world.publish(1, 1, &[100, 8 << 20]);
    world.processes[0].arena.set_limit(1 << 20);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1), block(1, 1, 2)]);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.index);
    assert_eq!(bytes_of(&ended[0]), data[..100]);
    assert_eq!(failure_of(&ended[1]), Failure::NoMemory);
    drop(ended);
    world.assert_nothing_left();
}

fn blocks_that_wait_take_no_memory(reads: Reads) {
    let mut world = World::new(reads, 16, &["", ""]);
    let data = world.publish(1, 1, &[1 << 20; 40]);
    world.processes[0].arena.set_limit(8 << 20);
    world.connect(0, 1);
    let blocks: Vec<Block> = (0..40).map(|first| block(1, first, first + 1)).collect();
    world.fetch(0, 1, &blocks);
    let mut right = 0;
    for _ in 0..200 {
        world.step(STEP);
        for completion in world.take(0) {
            assert!(bytes_of(&completion) == data[(completion.index as usize) << 20..][..1 << 20]);
            right += 1;
        }
    }
    assert_eq!(right, 40);
    world.assert_nothing_left();
}

fn who_does_not_know_the_secret_is_told_nothing(reads: Reads) {
    for secrets in [["a", "b"], ["", "b"], ["a", ""]] {
        let mut world = World::new(reads, 4, &secrets);
        world.publish(1, 1, &[100]);
        world.connect(0, 1);
        world.fetch(0, 1, &[block(1, 0, 1)]);
        let ended = world.ended(0, 1);
        assert_eq!(failure_of(&ended[0]), Failure::Peer);
        assert!(world.error(0, 1).contains("secret"), "{}", world.error(0, 1));
        assert_eq!(world.network.regions(), 0, "nothing was registered for it");
    }
}

fn locations_and_proofs_without_a_right_proof_before_are_refused(reads: Reads) {
    let mut world = World::new(reads, 5, &["s"]);
    world.publish(0, 1, &[100]);
    let mut stranger = world.stranger();
    let owner = world.processes[0].agent.address().to_vec();
    let link = stranger.open(&owner[8..]).expect("there");
    let me = InstanceId(99);
    let address = [&me.0.to_le_bytes(), stranger.address()].concat();
    let mut say = |world: &mut World, body: Body| {
        stranger.send(link.endpoint, Message { sender: me, body }.encode());
        world.run(5);
        let mut events = Vec::new();
        stranger.progress(&mut events);
        events
    };
    let nonce = [1; 16];
    let challenge =
        say(&mut world, Body::Hello { version: VERSION, number: link.number, nonce, address: address.clone() });
    assert_eq!(challenge.len(), 1, "the owner proves itself and asks for the same");
    for body in [
        Body::Locate { batch: 1, done: vec![], blocks: vec![block(1, 0, 1)] },
        Body::Proof { proof: [0; 32] },
        Body::Done { batches: vec![1] },
    ] {
        for event in say(&mut world, body) {
            assert!(is_refusal(&event), "{event:?}");
        }
    }
    let old = say(&mut world, Body::Hello { version: 0, number: link.number, nonce, address });
    assert!(old.iter().any(is_refusal), "{old:?}");
    assert_eq!(world.network.regions(), 0);
}

fn an_owner_that_answers_twice_is_given_up_and_no_memory_is_lost(reads: Reads) {
    let mut stranger = Stranger::new(reads, 15);
    let memory = [5; 64];
    stranger.show(&memory, memory);
    stranger.fetch();
    stranger.fetch();
    // Both answers arrive in one turn, before a read of the first has failed.
    stranger.locate(2);
    stranger.locate(2);
    stranger.assert_given_up(2, "out of turn");
}

fn an_answer_that_was_lost_is_noticed_by_the_next(reads: Reads) {
    let mut stranger = Stranger::new(reads, 17);
    let memory = [5; 64];
    stranger.show(&memory, memory);
    stranger.fetch();
    stranger.fetch();
    stranger.locate(3);
    stranger.assert_given_up(2, "out of turn");
}

fn who_is_read_wrongly_is_never_asked(reads: Reads) {
    let mut stranger = Stranger::new(reads, 18);
    let memory = [5; 64];
    stranger.fetch();
    stranger.show(&memory, [6; 64]);
    stranger.assert_given_up(1, "self-test read other bytes");
}

fn who_cannot_be_read_is_never_asked(reads: Reads) {
    let mut stranger = Stranger::new(reads, 19);
    stranger.fetch();
    stranger.say(Body::Sample { address: 8, content: [0; 64], key: vec![0; 40] });
    stranger.assert_given_up(1, "self-test could not read");
}

/// Unreadable memory of the owner fails only the block that lies in it; the next block is read.
fn a_read_that_fails_alone_ends_its_block_only(reads: Reads) {
    let mut stranger = Stranger::new(reads, 20);
    let memory = [5; 64];
    stranger.show(&memory, memory);
    stranger.fetch();
    stranger.locate(2);
    stranger.world.run(5);
    assert_eq!(failure_of(&stranger.world.take(0)[0]), Failure::NotRead);
    stranger.fetch();
    let address = memory.as_ptr().expose_provenance();
    // SAFETY: `memory` lives until the end.
    let (_, key) = unsafe { stranger.wire.register(address, 64) }.expect("registered");
    let keys = vec![crate::message::Key { region: 1, bytes: key }];
    let range = crate::message::Range { key: 0, address: address as u64, bytes: 64 };
    stranger.say(Body::Located { batch: 4, keys, found: vec![Ok(vec![range])] });
    stranger.world.run(5);
    assert_eq!(bytes_of(&stranger.world.take(0)[0]), memory);
    assert_eq!(stranger.world.error(0, STRANGER_PEER as usize), "");
}

fn is_refusal(event: &Event) -> bool {
    let Event::Message(bytes) = event else { return false };
    matches!(Message::decode(bytes).expect("well-formed").body, Body::Refused { .. })
}

fn a_silent_peer_is_given_up_after_the_timeout_and_can_be_connected_again(reads: Reads) {
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

/// A thread of this side's hangs in it: the blocks end here, and the other side is told.
fn a_read_that_does_not_end_ends_its_connection(reads: Reads) {
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
    // Which number the connection has is the network's business; of others nothing is known.
    for number in 0..10 {
        let (endpoint, error) = (Endpoint(number), WireError("it hangs".into()));
        world.processes[0].agent.event(Event::Stuck { endpoint, error }, Instant::now());
    }
    assert_eq!(failure_of(&world.ended(0, 1)[0]), Failure::Timeout);
    world.run(5);
    assert_eq!(world.error(0, 1), "it hangs");
    assert_ne!(world.error(1, 0), "");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    world.assert_nothing_left();
}

/// A stopped process can receive nothing.
fn a_pause_of_this_process_is_no_silence_of_its_peers(reads: Reads) {
    let mut world = World::new(reads, 21, &["", "", ""]);
    let data = [1, 2].map(|owner| world.publish(owner, 1, &[20 << 20]));
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    [1, 2].into_iter().for_each(|owner| world.connect(0, owner));
    world.run(40);
    [1, 2].into_iter().for_each(|owner| _ = world.fetch(0, owner, &[block(1, 0, 1)]));
    world.run(1);
    // It has asked, and stands still. When it comes round no answer is there yet.
    world.step(2 * TIMEOUT);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.request);
    assert!(bytes_of(&ended[0]) == data[0] && bytes_of(&ended[1]) == data[1]);
    drop(ended);
    world.assert_nothing_left();
}

fn pauses_one_after_another_do_not_hide_that_a_peer_is_silent(reads: Reads) {
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

fn a_dead_peer_ends_what_was_asked_of_it(reads: Reads) {
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

fn a_reader_that_dies_leaves_no_pin(reads: Reads) {
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

fn an_output_withdrawn_while_it_is_read_is_read_to_its_end(reads: Reads) {
    let mut world = World::new(reads, 9, &["", ""]);
    let data = world.publish(1, 1, &[20 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(5), ..Faults::default() });
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    while world.pins(1) == 0 {
        world.run(1);
    }
    world.withdraw(1, 1);
    std::fs::remove_file(world.files.join("1-1")).expect("removed");
    world.fetch(0, 1, &[block(1, 0, 1)]);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.request);
    assert!(bytes_of(&ended[0]) == data);
    assert_eq!(failure_of(&ended[1]), Failure::NotFound);
    drop(ended);
    world.assert_nothing_left();
    assert_eq!(world.network.regions(), 1, "the last reader's end gave the region up; the sample stays");
}

fn a_file_that_is_gone_or_too_short_is_not_found(reads: Reads) {
    let mut world = World::new(reads, 10, &["", ""]);
    world.publish(1, 1, &[100]);
    world.publish(1, 2, &[100]);
    std::fs::remove_file(world.files.join("1-1")).expect("removed");
    std::fs::write(world.files.join("1-2"), [0; 99]).expect("cut");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1), block(2, 0, 1)]);
    let ended = world.ended(0, 2);
    assert!(ended.iter().all(|completion| failure_of(completion) == Failure::NotFound));
}

fn both_read_from_each_other_over_one_connection(reads: Reads) {
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
fn who_connects_again_cuts_nobody_off(reads: Reads) {
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

fn a_reader_whose_connections_came_to_nothing_is_followed(reads: Reads) {
    let mut world = World::new(reads, 24, &["s", "s"]);
    let data = world.publish(1, 1, &[1000]);
    world.open_in_vain(0, 1, 3);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    assert_eq!(world.network.connections(), 1, "so that the owner can end it");
    world.assert_nothing_left();
}

fn an_owner_whose_connections_came_to_nothing_is_followed_by_the_next_attempt(reads: Reads) {
    for in_vain in [1, 3, 3000] {
        let mut world = World::new(reads, 25, &["s", "s"]);
        let data = world.publish(1, 1, &[1000]);
        world.open_in_vain(1, 0, in_vain);
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
        assert_eq!(attempts, 2 + in_vain / 1024, "{in_vain}");
        assert_eq!(world.network.connections(), 1);
        world.assert_nothing_left();
    }
}

/// The side with the lower number is refused by the other one, with whose number it has caught up meanwhile.
fn greetings_that_cross_leave_one_good_connection(reads: Reads) {
    let mut world = World::new(reads, 26, &["s", "s"]);
    let data = world.publish(1, 1, &[1000]);
    world.network.set_faults(Faults { delay: Duration::from_millis(5), ..Faults::default() });
    world.open_in_vain(0, 1, 5);
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

fn ten_thousand_connections_leave_nothing_behind(reads: Reads) {
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
    assert_eq!(world.network.regions(), 2, "the sample, and one region, which nobody reads");
    world.assert_nothing_left();
}

fn idle_regions_are_bounded(reads: Reads) {
    let mut world = World::new(reads, 13, &["", ""]);
    world.connect(0, 1);
    for map in 0..6 {
        let path = world.files.join(format!("large-{map}"));
        std::fs::File::create(&path).expect("created").set_len(LARGE_REGION_BYTES).expect("sparse");
        world.processes[1]
            .shared
            .catalog
            .publish(1, map, path, None, vec![0, 100_000, LARGE_REGION_BYTES])
            .expect("good");
        world.fetch(0, 1, &[block(map, 0, 1)]);
        drop(world.ended(0, 1));
    }
    assert_eq!(world.network.regions(), 5, "the sample, and the regions that may be idle");
    world.fetch(0, 1, &[block(0, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), [0; 100_000], "what was given up is mapped again");
}

fn a_stopped_agent_gives_everything_back(reads: Reads) {
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

/// With reads by the loopback, because it counts the calls; what is before it asks it for less.
#[test]
fn peers_of_which_nothing_is_expected_cost_a_turn_no_call() {
    const PEERS: usize = 1000;
    let mut world = World::new(Reads::Loopback, 27, &[""; PEERS + 1]);
    let data = world.publish(1, 1, &[100]);
    (1..=PEERS).for_each(|owner| world.connect(0, owner));
    world.run(10);
    assert!((1..=PEERS).all(|owner| world.is_ready(0, owner)));
    let node = world.node(0);
    world.network.take_calls(&node);
    world.step(STEP);
    assert_eq!(world.network.take_calls(&node), 1, "the wire's progress");
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    world.assert_nothing_left();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_fails_each_block_ends_once_and_is_right_or_failed(
        seed: u64,
        by_cma: bool,
        cma_not_read in 0u32..300,
        cma_refused in 0u32..30,
        delay in 0u64..20,
        failing_reads in 0u32..30,
        failing_messages in 0u32..30,
        sizes in prop::collection::vec(prop_oneof![Just(0usize), 1..5000usize, 1_000_000..3_000_000usize], 1..12),
        rounds in 1usize..12,
        in_vain in 0u32..3,
    ) {
        let reads = if by_cma { Reads::Cma } else { Reads::Loopback };
        faults::order(seed, cma_not_read, cma_refused);
        let mut world = World::new(reads, seed, &["s", "s", "s"]);
        let mut data = HashMap::new();
        for owner in [1, 2] {
            for map in 0..3 {
                data.insert((owner, map), world.publish(owner, map, &sizes));
            }
        }
        world.open_in_vain(0, 1, in_vain);
        world.open_in_vain(2, 0, in_vain);
        let delay = Duration::from_millis(delay);
        world.network.set_faults(Faults { delay, failing_reads, failing_messages });
        let (mut expected, mut total) = (HashMap::new(), 0);
        for _ in 0..rounds {
            for owner in [1, 2] {
                if !world.error(0, owner).is_empty()
                    || world.processes[0].agent.reader().owner_of(owner as u64).is_none()
                {
                    world.connect(0, owner);
                }
                let blocks: Vec<Block> = (0..3).flat_map(|map| {
                    (0..sizes.len() as u32).map(move |first| block(map, first, first + 1))
                }).collect();
                let request = world.fetch(0, owner, &blocks);
                total += blocks.len();
                expected.insert(request, (owner, blocks));
            }
            world.run(3);
        }
        for completion in world.ended(0, total) {
            let (owner, blocks) = &expected[&completion.request];
            let block = blocks[completion.index as usize];
            if let Ok(lease) = &completion.result {
                let start: usize = sizes[..block.first as usize].iter().sum();
                let right = &data[&(*owner, block.map)][start..start + sizes[block.first as usize]];
                prop_assert!(lease.as_ref().map_or(&[][..], |lease| lease.as_slice()) == right);
            } else {
                prop_assert!(failing_reads + failing_messages + cma_not_read + in_vain > 0, "{:?}", completion);
            }
        }
        world.network.set_faults(Faults::default());
        world.run(TIMEOUT.as_millis() as usize + 1000);
        world.assert_nothing_left();
    }
}
