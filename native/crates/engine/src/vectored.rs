//! Writing many pieces with few system calls.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::Path;

use crate::error::EngineError;

/// Most pieces of one vectored write (Linux takes 1024).
pub(crate) const MAX_PIECES: usize = 1024;

/// A new, empty file at `path`, or the one there, emptied.
pub(crate) fn create(path: &Path) -> Result<File, EngineError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(|e| EngineError::writing("creating", path, &e))
}

/// Writes all bytes of at most [`MAX_PIECES`] pieces to the file, which was opened at `path`.
pub(crate) fn write_pieces(file: &File, path: &Path, pieces: &mut [IoSlice<'_>]) -> Result<(), EngineError> {
    write_all(file, pieces).map_err(|e| EngineError::writing("writing", path, &e))
}

fn write_all(mut file: &File, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !pieces.is_empty() {
        match file.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut pieces, n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
