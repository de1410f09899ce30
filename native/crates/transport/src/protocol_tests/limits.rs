//! Limits on what an owner maps for its readers, and on how many of their questions it keeps.

use std::os::unix::fs::FileExt;

use super::both_ways;
use super::handshake::is_refusal;
use super::world::{Reads, World, block, bytes_of, failure_of};
use crate::agent::Command;
use crate::completions::Failure;
use crate::message::{Block, InstanceId};
use crate::owner::MAX_OPEN_QUESTIONS;
use crate::statistics::Statistic;
use crate::wire::{Event, Wire};

const MIB: u64 = 1 << 20;

/// Map outputs of 8 MiB, sparse, with one block of 1 KiB at another place in each.
fn publish_small_blocks(world: &World, maps: u64) {
    for map in 0..maps {
        let path = world.files.join(format!("small-{map}"));
        let file = std::fs::File::create(&path).expect("created");
        file.set_len(8 * MIB).expect("sparse");
        let start = map * 1024 % (8 * MIB - 1024);
        file.write_all_at(&content(map), start).expect("written");
        let offsets = vec![0, start, start + 1024, 8 * MIB];
        world.processes[1].shared.catalog.publish(1, map, path, None, offsets).expect("good");
    }
}

fn content(map: u64) -> [u8; 1024] {
    std::array::from_fn(|i| (i as u64 * 7 + map) as u8)
}

/// What waits to be unmapped is mapped, and neither read by anybody nor a job of a reader.
#[test]
fn what_waits_to_be_unmapped_is_not_counted_as_pinned() {
    let mut world = World::new(Reads::Loopback, 33, &["", ""]);
    world.publish(1, 1, &[1000]);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    drop(world.ended(0, 1));
    world.processes[1].disk.hold_all(true);
    world.withdraw(1, 1);
    world.run(100);
    let of_owner = |world: &World| {
        [Statistic::MappedRegions, Statistic::PinnedRegions, Statistic::PinnedBytes, Statistic::DiskJobs]
            .map(|statistic| world.statistic(1, statistic))
    };
    assert_eq!((world.processes[1].disk.waiting(), of_owner(&world)), (1, [1, 0, 0, 0]));
    world.processes[1].disk.hold_all(false);
    world.run(100);
    assert_eq!(of_owner(&world), [0; 4]);
    world.assert_nothing_left();
}

/// In 4 MiB for each block these would be 14.5 GiB.
#[test]
fn four_thousand_small_blocks_of_four_thousand_files_stay_within_the_limits() {
    both_ways("four_thousand_small_blocks_of_four_thousand_files_stay_within_the_limits", |reads| {
        let (max_bytes, idle_bytes) = (64 * MIB, 4 * MIB);
        let mut world = World::with(reads, 30, &["", ""], |options| {
            options.max_mapped_bytes = max_bytes as usize;
            options.idle_mapped_bytes = idle_bytes as usize;
        });
        publish_small_blocks(&world, 4000);
        world.connect(0, 1);
        let blocks: Vec<Block> = (0..4000).map(|map| block(map, 1, 2)).collect();
        world.fetch(0, 1, &blocks);
        let ended = world.ended(0, 4000);
        let read = ended.iter().filter(|completion| completion.result.is_ok());
        let read = read.inspect(|completion| assert!(bytes_of(completion) == content(completion.index.into()))).count();
        let busy = ended.iter().filter(|completion| completion.result.is_err());
        let busy = busy.inspect(|completion| assert_eq!(failure_of(completion), Failure::Busy)).count();
        assert_eq!(read + busy, 4000);
        assert!(read >= 512, "{read} were read");
        assert_eq!(world.statistic(1, Statistic::RefusedMapped), busy as u64);
        let peak = world.statistic(1, Statistic::PeakMappedBytes);
        assert!(peak <= max_bytes && peak > max_bytes / 2, "{peak} bytes were mapped");
        let mapped = world.statistic(1, Statistic::MappedBytes);
        assert!(mapped <= idle_bytes, "{mapped} bytes stay mapped");
        assert_eq!(world.statistic(1, Statistic::PinnedBytes), 0);
        drop(ended);
        world.assert_nothing_left();
    });
}

#[test]
fn four_thousand_small_blocks_are_all_read_within_the_usual_limits() {
    both_ways("four_thousand_small_blocks_are_all_read_within_the_usual_limits", |reads| {
        let mut world = World::new(reads, 31, &["", ""]);
        publish_small_blocks(&world, 4000);
        world.connect(0, 1);
        let blocks: Vec<Block> = (0..4000).map(|map| block(map, 1, 2)).collect();
        world.fetch(0, 1, &blocks);
        for completion in world.ended(0, 4000) {
            assert!(bytes_of(&completion) == content(completion.index.into()));
        }
        let peak = world.statistic(1, Statistic::PeakMappedBytes);
        assert!(peak < 1024 * MIB, "{peak} bytes were mapped");
        world.assert_nothing_left();
    });
}

#[test]
fn the_number_of_mappings_is_limited_too() {
    both_ways("the_number_of_mappings_is_limited_too", |reads| {
        let mut world = World::with(reads, 32, &["", ""], |options| options.max_mapped_regions = 100);
        publish_small_blocks(&world, 300);
        world.connect(0, 1);
        let blocks: Vec<Block> = (0..300).map(|map| block(map, 1, 2)).collect();
        world.fetch(0, 1, &blocks);
        let ended = world.ended(0, 300);
        let read = ended.iter().filter(|completion| completion.result.is_ok()).count();
        assert_eq!((read, world.statistic(1, Statistic::RefusedMapped)), (100, 200));
        assert!(world.statistic(1, Statistic::MappedRegions) <= 50);
        drop(ended);
        world.assert_nothing_left();
    });
}

/// A reader that keeps asking and never sends DONE.
#[test]
fn questions_of_one_reader_are_limited() {
    let mut world = World::new(Reads::Loopback, 33, &["", ""]);
    world.publish(1, 1, &[100]);
    world.processes[1].disk.hold(&world.files.join("1-1"));
    world.connect(0, 1);
    world.run(10);
    for _ in 0..MAX_OPEN_QUESTIONS + 6 {
        world.fetch(0, 1, &[block(1, 0, 1)]);
    }
    world.run(20);
    assert_eq!(world.statistic(1, Statistic::OpenQuestions), MAX_OPEN_QUESTIONS as u64 + 6);
    assert_eq!(world.statistic(1, Statistic::RefusedQuestions), 6);
    world.processes[1].disk.let_go();
    let ended = world.ended(0, MAX_OPEN_QUESTIONS + 6);
    let busy = ended.iter().filter(|completion| completion.result.is_err());
    assert_eq!(busy.inspect(|completion| assert_eq!(failure_of(completion), Failure::Busy)).count(), 6);
    drop(ended);
    assert_eq!(world.statistic(1, Statistic::OpenQuestions), 0);
    world.assert_nothing_left();
}

#[test]
fn malformed_messages_are_counted_and_break_no_connection() {
    let mut world = World::new(Reads::Loopback, 34, &["", ""]);
    let data = world.publish(1, 1, &[100]);
    let mut wire = world.bare_wire();
    let link = wire.open(&world.processes[1].agent.address()[8..]).expect("there");
    for bytes in [vec![], vec![9; 5], [&[77][..], &InstanceId(5).0.to_le_bytes()].concat(), vec![255; 3000]] {
        wire.send(link.endpoint, bytes);
    }
    world.run(5);
    assert_eq!(world.statistic(1, Statistic::MalformedMessages), 4);
    let mut events = Vec::new();
    wire.progress(&mut events);
    assert!(!events.iter().any(|event| matches!(event, Event::Message(_)) && is_refusal(event)), "{events:?}");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
}

#[test]
fn statistics_say_what_is_mapped_pinned_and_under_way() {
    let mut world = World::new(Reads::Loopback, 35, &["", ""]);
    world.publish(1, 1, &[8 << 20]);
    world.network.set_faults(crate::loopback::Faults {
        delay: std::time::Duration::from_millis(3),
        ..crate::loopback::Faults::default()
    });
    world.connect(0, 1);
    world.run(40);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    while world.statistic(0, Statistic::GetsInFlight) == 0 {
        world.run(1);
    }
    let of_owner = |world: &World, statistic| world.statistic(1, statistic);
    assert_eq!((of_owner(&world, Statistic::PinnedRegions), of_owner(&world, Statistic::PinnedBytes)), (2, 8 * MIB));
    assert_eq!(of_owner(&world, Statistic::OpenQuestions), 1);
    drop(world.ended(0, 1));
    assert_eq!((of_owner(&world, Statistic::MappedRegions), of_owner(&world, Statistic::MappedBytes)), (2, 8 * MIB));
    assert_eq!((of_owner(&world, Statistic::PinnedRegions), of_owner(&world, Statistic::PinnedBytes)), (0, 0));
    assert_eq!((of_owner(&world, Statistic::OpenQuestions), of_owner(&world, Statistic::DiskJobs)), (0, 0));
    assert_eq!(world.statistic(0, Statistic::GetsInFlight), 0);
    assert!(of_owner(&world, Statistic::LongestTurnNanos) > 0);
    let output = world.processes[1].shared.catalog.withdraw(1, 1).expect("published");
    world.command(1, Command::Withdraw(vec![output]));
    world.run(200);
    assert_eq!(of_owner(&world, Statistic::MappedRegions), 0);
    assert_eq!(of_owner(&world, Statistic::PeakMappedBytes), 8 * MIB);
}
