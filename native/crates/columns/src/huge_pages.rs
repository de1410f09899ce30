//! Huge pages for memory that is written at many places in turn: with pages of 4 KiB the processor keeps too few of
//! their addresses.

use std::mem::MaybeUninit;

/// Asks the operating system for huge pages for this memory. It may not give them, and pages that the process has
/// already are not changed by the call: an allocator may hand out memory that was used and freed before.
#[cfg(target_os = "linux")]
pub(crate) fn in_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    /// Memory that has not so many bytes keeps usual pages.
    const LEAST_BYTES: usize = 4 << 20;
    /// A huge page of x86-64, and of aarch64 with pages of 4 KiB.
    const HUGE_PAGE: usize = 2 << 20;

    let bytes = size_of_val(memory);
    if cfg!(miri) || bytes < LEAST_BYTES {
        return;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(HUGE_PAGE);
    let whole = bytes.saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
    // SAFETY: `skipped + whole` bytes from `start` are inside `memory`, as `whole` is 0 where `skipped` is more than
    // `bytes`, and then nothing is done to the address; MADV_HUGEPAGE changes how pages are backed, never their
    // contents or access.
    unsafe {
        libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

/// Other operating systems are not asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn in_huge_pages<T>(_: &mut [MaybeUninit<T>]) {}
