//! Figures of an arena at one moment.

/// What [`crate::Arena::statistics`] reports. Bytes include rounding; counts are since the arena was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The limit on leased bytes.
    pub limit_bytes: usize,
    /// Bytes on lease.
    pub leased_bytes: usize,
    /// The most bytes ever on lease at once, or up to 512 KiB per shard more.
    pub peak_leased_bytes: usize,
    /// Leases made.
    pub leases: u64,
    /// Leases released.
    pub releases: u64,
    /// Leases refused by the limit.
    pub refused_by_limit: u64,
    /// Leases refused because the provider had no region.
    pub refused_by_provider: u64,
    /// Releases of addresses that were not leased.
    pub invalid_releases: u64,
    /// Why the provider refused last.
    pub last_refusal: Option<String>,
    /// Regions held.
    pub regions: usize,
    /// Bytes of those regions.
    pub reserved_bytes: usize,
    /// Bytes of regions in free extents.
    pub free_bytes: usize,
    /// Bytes of superblocks that the thread arenas hold.
    pub superblock_bytes: usize,
    /// Bytes of those superblocks that are wholly free.
    pub cached_bytes: usize,
}

impl Statistics {
    /// Leases now live.
    pub fn live_leases(&self) -> u64 {
        self.leases - self.releases
    }
}
