//! Files mapped to be read: every call to the operating system about files and their memory that this crate makes.
//! How each filesystem's files are mapped: [`crate::filesystems`].

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::filesystems::Verdict;
use crate::mapped_budget::Reservation;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("sluice-transport maps files with the calls of 64-bit Linux");

/// A filesystem, as `st_dev` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Filesystem(pub(crate) u64);

impl Filesystem {
    /// That of a file or directory.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self(std::fs::metadata(path)?.dev()))
    }

    /// Where it is mounted and its type; else its number. Reads a file of `/proc`, for messages.
    pub(crate) fn describe(self) -> String {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let number = format!("filesystem {:#x}", self.0);
        mount_of(&mounts, self.0).map_or(number.clone(), |(point, kind)| format!("{point} ({kind}, {number})"))
    }
}

/// The first mount point of a device, and the filesystem's type, in the text of `/proc/self/mountinfo`.
fn mount_of(mounts: &str, device: u64) -> Option<(&str, &str)> {
    let number = format!("{}:{}", libc::major(device), libc::minor(device));
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(2);
        let (found, point) = (fields.next()?, fields.nth(1)?);
        (found == number).then_some((point, source.split(' ').next()?))
    })
}

/// How a part of a file is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The page cache's pages, for reading.
    ReadOnly,
    /// The page cache's pages, for writing: for devices that want it so. Nothing writes.
    Writable,
    /// Pages of this process: each is copied when it is first touched for writing, as a device that pins it does.
    Copy,
}

/// Mapped pages; dropping this unmaps them.
#[derive(Debug)]
pub(crate) struct Pages {
    address: usize,
    bytes: usize,
}

impl Drop for Pages {
    fn drop(&mut self) {
        unmap(self.address, self.bytes);
    }
}

/// What is to be unmapped by another thread than the agent's, and not registered; dropping it does.
#[derive(Debug, Default)]
pub(crate) struct Discarded {
    pub(crate) mappings: Vec<Arc<Mapping>>,
    /// Of mappings that were made anew in another way.
    pub(crate) pages: Vec<Pages>,
}

impl Discarded {
    pub(crate) fn is_empty(&self) -> bool {
        self.mappings.is_empty() && self.pages.is_empty()
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.mappings.append(&mut other.mappings);
        self.pages.append(&mut other.pages);
    }
}

/// A part of a file, mapped until this value is dropped. No process writes to it.
#[derive(Debug)]
pub(crate) struct Mapping {
    pages: Pages,
    filesystem: Filesystem,
    way: Way,
    /// The file and the part's start in it, as long as it may have to be mapped as a copy.
    untried: Option<(File, u64)>,
    /// Whether this file alone is copied, because it cannot be opened or mapped for writing.
    is_exception: bool,
    /// What the mapping takes of the limits. Given back after it is unmapped (fields drop in their order), or before,
    /// to a mapping that is made after this one was unmapped.
    reservation: Reservation,
}

impl Mapping {
    /// Maps a part of a file, which starts at a multiple of the page size, as `verdict` has it for the file's
    /// filesystem; as a copy, where it is to be writable and this one file cannot be. May wait for a disk.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, lies on a filesystem that is refused, or has fewer than `file_bytes` bytes:
    /// touching what lies behind a file's end would kill the process.
    pub(crate) fn of(
        path: &Path,
        file_bytes: u64,
        part: Range<u64>,
        verdict: impl FnOnce(Filesystem) -> Verdict,
        reservation: Reservation,
    ) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let found = metadata.len();
        if found < file_bytes || part.end > file_bytes || part.is_empty() {
            return Err(io::Error::other(format!("it has {found} bytes, {file_bytes} were published")));
        }
        let filesystem = Filesystem(metadata.dev());
        let (way, is_tried) = match verdict(filesystem) {
            Verdict::Refused => return Err(io::Error::from(io::ErrorKind::Unsupported)),
            Verdict::Chosen(way) => (way, true),
            Verdict::Untried => (Way::Writable, false),
        };
        let bytes = (part.end - part.start) as usize;
        let (mut way, mut is_exception) = (way, false);
        let mut address = None;
        if way == Way::Writable {
            match map_to_write(path, &metadata, part.start, bytes)? {
                Some((writable, mapped)) => (file, address) = (writable, Some(mapped)),
                None => (way, is_exception) = (Way::Copy, true),
            }
        }
        let address = address.map_or_else(|| map(&file, way, part.start, bytes), Ok)?;
        let untried = (!is_tried && !is_exception).then_some((file, part.start));
        Ok(Self { pages: Pages { address, bytes }, filesystem, way, untried, is_exception, reservation })
    }

    /// Maps the same bytes anew as a copy, if this filesystem is untried and they are shared; the pages of before,
    /// which are to be unmapped, if that is so. Where pages are in memory, waits for no disk. The mapping must not be
    /// registered.
    ///
    /// # Errors
    /// It cannot be mapped: nothing has changed.
    pub(crate) fn become_copy(&mut self) -> io::Result<Option<Pages>> {
        self.become_other(Way::Writable, Way::Copy)
    }

    /// Takes [`Mapping::become_copy`] back.
    ///
    /// # Errors
    /// It cannot be mapped: nothing has changed.
    pub(crate) fn become_shared(&mut self) -> io::Result<Option<Pages>> {
        self.become_other(Way::Copy, Way::Writable)
    }

    fn become_other(&mut self, from: Way, to: Way) -> io::Result<Option<Pages>> {
        let Some((file, start)) = self.untried.as_ref().filter(|_| self.way == from) else { return Ok(None) };
        let bytes = self.pages.bytes;
        let address = map(file, to, *start, bytes)?;
        self.way = to;
        Ok(Some(std::mem::replace(&mut self.pages, Pages { address, bytes })))
    }

    /// Gives back what it takes of the limits, though it is still mapped: to a mapping that is made after this one was
    /// unmapped.
    pub(crate) fn give_back_reservation(&self) {
        self.reservation.give_back();
    }

    /// The mapping stays as it is.
    pub(crate) fn keep_way(&mut self) {
        self.untried = None;
    }

    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Whether it is a copy for a reason that holds for this file only: how it is registered says nothing about others.
    pub(crate) fn is_exception(&self) -> bool {
        self.is_exception
    }

    pub(crate) fn address(&self) -> usize {
        self.pages.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pages.bytes
    }

    pub(crate) fn filesystem(&self) -> Filesystem {
        self.filesystem
    }

    /// The start and length of the whole pages around a part of the mapping.
    fn pages(&self, part: &Range<usize>) -> (*mut libc::c_void, usize) {
        let end = part.end.min(self.bytes());
        // The mapping begins at a page, so this is the beginning of one.
        let start = if part.is_empty() { end } else { part.start.min(end) / page_bytes() * page_bytes() };
        (std::ptr::with_exposed_provenance_mut(self.address() + start), end - start)
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

    /// Reads a part into memory, waiting for the disk; of a copy, makes the copy. Where a touch would end the process
    /// (the file was cut short, the disk reports an error) this is an error.
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
        let advice = if self.way == Way::Copy { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
        loop {
            // SAFETY: as above; MADV_POPULATE_READ maps the file's pages, MADV_POPULATE_WRITE copies of them, without
            // changing their bytes, and both report what cannot be read as an error.
            if unsafe { libc::madvise(start, bytes, advice) } == 0 {
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

/// The same file, opened for writing too; none where that is not permitted, or where the path has another file now.
fn open_to_write(path: &Path, metadata: &Metadata) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    let found = file.metadata().ok()?;
    ((found.dev(), found.ino()) == (metadata.dev(), metadata.ino())).then_some(file)
}

/// Opens the same file for writing too and maps a part of it so; none where that is not permitted for this file.
fn map_to_write(path: &Path, metadata: &Metadata, start: u64, bytes: usize) -> io::Result<Option<(File, usize)>> {
    let Some(file) = open_to_write(path, metadata) else { return Ok(None) };
    match map(&file, Way::Writable, start, bytes) {
        Ok(address) => Ok(Some((file, address))),
        // A memory file that is sealed.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

/// Maps `bytes` bytes, at least 1, of a file. They must lie within the file.
fn map(file: &File, way: Way, start: u64, bytes: usize) -> io::Result<usize> {
    let (prot, flags) = match way {
        Way::ReadOnly => (libc::PROT_READ, libc::MAP_SHARED),
        Way::Writable => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED),
        Way::Copy => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE),
    };
    // SAFETY: without MAP_FIXED the kernel picks an address range that is not in use, so no memory of this process
    // changes. `bytes` is not 0, and the file's descriptor is open.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, file.as_raw_fd(), start as libc::off_t) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address.expose_provenance()) }
}

/// Unmaps what `map` has mapped.
fn unmap(address: usize, bytes: usize) {
    #[cfg(test)]
    UNMAPPED.set(UNMAPPED.get() + 1);
    // SAFETY: `map` mapped exactly this range, and its `Pages` unmap it once. No reference into it exists: no code
    // of this process reads mapped bytes. Other processes read them through the wire, and `MappedRegions` unregisters a
    // mapping there before it drops its `Arc`, and none that is mapped anew is registered; disk threads keep theirs for
    // `populate` only.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address), bytes) };
}

#[cfg(test)]
thread_local! {
    /// How often this thread has unmapped something.
    pub(crate) static UNMAPPED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
impl Mapping {
    /// A mapping that counts against no limit.
    pub(crate) fn unlimited(path: &Path, file_bytes: u64, part: Range<u64>, way: Way) -> io::Result<Self> {
        Self::of(path, file_bytes, part, |_| Verdict::Chosen(way), Reservation::unlimited())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(mapping: &Mapping) -> &[u8] {
        let start = std::ptr::with_exposed_provenance::<u8>(mapping.address());
        // SAFETY: mapped as long as `mapping`, and no process writes to it.
        unsafe { std::slice::from_raw_parts(start, mapping.bytes()) }
    }

    #[test]
    fn a_mapping_has_the_files_bytes_in_every_way() {
        let path = std::env::temp_dir().join(format!("sluice-mapping-{}", std::process::id()));
        std::fs::write(&path, [7; 5000]).expect("written");
        for way in [Way::ReadOnly, Way::Writable, Way::Copy] {
            let mapping = Mapping::unlimited(&path, 5000, 4096..5000, way).expect("mapped");
            mapping.populate(&(0..904)).expect("populated");
            assert_eq!((bytes_of(&mapping), mapping.way()), (&[7; 904][..], way));
            let longer = Mapping::unlimited(&path, 5001, 0..100, way);
            assert!(longer.is_err(), "shorter than was published");
        }
        let refused = Mapping::of(&path, 5000, 0..100, |_| Verdict::Refused, Reservation::unlimited());
        assert_eq!(refused.expect_err("refused").kind(), io::ErrorKind::Unsupported);
        std::fs::remove_file(&path).expect("removed");
        assert!(Mapping::unlimited(&path, 5000, 0..100, Way::Writable).is_err());
    }

    #[test]
    fn a_mapping_of_an_untried_filesystem_becomes_a_copy_once() {
        let path = std::env::temp_dir().join(format!("sluice-copy-{}", std::process::id()));
        std::fs::write(&path, [7; 5000]).expect("written");
        let untried = || Mapping::of(&path, 5000, 4096..5000, |_| Verdict::Untried, Reservation::unlimited());
        let mut mapping = untried().expect("mapped");
        assert_eq!(mapping.way(), Way::Writable);
        assert!(mapping.become_copy().expect("mapped").is_some());
        assert_eq!((bytes_of(&mapping), mapping.way()), (&[7; 904][..], Way::Copy));
        mapping.populate(&(0..904)).expect("copied");
        // A file is never written once it was published; this shows which pages are mapped.
        let file = File::options().write(true).open(&path).expect("opened");
        std::os::unix::fs::FileExt::write_all_at(&file, &[8; 5000], 0).expect("written");
        assert_eq!(bytes_of(&mapping), [7; 904], "pages of its own");
        assert!(mapping.become_copy().expect("nothing to do").is_none());
        let mut kept = untried().expect("mapped");
        kept.keep_way();
        assert!(kept.become_copy().expect("nothing to do").is_none());
        assert_eq!((bytes_of(&kept), kept.way()), (&[8; 904][..], Way::Writable));
        std::fs::remove_file(&path).expect("removed");
    }

    /// No process, root included, may write to a program that runs: as a file that is another's, or a process without
    /// descriptors.
    #[test]
    fn a_file_that_cannot_be_opened_for_writing_is_an_exception_and_a_copy() {
        let program = std::env::current_exe().expect("a program");
        let total = program.metadata().expect("there").len();
        for verdict in [Verdict::Untried, Verdict::Chosen(Way::Writable)] {
            let mapping = Mapping::of(&program, total, 0..4096, |_| verdict, Reservation::unlimited());
            let mut mapping = mapping.expect("mapped");
            assert_eq!((mapping.way(), mapping.is_exception()), (Way::Copy, true));
            assert_eq!(bytes_of(&mapping)[..4], *b"\x7fELF");
            assert!(mapping.become_copy().expect("nothing to do").is_none(), "it is one");
        }
    }

    #[test]
    fn a_filesystem_is_described_by_where_it_is_mounted() {
        let mounts = "36 35 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n\
                      40 36 0:33 / /dev/shm rw - tmpfs shm rw\nodd line\n";
        assert_eq!(mount_of(mounts, libc::makedev(8, 2)), Some(("/", "ext4")));
        assert_eq!(mount_of(mounts, libc::makedev(0, 33)), Some(("/dev/shm", "tmpfs")));
        assert_eq!(mount_of(mounts, libc::makedev(0, 34)), None);
        assert_eq!(Filesystem(u64::MAX).describe(), "filesystem 0xffffffffffffffff");
    }

    #[test]
    fn pages_are_resident_once_they_were_populated_and_a_file_cut_short_is_an_error() {
        let path = std::env::temp_dir().join(format!("sluice-populate-{}", std::process::id()));
        let total = 4 << 20;
        std::fs::File::create(&path).expect("created").set_len(total).expect("sparse");
        let mapping = Mapping::unlimited(&path, total, 0..total, Way::ReadOnly).expect("mapped");
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
