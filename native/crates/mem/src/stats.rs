//! Figures of an arena at one moment.

/// Defines [`Statistics`], so that its fields, their names and their order in an array cannot differ.
macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// What [`crate::Arena::statistics`] reports: plain numbers. Bytes include rounding; counts are since the arena
        /// was made.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Statistics {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Statistics {
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
    /// The limit on leased bytes.
    limit_bytes: usize,
    /// Bytes on lease.
    leased_bytes: usize,
    /// The most bytes ever on lease at once, or up to 512 KiB per shard more.
    peak_leased_bytes: usize,
    /// Leases made.
    leases: u64,
    /// Leases released.
    releases: u64,
    /// Releases by a thread of another shard or sub-arena than the memory's.
    cross_thread_releases: u64,
    /// Releases of addresses that were not leased.
    invalid_releases: u64,
    /// Leases refused by the limit.
    refused_by_limit: u64,
    /// Leases refused because the provider had no region.
    refused_by_provider: u64,
    /// Leases refused because no region can be so large.
    refused_by_size: u64,
    /// Why the last refused lease was refused: a [`RefusalCause`], 0 when none was.
    last_refusal_cause: u64,
    /// Bytes that it asked for.
    last_refusal_requested_bytes: usize,
    /// Bytes that were leased then.
    last_refusal_leased_bytes: usize,
    /// Bytes that the limit was then.
    last_refusal_limit_bytes: usize,
    /// Regions mapped.
    regions: usize,
    /// Bytes of those regions.
    reserved_bytes: usize,
    /// How many bytes of those regions can be resident at most: all but the free 2 MiB units that no lease has used
    /// since they were mapped or purged.
    touched_bytes: usize,
    /// Bytes of regions in free extents.
    free_bytes: usize,
    /// Bytes of superblocks that the thread arenas hold.
    superblock_bytes: usize,
    /// Bytes of those superblocks that are wholly free.
    cached_bytes: usize,
    /// Purge passes that have ended.
    purge_passes: u64,
    /// Bytes that purges have given back to the system.
    purged_bytes: u64,
    /// Purges that the provider did not do.
    purge_failures: u64,
}

impl Statistics {
    /// Leases now live.
    pub fn live_leases(&self) -> u64 {
        self.leases - self.releases
    }
}

/// Why a lease was refused. The numbers are those of [`Statistics::last_refusal_cause`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RefusalCause {
    /// The limit on leased bytes.
    Limit = 1,
    /// The provider had no region.
    Provider = 2,
    /// No region can be so large.
    Size = 3,
}

/// The last refused lease.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastRefusal {
    pub(crate) cause: Option<RefusalCause>,
    pub(crate) requested: usize,
    pub(crate) leased: usize,
    pub(crate) limit: usize,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_array_has_the_fields_in_the_order_of_their_names() {
        let statistics = Statistics { limit_bytes: 7, purge_failures: 9, refused_by_size: 3, ..Statistics::default() };
        let value = |name| {
            let at = Statistics::NAMES.iter().position(|&known| known == name).expect("a field");
            statistics.to_array()[at]
        };
        assert_eq!(["limit_bytes", "refused_by_size", "purge_failures", "leases"].map(value), [7, 3, 9, 0]);
    }
}
