//! The block format on a GPU: map batches to frames, frames to rows, and sorts of pairs.
//!
//! ```text
//!  pages ─copy─► entries ─► sort by partition ─► cut ─► gather ─► predict ─► vars, columns ─► layout ─► frames ─copy─►
//!  frames ─copy─► decode, a block a frame ─► rows ─copy─►        pairs ─copy─► radix sort ─► pairs ─copy─►
//! ```
//!
//! The kernels are C++ (`kernels/`), one source for two compilers: NVIDIA's, which `./sluice build` has as a library
//! (`tools/gpu-kernels`), and the host's, for tests on the simulated driver, where each thread of a block is a fiber.
//!
//! [`GpuAccelerator`] is what tasks know of it: a [`Policy`] says which batches and which sorts it takes, and each has
//! a buffer of pinned memory, through which frames come to the host, and pairs go and come. [`DeviceCopies`] keeps
//! copies of committed map outputs on the device.
//!
//! # Invariants
//! 1. The frames are those of `sluice-codec`'s encoder, byte for byte: its choices are part of the block format
//!    (`docs/block-format.md`, "The reference encoder").
//! 2. A GPU never judges what is corrupt: whatever fails a check is [`Declined`], and the CPU does it again.
//! 3. All memory of the device is one lease for each call, and is freed in the order of the stream. Calls for columns,
//!    which learn only halfway how much they need, have two or three; for the last one they do not wait.
//! 4. What a call copies to the host goes to a buffer, pinned or not, that is kept when the device is lost, because the
//!    device may still write to it. A wait that fails loses the device.
//! 5. Waits have a limit, and [`GpuAccelerator`] watches the calls between them: a driver that does not return holds up
//!    the threads that are in its calls, and no others.
//!
//! # What it does not do
//! Nothing of a Spark application decodes here yet. LZ4 is made on the device; for Zstandard and Snappy the
//! calling thread makes the frames at which the encoder would ask them, and frames that were compressed by any of the
//! three are declined when they are to be decoded.

mod accelerator;
mod columns;
mod copies;
mod counts;
mod crc_tables;
mod declined;
mod decode;
mod driver_calls;
mod encode;
mod encode_job;
mod encode_scratch;
mod engine;
mod images;
mod kernels;
mod lanes;
mod measured;
mod policy;
mod radix;
mod resident;
mod sample;
mod scratch;
mod self_test;
mod sort;
mod staging;
mod submit;
mod watch;

pub use accelerator::{GpuAccelerator, GpuOptions, Pages};
pub use columns::{DeviceFrame, DeviceFrames, FramesIn, PartitionedColumns, decode_columns, encode_columns};
pub use copies::{
    CopyCounts, CopyEvent, CopyKey, CopyState, DeviceCopies, HostCopy, HostOutput, Located, Miss, NotAllowed, NotKept,
    PinnedCopy, Tier, are_frames,
};
pub use counts::Counts;
pub use declined::Declined;
pub use decode::decode;
pub use encode::{Batch, EncodedBatch, EncodedFrame, RowHashes, encode};
pub use engine::GpuEngine;
pub use images::image_for;
pub use kernels::Kernels;
pub use measured::MeasuredKernels;
pub use policy::{Kind, Policy, Use};
pub use resident::{ResidentBatch, ResidentFrames, ResidentPairs};
pub use self_test::self_test;
pub use sort::{PinnedPairs, sort_pairs};
