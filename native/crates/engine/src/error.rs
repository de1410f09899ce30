//! The one error of the engine: a reason that decides what the caller may do, and a message for people.

use std::fmt;
use std::path::Path;

/// What kind of failure it is; the numbers are those of `NativeCore` in the JVM half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Reason {
    /// The arena's limit is reached.
    NoMemory = -1,
    /// Bytes that should be a frame are not one.
    Corrupt = -2,
    /// A system call failed.
    Io = -3,
    /// The handle was closed or never existed.
    StaleHandle = -4,
    /// An argument is out of range.
    Invalid = -5,
    /// The core panicked.
    Panic = -6,
    /// This directory is full or not writable; another may do.
    DiskFull = -7,
    /// There is no usable UCX in this process.
    Unavailable = -8,
    /// The peer has no such map output.
    NotFound = -9,
    /// The peer, or the way to it, has failed.
    Peer = -10,
    /// The peer has not answered in time.
    Timeout = -11,
}

/// A failure: reason and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError {
    /// Decides what the caller may do.
    pub reason: Reason,
    /// What failed, and where.
    pub message: String,
}

impl EngineError {
    /// An error of this reason.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// A bug in the caller.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message)
    }

    /// A failed system call on `path`.
    pub fn io(doing: &str, path: &Path, e: &std::io::Error) -> Self {
        let elsewhere =
            [libc::ENOSPC, libc::EDQUOT, libc::EROFS, libc::EACCES, libc::EPERM, libc::ENOENT, libc::ENOTDIR];
        let full = e.raw_os_error().is_some_and(|code| elsewhere.contains(&code));
        let reason = if full { Reason::DiskFull } else { Reason::Io };
        Self::new(reason, format!("{doing} {}: {e}", path.display()))
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.reason, self.message)
    }
}

impl std::error::Error for EngineError {}

impl From<sluice_mem::MemError> for EngineError {
    fn from(e: sluice_mem::MemError) -> Self {
        let reason = match e {
            sluice_mem::MemError::OutOfMemory { .. } => Reason::NoMemory,
            sluice_mem::MemError::NotLeased { .. } => Reason::Invalid,
        };
        Self::new(reason, e.to_string())
    }
}
