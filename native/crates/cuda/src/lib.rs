//! The CUDA driver: the only crate that knows its interface.
//!
//! [`Driver::open`] finds the library at run time, so that one build of Sluice serves machines with and without a GPU,
//! and neither needs CUDA's toolkit or runtime library.
//!
//! ```text
//!   Driver ── Device ── Context ──┬── DeviceMemory, HostRegistration
//!   (library) (facts)  (primary)  ├── Stream: copies, fills, launches, in order ── Event ── Wait
//!                                 └── Module ── Kernel
//! ```
//!
//! # Invariants
//! 1. The context is the device's primary one, which RAPIDS and UCX use too. It is pushed before and popped after each
//!    call, so that a thread's current context is never changed for others.
//! 2. Waits are [`Event::wait`], [`Stream::wait`] and those named `finish`; they poll, have a limit and look at the
//!    task's kill flag. Calls that free device memory or end a registration, a module or the context, which the driver
//!    may let wait, are made by a thread of their own, which is waited for up to a limit. Other calls ask for no wait,
//!    but the driver may make one: a copy of host memory that is not pinned may be done at once, a full queue of
//!    launches takes no more until there is room, and code may be loaded when it is first used.
//! 3. After an error that no later call can survive, and after work that did not end in time, the device is lost for
//!    this process: every call is refused with [`ErrorKind::DeviceLost`] and the driver is not called again for it.
//!    What was allocated is left as it is and counted ([`Statistics`]).
//! 4. Nothing here panics because there is no driver, or another one than expected.
//!
//! # What it does not do
//! A call of the driver that does not return holds up the thread that made it; nothing here can end it. The first call
//! of [`Driver::open`] and [`Device::context`] may take seconds and belong on a thread that nobody waits for.
//! No allocation policy: arenas are above ([`sluice-mem`](../sluice_mem/index.html)'s providers). No management of
//! GPUs: modes, clocks and MIG slices are the administrator's.

mod context;
mod device;
mod error;
mod event;
mod health;
mod image;
mod ipc;
mod library;
mod memory;
mod module;
mod reclaim;
mod registration;
mod stream;
#[expect(missing_docs, reason = "names and meanings are those of cuda.h")]
pub mod sys;
mod wait;

pub use context::Context;
pub use device::{ComputeMode, Device, DeviceFacts};
pub use error::{CudaError, ErrorKind};
pub use event::Event;
pub use health::Statistics;
pub use ipc::{IpcHandle, IpcMemory};
pub use library::{Driver, OLDEST, Version};
pub use memory::{DeviceAddress, DeviceMemory, FreeMemory};
pub use module::{Kernel, Launch, Module};
pub use registration::HostRegistration;
pub use stream::{Stream, StreamId, StreamKind};
pub use wait::{Wait, Waited};
