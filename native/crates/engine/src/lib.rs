//! One map task's output: pages of rows in, encoded runs in arena memory, spill, one partition-major file out.
//!
//! ```text
//! pages ──sort──▶ rows by partition ──codec──▶ Run (frames, partition-major, in leased chunks)
//!   └──────── or an Accelerator, in one ────────▶ │ spill: the run's bytes move to a file
//! MapOutputWriter: runs by sequence ──commit──▶ data file: for each partition, each run's segment in sequence
//! ```
//!
//! Invariants: a partition's records keep the order in which the task produced them (runs carry a sequence number); a
//! failed spill or commit leaves every run where it was; nothing is written twice. Not in this crate: threads (callers
//! use their own), Spark's index and checksum files (Spark writes those).

mod accelerated;
mod accelerator;
mod checksum;
mod encode;
mod encode_needs;
mod error;
mod heap;
mod leased;
mod memory_file;
mod merge;
mod pairs;
mod parts;
mod phase;
mod row_checksums;
mod row_hash;
mod run;
mod sealing;
mod sort;
mod spill;
mod vectored;
mod writer;

pub use accelerator::{Accelerator, AcceleratorBatch, AcceleratorFrame, Declined, NotTaken, TakeFrame};
pub use checksum::ChecksumAlgorithm;
pub use encode_needs::{BatchShape, EncodeNeeds};
pub use error::{EngineError, ErrorKind};
pub use heap::{HeapShare, heap_bytes};
pub use memory_file::MemoryFile;
pub use merge::Committed;
pub use pairs::{Abandoned, PairMemory, PairSort};
pub use row_hash::of_row as row_hash;
pub use sealing::Sealing;
pub use sort::Page;
pub use writer::{FrameInFile, MapOutputWriter};
