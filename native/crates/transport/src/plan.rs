//! Splits the ranges of a block into the reads that fetch it, in order, none longer than [`GET_BYTES`].

use std::collections::VecDeque;
use std::rc::Rc;

use crate::completions::Failure;
use crate::message::{Found, Missing, Range};
use crate::told::{Charge, ToldKey};

/// A larger range is read in pieces of this many bytes, so that within a machine two threads can read different pieces
/// at the same time. Over a network one piece takes 40 us at 100 Gbit/s. Measurements can have it in one
/// ([`TransportOptions::max_gets`](crate::TransportOptions)).
pub(crate) const GET_BYTES: usize = 512 << 10;

/// A range of a block that waits to be read.
pub(crate) struct Planned {
    pub(crate) batch: u64,
    pub(crate) part: usize,
    key: Rc<ToldKey>,
    remote: u64,
    /// Where it goes in the block's memory.
    offset: usize,
    bytes: usize,
    _kept: Charge,
}

/// One read of a range.
pub(crate) struct Piece {
    pub(crate) key: Rc<ToldKey>,
    pub(crate) remote: u64,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl Planned {
    /// Takes the next read off the range's front, of at most so many bytes.
    pub(crate) fn cut(&mut self, most: usize) -> Piece {
        let bytes = self.bytes.min(most);
        let piece = Piece { key: Rc::clone(&self.key), remote: self.remote, offset: self.offset, bytes };
        self.remote = self.remote.wrapping_add(bytes as u64);
        self.offset += bytes;
        self.bytes -= bytes;
        piece
    }

    /// Whether all of it has been cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.bytes == 0
    }
}

/// Appends the ranges of a block to `planned`; the block's bytes, 0 for one that has none.
///
/// # Errors
/// There is no such block, or no memory could hold it. Nothing was appended.
pub(crate) fn plan(
    found: &Found,
    keys: &[Rc<ToldKey>],
    batch: u64,
    part: usize,
    planned: &mut VecDeque<Planned>,
) -> Result<usize, Failure> {
    let ranges = found.as_deref().map_err(|missing| match missing {
        Missing::NotFound => Failure::NotFound,
        Missing::Busy => Failure::Busy,
    })?;
    let total = ranges.iter().try_fold(0usize, |sum, range| sum.checked_add(usize::try_from(range.bytes).ok()?));
    let total = total.ok_or(Failure::NoMemory)?;
    let mut offset = 0;
    for Range { key, address, bytes } in ranges.iter().filter(|range| range.bytes > 0) {
        let (key, bytes) = (Rc::clone(&keys[usize::from(*key)]), *bytes as usize);
        let _kept = key.told().charge(size_of::<Planned>());
        planned.push_back(Planned { batch, part, key, remote: *address, offset, bytes, _kept });
        offset += bytes;
    }
    Ok(total)
}
