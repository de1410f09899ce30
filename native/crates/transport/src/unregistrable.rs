//! Filesystems whose files could not be registered. They are remembered for a while, so that not every question about
//! them maps files, unmaps idle regions and fails again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::mapping::Filesystem;
use crate::wire::WireError;

/// For so long after a failed registration, no other file of the same filesystem is registered.
pub(crate) const REGISTRATION_RETRY: Duration = Duration::from_secs(60);

/// By filesystem: until when its files are left alone.
#[derive(Debug, Default)]
pub(crate) struct UnregistrableFilesystems {
    until: HashMap<Filesystem, Instant>,
    failures: u64,
}

impl UnregistrableFilesystems {
    /// Whether a filesystem is left alone now.
    pub(crate) fn has(&self, filesystem: Filesystem, now: Instant) -> bool {
        self.until.get(&filesystem).is_some_and(|until| now < *until)
    }

    /// All that are left alone now.
    pub(crate) fn all(&self, now: Instant) -> Vec<Filesystem> {
        self.until.iter().filter(|(_, until)| now < **until).map(|(filesystem, _)| *filesystem).collect()
    }

    /// A file could be registered, or could not. The first failure of a filesystem is told on the standard error.
    pub(crate) fn note(&mut self, filesystem: Filesystem, error: Option<&WireError>, now: Instant) {
        let Some(error) = error else {
            self.until.remove(&filesystem);
            return;
        };
        self.failures += 1;
        if self.until.insert(filesystem, now + REGISTRATION_RETRY).is_none() {
            let (id, seconds) = (filesystem.0, REGISTRATION_RETRY.as_secs());
            eprintln!(
                "sluice-transport: files of filesystem {id:#x} cannot be registered, their blocks travel by Netty; \
                 tried again every {seconds} s: {error}. With an RDMA device, see `ulimit -l` and \
                 spark.sluice.transport.maxMappedBytes"
            );
        }
    }

    /// How often a file could not be registered.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }
}
