//! Host regions that the driver keeps pinned, so that the GPU copies from and to them directly.
//!
//! # Invariants
//! 1. A pinned region is neither purged nor unmapped before its registration has ended. When the driver cannot end it,
//!    the region stays mapped for ever.
//!    A provider of sources ([`PinnedProvider::for_sources`]), from which the device only reads, gives such a region
//!    out again when one of its length is mapped, so that no more memory stays than was ever mapped at a time.
//! 2. That a region is not pinned is no error: it is ordinary host memory, and a copy from it is slower. Counters say
//!    so.
//! 3. The table's lock is held for a few changes of the table, never while the driver pins a region (20 ms for 64 MiB
//!    or so) or ends that, nor while a part of one is purged: the region's state says meanwhile what is being done. So
//!    a thread waits for the driver only where it needs a new region, gives one back, or is the first to ask for one.

use sluice_cuda::{Context, CudaError, HostRegistration};
use sluice_mem::{MapError, MappedRegion, MemoryKind, Provider};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What [`PinnedProvider::statistics`] reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PinnedStatistics {
    /// Regions mapped.
    pub regions: usize,
    /// Bytes of them.
    pub mapped_bytes: usize,
    /// Bytes of the regions that are pinned, or being pinned.
    pub pinned_bytes: usize,
    /// Regions pinned so far.
    pub pins: u64,
    /// Regions that the limit on pinned bytes has kept from being pinned.
    pub refused_by_limit: u64,
    /// Regions that the driver has not pinned.
    pub refused_by_driver: u64,
    /// Regions that stay mapped for ever, because the driver did not end their registration.
    pub leaked_regions: u64,
    /// Of a provider of sources: regions that wait to be given out again, for the same reason.
    pub kept_regions: usize,
}

/// Maps the regions of another provider and pins them: when they are mapped, or, if the driver came later
/// ([`Self::attach`]), when somebody first asks for one ([`Self::pin`]). With [`Self::for_sources`] only what is copied
/// to the device often is pinned.
#[derive(Debug)]
pub struct PinnedProvider<P> {
    provider: P,
    /// Whether the device only reads from the regions, which are pinned when it has read enough.
    sources: bool,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    context: Option<Context>,
    /// Of pinned bytes.
    limit: usize,
    /// By address.
    regions: BTreeMap<usize, Region>,
    /// Unmapped by the arena, and still registered.
    kept: Vec<MappedRegion>,
    /// Why the driver last refused, in words.
    refusal: Option<String>,
    statistics: PinnedStatistics,
}

#[derive(Debug)]
struct Region {
    bytes: usize,
    state: State,
    refused: Option<Refusal>,
    /// Bytes that were copied from it while it was not pinned.
    copied: usize,
}

impl Region {
    fn new(bytes: usize, refused: Option<Refusal>) -> Self {
        Self { bytes, state: State::Plain, refused, copied: 0 }
    }
}

/// What is done with a region, or is being done by a thread that does not hold the table's lock.
#[derive(Debug)]
enum State {
    /// Host memory.
    Plain,
    /// A part of it is being purged: it is not pinned meanwhile.
    Purging,
    /// The driver was asked: it is not purged meanwhile.
    Pinning,
    Pinned(HostRegistration),
    /// The driver has not ended its registration: it is neither purged nor unmapped any more.
    Stuck,
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
    ///
    /// # Panics
    /// With a provider of a GPU's memory.
    pub fn new(provider: P, limit: usize) -> Self {
        Self::of(provider, false, limit)
    }

    /// The same for memory that the device only reads from, as a part of which is copied to it again and again. A
    /// region is pinned once as many bytes as it has were copied from it ([`Self::copies`]): pinning takes about as
    /// long as such copies do. Nothing is pinned before [`Self::attach_within`] says how much may be.
    ///
    /// # Panics
    /// With a provider of a GPU's memory.
    pub fn for_sources(provider: P) -> Self {
        Self::of(provider, true, 0)
    }

    fn of(provider: P, sources: bool, limit: usize) -> Self {
        assert_eq!(provider.kind().device(), None, "only host memory is pinned");
        Self { provider, sources, table: Mutex::new(Table { limit, ..Table::default() }) }
    }

    /// Lets regions be pinned from now on, those that are mapped already when they are first asked for.
    pub fn attach(&self, context: Context) {
        self.table().context = Some(context);
    }

    /// The same, with another limit on the pinned bytes.
    pub fn attach_within(&self, context: Context, limit: usize) {
        let mut table = self.table();
        (table.context, table.limit) = (Some(context), limit);
    }

    /// Ends all registrations, and lets no more regions be pinned, until a context is attached. Nobody copies from or
    /// to the regions any more. After the first registration that the driver does not end, it is not asked for others.
    pub fn detach(&self) {
        let pinned: Vec<(usize, HostRegistration)> = self.table().begin_detaching();
        let mut answers = true;
        for (start, registration) in pinned {
            let bytes = registration.bytes();
            if answers {
                answers = registration.end();
            } else {
                // Each end may take as long as a driver is waited for that does not answer: one such wait is enough.
                std::mem::forget(registration);
            }
            self.table().end_detaching(start, bytes, answers);
        }
    }

    /// Says that `bytes` bytes from `address` on are copied to the device now, by a caller that has a lease there.
    /// Whether they lie in a region that is pinned; it may be by this call.
    pub fn copies(&self, address: usize, bytes: usize) -> bool {
        let start = {
            let mut table = self.table();
            let Some((&start, region)) = table.regions.range_mut(..=address).next_back() else { return false };
            if address - start >= region.bytes {
                return false;
            }
            if let State::Pinned(_) = region.state {
                return true;
            }
            region.copied = region.copied.saturating_add(bytes);
            if region.copied < region.bytes {
                return false;
            }
            start
        };
        self.pin_region(start)
    }

    /// Pins the region that has the byte at `address`, unless it is. Whether it is pinned; false also for addresses
    /// that are in no region, and while another thread pins or purges it. The caller has a lease there: a region
    /// without leases may be unmapped at any time.
    pub fn pin(&self, address: usize) -> bool {
        let start = {
            let table = self.table();
            let Some((&start, region)) = table.regions.range(..=address).next_back() else { return false };
            if address - start >= region.bytes {
                return false;
            }
            if let State::Pinned(_) = region.state {
                return true;
            }
            start
        };
        self.pin_region(start)
    }

    /// Pins the region that starts at `start`, if there is a driver, the limit allows it and the driver does.
    fn pin_region(&self, start: usize) -> bool {
        let Some(first) = NonNull::new(std::ptr::with_exposed_provenance_mut(start)) else { return false };
        let Some((context, bytes)) = self.table().begin_pinning(start) else { return false };
        // SAFETY: the provider below has mapped the region, readable and writable. It is unmapped by `unmap` only,
        // which ends the registration first; and while it is being pinned, it is not unmapped at all.
        let pinned = unsafe { context.register_host(first, bytes) };
        self.table().end_pinning(start, bytes, pinned)
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
    /// Marks a region as being pinned, and its bytes as pinned: how to ask the driver. `None` where it is not to be
    /// asked.
    fn begin_pinning(&mut self, start: usize) -> Option<(Context, usize)> {
        let (context, region) = (self.context.clone()?, self.regions.get_mut(&start)?);
        let State::Plain = region.state else { return None };
        if region.refused == Some(Refusal::Driver) {
            return None;
        }
        if self.statistics.pinned_bytes + region.bytes > self.limit {
            self.statistics.refused_by_limit += u64::from(region.refused.is_none());
            region.refused = Some(Refusal::Limit);
            return None;
        }
        region.state = State::Pinning;
        self.statistics.pinned_bytes += region.bytes;
        Some((context, region.bytes))
    }

    /// Notes what the driver answered: whether the region is pinned.
    fn end_pinning(&mut self, start: usize, bytes: usize, pinned: Result<HostRegistration, CudaError>) -> bool {
        let region = self.regions.get_mut(&start).filter(|region| matches!(region.state, State::Pinning));
        match (pinned, region) {
            (Ok(registration), Some(region)) => {
                region.state = State::Pinned(registration);
                self.statistics.pins += 1;
                return true;
            }
            (Err(error), region) => {
                if let Some(region) = region {
                    region.state = State::Plain;
                    region.refused = Some(Refusal::Driver);
                }
                self.statistics.refused_by_driver += 1;
                self.refusal = Some(error.to_string());
            }
            // Given back meanwhile, though the caller was to have a lease in it. Its memory was left mapped, so what is
            // registered here, and now ends, is nobody else's.
            (Ok(registration), None) => drop(registration),
        }
        self.statistics.pinned_bytes -= bytes;
        false
    }

    /// Takes all registrations out, which the caller ends. The regions count as being pinned meanwhile.
    fn begin_detaching(&mut self) -> Vec<(usize, HostRegistration)> {
        self.context = None;
        let pinned = self.regions.iter_mut().filter(|(_, region)| matches!(region.state, State::Pinned(_)));
        let taken = pinned.map(|(start, region)| (*start, std::mem::replace(&mut region.state, State::Pinning)));
        let registration = |(start, state)| match state {
            State::Pinned(registration) => Some((start, registration)),
            _ => None,
        };
        taken.filter_map(registration).collect()
    }

    fn end_detaching(&mut self, start: usize, bytes: usize, ended: bool) {
        self.statistics.pinned_bytes -= bytes;
        let region = self.regions.get_mut(&start).filter(|region| matches!(region.state, State::Pinning));
        // Else it was given back meanwhile, and left mapped.
        let Some(region) = region else { return };
        (region.state, region.copied) = (if ended { State::Plain } else { State::Stuck }, 0);
    }

    /// A region of so many bytes that the arena has given back and that is still registered.
    fn take_kept(&mut self, bytes: usize) -> Option<MappedRegion> {
        let at = self.kept.iter().position(|region| region.bytes() == bytes)?;
        self.statistics.kept_regions -= 1;
        let mapped = self.kept.swap_remove(at);
        self.insert(&mapped, State::Stuck, Some(Refusal::Driver));
        Some(mapped)
    }

    fn insert(&mut self, mapped: &MappedRegion, state: State, refused: Option<Refusal>) {
        self.regions.insert(mapped.address(), Region { state, ..Region::new(mapped.bytes(), refused) });
        self.statistics.regions += 1;
        self.statistics.mapped_bytes += mapped.bytes();
    }

    /// Forgets a region that is being given back: its state, if it was known.
    fn forget(&mut self, start: usize) -> Option<State> {
        let region = self.regions.remove(&start)?;
        self.statistics.regions -= 1;
        self.statistics.mapped_bytes -= region.bytes;
        Some(region.state)
    }

    /// The region that has the byte at `address`, if it is one of these.
    fn region_at(&mut self, address: usize) -> Option<&mut Region> {
        let (start, region) = self.regions.range_mut(..=address).next_back()?;
        (address - start < region.bytes).then_some(region)
    }
}

impl<P: Provider> Provider for PinnedProvider<P> {
    /// Pinned, also while some regions are not; that of the provider below for sources, most of which are not.
    fn kind(&self) -> MemoryKind {
        if self.sources { self.provider.kind() } else { MemoryKind::Pinned }
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let kept = self.table().take_kept(bytes);
        if let Some(mapped) = kept {
            return Ok(mapped);
        }
        let mapped = self.provider.map(bytes)?;
        self.table().insert(&mapped, State::Plain, None);
        if !self.sources {
            self.pin_region(mapped.address());
        }
        Ok(mapped)
    }

    fn unmap(&self, mapped: MappedRegion) {
        // Before it is unmapped: after that, another thread may have a new region of this address.
        let state = self.table().forget(mapped.address());
        let ended = match state {
            None | Some(State::Plain | State::Purging) => true,
            Some(State::Pinning | State::Stuck) => false,
            Some(State::Pinned(registration)) => {
                let ended = registration.end();
                self.table().statistics.pinned_bytes -= mapped.bytes();
                ended
            }
        };
        if ended {
            self.provider.unmap(mapped);
            return;
        }
        let mut table = self.table();
        if self.sources {
            // The device may still read from it, which harms nobody.
            table.statistics.kept_regions += 1;
            table.kept.push(mapped);
        } else {
            // The device may still write to it, so it stays mapped: nobody else may get these pages.
            table.statistics.leaked_regions += 1;
        }
    }

    /// False for a part of a region that is pinned or being pinned, whose pages must stay.
    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let address = start.as_ptr().addr();
        match self.table().region_at(address) {
            Some(region) if matches!(region.state, State::Plain) => region.state = State::Purging,
            _ => return false,
        }
        // SAFETY: the caller's promise; the provider below has mapped the region, because all of this one's are its.
        let purged = unsafe { self.provider.purge(start, bytes) };
        if let Some(region) = self.table().region_at(address) {
            region.state = State::Plain;
        }
        purged
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
            if let (State::Pinned(registration), Some(context)) = (region.state, &table.context) {
                context.count_leak(registration.bytes());
                std::mem::forget(registration);
            }
        }
    }
}
