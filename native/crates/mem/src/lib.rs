//! The arena: the only source of block memory of Sluice's native core.
//!
//! ```text
//!   lease_raw / lease / release_raw
//!        │ Budget: the limit on leased bytes (a word, and credit per shard)
//!        ├── ≤ 120 KiB ── ThreadArenas: shard per thread, bin per size class ── Superblock (256 KiB, rarely 2 or 3)
//!        │                                                                          │ taken from, returned to
//!        └── larger ─────────────────────── GlobalArena: extents of 4 KiB granules ─┘
//!                                               │ Grounds: regions of 64 MiB and more, each region behind one of several locks
//!                                           Provider: host now, decorated if wanted; registered, pinned, device later
//! ```
//!
//! # Invariants
//! 1. Leases do not overlap, start at multiples of 64 bytes and lie in a mapped region.
//! 2. The bytes on lease, whole blocks counted, never exceed the limit that was in force when the last one was made.
//! 3. Metadata lives beside the memory, never in it: [`Arena::release_raw`] answers any number without touching memory,
//!    and no write into a lease can break the arena.
//! 4. Free neighbours are joined; a superblock without leases goes back to the global arena (but for a small cache per
//!    shard), a region without leases to the provider (but for the slack).
//! 5. What is free is free for every thread: no large block is cached, credit and empty superblocks are taken back before anything is
//!    refused for want of them.
//! 6. No lock is held while the provider maps or unmaps, except one that only threads in want of a new region take.
//!
//! # What may be put around it
//! Limits, counts and a callback on failure are decorators of the [`Provider`] ([`Limited`], [`Counted`], [`OnRefusal`]). The limit
//! on leased bytes and [`Statistics`] are parts of the arena: a limit around it could not take back what threads keep, and
//! counting around it would cost every call what its own locks give for nothing. A trace of all calls can be recorded
//! ([`ArenaOptions::trace`]).
//!
//! # What it does not do
//! No waiting (a refusal is a value; who may wait is the caller's matter), no zeroing, no reallocation, no use as
//! Rust's global allocator. Reserved bytes may exceed the limit by rounding to regions and by fragmentation.

mod arena;
mod audit;
mod budget;
mod decorators;
mod error;
mod extent;
mod frame;
mod global;
mod ground;
mod grounds;
mod host;
mod lease;
mod lock;
mod log_linear;
mod nearby;
mod os;
mod provider;
mod region;
mod size_class;
mod slack;
mod stats;
mod superblock;
mod thread_arena;
mod thread_slot;
mod trace;

pub use arena::{Arena, ArenaOptions};
pub use decorators::{Counted, Limited, OnRefusal, ProviderCounts};
pub use error::MemError;
pub use host::HostProvider;
pub use lease::Lease;
pub use provider::{MapError, MappedRegion, MemoryKind, Provider, REGION_UNIT_BYTES};
pub use size_class::ALIGN_BYTES;
pub use stats::Statistics;
pub use trace::trace_file_of_environment;
