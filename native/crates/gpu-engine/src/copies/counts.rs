//! Figures of the device tier.

/// Defines [`CopyCounts`], so that its fields, their names and their order in an array cannot differ.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Of this moment: the first two are now, the others since the tier was made.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct CopyCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl CopyCounts {
            /// The names of the fields, in the order of [`Self::to_array`].
            pub const NAMES: [&'static str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

            /// The fields' values, in the order of [`Self::NAMES`].
            pub fn to_array(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

counts! {
    /// Bytes of all copies: being filled, resident, pinned, and dropped but still pinned.
    bytes,
    /// These copies.
    copies,
    /// Copies that were filled.
    kept,
    /// Bytes of these.
    kept_bytes,
    /// Reads that the tier has served, to device or to host memory.
    hits,
    /// Bytes of these.
    hit_bytes,
    /// Reads that the host copy has to serve, though the reader has asked for the device's.
    misses,
    /// Copies dropped for others, because of the tier's limit.
    evictions,
    /// Copies dropped because an encode needed the device's memory.
    pressure_drops,
    /// Copies dropped because their shuffle has ended, or the output was removed.
    forgotten,
    /// Outputs that were not kept because the limit has no room beside copies that are in use.
    refused_by_limit,
    /// Outputs that were not kept because there is no memory of the device now.
    refused_by_memory,
    /// Outputs that were not kept because all pinned buffers were in use.
    refused_busy,
    /// Outputs that were not kept because the host copy could not be read, or a call of the driver failed.
    failed,
    /// Copies dropped because a check of their frames failed, or they have other lengths than the host copy.
    damaged,
    /// Copies that were lost with the device, those included that were being filled.
    lost,
}
