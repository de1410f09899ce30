//! Columns to frames and back, and the partitions of rows in columns: the shuffle for engines whose batches are
//! columns.
//!
//! Batches come and go by Arrow's C Data Interface ([`ffi`]), without a copy and without an Arrow library:
//!
//! ```text
//! ArrowArray + Schema ─▶ Batch ─┬─▶ partition ─▶ ids ─┐
//!   (checked, released once)    └─────────────────────┴─▶ ColumnEncoder ─▶ frames
//! frames + Schema ─▶ ColumnDecoder ─▶ ArrowArray
//! ```
//!
//! Where frames are made of pages of rows, as in a map task of Spark, [`PageFiller`] copies a batch's rows into them.
//!
//! The frames are those of the same rows as `UnsafeRow`s, byte for byte, and partitions are those that Spark gives such
//! rows. So one stage of a shuffle may write columns and the next read rows, and the other way round. [`Type`] says
//! which Spark type an Arrow type stands for.
//!
//! Invariants: what can be checked of a batch is checked when it is imported ([`Batch::import`]), with real branches,
//! and nothing later reads outside the buffers that it was found to have; a producer's release callback is called
//! exactly once, whatever happens ([`owned`]). Not here: nested types (their rows go as
//! [`UnsafeRows`], which the engine makes), threads, files.

mod batch;
mod bits;
mod buffer;
mod builder;
mod column;
mod decode;
mod device;
mod dictionary;
mod encode;
mod error;
mod export;
pub mod ffi;
mod format;
mod hash;
mod huge_pages;
mod import;
mod order;
mod owned;
mod pages;
pub mod partition;
mod partitioned;
mod room;
mod rows;
mod schema;
mod separate;
mod sizes;
mod stream;
mod units;
mod unsafe_rows;

pub use batch::Batch;
pub use decode::ColumnDecoder;
pub use device::{DEVICE_CUDA, DEVICE_CUDA_MANAGED, DeviceBatch, DeviceColumn, DeviceTarget};
pub use encode::ColumnEncoder;
pub use error::{ColumnError, ErrorKind};
pub use format::{Layout, Type, Unit};
pub use order::SortKey;
pub use owned::{OwnedArray, OwnedSchema, OwnedStream};
pub use pages::{PageFiller, PageRows};
pub use rows::RowId;
pub use schema::{Field, Schema};
pub use separate::Formats;
pub use stream::BatchStream;
pub use unsafe_rows::{FrameExtent, UnsafeRows};
