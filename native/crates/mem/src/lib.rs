//! The arena: the only source of block memory. (Stand-in with the final API; being replaced.)
#![allow(missing_docs)]
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemError {
    /// The limit (or the system) refuses: `requested`, `leased`, `limit` in bytes.
    OutOfMemory { requested: usize, leased: usize, limit: usize },
    /// The address is not the start of a live lease.
    NotLeased { address: usize },
}
impl std::fmt::Display for MemError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
impl std::error::Error for MemError {}

#[derive(Debug)]
pub struct Arena {
    limit: AtomicUsize,
    leased: AtomicUsize,
    live: Mutex<HashMap<usize, usize>>,
}
impl Arena {
    /// An arena over host memory.
    pub fn host(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: AtomicUsize::new(limit), leased: AtomicUsize::new(0), live: Mutex::default() })
    }
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }
    /// Raw lease for the JVM: 64-byte aligned.
    pub fn lease_raw(&self, bytes: usize) -> Result<NonNull<u8>, MemError> {
        let (leased, limit) = (self.leased.load(Ordering::Relaxed), self.limit.load(Ordering::Relaxed));
        if leased + bytes > limit {
            return Err(MemError::OutOfMemory { requested: bytes, leased, limit });
        }
        let layout = Layout::from_size_align(bytes.max(64), 64).expect("layout");
        let p = NonNull::new(unsafe { alloc(layout) }).expect("memory");
        self.leased.fetch_add(layout.size(), Ordering::Relaxed);
        self.live.lock().expect("lock").insert(p.as_ptr() as usize, layout.size());
        Ok(p)
    }
    pub fn release_raw(&self, address: usize) -> Result<(), MemError> {
        let Some(size) = self.live.lock().expect("lock").remove(&address) else {
            return Err(MemError::NotLeased { address });
        };
        self.leased.fetch_sub(size, Ordering::Relaxed);
        unsafe { dealloc(address as *mut u8, Layout::from_size_align(size, 64).expect("layout")) };
        Ok(())
    }
    /// Owned lease for native code.
    pub fn lease(self: &Arc<Self>, bytes: usize) -> Result<Lease, MemError> {
        let ptr = self.lease_raw(bytes)?;
        Ok(Lease { arena: Arc::clone(self), ptr, bytes })
    }
    pub fn leased_bytes(&self) -> usize {
        self.leased.load(Ordering::Relaxed)
    }
    pub fn reserved_bytes(&self) -> usize {
        self.leased_bytes()
    }
    /// Checks every invariant.
    pub fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Debug)]
pub struct Lease {
    arena: Arc<Arena>,
    ptr: NonNull<u8>,
    bytes: usize,
}
unsafe impl Send for Lease {}
unsafe impl Sync for Lease {}
impl Lease {
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }
    pub fn len(&self) -> usize {
        self.bytes
    }
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
    pub fn as_slice(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.bytes) }
    }
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.bytes) }
    }
}
impl Drop for Lease {
    fn drop(&mut self) {
        let _ = self.arena.release_raw(self.ptr.as_ptr() as usize);
    }
}
