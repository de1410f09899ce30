//! The arena: the only source of block memory of Sluice's native core.
//!
//! ```text
//!   lease_raw / lease / release_raw
//!        │ Budget: the limit on leased bytes (one word, and a quota per shard)
//!        ├── ≤ 120 KiB ── ThreadArenas: shard per thread, bin per size class ── Superblock (256 KiB, rarely 2 or 3)
//!        │                                                                          │ allocated from, returned to
//!        └── larger ─────────────────────── GlobalArena: extents of 4 KiB granules ─┘
//!                                               │ SubArenas: regions of 64 MiB and more, one lock each
//!                                           Provider: host memory, pinned host memory, or a GPU's
//! ```
//!
//! # Invariants
//! 1. Leases do not overlap, start at multiples of 64 bytes and lie in a mapped region.
//! 2. The bytes on lease, whole blocks counted, never exceed the limit that was in force when the last one was made.
//! 3. Metadata is stored outside the memory that is leased: [`Arena::release_raw`] accepts any number as an address
//!    without touching memory there, and no write into a lease can break the arena.
//! 4. Free neighbours are joined; a superblock without leases goes back to the global arena (except for a small cache
//!    per shard), a region without leases is unmapped (except for the slack, an eighth of the limit).
//! 5. Free memory can be leased by every thread: no large block is cached per thread, and unused quota and empty
//!    superblocks are taken back before a lease is refused for want of them.
//! 6. No lock is held while the provider maps, unmaps or purges, except one that is taken only to map a region and to
//!    purge.
//! 7. Free memory that no lease has used for one to two purge intervals (5 to 10 s) is given back to the system, in
//!    units of 2 MiB, as long as calls come to the arena. The arena has no thread of its own.
//!
//! # What it does not do
//! No waiting (a refusal is an error; whether to wait is up to the caller), no zeroing, no
//! reallocation, no use as Rust's global allocator. Reserved bytes may exceed the limit by rounding to regions and by
//! fragmentation. A limit on mapped bytes, counts of regions and a call before a refusal are put around a [`Provider`]
//! ([`LimitedProvider`], [`MeteredProvider`], [`CallbackProvider`]); the limit on leased bytes and [`Statistics`] are
//! parts of the arena, because a limit around it could not take back what shards cache. It neither reads nor writes
//! what it leases, so it also manages memory that this process cannot reach: a [`DeviceArena`] is this arena over a
//! GPU's memory, and its leases have addresses but no slices. A trace of all calls can be recorded
//! ([`ArenaOptions::trace`]).

mod arena;
mod asan;
mod audit;
mod block;
mod budget;
mod callback_provider;
mod device_arena;
mod error;
mod extent;
mod geometry;
mod global;
mod host;
mod lease;
mod limited_provider;
mod log_linear;
#[cfg(all(test, loom))]
mod loom_models;
mod metered_provider;
mod os;
mod provider;
mod purge_schedule;
mod region;
mod registrable;
mod residency;
mod segment;
mod segment_lookup;
mod size_class;
mod slack;
mod stats;
mod sub_arena;
mod sub_arenas;
mod superblock;
mod sync;
mod thread_arena;
mod thread_slot;
mod trace;

pub use arena::{Arena, ArenaOptions};
pub use block::Block;
pub use callback_provider::CallbackProvider;
pub use device_arena::{DeviceArena, DeviceLease};
pub use error::MemError;
pub use geometry::{ALIGN_BYTES, SEGMENT_BYTES};
pub use host::HostProvider;
pub use lease::Lease;
pub use limited_provider::LimitedProvider;
pub use metered_provider::{MapStatistics, MeteredProvider};
pub use provider::{MapError, MappedRegion, MemoryKind, Provider};
pub use registrable::{RegisteredRegion, RegistrableProvider, Registrar};
pub use stats::{RefusalCause, Statistics};
pub use trace::trace_file_of_environment;
