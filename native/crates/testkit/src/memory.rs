//! Allocators for tests: one refuses what is larger than a test permits, one counts what a thread holds, one what the
//! process holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
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

/// The system's allocator, for a test to make its global one; it counts the bytes of each thread, for [`live_bytes`].
pub struct CountingAllocator;

/// The bytes that this thread has allocated less those that it has freed, since its start.
pub fn live_bytes() -> i64 {
    LIVE.get()
}

fn count(bytes: usize, sign: i64) {
    LIVE.set(LIVE.get() + sign * bytes as i64);
}

// SAFETY: every call goes to the system's allocator unchanged; the count is a `Cell` of constant initial value, without
// a destructor, so that changing it allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), -1);
        count(size, 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// The system's allocator, for a test to make its global one; it counts the bytes of all threads, for [`heap_bytes`].
pub struct HeapCountingAllocator;

static HEAP_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The bytes that this process has on the heap, if its allocator is [`HeapCountingAllocator`].
pub fn heap_bytes() -> usize {
    HEAP_BYTES.load(Ordering::Relaxed)
}

// SAFETY: every call goes to the system's allocator unchanged; only a number is kept beside. (What is not defined here
// is done by these two.)
unsafe impl GlobalAlloc for HeapCountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HEAP_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}
