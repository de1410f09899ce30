//! Any mixture of faults: every block of every fetch ends once, with its bytes or a failure.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::world::{Reads, TIMEOUT, World, block};
use crate::cma::faults;
use crate::loopback::Faults;
use crate::message::Block;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn under_random_faults_each_block_ends_once_and_is_right_or_failed(
        seed: u64,
        by_cma: bool,
        cma_not_read in 0u32..300,
        cma_refused in 0u32..30,
        delay in 0u64..20,
        failing_reads in 0u32..30,
        failing_messages in 0u32..30,
        sizes in prop::collection::vec(prop_oneof![Just(0usize), 1..5000usize, 1_000_000..3_000_000usize], 1..12),
        rounds in 1usize..12,
        failed_openings in 0u32..3,
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
        world.open_and_fail(0, 1, failed_openings);
        world.open_and_fail(2, 0, failed_openings);
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
                prop_assert!(failing_reads + failing_messages + cma_not_read + failed_openings > 0, "{:?}", completion);
            }
        }
        world.network.set_faults(Faults::default());
        world.run(TIMEOUT.as_millis() as usize + 1000);
        world.assert_nothing_left();
    }
}
