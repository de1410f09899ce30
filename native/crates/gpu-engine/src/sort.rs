//! The sort of pairs of a number and a reference.

use sluice_cuda::{Context, DeviceAddress, Stream, Wait};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::radix::{KeyArrays, RadixArrays, RadixScratch, sort_by_digit};
use crate::scratch::Layout;
use crate::staging::Staging;
use crate::submit::{put, settled, start};

/// Bits of a pass.
const DIGIT_BITS: u32 = 8;
const PAIR_BYTES: usize = size_of::<[u64; 2]>();

/// Sorts pairs by their first number, as unsigned ones; pairs of the same number stay in order. Waits twice: for the
/// digits in which the numbers differ, and for the result. The pairs are as they were if it is declined.
///
/// # Errors
/// No memory; more than 2^32 pairs; the device's errors.
pub fn sort_pairs(
    kernels: &Kernels,
    stream: &ArenaStream,
    pairs: &mut [[u64; 2]],
    wait: Wait<'_>,
) -> Result<(), Declined> {
    let mut staging = Staging::plain(stream.stream().context(), size_of_val(pairs).min(STAGING_BYTES))?;
    sort_pairs_through(kernels, stream, &mut staging, pairs, wait)
}

/// As [`sort_pairs`]: all comes to the host by way of the staging buffer.
///
/// # Errors
/// Those of [`sort_pairs`].
pub(crate) fn sort_pairs_through(
    kernels: &Kernels,
    stream: &ArenaStream,
    staging: &mut Staging,
    pairs: &mut [[u64; 2]],
    wait: Wait<'_>,
) -> Result<(), Declined> {
    let (placed, lease) = PlacedPairs::of(stream, pairs.len(), wait)?;
    let on = stream.stream();
    // Comes in pieces, and the last of them may not come.
    let mut result = vec![[0u64; 2]; pairs.len()];
    // SAFETY: the lease is used on its own stream only; the pairs are there until `get` or `settled` has waited.
    let sorted = settled(on, wait, || unsafe {
        placed.copy(on, pairs)?;
        placed.submit(kernels, on, staging, wait)?;
        placed.get(on, staging, &mut result, wait)
    });
    stream.free(lease);
    sorted.map(|()| pairs.copy_from_slice(&result))
}

/// Pairs in pinned memory, which the driver copies without a buffer of its own; and as much for the sorted ones, so
/// that the pairs are as they were if a sort is declined.
pub struct PinnedPairs {
    pairs: Staging,
    sorted: Staging,
    /// For what is looked at before the passes.
    bits: Staging,
}

impl PinnedPairs {
    /// Room for so many pairs, all of them zeros.
    ///
    /// # Errors
    /// The system has no memory, or the driver cannot pin so much.
    pub fn new(context: &Context, count: usize) -> Result<Self, Declined> {
        let bytes = count.checked_mul(PAIR_BYTES).ok_or(Declined::TooLarge("pairs of a sort"))?;
        let pinned = |bytes| Staging::pinned(context, bytes);
        Ok(Self { pairs: pinned(bytes)?, sorted: pinned(bytes)?, bits: pinned(2 * size_of::<u64>())? })
    }

    /// The pairs, at least as many as were asked for.
    pub fn pairs(&mut self) -> &mut [[u64; 2]] {
        // SAFETY: any numbers are a pair.
        unsafe { self.pairs.values() }
    }

    /// Sorts the first `count` pairs as [`sort_pairs`] does, and gives them in their order.
    ///
    /// # Errors
    /// Those of [`sort_pairs`]; there is no room for so many.
    pub fn sort(
        &mut self,
        kernels: &Kernels,
        stream: &ArenaStream,
        count: usize,
        wait: Wait<'_>,
    ) -> Result<&[[u64; 2]], Declined> {
        let Self { pairs, sorted, bits } = self;
        // SAFETY: any numbers are a pair.
        let pairs: &[[u64; 2]] = unsafe { pairs.values() };
        let pairs = pairs.get(..count).ok_or(Declined::TooLarge("pairs of a sort"))?;
        let (placed, lease) = PlacedPairs::of(stream, count, wait)?;
        let on = stream.stream();
        // SAFETY: the lease is used on its own stream only. The pairs are there until the stream's work is done, or for
        // ever (`Staging`); any numbers are pairs.
        let sorted = settled(on, wait, || unsafe {
            placed.copy(on, pairs)?;
            placed.submit(kernels, on, bits, wait)?;
            sorted.get::<[u64; 2]>(on, placed.output, count, wait)
        });
        stream.free(lease);
        sorted
    }
}

/// Memory of the device for pairs.
pub(crate) struct PlacedPairs {
    input: u64,
    output: u64,
    arrays: KeyArrays,
    bits: u64,
    radix: RadixArrays,
}

impl PlacedPairs {
    /// # Errors
    /// More than 2^32 pairs; no memory.
    pub(crate) fn of(stream: &ArenaStream, count: usize, wait: Wait<'_>) -> Result<(Self, StreamLease), Declined> {
        if u32::try_from(count).is_err() {
            return Err(Declined::TooLarge("pairs of a sort"));
        }
        let mut layout = Layout::default();
        let input = layout.array::<[u64; 2]>(count);
        let output = layout.array::<[u64; 2]>(count);
        let [keys, other_keys] = [(); 2].map(|()| layout.array::<u64>(count));
        let [references, other_references] = [(); 2].map(|()| layout.array::<u32>(count));
        let bits = layout.array::<u64>(2);
        let scratch = RadixScratch::of(&mut layout, count, 0);
        let lease = layout.lease(stream, "the memory that the pairs need", wait)?;
        let base = lease.address();
        let arrays = KeyArrays {
            keys: keys.in_lease(base),
            references: references.in_lease(base),
            other_keys: other_keys.in_lease(base),
            other_references: other_references.in_lease(base),
            count,
            wide: true,
        };
        let (input, output, bits) = (input.in_lease(base), output.in_lease(base), bits.in_lease(base));
        Ok((Self { input, output, arrays, bits, radix: scratch.in_lease(base) }, lease))
    }

    pub(crate) fn count(&self) -> usize {
        self.arrays.count
    }

    /// Copies the pairs to the device.
    ///
    /// # Safety
    /// The lease is there, and the pairs too, until the work is done.
    pub(crate) unsafe fn copy(&self, stream: &Stream, pairs: &[[u64; 2]]) -> Result<(), Declined> {
        // SAFETY: the caller's promise; there is room for all pairs.
        unsafe { put(stream, self.input, pairs) }
    }

    /// Sorts them: waits for the digits in which the numbers differ, and leaves the rest in the stream.
    ///
    /// # Safety
    /// The lease is there until the work is done, and nobody else uses it.
    pub(crate) unsafe fn submit(
        &self,
        kernels: &Kernels,
        stream: &Stream,
        staging: &mut Staging,
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        let (mut arrays, count) = (self.arrays, self.arrays.count as u64);
        let blocks = kernels.blocks_for(count.div_ceil(256));
        // SAFETY: every address is of an array of the lease with the type and length that its kernel takes; any
        // numbers are bits.
        unsafe {
            stream.fill(DeviceAddress(self.bits), 0, 8)?;
            stream.fill(DeviceAddress(self.bits + 8), 0xff, 8)?;
            start!(stream, &kernels.sort_split, blocks, self.input, count, arrays.keys, arrays.references, self.bits)?;
            let bits = staging.get::<u64>(stream, self.bits, 2, wait)?;
            let differ = bits[0] & !bits[1];
            for shift in (0..u64::BITS).step_by(DIGIT_BITS as usize).filter(|shift| differ >> shift & 0xff != 0) {
                sort_by_digit(kernels, stream, self.radix, &mut arrays, shift)?;
            }
            start!(stream, &kernels.sort_join, blocks, self.input, count, arrays.references, self.output)
        }
    }

    /// Copies the sorted pairs to the host.
    ///
    /// # Safety
    /// The lease is there.
    pub(crate) unsafe fn get(
        &self,
        stream: &Stream,
        staging: &mut Staging,
        target: &mut [[u64; 2]],
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        // SAFETY: there are as many pairs; any numbers are pairs.
        unsafe { staging.get_all(stream, self.output, target, wait) }
    }
}
