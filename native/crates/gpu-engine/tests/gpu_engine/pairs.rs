//! Sorts of pairs of a task's memory: in the order of a stable sort, or declined with the pairs as they were.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_engine::{Abandoned, Accelerator, Declined, PairMemory, PairSort};
use sluice_gpu_engine::{Counts, GpuAccelerator, GpuOptions, Kind, Use};
use sluice_testkit::xorshift;

use crate::accelerator::always;
use crate::setting::{ORDERS, Setting};

/// A task's memory; the task may end in the middle.
struct Memory {
    pairs: Vec<[u64; 2]>,
    sorted: Vec<[u64; 2]>,
    reads: usize,
    writes: usize,
    /// From which read or write on the task is not there any more.
    ends_at_read: usize,
    ends_at_write: usize,
}

impl Memory {
    fn of(pairs: Vec<[u64; 2]>) -> Self {
        let sorted = vec![[0; 2]; pairs.len()];
        Self { pairs, sorted, reads: 0, writes: 0, ends_at_read: usize::MAX, ends_at_write: usize::MAX }
    }
}

impl PairMemory for Memory {
    fn read(&mut self, from: usize, target: &mut [[u64; 2]]) -> Result<(), Abandoned> {
        assert_eq!(self.writes, 0, "all are read before one is written");
        self.reads += 1;
        if self.reads > self.ends_at_read {
            return Err(Abandoned);
        }
        target.copy_from_slice(&self.pairs[from..from + target.len()]);
        Ok(())
    }

    fn write(&mut self, at: usize, sorted: &[[u64; 2]]) -> Result<(), Abandoned> {
        self.writes += 1;
        if self.writes > self.ends_at_write {
            return Err(Abandoned);
        }
        self.sorted[at..at + sorted.len()].copy_from_slice(sorted);
        Ok(())
    }
}

/// Addresses in their order, numbers with so few values in each byte that many are equal.
fn pairs(count: u64, mask: u64) -> Vec<[u64; 2]> {
    (0..count).map(|i| [i << 16 | 8, xorshift(i + 1) & mask]).collect()
}

fn by(count: usize, low: u32, high: u32) -> PairSort {
    PairSort::new(count, low, high).unwrap()
}

fn sorted(gpu: &GpuAccelerator, pairs: Vec<[u64; 2]>, low: u32, high: u32) -> Result<Memory, Declined> {
    let sort = by(pairs.len(), low, high);
    let mut memory = Memory::of(pairs);
    gpu.sort_pairs(sort, &mut memory).map(|()| memory)
}

/// The GPU sorts the pairs as a stable sort does.
fn check(gpu: &GpuAccelerator, pairs: Vec<[u64; 2]>, low: u32, high: u32) {
    let mut expected = pairs.clone();
    let mask = by(1, low, high).mask();
    expected.sort_by_key(|pair| pair[1] & mask);
    let memory = sorted(gpu, pairs, low, high).unwrap();
    assert!(memory.sorted == expected, "{} pairs by the bytes {low} to {high}", expected.len());
}

/// What declined 1,000 pairs.
fn declined(gpu: &GpuAccelerator) -> &'static str {
    sorted(gpu, pairs(1000, u64::MAX), 0, 7).err().unwrap().why
}

/// Until the device is known to be lost.
fn lost(gpu: &GpuAccelerator) -> String {
    let begun = Instant::now();
    loop {
        if let Some(why) = gpu.lost() {
            return why;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "nobody has looked");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn pairs_come_in_the_order_of_a_stable_sort() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&GpuOptions { least_bytes: 16, ..always() }).unwrap();
    for (count, mask, low, high) in [
        (1, u64::MAX, 0, 7),
        (255, 3, 0, 0),
        (4097, 0xFF00_0000_00FF, 0, 7),
        (9000, u64::MAX, 0, 7),
        (9000, u64::MAX, 5, 7),
        (9000, 0x0F0F_0F0F_0F0F_0F0F, 2, 4),
        (5000, 0xF0F0_0000_0000_0000, 6, 7),
        (3000, u64::MAX, 7, 7),
        (3000, 0, 0, 7),
    ] {
        check(&gpu, pairs(count, mask), low, high);
    }
    let counts = gpu.counts();
    assert_eq!((counts.sorts, counts.sorted_pairs), (9, 1 + 255 + 4097 + 18_000 + 5000 + 9000 + 6000));
    assert!(counts.sort_nanos > 0 && counts.encoded_batches == 0, "{counts:?}");
    drop(gpu);
    setting.finish();
}

#[test]
fn the_order_of_the_kernels_threads_does_not_matter() {
    let Some(setting) = Setting::simulated() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    for order in ORDERS {
        setting.set_order(order);
        check(&gpu, pairs(6000, 0x0307_0F00), 1, 3);
    }
    drop(gpu);
    setting.finish();
}

/// More pairs than a lane's buffer holds come and go in pieces; nothing is pinned or allocated after the first time.
#[test]
fn many_pairs_go_through_a_lanes_buffer() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    check(&gpu, pairs(1000, u64::MAX), 0, 7);
    let calls = || ["cuMemHostRegister_v2", "cuMemAlloc_v2"].map(|name| setting.simulator().calls(name));
    let before = setting.on_simulator().then(calls);
    let memory = sorted(&gpu, pairs(300_000, 0x1F00), 1, 1).unwrap();
    assert!(memory.sorted.is_sorted_by_key(|pair| (pair[1], pair[0])));
    assert_eq!((memory.reads, memory.writes), (2, 2), "300,000 pairs of 16 bytes through 4 MiB");
    assert_eq!(setting.on_simulator().then(calls), before);
    drop(gpu);
    setting.finish();
}

#[test]
fn what_it_declines_stays_as_it_was() {
    let Some(setting) = Setting::simulated() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    assert_eq!(sorted(&gpu, pairs(63, 7), 0, 7).err().unwrap().why, "a small batch");
    check(&gpu, pairs(64, 7), 0, 7);
    setting.simulator().configure("fail=cuLaunchKernel@3:1");
    assert_eq!(declined(&gpu), "a call of the driver failed");
    assert!(gpu.failure().unwrap().contains("cuLaunchKernel"), "{:?}", gpu.failure());
    assert_eq!(declined(&gpu), "the GPU has failed a moment ago");
    let begun = Instant::now();
    while !gpu.wants(1 << 20, Kind::Pairs { key_bytes: 8 }) {
        assert!(begun.elapsed() < Duration::from_secs(120), "it is left alone for ever");
        std::thread::sleep(Duration::from_millis(5));
    }
    check(&gpu, pairs(1000, u64::MAX), 0, 7);
    let counts = gpu.counts();
    assert_eq!((counts.too_small, counts.device_failed, counts.sorts), (1, 1, 2));
    drop(gpu);
    setting.finish();
}

/// A task that ends meanwhile, at any piece: its memory is not touched any more, and nothing is wrong with the GPU.
#[test]
fn a_task_that_ends_is_no_failure_of_the_gpu() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    for (ends_at_read, ends_at_write) in [(0, usize::MAX), (1, usize::MAX), (usize::MAX, 1)] {
        let mut memory = Memory { ends_at_read, ends_at_write, ..Memory::of(pairs(300_000, 0x1F)) };
        let why = gpu.sort_pairs(by(300_000, 0, 0), &mut memory).unwrap_err();
        assert_eq!(why, Declined::new("the task does not wait for a sort any more"));
        assert!(memory.pairs == pairs(300_000, 0x1F));
        let asked = (memory.reads, memory.writes);
        assert_eq!(asked, if ends_at_write == usize::MAX { (ends_at_read + 1, 0) } else { (2, ends_at_write + 1) });
    }
    check(&gpu, pairs(1000, u64::MAX), 0, 7);
    assert_eq!(gpu.counts(), Counts { not_taken: 3, sorts: 1, sorted_pairs: 1000, ..without_times(&gpu) });
    drop(gpu);
    setting.finish();
}

/// Of the counts what differs from run to run.
fn without_times(gpu: &GpuAccelerator) -> Counts {
    Counts { sort_nanos: gpu.counts().sort_nanos, ..Counts::default() }
}

#[test]
fn without_a_lane_a_task_sorts_itself() {
    struct Asking<'a>(&'a GpuAccelerator, Memory);
    impl PairMemory for Asking<'_> {
        fn read(&mut self, from: usize, target: &mut [[u64; 2]]) -> Result<(), Abandoned> {
            assert!(!self.0.wants(1 << 20, Kind::Pairs { key_bytes: 1 }));
            assert_eq!(declined(self.0), "the GPU is busy");
            self.1.read(from, target)
        }

        fn write(&mut self, at: usize, sorted: &[[u64; 2]]) -> Result<(), Abandoned> {
            self.1.write(at, sorted)
        }
    }
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    gpu.sort_pairs(by(500, 0, 7), &mut Asking(&gpu, Memory::of(pairs(500, u64::MAX)))).unwrap();
    assert_eq!((gpu.counts().busy, gpu.counts().sorts), (2, 1));
    drop(gpu);
    setting.finish();
}

#[test]
fn a_lost_device_sorts_nothing_any_more() {
    for (fault, timeout) in [("lose=cuLaunchKernel@2", 600_000), ("hang=cuLaunchKernel@2", 200)] {
        let Some(setting) = Setting::simulated() else { return };
        let options = GpuOptions { timeout: Duration::from_millis(timeout), ..always() };
        let gpu = setting.accelerator(&options).unwrap();
        setting.simulator().configure(fault);
        for _ in 0..2 {
            assert_eq!(declined(&gpu), "the GPU was lost", "{fault}");
        }
        assert_eq!((gpu.counts().device_lost, gpu.counts().sorts), (2, 0));
        assert!(gpu.lost().is_some() && !gpu.wants(1 << 20, Kind::Pairs { key_bytes: 8 }), "{fault}");
    }
}

/// Pairs that are not in order, or others, are found on their way to the task's memory; after that the device is not
/// used.
#[test]
fn a_gpu_that_makes_wrong_pairs_is_given_up() {
    let Some(setting) = Setting::simulated() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    // The sorted pairs are then what the memory had before.
    setting.simulator().configure("skip=sort_join");
    let why = declined(&gpu);
    assert!(["pairs that are not in order", "other pairs than those of a sort"].contains(&why), "{why}");
    assert!(lost(&gpu).contains(&format!("it makes what is wrong: {why}")), "{}", lost(&gpu));
    assert_eq!((gpu.counts().wrong_results, gpu.counts().sorts), (1, 0));
}

/// Both ways are measured when the GPU is opened, pairs for themselves; the simulated one is slower.
#[test]
fn a_sort_that_does_not_pay_is_left_to_the_task() {
    let Some(setting) = Setting::simulated() else { return };
    let options = GpuOptions { used: Use::WhenItPays, least_bytes: 16 << 10, ..always() };
    let gpu: Arc<GpuAccelerator> = setting.accelerator(&options).unwrap();
    assert_eq!(gpu.counts(), Counts::default(), "measurements are not counted");
    // Whatever the CPU's measurement was, on a machine that did something else meanwhile.
    for _ in 0..40 {
        gpu.pairs_sorted_by_cpu(by(1024, 0, 7), Duration::from_nanos(1));
    }
    let answers: Vec<_> = (0..3).map(|_| sorted(&gpu, pairs(1024, u64::MAX), 0, 7).err().map(|e| e.why)).collect();
    assert_eq!(answers, [None, Some("the CPU is faster"), Some("the CPU is faster")], "a trial, and no other");
    // What tasks tell counts: a CPU that is as slow as this makes the GPU worth while.
    for _ in 0..40 {
        gpu.pairs_sorted_by_cpu(by(1024, 0, 7), Duration::from_secs(1000));
    }
    check(&gpu, pairs(1024, u64::MAX), 0, 7);
    gpu.pairs_sorted_by_cpu(by(1023, 0, 6), Duration::from_secs(1000));
    assert_eq!(sorted(&gpu, pairs(1024, u64::MAX), 0, 6).err(), None, "a trial of another kind");
    assert_eq!(sorted(&gpu, pairs(1024, u64::MAX), 0, 6).err().unwrap().why, "the CPU is faster");
    assert_eq!((gpu.counts().sorts, gpu.counts().cpu_faster), (3, 3));
    drop(gpu);
    setting.finish();
}

/// Long ones, which `./sluice test` leaves to `--all`.
mod in_all {
    use super::*;

    /// A sort waits three times at least, and asks each time.
    #[test]
    fn a_wait_that_fails_leaves_the_pairs() {
        for nth in 1..=3 {
            let Some(setting) = Setting::simulated() else { return };
            let gpu = setting.accelerator(&always()).unwrap();
            setting.simulator().configure(&format!("fail=cuStreamQuery@{nth}:1"));
            let mut memory = Memory::of(pairs(1000, 0xFF));
            assert_eq!(gpu.sort_pairs(by(1000, 0, 0), &mut memory).unwrap_err().why, "the GPU was lost");
            assert!(memory.pairs == pairs(1000, 0xFF) && gpu.lost().is_some(), "question {nth}");
        }
    }

    /// A call that does not return holds up its thread only, until the device is given up.
    #[test]
    fn a_driver_that_does_not_return_loses_the_device() {
        let Some(setting) = Setting::simulated() else { return };
        let gpu = setting.accelerator(&GpuOptions { timeout: Duration::from_millis(250), ..always() }).unwrap();
        setting.simulator().configure("block=cuLaunchKernel@3+");
        std::thread::scope(|scope| {
            let held_up = scope.spawn(|| declined(&gpu));
            assert!(lost(&gpu).contains("calls of the driver have not returned for more than"), "{}", lost(&gpu));
            assert_eq!(declined(&gpu), "the GPU was lost");
            setting.simulator().release();
            assert_eq!(held_up.join().unwrap(), "the GPU was lost");
        });
    }
}
