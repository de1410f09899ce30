//! The kernels, compiled for the host, on the simulated driver: frames are those of the CPU's encoder, byte for byte,
//! and the other way round. With the environment variable `SLUICE_TEST_GPU` they run on the machine's GPU instead, as
//! far as they need no simulator, with the kernels that `tools/gpu-kernels` has put into the folder
//! `SLUICE_GPU_KERNELS`.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accelerator;
mod columns;
mod copies;
mod corrupt;
mod decode;
mod device_columns;
mod encode;
mod engine;
mod faults;
mod lz4;
mod many;
mod orders;
mod pairs;
mod recorded;
mod refused;
mod setting;
mod sort;
#[path = "../../../columns/tests/support/mod.rs"]
mod support;
mod tables;
mod vectors;
