//! The errors of a lease or a release.

use std::fmt;

/// Why the arena refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemError {
    /// No memory for this request now. Temporary: a release elsewhere or a higher limit can make it succeed.
    ///
    /// When `leased + requested` is within `limit` it was the provider (the system) that refused.
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes leased when the request was refused, rounding included.
        leased: usize,
        /// The arena's limit in bytes.
        limit: usize,
    },
    /// The address is not the start of a live lease of this arena. Nothing was changed.
    NotLeased {
        /// The address as it was given.
        address: usize,
    },
}

impl fmt::Display for MemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { requested, leased, limit } => {
                write!(f, "no arena memory for {requested} bytes: {leased} bytes are leased, the limit is {limit}")
            }
            Self::NotLeased { address } => {
                write!(f, "address {address:#x} is not the start of a live arena lease")
            }
        }
    }
}

impl std::error::Error for MemError {}
