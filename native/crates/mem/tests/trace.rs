//! A traced arena writes every lease and release, in an order in which they could have happened.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, ArenaOptions};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use support::{PLAIN_HOST, Random, options};

fn traced(path: &Path) -> Arc<Arena> {
    let options = ArenaOptions { trace: Some(path.to_path_buf()), ..options(64 << 20) };
    Arena::with_provider(Arc::new(PLAIN_HOST), &options)
}

#[test]
fn every_lease_of_every_thread_is_there_and_ends_once() {
    let path = std::env::temp_dir().join(format!("sluice-arena-{}", std::process::id()));
    let arena = traced(&path);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let arena = &arena;
            scope.spawn(move || {
                let mut random = Random(seed);
                (0..500).for_each(|_| drop(arena.lease(random.below(300_000)).unwrap()));
            });
        }
    });
    assert!(arena.lease(1 << 30).is_err() && arena.release_raw(64).is_err(), "neither is recorded");
    let statistics = arena.statistics();
    drop(arena);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (mut live, mut leases) = (HashMap::new(), 0);
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[2..] {
            ["+", name, bytes] => {
                leases += 1;
                assert!(live.insert(name.to_owned(), bytes.parse::<usize>().unwrap()).is_none(), "{line}");
            }
            ["-", name] => assert!(live.remove(name).is_some(), "{line}"),
            _ => panic!("{line}"),
        }
    }
    assert_eq!((leases, live.len()), (statistics.leases, 0));
}

#[test]
fn an_arena_works_where_its_trace_cannot_be_made() {
    let arena = traced(Path::new("/nowhere/at/all"));
    drop(arena.lease(1_000).unwrap());
    arena.check_quiet().unwrap();
}
