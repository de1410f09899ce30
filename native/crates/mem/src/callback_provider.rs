//! A call before a provider's refusal becomes the arena's.

use crate::provider::{MapError, MappedRegion, MemoryKind, Provider};
use std::fmt;
use std::ptr::NonNull;

/// How often a provider is asked for one region at most. A callback that says each time that it has freed memory, of
/// which another process takes all, ends here.
const MOST_ATTEMPTS: usize = 8;

/// What is called with a refusal: whether it has given memory back, so that the provider is asked again.
type OnRefusal = Box<dyn Fn(&MapError) -> bool + Send + Sync>;

/// Asks another provider again after a callback has freed memory (as RMM's `failure_callback_resource_adaptor` does).
pub struct CallbackProvider<P> {
    provider: P,
    on_refusal: OnRefusal,
}

impl<P: Provider> CallbackProvider<P> {
    /// The regions of `provider`. When it refuses one, `on_refusal` is called, and if that is true the provider is
    /// asked again, up to 8 times in all.
    ///
    /// The callback is called on a thread that is in a lease of the arena. It may release leases of that arena; it must
    /// not lease from it, nor purge it, because either would wait for this lease.
    ///
    /// An arena that is refused a region of the ordinary length asks for a shorter one next, and, when that is refused
    /// too, for both again once its threads gave up what they cache: each of these is a refusal of its own, with its
    /// own calls of the callback.
    pub fn new(provider: P, on_refusal: impl Fn(&MapError) -> bool + Send + Sync + 'static) -> Self {
        Self { provider, on_refusal: Box::new(on_refusal) }
    }
}

impl<P: fmt::Debug> fmt::Debug for CallbackProvider<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackProvider").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl<P: Provider> Provider for CallbackProvider<P> {
    fn kind(&self) -> MemoryKind {
        self.provider.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let mut attempt = 1;
        loop {
            match self.provider.map(bytes) {
                Err(refusal) if attempt < MOST_ATTEMPTS && (self.on_refusal)(&refusal) => attempt += 1,
                answer => return answer,
            }
        }
    }

    fn unmap(&self, region: MappedRegion) {
        self.provider.unmap(region);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's promise; every region of this provider is one of the provider below.
        unsafe { self.provider.purge(start, bytes) }
    }

    fn footprint(&self, bytes: usize) -> usize {
        self.provider.footprint(bytes)
    }
}
