//! A file without a name, in memory: where a committed map output is kept until memory is short.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::commit::create;
use crate::error::{EngineError, Reason};

/// How much is moved to the disk at once.
const COPY_BYTES: usize = 1 << 20;

/// A memory file (`memfd_create(2)`), reachable as `/proc/<process>/fd/<descriptor>` while this value lives.
///
/// The descriptor's number stands for the same bytes all the time, wherever they are: who opens that path finds the
/// output in memory before [`MemoryFile::move_to`] and on the disk afterwards, and nothing else in between. Any thread may
/// call anything; two moves at once are the caller's mistake.
#[derive(Debug)]
pub struct MemoryFile {
    file: File,
}

impl MemoryFile {
    /// An empty file; `name` is for people who look at `/proc`.
    ///
    /// # Errors
    /// `Io` when the system gives none: no descriptors left, or it knows no memory files.
    pub fn create(name: &str) -> Result<Self, EngineError> {
        let name = CString::new(name).map_err(|_| EngineError::invalid("a name with a zero byte"))?;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // The system call itself: glibc has a function for it only since 2.27, and the library must load on 2.17.
        // SAFETY: the name is a C string that outlives the call.
        let answer = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
        let descriptor = match RawFd::try_from(answer) {
            Ok(descriptor) if descriptor >= 0 => descriptor,
            _ => return Err(failed("making a memory file", &io::Error::last_os_error())),
        };
        // SAFETY: a fresh descriptor that nobody else knows.
        Ok(Self { file: File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }) })
    }

    /// The number under which it is found in `/proc/<process>/fd`.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Keeps its size as it is, for good: whoever has mapped it cannot lose bytes of it. (Sealing its contents too would make
    /// the kernel look at each page, and wait for whoever has it in hand.)
    ///
    /// # Errors
    /// `Io` when it is not in memory any more.
    pub fn seal(&self) -> Result<(), EngineError> {
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: a call on a descriptor that this value owns.
        if unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
            return Err(failed("sealing a memory file", &io::Error::last_os_error()));
        }
        Ok(())
    }

    /// Copies it to a new file at `path`, which takes its place under the descriptor. The memory is free when the last
    /// that has opened or mapped it is done; they see the same bytes until then. Returns how many there are.
    ///
    /// # Errors
    /// `DiskFull` or `Io`; then it stays in memory, and there is no file.
    pub fn move_to(&self, path: &Path) -> Result<u64, EngineError> {
        let moved = self.copy_to(path).and_then(|bytes| self.become_file(path).map(|()| bytes));
        if moved.is_err() {
            // Best effort: the error that matters is the one being returned.
            let _ = std::fs::remove_file(path);
        }
        moved
    }

    fn copy_to(&self, path: &Path) -> Result<u64, EngineError> {
        let mut target = create(path)?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut copied = 0;
        loop {
            let read = self.file.read_at(&mut buffer, copied);
            let read = read.map_err(|e| failed("reading a memory file", &e))?;
            if read == 0 {
                return Ok(copied);
            }
            target.write_all(&buffer[..read]).map_err(|e| EngineError::io("writing", path, &e))?;
            copied += read as u64;
        }
    }

    fn become_file(&self, path: &Path) -> Result<(), EngineError> {
        let file = File::open(path).map_err(|e| EngineError::io("opening", path, &e))?;
        // SAFETY: both descriptors are open; the one replaced is this value's, and stays its.
        if unsafe { libc::dup3(file.as_raw_fd(), self.file.as_raw_fd(), libc::O_CLOEXEC) } < 0 {
            return Err(failed("replacing a memory file", &io::Error::last_os_error()));
        }
        Ok(())
    }
}

fn failed(doing: &str, e: &io::Error) -> EngineError {
    EngineError::new(Reason::Io, format!("{doing}: {e}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn path(file: &MemoryFile) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.descriptor()))
    }

    fn filled(bytes: &[u8]) -> MemoryFile {
        let file = MemoryFile::create("test").expect("a memory file");
        fs::write(path(&file), bytes).expect("written through its path");
        file.seal().expect("nobody writes");
        file
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sluice-memory-file-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn the_path_gives_the_same_bytes_before_and_after_the_move() {
        let bytes: Vec<u8> = (0..3 * COPY_BYTES + 17).map(|i| ((i * 31) >> 3) as u8).collect();
        let file = filled(&bytes);
        let early = File::open(path(&file)).expect("open in memory");
        let target = folder("move").join("moved");
        assert_eq!(file.move_to(&target).expect("room"), bytes.len() as u64);
        assert_eq!(fs::read(path(&file)).expect("through the path"), bytes);
        assert_eq!(fs::canonicalize(path(&file)).expect("a file"), fs::canonicalize(&target).expect("a file"));
        let mut first = [0; 64];
        early.read_exact_at(&mut first, COPY_BYTES as u64).expect("still there");
        assert_eq!(first[..], bytes[COPY_BYTES..COPY_BYTES + 64]);
    }

    #[test]
    fn a_sealed_file_keeps_its_size() {
        let file = filled(b"abc");
        assert!(fs::write(path(&file), b"x").is_err(), "it would be cut first");
        assert!(File::options().write(true).open(path(&file)).and_then(|f| f.set_len(1)).is_err());
        assert_eq!(fs::read(path(&file)).expect("readable"), b"abc");
    }

    #[test]
    fn a_move_that_fails_leaves_it_in_memory() {
        let file = filled(b"abc");
        let nowhere = folder("fails").join("missing").join("file");
        assert_eq!(file.move_to(&nowhere).expect_err("no folder").reason, Reason::DiskFull);
        assert_eq!(fs::read(path(&file)).expect("readable"), b"abc");
        assert!(file.move_to(&folder("fails").join("there")).is_ok());
    }

    #[test]
    fn its_end_frees_the_descriptor() {
        let path = path(&filled(b"abc"));
        // Another test may have taken the number since, but not for these bytes.
        assert!(fs::read(path).map_or(true, |bytes| bytes != b"abc" || bytes.is_empty()));
    }
}
