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
