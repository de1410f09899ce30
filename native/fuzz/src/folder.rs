//! A folder for the files of one input.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new, empty folder, removed with what is in it when this value is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// A folder of this process and of no other value.
    pub fn new(target: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sluice-fuzz-{target}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: an input that fails must say why, and not that its folder was left.
        let _ = fs::remove_dir_all(&self.0);
    }
}
