//! The error of decoding.

use std::fmt;

/// The bytes are not a frame that this version can read, or there is no memory to read it. Encoding never fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecError {
    what: String,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Corrupt,
    NotAuthentic,
    NoMemory,
}

impl CodecError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), why: Why::Corrupt }
    }

    pub(crate) fn not_authentic(what: impl Into<String>) -> Self {
        Self { what: what.into(), why: Why::NotAuthentic }
    }

    pub(crate) fn no_memory(bytes: usize) -> Self {
        Self { what: format!("no memory for {bytes} bytes of a frame"), why: Why::NoMemory }
    }

    /// Whether the bytes are a whole sealed frame, but not one that was sealed for where it lies.
    pub fn is_not_authentic(&self) -> bool {
        self.why == Why::NotAuthentic
    }

    /// Whether memory for what the bytes decode to could not be had; they may be right.
    pub fn is_no_memory(&self) -> bool {
        self.why == Why::NoMemory
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for CodecError {}

/// Result of everything that reads untrusted bytes.
pub(crate) type Result<T> = std::result::Result<T, CodecError>;
