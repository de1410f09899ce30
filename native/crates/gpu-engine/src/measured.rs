//! Kernels that do a part of the others' work, to measure it.

use sluice_cuda::{DeviceAddress, Kernel, Module, Stream};

use crate::declined::Declined;
use crate::kernels::Kernels;
use crate::submit::start;

/// Statistics, packing, unpacking and checksums of columns: values of 8 bytes, so many in each column, one column
/// behind another. For measurements; an encode does not need them.
#[derive(Debug)]
pub struct MeasuredKernels {
    statistics: Kernel,
    pack: Kernel,
    unpack: Kernel,
    crc: Kernel,
}

impl MeasuredKernels {
    /// Finds them in a module of `tools/gpu-kernels`.
    ///
    /// # Errors
    /// The module does not have them.
    pub fn of(module: &Module) -> Result<Self, Declined> {
        Ok(Self {
            statistics: module.kernel("measure_statistics")?,
            pack: module.kernel("measure_pack")?,
            unpack: module.kernel("measure_unpack")?,
            crc: module.kernel("measure_crc")?,
        })
    }

    /// What an encode asks of each column; its least and largest value, added, go to `found`, 8 bytes a column.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// Until the stream's work is done the memory is allocated on the device, and used in this order only.
    pub unsafe fn statistics(
        &self,
        kernels: &Kernels,
        stream: &Stream,
        values: DeviceAddress,
        (columns, count): (u64, u32),
        found: DeviceAddress,
    ) -> Result<(), Declined> {
        let blocks = kernels.blocks_for(columns);
        // SAFETY: the kernel's parameters; the caller's promise.
        unsafe { start!(stream, &self.statistics, blocks, values.0, columns, count, found.0) }
    }

    /// Packs values of at most `width` bits (1 to 63); `packed` has room for `count * width / 8` bytes a column, if
    /// `count` is a multiple of 512.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// As [`Self::statistics`].
    pub unsafe fn pack(
        &self,
        kernels: &Kernels,
        stream: &Stream,
        values: DeviceAddress,
        (columns, count): (u64, u32),
        width: u32,
        packed: DeviceAddress,
    ) -> Result<(), Declined> {
        let blocks = kernels.blocks_for(columns);
        // SAFETY: the kernel's parameters; the caller's promise.
        unsafe { start!(stream, &self.pack, blocks, values.0, columns, count, width, packed.0) }
    }

    /// The inverse of [`Self::pack`].
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// As [`Self::statistics`].
    pub unsafe fn unpack(
        &self,
        kernels: &Kernels,
        stream: &Stream,
        packed: DeviceAddress,
        (columns, count): (u64, u32),
        width: u32,
        values: DeviceAddress,
    ) -> Result<(), Declined> {
        let blocks = kernels.blocks_for(columns);
        // SAFETY: the kernel's parameters; the caller's promise.
        unsafe { start!(stream, &self.unpack, blocks, packed.0, columns, count, width, values.0) }
    }

    /// The CRC32C of each of so many pieces of `length` bytes, one behind another; 4 bytes a piece go to `found`.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// As [`Self::statistics`].
    pub unsafe fn crc(
        &self,
        kernels: &Kernels,
        stream: &Stream,
        bytes: DeviceAddress,
        (pieces, length): (u64, u64),
        found: DeviceAddress,
    ) -> Result<(), Declined> {
        let blocks = kernels.blocks_for(pieces);
        // SAFETY: the kernel's parameters; the caller's promise.
        unsafe { start!(stream, &self.crc, blocks, kernels.crc_tables().0, bytes.0, pieces, length, found.0) }
    }
}
