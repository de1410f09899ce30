//! The error of decoding.

use std::fmt;

/// The bytes are not a frame that this version can read. Encoding never fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecError {
    what: String,
    not_authentic: bool,
}

impl CodecError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), not_authentic: false }
    }

    pub(crate) fn not_authentic(what: impl Into<String>) -> Self {
        Self { what: what.into(), not_authentic: true }
    }

    /// Whether the bytes are a whole sealed frame, but not one that was sealed for where it lies.
    pub fn is_not_authentic(&self) -> bool {
        self.not_authentic
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
