//! As many encodes as an executor makes in a while: what the driver has given for the first ones is enough for all, and
//! nothing is left of them, also of those that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sluice_cuda_sim::{Simulator, long_tests};
use sluice_gpu_engine::{Counts, GpuAccelerator, GpuOptions};

use crate::accelerator::{Output, always, output, wants};
use crate::setting::Setting;
use crate::tables::{FAST, Rows, table};

const THREADS: usize = 4;
/// Until the memory of the device and most events are there.
const FIRST: u64 = 12;
/// One of so many encodes fails.
const FAILING: u64 = 25;
const FAULTS: [&str; 2] = ["fail=cuLaunchKernel@3:1", "fail=cuMemcpyDtoHAsync_v2@2:1"];
/// How many events more may be made: the threads' streams end a little before the device has done all of their work.
const MORE_EVENTS: u64 = 40;

/// A map output, again and again.
struct Work<'a> {
    gpu: &'a Arc<GpuAccelerator>,
    simulator: &'a Simulator,
    batches: [Rows; 1],
    expected: Output,
    /// Encodes that were begun.
    begun: AtomicU64,
    failed: AtomicU64,
}

impl Work<'_> {
    /// Has the threads encode until the GPU has encoded so many batches; some encodes fail.
    fn go_on_until(&self, batches: u64) {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    self.encode_while(
                        |counts| counts.encoded_batches < batches,
                        || {
                            if self.begun.fetch_add(1, Relaxed) % FAILING == FAILING - 1 {
                                let nth = self.failed.fetch_add(1, Relaxed) as usize;
                                self.simulator.configure(FAULTS[nth % FAULTS.len()]);
                            }
                        },
                    );
                });
            }
        });
    }

    /// Encodes until each fault has met an encode: else it would meet the end of the test.
    fn until_all_have_failed(&self) {
        self.encode_while(|counts| counts.device_failed < self.failed.load(Relaxed), || {});
    }

    fn encode_while(&self, goes_on: impl Fn(Counts) -> bool, before: impl Fn()) {
        let started = Instant::now();
        while goes_on(self.gpu.counts()) {
            assert!(started.elapsed() < Duration::from_secs(900), "{:?}", self.gpu.counts());
            // Not while it is left alone after a failure, or as many as may be are under way.
            if !wants(self.gpu) {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            before();
            assert!(output(&self.batches, FAST, Some(self.gpu)) == self.expected);
        }
    }

    /// How often the driver was asked for device memory, pinned memory and streams.
    fn given(&self) -> [u64; 3] {
        ["cuMemAlloc_v2", "cuMemHostRegister_v2", "cuStreamCreate"].map(|function| self.simulator.calls(function))
    }

    fn events(&self) -> u64 {
        self.simulator.calls("cuEventCreate")
    }
}

/// Long ones, which `./sluice test` leaves to `--all`.
mod in_all {
    use super::*;

    #[test]
    fn a_thousand_encodes_ask_the_driver_for_nothing_more_and_leave_nothing() {
        let Some(setting) = Setting::simulated() else { return };
        let gpu = setting.accelerator(&GpuOptions { pinned_limit: 8 << 20, ..always() }).unwrap();
        let batches = [table(&[0, 6], 200, 3, 0, 7)];
        let expected = output(&batches, FAST, None);
        let (begun, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = Work { gpu: &gpu, simulator: setting.simulator(), batches, expected, begun, failed };
        work.go_on_until(FIRST);
        let (given, events) = (work.given(), work.events());
        work.go_on_until(if long_tests() { 1000 } else { 150 });
        work.until_all_have_failed();
        assert_eq!(work.given(), given, "allocations, registrations and streams");
        let more = work.events() - events;
        assert!(more <= MORE_EVENTS, "{more} events were made");
        let (counts, failed) = (gpu.counts(), work.failed.into_inner());
        assert!(failed > 0 && counts.device_failed == failed, "{failed} faults: {counts:?}");
        assert_eq!((counts.device_lost, counts.no_memory, gpu.lost()), (0, 0, None), "{counts:?}");
        drop(gpu);
        setting.finish();
    }
}
