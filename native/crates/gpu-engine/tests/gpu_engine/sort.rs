//! Sorts of pairs.

use sluice_gpu_engine::sort_pairs;
use sluice_testkit::xorshift;

use crate::setting::{Setting, long};

#[test]
fn pairs_are_sorted_and_stay_in_order() {
    let Some(setting) = Setting::new() else { return };
    for (count, mask) in [
        (0, u64::MAX),
        (1, u64::MAX),
        (2, 1),
        (255, 3),
        (4096, u64::MAX),
        (4097, 0xFF00_0000_00FF),
        (9000, 7),
        (20_000, 0xF000_0000_0000_0000),
        (5000, 0),
    ] {
        let mut pairs: Vec<[u64; 2]> = (0..count).map(|i| [xorshift(i) & mask, i]).collect();
        let mut expected = pairs.clone();
        expected.sort_by_key(|pair| pair[0]);
        sort_pairs(&setting.kernels, &setting.stream, &mut pairs, long()).unwrap();
        assert!(pairs == expected, "{count} pairs, {mask:#x}");
    }
    setting.finish();
}

#[test]
fn after_a_wait_that_fails_the_pairs_are_as_they_were() {
    let before: Vec<[u64; 2]> = (0..5000).map(|i| [xorshift(i) % 300, i]).collect();
    for nth in 1.. {
        let Some(setting) = Setting::simulated() else { return };
        setting.simulator().configure(&format!("fail=cuStreamQuery@{nth}:1"));
        let mut pairs = before.clone();
        let sorted = sort_pairs(&setting.kernels, &setting.stream, &mut pairs, long());
        let Err(why) = sorted else {
            assert!(nth > 2 && pairs.is_sorted(), "a wait asks at least once");
            return;
        };
        assert!(why.is_lost() && pairs == before, "question {nth}: {why}");
    }
}
