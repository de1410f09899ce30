//! A thousand tasks on the streams of a few threads.

use crate::setting::{MIB, Setting, fill, long};
use crate::support::Random;
use sluice_cuda::{Stream, Waited};
use sluice_gpu_mem::{ArenaStream, StreamLease};
use std::sync::Mutex;

const THREADS: u64 = 4;
const TASKS: usize = 250;

/// Copies a batch to the device, from there to a second lease, and back.
fn batch(stream: &ArenaStream, random: &mut Random, kept: &Mutex<Vec<StreamLease>>) {
    let bytes = 8 + random.seed_size() / 8 * 8;
    let words = random.next().to_le_bytes();
    let mut back = [0u8; 8];
    let (first, second) = (stream.lease(bytes, long()).unwrap(), stream.lease(bytes, long()).unwrap());
    let on: &Stream = stream.stream();
    // SAFETY: both leases are live until they are freed behind this work, which is waited for before `words` and `back`
    // are gone; they are longer than a word.
    unsafe {
        on.copy_to_device(first.address().plus(bytes - 8), words.as_ptr(), 8).unwrap();
        on.copy_on_device(second.address(), first.address().plus(bytes - 8), 8).unwrap();
        on.copy_to_host(back.as_mut_ptr(), second.address(), 8).unwrap();
    }
    stream.free(first);
    if random.below(20) == 0 {
        // For another task to drop: as a cache would.
        kept.lock().unwrap().push(second);
    } else {
        stream.free(second);
    }
    on.finish(long()).unwrap();
    assert_eq!(back, words);
    if random.below(20) == 0 {
        drop(kept.lock().unwrap().pop());
    }
}

#[test]
fn a_thousand_tasks_leave_nothing_behind() {
    let setting = Setting::new(5, 2);
    let kept = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (setting, kept) = (&setting, &kept);
            scope.spawn(move || {
                let mut random = Random(seed);
                for _ in 0..TASKS {
                    let stream = setting.arena.attach(setting.context.thread_stream());
                    (0..1 + random.below(3)).for_each(|_| batch(&stream, &mut random, kept));
                }
            });
        }
    });
    drop(kept);
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    setting.check();
    let (statistics, memory) = (setting.arena.statistics(), setting.arena.memory().statistics());
    assert_eq!((statistics.streams, statistics.limbo_leases, memory.live_leases()), (0, 0, 0), "{statistics:?}");
    assert_eq!(statistics.leases_from_arena + statistics.leases_from_limbo, statistics.frees);
    assert!(statistics.leases_from_limbo > 0 && statistics.drops > 0 && statistics.declined == 0, "{statistics:?}");
    let (kept, made) = (setting.simulator.counts().events, setting.simulator.calls("cuEventCreate"));
    assert!(kept <= 64 && made <= 100, "{made} events were made, and {kept} are kept for later tasks");
    setting.finish();
}

/// So many leases of a thread that has none while it waits for one. Some it frees, some it hands to whoever comes next,
/// who drops them.
fn short_of_memory(setting: &Setting, mut random: Random, kept: &Mutex<Option<StreamLease>>) {
    let stream = setting.arena.attach(setting.context.thread_stream());
    for _ in 0..40 {
        let lease = stream.lease((10 + random.below(40)) * MIB, long()).unwrap();
        fill(stream.stream(), lease.address(), random.below(256) as u8);
        match random.below(3) {
            0 => drop(kept.lock().unwrap().replace(lease)),
            1 => drop(lease),
            _ => stream.free(lease),
        }
        // Nobody waits while the only memory is there for somebody else.
        let left = kept.lock().unwrap().take();
        drop(left);
    }
}

#[test]
fn threads_that_are_short_of_memory_all_get_it() {
    for seed in 0..10 {
        let (setting, kept) = (Setting::new(seed, 1), Mutex::new(None));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (setting, kept) = (&setting, &kept);
                scope.spawn(move || short_of_memory(setting, Random(seed * THREADS + thread), kept));
            }
        });
        drop(kept);
        assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
        let statistics = setting.arena.statistics();
        assert!(statistics.shortages > 0 && statistics.declined == 0, "{statistics:?}");
        assert_eq!((statistics.limbo_leases, setting.arena.memory().leased_bytes()), (0, 0));
        setting.check();
        setting.finish();
    }
}
