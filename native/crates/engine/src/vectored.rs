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

/// Removes the file at `path` after writing it has failed, so that it takes no room on a disk that may be full. What is
/// no file, such as a device or a pipe, stays. Best effort: the error that matters is that of the write.
pub(crate) fn remove_partial(path: &Path) {
    if path.symlink_metadata().is_ok_and(|found| found.is_file() || found.is_symlink()) {
        let _ = std::fs::remove_file(path);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_file_is_removed_and_a_pipe_is_not() {
        let folder = std::env::temp_dir().join(format!("sluice-partial-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, pipe, link) = (folder.join("file"), folder.join("pipe"), folder.join("link"));
        std::fs::write(&file, b"part").expect("written");
        let name = std::ffi::CString::new(pipe.as_os_str().as_encoded_bytes()).expect("a path");
        // SAFETY: a C string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        std::os::unix::fs::symlink(&pipe, &link).expect("a link");
        [&file, &pipe, &link, &folder, &folder.join("missing")].into_iter().for_each(|path| remove_partial(path));
        assert!(!file.exists() && link.symlink_metadata().is_err(), "a file or link");
        assert!(pipe.exists() && folder.exists(), "a pipe or folder is not what the failed write has made");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
