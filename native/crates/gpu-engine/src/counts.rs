//! What a GPU did and what it declined, by reason.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::declined::Declined;

/// Defines [`Counts`] and the counters behind it, so that fields, names and their order in an array cannot differ.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Figures of this moment, since the engine was started.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            /// The names of the fields, in the order of [`Self::to_array`].
            pub const NAMES: [&'static str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

            /// The fields' values, in the order of [`Self::NAMES`].
            pub fn to_array(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$name),*]
            }
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            pub(crate) fn read(&self) -> Counts {
                Counts { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counts! {
    /// Batches that were encoded.
    encoded_batches,
    /// Bytes of their rows.
    encoded_bytes,
    /// Nanoseconds that the calling threads took for them, waits for the device included; of [`crate::GpuAccelerator`].
    encode_nanos,
    /// Frames of these that the CPU made, for a general codec.
    frames_by_cpu,
    /// Bytes of pages that were copied to the device from memory that was pinned.
    pinned_bytes,
    /// Those that were not, so that the driver copied them one at a time.
    unpinned_bytes,
    /// Calls of decode, each of any number of frames.
    decodes,
    /// Sorts of pairs.
    sorts,
    /// Pairs of those of a task's memory ([`crate::GpuAccelerator`]).
    sorted_pairs,
    /// Nanoseconds that the calling threads took for these, waits for the device included.
    sort_nanos,
    /// Batches fewer at a time than the limit on pinned memory allows, because the driver has not pinned so much.
    lanes_refused,
    /// Declined: fewer bytes than the least of a batch.
    too_small,
    /// Declined: by the policy, because the CPU is faster now.
    cpu_faster,
    /// Declined: by the policy, because the GPU has failed a moment ago.
    paused,
    /// Declined: as many encodes as there may be at a time were under way.
    busy,
    /// Declined: more than the kernels take.
    too_large,
    /// Declined: the input failed a check.
    checks_failed,
    /// Declined: what the device has made failed a check, or the CPU has found nothing wrong with pages that failed one
    /// (counted above, too); the device is lost then.
    wrong_results,
    /// Declined: a general codec was needed.
    codec_needed,
    /// Declined: no memory of the device in time, or the task was being killed.
    no_memory,
    /// Declined: the caller did not take the frames, for want of memory of the host.
    not_taken,
    /// Declined: a call of the driver failed.
    device_failed,
    /// Declined: the device was lost.
    device_lost,
}

impl Counters {
    pub(crate) fn declined(&self, why: &Declined) {
        let counter = match why {
            lost if lost.is_lost() => &self.device_lost,
            Declined::TooSmall => &self.too_small,
            Declined::CpuFaster => &self.cpu_faster,
            Declined::Paused => &self.paused,
            Declined::Busy => &self.busy,
            Declined::TooLarge(_) => &self.too_large,
            Declined::CheckFailed(_) => &self.checks_failed,
            Declined::WrongResult(_) => &self.wrong_results,
            // Rows are for batches of columns alone, which no task of Spark has.
            Declined::NeedsCodec | Declined::NeedsRows => &self.codec_needed,
            Declined::Memory(_) => &self.no_memory,
            Declined::NotTaken(_) => &self.not_taken,
            Declined::Device(_) | Declined::NoKernels => &self.device_failed,
        };
        counter.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter() {
        let counters = Counters::default();
        let lost = Declined::Memory(sluice_gpu_mem::Declined::DeviceLost);
        let killed = Declined::Memory(sluice_gpu_mem::Declined::Killed);
        let policy = [Declined::TooSmall, Declined::CpuFaster, Declined::Paused, Declined::Busy];
        let checks = [Declined::TooLarge(""), Declined::CheckFailed(""), Declined::WrongResult("")];
        let others = [Declined::NeedsCodec, killed, Declined::NotTaken(""), Declined::NoKernels, lost];
        policy.iter().chain(&checks).chain(&others).for_each(|why| counters.declined(why));
        let counts = counters.read().to_array();
        let first = Counts::NAMES.iter().position(|name| *name == "too_small").expect("a name");
        assert!(counts[first..].iter().all(|count| *count == 1) && counts[..first].iter().all(|count| *count == 0));
    }
}
