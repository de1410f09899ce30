//! Prefix sums, and the passes of the radix sort.

use sluice_cuda::{Kernel, Stream};

use crate::declined::Declined;
use crate::kernels::Kernels;
use crate::scratch::{Layout, Place};
use crate::submit::start;

/// Values that a block of a prefix sum takes.
const SCAN_TILE: usize = 2048;
/// Keys that a block of the radix sort takes.
const RADIX_TILE: usize = 4096;
const DIGITS: usize = 256;

/// Arrays that sorts and prefix sums need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RadixScratch {
    counts: Place,
    sums: Place,
}

impl RadixScratch {
    /// For sorts of so many keys and prefix sums of so many values.
    pub(crate) fn of(layout: &mut Layout, keys: usize, values: usize) -> Self {
        let counts = keys.div_ceil(RADIX_TILE) * DIGITS;
        Self { counts: layout.array::<u64>(counts), sums: layout.array::<u64>(counts.max(values) / SCAN_TILE + 1) }
    }

    pub(crate) fn in_lease(self, base: sluice_cuda::DeviceAddress) -> RadixArrays {
        RadixArrays { counts: self.counts.in_lease(base), sums: self.sums.in_lease(base) }
    }
}

/// Their addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RadixArrays {
    counts: u64,
    sums: u64,
}

/// Each of `count` values becomes the sum of those before it.
///
/// # Safety
/// There are so many values at `values`, and `arrays` are for as many; nobody else uses them before the work is done.
pub(crate) unsafe fn scan(
    kernels: &Kernels,
    stream: &Stream,
    arrays: RadixArrays,
    values: u64,
    count: usize,
) -> Result<(), Declined> {
    let tiles = count.div_ceil(SCAN_TILE) as u64;
    if tiles == 0 {
        return Ok(());
    }
    // SAFETY: the parameters of these kernels; the caller's promise.
    unsafe {
        start!(stream, &kernels.scan_tiles, tiles, values, count as u64, arrays.sums)?;
        start!(stream, &kernels.scan_sums, 1, arrays.sums, tiles)?;
        start!(stream, &kernels.scan_apply, tiles, values, count as u64, arrays.sums)
    }
}

/// Keys with references: two arrays of each, of which the first has them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyArrays {
    pub(crate) keys: u64,
    pub(crate) references: u64,
    pub(crate) other_keys: u64,
    pub(crate) other_references: u64,
    pub(crate) count: usize,
    /// Whether keys have 8 bytes, else 4.
    pub(crate) wide: bool,
}

/// Sorts by 8 bits of the keys, stable. The arrays change places.
///
/// # Safety
/// As for [`scan`]; the arrays have the keys' type.
pub(crate) unsafe fn sort_by_digit(
    kernels: &Kernels,
    stream: &Stream,
    scratch: RadixArrays,
    arrays: &mut KeyArrays,
    shift: u32,
) -> Result<(), Declined> {
    let KeyArrays { keys, references, other_keys, other_references, count, wide } = *arrays;
    let blocks = count.div_ceil(RADIX_TILE);
    if blocks == 0 {
        return Ok(());
    }
    let (counting, scattering): (&Kernel, &Kernel) = if wide {
        (&kernels.radix_count_u64, &kernels.radix_scatter_u64)
    } else {
        (&kernels.radix_count_u32, &kernels.radix_scatter_u32)
    };
    let n = count as u64;
    // SAFETY: the parameters of these kernels; the caller's promise.
    unsafe {
        start!(stream, counting, blocks as u64, keys, n, shift, scratch.counts)?;
        scan(kernels, stream, scratch, scratch.counts, blocks * DIGITS)?;
        let blocks = blocks as u64;
        start!(stream, scattering, blocks, keys, references, n, shift, scratch.counts, other_keys, other_references)?;
    }
    *arrays = KeyArrays {
        keys: other_keys,
        references: other_references,
        other_keys: keys,
        other_references: references,
        ..*arrays
    };
    Ok(())
}
