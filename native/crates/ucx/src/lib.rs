//! UCX as a wire of [`sluice_transport`]: the only crate that knows UCX's interface.
//!
//! [`Ucx::open`] finds the library at run time, so that Sluice needs none to be built or to run without it; [`UcxWire`]
//! is one worker of it. UCX picks the means itself among those that can report a dead peer, RDMA or TCP; `UCX_*`
//! variables steer it as everywhere. Within a machine that would be TCP too, so [`wire`] has reads by system calls
//! before it.

// For what unit tests share with those in `tests/`.
#[cfg(test)]
extern crate self as sluice_ucx;

mod environment;
mod library;
mod loaded;
mod rdma_devices;
mod same_host;
#[expect(missing_docs, reason = "names and meanings are those of ucp.h")]
pub mod sys;
mod wire;

pub use library::{OLDEST, Ucx};
pub use same_host::wire;
pub use wire::{UcxOptions, UcxWire};
