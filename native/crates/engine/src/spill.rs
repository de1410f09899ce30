//! Runs in a file, until the commit merges them.

use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::EngineError;
use crate::run::{Run, Storage};
use crate::vectored::{MAX_PIECES, create, remove_partial, write_pieces};

/// A spill file, open for reading as long as some run lies in it.
pub(crate) struct SpillFile {
    file: File,
    path: PathBuf,
}

impl SpillFile {
    /// Opens a file that others have written.
    pub(crate) fn open(path: &Path) -> Result<Self, EngineError> {
        let file = File::open(path).map_err(|e| EngineError::reading("opening spill file", path, &e))?;
        Ok(Self { file, path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails unless the file has `bytes`, more than none, from `start` on.
    pub(crate) fn check_holds(&self, start: u64, bytes: u64) -> Result<(), EngineError> {
        let metadata = self.file.metadata();
        let length = metadata.map_err(|e| EngineError::reading("looking at spill file", &self.path, &e))?.len();
        if bytes == 0 || start.checked_add(bytes).is_none_or(|end| end > length) {
            let path = self.path.display();
            return Err(EngineError::invalid(format!("{bytes} bytes from {start} on in {path}, which has {length}")));
        }
        Ok(())
    }

    /// Reads exactly; a short file is an error that names it.
    pub(crate) fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), EngineError> {
        self.file.read_exact_at(into, at).map_err(|e| EngineError::reading("reading spill file", &self.path, &e))
    }
}

/// Writes runs that are in memory to a new file at `path`, one after another, and has them refer to it. Returns the
/// bytes written.
///
/// # Errors
/// `DiskFull`, `DirectoryFailed` or `Io`; the runs are unchanged then, and there is no file.
pub(crate) fn write_spill(runs: &mut [Run], path: &Path) -> Result<u64, EngineError> {
    let file = match write_file(runs, path) {
        Ok(file) => Arc::new(SpillFile { file, path: path.to_owned() }),
        Err(e) => {
            remove_partial(path);
            return Err(e);
        }
    };
    let mut start = 0;
    for run in runs {
        run.storage = Storage::Spilled { file: Arc::clone(&file), start };
        start += run.len();
    }
    Ok(start)
}

fn write_file(runs: &[Run], path: &Path) -> Result<File, EngineError> {
    let file = create(path)?;
    let mut pieces: Vec<IoSlice<'_>> = Vec::with_capacity(MAX_PIECES);
    for run in runs {
        let Storage::Memory(chunks) = &run.storage else { continue };
        for piece in chunks.pieces() {
            pieces.push(IoSlice::new(piece));
            if pieces.len() == MAX_PIECES {
                write_pieces(&file, path, &mut pieces)?;
                pieces.clear();
            }
        }
    }
    write_pieces(&file, path, &mut pieces)?;
    drop(pieces);
    Ok(file)
}
