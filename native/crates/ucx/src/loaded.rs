//! A UCX that is in this process before Sluice opens its own: another library has loaded it, such as an MPI, a
//! Python package or UCX's own binding for Java.
//!
//! Two of them in one process end badly. The loader gives libraries of the same name to whoever asks next, so that the
//! libucp of one would call the libucs of the other; with other names, both replace the process's functions for memory
//! and signals. So Sluice uses the one that is there if it is the one that would be opened anyway, and none otherwise.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as UnixLibrary, RTLD_LAZY};

use crate::library::path_of;

/// Of UCX's libraries. Its modules have an underscore behind these.
const NAMES: [&str; 4] = ["libucp", "libucs", "libuct", "libucm"];

/// What keeps Sluice from opening the library at `place`, a path or a name for the loader: a UCX that is there already,
/// and is another one.
pub(crate) fn another_than(place: &Path) -> Option<String> {
    let files = files_in(&fs::read("/proc/self/maps").unwrap_or_default());
    let found = if files.is_empty() {
        // None by its file's name; it may be a part of another library.
        exporting_library().into_iter().collect()
    } else {
        let is_there = is_path(place).then(|| folder_of(place) == common_folder(&files));
        match is_there {
            Some(true) => return None,
            None if is_loaded(place) && common_folder(&files).is_some() => return None,
            _ => files,
        }
    };
    let files: Vec<String> = found.iter().map(|file: &PathBuf| file.display().to_string()).collect();
    (!files.is_empty()).then(|| {
        format!(
            "this process has a UCX already, which another library has loaded ({}), and two in one process are not \
             safe: have Sluice use that one, if it is recent enough, or run without the other library",
            files.join(", ")
        )
    })
}

/// Whether it is a path, and no name for the loader to look for.
pub(crate) fn is_path(place: &Path) -> bool {
    place.components().count() > 1
}

/// The files of UCX that are mapped, by what `/proc/self/maps` says. A deleted one has ` (deleted)` at its end.
fn files_in(maps: &[u8]) -> BTreeSet<PathBuf> {
    let path = |line: &[u8]| line.iter().position(|byte| *byte == b'/').map(|start| line[start..].to_vec());
    let paths = maps.split(|byte| *byte == b'\n').filter_map(path);
    paths.map(|path| PathBuf::from(OsStr::from_bytes(&path))).filter(|path| is_ucx(path)).collect()
}

/// Whether a file's name is that of a library of UCX, such as `libucp.so.0.0.0`, or `libucp-1a2b3c4d.so.0` as Python
/// packages name it.
fn is_ucx(path: &Path) -> bool {
    let Some(name) = path.file_name().map(OsStr::to_string_lossy) else { return false };
    NAMES
        .iter()
        .filter_map(|known| name.strip_prefix(known))
        .any(|rest| rest.starts_with(".so") || rest.starts_with('-') && rest.contains(".so"))
}

/// The folder that a library really lies in.
fn folder_of(file: &Path) -> Option<PathBuf> {
    fs::canonicalize(file).ok().and_then(|file| file.parent().map(Path::to_path_buf))
}

/// The folder of all of these, if it is one.
fn common_folder(files: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let folder = folder_of(files.first()?)?;
    files.iter().all(|file| folder_of(file).as_ref() == Some(&folder)).then_some(folder)
}

/// Whether the loader would give the one that is there for this name, and load no other.
fn is_loaded(name: &Path) -> bool {
    // SAFETY: with RTLD_NOLOAD nothing is loaded, so no initialiser runs.
    unsafe { UnixLibrary::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) }.is_ok()
}

/// The library that shows UCX's functions to the whole process.
fn exporting_library() -> Option<PathBuf> {
    // SAFETY: only looks the name up.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ucp_get_version".as_ptr()) };
    (!function.is_null()).then(|| path_of(function.cast_const().cast())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_ucx_are_known_by_their_files() {
        let maps = b"7f1c00000000-7f1c00001000 r-xp 00000000 fd:01 131 /opt/a b/libucp.so.0.0.0\n\
            7f1c00001000-7f1c00002000 r--p 00000000 fd:01 131 /opt/a b/libucp.so.0.0.0\n\
            7f1c00002000-7f1c00003000 r-xp 00000000 fd:01 132 /x/libucs-1a2b3c4d.so.0\n\
            7f1c00003000-7f1c00004000 r-xp 00000000 fd:01 133 /tmp/u/libuct.so (deleted)\n\
            7f1c00004000-7f1c00005000 r-xp 00000000 fd:01 134 /x/ucx/libuct_ib.so.0\n\
            7f1c00005000-7f1c00006000 r-xp 00000000 fd:01 135 /x/libucpp.so\n\
            7f1c00006000-7f1c00007000 rw-p 00000000 00:00 0 \n\
            7f1c00007000-7f1c00008000 r--p 00000000 fd:01 136 /x/libucm-notes.txt\n\
            7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0 [vdso]\n";
        let files: Vec<PathBuf> = files_in(maps).into_iter().collect();
        let known = ["/opt/a b/libucp.so.0.0.0", "/tmp/u/libuct.so (deleted)", "/x/libucs-1a2b3c4d.so.0"];
        assert_eq!(files, known.map(PathBuf::from));
        assert_eq!(common_folder(&files_in(maps)), None, "they are not there");
    }

    #[test]
    fn libraries_are_of_one_ucx_if_they_lie_in_one_folder() {
        let folder = std::env::temp_dir().join(format!("sluice-ucx-loaded-{}", std::process::id()));
        let [one, other] = ["one", "other"].map(|name| folder.join(name));
        for folder in [&one, &other] {
            fs::create_dir_all(folder).expect("made");
            fs::write(folder.join("libucp.so.0"), "").expect("written");
        }
        std::os::unix::fs::symlink(&one, folder.join("link")).expect("made");
        let of = |paths: &[PathBuf]| common_folder(&paths.iter().cloned().collect());
        let real = fs::canonicalize(&one).expect("there");
        assert_eq!(of(&[one.join("libucp.so.0")]), Some(real.clone()));
        assert_eq!(of(&[one.join("libucp.so.0"), folder.join("link/libucp.so.0")]), Some(real));
        assert_eq!(of(&[one.join("libucp.so.0"), other.join("libucp.so.0")]), None);
        assert_eq!(of(&[]), None);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_name_for_the_loader_is_no_path() {
        assert!(!is_path(Path::new("libucp.so.0")));
        assert!(is_path(Path::new("/opt/ucx/libucp.so.0")) && is_path(Path::new("ucx/libucp.so.0")));
    }
}
