//! Registrations that failed because of their size: a limit of pinned memory is reached (`ulimit -l`, a device's own).
//! This says nothing about filesystems, so their files are not left alone for it. As many bytes or more are not tried
//! again until a region is unregistered, or for a while; fewer are.

use std::time::Instant;

use crate::filesystems::REGISTRATION_RETRY;
use crate::wire::Wire;

/// What could not be registered, though a page could.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    /// So many bytes, and until when no more of them are tried.
    found: Option<(usize, Instant)>,
}

impl Shortage {
    /// Whether so many bytes are not to be tried now.
    pub(super) fn refuses(&self, bytes: usize, now: Instant) -> bool {
        self.found.is_some_and(|(refused, until)| bytes >= refused && now < until)
    }

    /// So many bytes could not be registered.
    pub(super) fn begin(&mut self, bytes: usize, now: Instant) {
        self.found = Some((bytes, now + REGISTRATION_RETRY));
    }

    /// There may be room again.
    pub(super) fn end(&mut self) {
        self.found = None;
    }
}

/// A page of most systems.
#[repr(align(4096))]
struct Page([u8; 4096]);

/// Whether a page of this process's own memory can be registered now. If it cannot, a failed registration has another
/// cause than its size: the device, or a limit that is used up to the last page.
pub(super) fn can_register_page<W: Wire>(wire: &mut W) -> bool {
    let page = Box::new(Page([0; 4096]));
    let address = (&raw const page.0).expose_provenance();
    // SAFETY: the page stays until the end of this function, which unregisters it before.
    let registered = unsafe { wire.register(address, size_of::<Page>()) };
    let can = registered.is_ok();
    registered.into_iter().for_each(|(region, _)| wire.unregister(region));
    drop(page);
    can
}
