//! A UCX that is too old is refused, and the message says which one it is and where. The old one is a library made here
//! that has nothing but its version. In processes of their own, because what has been loaded stays.

use std::path::{Path, PathBuf};
use std::process::Command;

use sluice_ucx::Ucx;

const SOURCE: &str = "void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{ *major = 1; *minor = 13; *release = 1; }
";

/// A folder with the old library. It goes with this value.
struct Folder(PathBuf);

impl Folder {
    /// None without a C compiler.
    fn make(name: &str) -> Option<Self> {
        let folder = Self(std::env::temp_dir().join(format!("sluice-old-ucx-{}-{name}", std::process::id())));
        std::fs::create_dir_all(&folder.0).expect("made");
        let source = folder.0.join("version.c");
        std::fs::write(&source, SOURCE).expect("written");
        let mut compiler = Command::new("cc");
        match compiler.args(["-shared", "-fPIC", "-o"]).args([&folder.library(), &source]).status() {
            Ok(status) => assert!(status.success(), "cc: {status}"),
            Err(why) => {
                eprintln!("skipped: {name}: no C compiler (cc): {why}");
                return None;
            }
        }
        Some(folder)
    }

    fn library(&self) -> PathBuf {
        self.0.join("libucp.so.0")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn assert_names_version_and(file: &Path, message: &str) {
    let wanted = format!("tried {}: it is UCX 1.13.1;", file.display());
    assert!(message.contains(&wanted) && message.contains("1.14 or later"), "{message}");
}

#[test]
fn the_configured_library_is_refused_by_version_and_place() {
    let Some(folder) = Folder::make("the_configured_library_is_refused_by_version_and_place") else { return };
    for configured in [&folder.0, &folder.library()] {
        let refused = Ucx::open(Some(configured), None).err().expect("too old");
        assert_names_version_and(&folder.library(), &refused.to_string());
    }
}

#[test]
#[ignore = "the other process of the test below"]
fn opens_the_systems_library() {
    let Some(bundled) = std::env::var_os("SLUICE_UCX_LIBRARY") else { return };
    println!("{}", Ucx::open(None, Some(Path::new(&bundled))).err().expect("too old"));
}

#[test]
fn the_systems_library_is_refused_with_its_file_and_no_other_is_loaded() {
    let Some(folder) = Folder::make("the_systems_library_is_refused_with_its_file_and_no_other_is_loaded") else {
        return;
    };
    let bundled = std::env::var_os("SLUICE_UCX_LIBRARY").unwrap_or_else(|| "/nowhere".into());
    let mut process = Command::new(std::env::current_exe().expect("this program"));
    process.args(["opens_the_systems_library", "--exact", "--ignored", "--nocapture"]);
    process.env("LD_LIBRARY_PATH", &folder.0).env("SLUICE_UCX_LIBRARY", &bundled);
    let output = process.output().expect("started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert_names_version_and(&folder.library(), &said);
    assert!(!said.contains(&*bundled.to_string_lossy()), "nothing was tried after it: {said}");
}
