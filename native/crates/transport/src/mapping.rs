//! Files mapped for reading: every call to the operating system that this crate makes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("sluice-transport maps files with the calls of 64-bit Linux");

/// A part of a file, mapped read-only until this value is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: usize,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` from `offset`, a multiple of the page size.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, or has fewer than `file_bytes` bytes: touching what lies behind a file's
    /// end would kill the process.
    pub(crate) fn of(path: &Path, file_bytes: u64, offset: u64, bytes: usize) -> io::Result<Self> {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        if found < file_bytes || offset + bytes as u64 > file_bytes {
            return Err(io::Error::other(format!("it has {found} bytes, {file_bytes} were published")));
        }
        let (prot, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address the kernel picks replaces no existing one; offset and length are checked.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, file.as_raw_fd(), offset as libc::off_t) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address: start.expose_provenance(), bytes })
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `of` mapped exactly this range, and nothing refers to it: who lends it out unregisters it first.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.address), self.bytes) };
    }
}
