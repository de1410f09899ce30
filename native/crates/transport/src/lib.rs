//! One-sided shuffle: readers copy blocks out of the memory of the process that has them, without its JVM's help.
//!
//! ```text
//!   reader's process                                     owner's process
//!   fetch ─► Reader ── HELLO, PROOF, LOCATE, DONE ──►  Owner ◄─ Catalog ◄─ publish
//!              │  ◄─ CHALLENGE, SAMPLE, LOCATED, REFUSED │       (REFUSED and CLOSING go either way)
//!              │                                       MappedRegions: mapped, registered parts of files
//!   poll ◄─ Completions ◄─ gets ◄════ one-sided reads ═══╛
//! ```
//!
//! Each process has one [`Transport`]: an agent (both roles) on a thread of its own, above a [`Wire`]. The wire is UCX
//! (crate `sluice-ucx`) or the [`loopback`] of the tests, with [`CmaWire`] before it, which reads what lies on the same
//! machine by system calls.
//!
//! # Invariants
//! 1. Every block of an accepted fetch ends in exactly one completion, unless the transport is stopped first.
//! 2. A reader is told of no location and no key before it has proven that it knows the application's secret, and asks
//!    for none before the owner has. No connection is opened for a process that has not, but for a few that carry a
//!    refusal; what follows the proofs has tags (`tags.rs`).
//! 3. What a reader was told of stays mapped and registered until it says DONE or the connection is closed on the
//!    owner's side. Withdrawing an output ends it for new questions only.
//! 4. A lease is not given back while a read may write to it.
//! 5. Every wait has a timeout: a peer that sends nothing for that long, while this side waits for it, is given up, and
//!    [`Transport::poll`] tells when this process's own agent is stuck or has panicked.
//! 6. A session is of one connection that both sides have opened with the same number, so that closing it here ends all
//!    reads of the session (`links.rs`).
//! 7. There are never more connections than the limit, but for a few that carry a refusal (`links.rs`); one is closed
//!    as idle only when nothing is expected and nothing may be read over it.
//! 8. No block is read over a connection before a sample has come over it as it was (`sample.rs`).
//!
//! # What it does not do
//! Retry (the caller has another way to a block: Spark's own), order completions, move anything but bytes.

mod agent;
mod answers;
mod bounce;
mod catalog;
mod cma;
mod completions;
#[doc(hidden)]
pub mod crowd;
mod disk;
mod effort;
mod filesystems;
#[doc(hidden)]
pub mod fuzzing;
mod inbox;
mod links;
mod locator;
pub mod loopback;
mod mapped_budget;
mod mapping;
mod message;
mod options;
mod owner;
mod plan;
mod proof;
#[doc(hidden)]
pub mod questioned;
mod reader;
mod refusals;
mod regions;
mod registration_trial;
mod sample;
mod shared;
mod statistics;
mod tags;
mod told;
mod transport;
mod wire;

#[cfg(test)]
mod protocol_tests;

pub use bounce::{BounceCounters, BounceWire, CopyEnd, DeviceCopy, GpuCopies, Slots};
pub use cma::CmaWire;
pub use completions::{Completion, Failure};
pub use message::Block;
pub use options::{TransportOptions, pinnable_bytes};
pub use statistics::Statistic;
pub use transport::{Ended, FetchError, Transport, longest_step};
pub use wire::{DeviceRegion, Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};
