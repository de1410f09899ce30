//! Why there is no lease.

use sluice_mem::MemError;
use std::fmt;

/// A lease that was declined: the caller does its work on the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declined {
    /// No memory within the time that the caller gave.
    Memory(MemError),
    /// The device cannot be used by this process any more.
    DeviceLost,
    /// The task is being killed.
    Killed,
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "no memory of the GPU: {error}"),
            Self::DeviceLost => f.write_str("the GPU was lost"),
            Self::Killed => f.write_str("the task is being killed"),
        }
    }
}

impl std::error::Error for Declined {}
