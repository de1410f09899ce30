//! A UCX that another library has loaded into the process before Sluice opens one. In processes of their own, because
//! what has been loaded stays. The other UCX is a copy of the real one in another folder, or a library made here that
//! has nothing but UCX's version.

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sluice_ucx::Ucx;

const SOURCE: &str = "void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{ *major = 1; *minor = 17; *release = 0; }
";
/// Who loads what, for the other process.
const LOADED: &str = "SLUICE_TEST_LOADED";
const GLOBAL: &str = "SLUICE_TEST_GLOBAL";
const CONFIGURED: &str = "SLUICE_TEST_CONFIGURED";
const NEEDED_FIRST: [&str; 4] = ["libucm.so.0", "libucs.so.0", "libuct.so.0", "libucp.so.0"];

/// Goes with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("sluice-second-ucx-{}-{name}", std::process::id())));
        fs::create_dir_all(&folder.0).expect("made");
        folder
    }

    /// A library that has UCX's function of its version; `None` without a C compiler.
    fn compile(&self, name: &str) -> Option<PathBuf> {
        let (source, library) = (self.0.join("version.c"), self.0.join(name));
        fs::write(&source, SOURCE).expect("written");
        let mut compiler = Command::new("cc");
        let soname = format!("-Wl,-soname,{name}");
        match compiler.args(["-shared", "-fPIC", &soname, "-o"]).args([&library, &source]).status() {
            Ok(status) => assert!(status.success(), "cc: {status}"),
            Err(why) => {
                eprintln!("skipped: no C compiler (cc): {why}");
                return None;
            }
        }
        Some(library)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The folder of the real UCX; `None` when there is none to test with.
fn real() -> Option<PathBuf> {
    let Some(real) = std::env::var_os("SLUICE_UCX_LIBRARY").map(PathBuf::from) else {
        eprintln!("skipped: SLUICE_UCX_LIBRARY names no UCX");
        return None;
    };
    Some(if real.is_dir() { real } else { real.parent().expect("a folder").to_path_buf() })
}

/// A copy of it.
fn copy_of(real: &Path, folder: &Folder) {
    for name in NEEDED_FIRST {
        fs::copy(real.join(name), folder.0.join(name)).expect("copied");
    }
}

#[test]
#[ignore = "the other process of the tests below"]
fn opens_a_ucx_after_another_library_has_loaded_one() {
    let Some(loaded) = std::env::var_os(LOADED) else { return };
    let scope = if std::env::var_os(GLOBAL).is_some() { libc::RTLD_GLOBAL } else { libc::RTLD_LOCAL };
    let mut files = vec![PathBuf::from(&loaded)];
    if files[0].is_dir() {
        files = NEEDED_FIRST.map(|name| files[0].join(name)).to_vec();
    }
    for file in files {
        let name = CString::new(file.as_os_str().as_bytes()).expect("no 0 in it");
        // SAFETY: loads UCX, whose initialisers may run at any time, or a library that has none; nobody unloads it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | scope) };
        assert!(!handle.is_null(), "{}", file.display());
    }
    let configured = std::env::var_os(CONFIGURED).map(PathBuf::from);
    match Ucx::open(configured.as_deref(), None) {
        Ok(ucx) => println!("opened {}", ucx.describe()),
        Err(why) => println!("refused: {why}"),
    }
}

/// What becomes of opening `configured` where `loaded` was loaded before: a folder's libraries, or one file.
fn opened(loaded: &Path, configured: Option<&Path>, global: bool, path: Option<&OsStr>) -> String {
    let mut process = Command::new(std::env::current_exe().expect("this program"));
    process.args(["opens_a_ucx_after_another_library_has_loaded_one", "--exact", "--ignored", "--nocapture"]);
    process.env(LOADED, loaded).env_remove(CONFIGURED).env_remove(GLOBAL).env_remove("LD_LIBRARY_PATH");
    process.envs(configured.map(|configured| (CONFIGURED, configured)));
    process.envs(global.then_some((GLOBAL, "1"))).envs(path.map(|path| ("LD_LIBRARY_PATH", path)));
    let output = process.output().expect("started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn assert_refused_for(file: &Path, said: &str) {
    assert!(said.contains("refused: this process has a UCX already, which another library has loaded ("), "{said}");
    assert!(said.contains(&*file.to_string_lossy()), "{}: {said}", file.display());
    assert!(said.contains("have Sluice use that one"), "{said}");
}

#[test]
fn a_real_ucx_of_another_folder_is_noticed_and_no_second_one_is_loaded() {
    let Some(real) = real() else { return };
    let folder = Folder::new("copy");
    copy_of(&real, &folder);
    for global in [true, false] {
        assert_refused_for(&folder.0.join("libucp.so.0"), &opened(&folder.0, Some(&real), global, None));
    }
    // A part of one is enough.
    assert_refused_for(&folder.0.join("libucm.so.0"), &opened(&folder.0.join("libucm.so.0"), Some(&real), false, None));
}

#[test]
fn the_ucx_that_another_library_has_loaded_is_used_if_it_is_the_same() {
    let Some(real) = real() else { return };
    let library = fs::canonicalize(real.join("libucp.so.0")).expect("there");
    let folder = Folder::new("link");
    let link = folder.0.join("ucx");
    std::os::unix::fs::symlink(&real, &link).expect("made");
    for configured in [&real, &real.join("libucp.so.0"), &link] {
        let said = opened(&real, Some(configured), false, None);
        assert!(said.contains("opened UCX 1."), "{}: {said}", configured.display());
    }
    // By its name the loader gives the one that is there, whatever else it would find.
    let copy = Folder::new("elsewhere");
    copy_of(&real, &copy);
    let said = opened(&real, None, false, Some(copy.0.as_os_str()));
    assert!(said.contains("opened UCX 1.") && said.contains(&*library.to_string_lossy()), "{said}");
}

#[test]
fn a_ucx_by_another_name_or_within_another_library_is_noticed() {
    let Some(real) = real() else { return };
    let folder = Folder::new("names");
    let Some(renamed) = folder.compile("libucp-1a2b3c4d.so.0") else { return };
    for configured in [Some(&*real), None] {
        let said = opened(&renamed, configured, false, Some(real.as_os_str()));
        assert_refused_for(&renamed, &said);
    }
    let within = folder.compile("libneighbour.so").expect("compiled before");
    assert_refused_for(&within, &opened(&within, Some(&real), true, None));
}
