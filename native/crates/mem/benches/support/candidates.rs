//! The allocators that are compared, behind one interface.

use crate::mutex_pool::MutexPool;
use mimalloc::MiMalloc;
use sluice_mem::Arena;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;

const ALIGN: usize = 64;

/// What an allocator holds, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Footprint {
    /// What other threads cannot allocate: on lease, lost to rounding, and kept in caches of single threads.
    pub taken: usize,
    /// What is mapped (the arena's regions), or was ever handed out (the pool's span).
    pub reserved: usize,
}

/// What is compared. Addresses as numbers, 0 for none.
pub trait Candidate: Sync {
    fn allocate(&self, thread: usize, bytes: usize) -> usize;
    fn free(&self, thread: usize, address: usize, bytes: usize);
    /// What it holds, if it can tell.
    fn footprint(&self) -> Option<Footprint> {
        None
    }
}

impl Candidate for Arc<Arena> {
    fn allocate(&self, _: usize, bytes: usize) -> usize {
        self.lease_raw(bytes).map_or(0, |start| start.as_ptr().expose_provenance())
    }

    fn free(&self, _: usize, address: usize, _: usize) {
        self.release_raw(address).unwrap();
    }

    fn footprint(&self) -> Option<Footprint> {
        let statistics = self.statistics();
        let reserved = statistics.reserved_bytes;
        Some(Footprint { taken: reserved - statistics.free_bytes, reserved })
    }
}

impl Candidate for MutexPool {
    fn allocate(&self, thread: usize, bytes: usize) -> usize {
        MutexPool::allocate(self, thread, bytes).unwrap_or(0)
    }

    fn free(&self, thread: usize, address: usize, bytes: usize) {
        MutexPool::free(self, thread, address, bytes);
    }

    fn footprint(&self) -> Option<Footprint> {
        let (taken, reserved) = self.taken_and_reserved();
        Some(Footprint { taken, reserved })
    }
}

/// One of Rust's global allocators.
pub struct General<A>(pub A);

/// The system's allocator and mimalloc.
pub const SYSTEM: General<System> = General(System);
pub const MIMALLOC: General<MiMalloc> = General(MiMalloc);

impl<A: GlobalAlloc + Sync> Candidate for General<A> {
    fn allocate(&self, _: usize, bytes: usize) -> usize {
        // SAFETY: sizes are above zero, the alignment is a power of two.
        unsafe { self.0.alloc(Layout::from_size_align(bytes, ALIGN).unwrap()) }.expose_provenance()
    }

    fn free(&self, _: usize, address: usize, bytes: usize) {
        // SAFETY: allocated with this layout, freed once.
        unsafe {
            self.0.dealloc(
                std::ptr::with_exposed_provenance_mut(address),
                Layout::from_size_align(bytes, ALIGN).unwrap(),
            );
        }
    }
}

/// Gives every thread the same few bytes: what the benchmark itself costs.
#[repr(align(64))]
pub struct Nothing(pub [std::sync::atomic::AtomicU64; 64 * 8]);

impl Nothing {
    pub fn new() -> Self {
        Self([const { std::sync::atomic::AtomicU64::new(0) }; 64 * 8])
    }
}

impl Candidate for Nothing {
    fn allocate(&self, thread: usize, _: usize) -> usize {
        (&raw const self.0[thread * 8]).expose_provenance()
    }

    fn free(&self, _: usize, _: usize, _: usize) {}
}
