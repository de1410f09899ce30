//! What an encoder is asked to make.

use crate::compress::Codec;

/// How hard to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Rows verbatim.
    Plain,
    /// By column; the general codec only where it removes a quarter or more of the first 16 KiB.
    Fast,
    /// By column; the general codec where it removes a sixteenth or more of the first 16 KiB.
    Small,
}

/// What an encoder makes.
#[derive(Debug, Clone, Copy)]
pub struct CodecOptions {
    /// The general codec for long byte columns.
    pub codec: Codec,
    /// How hard to compress.
    pub level: Level,
}
