//! The kernels, compiled for the host, on the simulated driver: frames are those of the CPU's encoder, byte for byte,
//! and the other way round.

#![expect(clippy::unwrap_used, reason = "tests")]

mod columns;
mod corrupt;
mod decode;
mod encode;
mod faults;
mod orders;
mod setting;
mod sort;
mod tables;
mod vectors;
