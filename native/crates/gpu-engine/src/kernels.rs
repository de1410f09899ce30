//! The kernels of a context.

use sluice_cuda::{Context, DeviceAddress, DeviceMemory, Kernel, Module, Wait};

use crate::crc_tables;
use crate::declined::Declined;

/// Loaded kernels and their constants. Used by any number of threads, each with a stream of its own.
#[derive(Debug)]
pub struct Kernels {
    pub(crate) read_entries: Kernel,
    pub(crate) place_rows: Kernel,
    pub(crate) count_frames: Kernel,
    pub(crate) write_frames: Kernel,
    pub(crate) gather_words: Kernel,
    pub(crate) predict_fields: Kernel,
    pub(crate) encode_vars: Kernel,
    pub(crate) encode_columns: Kernel,
    pub(crate) lay_out_frames: Kernel,
    pub(crate) put_frames: Kernel,
    pub(crate) put_headers: Kernel,
    pub(crate) hash_rows: Kernel,
    pub(crate) decode_frames: Kernel,
    pub(crate) radix_count_u32: Kernel,
    pub(crate) radix_count_u64: Kernel,
    pub(crate) radix_scatter_u32: Kernel,
    pub(crate) radix_scatter_u64: Kernel,
    pub(crate) sort_split: Kernel,
    pub(crate) sort_join: Kernel,
    pub(crate) scan_tiles: Kernel,
    pub(crate) scan_sums: Kernel,
    pub(crate) scan_apply: Kernel,
    crc_tables: DeviceMemory,
    most_blocks: u64,
}

impl Kernels {
    /// Finds the kernels of a module that was loaded from a cubin or from PTX of `tools/gpu-kernels`. It waits for one
    /// small copy, and may take long where the driver loads code late: not for a thread that a task waits for.
    ///
    /// # Errors
    /// The module does not have all kernels; no memory; the device is lost.
    pub fn of(context: &Context, module: &Module, wait: Wait<'_>) -> Result<Self, Declined> {
        let kernel = |name| module.kernel(name);
        let tables = crc_tables::tables();
        let crc_tables = context.allocate(size_of_val(&tables[..]))?;
        let stream = context.thread_stream();
        // SAFETY: the tables stay until the stream has finished, or for ever below; nobody else knows the memory.
        unsafe { stream.copy_to_device(crc_tables.address(), tables.as_ptr().cast(), size_of_val(&tables[..]))? };
        if let Err(error) = stream.finish(wait) {
            std::mem::forget(tables);
            return Err(error.into());
        }
        Ok(Self {
            read_entries: kernel("read_entries")?,
            place_rows: kernel("place_rows")?,
            count_frames: kernel("count_frames")?,
            write_frames: kernel("write_frames")?,
            gather_words: kernel("gather_words")?,
            predict_fields: kernel("predict_fields")?,
            encode_vars: kernel("encode_vars")?,
            encode_columns: kernel("encode_columns")?,
            lay_out_frames: kernel("lay_out_frames")?,
            put_frames: kernel("put_frames")?,
            put_headers: kernel("put_headers")?,
            hash_rows: kernel("hash_rows")?,
            decode_frames: kernel("decode_frames")?,
            radix_count_u32: kernel("radix_count_u32")?,
            radix_count_u64: kernel("radix_count_u64")?,
            radix_scatter_u32: kernel("radix_scatter_u32")?,
            radix_scatter_u64: kernel("radix_scatter_u64")?,
            sort_split: kernel("sort_split")?,
            sort_join: kernel("sort_join")?,
            scan_tiles: kernel("scan_tiles")?,
            scan_sums: kernel("scan_sums")?,
            scan_apply: kernel("scan_apply")?,
            crc_tables,
            most_blocks: u64::from(context.device().facts().multiprocessors.max(1)) * BLOCKS_EACH,
        })
    }

    /// The same, where kernels that go through their work in steps have at most so many blocks.
    #[must_use]
    pub fn with_most_blocks(self, most_blocks: u64) -> Self {
        Self { most_blocks: most_blocks.max(1), ..self }
    }

    pub(crate) fn crc_tables(&self) -> DeviceAddress {
        self.crc_tables.address()
    }

    /// How many blocks go through so many pieces of work, one at a time each.
    pub(crate) fn blocks_for(&self, pieces: u64) -> u64 {
        pieces.clamp(1, self.most_blocks)
    }
}

/// Blocks that a multiprocessor can have at a time, at most: 2,048 threads.
const BLOCKS_EACH: u64 = 8;
