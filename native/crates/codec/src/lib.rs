//! The block format: SQL rows to self-contained frames, and back, bit for bit.
//!
//! A *block* (the bytes of one map output for one reduce partition) is a concatenation of *frames*; so
//! concatenated blocks are a block. `docs/block-format.md` specifies every byte; this is the picture:
//!
//! ```text
//! frame   = header (32 bytes, own CRC) · payload (its CRC is in the header)
//! payload = field kinds · word or size column[W] · tails · var data[per var column]   (columnar)
//!         | row lengths · rows                                                      (plain)
//! ```
//!
//! With `spark.io.encryption.enabled` frames are sealed ([`Sealer`], [`FrameKey`]).
//!
//! An `UnsafeRow` is a null bitset, one 8-byte word per field, then a variable region. Each of the `W`
//! word positions is a column of u64 ([`column`]). Words that say where a variable-length value lies are
//! recognised, verified and replaced by sizes ([`layout`]); the values themselves are stored by column
//! ([`vardata`]). The schema is never needed, and a wrong guess costs ratio, never correctness.
//!
//! Invariants: whatever the bytes are, decoding them neither panics nor touches anything outside the slices given to
//! it; every kernel ([`kernels`]) gives the same bytes on every instruction set; scratch memory is bounded
//! ([`scratch`]); nothing here allocates block memory or does I/O.
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("the block format is little-endian and the kernels assume 64-bit words");

mod bitpack;
mod bytes;
mod column;
mod columns;
mod compress;
mod decode;
mod decode_columns;
mod encode;
mod error;
pub mod header;
mod kernels;
mod layout;
mod options;
mod portions;
mod scratch;
mod seal;
mod tails;
mod vardata;

pub use columns::{ColumnRows, Slots};
pub use compress::Codec;
pub use decode::Decoder;
pub use decode_columns::{DecodedColumns, Value};
pub use encode::{Encoder, FrameSink};
pub use error::CodecError;
pub use header::{FrameHeader, HEADER_BYTES, MAX_FIELDS, MAX_RECORDS};
pub use kernels::Kernels;
pub use layout::bitset_words;
pub use options::{CodecOptions, Level};
pub use scratch::RETAINED_LIMIT;
pub use seal::{END_MARK_BYTES, EndMark, EndMarkKey, FrameKey, OutputId, SEAL_BYTES, Seal, Sealer, SealsDigest};
