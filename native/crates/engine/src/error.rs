//! The one error of the engine: a kind that decides what the caller may do, and a message for people.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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
    /// A system call failed for a reason that another directory would not change.
    Io,
    /// A spill file has other frames than those that were written to it; writing the output again finds them again.
    SpillChanged,
    /// The file system is full; a directory on another one may work.
    DiskFull,
    /// The directory is missing or not writable, or its device fails; another directory may work.
    DirectoryFailed,
}

/// A failure: kind and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError {
    /// Decides what the caller may do.
    pub kind: ErrorKind,
    /// What failed, and where.
    pub message: String,
    /// The directory that could not take a file; with `DiskFull` and `DirectoryFailed` only.
    pub directory: Option<PathBuf>,
}

impl EngineError {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), directory: None }
    }

    /// A bug in the caller.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// A failed system call that makes or writes the file at `path`: mostly its directory's fault.
    pub(crate) fn writing(doing: &str, path: &Path, e: &io::Error) -> Self {
        let kind = kind_of_failed_write(e);
        let directory = path.parent().filter(|_| kind != ErrorKind::Io).map(Path::to_owned);
        Self { directory, ..Self::new(kind, format!("{doing} {}: {e}", path.display())) }
    }

    /// A failed system call that reads the file at `path`, which lies in no other directory.
    pub(crate) fn reading(doing: &str, path: &Path, e: &io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("{doing} {}: {e}", path.display()))
    }
}

/// A write fails because the process lacks something, or because the file system or its device refuses. In the second
/// case (EIO, EROFS, EACCES, ENOENT and the like) another directory may do.
fn kind_of_failed_write(e: &io::Error) -> ErrorKind {
    const NO_FAULT_OF_THE_DIRECTORY: [i32; 6] =
        [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EBADF, libc::EFAULT, libc::EINVAL];
    match e.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => ErrorKind::DiskFull,
        Some(code) if NO_FAULT_OF_THE_DIRECTORY.contains(&code) => ErrorKind::Io,
        _ => ErrorKind::DirectoryFailed,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_names_the_directory_unless_no_other_would_do() {
        let cases = [
            (libc::ENOSPC, ErrorKind::DiskFull),
            (libc::EDQUOT, ErrorKind::DiskFull),
            (libc::EIO, ErrorKind::DirectoryFailed),
            (libc::EROFS, ErrorKind::DirectoryFailed),
            (libc::EACCES, ErrorKind::DirectoryFailed),
            (libc::ENOENT, ErrorKind::DirectoryFailed),
            (libc::EMFILE, ErrorKind::Io),
        ];
        for (code, kind) in cases {
            let error = EngineError::writing("writing", Path::new("/disk/file"), &io::Error::from_raw_os_error(code));
            let directory = (kind != ErrorKind::Io).then(|| PathBuf::from("/disk"));
            assert_eq!((error.kind, error.directory), (kind, directory), "{code}");
            let error = EngineError::reading("reading", Path::new("/disk/file"), &io::Error::from_raw_os_error(code));
            assert_eq!((error.kind, error.directory), (ErrorKind::Io, None), "{code}");
        }
    }
}
