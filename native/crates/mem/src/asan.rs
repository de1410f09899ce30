//! What AddressSanitizer is told of the arena, when the crate is built for it (`--cfg sluice_asan`,
//! `tools/verify-native asan`).
//!
//! It knows of mappings, not of leases within them. So everything mapped is poisoned except for the bytes that each
//! lease asked for: an access beyond a lease, or after its end, is then reported where it happens. Nothing is done in
//! an ordinary build.

#[cfg(sluice_asan)]
mod region {
    unsafe extern "C" {
        fn __asan_poison_memory_region(start: usize, bytes: usize);
        fn __asan_unpoison_memory_region(start: usize, bytes: usize);
    }

    pub(crate) fn poison(address: usize, bytes: usize) {
        // SAFETY: changes only what the sanitizer knows of these addresses. A provider has mapped them for the arena,
        // in this process or on a GPU, whose addresses this process uses for nothing else.
        unsafe { __asan_poison_memory_region(address, bytes) };
    }

    pub(crate) fn unpoison(address: usize, bytes: usize) {
        // SAFETY: changes only what the sanitizer knows of these addresses. A provider has mapped them for the arena,
        // in this process or on a GPU, whose addresses this process uses for nothing else.
        unsafe { __asan_unpoison_memory_region(address, bytes) };
    }
}

#[cfg(not(sluice_asan))]
mod region {
    #[inline(always)]
    pub(crate) fn poison(_: usize, _: usize) {}

    #[inline(always)]
    pub(crate) fn unpoison(_: usize, _: usize) {}
}

pub(crate) use region::{poison, unpoison};
