//! Figures of a stream arena at one moment.

/// Defines [`StreamStatistics`], so that its fields, their names and their order in an array cannot differ.
macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// What [`crate::StreamArena::statistics`] reports: plain numbers, counts since the arena was made. Bytes
        /// include rounding. Those of the arena below are [`sluice_mem::DeviceArena::statistics`].
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct StreamStatistics {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl StreamStatistics {
            /// The names of the fields, in the order of [`Self::to_array`].
            pub const NAMES: [&'static str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

            /// The fields' values, in the order of [`Self::NAMES`].
            pub fn to_array(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$name as u64),*]
            }
        }
    };
}

statistics! {
    /// Leases whose memory was in the stream's own limbo.
    leases_from_limbo: u64,
    /// Leases whose memory came from the arena.
    leases_from_arena: u64,
    /// Leases freed, those that were only dropped included.
    frees: u64,
    /// Leases that were dropped without being freed on a stream.
    drops: u64,
    /// Leases of another arena that were given to a stream of this one to be freed.
    foreign_frees: u64,
    /// Events recorded.
    events: u64,
    /// Events that could not be made, recorded or asked, though the device is not lost. Their leases wait for the next
    /// one.
    event_failures: u64,
    /// How often an event was asked whether it has ended.
    polls: u64,
    /// Leases that the arena refused at first.
    shortages: u64,
    /// Those that had to wait for the device.
    waits: u64,
    /// Nanoseconds of these waits.
    wait_ns: u64,
    /// How often caches were dropped for them.
    cache_drops: u64,
    /// Leases declined for want of memory.
    declined: u64,
    /// Leases declined because the task is being killed.
    killed: u64,
    /// Leases declined because the device is lost.
    declined_lost: u64,
    /// Streams that are attached, or have leases in limbo.
    streams: usize,
    /// Leases in limbo.
    limbo_leases: usize,
    /// Bytes of leases in limbo.
    limbo_bytes: usize,
    /// Leases that are not used again because the device was lost: live ones and those in limbo.
    leaked_leases: u64,
    /// Their bytes.
    leaked_bytes: usize,
}

impl StreamStatistics {
    /// Sets the counts that are made for each stream.
    pub(crate) fn set_counts(&mut self, counts: StreamCounts) {
        self.leases_from_limbo = counts.leases_from_limbo;
        self.leases_from_arena = counts.leases_from_arena;
        self.frees = counts.frees;
        self.drops = counts.drops;
        self.events = counts.events;
        self.event_failures = counts.event_failures;
        self.polls = counts.polls;
    }
}

/// What is counted under the lock of a stream's limbo.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamCounts {
    pub(crate) leases_from_limbo: u64,
    pub(crate) leases_from_arena: u64,
    pub(crate) frees: u64,
    pub(crate) drops: u64,
    pub(crate) events: u64,
    pub(crate) event_failures: u64,
    pub(crate) polls: u64,
}

impl StreamCounts {
    /// The sums of two.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            leases_from_limbo: self.leases_from_limbo + other.leases_from_limbo,
            leases_from_arena: self.leases_from_arena + other.leases_from_arena,
            frees: self.frees + other.frees,
            drops: self.drops + other.drops,
            events: self.events + other.events,
            event_failures: self.event_failures + other.event_failures,
            polls: self.polls + other.polls,
        }
    }
}
