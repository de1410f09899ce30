//! Decorators of providers: a limit, statistics and a callback on failure, each a [`Provider`] around another one.
//!
//! ```text
//! OnRefusal(spill and try again) ─► Limited(1 GiB pinned) ─► Counted ─► HostProvider
//! ```
//!
//! They bound and watch what is mapped, for memory that is dear to have mapped (registered, pinned, a device's). What is on lease
//! is bounded and counted by the arena itself, exactly and without a call of its own: see [`crate::Arena`] and
//! [`crate::Statistics`].

use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Maps at most so many bytes at a time.
#[derive(Debug)]
pub struct Limited<P> {
    inner: P,
    limit: usize,
    mapped: AtomicUsize,
}

impl<P> Limited<P> {
    /// A limit of `limit` bytes on the regions of `inner`.
    pub fn new(inner: P, limit: usize) -> Self {
        Self { inner, limit, mapped: AtomicUsize::new(0) }
    }
}

impl<P: Provider> Provider for Limited<P> {
    fn kind(&self) -> MemoryKind {
        self.inner.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let within = |mapped: usize| mapped.checked_add(bytes).filter(|&sum| sum <= self.limit);
        if let Err(mapped) = self.mapped.fetch_update(Relaxed, Relaxed, within) {
            return Err(MapError { bytes, reason: format!("{mapped} bytes of {} are mapped", self.limit) });
        }
        self.inner.map(bytes).inspect_err(|_| _ = self.mapped.fetch_sub(bytes, Relaxed))
    }

    fn unmap(&self, region: MappedRegion) {
        let bytes = region.bytes();
        self.inner.unmap(region);
        self.mapped.fetch_sub(bytes, Relaxed);
    }
}

/// What a [`Counted`] provider did since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderCounts {
    /// Regions mapped.
    pub maps: u64,
    /// Regions unmapped.
    pub unmaps: u64,
    /// Requests refused.
    pub refusals: u64,
    /// Bytes mapped now.
    pub mapped_bytes: usize,
    /// The most bytes mapped at once.
    pub peak_mapped_bytes: usize,
}

/// Counts what is mapped.
#[derive(Debug)]
pub struct Counted<P> {
    inner: P,
    maps: AtomicU64,
    unmaps: AtomicU64,
    refusals: AtomicU64,
    mapped: AtomicUsize,
    peak: AtomicUsize,
}

impl<P> Counted<P> {
    /// Counts the regions of `inner` from now on.
    pub fn new(inner: P) -> Self {
        let (maps, unmaps, refusals) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { inner, maps, unmaps, refusals, mapped: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// The counts; beside calls of other threads each is of about this moment.
    pub fn counts(&self) -> ProviderCounts {
        ProviderCounts {
            maps: self.maps.load(Relaxed),
            unmaps: self.unmaps.load(Relaxed),
            refusals: self.refusals.load(Relaxed),
            mapped_bytes: self.mapped.load(Relaxed),
            peak_mapped_bytes: self.peak.load(Relaxed),
        }
    }
}

impl<P: Provider> Provider for Counted<P> {
    fn kind(&self) -> MemoryKind {
        self.inner.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let region = self.inner.map(bytes).inspect_err(|_| _ = self.refusals.fetch_add(1, Relaxed))?;
        self.maps.fetch_add(1, Relaxed);
        let mapped = self.mapped.fetch_add(region.bytes(), Relaxed) + region.bytes();
        self.peak.fetch_max(mapped, Relaxed);
        Ok(region)
    }

    fn unmap(&self, region: MappedRegion) {
        self.unmaps.fetch_add(1, Relaxed);
        self.mapped.fetch_sub(region.bytes(), Relaxed);
        self.inner.unmap(region);
    }
}

/// Asks a callback what to do when a region is refused: `true` tries again, so it should have made room, or count.
///
/// The callback may release leases of the arena, not make any: the thread that calls it is the one that makes others wait for
/// a new region.
pub struct OnRefusal<P, F> {
    inner: P,
    callback: F,
}

impl<P, F: Fn(&MapError) -> bool + Send + Sync> OnRefusal<P, F> {
    /// Calls `callback` on every refusal of `inner`.
    pub fn new(inner: P, callback: F) -> Self {
        Self { inner, callback }
    }
}

impl<P: fmt::Debug, F> fmt::Debug for OnRefusal<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnRefusal").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<P: Provider, F: Fn(&MapError) -> bool + Send + Sync> Provider for OnRefusal<P, F> {
    fn kind(&self) -> MemoryKind {
        self.inner.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        loop {
            match self.inner.map(bytes) {
                Err(error) if (self.callback)(&error) => {}
                result => return result,
            }
        }
    }

    fn unmap(&self, region: MappedRegion) {
        self.inner.unmap(region);
    }
}
