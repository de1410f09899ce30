//! A file without a name, in memory: where a committed map output is kept until memory is short.

use std::ffi::{CStr, CString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::error::{EngineError, ErrorKind};
use crate::vectored::{create, remove_partial};

/// How much is moved to the disk at once.
const COPY_BYTES: usize = 1 << 20;

/// Longest name of a memory file (`memfd_create(2)`).
const MAX_NAME_BYTES: usize = 249;

/// Read and write for the owner, nothing for others.
const OWNER_ONLY: u32 = 0o600;

/// A memory file (`memfd_create(2)`), reachable as `/proc/<process>/fd/<descriptor>` while this value lives.
///
/// The descriptor refers to the same bytes all the time: a process that opens that path reads the output's bytes, from
/// memory before [`MemoryFile::move_to`], from the disk afterwards, and from memory again after
/// [`MemoryFile::come_back`]. Any thread may call anything; a move beside another one, in whatever direction, is
/// refused.
#[derive(Debug)]
pub struct MemoryFile {
    file: File,
    /// What `/proc` shows while it is in memory.
    name: CString,
    moving: AtomicBool,
    /// Whether the descriptor refers to a file on the disk.
    on_disk: AtomicBool,
    /// Length of the copy on the disk; set by the first move.
    disk_bytes: AtomicU64,
}

impl MemoryFile {
    /// An empty file, which its owner alone may read and write; `name` is what `/proc` shows.
    ///
    /// # Errors
    /// `Io` when the system gives none: no descriptors left, or it knows no memory files. `Invalid` for a name with a
    /// zero byte or of more than 249 bytes.
    pub fn create(name: &str) -> Result<Self, EngineError> {
        if name.len() > MAX_NAME_BYTES {
            return Err(EngineError::invalid(format!("a memory file's name of {} bytes", name.len())));
        }
        let name = CString::new(name).map_err(|_| EngineError::invalid("a name with a zero byte"))?;
        let file = make(&name)?;
        let (moving, on_disk) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { file, name, moving, on_disk, disk_bytes: AtomicU64::new(0) })
    }

    /// The number under which it is found in `/proc/<process>/fd`.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Fixes its size: processes that have mapped it cannot lose bytes of it. (Sealing its contents too would make the
    /// kernel look at each page, and wait for transfers that hold references to it.)
    ///
    /// # Errors
    /// `Io` when it is not in memory any more.
    pub fn seal(&self) -> Result<(), EngineError> {
        seal(&self.file)
    }

    /// Copies it to a new file at `path`, which takes its place under the descriptor. The memory is free when the last
    /// that has opened or mapped it is done; they see the same bytes until then. Returns how many there are.
    ///
    /// # Errors
    /// `DiskFull`, `DirectoryFailed` or `Io`: it stays in memory, and there is no file. `WrongPhase` while another
    /// thread moves it; nothing was changed.
    pub fn move_to(&self, path: &Path) -> Result<u64, EngineError> {
        let moving = self.begin_move()?;
        let moved = self.copy_to(path).and_then(|bytes| self.become_file(&open(path)?).map(|()| bytes));
        match moved {
            Ok(bytes) => moving.ended(true, bytes),
            Err(_) => remove_partial(path),
        }
        moved
    }

    /// Lets the file at `path`, to which an earlier [`MemoryFile::move_to`] has copied it, take its place again,
    /// without another copy. Returns how many bytes there are.
    ///
    /// # Errors
    /// `DirectoryFailed` or `Io` when there is no such file or it has another length: it stays in memory. `WrongPhase`
    /// while another thread moves it, and when it is not in memory.
    pub fn move_again(&self, path: &Path) -> Result<u64, EngineError> {
        let moving = self.begin_move()?;
        moving.require(false)?;
        let file = open(path)?;
        let bytes = length(&file, path)?;
        self.check_length(bytes)?;
        self.become_file(&file)?;
        moving.ended(true, bytes);
        Ok(bytes)
    }

    /// Copies it from the disk to memory, which takes its place under the descriptor. The file on the disk stays and is
    /// its owner's. Who has opened or mapped that file sees the same bytes there. Returns how many there are.
    ///
    /// # Errors
    /// `Io` when the system gives no memory file or the file on the disk cannot be read or has another length than the
    /// output: it stays on the disk. `WrongPhase` while another thread moves it, and when it is not on the disk.
    pub fn come_back(&self) -> Result<u64, EngineError> {
        let moving = self.begin_move()?;
        moving.require(true)?;
        let mut memory = make(&self.name)?;
        let bytes = copy(|at, buffer| self.file.read_at(buffer, at), &mut memory, Path::new("a memory file"))?;
        self.check_length(bytes)?;
        seal(&memory)?;
        // The page cache would hold the bytes a second time. Advice: what it answers does not matter.
        // SAFETY: a call on a descriptor that this value owns.
        unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        self.become_file(&memory)?;
        moving.ended(false, bytes);
        Ok(bytes)
    }

    /// Only one thread moves it at a time.
    fn begin_move(&self) -> Result<Moving<'_>, EngineError> {
        if self.moving.swap(true, Acquire) {
            return Err(EngineError::new(ErrorKind::WrongPhase, "the memory file is being moved by another thread"));
        }
        Ok(Moving(self))
    }

    fn check_length(&self, bytes: u64) -> Result<(), EngineError> {
        let expected = self.disk_bytes.load(Relaxed);
        if bytes == expected {
            return Ok(());
        }
        let message = format!("the copy of a memory file on the disk has {bytes} bytes, and had {expected}");
        Err(EngineError::new(ErrorKind::Io, message))
    }

    fn copy_to(&self, path: &Path) -> Result<u64, EngineError> {
        copy(|at, buffer| self.file.read_at(buffer, at), &mut create(path)?, path)
    }

    /// Lets `file` take its place under the descriptor, in one step.
    fn become_file(&self, file: &File) -> Result<(), EngineError> {
        // SAFETY: both descriptors are open; the one replaced is this value's, and stays its.
        if unsafe { libc::dup3(file.as_raw_fd(), self.file.as_raw_fd(), libc::O_CLOEXEC) } < 0 {
            return Err(failed("replacing a memory file", &io::Error::last_os_error()));
        }
        Ok(())
    }
}

/// A move under way; others are refused until it is dropped.
struct Moving<'a>(&'a MemoryFile);

impl Moving<'_> {
    /// Refuses to go on unless it is where the move begins.
    fn require(&self, on_disk: bool) -> Result<(), EngineError> {
        if self.0.on_disk.load(Relaxed) == on_disk {
            return Ok(());
        }
        let place = if on_disk { "in memory" } else { "on the disk" };
        Err(EngineError::new(ErrorKind::WrongPhase, format!("the memory file is {place} already")))
    }

    fn ended(&self, on_disk: bool, bytes: u64) {
        self.0.on_disk.store(on_disk, Relaxed);
        self.0.disk_bytes.store(bytes, Relaxed);
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.0.moving.store(false, Release);
    }
}

/// An empty memory file, its owner's only.
fn make(name: &CStr) -> Result<File, EngineError> {
    let descriptor = with_best_flags(|flags| memfd_create(name, flags));
    let file = File::from(descriptor.map_err(|e| failed("making a memory file", &e))?);
    // The system makes it readable for everybody; only the permissions of /proc/<process>/fd keep others out then.
    file.set_permissions(Permissions::from_mode(OWNER_ONLY)).map_err(|e| failed("making a memory file private", &e))?;
    Ok(file)
}

fn seal(file: &File) -> Result<(), EngineError> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a call on a descriptor that is open.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
        return Err(failed("sealing a memory file", &io::Error::last_os_error()));
    }
    Ok(())
}

fn open(path: &Path) -> Result<File, EngineError> {
    File::open(path).map_err(|e| EngineError::writing("opening", path, &e))
}

fn length(file: &File, path: &Path) -> Result<u64, EngineError> {
    Ok(file.metadata().map_err(|e| EngineError::reading("looking at", path, &e))?.len())
}

/// Calls `make` with the flags that a system with `vm.memfd_noexec=2` asks for, and, where the kernel does not know
/// them (before 6.3), without.
fn with_best_flags<T>(make: impl Fn(libc::c_uint) -> io::Result<T>) -> io::Result<T> {
    let known_everywhere = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    match make(known_everywhere | libc::MFD_NOEXEC_SEAL) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => make(known_everywhere),
        answer => answer,
    }
}

/// The system call itself: glibc has a function for it only since 2.27, and the library must load on 2.17.
fn memfd_create(name: &CStr, flags: libc::c_uint) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string that outlives the call.
    let answer = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
    let descriptor = match RawFd::try_from(answer) {
        Ok(descriptor) if descriptor >= 0 => descriptor,
        _ => return Err(io::Error::last_os_error()),
    };
    // SAFETY: the call has just made this descriptor, so no other code closes it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Writes all that `read` gives to `target`, the file at `path`: in as many pieces as it takes, and again where a
/// signal interrupts. Returns how many bytes there were.
fn copy(
    read: impl Fn(u64, &mut [u8]) -> io::Result<usize>,
    target: &mut impl Write,
    path: &Path,
) -> Result<u64, EngineError> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut copied = 0;
    loop {
        match read(copied, &mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(count) => {
                let written = target.write_all(&buffer[..count]);
                written.map_err(|e| EngineError::writing("writing", path, &e))?;
                copied += count as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed("reading a memory file", &e)),
        }
    }
}

fn failed(doing: &str, e: &io::Error) -> EngineError {
    EngineError::new(ErrorKind::Io, format!("{doing}: {e}"))
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
        file.seal().expect("no writer has it open");
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
        assert_eq!(file.move_to(&nowhere).expect_err("no folder").kind, ErrorKind::DirectoryFailed);
        assert_eq!(fs::read(path(&file)).expect("readable"), b"abc");
        file.moving.store(true, Release);
        let there = folder("fails").join("there");
        assert_eq!(file.move_to(&there).expect_err("beside another move").kind, ErrorKind::WrongPhase);
        assert!(!there.exists(), "it is the other move's");
        file.moving.store(false, Release);
        assert!(file.move_to(&there).is_ok());
    }

    #[test]
    fn it_comes_back_and_moves_again_without_a_copy() {
        let bytes: Vec<u8> = (0..2 * COPY_BYTES + 5).map(|i| ((i * 37) >> 3) as u8).collect();
        let (file, folder) = (filled(&bytes), folder("back"));
        let target = folder.join("moved");
        assert_eq!(file.come_back().expect_err("it is in memory").kind, ErrorKind::WrongPhase);
        file.move_to(&target).expect("room");
        assert_eq!(file.move_again(&target).expect_err("it is there already").kind, ErrorKind::WrongPhase);
        let on_disk = File::open(path(&file)).expect("open on the disk");
        assert_eq!(file.come_back().expect("memory"), bytes.len() as u64);
        let shown = fs::read_link(path(&file)).expect("a link of /proc");
        assert!(shown.to_string_lossy().starts_with("/memfd:test"), "{shown:?}");
        assert_eq!((mode(&file), fs::read(path(&file)).expect("readable")), (OWNER_ONLY, bytes.clone()));
        assert!(File::options().write(true).open(path(&file)).and_then(|f| f.set_len(1)).is_err(), "it is sealed");
        let mut last = [0; 8];
        on_disk.read_exact_at(&mut last, bytes.len() as u64 - 8).expect("who has the file open reads on");
        assert_eq!(last[..], bytes[bytes.len() - 8..]);
        assert_eq!(file.move_again(&target).expect("it is still there"), bytes.len() as u64);
        assert_eq!(fs::read_link(path(&file)).expect("a link"), fs::canonicalize(&target).expect("a file"));
        file.come_back().expect("a second time");
        assert_eq!(fs::read(path(&file)).expect("readable"), bytes);
    }

    #[test]
    fn a_copy_that_has_changed_its_length_takes_no_place() {
        let (file, folder) = (filled(b"abcdef"), folder("changed"));
        let target = folder.join("moved");
        file.move_to(&target).expect("room");
        file.come_back().expect("memory");
        fs::write(&target, b"abc").expect("cut");
        assert_eq!(file.move_again(&target).expect_err("too short").kind, ErrorKind::Io);
        assert_eq!(fs::read(path(&file)).expect("in memory"), b"abcdef");
        fs::remove_file(&target).expect("removed");
        assert!(file.move_again(&target).is_err(), "it is gone");
        file.move_to(&target).expect("a new copy");
        fs::write(&target, b"abcdefg").expect("longer");
        assert_eq!(file.come_back().expect_err("too long").kind, ErrorKind::Io);
        assert_eq!(fs::read_link(path(&file)).expect("a link"), fs::canonicalize(&target).expect("on the disk"));
    }

    #[test]
    fn is_made_without_the_right_to_run_it_where_the_kernel_knows_that() {
        let asked = std::cell::RefCell::new(Vec::new());
        let old_kernel = |flags| {
            asked.borrow_mut().push(flags);
            if flags & libc::MFD_NOEXEC_SEAL == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
        };
        with_best_flags(old_kernel).expect("the second try");
        let old_flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        assert_eq!(asked.take(), [old_flags | libc::MFD_NOEXEC_SEAL, old_flags]);
        let no_descriptors = with_best_flags(|_| Err::<(), _>(io::Error::from_raw_os_error(libc::EMFILE)));
        assert_eq!(no_descriptors.expect_err("refused").raw_os_error(), Some(libc::EMFILE));
        let file = filled(b"abc");
        assert_eq!(mode(&file) & 0o111, 0, "{:o}", mode(&file));
    }

    fn mode(file: &MemoryFile) -> u32 {
        file.file.metadata().expect("metadata").permissions().mode() & 0o777
    }

    #[test]
    fn others_may_not_read_it() {
        let file = MemoryFile::create("test").expect("a memory file");
        assert_eq!(mode(&file), OWNER_ONLY, "{:o}", mode(&file));
        let through_path = fs::metadata(path(&file)).expect("metadata").permissions().mode() & 0o777;
        assert_eq!(through_path, OWNER_ONLY, "{through_path:o}");
        fs::write(path(&file), b"abc").expect("its owner writes through the path");
        assert_eq!(mode(&filled(b"abc")), OWNER_ONLY);
    }

    /// Interrupts every other call, and takes a few bytes in the others.
    #[derive(Default)]
    struct Interrupted {
        calls: usize,
        written: Vec<u8>,
    }

    impl Write for Interrupted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = bytes.len().min(1000);
            self.written.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn copies_everything_through_signals_and_partial_reads_and_writes() {
        let bytes: Vec<u8> = (0..50_000u32).map(|i| ((i * 31) >> 3) as u8).collect();
        let reads = std::cell::Cell::new(0);
        let read = |at: u64, buffer: &mut [u8]| {
            reads.set(reads.get() + 1);
            if reads.get() % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let rest = &bytes[at as usize..];
            let count = rest.len().min(7000);
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        };
        let mut target = Interrupted::default();
        assert_eq!(copy(read, &mut target, Path::new("target")), Ok(bytes.len() as u64));
        assert_eq!(target.written, bytes);
        let broken = |_: u64, _: &mut [u8]| Err(io::Error::from_raw_os_error(libc::EIO));
        assert_eq!(copy(broken, &mut target, Path::new("target")).map_err(|e| e.kind), Err(ErrorKind::Io));
    }

    #[test]
    fn a_name_may_be_anything_without_a_zero_byte_up_to_249_bytes() {
        let longest = "n".repeat(249);
        for name in ["", "a/b", "../..", "  ", "\u{1F980}\n\t%s", &longest] {
            let file = MemoryFile::create(name).expect("a good name");
            fs::write(path(&file), name).expect("written");
            assert_eq!(fs::read(path(&file)).expect("read"), name.as_bytes());
        }
        for name in ["a\0b", "\0", &format!("{longest}n")] {
            let kind = MemoryFile::create(name).expect_err("a bad name").kind;
            assert_eq!(kind, ErrorKind::Invalid, "{name:?}");
        }
    }

    #[test]
    fn its_end_frees_the_descriptor() {
        let path = path(&filled(b"abc"));
        // Another test may have taken the number since, but not for these bytes.
        assert!(fs::read(path).map_or(true, |bytes| bytes != b"abc" || bytes.is_empty()));
    }
}
