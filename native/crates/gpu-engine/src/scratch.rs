//! The arrays of a job, in one lease.

use sluice_cuda::{DeviceAddress, Wait};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;

/// Arrays begin at multiples of this.
const ALIGN: usize = 64;

/// Where arrays lie in a lease that is not made yet.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    bytes: usize,
    overflow: bool,
}

/// An array of a layout, by its offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(usize);

impl Layout {
    /// An array of `count` elements of `T`, and 8 bytes more, which loads of whole words may reach into.
    pub(crate) fn array<T>(&mut self, count: usize) -> Place {
        let start = self.bytes;
        let end = count
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_add(start + 8))
            .and_then(|end| end.checked_next_multiple_of(ALIGN))
            .filter(|end| *end < isize::MAX as usize / 2);
        self.overflow |= end.is_none();
        self.bytes = end.unwrap_or(start);
        Place(start)
    }

    /// Memory for all arrays, of the device, for work of the stream.
    ///
    /// # Errors
    /// [`Declined::TooLarge`] with `what`: more than any memory has, or than the arena's limit ever allows, so that
    /// another try would end in the same way. Else those of [`ArenaStream::lease`].
    pub(crate) fn lease(
        &self,
        stream: &ArenaStream,
        what: &'static str,
        wait: Wait<'_>,
    ) -> Result<StreamLease, Declined> {
        if self.overflow || !stream.can_ever_lease(self.bytes) {
            return Err(Declined::TooLarge(what));
        }
        Ok(stream.lease(self.bytes, wait)?)
    }
}

impl Place {
    /// The array's address in a lease that begins at `base`.
    pub(crate) fn in_lease(self, base: DeviceAddress) -> u64 {
        base.plus(self.0).0
    }
}
