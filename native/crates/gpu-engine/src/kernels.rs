//! The kernels of a context.

use sluice_cuda::{Context, DeviceAddress, DeviceMemory, Kernel, Module, Wait};

use crate::crc_tables;
use crate::declined::Declined;

/// Defines [`Kernels`]: the field of a kernel has its name in a module.
macro_rules! kernels {
    ($($name:ident,)*) => {
        /// Loaded kernels and their constants. Used by any number of threads, each with a stream of its own.
        #[derive(Debug)]
        pub struct Kernels {
            $(pub(crate) $name: Kernel,)*
            crc_tables: DeviceMemory,
            most_blocks: u64,
        }

        impl Kernels {
            /// The kernels' names in a module.
            pub const NAMES: [&'static str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

            fn with(module: &Module, crc_tables: DeviceMemory, most_blocks: u64) -> Result<Self, Declined> {
                Ok(Self { $($name: module.kernel(stringify!($name))?,)* crc_tables, most_blocks })
            }
        }
    };
}

kernels! {
    read_entries,
    place_rows,
    count_frames,
    write_frames,
    gather_words,
    predict_fields,
    encode_vars,
    compress_vars,
    encode_columns,
    lay_out_frames,
    put_frames,
    put_headers,
    hash_rows,
    decode_frames,
    radix_count_u32,
    radix_count_u64,
    radix_scatter_u32,
    radix_scatter_u64,
    sort_split,
    sort_join,
    scan_tiles,
    scan_sums,
    scan_apply,
    measure_columns,
    list_rows,
    gather_columns,
    encode_vars_of_columns,
    take_headers,
    measure_values,
    total_values,
    write_columns,
    write_value_bytes,
}

impl Kernels {
    /// Finds the kernels of a module that was loaded from a cubin or from PTX of `tools/gpu-kernels`. It waits for one
    /// small copy, and may take long where the driver loads code late: not for a thread that a task waits for.
    ///
    /// # Errors
    /// The module does not have all kernels; no memory; the device is lost.
    pub fn of(context: &Context, module: &Module, wait: Wait<'_>) -> Result<Self, Declined> {
        let tables = crc_tables::tables();
        let crc_tables = context.allocate(size_of_val(&tables[..]))?;
        let stream = context.thread_stream();
        // SAFETY: the tables stay until the stream has finished, or for ever below; nobody else knows the memory.
        unsafe { stream.copy_to_device(crc_tables.address(), tables.as_ptr().cast(), size_of_val(&tables[..]))? };
        if let Err(error) = stream.finish(wait) {
            std::mem::forget(tables);
            return Err(error.into());
        }
        let multiprocessors = u64::from(context.device().facts().multiprocessors.max(1));
        Self::with(module, crc_tables, multiprocessors * BLOCKS_EACH)
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

/// Blocks for each multiprocessor, at most: many more than it has at a time (8 or fewer), so that none is without work
/// while the last ones of a launch end.
const BLOCKS_EACH: u64 = 256;
