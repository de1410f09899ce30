//! What both ends are to do.

use std::time::Duration;

/// What a measurement without an answer waits.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// What both ends are to do.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) sizes: Vec<usize>,
    /// Bytes that are read round and round, if they are more than a block.
    pub(crate) spread: usize,
    pub(crate) window: u32,
    pub(crate) time: Duration,
    pub(crate) repeat: u32,
}

impl Plan {
    /// The partitions of the file for a size.
    pub(crate) fn partitions(&self, size: usize) -> usize {
        self.spread.div_ceil(size).clamp(1, 65_536)
    }
}
