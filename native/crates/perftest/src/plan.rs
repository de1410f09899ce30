//! What both ends are to do.

use std::time::Duration;

/// What a measurement without an answer waits.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// Blocks that the transport asks for with one message.
const QUESTION_BLOCKS: u32 = 512;
/// Of the blocks of one request, so that what is left of it when the time is over comes soon.
const REQUEST_BYTES: usize = 64 << 20;

/// How many blocks are under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// So many are asked for with a request, and two requests are open: as callers of the transport do.
    Window(u32),
    /// So many reads are under way over the wire, no more and no fewer, each of a whole block: as the bare library is
    /// asked to do. Two requests of many blocks are open, so that questions cost as little as in a reduce task.
    Gets(u32),
}

impl Load {
    /// The number.
    pub(crate) fn count(self) -> u32 {
        let (Self::Window(count) | Self::Gets(count)) = self;
        count
    }

    /// What the transport is told: `TransportOptions::max_gets`.
    pub(crate) fn max_gets(self) -> Option<usize> {
        match self {
            Self::Window(_) => None,
            Self::Gets(count) => Some(count as usize),
        }
    }

    /// Blocks of each of the two requests.
    pub(crate) fn request_blocks(self, size: usize) -> u32 {
        match self {
            Self::Window(count) => count,
            Self::Gets(count) => {
                u32::try_from(REQUEST_BYTES / size).unwrap_or(QUESTION_BLOCKS).clamp(2 * count, QUESTION_BLOCKS)
            }
        }
    }

    /// This program's option for it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Window(_) => "--window",
            Self::Gets(_) => "--gets",
        }
    }
}

/// What both ends are to do.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) sizes: Vec<usize>,
    /// Bytes that are read round and round, if they are more than a block.
    pub(crate) spread: usize,
    pub(crate) loads: Vec<Load>,
    pub(crate) time: Duration,
    pub(crate) repeat: u32,
}

impl Plan {
    /// The partitions of the file for a size.
    pub(crate) fn partitions(&self, size: usize) -> usize {
        self.spread.div_ceil(size).clamp(1, 65_536)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_the_reads_under_way_and_end_soon() {
        assert_eq!(Load::Window(32).request_blocks(1), 32);
        let blocks = |gets, size| Load::Gets(gets).request_blocks(size);
        assert_eq!([blocks(1, 8 << 10), blocks(8, 64 << 10), blocks(8, 1 << 20)], [512, 512, 64]);
        assert_eq!([blocks(1, 16 << 20), blocks(64, 16 << 20), blocks(1, 1 << 30)], [4, 128, 2]);
        assert_eq!([Load::Window(32).max_gets(), Load::Gets(8).max_gets()], [None, Some(8)]);
    }
}
