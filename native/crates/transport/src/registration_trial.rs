//! Tries at the start how files of the directories of map outputs can be registered, with one small file in each
//! directory: the first reader's question then does not end in an error of the device, and the log says at once what
//! will be done.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::filesystems::Verdict;
use crate::mapping::{Filesystem, Mapping, Way};
use crate::regions::{MappedRegions, SMALL_REGION_BYTES};
use crate::wire::Wire;

/// What came of it, in words for the log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Trials {
    /// By directory: how its files are registered.
    pub(crate) ways: Vec<String>,
    /// What works less well than it could, with its cause; each filesystem's once.
    pub(crate) warnings: Vec<String>,
}

/// Registers a file in each directory as a map output would be, and removes it again; none in directories on
/// filesystems of which is known how files of theirs are registered.
pub(crate) fn try_directories<W: Wire>(wire: &mut W, regions: &mut MappedRegions, directories: &[PathBuf]) -> Trials {
    let mut trials = Trials::default();
    for (number, directory) in directories.iter().enumerate() {
        let way = if let Some(way) = known_way(regions, directory) {
            way
        } else {
            let file = directory.join(format!(".sluice-registration-{}-{number}", std::process::id()));
            match map_new_file(regions, &file) {
                Ok(mapping) => regions.try_registration(wire, mapping, Instant::now()).ok(),
                Err(error) => {
                    let place = directory.display();
                    trials.warnings.push(format!("no file in {place} could be tried to be registered: {error}"));
                    continue;
                }
            }
        };
        let said = match way {
            Some(Way::Copy) => "copies in memory",
            Some(Way::Writable | Way::ReadOnly) => "page cache",
            None => "not at all, blocks travel by Netty",
        };
        trials.ways.push(format!("{}: {said}", directory.display()));
        trials.warnings.extend(regions.filesystems_mut().take_untold());
    }
    trials
}

/// How files of a directory's filesystem are registered, if that is known; within, none where they cannot be.
fn known_way(regions: &MappedRegions, directory: &Path) -> Option<Option<Way>> {
    match regions.filesystems().verdict(Filesystem::of(directory).ok()?, Instant::now()) {
        Verdict::Untried => None,
        Verdict::Chosen(way) => Some(Some(way)),
        Verdict::Refused => Some(None),
    }
}

/// Makes a file, maps it and removes its name.
fn map_new_file(regions: &MappedRegions, path: &Path) -> io::Result<Mapping> {
    let bytes = [1; SMALL_REGION_BYTES as usize];
    let mapped = File::create_new(path).and_then(|mut file| file.write_all(&bytes)).and_then(|()| {
        let reservation = regions.budget().reserve(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        let verdict = |filesystem| regions.filesystems().verdict(filesystem, Instant::now());
        let mapping = Mapping::of(path, SMALL_REGION_BYTES, 0..SMALL_REGION_BYTES, verdict, reservation)?;
        mapping.populate(&(0..bytes.len()))?;
        Ok(mapping)
    });
    // Where it could not be made, there is nothing to remove, or another's file.
    match mapped {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        mapped => {
            let _ = std::fs::remove_file(path);
            mapped
        }
    }
}
