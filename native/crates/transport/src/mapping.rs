//! Files mapped to be read: every call to the operating system that this crate makes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("sluice-transport maps files with the calls of 64-bit Linux");

/// A part of a file, mapped until this value is dropped. Nobody writes to it.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: usize,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` from `offset`, a multiple of the page size; `writable`, if that is permitted, for devices that want it so.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, or has fewer than `file_bytes` bytes: touching what lies behind a file's
    /// end would kill the process.
    pub(crate) fn of(path: &Path, file_bytes: u64, offset: u64, bytes: usize, writable: bool) -> io::Result<Self> {
        let for_writing = if writable { File::options().read(true).write(true).open(path).ok() } else { None };
        let prot = libc::PROT_READ | if for_writing.is_some() { libc::PROT_WRITE } else { 0 };
        let file = for_writing.map_or_else(|| File::open(path), Ok)?;
        let found = file.metadata()?.len();
        if found < file_bytes || offset + bytes as u64 > file_bytes {
            return Err(io::Error::other(format!("it has {found} bytes, {file_bytes} were published")));
        }
        let flags = libc::MAP_SHARED;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_has_the_files_bytes_writable_or_not() {
        let path = std::env::temp_dir().join(format!("sluice-mapping-{}", std::process::id()));
        std::fs::write(&path, [7; 5000]).expect("written");
        for writable in [false, true] {
            let mapping = Mapping::of(&path, 5000, 4096, 904, writable).expect("mapped");
            let start = std::ptr::with_exposed_provenance::<u8>(mapping.address());
            // SAFETY: mapped, and nobody writes to it.
            assert_eq!(unsafe { std::slice::from_raw_parts(start, mapping.bytes()) }, [7; 904]);
            assert!(Mapping::of(&path, 5001, 0, 100, writable).is_err(), "shorter than was published");
        }
        std::fs::remove_file(&path).expect("removed");
        assert!(Mapping::of(&path, 5000, 0, 100, true).is_err());
    }
}
