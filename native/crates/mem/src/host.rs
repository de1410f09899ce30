//! Regions of ordinary host memory.

use crate::geometry::SEGMENT_BYTES;
use crate::os;
use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use std::ptr::NonNull;

/// Maps anonymous private memory; the kernel backs it page by page, on first touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProvider {
    /// Whether to ask for transparent huge pages (`MADV_HUGEPAGE`).
    pub huge_pages: bool,
}

impl Default for HostProvider {
    fn default() -> Self {
        Self { huge_pages: true }
    }
}

impl Provider for HostProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let start =
            os::map_aligned(bytes, SEGMENT_BYTES).map_err(|error| MapError { bytes, reason: error.to_string() })?;
        if self.huge_pages {
            os::advise_huge(start, bytes);
        }
        // SAFETY:
        // - readable, writable, initialised: a fresh anonymous mapping reads as zero;
        // - nothing else refers to it: `map_aligned` returned the only pointer.
        Ok(unsafe { MappedRegion::new(start, bytes) })
    }

    fn unmap(&self, region: MappedRegion) {
        // SAFETY: a `MappedRegion` owns its memory and is consumed here; its numbers came from `map_aligned` in `map`
        // (the trait: a provider gets back only what it mapped).
        unsafe { os::unmap(region.address(), region.bytes()) };
    }
    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's promise: part of a mapping of `map_aligned` that nothing refers to.
        unsafe { os::discard(start, bytes) }
    }
}
