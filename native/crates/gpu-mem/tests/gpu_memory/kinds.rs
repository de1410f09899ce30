//! The arena's own suites, over pinned memory, host memory that could be pinned, and a GPU's memory. With the
//! environment variable `SLUICE_TEST_GPU` they run on the machine's GPU instead of the simulator.

use crate::setting::{context, long};
use crate::subject::Subject;
use crate::support::{FixedProvider, PLAIN_HOST};
use crate::{fragmentation, model, replay, traffic};
use proptest::prelude::*;
use sluice_cuda::{Context, DeviceAddress, Driver};
use sluice_cuda_sim::{Simulator, checkout};
use sluice_gpu_mem::{DeviceProvider, PinnedProvider};
use sluice_mem::{
    Arena, ArenaOptions, DeviceArena, LimitedProvider, MemError, MeteredProvider, Provider, SEGMENT_BYTES, Statistics,
};
use std::sync::Arc;

/// A GPU's memory, written and read by copies of the calling thread's stream.
struct OnDevice {
    arena: Arc<DeviceArena>,
    context: Context,
}

impl Subject for OnDevice {
    fn lease_raw(&self, bytes: usize) -> Result<usize, MemError> {
        self.arena.lease_raw(bytes)
    }

    fn release_raw(&self, address: usize) -> Result<(), MemError> {
        self.arena.release_raw(address)
    }

    fn write(&self, address: usize, bytes: &[u8]) {
        copy_to(&self.context, address, bytes);
    }

    fn read(&self, address: usize, bytes: &mut [u8]) {
        copy_from(&self.context, address, bytes);
    }

    fn set_limit(&self, bytes: usize) {
        self.arena.set_limit(bytes);
    }

    fn trim(&self, keep_bytes: usize) {
        self.arena.trim(keep_bytes);
    }

    fn statistics(&self) -> Statistics {
        self.arena.statistics()
    }

    fn check(&self) -> Result<(), String> {
        self.arena.check()
    }

    fn check_quiet(&self) -> Result<(), String> {
        self.arena.check_quiet()
    }
}

/// Writes into a live lease.
pub fn copy_to(context: &Context, address: usize, bytes: &[u8]) {
    let stream = context.thread_stream();
    // SAFETY: the suites write into live leases; the bytes stay until the work is done, which is waited for.
    unsafe { stream.copy_to_device(DeviceAddress(address as u64), bytes.as_ptr(), bytes.len()).unwrap() };
    stream.finish(long()).unwrap();
}

/// Reads from a live lease.
pub fn copy_from(context: &Context, address: usize, bytes: &mut [u8]) {
    let stream = context.thread_stream();
    // SAFETY: as in `copy_to`.
    unsafe { stream.copy_to_host(bytes.as_mut_ptr(), DeviceAddress(address as u64), bytes.len()).unwrap() };
    stream.finish(long()).unwrap();
}

/// A context of the machine's GPU, or of a simulator of its own, whose library stays in the process.
pub fn machine() -> (Context, Option<Simulator>) {
    if std::env::var_os("SLUICE_TEST_GPU").is_some() {
        return (Driver::open().unwrap().select(None).unwrap().context().unwrap(), None);
    }
    let simulator = Simulator::start("memory=16g");
    (context(&simulator), Some(simulator))
}

fn on_device(options: &ArenaOptions, over: impl FnOnce(DeviceProvider) -> Arc<dyn Provider>) -> Box<dyn Subject> {
    let (context, _) = machine();
    let arena = DeviceArena::with_provider(over(DeviceProvider::new(context.clone())), options);
    Box::new(OnDevice { arena, context })
}

fn device(options: &ArenaOptions) -> Box<dyn Subject> {
    on_device(options, |provider| Arc::new(provider))
}

fn device_decorated(options: &ArenaOptions) -> Box<dyn Subject> {
    on_device(options, |provider| Arc::new(MeteredProvider::new(LimitedProvider::new(provider, 8 << 30))))
}

fn pinned_over<P: Provider + 'static>(options: &ArenaOptions, provider: P) -> Box<dyn Subject> {
    let provider = PinnedProvider::new(provider, usize::MAX);
    provider.attach(machine().0);
    Box::new(Arena::with_provider(Arc::new(provider), options))
}

fn pinned(options: &ArenaOptions) -> Box<dyn Subject> {
    pinned_over(options, PLAIN_HOST)
}

fn pinned_without_a_driver(options: &ArenaOptions) -> Box<dyn Subject> {
    Box::new(Arena::with_provider(Arc::new(PinnedProvider::new(PLAIN_HOST, usize::MAX)), options))
}

conformance! {
    of_a_device => device;
    of_a_device_decorated => device_decorated;
    of_pinned_memory => pinned;
    of_memory_that_is_not_pinned => pinned_without_a_driver;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_device_behaves_like_an_interval_set(calls in model::calls()) {
        model::run(&device, &calls);
    }

    #[test]
    fn pinned_memory_behaves_like_an_interval_set(calls in model::calls()) {
        model::run(&pinned, &calls);
    }
}

#[test]
fn cookies_survive_cross_thread_traffic_on_a_device() {
    traffic::cookies_survive_cross_thread_traffic(&device, 250);
}

#[test]
fn cookies_survive_cross_thread_traffic_in_pinned_memory() {
    traffic::cookies_survive_cross_thread_traffic(&pinned, 5_000);
}

#[test]
fn a_full_device_refuses_little() {
    // Padding counts.
    let make = |options: &ArenaOptions| {
        on_device(options, |provider| Arc::new(LimitedProvider::new(provider, fragmentation::FULL + 4 * SEGMENT_BYTES)))
    };
    fragmentation::a_pool_of_fixed_size_works_at_95_percent(&make, 20_000);
}

#[test]
fn full_pinned_memory_refuses_little() {
    let make = |options: &ArenaOptions| pinned_over(options, FixedProvider::new(fragmentation::FULL));
    fragmentation::a_pool_of_fixed_size_works_at_95_percent(&make, 20_000);
}

#[test]
fn a_recorded_job_takes_little_more_than_is_live() {
    let trace = checkout().join("bench/results/native/arena-engine.trace.zst");
    replay::takes_little_more_than_is_live(&device, &trace);
    replay::takes_little_more_than_is_live(&pinned, &trace);
}

#[test]
fn chunks_are_aligned_padded_and_given_back() {
    let simulator = Simulator::start("memory=1g");
    let context = context(&simulator);
    let provider = DeviceProvider::new(context.clone());
    let region = provider.map(SEGMENT_BYTES).unwrap();
    assert_eq!((region.address() % SEGMENT_BYTES, region.bytes(), region.device()), (0, SEGMENT_BYTES, Some(0)));
    assert_eq!(simulator.counts().allocated_bytes, 2 * SEGMENT_BYTES as u64);
    let refused = provider.map(1 << 30).unwrap_err();
    assert!(refused.to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"), "{refused}");
    provider.unmap(region);
    assert_eq!(simulator.counts().allocations, 0);
    let _kept = provider.map(SEGMENT_BYTES).unwrap();
    drop(provider);
    assert_eq!((simulator.counts().allocations, context.statistics().leaked_objects), (1, 1), "a lease may be in it");
}
