//! Every call to the operating system that this crate makes.

use std::io;
use std::ptr::{NonNull, null_mut};

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("sluice-mem maps memory with the calls of 64-bit Linux");

/// Maps `bytes` of zeroed private memory at a multiple of `align` (both multiples of the page size, `bytes > 0`).
pub(crate) fn map_aligned(bytes: usize, align: usize) -> io::Result<NonNull<u8>> {
    let padded = bytes.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address the kernel picks replaces no existing mapping.
    let start = unsafe { libc::mmap(null_mut(), padded, prot, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let start = start.cast::<u8>();
    let head = start.align_offset(align);
    // SAFETY: `head < align`, so the offset stays inside the `bytes + align` bytes just mapped.
    let aligned = unsafe { start.add(head) };
    trim(start, head);
    // SAFETY: `head + bytes <= padded`, so the offset is inside or one past the end of the mapping.
    trim(unsafe { aligned.add(bytes) }, align - head);
    NonNull::new(aligned).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Unmaps the surplus of a mapping that only [`map_aligned`] knows of.
fn trim(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's fresh mapping covers `start .. start + bytes` and no reference to it exists. A failure
        // (too many mappings) leaves the surplus mapped and unused.
        unsafe { libc::munmap(start.cast(), bytes) };
    }
}

/// Asks for huge pages; a kernel without them ignores it.
pub(crate) fn advise_huge(start: NonNull<u8>, bytes: usize) {
    // SAFETY: MADV_HUGEPAGE changes how pages are backed, never their contents or access.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// Unmaps a whole mapping.
///
/// # Safety
/// `address .. address + bytes` was mapped by [`map_aligned`] and nothing refers to it any more.
pub(crate) unsafe fn unmap(address: usize, bytes: usize) {
    // SAFETY: the caller's promise is munmap's precondition. It fails only when the kernel has no room to split a
    // mapping; the memory then stays mapped and is never handed out again.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address), bytes) };
}

/// Gives the pages of part of a mapping back: they read as zero afterwards. False when the kernel refuses (locked
/// memory).
///
/// `MADV_DONTNEED` rather than `MADV_FREE`: resident memory falls at once, which is what resource managers measure, and
/// UCX's memory hooks see it, so that no registration of the old pages stays in its cache. (Of a region that is
/// registered by [`crate::RegisteredRegion`] nothing is given back.)
///
/// # Safety
/// `start .. start + bytes` is part of a mapping that [`map_aligned`] made, in whole pages, and nothing refers to it
/// during the call.
pub(crate) unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller's promise; private anonymous memory reads as zero afterwards, which is initialised.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
}

/// A clock of the system that costs a few nanoseconds to read and is some milliseconds behind, in milliseconds since
/// some start.
pub(crate) fn coarse_clock_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec to write to. The clock is there since Linux 2.6.32, so the call does not fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000
}
