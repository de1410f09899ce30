//! Regions of a GPU's memory.

use sluice_cuda::{Context, DeviceMemory};
use sluice_mem::{MapError, MappedRegion, MemoryKind, Provider, SEGMENT_BYTES};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of an ordinary region. Few large allocations: each is exported to UCX as one, and making one takes about a
/// millisecond.
pub const CHUNK_BYTES: usize = 1 << 30;

/// Allocates memory of a GPU (`cuMemAlloc`), each time 64 MiB more than is asked for: the driver aligns to 2 MiB, and
/// regions begin at multiples of 64 MiB. It is plain memory of the driver, not of a pool and not mapped by parts,
/// because that is what UCX exports to other processes of the machine.
///
/// `unmap` frees it, which lets the driver wait for the device's work; see [`crate::StreamArena`] for when that is. On
/// a device that is lost nothing is freed. What is still mapped when the provider ends is left as it is, and counted by
/// the context.
#[derive(Debug)]
pub struct DeviceProvider {
    context: Context,
    ordinal: u32,
    /// By the region's address, which is not where the allocation begins.
    mapped: Mutex<BTreeMap<usize, DeviceMemory>>,
}

impl DeviceProvider {
    /// Regions of the memory of the context's device.
    pub fn new(context: Context) -> Self {
        let ordinal = u32::try_from(context.device().facts().ordinal).unwrap_or(u32::MAX);
        Self { context, ordinal, mapped: Mutex::default() }
    }

    fn mapped(&self) -> MutexGuard<'_, BTreeMap<usize, DeviceMemory>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for DeviceProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Device(self.ordinal)
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let memory = self
            .context
            .allocate(self.footprint(bytes))
            .map_err(|error| MapError { bytes, reason: error.to_string() })?;
        let start = usize::try_from(memory.address().0).ok().and_then(|at| at.checked_next_multiple_of(SEGMENT_BYTES));
        let address = start.ok_or_else(|| MapError { bytes, reason: format!("memory at {}", memory.address()) })?;
        self.mapped().insert(address, memory);
        // SAFETY: the padded allocation has `bytes` bytes from its first multiple of `SEGMENT_BYTES` on; it stays
        // allocated until `unmap`, because `mapped` keeps it, and nobody else was told of it.
        Ok(unsafe { MappedRegion::of_device(self.ordinal, address, bytes) })
    }

    fn unmap(&self, region: MappedRegion) {
        let memory = self.mapped().remove(&region.address());
        // Not under the lock: the driver may wait here.
        drop(memory);
    }

    fn footprint(&self, bytes: usize) -> usize {
        bytes.saturating_add(SEGMENT_BYTES)
    }
}

impl Drop for DeviceProvider {
    fn drop(&mut self) {
        for (_, memory) in std::mem::take(&mut *self.mapped()) {
            // A lease in it was never released, so the device may still use it.
            self.context.count_leak(memory.bytes());
            std::mem::forget(memory);
        }
    }
}
