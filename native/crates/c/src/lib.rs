//! The C interface: `include/sluice.h` says what each function does, who owns what, and which threads may call.
//!
//! Nothing is decided here. Each function checks its pointers, calls [`sluice_columns`] or [`sluice_gpu_engine`], and
//! makes a number of the result; all are entered through one guard, so that no panic leaves them. Handles are boxes
//! whose addresses the caller holds: a wrong one cannot be noticed, as in any C library.
//!
//! Names and numbers are an ABI: they are not changed, only added to; a test compares them with the header.

mod calls;
mod gpu;
mod guard;
mod handles;

pub use calls::*;
pub use gpu::*;
