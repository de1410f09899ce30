//! Files mapped to be read: every call to the operating system about files and their memory that this crate makes.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use crate::mapped_budget::Reservation;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("sluice-transport maps files with the calls of 64-bit Linux");

/// A filesystem, as `st_dev` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Filesystem(pub(crate) u64);

/// A part of a file, mapped until this value is dropped. No process writes to it.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: usize,
    bytes: usize,
    filesystem: Filesystem,
    /// What the mapping takes of the limits; given back after it is unmapped (fields drop after `drop`).
    _reservation: Reservation,
}

impl Mapping {
    /// Maps `bytes` from `offset`, a multiple of the page size; `writable`, if that is permitted, for devices that want
    /// it so. May wait for a disk.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, lies on a filesystem for which `refuses` is true, or has fewer than
    /// `file_bytes` bytes: touching what lies behind a file's end would kill the process.
    pub(crate) fn of(
        path: &Path,
        file_bytes: u64,
        part: Range<u64>,
        writable: bool,
        refuses: impl FnOnce(Filesystem) -> bool,
        reservation: Reservation,
    ) -> io::Result<Self> {
        let for_writing = if writable { File::options().read(true).write(true).open(path).ok() } else { None };
        let prot = libc::PROT_READ | if for_writing.is_some() { libc::PROT_WRITE } else { 0 };
        let file = for_writing.map_or_else(|| File::open(path), Ok)?;
        let metadata = file.metadata()?;
        let found = metadata.len();
        if found < file_bytes || part.end > file_bytes || part.is_empty() {
            return Err(io::Error::other(format!("it has {found} bytes, {file_bytes} were published")));
        }
        let filesystem = Filesystem(metadata.dev());
        if refuses(filesystem) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let bytes = (part.end - part.start) as usize;
        let (flags, fd, offset) = (libc::MAP_SHARED, file.as_raw_fd(), part.start as libc::off_t);
        // SAFETY: without MAP_FIXED the kernel picks an address range that is not in use, so no memory of this process
        // changes. `bytes` is not 0, and the part ends within the file, whose descriptor is open.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address: start.expose_provenance(), bytes, filesystem, _reservation: reservation })
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn filesystem(&self) -> Filesystem {
        self.filesystem
    }

    /// The start and length of the whole pages around a part of the mapping.
    fn pages(&self, part: &Range<usize>) -> (*mut libc::c_void, usize) {
        let end = part.end.min(self.bytes);
        // The mapping begins at a page, so this is the beginning of one.
        let start = if part.is_empty() { end } else { part.start.min(end) / page_bytes() * page_bytes() };
        (std::ptr::with_exposed_provenance_mut(self.address + start), end - start)
    }

    /// Whether all pages of a part are in memory now, so that touching them waits for no disk. Does not wait itself.
    /// The kernel may drop pages later: then touching them does wait.
    pub(crate) fn is_resident(&self, part: &Range<usize>) -> bool {
        let (start, bytes) = self.pages(part);
        if bytes == 0 {
            return true;
        }
        let mut pages = vec![0u8; bytes.div_ceil(page_bytes())];
        // SAFETY: `pages` gives whole pages within this mapping, and the vector has one byte for each of them, which is
        // what mincore writes.
        let failed = unsafe { libc::mincore(start, bytes, pages.as_mut_ptr()) } != 0;
        !failed && pages.iter().all(|page| page & 1 == 1)
    }

    /// Reads a part into memory, waiting for the disk. Where a touch would end the process (the file was cut short, the
    /// disk reports an error) this is an error.
    ///
    /// # Errors
    /// Some of it cannot be read.
    pub(crate) fn populate(&self, part: &Range<usize>) -> io::Result<()> {
        let (start, bytes) = self.pages(part);
        if bytes == 0 {
            return Ok(());
        }
        // Begins to read all of it: populating alone would read no further ahead than single page faults do.
        // SAFETY: `pages` gives whole pages within this mapping; MADV_WILLNEED only starts reads into the page cache.
        unsafe { libc::madvise(start, bytes, libc::MADV_WILLNEED) };
        loop {
            // SAFETY: as above; MADV_POPULATE_READ maps the file's pages and reports what cannot be read as an error.
            if unsafe { libc::madvise(start, bytes, libc::MADV_POPULATE_READ) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // A kernel before 5.14 does not know it. The reads have begun, which is all that can be had there.
                Some(libc::EINVAL) => return Ok(()),
                _ => return Err(error),
            }
        }
    }
}

/// The size of the system's pages.
fn page_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    // SAFETY: sysconf takes no pointer and changes nothing.
    *BYTES.get_or_init(|| usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `of` mapped exactly this range, and only this value unmaps it. No reference into it exists: no code
        // of this process reads mapped bytes. Other processes read them through the wire, and `MappedRegions`
        // unregisters a mapping there before it drops its `Arc`; disk threads keep theirs for `populate` only.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.address), self.bytes) };
    }
}

#[cfg(test)]
impl Mapping {
    /// A mapping that counts against no limit.
    pub(crate) fn unlimited(path: &Path, file_bytes: u64, part: Range<u64>, writable: bool) -> io::Result<Self> {
        Self::of(path, file_bytes, part, writable, |_| false, Reservation::unlimited())
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
            let mapping = Mapping::unlimited(&path, 5000, 4096..5000, writable).expect("mapped");
            let start = std::ptr::with_exposed_provenance::<u8>(mapping.address());
            // SAFETY: mapped, and no process writes to it.
            assert_eq!(unsafe { std::slice::from_raw_parts(start, mapping.bytes()) }, [7; 904]);
            let longer = Mapping::unlimited(&path, 5001, 0..100, writable);
            assert!(longer.is_err(), "shorter than was published");
        }
        let refused = Mapping::of(&path, 5000, 0..100, false, |_| true, Reservation::unlimited());
        assert_eq!(refused.expect_err("refused").kind(), io::ErrorKind::Unsupported);
        std::fs::remove_file(&path).expect("removed");
        assert!(Mapping::unlimited(&path, 5000, 0..100, true).is_err());
    }

    #[test]
    fn pages_are_resident_once_they_were_populated_and_a_file_cut_short_is_an_error() {
        let path = std::env::temp_dir().join(format!("sluice-populate-{}", std::process::id()));
        let total = 4 << 20;
        std::fs::File::create(&path).expect("created").set_len(total).expect("sparse");
        let mapping = Mapping::unlimited(&path, total, 0..total, false).expect("mapped");
        let part = 1_000_000..2_000_001;
        assert!(!mapping.is_resident(&part), "a hole that was not read");
        mapping.populate(&part).expect("populated");
        assert!(mapping.is_resident(&part));
        assert!(!mapping.is_resident(&(0..total as usize)), "the rest was not read");
        assert!(mapping.is_resident(&(5..5)) && mapping.populate(&(5..5)).is_ok());
        std::fs::File::options().write(true).open(&path).expect("opened").set_len(1 << 20).expect("cut");
        let populated = mapping.populate(&part);
        // A kernel before 5.14 says nothing.
        assert!(populated.is_err() || !mapping.is_resident(&part));
        std::fs::remove_file(&path).expect("removed");
    }
}
