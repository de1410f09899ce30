//! Work of the kernels alone: what they read is on the device already, and what they make stays there. As often as is
//! asked, so that it can be measured without copies.

use sluice_codec::CodecOptions;
use sluice_cuda::Wait;
use sluice_engine::Page;
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::decode::PlacedFrames;
use crate::encode::{Batch, Origin, Placed, check, copy_pages, device_pages, submit};
use crate::encode_job::{EncodeJob, Shape, Summary};
use crate::encode_scratch::STAGING_BYTES;
use crate::kernels::Kernels;
use crate::radix::RadixArrays;
use crate::sort::{Key, PlacedPairs};
use crate::staging::Staging;
use crate::submit::settled;

/// A lease that the stream gets back.
struct Held<'r> {
    stream: &'r ArenaStream,
    lease: Option<StreamLease>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.stream.free(lease);
        }
    }
}

/// A batch's pages on the device.
pub struct ResidentBatch<'r> {
    kernels: &'r Kernels,
    memory: Held<'r>,
    shape: Shape,
    job: EncodeJob,
    radix: RadixArrays,
}

impl<'r> ResidentBatch<'r> {
    /// Copies the pages.
    ///
    /// # Errors
    /// Those of [`crate::encode`]; the batch has no rows.
    pub fn new(
        kernels: &'r Kernels,
        stream: &'r ArenaStream,
        batch: Batch<'_, '_>,
        options: CodecOptions,
        wait: Wait<'_>,
    ) -> Result<Self, Declined> {
        let placed = Placed::of(kernels, stream, &batch, options, wait)?;
        let Placed { lease, shape, job, radix } = placed.ok_or(Declined::TooSmall)?;
        let memory = Held { stream, lease: Some(lease) };
        let with_rows: Vec<Page> = batch.pages.iter().filter(|page| page.entries > 0).copied().collect();
        let pages = device_pages(&with_rows);
        let on = stream.stream();
        // SAFETY: as in `encode_to`; `finish` waits.
        settled(on, wait, || unsafe { copy_pages(on, &job, &with_rows, &pages) })?;
        crate::submit::finish(on, wait)?;
        Ok(Self { kernels, memory, shape, job, radix })
    }

    /// Puts all kernels of an encode into the stream.
    ///
    /// # Errors
    /// The device's.
    pub fn encode(&self) -> Result<(), Declined> {
        let mut job = self.job;
        // SAFETY: the arrays are in the lease, which is used on its own stream only.
        unsafe { submit(self.kernels, self.memory.stream.stream(), &mut job, self.radix, Origin::Pages) }
    }

    /// The frames of the last encode, one behind another.
    ///
    /// # Errors
    /// The device's, and those of the encode.
    pub fn frames(&self, wait: Wait<'_>) -> Result<Vec<u8>, Declined> {
        let on = self.memory.stream.stream();
        let mut staging = Staging::plain(on.context(), STAGING_BYTES)?;
        // SAFETY: the arrays are in the lease; any bytes are a summary, or bytes.
        unsafe {
            let summary = staging.get::<Summary>(on, self.job.summary, 1, wait)?[0];
            check(&summary, &self.shape)?;
            let mut frames = vec![0; usize::try_from(summary.bytes).unwrap_or(usize::MAX)];
            staging.get_all(on, self.job.output, &mut frames, wait)?;
            Ok(frames)
        }
    }
}

/// Frames on the device.
pub struct ResidentFrames<'r> {
    kernels: &'r Kernels,
    memory: Held<'r>,
    frames: PlacedFrames,
}

impl<'r> ResidentFrames<'r> {
    /// Copies the frames.
    ///
    /// # Errors
    /// Those of [`crate::decode`].
    pub fn new(
        kernels: &'r Kernels,
        stream: &'r ArenaStream,
        frames: &[&[u8]],
        wait: Wait<'_>,
    ) -> Result<Self, Declined> {
        let (placed, lease) = PlacedFrames::of(kernels, stream, frames, wait)?;
        let memory = Held { stream, lease: Some(lease) };
        let on = stream.stream();
        // SAFETY: the arrays are in the lease; frames and plan stay until `finish` has waited.
        settled(on, wait, || unsafe { placed.copy(on, frames) })?;
        crate::submit::finish(on, wait)?;
        Ok(Self { kernels, memory, frames: placed })
    }

    /// Puts the kernel of a decode into the stream.
    ///
    /// # Errors
    /// The device's.
    pub fn decode(&self) -> Result<(), Declined> {
        // SAFETY: the arrays are in the lease, which is used on its own stream only.
        unsafe { self.frames.submit(self.kernels, self.memory.stream.stream()) }
    }

    /// The rows of the last decode, one behind another.
    ///
    /// # Errors
    /// The device's, and those of the decode.
    pub fn rows(&self, wait: Wait<'_>) -> Result<Vec<u8>, Declined> {
        let mut staging = Staging::plain(self.memory.stream.stream().context(), STAGING_BYTES)?;
        let mut target = vec![0; self.frames.target_bytes()];
        let mut row_bytes = vec![0; self.frames.rows()];
        // SAFETY: the arrays are in the lease.
        unsafe { self.frames.get(self.memory.stream.stream(), &mut staging, &mut target, &mut row_bytes, wait)? };
        Ok(target)
    }
}

/// Pairs on the device.
pub struct ResidentPairs<'r> {
    kernels: &'r Kernels,
    memory: Held<'r>,
    staging: Staging,
    pairs: PlacedPairs,
}

impl<'r> ResidentPairs<'r> {
    /// Copies the pairs.
    ///
    /// # Errors
    /// Those of [`crate::sort_pairs`].
    pub fn new(
        kernels: &'r Kernels,
        stream: &'r ArenaStream,
        pairs: &[[u64; 2]],
        wait: Wait<'_>,
    ) -> Result<Self, Declined> {
        let on = stream.stream();
        let staging = Staging::pinned(on.context(), STAGING_BYTES)?;
        let (placed, lease) = PlacedPairs::of(stream, pairs.len(), wait)?;
        let memory = Held { stream, lease: Some(lease) };
        // SAFETY: the arrays are in the lease; the pairs stay until `finish` has waited.
        settled(on, wait, || unsafe { placed.copy(on, pairs) })?;
        crate::submit::finish(on, wait)?;
        Ok(Self { kernels, memory, staging, pairs: placed })
    }

    /// Sorts the pairs as they were copied. Waits once, and leaves the rest in the stream.
    ///
    /// # Errors
    /// The device's.
    pub fn sort(&mut self, wait: Wait<'_>) -> Result<(), Declined> {
        // SAFETY: the arrays are in the lease, which is used on its own stream only.
        unsafe { self.pairs.submit(self.kernels, self.memory.stream.stream(), Key::FIRST, &mut self.staging, wait) }
    }

    /// The pairs in the last sort's order.
    ///
    /// # Errors
    /// The device's.
    pub fn pairs(&mut self, wait: Wait<'_>) -> Result<Vec<[u64; 2]>, Declined> {
        let mut sorted = vec![[0; 2]; self.pairs.count()];
        // SAFETY: the arrays are in the lease; any numbers are pairs.
        unsafe { self.pairs.get(self.memory.stream.stream(), &mut self.staging, &mut sorted, wait)? };
        Ok(sorted)
    }
}
