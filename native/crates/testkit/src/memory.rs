//! An allocator that refuses what is larger than a test permits.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

thread_local! {
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The system's allocator, for a test to make its global one; of a thread inside [`permitting`] it refuses what is
/// larger.
pub struct RefusingAllocator;

/// Calls `work` while no allocation of this thread may have more than `most` bytes.
pub fn permitting<T>(most: usize, work: impl FnOnce() -> T) -> T {
    struct Unbounded;
    impl Drop for Unbounded {
        fn drop(&mut self) {
            MOST.set(usize::MAX);
        }
    }
    let _unbounded = Unbounded;
    MOST.set(most);
    work()
}

// SAFETY: every call goes to the system's allocator unchanged, or fails as any may; the limit is a `Cell` of constant
// initial value, without a destructor, so that looking at it allocates nothing.
unsafe impl GlobalAlloc for RefusingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if layout.size() > MOST.get() { null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if layout.size() > MOST.get() { null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if size > MOST.get() { null_mut() } else { unsafe { System.realloc(at, layout, size) } }
    }
}
