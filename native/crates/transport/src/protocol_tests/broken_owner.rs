//! Owners that break the protocol, or whose memory cannot be read.

use std::time::Duration;

use sluice_mem::MemoryKind;

use super::scripted_owner::{SCRIPTED_PEER, ScriptedOwner};
use super::world::{Reads, bytes_of, failure_of};
use crate::agent::Command;
use crate::completions::Failure;
use crate::loopback::Faults;
use crate::message::Body;
use crate::statistics::Statistic;
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
    let keys = vec![crate::message::Key { region: 1, bytes: key }];
    let range = crate::message::Range { key: 0, address: address as u64, bytes: 64 };
    owner.say(Body::Located { batch: 4, keys, found: vec![Ok(vec![range])] });
    owner.world.run(5);
    assert_eq!(bytes_of(&owner.world.take(0)[0]), memory);
    assert_eq!(owner.world.error(0, SCRIPTED_PEER as usize), "");
}
