//! Counts of what a provider was asked for.

use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use crate::sync::{AtomicU64, AtomicUsize, Relaxed};
use std::ptr::NonNull;
use std::time::Instant;

/// What [`MeteredProvider::statistics`] reports: counts and bytes since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapStatistics {
    /// Regions mapped.
    pub maps: u64,
    /// Regions refused. A lease may succeed all the same: the arena then asks for a shorter region.
    pub refusals: u64,
    /// Regions unmapped.
    pub unmaps: u64,
    /// Bytes that the regions take now, by [`Provider::footprint`].
    pub mapped_bytes: usize,
    /// The most bytes that they ever took.
    pub peak_mapped_bytes: usize,
    /// Bytes of purges that the provider did.
    pub purged_bytes: u64,
    /// Nanoseconds that mapping took, refusals included: the lease that needs a region waits so long.
    pub map_ns: u64,
}

/// Counts the regions of another provider.
#[derive(Debug)]
pub struct MeteredProvider<P> {
    provider: P,
    maps: AtomicU64,
    refusals: AtomicU64,
    unmaps: AtomicU64,
    mapped: AtomicUsize,
    peak: AtomicUsize,
    purged: AtomicU64,
    map_ns: AtomicU64,
}

impl<P: Provider> MeteredProvider<P> {
    /// The regions of `provider`, counted.
    pub fn new(provider: P) -> Self {
        let zero = || AtomicU64::new(0);
        let (mapped, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { provider, maps: zero(), refusals: zero(), unmaps: zero(), mapped, peak, purged: zero(), map_ns: zero() }
    }

    /// The provider that is counted.
    pub fn below(&self) -> &P {
        &self.provider
    }

    /// The counts of this moment.
    pub fn statistics(&self) -> MapStatistics {
        MapStatistics {
            maps: self.maps.load(Relaxed),
            refusals: self.refusals.load(Relaxed),
            unmaps: self.unmaps.load(Relaxed),
            mapped_bytes: self.mapped.load(Relaxed),
            peak_mapped_bytes: self.peak.load(Relaxed),
            purged_bytes: self.purged.load(Relaxed),
            map_ns: self.map_ns.load(Relaxed),
        }
    }
}

impl<P: Provider> Provider for MeteredProvider<P> {
    fn kind(&self) -> MemoryKind {
        self.provider.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let begun = Instant::now();
        let region = self.provider.map(bytes);
        self.map_ns.fetch_add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX), Relaxed);
        match &region {
            Ok(region) => {
                self.maps.fetch_add(1, Relaxed);
                let taken = self.provider.footprint(region.bytes());
                let before = self.mapped.fetch_add(taken, Relaxed);
                self.peak.fetch_max(before + taken, Relaxed);
            }
            Err(_) => _ = self.refusals.fetch_add(1, Relaxed),
        }
        region
    }

    fn unmap(&self, region: MappedRegion) {
        self.unmaps.fetch_add(1, Relaxed);
        self.mapped.fetch_sub(self.provider.footprint(region.bytes()), Relaxed);
        self.provider.unmap(region);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's promise; every region of this provider is one of the provider below.
        let purged = unsafe { self.provider.purge(start, bytes) };
        self.purged.fetch_add(if purged { bytes as u64 } else { 0 }, Relaxed);
        purged
    }

    fn footprint(&self, bytes: usize) -> usize {
        self.provider.footprint(bytes)
    }
}
