//! The sort of pairs of a number and a reference.

use sluice_cuda::Wait;
use sluice_gpu_mem::ArenaStream;

use crate::declined::Declined;
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::radix::{KeyArrays, RadixScratch, sort_by_digit};
use crate::scratch::Layout;
use crate::staging::Staging;
use crate::submit::{put, settled, start};

/// Bits of a pass.
const DIGIT_BITS: u32 = 8;

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
    let count = pairs.len();
    if u32::try_from(count).is_err() {
        return Err(Declined::TooLarge("pairs of a sort"));
    }
    let mut layout = Layout::default();
    let input = layout.array::<[u64; 2]>(count);
    let output = layout.array::<[u64; 2]>(count);
    let [keys, other_keys] = [(); 2].map(|()| layout.array::<u64>(count));
    let [references, other_references] = [(); 2].map(|()| layout.array::<u32>(count));
    let bits_at = layout.array::<u64>(2);
    let scratch = RadixScratch::of(&mut layout, count, 0);
    let lease = layout.lease(stream, "the memory that the pairs need", wait)?;
    let (base, on) = (lease.address(), stream.stream());
    let (input, output, bits_at) = (input.in_lease(base), output.in_lease(base), bits_at.in_lease(base));
    let mut arrays = KeyArrays {
        keys: keys.in_lease(base),
        references: references.in_lease(base),
        other_keys: other_keys.in_lease(base),
        other_references: other_references.in_lease(base),
        count,
        wide: true,
    };
    let mut bits = [0u64, u64::MAX];
    // Comes in pieces, and the last of them may not come.
    let mut result = vec![[0u64; 2]; count];
    // SAFETY: every address is of an array of this lease with the type and length that its kernel takes; the lease is
    // used on its own stream only; pairs and bits are there until `get_all` or `settled` has waited for all of it, and
    // any numbers are pairs.
    let sorted = settled(on, wait, || unsafe {
        put(on, bits_at, &bits)?;
        put(on, input, pairs)?;
        let blocks = kernels.blocks_for(count.div_ceil(256) as u64);
        start!(on, &kernels.sort_split, blocks, input, count as u64, arrays.keys, arrays.references, bits_at)?;
        staging.get_all(on, bits_at, &mut bits, wait)?;
        let differ = bits[0] & !bits[1];
        for shift in (0..u64::BITS).step_by(DIGIT_BITS as usize).filter(|shift| differ >> shift & 0xff != 0) {
            sort_by_digit(kernels, on, scratch.in_lease(base), &mut arrays, shift)?;
        }
        start!(on, &kernels.sort_join, blocks, input, count as u64, arrays.references, output)?;
        staging.get_all(on, output, &mut result, wait)
    });
    stream.free(lease);
    sorted.map(|()| pairs.copy_from_slice(&result))
}
