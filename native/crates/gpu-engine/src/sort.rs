//! The sort of pairs of a number and a reference.

use sluice_cuda::{Context, DeviceAddress, Stream, Wait};
use sluice_engine::{Abandoned, PairMemory, PairSort};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::encode::Waits;
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::radix::{KeyArrays, RadixArrays, RadixScratch, sort_by_digit};
use crate::scratch::Layout;
use crate::staging::Staging;
use crate::submit::{put, settled, start};

/// Bits of a pass.
const DIGIT_BITS: u32 = 8;
const PAIR_BYTES: usize = size_of::<[u64; 2]>();

/// By what pairs are sorted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// Which number of a pair: 0 or 1.
    word: u64,
    /// Whole digits of it.
    mask: u64,
}

impl Key {
    /// All of the first number.
    pub(crate) const FIRST: Self = Self { word: 0, mask: u64::MAX };
}

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
        placed.submit(kernels, on, Key::FIRST, staging, wait)?;
        placed.get(on, staging, &mut result, wait)
    });
    stream.free(lease);
    sorted.map(|()| pairs.copy_from_slice(&result))
}

/// Sorts pairs of a task's memory, which come and go by way of the staging buffer: the driver sees that only.
///
/// # Errors
/// Those of [`sort_pairs`]; the task does not wait any more; what the device has made is not sorted, or has other
/// pairs.
pub(crate) fn sort_in_memory(
    kernels: &Kernels,
    stream: &ArenaStream,
    staging: &mut Staging,
    sort: PairSort,
    memory: &mut dyn PairMemory,
    waits: Waits<'_>,
) -> Result<(), Declined> {
    let (placed, lease) = PlacedPairs::of(stream, sort.count(), waits.memory)?;
    let (on, wait) = (stream.stream(), waits.work);
    let key = Key { word: 1, mask: sort.mask() };
    let (mut read, mut written) = (Checked::default(), Checked::default());
    // SAFETY: the lease is used on its own stream only, and has room for the pairs on both sides; any bytes are pairs,
    // and the buffer begins at a page and holds whole ones, as the pairs' bytes do.
    let sorted = settled(on, wait, || unsafe {
        staging.put_all(on, placed.input, sort.bytes() as u64, wait, |piece, at| {
            let (_, pairs, _) = piece.align_to_mut::<[u64; 2]>();
            memory.read(at as usize / PAIR_BYTES, pairs).map_err(abandoned)?;
            read.add(pairs);
            Ok::<(), Declined>(())
        })?;
        placed.submit(kernels, on, key, staging, wait)?;
        staging.take_all(on, placed.output, sort.count(), wait, &mut |at, pairs: &[[u64; 2]]| {
            written.add_sorted(pairs, key.mask)?;
            memory.write(at, pairs).map_err(abandoned)
        })
    });
    stream.free(lease);
    sorted?;
    if read.same_pairs(&written) { Ok(()) } else { Err(Declined::WrongResult("other pairs than those of a sort")) }
}

fn abandoned(_: Abandoned) -> Declined {
    Declined::NotTaken("the task does not wait for a sort any more")
}

/// What is looked at of pairs on their way: addresses that the device has made up must not come to a task.
#[derive(Debug, Default)]
struct Checked {
    /// Sums of both numbers, and of their product, which is another one if two pairs have swapped a number.
    sums: [u64; 3],
    /// The digits by which the last pair was sorted.
    last: u64,
}

impl Checked {
    fn add(&mut self, pairs: &[[u64; 2]]) {
        for [address, number] in pairs {
            let product = address.wrapping_mul(number | 1);
            self.sums = [
                self.sums[0].wrapping_add(*address),
                self.sums[1].wrapping_add(*number),
                self.sums[2].wrapping_add(product),
            ];
        }
    }

    fn add_sorted(&mut self, pairs: &[[u64; 2]], mask: u64) -> Result<(), Declined> {
        self.add(pairs);
        let mut last = self.last;
        let in_order = pairs.iter().fold(true, |in_order, pair| {
            let before = std::mem::replace(&mut last, pair[1] & mask);
            in_order & (before <= last)
        });
        self.last = last;
        if in_order { Ok(()) } else { Err(Declined::WrongResult("pairs that are not in order")) }
    }

    fn same_pairs(&self, other: &Self) -> bool {
        self.sums == other.sums
    }
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
            placed.submit(kernels, on, Key::FIRST, bits, wait)?;
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

    /// Sorts them by a key: waits for the digits in which the numbers differ, and leaves the rest in the stream.
    ///
    /// # Safety
    /// The lease is there until the work is done, and nobody else uses it.
    pub(crate) unsafe fn submit(
        &self,
        kernels: &Kernels,
        stream: &Stream,
        key: Key,
        staging: &mut Staging,
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        let (mut arrays, count) = (self.arrays, self.arrays.count as u64);
        let blocks = kernels.blocks_for(count.div_ceil(256));
        // The kernel reads the first number of each pair that it is given.
        let numbers = self.input + key.word * size_of::<u64>() as u64;
        // SAFETY: every address is of an array of the lease with the type and length that its kernel takes, `numbers`
        // too, of which it reads every second one; any numbers are bits.
        unsafe {
            stream.fill(DeviceAddress(self.bits), 0, 8)?;
            stream.fill(DeviceAddress(self.bits + 8), 0xff, 8)?;
            start!(stream, &kernels.sort_split, blocks, numbers, count, arrays.keys, arrays.references, self.bits)?;
            let bits = staging.get::<u64>(stream, self.bits, 2, wait)?;
            let differ = bits[0] & !bits[1] & key.mask;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_are_not_those_of_the_sort_are_found() {
        let pairs = [[16, 9], [24, 2], [8, 3], [32, 2]];
        let mut read = Checked::default();
        pairs.chunks(3).for_each(|piece| read.add(piece));
        let written = |sorted: &[[u64; 2]]| {
            let mut written = Checked::default();
            sorted.chunks(2).try_for_each(|piece| written.add_sorted(piece, 0xFF)).map(|()| read.same_pairs(&written))
        };
        assert_eq!(written(&[[24, 2], [32, 2], [8, 3], [16, 9]]), Ok(true));
        let wrong = Err(Declined::WrongResult("pairs that are not in order"));
        assert_eq!(written(&[[24, 2], [8, 3], [32, 2], [16, 9]]), wrong, "between two pieces");
        assert_eq!(written(&[[24, 2], [32, 2], [16, 9], [8, 3]]), wrong, "in a piece");
        for other in [
            [[24, 2], [32, 2], [16, 3], [8, 9]],
            [[24, 2], [24, 2], [8, 3], [16, 9]],
            [[24, 2], [32, 2], [8, 3], [16, 0x109]],
            [[24, 2], [32, 2], [8, 3], [0, 9]],
        ] {
            assert_eq!(written(&other), Ok(false), "{other:?}");
        }
    }
}
