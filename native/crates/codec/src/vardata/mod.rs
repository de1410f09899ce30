//! Var data: the bytes of one variable-length field, or of the rows' tails, of all rows of a frame.
//!
//! ```text
//! var data = mode · body
//! WORDS 0: for each k in 0..longest slot / 8: column of word k of every slot that has one
//! TRIM  1: the values' bytes, one after another; the padding of each slot is zero
//! FULL  2: the slots' bytes, padding and all
//! a mode's high 4 bits are the general codec; if not 0: compressed length (u32) · compressed bytes
//! ```
//!
//! A field's *slot* is the space that its value takes in a row, a multiple of 8 bytes; a tail's slot is the tail, of
//! any length. [`encode`] chooses the mode, [`compressed`] whether to compress; [`decode`] puts the bytes into the
//! rows.

mod compressed;
mod decode;
mod encode;

pub(crate) use decode::{TargetSlot, VarDecoder};
pub(crate) use encode::{Slot, Values, VarEncoder};

const WORDS: u8 = 0;
const TRIM: u8 = 1;
const FULL: u8 = 2;

/// Slots no longer than this many words are stored as columns of words.
const MAX_WORDS: usize = 4;
