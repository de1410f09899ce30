//! Where regions come from. The arena above is the same for every kind of memory.
//!
//! A [`Provider`] maps and unmaps whole regions; it never sees a lease. Host memory is here ([`crate::HostProvider`]),
//! also such that may be registered with a device ([`crate::RegistrableProvider`]); pinned and device memory implement
//! the same trait later.

use std::fmt;
use std::ptr::NonNull;

/// What kind of memory a provider maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Ordinary memory of this process.
    Host,
}

/// A mapped region: owned like a `Box`, given back by [`Provider::unmap`].
///
/// Dropping it does not unmap: the memory is then leaked, which is always safe.
#[derive(Debug)]
pub struct MappedRegion {
    address: usize,
    bytes: usize,
}

impl MappedRegion {
    /// Takes ownership of mapped memory.
    ///
    /// # Safety
    /// Until [`Provider::unmap`] receives this value: `start .. start + bytes` is readable and writable by
    /// this process, holds initialised bytes (zero or anything else), and nothing else refers to it.
    pub unsafe fn new(start: NonNull<u8>, bytes: usize) -> Self {
        Self { address: start.as_ptr().expose_provenance(), bytes }
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A provider's refusal to map a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapError {
    /// Bytes asked for.
    pub bytes: usize,
    /// Why, in words.
    pub reason: String,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot map a region of {} bytes: {}", self.bytes, self.reason)
    }
}

impl std::error::Error for MapError {}

/// Maps, unmaps and purges regions. Called from any thread, never with a lock of the lease path held.
pub trait Provider: fmt::Debug + Send + Sync {
    /// The kind of memory of every region of this provider.
    fn kind(&self) -> MemoryKind;

    /// Maps `bytes` (a multiple of [`crate::SEGMENT_BYTES`]) at an address that is a multiple of
    /// [`crate::SEGMENT_BYTES`] and below 2^48. A region of another shape is refused by the arena and unmapped.
    ///
    /// # Errors
    /// [`MapError`] when there is no such memory now; the arena answers `OutOfMemory`.
    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError>;

    /// Takes a region back that this provider mapped; no lease lies in it. It may be unmapped later.
    fn unmap(&self, region: MappedRegion);

    /// Gives the physical pages behind part of a region back to the system. The part (whole units of 2 MiB) stays
    /// mapped, readable and writable, with any initialised contents. False when nothing was given back.
    ///
    /// A provider of memory whose pages must stay (registered with a device, pinned) leaves this as it is: it does
    /// nothing.
    ///
    /// # Safety
    /// `start .. start + bytes` lies in one region that this provider mapped and has not unmapped, and nothing refers
    /// to it during the call.
    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let _ = (start, bytes);
        false
    }
}
