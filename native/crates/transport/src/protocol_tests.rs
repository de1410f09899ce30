//! The protocol on the loopback wire: virtual time, ordered faults. Everything runs twice: with the loopback's own
//! reads, and with reads by system calls before them ([`crate::cma::CmaWire`]).

mod broken_owner;
mod connections;
mod crowds;
mod handshake;
mod hostile;
mod limits;
mod numbers;
mod random_faults;
mod reading;
mod scripted_owner;
mod silence;
mod slow_disks;
mod world;

use self::broken_owner::*;
use self::connections::*;
use self::handshake::*;
use self::numbers::*;
use self::reading::*;
use self::silence::*;
use self::world::Reads;
use crate::cma::permitted;

/// For what says how many bytes a test holds.
#[global_allocator]
static ALLOCATOR: sluice_testkit::memory::CountingAllocator = sluice_testkit::memory::CountingAllocator;

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
    a_block_without_arena_memory_fails_and_the_rest_is_read
    waiting_blocks_lease_no_memory
    a_reader_without_the_secret_gets_no_location
    messages_before_a_valid_proof_are_dropped
    messages_in_the_name_of_others_end_no_session
    refusals_in_the_name_of_others_end_no_session_of_the_other_direction
    numbers_without_a_proof_cost_no_openings
    messages_in_the_name_of_others_keep_no_connection_open
    a_lost_message_ends_its_connection_at_once
    a_greeting_alone_keeps_no_connection
    an_owner_that_answers_twice_is_disconnected_and_no_memory_is_lost
    a_lost_answer_is_detected_by_the_next_answer
    an_owner_that_tells_of_too_much_is_disconnected_and_bounded_memory_is_kept
    an_owner_whose_key_is_too_long_is_disconnected
    an_owner_whose_sample_reads_wrong_gets_no_question
    an_owner_whose_sample_cannot_be_read_gets_no_question
    a_sample_on_the_owners_gpu_decides_what_is_read_from_there
    a_gpu_that_does_not_answer_holds_up_no_block
    a_failed_read_fails_its_own_block_only
    a_silent_peer_times_out_and_can_be_connected_again
    the_reason_of_a_failure_is_told_before_its_blocks_end
    a_read_that_does_not_end_ends_its_connection
    a_pause_of_this_process_does_not_count_against_its_peers
    repeated_pauses_do_not_hide_a_silent_peer
    a_dead_peer_fails_the_blocks_asked_of_it
    the_pins_of_a_dead_reader_are_released
    reads_under_way_finish_when_their_output_is_withdrawn
    a_file_that_is_gone_or_too_short_is_not_found
    both_read_from_each_other_over_one_connection
    a_reconnecting_peer_does_not_end_the_other_sides_reads
    a_reader_with_failed_openings_connects_at_once
    an_owner_with_failed_openings_is_reached_by_the_next_attempts
    crossing_hellos_leave_one_good_connection
    ten_thousand_connections_leak_nothing
    idle_regions_are_bounded
    a_stopped_agent_releases_everything
    an_idle_connection_is_closed_and_the_next_fetch_connects_again
    a_connection_that_is_read_over_is_not_idle
    a_question_that_crosses_the_end_of_its_connection_is_asked_again
    a_connection_that_is_lost_while_it_is_idle_is_opened_again
    a_connection_whose_closing_was_lost_is_opened_again
    a_question_over_a_connection_that_was_lost_before_is_asked_again_once
    an_owner_that_has_ended_meanwhile_fails_the_next_fetch_at_once
    a_reader_has_no_more_connections_than_its_limit
    an_owner_at_its_connection_limit_refuses_at_once
}
