//! Memory files: any name, any content, read through `/proc` and through a link as other processes of the host do,
//! before and after moves to a disk and back.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sluice_engine::{ErrorKind, MemoryFile};

use crate::Choices;
use crate::folder::Folder;

/// The longest name that `memfd_create(2)` takes.
const MAX_NAME_BYTES: usize = 249;

/// Where a memory file of this process can be opened.
pub fn path_of(file: &MemoryFile) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.descriptor()))
}

/// Makes a memory file and does with it what the choices say; panics unless it has the name and the bytes that it was
/// given at every step.
pub fn run(data: &[u8]) {
    let mut c = Choices::new(data);
    let name = name(&mut c);
    let created = MemoryFile::create(&name);
    if name.len() > MAX_NAME_BYTES || name.contains('\0') {
        return assert_eq!(created.map_err(|e| e.kind).err(), Some(ErrorKind::Invalid), "{name:?}");
    }
    let file = created.unwrap_or_else(|e| panic!("{name:?}: {}", e.message));
    let shown = fs::read_link(path_of(&file)).expect("a link of /proc").into_os_string().into_vec();
    assert_eq!(shown, format!("/memfd:{name} (deleted)").into_bytes(), "what /proc shows");
    let content: Vec<u8> = (0..c.below(3_000)).map(|i| (i as u8).wrapping_mul(c.byte() | 1)).collect();
    fs::write(path_of(&file), &content).expect("written through its path");
    let folder = Folder::new("memory-file");
    let link = folder.path().join("link");
    symlink(path_of(&file), &link).expect("a link");
    let mut opened_in_memory = File::open(&link).expect("opened through the link");
    let mut steps = Steps { file, link, content, sealed: false, moved: false, copy: None };
    for _ in 0..c.below(8) {
        steps.step(&mut c, folder.path());
    }
    let mut bytes = Vec::new();
    opened_in_memory.read_to_end(&mut bytes).expect("read from memory");
    assert_eq!(bytes, steps.content, "what was opened before a move keeps its bytes");
}

/// A memory file and what is known of it.
struct Steps {
    file: MemoryFile,
    link: PathBuf,
    content: Vec<u8>,
    sealed: bool,
    moved: bool,
    /// The file that it was moved to last.
    copy: Option<PathBuf>,
}

impl Steps {
    fn step(&mut self, c: &mut Choices<'_>, folder: &Path) {
        match c.below(6) {
            0 => {
                let sealed = self.file.seal();
                assert_eq!(sealed.is_ok(), !self.moved && !self.sealed, "{sealed:?}");
                self.sealed |= !self.moved;
            }
            1 if self.sealed && !self.moved => {
                let opened = File::options().write(true).open(&self.link).expect("opened through the link");
                let other = self.content.len() as u64 + 1 + c.below(9) as u64;
                assert!(opened.set_len(other).is_err(), "a sealed file has grown");
                assert!(self.content.is_empty() || opened.set_len(0).is_err(), "a sealed file was cut");
            }
            2 => self.move_to(&folder.join("missing").join("file"), Some(ErrorKind::DirectoryFailed)),
            3 => {
                let came = self.file.come_back();
                assert_eq!(came.as_ref().ok(), self.moved.then_some(&(self.content.len() as u64)), "{came:?}");
                // What comes back is sealed.
                self.sealed |= self.moved;
                self.moved = false;
            }
            4 => {
                if let Some(copy) = &self.copy {
                    let again = self.file.move_again(copy);
                    assert_eq!(again.is_ok(), !self.moved, "{again:?}");
                    self.moved = true;
                }
            }
            _ => {
                let target = folder.join(file_name(c));
                self.move_to(&target, None);
            }
        }
        let bytes = fs::read(&self.link).expect("read through the link");
        assert_eq!(bytes, self.content, "sealed: {}, moved: {}", self.sealed, self.moved);
    }

    fn move_to(&mut self, target: &Path, expected: Option<ErrorKind>) {
        if self.moved {
            return;
        }
        match (self.file.move_to(target), expected) {
            (Ok(bytes), None) => {
                self.moved = true;
                self.copy = Some(target.to_path_buf());
                assert_eq!(bytes, self.content.len() as u64);
                assert_eq!(fs::read_link(path_of(&self.file)).expect("a link of /proc").as_path(), target);
            }
            (Err(e), Some(kind)) => assert_eq!(e.kind, kind, "{}", e.message),
            (outcome, expected) => panic!("moved to {target:?}: {outcome:?}, expected {expected:?}"),
        }
    }
}

/// A name as Java gives one: UTF-8, perhaps with what means something in paths and formats, perhaps too long.
fn name(c: &mut Choices<'_>) -> String {
    let parts = ["sluice-", "/", "..", " (deleted)", "\n", "%s", "\u{1F980}", "7", "\0"];
    let mut name = String::new();
    for _ in 0..c.below(12) {
        name.push_str(parts[c.below(parts.len())]);
    }
    if c.one_in(6) {
        name.extend(std::iter::repeat_n('n', c.pick(&[230, 248, 249, 250, 300])));
    }
    // Around the limit, whatever the parts have come to.
    if c.one_in(3) {
        let longest = c.pick(&[248, 249, 250]);
        while name.len() < longest {
            name.push('m');
        }
    }
    name
}

/// The name of a file: bytes without `/` and zero.
fn file_name(c: &mut Choices<'_>) -> PathBuf {
    let bytes: Vec<u8> = (0..1 + c.below(40)).map(|_| c.byte()).filter(|byte| *byte != b'/' && *byte != 0).collect();
    let name = [b"moved-".as_slice(), &bytes].concat();
    PathBuf::from(std::ffi::OsStr::from_bytes(&name))
}
