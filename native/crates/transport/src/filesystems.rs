//! How files of each filesystem are registered: found out by trying once, and remembered.
//!
//! UCX's drivers of RDMA devices register memory for writing by the device, even where Sluice asks for reading only.
//! Whether the kernel pins pages of a mapped file for that depends on kernel and filesystem: those of tmpfs and of
//! memory files always; those of ext4, xfs and other filesystems of disks no longer since Linux 6.5 (`EFAULT`, unless
//! the device pages on demand). A private mapping can be registered everywhere, and is a copy in memory.
//!
//! Filesystems whose files cannot be registered in any way are left alone for a while, so that not every question about
//! them maps files, unmaps idle regions and fails again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::mapping::{Filesystem, Way};
use crate::wire::WireError;

/// For so long after a failed registration, no other file of the same filesystem is registered.
pub(crate) const REGISTRATION_RETRY: Duration = Duration::from_secs(60);

/// What is known of a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No file of it was registered yet. Map it so that it can be mapped again as a copy.
    Untried,
    /// Its files are registered in this way.
    Chosen(Way),
    /// Its files are left alone now.
    Refused,
}

/// The verdicts at one moment, for a thread that maps files.
#[derive(Debug, Clone)]
pub(crate) struct Verdicts {
    unknown: Verdict,
    known: Vec<(Filesystem, Verdict)>,
}

impl Verdicts {
    pub(crate) fn of(&self, filesystem: Filesystem) -> Verdict {
        let known = self.known.iter().find(|(known, _)| *known == filesystem);
        known.map_or(self.unknown, |(_, verdict)| *verdict)
    }

    /// Every file is mapped in this way.
    #[cfg(test)]
    pub(crate) fn always(way: Way) -> Self {
        Self { unknown: Verdict::Chosen(way), known: Vec::new() }
    }
}

#[derive(Debug, Default)]
struct Known {
    way: Option<Way>,
    /// Until when its files are left alone.
    refused_until: Option<Instant>,
}

/// What is known of all filesystems.
#[derive(Debug)]
pub(crate) struct Filesystems {
    /// Whether registering may pin memory for writing, so that it must be found out how; otherwise all files are mapped
    /// for reading.
    pins: bool,
    known: HashMap<Filesystem, Known>,
    failures: u64,
    /// Whether the log was told that memory is short.
    is_shortage_told: bool,
    /// What the log is to say and was not told yet: of each filesystem its first copy and its first failure.
    untold: Vec<String>,
}

impl Filesystems {
    pub(crate) fn new(pins: bool) -> Self {
        Self { pins, known: HashMap::new(), failures: 0, is_shortage_told: false, untold: Vec::new() }
    }

    pub(crate) fn verdict(&self, filesystem: Filesystem, now: Instant) -> Verdict {
        match self.known.get(&filesystem) {
            Some(Known { refused_until: Some(until), .. }) if now < *until => Verdict::Refused,
            Some(Known { way: Some(way), .. }) => Verdict::Chosen(*way),
            _ => self.unknown(),
        }
    }

    fn unknown(&self) -> Verdict {
        if self.pins { Verdict::Untried } else { Verdict::Chosen(Way::ReadOnly) }
    }

    pub(crate) fn verdicts(&self, now: Instant) -> Verdicts {
        let known = self.known.keys().map(|filesystem| (*filesystem, self.verdict(*filesystem, now))).collect();
        Verdicts { unknown: self.unknown(), known }
    }

    /// A file could be registered in this way. `shared` is the error that the shared mapping ended in before.
    pub(crate) fn registered(&mut self, filesystem: Filesystem, way: Way, shared: Option<&WireError>) {
        let known = self.known.entry(filesystem).or_default();
        known.refused_until = None;
        if self.pins
            && known.way.replace(way).is_none()
            && let Some(error) = shared
        {
            self.untold.push(copied(&filesystem.describe(), error));
        }
    }

    /// A file could not be registered in any way.
    pub(crate) fn failed(&mut self, filesystem: Filesystem, error: &WireError, now: Instant) {
        self.failures += 1;
        let known = self.known.entry(filesystem).or_default();
        if known.refused_until.replace(now + REGISTRATION_RETRY).is_none() {
            self.untold.push(refused(&filesystem.describe(), error));
        }
    }

    /// So many bytes of a file could not be registered, but fewer can be: this says nothing about its filesystem.
    pub(crate) fn short_of_memory(&mut self, bytes: usize, error: &WireError) {
        self.failures += 1;
        if !std::mem::replace(&mut self.is_shortage_told, true) {
            self.untold.push(short(bytes, error));
        }
    }

    /// A file that is copied for a reason of its own could not be registered: this says nothing about others.
    pub(crate) fn exception_failed(&mut self) {
        self.failures += 1;
    }

    /// What the log is to say; each text once.
    pub(crate) fn take_untold(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }

    /// How often a file could not be registered in any way.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// Filesystems whose files are copied to be registered.
    pub(crate) fn copied(&self) -> usize {
        self.known.values().filter(|known| known.way == Some(Way::Copy)).count()
    }

    /// Filesystems whose files are left alone now.
    pub(crate) fn refused(&self, now: Instant) -> usize {
        self.known.values().filter(|known| known.refused_until.is_some_and(|until| now < until)).count()
    }
}

fn copied(filesystem: &str, error: &WireError) -> String {
    format!(
        "files of {filesystem} cannot be registered where they lie in the page cache ({error}): they are registered as \
         copies in this process's memory, within spark.sluice.transport.maxMappedBytes. Linux 6.5 and later pin file \
         pages for RDMA devices only on tmpfs and in memory files; spark.sluice.store=cache needs no copies"
    )
}

fn short(bytes: usize, error: &WireError) -> String {
    format!(
        "parts of files of {bytes} bytes cannot be registered, and as much of this process's own memory cannot either: \
         so much may not be pinned now. Their blocks travel by Netty until as much is given back: \
         {error}. See `ulimit -l` and spark.sluice.transport.maxMappedBytes"
    )
}

fn refused(filesystem: &str, error: &WireError) -> String {
    let seconds = REGISTRATION_RETRY.as_secs();
    format!(
        "files of {filesystem} cannot be registered, their blocks travel by Netty; tried again every {seconds} s: \
         {error}. With an RDMA device, see `ulimit -l` and spark.sluice.transport.maxMappedBytes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Filesystem = Filesystem(1);
    const MEMORY: Filesystem = Filesystem(2);

    fn error() -> WireError {
        WireError("bad address".into())
    }

    #[test]
    fn a_way_that_was_chosen_stays_and_holds_for_its_filesystem_only() {
        let (mut filesystems, now) = (Filesystems::new(true), Instant::now());
        assert_eq!(filesystems.verdict(DISK, now), Verdict::Untried);
        filesystems.registered(DISK, Way::Copy, Some(&error()));
        filesystems.registered(MEMORY, Way::Writable, None);
        let verdicts = filesystems.verdicts(now);
        for (filesystem, expected) in [
            (DISK, Verdict::Chosen(Way::Copy)),
            (MEMORY, Verdict::Chosen(Way::Writable)),
            (Filesystem(3), Verdict::Untried),
        ] {
            assert_eq!((filesystems.verdict(filesystem, now), verdicts.of(filesystem)), (expected, expected));
        }
        assert_eq!((filesystems.copied(), filesystems.failures()), (1, 0));
        filesystems.registered(DISK, Way::Copy, None);
        assert_eq!(filesystems.take_untold().len(), 1, "the copy is told once");
        assert!(filesystems.take_untold().is_empty());
    }

    #[test]
    fn a_failure_is_forgotten_after_a_while_and_the_way_is_not() {
        let (mut filesystems, now) = (Filesystems::new(true), Instant::now());
        filesystems.registered(DISK, Way::Copy, Some(&error()));
        for filesystem in [DISK, MEMORY] {
            filesystems.failed(filesystem, &error(), now);
            assert_eq!(filesystems.verdict(filesystem, now), Verdict::Refused);
            assert_eq!(filesystems.verdicts(now).of(filesystem), Verdict::Refused);
        }
        let later = now + REGISTRATION_RETRY;
        assert_eq!((filesystems.refused(now), filesystems.refused(later), filesystems.failures()), (2, 0, 2));
        filesystems.failed(MEMORY, &error(), later);
        assert_eq!(filesystems.take_untold().len(), 3, "one copy and the first failure of each");
        let later = later + REGISTRATION_RETRY;
        assert_eq!(filesystems.verdict(DISK, later), Verdict::Chosen(Way::Copy));
        assert_eq!(filesystems.verdict(MEMORY, later), Verdict::Untried, "it never was registered");
    }

    #[test]
    fn what_pins_no_memory_maps_every_file_for_reading() {
        let (mut filesystems, now) = (Filesystems::new(false), Instant::now());
        assert_eq!(filesystems.verdict(DISK, now), Verdict::Chosen(Way::ReadOnly));
        filesystems.registered(DISK, Way::ReadOnly, None);
        assert_eq!(filesystems.verdicts(now).of(MEMORY), Verdict::Chosen(Way::ReadOnly));
        assert_eq!((filesystems.copied(), filesystems.refused(now)), (0, 0));
    }

    #[test]
    fn messages_name_the_filesystem_the_cause_and_what_to_do() {
        let text = copied("/data (ext4)", &error());
        assert!(
            text.contains("/data (ext4)") && text.contains("bad address") && text.contains("store=cache"),
            "{text}"
        );
        let text = short(4 << 20, &error());
        assert!(text.contains("4194304") && text.contains("bad address") && text.contains("ulimit -l"), "{text}");
        let text = refused("/data (ext4)", &error());
        assert!(text.contains("/data (ext4)") && text.contains("Netty") && text.contains("ulimit -l"), "{text}");
    }
}
