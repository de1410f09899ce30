//! Where regions come from. The arena above is the same for every kind of memory.
//!
//! A [`Provider`] maps and unmaps whole regions; it never sees a lease. Host memory is here ([`crate::HostProvider`]),
//! also such that may be registered with a device ([`crate::RegistrableProvider`]). Pinned host memory and the memory
//! of GPUs are in the crate `sluice-gpu-mem`, because they need a driver. [`crate::LimitedProvider`],
//! [`crate::MeteredProvider`] and [`crate::CallbackProvider`] go around a provider of any kind.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// What kind of memory a provider maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// Ordinary memory of this process.
    Host,
    /// Memory of this process that a GPU's driver keeps at its place, so that the GPU copies from and to it directly.
    Pinned,
    /// Memory of the GPU with this ordinal. It has addresses, but this process neither reads nor writes it.
    Device(u32),
}

impl MemoryKind {
    /// The GPU whose memory it is; `None` for memory that this process reads and writes.
    pub fn device(self) -> Option<u32> {
        match self {
            Self::Host | Self::Pinned => None,
            Self::Device(ordinal) => Some(ordinal),
        }
    }
}

/// A mapped region: owned like a `Box`, given back by [`Provider::unmap`].
///
/// Dropping it does not unmap: the memory is then leaked, which is always safe.
#[derive(Debug)]
pub struct MappedRegion {
    address: usize,
    bytes: usize,
    device: Option<u32>,
}

impl MappedRegion {
    /// Takes ownership of mapped memory of this process.
    ///
    /// # Safety
    /// Until [`Provider::unmap`] receives this value: `start .. start + bytes` is readable and writable by
    /// this process, holds initialised bytes (zero or anything else), and nothing else refers to it.
    pub unsafe fn new(start: NonNull<u8>, bytes: usize) -> Self {
        Self { address: start.as_ptr().expose_provenance(), bytes, device: None }
    }

    /// Takes ownership of memory of the GPU with the ordinal `device`. Nothing in this crate reads or writes it.
    ///
    /// # Safety
    /// Until [`Provider::unmap`] receives this value: `address .. address + bytes` is allocated memory of that GPU, and
    /// nothing else refers to it.
    pub unsafe fn of_device(device: u32, address: usize, bytes: usize) -> Self {
        Self { address, bytes, device: Some(device) }
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The GPU whose memory it is; `None` for memory of this process.
    pub fn device(&self) -> Option<u32> {
        self.device
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
    /// The kind of memory of every region of this provider. The arena asks once, and refuses regions of another one.
    fn kind(&self) -> MemoryKind;

    /// Maps `bytes` (a multiple of [`crate::SEGMENT_BYTES`]) at an address that is a multiple of
    /// [`crate::SEGMENT_BYTES`], above 0 and below 2^48. A region of another shape is refused by the arena and
    /// unmapped.
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

    /// How many bytes a region of `bytes` bytes takes from where the memory comes from: more than `bytes` when the
    /// provider allocates more, to cut an aligned region out of it. This is what [`crate::LimitedProvider`] counts.
    fn footprint(&self, bytes: usize) -> usize {
        bytes
    }
}

/// A provider that others also look at: for its counters, or to register its regions.
impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn kind(&self) -> MemoryKind {
        (**self).kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        (**self).map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        (**self).unmap(region);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's promise, about the same provider.
        unsafe { (**self).purge(start, bytes) }
    }

    fn footprint(&self, bytes: usize) -> usize {
        (**self).footprint(bytes)
    }
}
