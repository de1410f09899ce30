//! Reading blocks: what is there, what is not, and what the reader has memory for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::world::{Reads, STEP, World, block, bytes_of, failure_of};
use crate::completions::Failure;
use crate::loopback::Faults;
use crate::message::{Block, SAMPLE_BYTES};
use crate::regions::LARGE_REGION_BYTES;

pub(super) fn blocks_are_read_and_what_is_not_there_is_not_found(reads: Reads) {
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

pub(super) fn a_block_may_lie_in_several_regions(reads: Reads) {
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

pub(super) fn a_block_without_arena_memory_fails_and_the_rest_is_read(reads: Reads) {
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

pub(super) fn waiting_blocks_lease_no_memory(reads: Reads) {
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

pub(super) fn reads_under_way_finish_when_their_output_is_withdrawn(reads: Reads) {
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

pub(super) fn a_file_that_is_gone_or_too_short_is_not_found(reads: Reads) {
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

pub(super) fn idle_regions_are_bounded(reads: Reads) {
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
