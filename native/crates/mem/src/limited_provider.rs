//! A limit on the bytes that a provider has mapped.

use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use crate::sync::{AtomicUsize, Relaxed};
use std::ptr::NonNull;

/// Refuses regions that would bring what is mapped above a limit. It is on what the memory takes where it comes from
/// ([`Provider::footprint`]), on lease or not, where an arena's own limit is on leased bytes: for memory that others
/// use beside us.
#[derive(Debug)]
pub struct LimitedProvider<P> {
    provider: P,
    limit: AtomicUsize,
    mapped: AtomicUsize,
}

impl<P: Provider> LimitedProvider<P> {
    /// The regions of `provider`, up to `limit` bytes of them.
    pub fn new(provider: P, limit: usize) -> Self {
        Self { provider, limit: AtomicUsize::new(limit), mapped: AtomicUsize::new(0) }
    }

    /// Changes the limit. Below what is mapped, regions are refused until enough was unmapped.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
    }

    /// Bytes that the mapped regions take.
    pub fn mapped_bytes(&self) -> usize {
        self.mapped.load(Relaxed)
    }
}

impl<P: Provider> Provider for LimitedProvider<P> {
    fn kind(&self) -> MemoryKind {
        self.provider.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let (taken, limit) = (self.provider.footprint(bytes), self.limit.load(Relaxed));
        let within = |mapped: usize| mapped.checked_add(taken).filter(|&sum| sum <= limit);
        if let Err(mapped) = self.mapped.fetch_update(Relaxed, Relaxed, within) {
            let reason = format!("{mapped} bytes are mapped, it would take {taken} more, the limit is {limit}");
            return Err(MapError { bytes, reason });
        }
        let region = self.provider.map(bytes);
        // A region of another length than asked for is unmapped by the arena, and then subtracted by its length.
        let mapped = region.as_ref().map_or(0, |region| self.provider.footprint(region.bytes()));
        self.mapped.fetch_add(mapped, Relaxed);
        self.mapped.fetch_sub(taken, Relaxed);
        region
    }

    fn unmap(&self, region: MappedRegion) {
        let taken = self.provider.footprint(region.bytes());
        self.provider.unmap(region);
        self.mapped.fetch_sub(taken, Relaxed);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's promise; every region of this provider is one of the provider below.
        unsafe { self.provider.purge(start, bytes) }
    }

    fn footprint(&self, bytes: usize) -> usize {
        self.provider.footprint(bytes)
    }
}
