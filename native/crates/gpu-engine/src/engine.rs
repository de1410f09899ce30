//! A GPU that was tested and may be used.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sluice_codec::CodecOptions;
use sluice_columns::Schema;
use sluice_columns::ffi::ArrowDeviceArray;
use sluice_cuda::{Context, Module, Wait};
use sluice_engine::{Page, PairMemory, PairSort};
use sluice_gpu_mem::{ArenaStream, StreamArena};

use crate::columns::{DeviceFrames, FramesIn, PartitionedColumns, decode_columns, encode_columns};
use crate::counts::{Counters, Counts};
use crate::declined::Declined;
use crate::decode::decode;
use crate::encode::{Batch, EncodedBatch, MadeFrame, TakeFrame, Waits, encode, encode_to};
use crate::encode_scratch::EncodeScratch;
use crate::images::image_for;
use crate::kernels::Kernels;
use crate::self_test::self_test;
use crate::sort::{sort_in_memory, sort_pairs};
use crate::staging::Staging;

/// The kernels of one device, which have passed the self-test, and what they did. Any thread may use it, each with a
/// stream of its own ([`GpuEngine::attach`]).
#[derive(Debug)]
pub struct GpuEngine {
    context: Context,
    kernels: Kernels,
    arena: Arc<StreamArena>,
    counters: Counters,
}

impl GpuEngine {
    /// Loads the kernels for the device from a folder of `tools/gpu-kernels` and tests them. For a thread that no task
    /// waits for.
    ///
    /// # Errors
    /// There are no kernels for the device; they do not pass the self-test; the device fails. Then it is not to be
    /// used.
    pub fn start(context: &Context, arena: &Arc<StreamArena>, folder: &Path, wait: Wait<'_>) -> Result<Self, Declined> {
        let image = image_for(folder, context.device().facts().compute_capability);
        let Ok(Some(image)) = image else {
            return Err(Declined::NoKernels);
        };
        Self::of(context, arena, &context.load(&image)?, wait)
    }

    /// The same with a module that is loaded.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn of(context: &Context, arena: &Arc<StreamArena>, module: &Module, wait: Wait<'_>) -> Result<Self, Declined> {
        let kernels = Kernels::of(context, module, wait)?;
        let engine =
            Self { context: context.clone(), kernels, arena: Arc::clone(arena), counters: Counters::default() };
        self_test(&engine.kernels, &engine.attach(), wait)?;
        Ok(engine)
    }

    /// The calling thread's stream, for all its calls.
    pub fn attach(&self) -> ArenaStream {
        self.arena.attach(self.context.thread_stream())
    }

    /// What it did and declined since it was started.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    pub(crate) fn arena(&self) -> &StreamArena {
        &self.arena
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The context of its device.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// As [`encode`], counted.
    ///
    /// # Errors
    /// Those of [`encode`].
    pub fn encode(
        &self,
        stream: &ArenaStream,
        batch: Batch<'_, '_>,
        options: CodecOptions,
        wait: Wait<'_>,
    ) -> Result<EncodedBatch, Declined> {
        let made = self.counted(encode(&self.kernels, stream, batch, options, wait))?;
        let by_cpu = made.frames.iter().filter(|frame| frame.by_cpu).count();
        self.count_encoded(batch, by_cpu as u64);
        Ok(made)
    }

    /// As [`encode_to`] on a stream of this thread, counted.
    pub(crate) fn encode_to(
        &self,
        scratch: &mut EncodeScratch,
        batch: Batch<'_, '_>,
        options: CodecOptions,
        waits: Waits<'_>,
        take: &mut TakeFrame<'_>,
    ) -> Result<(), Declined> {
        let mut by_cpu = 0;
        let mut take = |frame: MadeFrame<'_>| {
            by_cpu += u64::from(frame.by_cpu);
            take(frame)
        };
        self.counted(self.encode_uncounted(scratch, batch, options, waits, &mut take))?;
        self.count_encoded(batch, by_cpu);
        Ok(())
    }

    /// As [`encode_to`] on a stream of this thread. The scratch memory's calls of the driver begin; they end with the
    /// lane that has it.
    pub(crate) fn encode_uncounted(
        &self,
        scratch: &mut EncodeScratch,
        batch: Batch<'_, '_>,
        options: CodecOptions,
        waits: Waits<'_>,
        take: &mut TakeFrame<'_>,
    ) -> Result<(), Declined> {
        let calls = Arc::clone(scratch.staging.calls());
        calls.begin();
        // Attached for this call: what it has freed goes back to the arena with the last event, for whichever thread
        // comes next.
        let stream = self.attach();
        // The caller seals and copies it, and may wait for memory meanwhile: none of that is the driver's time.
        let mut take = |frame: MadeFrame<'_>| calls.pause(|| take(frame));
        encode_to(&self.kernels, &stream, scratch, batch, options, waits, &mut take)
    }

    fn count_encoded(&self, batch: Batch<'_, '_>, frames_by_cpu: u64) {
        self.counters.encoded_batches.fetch_add(1, Relaxed);
        self.counters.encoded_bytes.fetch_add(Page::row_bytes_of(batch.pages) as u64, Relaxed);
        self.counters.frames_by_cpu.fetch_add(frames_by_cpu, Relaxed);
    }

    /// As [`decode`], counted.
    ///
    /// # Errors
    /// Those of [`decode`].
    pub fn decode(
        &self,
        stream: &ArenaStream,
        frames: &[&[u8]],
        target: &mut [u8],
        row_bytes: &mut [u32],
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        self.counted(decode(&self.kernels, stream, frames, target, row_bytes, wait))?;
        self.counters.decodes.fetch_add(1, Relaxed);
        Ok(())
    }

    /// As [`encode_columns`], counted.
    ///
    /// # Errors
    /// Those of [`encode_columns`].
    pub fn encode_columns(
        &self,
        stream: &ArenaStream,
        columns: PartitionedColumns<'_>,
        options: CodecOptions,
        wait: Wait<'_>,
    ) -> Result<DeviceFrames, Declined> {
        let made = self.counted(encode_columns(&self.kernels, stream, columns, options, wait))?;
        self.counters.encoded_batches.fetch_add(1, Relaxed);
        Ok(made)
    }

    /// As [`decode_columns`], counted.
    ///
    /// # Errors
    /// Those of [`decode_columns`].
    ///
    /// # Safety
    /// As [`decode_columns`].
    pub unsafe fn decode_columns(
        &self,
        stream: &ArenaStream,
        frames: FramesIn<'_>,
        schema: &Schema,
        wait: Wait<'_>,
    ) -> Result<ArrowDeviceArray, Declined> {
        // SAFETY: the caller's promise.
        let made = self.counted(unsafe { decode_columns(&self.kernels, stream, frames, schema, wait) })?;
        self.counters.decodes.fetch_add(1, Relaxed);
        Ok(made)
    }

    /// As [`sort_pairs`], counted.
    ///
    /// # Errors
    /// Those of [`sort_pairs`].
    pub fn sort_pairs(&self, stream: &ArenaStream, pairs: &mut [[u64; 2]], wait: Wait<'_>) -> Result<(), Declined> {
        self.counted(sort_pairs(&self.kernels, stream, pairs, wait))?;
        self.counters.sorts.fetch_add(1, Relaxed);
        Ok(())
    }

    /// As [`sort_in_memory`] on a stream of this thread, counted. The buffer's calls of the driver have begun; they end
    /// with the lane that has it.
    pub(crate) fn sort_in_memory(
        &self,
        staging: &mut Staging,
        sort: PairSort,
        memory: &mut dyn PairMemory,
        waits: Waits<'_>,
    ) -> Result<(), Declined> {
        self.counted(self.sort_uncounted(staging, sort, memory, waits))?;
        self.counters.sorts.fetch_add(1, Relaxed);
        self.counters.sorted_pairs.fetch_add(sort.count() as u64, Relaxed);
        Ok(())
    }

    /// The same, not counted.
    pub(crate) fn sort_uncounted(
        &self,
        staging: &mut Staging,
        sort: PairSort,
        memory: &mut dyn PairMemory,
        waits: Waits<'_>,
    ) -> Result<(), Declined> {
        // Attached for this call, as for an encode.
        sort_in_memory(&self.kernels, &self.attach(), staging, sort, memory, waits)
    }

    fn counted<T>(&self, answer: Result<T, Declined>) -> Result<T, Declined> {
        answer.inspect_err(|why| self.counters.declined(why))
    }
}
