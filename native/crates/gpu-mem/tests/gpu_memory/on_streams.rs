//! The arena's suites through streams: what one thread leases another one frees on its own stream, and what a stream
//! has freed it leases again from its limbo.

use crate::kinds::{copy_from, copy_to, machine};
use crate::setting::number;
use crate::subject::Subject;
use crate::{fragmentation, model, replay, traffic};
use proptest::prelude::*;
use sluice_cuda::{Context, Wait};
use sluice_cuda_sim::{Simulator, checkout};
use sluice_gpu_mem::{ArenaStream, Declined, StreamArena, StreamArenaOptions, StreamLease};
use sluice_mem::{ArenaOptions, MemError, SEGMENT_BYTES, Statistics};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// As many as the suites have threads that lease.
const STREAMS: usize = 4;
/// More than any suite needs of the device, where it does not say how much.
const ROOMY: usize = 15 << 30;
/// Questions until what was freed has come back, if nobody else goes on freeing.
const ROUNDS: usize = 100;

/// A stream that was made.
struct OnAnyThread(ArenaStream);
// SAFETY: a stream that was made is the same one on every thread, unlike a thread's default stream; the lock around it
// lets one thread use it at a time.
unsafe impl Send for OnAnyThread {}

/// Fields are dropped in this order; the simulator then looks at what is left.
struct OnStreams {
    leases: Mutex<HashMap<usize, StreamLease>>,
    /// A thread always uses the same one.
    streams: Vec<Mutex<OnAnyThread>>,
    arena: Arc<StreamArena>,
    context: Context,
    _simulator: Option<Simulator>,
}

impl OnStreams {
    /// `limit_bytes` of the device's memory.
    fn new(options: &ArenaOptions, limit_bytes: usize) -> Self {
        let (context, _simulator) = machine();
        let limits = StreamArenaOptions::with_limit(limit_bytes);
        let arena = StreamArenaOptions { chunk_bytes: SEGMENT_BYTES, shards: options.shards, ..limits };
        let arena = StreamArena::new(context.clone(), arena);
        arena.memory().set_limit(options.limit_bytes);
        let stream = || Mutex::new(OnAnyThread(arena.attach(context.new_stream().unwrap())));
        let streams = (0..STREAMS).map(|_| stream()).collect();
        Self { leases: Mutex::default(), streams, arena, context, _simulator }
    }

    fn stream(&self) -> MutexGuard<'_, OnAnyThread> {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static NUMBER: Cell<usize> = Cell::new(LAST.fetch_add(1, Relaxed)));
        self.streams[NUMBER.get() % STREAMS].lock().unwrap()
    }

    /// Whether all that was freed has come back; not while others go on freeing.
    fn settle(&self) -> bool {
        (0..ROUNDS).any(|round| {
            if round > 0 {
                std::thread::sleep(Duration::from_micros(20));
            }
            self.streams.iter().for_each(|stream| stream.lock().unwrap().0.flush());
            self.arena.poll().unwrap();
            self.arena.statistics().limbo_leases == 0
        })
    }

    fn lease(&self, bytes: usize) -> Result<StreamLease, Declined> {
        self.stream().0.lease(bytes, Wait::at_most(Duration::ZERO))
    }
}

impl Subject for OnStreams {
    fn lease_raw(&self, bytes: usize) -> Result<usize, MemError> {
        // What is in limbo counts against the limit, and a stream leases it again without a look at that. So after a
        // limit was lowered it comes back first.
        let memory = self.arena.memory();
        if memory.leased_bytes() > memory.statistics().limit_bytes {
            self.settle();
        }
        let lease = self.lease(bytes).or_else(|_| {
            self.settle();
            self.lease(bytes)
        });
        let lease = lease.map_err(|why| match why {
            Declined::Memory(refused) => refused,
            other => panic!("{other}"),
        })?;
        let address = number(&lease);
        let other = self.leases.lock().unwrap().insert(address, lease);
        assert!(other.is_none(), "{address:#x} was leased twice");
        Ok(address)
    }

    fn release_raw(&self, address: usize) -> Result<(), MemError> {
        let lease = self.leases.lock().unwrap().remove(&address).ok_or(MemError::NotLeased { address })?;
        self.stream().0.free(lease);
        Ok(())
    }

    fn write(&self, address: usize, bytes: &[u8]) {
        copy_to(&self.context, address, bytes);
    }

    fn read(&self, address: usize, bytes: &mut [u8]) {
        copy_from(&self.context, address, bytes);
    }

    fn set_limit(&self, bytes: usize) {
        self.arena.memory().set_limit(bytes);
    }

    fn trim(&self, keep_bytes: usize) {
        assert!(self.settle(), "what was freed has not come back: {:?}", self.arena.statistics());
        self.arena.trim(keep_bytes);
    }

    /// What is in limbo counts as released.
    fn statistics(&self) -> Statistics {
        let (limbo, mut memory) = (self.arena.statistics(), self.arena.memory().statistics());
        memory.leased_bytes -= limbo.limbo_bytes;
        memory.free_bytes += limbo.limbo_bytes;
        memory.releases += limbo.limbo_leases as u64;
        memory
    }

    fn check(&self) -> Result<(), String> {
        self.arena.memory().check()
    }

    fn check_quiet(&self) -> Result<(), String> {
        self.arena.memory().check_quiet()
    }

    /// A large lease may get a block of an eighth more from the limbo.
    fn most_rounding(&self, requested: usize) -> usize {
        if requested > 120 << 10 { 4095 + (requested + 4095) / 8 } else { (requested / 8).max(64) }
    }
}

fn roomy(options: &ArenaOptions) -> Box<dyn Subject> {
    Box::new(OnStreams::new(options, ROOMY))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn they_behave_like_an_interval_set(calls in model::calls()) {
        model::run(&roomy, &calls);
    }
}

#[test]
fn cookies_survive_cross_thread_traffic() {
    traffic::cookies_survive_cross_thread_traffic(&roomy, 250);
}

#[test]
fn a_full_device_refuses_little() {
    // Padding counts.
    let limit = fragmentation::FULL + 4 * SEGMENT_BYTES;
    let arena = OnStreams::new(&crate::support::options(usize::MAX), limit);
    let (tried, refused) = fragmentation::churn(&arena, 5_000);
    println!("{refused} of {tried} leases refused for fragmentation");
    assert!(refused * 8 <= tried, "{refused} of {tried}");
    let counts = arena.arena.statistics();
    assert!(counts.leases_from_limbo > 0 && counts.shortages > 0, "otherwise this test shows nothing: {counts:?}");
    let whole: Vec<usize> = (0..4).map(|_| arena.lease_raw(SEGMENT_BYTES).unwrap()).collect();
    whole.into_iter().for_each(|address| arena.release_raw(address).unwrap());
    arena.trim(0);
    assert_eq!(arena.reserved_bytes(), 0);
}

/// What is in limbo is a part of what is mapped at the peak.
#[test]
fn a_recorded_job_takes_little_more_than_is_live() {
    let trace = checkout().join("bench/results/native/arena-engine.trace.zst");
    replay::takes_little_more_than_is_live(&roomy, &trace);
}
