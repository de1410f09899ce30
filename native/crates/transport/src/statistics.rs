//! What a transport says of itself: one number for each [`Statistic`], which the agent writes and any thread may read
//! at any time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares the statistics: the order is that of the numbers, the name is what other languages know it by.
macro_rules! statistics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A number that a transport counts or measures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Statistic {
            $($(#[$doc])* $variant,)*
        }

        impl Statistic {
            /// The names of all, in the order of a snapshot.
            pub const NAMES: &[&str] = &[$($name,)*];
        }
    };
}

statistics! {
    /// Parts of files that are mapped or about to be.
    MappedRegions = "mappedRegions",
    /// Their bytes.
    MappedBytes = "mappedBytes",
    /// The most bytes that were mapped at once.
    PeakMappedBytes = "peakMappedBytes",
    /// Those of them that a reader may be reading, or that are being mapped.
    PinnedRegions = "pinnedRegions",
    /// Their bytes.
    PinnedBytes = "pinnedBytes",
    /// Questions of readers that were not answered, or whose answers are in use.
    OpenQuestions = "openQuestions",
    /// Jobs that wait for a disk.
    DiskJobs = "diskJobs",
    /// Reads of other processes' blocks under way.
    GetsInFlight = "getsInFlight",
    /// What callers and peers want done and the agent has not taken up, or puts off to a later turn.
    QueuedCommands = "queuedCommands",
    /// Blocks that have ended and that no caller has taken.
    QueuedCompletions = "queuedCompletions",
    /// The longest turn of the agent since its start, in nanoseconds.
    LongestTurnNanos = "longestTurnNanos",
    /// Messages that could not be understood.
    MalformedMessages = "malformedMessages",
    /// Messages without the proof or tag that they need: of processes that do not know the secret, and late ones of
    /// connections that were closed.
    UnprovenMessages = "unprovenMessages",
    /// Readers' blocks that were left to Netty because of the limits of mapped memory, or because it cannot be
    /// registered.
    RefusedMapped = "refusedMapped",
    /// … because their reader had too many questions open.
    RefusedQuestions = "refusedQuestions",
    /// … because too much was to be read from disks.
    RefusedDisk = "refusedDisk",
    /// … because a disk has not answered in time.
    DiskTimeouts = "diskTimeouts",
    /// Parts of files, those of the trial at the start included, that could not be registered in any way, not even as
    /// copies.
    FailedRegistrations = "failedRegistrations",
    /// Parts of files that were registered as copies in memory, because a device could not register them shared.
    CopiedRegions = "copiedRegions",
    /// Bytes of those that are mapped now.
    CopiedBytes = "copiedBytes",
    /// Filesystems whose files are registered as copies.
    CopiedFilesystems = "copiedFilesystems",
    /// Filesystems whose files cannot be registered now.
    RefusedFilesystems = "refusedFilesystems",
    /// Connections that are open.
    Connections = "connections",
    /// Connections that were opened.
    ConnectionsOpened = "connectionsOpened",
    /// Those of them that were closed because nothing passed over them, or to make room for others.
    ConnectionsClosedIdle = "connectionsClosedIdle",
    /// Those of them that were lost while nothing, or only a question of a moment ago, was under way: the next fetch
    /// opens another one.
    ConnectionsLostIdle = "connectionsLostIdle",
    /// Times that there was no room for another one.
    ConnectionsRefused = "connectionsRefused",
    /// Times that a connection's blocks had to wait for memory to be received into.
    ReceiveWaits = "receiveWaits",
    /// How long they have waited, all together, in nanoseconds, those that wait now included.
    ReceiveWaitNanos = "receiveWaitNanos",
    /// Blocks that were left to Netty because there was no memory for them in time.
    ReceiveGivenUp = "receiveGivenUp",
    /// Connections over which a sample in the memory of the owner's GPU came as it was.
    DevicesReadable = "devicesReadable",
    /// Those over which it did not, or could not be read: blocks of such owners are read from their host's memory.
    DevicesUnreadable = "devicesUnreadable",
    /// Bytes that are kept of what owners have told: keys of their memory, and where blocks are.
    ToldBytes = "toldBytes",
    /// Connections that were ended because their owners told of more than may be kept, or of what is no key.
    ToldTooMuch = "toldTooMuch",
    /// Map outputs that are published now.
    PublishedOutputs = "publishedOutputs",
}

/// The numbers.
#[derive(Debug)]
pub(crate) struct Statistics([AtomicU64; Statistic::NAMES.len()]);

impl Default for Statistics {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Statistics {
    pub(crate) fn set(&self, statistic: Statistic, value: u64) {
        self.0[statistic as usize].store(value, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, statistic: Statistic, value: u64) {
        self.0[statistic as usize].fetch_add(value, Ordering::Relaxed);
    }

    pub(crate) fn raise(&self, statistic: Statistic, value: u64) {
        self.0[statistic as usize].fetch_max(value, Ordering::Relaxed);
    }

    /// One of them.
    #[cfg(test)]
    pub(crate) fn value(&self, statistic: Statistic) -> u64 {
        self.0[statistic as usize].load(Ordering::Relaxed)
    }

    /// All of them, in the order of [`Statistic::NAMES`]; each is true for itself, not all for one moment.
    pub(crate) fn snapshot(&self) -> [u64; Statistic::NAMES.len()] {
        std::array::from_fn(|index| self.0[index].load(Ordering::Relaxed))
    }
}
