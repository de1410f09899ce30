//! The error of everything here: what is wrong, and where.

use std::fmt;

/// What an error means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller's or a producer's arrays, schemas or arguments contradict themselves or each other.
    Invalid,
    /// They are right, but there is no way for them here: the rows must go another way.
    Unsupported,
    /// The arrays are right, but one of their values is none that a row of Spark's can hold.
    Value,
    /// A producer said that it failed.
    Producer,
    /// Bytes are no frames, or their rows are none of the schema.
    Corrupt,
    /// Memory could not be had.
    NoMemory,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnError {
    /// What it means for the caller.
    pub kind: ErrorKind,
    what: String,
}

impl ColumnError {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into() }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, what)
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, what)
    }

    pub(crate) fn value(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, what)
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, what)
    }

    /// The same error, of kind `to` if it is of kind `from`.
    pub(crate) fn instead(mut self, from: ErrorKind, to: ErrorKind) -> Self {
        if self.kind == from {
            self.kind = to;
        }
        self
    }

    /// The same error, with the place where it was found before it.
    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.what = format!("{place}: {}", self.what);
        self
    }
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for ColumnError {}

pub(crate) type Result<T> = std::result::Result<T, ColumnError>;
