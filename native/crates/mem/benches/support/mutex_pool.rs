//! What the seed calls the default pool, for comparison: one mutex, best fit, a free list per thread. A thread whose
//! list has no fitting block borrows from the lists of others, last from the shared one, which has all memory at first;
//! what is left of a borrowed block stays with the lender. In the end one list after the other is merged into the
//! asker's, so that free neighbours of different threads are joined, until a block fits.
//!
//! Stronger than the seed's in two ways, so that it loses by its design alone: lists are trees (a search is
//! logarithmic), and the shared list is asked last, which keeps its memory compact (asked first it touches ever new
//! pages).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

const GRANULE: usize = 256;

/// Free blocks of one thread.
#[derive(Default)]
struct FreeList {
    by_size: BTreeSet<(usize, usize)>,
    by_address: BTreeMap<usize, usize>,
}

impl FreeList {
    /// Takes the smallest block of at least `bytes`: its address and size.
    fn take(&mut self, bytes: usize) -> Option<(usize, usize)> {
        let (size, address) = *self.by_size.range((bytes, 0)..).next()?;
        self.by_size.remove(&(size, address));
        self.by_address.remove(&address);
        Some((address, size))
    }

    /// Adds a block, joined with its free neighbours in this list.
    fn give(&mut self, mut address: usize, mut size: usize) {
        if let Some((&before, &bytes)) = self.by_address.range(..address).next_back()
            && before + bytes == address
        {
            self.by_size.remove(&(bytes, before));
            self.by_address.remove(&before);
            address = before;
            size += bytes;
        }
        if let Some(bytes) = self.by_address.remove(&(address + size)) {
            self.by_size.remove(&(bytes, address + size));
            size += bytes;
        }
        self.by_size.insert((size, address));
        self.by_address.insert(address, size);
    }
}

impl FreeList {
    /// Takes `bytes` of the smallest block that has them; the rest of it stays here.
    fn cut(&mut self, bytes: usize) -> Option<usize> {
        let (address, size) = self.take(bytes)?;
        if size > bytes {
            self.give(address + bytes, size - bytes);
        }
        Some(address)
    }
}

struct Lists {
    /// One per thread, then the shared one.
    free: Vec<FreeList>,
    /// Bytes in them.
    free_bytes: usize,
    /// Bytes from the start that were ever handed out.
    touched: usize,
}

/// The pool over one mapping.
pub struct MutexPool {
    lists: Mutex<Lists>,
    start: usize,
    capacity: usize,
}

impl MutexPool {
    pub fn new(capacity: usize, threads: usize) -> Self {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping where the kernel likes; backed when it is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), capacity, prot, flags | libc::MAP_NORESERVE, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: advice on how to back the new mapping; the arena's regions get the same.
        unsafe { libc::madvise(start, capacity, libc::MADV_HUGEPAGE) };
        let start = start.expose_provenance();
        let mut free: Vec<FreeList> = (0..=threads).map(|_| FreeList::default()).collect();
        free[threads].give(start, capacity);
        Self { lists: Mutex::new(Lists { free, free_bytes: capacity, touched: 0 }), start, capacity }
    }

    pub fn allocate(&self, thread: usize, bytes: usize) -> Option<usize> {
        let bytes = bytes.next_multiple_of(GRANULE);
        let mut lists = self.lists.lock().unwrap();
        let address = lists.find(thread, bytes)?;
        lists.free_bytes -= bytes;
        lists.touched = lists.touched.max(address + bytes - self.start);
        Some(address)
    }

    pub fn free(&self, thread: usize, address: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(GRANULE);
        let mut lists = self.lists.lock().unwrap();
        lists.free[thread].give(address, bytes);
        lists.free_bytes += bytes;
    }

    /// Bytes that other threads cannot allocate, and the size of the span that was ever handed out.
    pub fn taken_and_reserved(&self) -> (usize, usize) {
        let lists = self.lists.lock().unwrap();
        (self.capacity - lists.free_bytes, lists.touched)
    }
}

impl Lists {
    fn find(&mut self, thread: usize, bytes: usize) -> Option<usize> {
        let own = self.free[thread].cut(bytes);
        own.or_else(|| (0..self.free.len()).find_map(|other| self.free[other].cut(bytes))).or_else(|| {
            (0..self.free.len()).filter(|&other| other != thread).find_map(|other| self.merge(thread, other, bytes))
        })
    }

    /// Merges the list of `other` into that of `thread`, and tries again.
    fn merge(&mut self, thread: usize, other: usize, bytes: usize) -> Option<usize> {
        let list = std::mem::take(&mut self.free[other]);
        list.by_address.into_iter().for_each(|(address, size)| self.free[thread].give(address, size));
        self.free[thread].cut(bytes)
    }
}

impl Drop for MutexPool {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, not used any more.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.start), self.capacity) };
    }
}
