//! Host regions that the driver keeps pinned, so that the GPU copies from and to them directly.
//!
//! # Invariants
//! 1. A pinned region is neither purged nor unmapped before its registration has ended. When the driver cannot end it,
//!    the region stays mapped for ever.
//! 2. That a region is not pinned is no error: it is ordinary host memory, and a copy from it is slower. Counters say
//!    so.
//! 3. The table's lock is held while a region is being pinned (20 ms for 64 MiB or so) and while a part of one is
//!    purged. Leases take no part in that unless they need a new region.

use sluice_cuda::{Context, HostRegistration};
use sluice_mem::{MapError, MappedRegion, MemoryKind, Provider};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What [`PinnedProvider::statistics`] reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PinnedStatistics {
    /// Regions mapped, and their bytes.
    pub regions: usize,
    /// Bytes of them.
    pub mapped_bytes: usize,
    /// Bytes of the regions that are pinned.
    pub pinned_bytes: usize,
    /// Regions pinned so far.
    pub pins: u64,
    /// Regions that the limit on pinned bytes has kept from being pinned.
    pub refused_by_limit: u64,
    /// Regions that the driver has not pinned.
    pub refused_by_driver: u64,
    /// Regions that stay mapped for ever, because the driver did not end their registration.
    pub leaked_regions: u64,
}

/// Maps the regions of another provider and pins them: when they are mapped, or, if the driver came later
/// ([`Self::attach`]), when somebody first asks for one ([`Self::pin`]).
#[derive(Debug)]
pub struct PinnedProvider<P> {
    provider: P,
    limit: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    context: Option<Context>,
    /// By address.
    regions: BTreeMap<usize, Region>,
    /// Why the driver last refused, in words.
    refusal: Option<String>,
    statistics: PinnedStatistics,
}

#[derive(Debug)]
struct Region {
    bytes: usize,
    registration: Option<HostRegistration>,
    refused: Option<Refusal>,
}

/// Why a region is not pinned, counted once for each region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// There may be room later.
    Limit,
    /// The driver is not asked again: every copy would.
    Driver,
}

impl<P: Provider> PinnedProvider<P> {
    /// Pins at most `limit` bytes of the regions of `provider`, which maps host memory. None are pinned until a context
    /// is attached.
    pub fn new(provider: P, limit: usize) -> Self {
        Self { provider, limit, table: Mutex::default() }
    }

    /// Lets regions be pinned from now on, those that are mapped already when they are first asked for.
    pub fn attach(&self, context: Context) {
        self.table().context = Some(context);
    }

    /// Pins the region that has the byte at `address`, unless it is. Whether it is pinned; false also for addresses
    /// that are in no region. The caller has a lease there: a region without leases may be unmapped at any time.
    pub fn pin(&self, address: usize) -> bool {
        let table = &mut *self.table();
        let Some((&start, region)) = table.regions.range(..=address).next_back() else { return false };
        if address - start >= region.bytes {
            return false;
        }
        region.registration.is_some() || table.pin(start, self.limit)
    }

    /// The figures of this moment.
    pub fn statistics(&self) -> PinnedStatistics {
        self.table().statistics
    }

    /// Why the driver last refused to pin a region, in words.
    pub fn last_refusal(&self) -> Option<String> {
        self.table().refusal.clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Pins the region that starts at `start`, if there is a driver, the limit allows it and the driver does.
    fn pin(&mut self, start: usize, limit: usize) -> bool {
        let (Some(context), Some(region)) = (&self.context, self.regions.get_mut(&start)) else { return false };
        if region.refused == Some(Refusal::Driver) {
            return false;
        }
        if self.statistics.pinned_bytes + region.bytes > limit {
            self.statistics.refused_by_limit += u64::from(region.refused.is_none());
            region.refused = Some(Refusal::Limit);
            return false;
        }
        let Some(first) = NonNull::new(std::ptr::with_exposed_provenance_mut(start)) else { return false };
        // SAFETY: the provider below has mapped the region, readable and writable; it is unmapped by `unmap` only,
        // which ends the registration first, under the lock that is held here.
        match unsafe { context.register_host(first, region.bytes) } {
            Ok(registration) => {
                region.registration = Some(registration);
                self.statistics.pinned_bytes += region.bytes;
                self.statistics.pins += 1;
                true
            }
            Err(error) => {
                region.refused = Some(Refusal::Driver);
                self.statistics.refused_by_driver += 1;
                self.refusal = Some(error.to_string());
                false
            }
        }
    }

    /// Forgets a region: whether it may be unmapped.
    fn unpin(&mut self, start: usize) -> bool {
        let Some(region) = self.regions.remove(&start) else { return true };
        self.statistics.regions -= 1;
        self.statistics.mapped_bytes -= region.bytes;
        let Some(registration) = region.registration else { return true };
        self.statistics.pinned_bytes -= region.bytes;
        let ended = registration.end();
        self.statistics.leaked_regions += u64::from(!ended);
        ended
    }
}

impl<P: Provider> Provider for PinnedProvider<P> {
    /// Pinned, also while some regions are not.
    fn kind(&self) -> MemoryKind {
        MemoryKind::Pinned
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let mapped = self.provider.map(bytes)?;
        let table = &mut *self.table();
        let region = Region { bytes: mapped.bytes(), registration: None, refused: None };
        table.regions.insert(mapped.address(), region);
        table.statistics.regions += 1;
        table.statistics.mapped_bytes += mapped.bytes();
        table.pin(mapped.address(), self.limit);
        Ok(mapped)
    }

    fn unmap(&self, mapped: MappedRegion) {
        // Before it is unmapped: after that, another thread may have a new region of this address.
        let ended = self.table().unpin(mapped.address());
        // Else the device may still write to it, so it stays mapped: nobody else may get these pages.
        if ended {
            self.provider.unmap(mapped);
        }
    }

    /// False for a part of a pinned region, whose pages must stay.
    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // Locked until the pages have been given back, so that nobody pins the region meanwhile.
        let table = self.table();
        let region = table.regions.range(..=start.as_ptr().addr()).next_back();
        let pinned = region.is_some_and(|(_, region)| region.registration.is_some());
        // SAFETY: the caller's promise; the provider below has mapped the region, because all of this one's are its.
        !pinned && unsafe { self.provider.purge(start, bytes) }
    }

    fn footprint(&self, bytes: usize) -> usize {
        self.provider.footprint(bytes)
    }
}

impl<P> Drop for PinnedProvider<P> {
    /// Leaves what is still mapped pinned, and has it counted: a lease in it was never released, so the device may
    /// still copy from or to it.
    fn drop(&mut self) {
        let table = self.table.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (_, region) in std::mem::take(&mut table.regions) {
            if let (Some(registration), Some(context)) = (region.registration, &table.context) {
                context.count_leak(registration.bytes());
                std::mem::forget(registration);
            }
        }
    }
}
