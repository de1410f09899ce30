//! The memory that gets write to, where this machine has an RDMA device: registered region by region, so that a get
//! passes the handle of its region and the device writes to pages that stay.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sluice_mem::{MemoryKind, RegisteredRegion, Registrar};

use super::memory;
use super::worker::Worker;
use crate::sys;

/// For so long after a failed registration, the region is not registered: gets into it pass no handle.
const REGISTRATION_RETRY: Duration = Duration::from_secs(60);

/// Regions of received blocks. Before it goes, its handles must have been given back ([`Destinations::unregister_all`])
/// or the context must be gone.
pub(super) struct Destinations {
    /// None where no get passes a handle.
    registrar: Option<Registrar>,
    /// By address of the first byte.
    regions: BTreeMap<usize, Destination>,
    failures: u64,
}

enum Destination {
    /// Its pages stay as long as `region`, which is dropped only after `mem` was unmapped, or with the context.
    Registered { region: RegisteredRegion, mem: sys::Mem },
    /// Nothing is known of the memory; another region may be there by now.
    Refused { bytes: usize, until: Instant },
}

impl Destination {
    fn bytes(&self) -> usize {
        match self {
            Self::Registered { region, .. } => region.bytes(),
            Self::Refused { bytes, .. } => *bytes,
        }
    }
}

impl Destinations {
    pub(super) fn new(registrar: Option<Registrar>) -> Self {
        Self { registrar, regions: BTreeMap::new(), failures: 0 }
    }

    /// The handle for a get to `bytes` bytes at `address`; the first get into a region registers it. None where the
    /// memory is no region's or its region cannot be registered: UCX then does what is needed for this get by itself.
    pub(super) fn handle(&mut self, worker: &Worker, address: usize, bytes: usize) -> Option<sys::Mem> {
        let registrar = self.registrar.as_ref()?;
        let inside = |start: usize, length: usize| bytes <= length && address - start <= length - bytes;
        if let Some((start, known)) = self.regions.range(..=address).next_back()
            && inside(*start, known.bytes())
        {
            match known {
                Destination::Registered { mem, .. } => return Some(*mem),
                Destination::Refused { until, .. } if Instant::now() < *until => return None,
                Destination::Refused { .. } => {}
            }
        }
        let region = registrar.region_of(address).filter(|region| inside(region.start(), region.bytes()))?;
        self.register(worker, region)
    }

    fn register(&mut self, worker: &Worker, region: RegisteredRegion) -> Option<sys::Mem> {
        let (start, bytes) = (region.start(), region.bytes());
        // Without flags: all pages are brought in and pinned now, so that no write by the device has to wait for one.
        let prot = sys::MEM_MAP_PROT_LOCAL_READ | sys::MEM_MAP_PROT_LOCAL_WRITE;
        // SAFETY: a region is mapped as long as there is a `RegisteredRegion` of it. This one goes into the table and
        // leaves it only in `unregister`, after `memory::unmap`, or is dropped with the table, which the wire does
        // after its context.
        match unsafe { memory::map(worker, start, bytes, MemoryKind::Host, 0, prot) } {
            Ok(mem) => {
                self.regions.insert(start, Destination::Registered { region, mem });
                Some(mem)
            }
            Err(error) => {
                if self.failures == 0 {
                    let seconds = REGISTRATION_RETRY.as_secs();
                    eprintln!(
                        "sluice-ucx: memory for received blocks cannot be registered ({bytes} bytes), tried again \
                         every {seconds} s; meanwhile UCX registers for each read: {error}. See `ulimit -l`"
                    );
                }
                self.failures += 1;
                let now = Instant::now();
                self.regions.retain(|_, known| !matches!(known, Destination::Refused { until, .. } if *until <= now));
                self.regions.insert(start, Destination::Refused { bytes, until: now + REGISTRATION_RETRY });
                None
            }
        }
    }

    /// Unregisters the regions that the arena has unmapped since the last call, which unmaps them. No get is under way
    /// into one: a get's lease is kept until the get has ended, a get that never ends has its lease leaked, and a
    /// region with a lease is not unmapped.
    pub(super) fn unregister_given_up(&mut self, worker: &Worker) {
        if self.registrar.as_ref().is_some_and(Registrar::take_notice) {
            self.unregister(worker, RegisteredRegion::is_given_up);
        }
    }

    /// Unregisters everything. No get may be under way.
    pub(super) fn unregister_all(&mut self, worker: &Worker) {
        self.unregister(worker, |_| true);
    }

    fn unregister(&mut self, worker: &Worker, which: impl Fn(&RegisteredRegion) -> bool) {
        self.regions.retain(|_, known| match known {
            Destination::Registered { region, mem } if which(region) => {
                memory::unmap(worker, *mem);
                false
            }
            _ => true,
        });
    }

    /// How often a region could not be registered.
    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// Lets the time pass after which refused regions are tried again.
    #[cfg(test)]
    pub(super) fn end_refusals(&mut self) {
        for known in self.regions.values_mut() {
            if let Destination::Refused { until, .. } = known {
                *until = Instant::now();
            }
        }
    }
}
