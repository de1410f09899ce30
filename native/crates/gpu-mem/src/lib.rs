//! Pinned memory and a GPU's memory under the arena of `sluice-mem`, and frees in the order of a stream's work.
//!
//! ```text
//!   ArenaStream (one thread's, with one stream)       ArenaStream …
//!     │ lease: own limbo ─► arena ─► pressure            │ free: own limbo, an event per 64 leases or 8 MiB
//!     └───────────────┬──────────────────────────────────┘
//!                StreamArena ── DeviceArena (sluice-mem) ── LimitedProvider ── DeviceProvider ── cuMemAlloc
//!                                     Arena (sluice-mem) ── PinnedProvider ── HostProvider, cuMemHostRegister
//! ```
//!
//! # Why frees are ordered on streams
//! The host frees memory while the GPU still works on it. An allocator that waits for the GPU then stops the thread,
//! and a GPU that is waited for stops all threads: RMM's arena synchronises the stream when a block goes back to the
//! global arena, and the device when it is out of memory. A pool behind a lock has its threads wait for each other, and
//! CUDA's own stream-ordered pool (`cuMemAllocAsync`) makes each lease a call of the driver, which has locks too. Here
//! a lease that its own stream has freed is leased again without a call of the driver, and one event is recorded for 64
//! frees. What a stream has freed and the device may still use is in the stream's *limbo*.
//!
//! # Invariants
//! 1. A free calls at most `cuEventQuery`, `cuEventCreate` and `cuEventRecord`, which wait for no work; nor does a
//!    lease before it lacks memory, unless it has to map a chunk (`cuMemAlloc`). Device memory goes
//!    back to the driver (`cuMemFree` waits for the device) in [`StreamArena::trim`] and at the end only.
//! 2. Memory that a stream has freed is leased to the same stream at once, and to another one when an event that was
//!    recorded after the free has ended.
//! 3. When the device is lost, no lease that was live or in limbo is ever leased again, no call waits for it, and
//!    [`StreamArena::statistics`] counts what was left behind.
//! 4. Every wait has a limit and ends when the task is being killed.
//!
//! # What it does not do
//! It does not know what a lease is used for: work on a stream other than the one that leased it has to be ordered by
//! the caller, with an event, before the use and before the free; and a lease that is dropped instead of freed waits
//! for the stream that [`StreamLease::used_by`] named last, or for the one that leased it.

mod arena_stream;
mod declined;
mod device_provider;
mod limbo;
mod memory_share;
mod pinned_provider;
mod spare_events;
mod statistics;
mod stream_arena;
mod stream_lease;
mod stream_limbo;

pub use arena_stream::ArenaStream;
pub use declined::Declined;
pub use device_provider::{CHUNK_BYTES, DeviceProvider};
pub use memory_share::default_limit;
pub use pinned_provider::{PinnedProvider, PinnedStatistics};
pub use statistics::StreamStatistics;
pub use stream_arena::{DropCaches, StreamArena, StreamArenaOptions};
pub use stream_lease::StreamLease;
