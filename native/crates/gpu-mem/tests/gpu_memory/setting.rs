//! A simulated machine with a stream arena, and work for streams.

use sluice_cuda::{Context, DeviceAddress, Driver, Stream, Wait};
use sluice_cuda_sim::Simulator;
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions, StreamLease};
use sluice_mem::SEGMENT_BYTES;
use std::sync::Arc;
use std::time::Duration;

pub const MIB: usize = 1 << 20;
/// What the driver gives for one region of the smallest length.
pub const CHUNK: usize = 2 * SEGMENT_BYTES;

/// Longer than any test needs.
pub fn long() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(60))
}

pub fn context(simulator: &Simulator) -> Context {
    Driver::open_at(&simulator.path()).unwrap().select(None).unwrap().context().unwrap()
}

/// Fields are dropped in this order: what the context has is given back before it ends.
pub struct Setting {
    pub arena: Arc<StreamArena>,
    pub context: Context,
    pub simulator: Simulator,
}

impl Setting {
    /// So many regions of 64 MiB, on a device with more memory.
    pub fn new(seed: u64, regions: usize) -> Self {
        Self::with(seed, options(regions))
    }

    pub fn with(seed: u64, options: StreamArenaOptions) -> Self {
        let simulator = Simulator::start(&format!("memory=4g seed={seed}"));
        let context = context(&simulator);
        let arena = StreamArena::new(context.clone(), options);
        Self { arena, context, simulator }
    }

    /// A stream that was made.
    pub fn stream(&self) -> ArenaStream {
        self.arena.attach(self.context.new_stream().unwrap())
    }

    /// All calls of the driver in the context: each enters it.
    pub fn calls(&self) -> u64 {
        self.simulator.calls("cuCtxPushCurrent_v2")
    }

    /// Nothing has let the driver wait, and the program has made no mistake.
    pub fn check(&self) {
        assert_eq!(self.simulator.violations(), Vec::<String>::new());
        assert_eq!(self.simulator.counts().waits, 0, "waits of the driver");
        for function in ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize", "cuMemFree_v2"] {
            assert_eq!(self.simulator.calls(function), 0, "{function}");
        }
        self.arena.memory().check_quiet().unwrap();
    }

    /// Ends everything: nothing must be left on the device.
    pub fn finish(self) {
        let Self { arena, context, simulator } = self;
        drop(arena);
        drop(context);
        let counts = simulator.counts();
        assert_eq!((counts.allocations, counts.events, counts.streams, counts.contexts), (0, 0, 0, 0), "{counts:?}");
        assert_eq!(simulator.violations(), Vec::<String>::new());
    }
}

/// Room for so many regions of 64 MiB, two thread arenas.
pub fn options(regions: usize) -> StreamArenaOptions {
    let limit = regions * CHUNK;
    StreamArenaOptions { chunk_bytes: SEGMENT_BYTES, shards: 2, ..StreamArenaOptions::with_limit(limit) }
}

/// Fills the first bytes of a lease.
pub fn fill(stream: &Stream, at: DeviceAddress, byte: u8) {
    // SAFETY: the tests fill live leases, in the order of the stream, or make a mistake that the simulator reports.
    unsafe { stream.fill(at, byte, 4096).unwrap() };
}

/// Bytes that were read from the device, once the stream's work is done.
pub fn read(stream: &Stream, at: DeviceAddress) -> Box<[u8; 4096]> {
    let mut bytes = Box::new([0; 4096]);
    // SAFETY: as in `fill`; the box stays where it is, and the tests look at it after the stream's work.
    unsafe { stream.copy_to_host(bytes.as_mut_ptr(), at, bytes.len()).unwrap() };
    bytes
}

/// The address as a number.
pub fn number(lease: &StreamLease) -> usize {
    lease.address().0 as usize
}
