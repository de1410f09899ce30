//! Registrations that failed because so much memory may not be pinned now: a limit is reached (`ulimit -l`, a device's
//! own). This says nothing about filesystems, so their files are not left alone for it. As many bytes or more are not
//! mapped to be registered until as many have been unregistered, or for a while; fewer are.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::time::Instant;

use sluice_mem::MemoryKind;

use super::region::SMALL_REGION_BYTES;
use crate::filesystems::REGISTRATION_RETRY;
use crate::wire::Wire;

/// A page of most systems.
const PAGE_BYTES: usize = 4096;

/// So many bytes could not be registered.
#[derive(Debug)]
struct Refused {
    bytes: usize,
    until: Instant,
    /// Bytes that were unregistered since.
    freed: usize,
    /// Whether they could not be registered although as many idle bytes had been given up for them.
    has_evicted: bool,
}

impl Refused {
    fn refuses(&self, bytes: usize, idle_bytes: usize, now: Instant) -> bool {
        let may_fit = self.freed >= self.bytes || !self.has_evicted && idle_bytes >= bytes;
        bytes >= self.bytes && now < self.until && !may_fit
    }
}

/// What could not be registered. Small and large regions are remembered apart: where a small one fits again, a large
/// one need not.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    small: Option<Refused>,
    large: Option<Refused>,
}

impl Shortage {
    /// Whether so many bytes are not to be mapped now, because they could not be registered: not even in place of the
    /// idle regions, which have `idle_bytes`.
    pub(super) fn refuses(&self, bytes: usize, idle_bytes: usize, now: Instant) -> bool {
        [&self.small, &self.large].into_iter().flatten().any(|refused| refused.refuses(bytes, idle_bytes, now))
    }

    /// So many bytes could not be registered, after so many idle ones had been given up for them.
    pub(super) fn begin(&mut self, bytes: usize, evicted: usize, now: Instant) {
        let refused = if bytes as u64 > SMALL_REGION_BYTES { &mut self.large } else { &mut self.small };
        let least = refused.as_ref().filter(|known| now < known.until && known.freed < known.bytes);
        let least = least.map_or(bytes, |known| known.bytes.min(bytes));
        let has_evicted = evicted >= bytes;
        *refused = Some(Refused { bytes: least, until: now + REGISTRATION_RETRY, freed: 0, has_evicted });
    }

    /// So many bytes were unregistered.
    pub(super) fn unregistered(&mut self, bytes: usize) {
        for refused in [&mut self.small, &mut self.large].into_iter().flatten() {
            refused.freed = refused.freed.saturating_add(bytes);
        }
    }
}

/// Whether a registration of so many bytes of a file has failed because of its size: as many bytes of this process's
/// own memory cannot be registered either, but a page can. If they can, it is the file or its filesystem; if not even a
/// page can, it is the device, or a limit that is used up to the last page.
pub(super) fn is_too_large<W: Wire>(wire: &mut W, bytes: usize) -> bool {
    !can_register(wire, bytes) && bytes > PAGE_BYTES && can_register(wire, PAGE_BYTES)
}

/// Whether so many bytes of this process's own memory can be registered now.
fn can_register<W: Wire>(wire: &mut W, bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes.max(PAGE_BYTES), PAGE_BYTES) else { return false };
    // SAFETY: the layout has at least a page.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return false;
    }
    // SAFETY: the memory stays until the end of this function, which unregisters it before.
    let registered = unsafe { wire.register(memory.expose_provenance(), layout.size(), MemoryKind::Host) };
    let can = registered.is_ok();
    registered.into_iter().for_each(|(region, _)| wire.unregister(region));
    // SAFETY: allocated above with this layout, and not registered any more.
    unsafe { dealloc(memory, layout) };
    can
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: usize = SMALL_REGION_BYTES as usize;
    const LARGE: usize = 4 << 20;

    #[test]
    fn as_many_bytes_are_tried_again_when_as_many_were_unregistered() {
        let (mut shortage, now) = (Shortage::default(), Instant::now());
        shortage.begin(LARGE, 0, now);
        assert!(shortage.refuses(LARGE, 0, now) && shortage.refuses(LARGE + 1, LARGE, now));
        assert!(!shortage.refuses(LARGE - 1, 0, now) && !shortage.refuses(SMALL, 0, now), "fewer are tried");
        assert!(!shortage.refuses(LARGE, LARGE, now), "in place of idle ones");
        shortage.unregistered(LARGE - 1);
        assert!(shortage.refuses(LARGE, LARGE - 1, now));
        shortage.unregistered(1);
        assert!(!shortage.refuses(LARGE, 0, now));
        shortage.begin(LARGE, 0, now);
        assert!(!shortage.refuses(LARGE, 0, now + REGISTRATION_RETRY), "or after a while");
    }

    #[test]
    fn a_small_part_that_fits_again_says_nothing_of_a_large_one() {
        let (mut shortage, now) = (Shortage::default(), Instant::now());
        shortage.begin(LARGE, 0, now);
        shortage.begin(SMALL, 0, now);
        shortage.unregistered(SMALL);
        assert!(!shortage.refuses(SMALL, 0, now) && shortage.refuses(LARGE, 0, now));
    }

    #[test]
    fn idle_regions_are_not_given_up_again_where_that_did_not_help() {
        let (mut shortage, now) = (Shortage::default(), Instant::now());
        shortage.begin(LARGE, LARGE, now);
        assert!(shortage.refuses(LARGE, 100 * LARGE, now));
    }
}
