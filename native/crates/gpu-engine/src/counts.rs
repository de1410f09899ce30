//! What a GPU did and what it declined, by reason.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::declined::Declined;

/// Figures of this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Batches that were encoded.
    pub encoded_batches: u64,
    /// Bytes of their rows.
    pub encoded_bytes: u64,
    /// Frames of these that the CPU made, for a general codec.
    pub frames_by_cpu: u64,
    /// Calls of decode, each of any number of frames.
    pub decodes: u64,
    /// Sorts of pairs.
    pub sorts: u64,
    /// Declined: more than the kernels take.
    pub too_large: u64,
    /// Declined: a check failed.
    pub checks_failed: u64,
    /// Declined: a general codec was needed.
    pub codec_needed: u64,
    /// Declined: no memory of the device in time, or the task was being killed.
    pub no_memory: u64,
    /// Declined: a call of the driver failed.
    pub device_failed: u64,
    /// Declined: the device was lost.
    pub device_lost: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) encoded_batches: AtomicU64,
    pub(crate) encoded_bytes: AtomicU64,
    pub(crate) frames_by_cpu: AtomicU64,
    pub(crate) decodes: AtomicU64,
    pub(crate) sorts: AtomicU64,
    too_large: AtomicU64,
    checks_failed: AtomicU64,
    codec_needed: AtomicU64,
    no_memory: AtomicU64,
    device_failed: AtomicU64,
    device_lost: AtomicU64,
}

impl Counters {
    pub(crate) fn declined(&self, why: &Declined) {
        let counter = match why {
            lost if lost.is_lost() => &self.device_lost,
            Declined::TooLarge(_) => &self.too_large,
            Declined::CheckFailed(_) => &self.checks_failed,
            Declined::NeedsCodec => &self.codec_needed,
            Declined::Memory(_) => &self.no_memory,
            Declined::Device(_) | Declined::NoKernels => &self.device_failed,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> Counts {
        Counts {
            encoded_batches: self.encoded_batches.load(Relaxed),
            encoded_bytes: self.encoded_bytes.load(Relaxed),
            frames_by_cpu: self.frames_by_cpu.load(Relaxed),
            decodes: self.decodes.load(Relaxed),
            sorts: self.sorts.load(Relaxed),
            too_large: self.too_large.load(Relaxed),
            checks_failed: self.checks_failed.load(Relaxed),
            codec_needed: self.codec_needed.load(Relaxed),
            no_memory: self.no_memory.load(Relaxed),
            device_failed: self.device_failed.load(Relaxed),
            device_lost: self.device_lost.load(Relaxed),
        }
    }
}
