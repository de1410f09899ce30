//! The one error of the engine: a kind that decides what the caller may do, and a message for people.

use std::fmt;
use std::path::Path;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arena's limit is reached.
    NoMemory,
    /// An argument is out of range.
    Invalid,
    /// The map output was closed.
    Closed,
    /// The map output cannot take this call now, or ever again; nothing was changed.
    WrongPhase,
    /// A system call failed.
    Io,
    /// This directory is full or not writable; another may do.
    DiskFull,
}

/// A failure: kind and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError {
    /// Decides what the caller may do.
    pub kind: ErrorKind,
    /// What failed, and where.
    pub message: String,
}

impl EngineError {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A bug in the caller.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// A failed system call on `path`.
    pub fn io(doing: &str, path: &Path, e: &std::io::Error) -> Self {
        let elsewhere =
            [libc::ENOSPC, libc::EDQUOT, libc::EROFS, libc::EACCES, libc::EPERM, libc::ENOENT, libc::ENOTDIR];
        let full = e.raw_os_error().is_some_and(|code| elsewhere.contains(&code));
        let kind = if full { ErrorKind::DiskFull } else { ErrorKind::Io };
        Self::new(kind, format!("{doing} {}: {e}", path.display()))
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for EngineError {}

impl From<sluice_mem::MemError> for EngineError {
    fn from(e: sluice_mem::MemError) -> Self {
        let kind = match e {
            sluice_mem::MemError::OutOfMemory { .. } => ErrorKind::NoMemory,
            sluice_mem::MemError::NotLeased { .. } => ErrorKind::Invalid,
        };
        Self::new(kind, e.to_string())
    }
}
