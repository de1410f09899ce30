//! The rows' *tails*: what a row has behind the last slot that the predictor knows of ([`crate::layout`]).
//!
//! ```text
//! tails = 0 (no row has one) | 1 · column of their lengths · var data in which each row's slot is its tail
//! ```

use crate::bytes::Input;
use crate::column::{self, ColumnEncoder};
use crate::error::{CodecError, Result};
use crate::kernels::Kernels;
use crate::options::CodecOptions;
use crate::portions::Portions;
use crate::scratch::at_least;
use crate::vardata::VarEncoder;

/// Appends the tails: of row `i`, `sizes[i]` bytes from `ends[i]` on.
pub(crate) fn encode(
    rows: &Portions,
    ends: &[u64],
    sizes: &[u64],
    options: &CodecOptions,
    columns: &mut ColumnEncoder,
    var: &mut VarEncoder,
    out: &mut Vec<u8>,
) {
    if sizes.iter().all(|s| *s == 0) {
        out.push(0);
        return;
    }
    out.push(1);
    columns.encode(sizes, out);
    var.encode_tails(rows, ends, sizes, options, out);
}

/// Reads the lengths of `rows` tails; leaves `lengths` empty if no row has one. Their bytes follow in `input`.
pub(crate) fn read_lengths(k: &Kernels, input: &mut Input<'_>, rows: usize, lengths: &mut Vec<u64>) -> Result<()> {
    lengths.clear();
    match input.u8("tail flag")? {
        0 => Ok(()),
        1 => {
            at_least(lengths, rows.next_multiple_of(8));
            column::decode(k, input, rows, lengths)?;
            lengths.truncate(rows);
            Ok(())
        }
        flag => Err(CodecError::new(format!("tail flag {flag}"))),
    }
}
