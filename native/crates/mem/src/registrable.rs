//! Regions that may be registered with a device, which then reads or writes their pages by itself.
//!
//! ```text
//!   Arena ── map, unmap, purge ─► RegistrableProvider ── map, unmap, purge ─► the provider below
//!                                      │ table of regions
//!   a registering thread ─ Registrar ──┴─► RegisteredRegion, until the region has been unregistered
//! ```
//!
//! # Invariants
//! 1. As long as there is a [`RegisteredRegion`] of a region, its pages stay the same: none of it is purged and it is
//!    not unmapped.
//! 2. When the arena unmaps such a region, it is *given up*: its registrars are woken, and the provider below unmaps it
//!    when its last [`RegisteredRegion`] is dropped, on the thread that drops it. No new one is made of it. The thread
//!    that has unmapped it does not wait for that.
//! 3. The table's lock is held for a few updates of it, and while a part of a region is purged: nobody may register the
//!    region meanwhile. That is some milliseconds at most.

use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use crate::sync::{Acquire, AtomicBool, Mutex, MutexGuard, Release, lock};
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Maps the regions of another provider, and keeps those that are registered. Called from any thread.
#[derive(Debug)]
pub struct RegistrableProvider {
    provider: Box<dyn Provider>,
    /// What is mapped, by address.
    regions: Mutex<BTreeMap<usize, Region>>,
}

#[derive(Debug)]
struct Region {
    bytes: usize,
    /// One for each [`RegisteredRegion`].
    registrars: Vec<Arc<Notice>>,
    /// What the arena has unmapped while it was registered.
    given_up: Option<MappedRegion>,
}

impl RegistrableProvider {
    /// A provider of the regions of `provider`.
    pub fn new(provider: impl Provider + 'static) -> Self {
        Self { provider: Box::new(provider), regions: Mutex::new(BTreeMap::new()) }
    }

    /// The region that has the byte at `address`, from now on registered, unless it has been given up.
    fn begin(&self, address: usize, notice: &Arc<Notice>) -> Option<(usize, usize)> {
        let mut regions = lock(&self.regions);
        let (start, region) = find(&mut regions, address)?;
        if region.given_up.is_some() {
            return None;
        }
        region.registrars.push(Arc::clone(notice));
        Some((start, region.bytes))
    }

    /// Takes back what [`Self::begin`] has begun.
    fn end(&self, start: usize, notice: &Arc<Notice>) {
        let mut regions = lock(&self.regions);
        let Some(region) = regions.get_mut(&start) else { return };
        if let Some(at) = region.registrars.iter().position(|other| Arc::ptr_eq(other, notice)) {
            region.registrars.swap_remove(at);
        }
        if !region.registrars.is_empty() {
            return;
        }
        if let Some(given_up) = region.given_up.take() {
            // Before it is unmapped: after that, another thread may have a new region of this address.
            regions.remove(&start);
            drop(regions);
            self.provider.unmap(given_up);
        }
    }

    fn is_given_up(&self, start: usize) -> bool {
        lock(&self.regions).get(&start).is_some_and(|region| region.given_up.is_some())
    }
}

/// The mapped region that has the byte at `address`, and where it begins.
fn find<'a>(
    regions: &'a mut MutexGuard<'_, BTreeMap<usize, Region>>,
    address: usize,
) -> Option<(usize, &'a mut Region)> {
    let (start, region) = regions.range_mut(..=address).next_back()?;
    (address - start < region.bytes).then_some((*start, region))
}

impl Provider for RegistrableProvider {
    fn kind(&self) -> MemoryKind {
        self.provider.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let mapped = self.provider.map(bytes)?;
        let region = Region { bytes: mapped.bytes(), registrars: Vec::new(), given_up: None };
        lock(&self.regions).insert(mapped.address(), region);
        Ok(mapped)
    }

    fn unmap(&self, mapped: MappedRegion) {
        let (start, mut regions) = (mapped.address(), lock(&self.regions));
        match regions.get_mut(&start).filter(|region| !region.registrars.is_empty()) {
            Some(region) => {
                let registrars = region.registrars.clone();
                region.given_up = Some(mapped);
                drop(regions);
                registrars.iter().for_each(|notice| notice.give());
            }
            None => {
                // Before it is unmapped: after that, another thread may have a new region of this address.
                regions.remove(&start);
                drop(regions);
                self.provider.unmap(mapped);
            }
        }
    }

    /// Also false for a part of a registered region.
    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // Locked until the pages have been given back: see invariant 3.
        let mut regions = lock(&self.regions);
        let unregistered = find(&mut regions, start.as_ptr().addr()).is_some_and(|(_, it)| it.registrars.is_empty());
        // SAFETY: the caller's promise; the provider below has mapped the region, because all of this one's are its.
        unregistered && unsafe { self.provider.purge(start, bytes) }
    }
}

/// What one thread that registers regions is told by.
struct Notice {
    given: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Notice {
    fn give(&self) {
        self.given.store(true, Release);
        (self.wake)();
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notice").field("given", &self.given).finish_non_exhaustive()
    }
}

/// Registers regions of a provider: one for each thread (or library's context) that does so.
#[derive(Debug)]
pub struct Registrar {
    provider: Arc<RegistrableProvider>,
    notice: Arc<Notice>,
}

impl Registrar {
    /// Any thread calls `wake`, and holds no lock meanwhile, when a region that this registrar has registered was given
    /// up. Then [`Self::take_notice`] is true, and what [`RegisteredRegion::is_given_up`] should be unregistered soon:
    /// until then its memory stays mapped, though the arena does not count it any more.
    pub fn new(provider: Arc<RegistrableProvider>, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let notice = Arc::new(Notice { given: AtomicBool::new(false), wake: Box::new(wake) });
        Self { provider, notice }
    }

    /// The region that has the byte at `address`: to be registered after this call, and kept until it has been
    /// unregistered. `None`: no region has it, or the region has been given up.
    pub fn region_of(&self, address: usize) -> Option<RegisteredRegion> {
        let (start, bytes) = self.provider.begin(address, &self.notice)?;
        let (provider, notice) = (Arc::clone(&self.provider), Arc::clone(&self.notice));
        Some(RegisteredRegion { provider, notice, start, bytes })
    }

    /// Whether a registered region was given up since the last call. Costs next to nothing.
    pub fn take_notice(&self) -> bool {
        self.notice.given.load(Acquire) && self.notice.given.swap(false, Acquire)
    }
}

/// A region that is registered, or about to be: mapped, and not purged, until this value is dropped. To be dropped only
/// after the region has been unregistered.
#[derive(Debug)]
pub struct RegisteredRegion {
    provider: Arc<RegistrableProvider>,
    notice: Arc<Notice>,
    start: usize,
    bytes: usize,
}

impl RegisteredRegion {
    /// Address of the first byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the arena has unmapped the region, so that no lease lies in it and none will.
    pub fn is_given_up(&self) -> bool {
        self.provider.is_given_up(self.start)
    }
}

impl Drop for RegisteredRegion {
    fn drop(&mut self) {
        self.provider.end(self.start, &self.notice);
    }
}
