//! Columns in the device's memory, by Arrow's C Device Data Interface, to frames there and back, without rows and
//! without the host.
//!
//! ```text
//! ArrowDeviceArray ─► measure ─► sort by partition ─► cut ─► gather ─► predict ─► vars, columns ─► frames
//! frames ─► decode to words ─► measure values ─► places ─► columns ─► ArrowDeviceArray
//! ```
//!
//! The kernels between are those of rows in pages; only what reads a row's bytes reads the columns instead. A row's
//! bytes lie nowhere on the way to frames; on the way back, values of variable length lie where their row would have
//! them, and nothing else of it.

mod decode;
mod encode;
mod frames;
mod self_test;

pub use decode::{FramesIn, decode_columns};
pub use encode::{PartitionedColumns, encode_columns};
pub use frames::{DeviceFrame, DeviceFrames};
pub(crate) use self_test::columns_pass;
