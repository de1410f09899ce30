//! The arena over a GPU's memory, whose leases this process cannot read.

use crate::arena::{Arena, ArenaOptions};
use crate::error::MemError;
use crate::provider::Provider;
use crate::stats::Statistics;
use std::sync::Arc;

/// An [`Arena`] over the memory of one GPU. A lease is an address that kernels and copies of this GPU use. That a host
/// arena and this are two types is why no lease of a GPU's memory can become a slice, and why a host lease needs no
/// check of its kind.
///
/// A release makes the memory available to every thread at once, also while the GPU still works on it. To release
/// memory in the order of a stream's work is what the crate `sluice-gpu-mem` adds on top.
///
/// Nothing is purged: a GPU's memory is given back in whole regions.
#[derive(Debug)]
pub struct DeviceArena {
    arena: Arena,
    device: u32,
}

impl DeviceArena {
    /// An arena over the regions of `provider`, which maps a GPU's memory. [`ArenaOptions::purge_interval`] means
    /// nothing here.
    ///
    /// # Panics
    /// With a provider of host memory.
    pub fn with_provider(provider: Arc<dyn Provider>, options: &ArenaOptions) -> Arc<Self> {
        let options = ArenaOptions { purge_interval: None, ..options.clone() };
        let arena = Arena::of_any_kind(provider, &options);
        let device = arena.kind().device();
        Arc::new(Self { arena, device: device.expect("a provider of a GPU's memory") })
    }

    /// The GPU's ordinal.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// As [`Arena::lease_raw`]: the address of memory that the caller owns until [`Self::release_raw`]. It is not 0.
    ///
    /// # Errors
    /// As [`Arena::lease_raw`].
    pub fn lease_raw(&self, bytes: usize) -> Result<usize, MemError> {
        self.arena.lease_as(bytes, Some)
    }

    /// Leases memory that is released when the [`DeviceLease`] is dropped.
    ///
    /// # Errors
    /// As [`Arena::lease_raw`].
    pub fn lease(self: &Arc<Self>, bytes: usize) -> Result<DeviceLease, MemError> {
        let address = self.lease_raw(bytes)?;
        Ok(DeviceLease { arena: Arc::clone(self), address, bytes })
    }

    /// Ends the lease that starts at `address`, from any thread.
    ///
    /// # Errors
    /// As [`Arena::release_raw`].
    pub fn release_raw(&self, address: usize) -> Result<(), MemError> {
        self.arena.release_raw(address)
    }

    /// As [`Arena::set_limit`].
    pub fn set_limit(&self, bytes: usize) {
        self.arena.set_limit(bytes);
    }

    /// As [`Arena::leased_bytes`].
    pub fn leased_bytes(&self) -> usize {
        self.arena.leased_bytes()
    }

    /// As [`Arena::reserved_bytes`].
    pub fn reserved_bytes(&self) -> usize {
        self.arena.reserved_bytes()
    }

    /// As [`Arena::trim`].
    pub fn trim(&self, keep_bytes: usize) {
        self.arena.trim(keep_bytes);
    }

    /// As [`Arena::statistics`].
    pub fn statistics(&self) -> Statistics {
        self.arena.statistics()
    }

    /// As [`Arena::last_map_error`].
    pub fn last_map_error(&self) -> Option<String> {
        self.arena.last_map_error()
    }

    /// As [`Arena::check`].
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn check(&self) -> Result<(), String> {
        self.arena.check()
    }

    /// As [`Arena::check_quiet`].
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn check_quiet(&self) -> Result<(), String> {
        self.arena.check_quiet()
    }
}

/// A piece of a GPU's memory, 64-byte aligned, owned by this value and released when it is dropped, on any thread. The
/// GPU must have ended all its work on it by then.
#[derive(Debug)]
pub struct DeviceLease {
    arena: Arc<DeviceArena>,
    address: usize,
    bytes: usize,
}

impl DeviceLease {
    /// The GPU's address of the first byte.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Bytes asked for (the arena may have leased more, by rounding).
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Gives up ownership; the caller must release the memory with [`DeviceArena::release_raw`].
    pub fn into_raw(self) -> usize {
        let address = self.address;
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped afterwards, so the `Arc` is dropped exactly once, here.
        unsafe { std::ptr::drop_in_place(&mut this.arena) };
        address
    }
}

impl Drop for DeviceLease {
    fn drop(&mut self) {
        let released = self.arena.release_raw(self.address);
        debug_assert!(released.is_ok(), "somebody released the address of an owned lease: {released:?}");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::geometry::SEGMENT_BYTES;
    use crate::provider::{MapError, MappedRegion, MemoryKind};
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Regions at made-up addresses of a GPU, one after another, of a kind that may be wrong.
    #[derive(Debug)]
    struct MadeUp {
        kind: MemoryKind,
        device: Option<u32>,
        next: AtomicUsize,
    }

    impl MadeUp {
        fn new(kind: MemoryKind, device: Option<u32>) -> Arc<Self> {
            Arc::new(Self { kind, device, next: AtomicUsize::new(1) })
        }
    }

    impl Provider for MadeUp {
        fn kind(&self) -> MemoryKind {
            self.kind
        }

        fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
            let address = self.next.fetch_add(bytes / SEGMENT_BYTES, SeqCst) * SEGMENT_BYTES;
            Ok(match self.device {
                Some(device) => {
                    // SAFETY: no test touches memory, and no region has the addresses of another one.
                    unsafe { MappedRegion::of_device(device, address, bytes) }
                }
                None => {
                    let start = NonNull::new(std::ptr::without_provenance_mut(address)).expect("not zero");
                    // SAFETY: as above.
                    unsafe { MappedRegion::new(start, bytes) }
                }
            })
        }

        fn unmap(&self, _: MappedRegion) {}
    }

    #[test]
    fn nothing_is_read_or_written_at_the_addresses() {
        let arena = DeviceArena::with_provider(
            MadeUp::new(MemoryKind::Device(3), Some(3)),
            &ArenaOptions { shards: 2, ..ArenaOptions::with_limit(1 << 30) },
        );
        assert_eq!(arena.device(), 3);
        let leases: Vec<DeviceLease> = (0..200).map(|nth| arena.lease(nth * 5_000).expect("memory")).collect();
        assert!(leases[0].is_empty() && leases[7].len() == 35_000 && leases[9].address().is_multiple_of(64));
        let raw = arena.lease(100).expect("memory").into_raw();
        arena.check_quiet().expect("sound");
        drop(leases);
        arena.release_raw(raw).expect("a valid release");
        assert_eq!(arena.release_raw(raw), Err(MemError::NotLeased { address: raw }));
        arena.trim(0);
        arena.check_quiet().expect("sound");
        assert_eq!((arena.leased_bytes(), arena.reserved_bytes(), arena.statistics().purge_passes), (0, 0, 0));
    }

    #[test]
    fn a_region_of_another_kind_than_the_provider_said_is_refused() {
        let options = ArenaOptions { shards: 2, ..ArenaOptions::with_limit(1 << 30) };
        let host = Arena::with_provider(MadeUp::new(MemoryKind::Pinned, Some(0)), &options);
        assert!(host.lease(1).is_err() && host.last_map_error().expect("why").contains("of GPU 0 at"));
        for device in [None, Some(1)] {
            let arena = DeviceArena::with_provider(MadeUp::new(MemoryKind::Device(0), device), &options);
            assert!(arena.lease(1).is_err() && arena.last_map_error().is_some(), "{device:?}");
        }
    }

    #[test]
    #[should_panic(expected = "over a GPU's memory")]
    fn an_arena_whose_leases_are_slices_takes_no_gpu_memory() {
        Arena::with_provider(MadeUp::new(MemoryKind::Device(0), Some(0)), &ArenaOptions::with_limit(1 << 30));
    }
}
