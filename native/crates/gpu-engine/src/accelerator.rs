//! A GPU as the map outputs' accelerator: which batches it takes, how many at a time, and what happens when it fails.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use sluice_cuda::{Driver, Wait};
use sluice_engine::{Accelerator, AcceleratorBatch, AcceleratorFrame, MapOutputWriter, Page};
use sluice_gpu_mem::{StreamArena, StreamArenaOptions, default_limit};
use sluice_mem::Arena;

use crate::counts::Counts;
use crate::declined::Declined;
use crate::encode::{Batch, MadeFrame, TakeFrame, Waits};
use crate::engine::GpuEngine;
use crate::lanes::{Lane, Lanes};
use crate::policy::{Policy, Use};
use crate::sample::{FIELDS, OPTIONS, PARTITIONS, page, rows};

/// A batch waits no longer for memory of the device: the CPU encodes it in tens of milliseconds.
const MEMORY_WAIT: Duration = Duration::from_millis(10);
/// Of the timeout: a batch that takes so many times as long is stuck in a call of the driver.
const STUCK: u32 = 4;
/// For each wait of the start, in which the driver may load or compile code.
const START_WAIT: Duration = Duration::from_secs(120);
/// How often each way is measured at the start; the last time counts, when code is loaded.
const MEASUREMENTS: usize = 3;
/// Of rows that are encoded for a measurement.
const MOST_MEASURED_BYTES: usize = 16 << 20;

/// How a GPU is used.
#[derive(Debug, Clone, Copy)]
pub struct GpuOptions<'o> {
    /// Which batches go to it.
    pub used: Use,
    /// What Spark's resource discovery has given this executor; none: the only device.
    pub device: Option<&'o str>,
    /// A folder of `tools/gpu-kernels`.
    pub kernels: &'o Path,
    /// The most bytes of the device's memory; none: [`default_limit`].
    pub memory_limit: Option<usize>,
    /// The most bytes of the host's memory that are pinned.
    pub pinned_limit: usize,
    /// Batches of fewer bytes of rows are the CPU's.
    pub least_bytes: usize,
    /// After so much time without an answer the device is given up.
    pub timeout: Duration,
}

/// A GPU that encodes batches of map outputs.
pub struct GpuAccelerator {
    engine: GpuEngine,
    lanes: Lanes,
    policy: Policy,
    least_bytes: usize,
    timeout: Duration,
    memory_limit: usize,
    began: Instant,
}

impl GpuAccelerator {
    /// Finds the device, makes its context, loads the kernels, has them pass the self-test, and measures both ways. For
    /// a thread that nobody waits for: it may take seconds.
    ///
    /// # Errors
    /// Nothing of that may be used then; [`Declined::CheckFailed`]: the device does not make the CPU's bytes.
    pub fn open(driver: &Arc<Driver>, options: &GpuOptions<'_>) -> Result<Self, Declined> {
        let context = driver.select(options.device)?.context()?;
        let memory_limit = match options.memory_limit {
            Some(limit) => limit,
            None => default_limit(context.free_memory()?),
        };
        let arena = StreamArena::new(context.clone(), StreamArenaOptions::with_limit(memory_limit));
        let engine = GpuEngine::start(&context, &arena, options.kernels, Wait::at_most(START_WAIT))?;
        Self::of(engine, memory_limit, options)
    }

    /// The same with an engine that was started.
    ///
    /// # Errors
    /// The host has no memory for buffers, or what is measured fails.
    pub fn of(engine: GpuEngine, memory_limit: usize, options: &GpuOptions<'_>) -> Result<Self, Declined> {
        let lanes = Lanes::new(engine.context(), options.pinned_limit)?;
        let accelerator = Self {
            engine,
            lanes,
            policy: Policy::new(options.used),
            least_bytes: options.least_bytes,
            timeout: options.timeout,
            memory_limit,
            began: Instant::now(),
        };
        if options.used == Use::WhenItPays {
            accelerator.measure()?;
        }
        Ok(accelerator)
    }

    /// Whether a batch of so many bytes of rows would be encoded by the GPU now.
    pub fn prefers(&self, bytes: usize) -> bool {
        let takes = bytes >= self.least_bytes && self.engine.context().lost().is_none();
        takes && self.lanes.is_any_free() && self.policy.prefers_gpu(self.began.elapsed())
    }

    /// How many batches are encoded at a time, at most.
    pub fn lanes(&self) -> usize {
        self.lanes.count()
    }

    /// What it did and declined since it was opened, without what was measured then.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    /// Why the device was lost, if it was.
    pub fn lost(&self) -> Option<String> {
        self.engine.context().lost().map(ToString::to_string)
    }

    /// One line: the device, and what is used of it.
    pub fn describe(&self) -> String {
        let context = self.engine.context();
        format!(
            "{}, {}; up to {} MiB of its memory, {} batches at a time ({} with pinned buffers)",
            context.device().describe(),
            context.device().driver().describe(),
            self.memory_limit >> 20,
            self.lanes.count(),
            self.lanes.pinned()
        )
    }

    /// Encodes rows of the self-test's kind both ways, some times each.
    fn measure(&self) -> Result<(), Declined> {
        let (memory, used) = page(&rows(self.least_bytes.min(MOST_MEASURED_BYTES)));
        let pages = [Page { memory: &memory, used, entries: (memory.len() - used) / 8 }];
        for _ in 0..MEASUREMENTS {
            let (by_cpu, by_gpu) = (measure_cpu(&pages)?, self.measure_gpu(&pages)?);
            // The first measurements say how long code and memory take to come.
            self.policy.forget();
            self.policy.cpu_took(used, by_cpu, self.began.elapsed());
            self.policy.gpu_took(used, by_gpu, self.began.elapsed());
        }
        Ok(())
    }

    fn measure_gpu(&self, pages: &[Page<'_>]) -> Result<Duration, Declined> {
        let batch = Batch { fields: FIELDS, partitions: PARTITIONS, pages, hash_rows: false };
        let waits = Waits { memory: Wait::at_most(START_WAIT), work: Wait::at_most(START_WAIT) };
        let (mut lane, mut frames) = (self.lanes.take(), Vec::with_capacity(pages.iter().map(|page| page.used).sum()));
        let scratch = lane.as_mut().and_then(Lane::scratch).ok_or(Declined::Busy)?;
        let begun = Instant::now();
        self.engine.encode_uncounted(scratch, batch, OPTIONS, waits, &mut |frame| {
            frames.extend_from_slice(frame.bytes);
            Ok(())
        })?;
        Ok(begun.elapsed())
    }

    /// Gives the device up when a batch has been under way for much longer than its waits may take together, as a rule:
    /// then a call of the driver does not return, and nobody else should make one.
    fn give_up_if_stuck(&self) {
        let (context, most) = (self.engine.context(), self.timeout * STUCK);
        if context.lost().is_none() && self.lanes.longest().is_some_and(|taken| taken > most) {
            context.lose(&format!("a batch has been under way for more than {most:?}: the driver does not answer"));
        }
    }

    /// Encodes a batch that the policy has given to the GPU, and tells the policy.
    fn encode_chosen(&self, batch: &AcceleratorBatch<'_, '_>, take: &mut TakeFrame<'_>) -> Result<(), Declined> {
        let AcceleratorBatch { fields, partitions, pages, options, hash_rows } = *batch;
        let begun = Instant::now();
        let wanted = Batch { fields, partitions, pages, hash_rows };
        let mut lane = self.lanes.take();
        let Some(scratch) = lane.as_mut().and_then(Lane::scratch) else {
            // No failure: it works for others.
            self.engine.counters().declined(&Declined::Busy);
            return Err(Declined::Busy);
        };
        let waits = Waits { memory: Wait::at_most(MEMORY_WAIT), work: Wait::at_most(self.timeout) };
        let made = self.engine.encode_to(scratch, wanted, options, waits, take);
        let (took, now) = (begun.elapsed(), self.began.elapsed());
        match &made {
            Ok(()) => {
                let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
                self.engine.counters().encode_nanos.fetch_add(nanos, Relaxed);
                self.policy.gpu_took(row_bytes(batch), took, now);
            }
            Err(_) => self.policy.gpu_failed(now),
        }
        made
    }
}

/// How long a map output's writer takes for a batch without an accelerator.
fn measure_cpu(pages: &[Page<'_>]) -> Result<Duration, Declined> {
    let bytes: usize = pages.iter().map(|page| page.memory.len()).sum();
    // The run, the sort's references, and roundings.
    let arena = Arena::host(bytes * 4 + (64 << 20));
    let failed = |_| Declined::NotTaken("the host has no memory for a measurement");
    let writer = MapOutputWriter::new(arena, PARTITIONS, OPTIONS).map_err(failed)?;
    let begun = Instant::now();
    writer.encode(0, FIELDS, pages).map_err(failed)?;
    Ok(begun.elapsed())
}

fn row_bytes(batch: &AcceleratorBatch<'_, '_>) -> usize {
    batch.pages.iter().map(|page| page.used).fold(0, usize::saturating_add)
}

impl Accelerator for GpuAccelerator {
    fn encode(
        &self,
        batch: &AcceleratorBatch<'_, '_>,
        take: &mut sluice_engine::TakeFrame<'_>,
    ) -> Result<(), sluice_engine::Declined> {
        if row_bytes(batch) < self.least_bytes {
            return Err(sluice_engine::Declined("a small batch"));
        }
        self.give_up_if_stuck();
        if !self.policy.choose(self.began.elapsed()) {
            self.engine.counters().declined(&Declined::CpuFaster);
            return Err(sluice_engine::Declined(Declined::CpuFaster.word()));
        }
        let mut hand_over = |frame: MadeFrame<'_>| {
            let MadeFrame { partition, rows, bytes, hashes, .. } = frame;
            let row_hashes = hashes.map_or((0, 0), |hashes| (hashes.xor, hashes.sum));
            let taken = take(AcceleratorFrame { partition, rows, bytes, row_hashes });
            taken.map_err(|why| Declined::NotTaken(why.0))
        };
        let made = self.encode_chosen(batch, &mut hand_over);
        made.map_err(|why| sluice_engine::Declined(why.word()))
    }

    fn encoded_by_cpu(&self, row_bytes: usize, took: Duration) {
        if row_bytes >= self.least_bytes {
            self.policy.cpu_took(row_bytes, took, self.began.elapsed());
        }
    }
}
