//! What the seed calls the default pool, for comparison: one mutex, best fit, a free list per thread; a thread that has run
//! out borrows from others, and in the end free neighbours of different threads are joined.

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

struct Lists {
    free: Vec<FreeList>,
    /// Where memory begins that nobody has had yet.
    fresh: usize,
}

/// The pool over one mapping.
pub struct MutexPool {
    lists: Mutex<Lists>,
    start: usize,
    end: usize,
}

impl MutexPool {
    pub fn new(capacity: usize, threads: usize) -> Self {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping where the kernel likes; backed when it is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), capacity, prot, flags | libc::MAP_NORESERVE, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let start = start.expose_provenance();
        let free = (0..threads).map(|_| FreeList::default()).collect();
        Self { lists: Mutex::new(Lists { free, fresh: start }), start, end: start + capacity }
    }

    pub fn allocate(&self, thread: usize, bytes: usize) -> Option<usize> {
        let bytes = bytes.next_multiple_of(GRANULE);
        let mut lists = self.lists.lock().unwrap();
        let (address, size) = lists.find(thread, bytes, self.end)?;
        if size > bytes {
            lists.free[thread].give(address + bytes, size - bytes);
        }
        Some(address)
    }

    pub fn free(&self, thread: usize, address: usize, bytes: usize) {
        self.lists.lock().unwrap().free[thread].give(address, bytes.next_multiple_of(GRANULE));
    }

    /// Bytes that were ever handed out: free lists do not go back.
    pub fn taken_bytes(&self) -> usize {
        self.lists.lock().unwrap().fresh - self.start
    }
}

impl Lists {
    fn find(&mut self, thread: usize, bytes: usize, end: usize) -> Option<(usize, usize)> {
        if let Some(own) = self.free[thread].take(bytes) {
            return Some(own);
        }
        if self.fresh + bytes <= end {
            let address = self.fresh;
            self.fresh += bytes;
            return Some((address, bytes));
        }
        let borrowed = (0..self.free.len()).find_map(|other| self.free[other].take(bytes));
        borrowed.or_else(|| {
            self.merge();
            self.free[0].take(bytes)
        })
    }

    /// Puts all free blocks in one list, so that neighbours meet.
    fn merge(&mut self) {
        for other in 1..self.free.len() {
            let list = std::mem::take(&mut self.free[other]);
            list.by_address.into_iter().for_each(|(address, size)| self.free[0].give(address, size));
        }
    }
}

impl Drop for MutexPool {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, not used any more.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.start), self.end - self.start) };
    }
}
