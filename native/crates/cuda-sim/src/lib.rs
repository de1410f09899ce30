//! A CUDA driver without a GPU, for tests: a `libcuda.so.1` whose device is memory of this process.
//!
//! ```text
//!   sluice-cuda ── dlopen ─► driver.rs (cu… functions) ──► Machine ──┬── DeviceMemory: not readable by the host
//!   a test ── Simulator ───► control.rs (sluice_sim_…) ──►    │      ├── Schedule: streams, events, pending work
//!                                                             │      └── Accesses: which work is ordered with which
//!                                                             └── Faults: what the nth call of a function does
//! ```
//!
//! It is unfriendly where a GPU hides mistakes:
//!
//! 1. Work that is put into streams is done when somebody waits for it or asks for it, not before, and in an order that
//!    the seed picks among those that the streams and events allow. So a copy that nobody waited for has not happened.
//! 2. Device memory cannot be read or written by the host (`PROT_NONE`): a process that does so dies. Copies and
//!    kernels reach the same memory by another mapping.
//! 3. Memory is filled with a pattern when it is allocated and when it is freed.
//! 4. The target of a copy to the host has a pattern until the copy is done.
//! 5. Two uses of the same memory, one of them a write, that neither streams nor events nor an observed wait have put
//!    in order are reported, whatever the order in which they were done ([`Simulator::violations`]). So are uses of
//!    memory that is not allocated, second frees and destructions, and what is left when the context is released.
//! 6. The nth call of a function fails, breaks the context for good, loses the device, starts work that never ends, or
//!    blocks; a kernel does nothing ([`Simulator::configure`]).
//!
//! # What it does not do
//! No code for GPUs is run: kernels are functions of the host, which a test registers ([`Kernel`]) or loads as a shared
//! object (`include/sluice_cuda_sim.h`). Times mean nothing.
//! Copies of host memory that is not pinned are as asynchronous as all others, though the driver may make them at once;
//! with `pageable_waits=1` those to the host return when they are done, as the driver's do.
//! Order that threads of the host have among each other is not seen, except that what one thread has seen done is done
//! for all. Accesses of kernels that use addresses as they are (`raw`) are not seen.

mod accesses;
mod checkout;
mod config;
mod control;
mod driver;
mod faults;
mod host_kernels;
mod image;
mod kernel;
mod long_tests;
mod machine;
mod memory;
mod random;
mod schedule;
mod simulator;
mod status;
mod work;

pub use checkout::checkout;
pub use host_kernels::compile_kernels;
pub use kernel::{Kernel, KernelCall};
pub use long_tests::long_tests;
pub use simulator::{Counts, Simulator, Step};
