//! What a failed call returns: a negative number by which Java decides what to do, and a message for people.

use std::path::PathBuf;

use sluice_codec::CodecError;
use sluice_columns::ColumnError;
use sluice_engine::{EngineError, ErrorKind};
use sluice_mem::MemError;

/// Why a call failed; the numbers are those of `NativeCore` and `NativeTransport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Reason {
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
    /// The file system is full; a directory on another one may work.
    DiskFull = -7,
    /// There is no usable UCX in this process.
    Unavailable = -8,
    /// The peer has no such map output.
    NotFound = -9,
    /// The peer, or the way to it, has failed.
    Peer = -10,
    /// The peer has not answered in time.
    Timeout = -11,
    /// The map output's writer cannot take this call now, or ever again.
    WrongPhase = -12,
    /// The directory is missing or not writable, or its device fails; another directory may work.
    DirectoryFailed = -13,
    /// The peer has reached a limit of its own, or its disk does not answer in time.
    Busy = -14,
    /// A sealed frame is not the one that was sealed for where it lies, or that was written to a spill file.
    NotAuthentic = -15,
    /// Columns or values for which there is no way here: their rows must go another way.
    Unsupported = -16,
    /// The GPU does not make the CPU's bytes.
    SelfTest = -17,
}

/// A failed call: reason and message, and with `DiskFull` and `DirectoryFailed` the directory concerned.
#[derive(Debug)]
pub(crate) struct CallError {
    pub(crate) reason: Reason,
    pub(crate) message: String,
    pub(crate) directory: Option<PathBuf>,
}

impl CallError {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), directory: None }
    }

    /// A bug in the caller.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message)
    }
}

impl From<EngineError> for CallError {
    fn from(e: EngineError) -> Self {
        let reason = match e.kind {
            ErrorKind::NoMemory => Reason::NoMemory,
            ErrorKind::Invalid => Reason::Invalid,
            ErrorKind::Io => Reason::Io,
            ErrorKind::SpillChanged => Reason::NotAuthentic,
            ErrorKind::DiskFull => Reason::DiskFull,
            ErrorKind::DirectoryFailed => Reason::DirectoryFailed,
            ErrorKind::WrongPhase => Reason::WrongPhase,
            ErrorKind::Closed => Reason::StaleHandle,
        };
        Self { reason, message: e.message, directory: e.directory }
    }
}

impl From<MemError> for CallError {
    fn from(e: MemError) -> Self {
        EngineError::from(e).into()
    }
}

impl From<CodecError> for CallError {
    fn from(e: CodecError) -> Self {
        Self::new(if e.is_not_authentic() { Reason::NotAuthentic } else { Reason::Corrupt }, e.to_string())
    }
}

impl From<ColumnError> for CallError {
    fn from(e: ColumnError) -> Self {
        let reason = match e.kind {
            sluice_columns::ErrorKind::Invalid | sluice_columns::ErrorKind::Producer => Reason::Invalid,
            // Rows may have the value in another form: what Spark makes of it is Spark's to say.
            sluice_columns::ErrorKind::Unsupported | sluice_columns::ErrorKind::Value => Reason::Unsupported,
            sluice_columns::ErrorKind::Corrupt => Reason::Corrupt,
            sluice_columns::ErrorKind::NoMemory => Reason::NoMemory,
        };
        Self::new(reason, e.to_string())
    }
}

/// A failed call into the JVM itself.
impl From<jni::errors::Error> for CallError {
    fn from(e: jni::errors::Error) -> Self {
        Self::invalid(format!("reading an argument: {e}"))
    }
}
