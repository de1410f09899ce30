//! Owners that break the protocol, or whose memory cannot be read.

use std::time::Duration;

use sluice_mem::MemoryKind;
use sluice_testkit::memory::live_bytes;

use super::scripted_owner::{SCRIPTED_PEER, ScriptedOwner};
use super::world::{Reads, bytes_of, failure_of};
use crate::agent::Command;
use crate::completions::Failure;
use crate::loopback::Faults;
use crate::message::{Body, Found, Key, MAX_KEY_BYTES, MAX_MESSAGE_BYTES, Range};
use crate::statistics::Statistic;
use crate::told::MOST_OF_ONE;
use crate::wire::{Event, Wire};

pub(super) fn an_owner_that_answers_twice_is_disconnected_and_no_memory_is_lost(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 15);
    let memory = [5; 64];
    owner.show(&memory, memory);
    owner.fetch();
    owner.fetch();
    // Both answers arrive in one turn, before a read of the first has failed.
    owner.locate(2);
    owner.locate(2);
    owner.assert_given_up(2, "out of turn");
}

pub(super) fn a_lost_answer_is_detected_by_the_next_answer(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 17);
    let memory = [5; 64];
    owner.show(&memory, memory);
    owner.fetch();
    owner.fetch();
    owner.locate(3);
    owner.assert_given_up(2, "out of turn");
}

/// An answer that the wire has lost, or brings after the next one: the next one has a right tag.
pub(super) fn a_lost_message_ends_its_connection_at_once(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 47);
    let memory = [5; 64];
    owner.show(&memory, memory);
    owner.fetch();
    owner.lose(Body::Located { batch: 2, keys: vec![], found: vec![] });
    owner.locate(2);
    owner.assert_given_up(1, "was lost or came late");
}

/// An owner that has greeted this process, and has not proven itself as a reader, has no session to keep.
pub(super) fn a_greeting_alone_keeps_no_connection(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 48);
    let memory = [5; 64];
    owner.show(&memory, memory);
    owner.greet();
    assert_eq!(owner.world.network.connections(), 1);
    let mut heard = Vec::new();
    owner.wire.progress(&mut heard);
    assert!(matches!(heard.last(), Some(Event::Message(bytes)) if bytes[0] == 2), "a CHALLENGE: {heard:?}");
    owner.world.command(0, Command::Disconnect { peer: SCRIPTED_PEER });
    owner.world.run(2);
    assert_eq!(owner.world.network.connections(), 0);
}

pub(super) fn an_owner_whose_sample_reads_wrong_gets_no_question(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 18);
    let memory = [5; 64];
    owner.fetch();
    owner.show(&memory, [6; 64]);
    owner.assert_given_up(1, "self-test read other bytes");
}

pub(super) fn an_owner_whose_sample_cannot_be_read_gets_no_question(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 19);
    owner.fetch();
    owner.say(Body::Sample { on_device: false, address: 8, content: [0; 64], key: vec![0; 40] });
    owner.assert_given_up(1, "self-test could not read");
}

/// What an owner says of its GPU decides what is read from there, and nothing else: blocks of its host's memory are
/// asked for as ever. The loopback reads the "device" as it does all memory; what cannot be read has another key.
pub(super) fn a_sample_on_the_owners_gpu_decides_what_is_read_from_there(reads: Reads) {
    let (memory, on_device) = ([5; 64], [6u8; 64]);
    for (seed, content, key_is_right, readable) in
        [(50, [6; 64], true, true), (51, [7; 64], true, false), (52, [6; 64], false, false)]
    {
        let mut owner = ScriptedOwner::new(reads, seed);
        let (address, key) = owner.register(&on_device);
        let key = if key_is_right { key } else { vec![0; 40] };
        let sample = Body::Sample { on_device: true, address, content, key };
        owner.fetch();
        // Before the host's sample, and again: it is read once, when the session is ready.
        owner.say(sample.clone());
        owner.world.run(2);
        assert!(!owner.world.reads_device(SCRIPTED_PEER), "nothing was read yet");
        owner.show(&memory, memory);
        owner.say(sample);
        owner.world.run(3);
        assert!(owner.world.is_ready_to(SCRIPTED_PEER), "seed {seed}");
        assert_eq!(owner.world.reads_device(SCRIPTED_PEER), readable, "seed {seed}");
        let counted = [Statistic::DevicesReadable, Statistic::DevicesUnreadable].map(|it| owner.world.statistic(0, it));
        assert_eq!(counted, if readable { [1, 0] } else { [0, 1] }, "seed {seed}");
        assert!(owner.was_asked(), "the block is asked for all the same");
    }
}

/// A sample on the owner's GPU that is not answered holds up nothing.
pub(super) fn a_gpu_that_does_not_answer_holds_up_no_block(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 53);
    let (memory, on_device) = ([5; 64], [6u8; 64]);
    let (address, mut key) = owner.register(&on_device);
    // As that of a device: the region's length for reads by system calls, which is none.
    key[24..32].fill(0);
    owner.fetch();
    owner.show(&memory, memory);
    owner.say(Body::Sample { on_device: true, address, content: on_device, key });
    // Of the read, which begins when the message comes.
    owner.world.network.set_faults(Faults { delay: Duration::from_secs(3600), ..Faults::default() });
    owner.world.run(3);
    assert!(owner.world.is_ready_to(SCRIPTED_PEER) && !owner.world.reads_device(SCRIPTED_PEER));
    assert!(owner.was_asked());
}

/// Unreadable memory of the owner fails only the block that lies in it; the next block is read.
pub(super) fn a_failed_read_fails_its_own_block_only(reads: Reads) {
    let mut owner = ScriptedOwner::new(reads, 20);
    let memory = [5; 64];
    owner.show(&memory, memory);
    owner.fetch();
    owner.locate(2);
    owner.world.run(5);
    assert_eq!(failure_of(&owner.world.take(0)[0]), Failure::NotRead);
    owner.fetch();
    let address = memory.as_ptr().expose_provenance();
    // SAFETY: `memory` lives until the end.
    let (_, key) = unsafe { owner.wire.register(address, 64, MemoryKind::Host) }.expect("registered");
    let keys = vec![Key { region: 1, bytes: key }];
    let range = Range { key: 0, address: address as u64, bytes: 64 };
    owner.say(Body::Located { batch: 4, keys, found: vec![Ok(vec![range])] });
    owner.world.run(5);
    assert_eq!(bytes_of(&owner.world.take(0)[0]), memory);
    assert_eq!(owner.world.error(0, SCRIPTED_PEER as usize), "");
}

/// As many keys as a message holds, each for a range of a byte; ranges of a byte without number.
fn far_too_much(of_keys: bool, batch: u64) -> (Vec<Key>, Vec<Range>) {
    let (bytes, count) = if of_keys { (MAX_KEY_BYTES, 120) } else { (40, 28_000) };
    let keys = if of_keys { count } else { 1 };
    let key = |key: u64| Key { region: batch << 32 | key, bytes: vec![0; bytes] };
    let range = |range: u64| Range { key: (range % keys) as u16, address: range, bytes: 1 };
    ((0..keys).map(key).collect(), (0..count).map(range).collect())
}

/// Answers that are well-formed and far larger than any honest one, to questions that were asked, of blocks whose reads
/// do not end. What is kept of them is bounded; the connection ends, and its blocks are left to Netty.
pub(super) fn an_owner_that_tells_of_too_much_is_disconnected_and_bounded_memory_is_kept(reads: Reads) {
    for of_keys in [true, false] {
        let mut owner = ScriptedOwner::new(reads, 60);
        let memory = [5; 64];
        owner.show(&memory, memory);
        owner.world.network.set_faults(Faults { delay: Duration::from_secs(3600), ..Faults::default() });
        let (before, mut most, mut asked) = (live_bytes(), 0, 0);
        while owner.world.error(0, SCRIPTED_PEER as usize).is_empty() {
            owner.world.network.set_faults(Faults::default());
            owner.fetch();
            asked += 1;
            assert!(asked < 1000, "it was not noticed");
            let (keys, ranges) = far_too_much(of_keys, asked + 1);
            owner.say(Body::Located { batch: asked + 1, keys, found: vec![Ok(ranges)] });
            owner.world.network.set_faults(Faults { delay: Duration::from_secs(3600), ..Faults::default() });
            owner.world.run(1);
            let told = owner.world.statistic(0, Statistic::ToldBytes) as usize;
            assert!(told <= MOST_OF_ONE, "{told} bytes are kept");
            most = most.max(live_bytes() - before);
        }
        assert!(most < (MOST_OF_ONE + 32 * MAX_MESSAGE_BYTES) as i64, "{most} bytes were kept");
        let kept = format!("at most {MOST_OF_ONE} bytes are kept of one owner");
        owner.assert_given_up(asked as usize, &kept);
        assert_eq!(owner.world.statistic(0, Statistic::ToldTooMuch), 1);
        owner.world.network.set_faults(Faults::default());
        owner.world.run(100);
        assert_eq!(owner.world.statistic(0, Statistic::ToldBytes), 0, "it goes with the connection");
    }
}

pub(super) fn an_owner_whose_key_is_too_long_is_disconnected(reads: Reads) {
    let memory = [5; 64];
    let long = || vec![0; MAX_KEY_BYTES + 1];
    for kind in 0..3 {
        let mut owner = ScriptedOwner::new(reads, 61);
        owner.fetch();
        match kind {
            0 => owner.say(Body::Sample { on_device: false, address: 8, content: [0; 64], key: long() }),
            1 => owner.say(Body::Sample { on_device: true, address: 8, content: [0; 64], key: long() }),
            _ => {
                owner.show(&memory, memory);
                let found: Vec<Found> = vec![Ok(vec![Range { key: 0, address: 1, bytes: 1 }])];
                owner.say(Body::Located { batch: 1, keys: vec![Key { region: 1, bytes: long() }], found });
            }
        }
        owner.assert_given_up(1, "told of a key of 4097 bytes: none has more than 4096");
        assert_eq!(owner.world.statistic(0, Statistic::ToldTooMuch), 1);
    }
}
