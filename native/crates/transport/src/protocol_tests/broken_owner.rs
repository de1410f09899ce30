//! Owners that break the protocol, or whose memory cannot be read.

use sluice_mem::MemoryKind;

use super::scripted_owner::{SCRIPTED_PEER, ScriptedOwner};
use super::world::{Reads, bytes_of, failure_of};
use crate::agent::Command;
use crate::completions::Failure;
use crate::message::Body;
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
    owner.say(Body::Sample { address: 8, content: [0; 64], key: vec![0; 40] });
    owner.assert_given_up(1, "self-test could not read");
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
