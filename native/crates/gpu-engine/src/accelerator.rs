//! A GPU as the map outputs' accelerator: which batches it takes, how many at a time, and what happens when it fails.

mod pairs;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sluice_codec::CodecOptions;
use sluice_cuda::{Driver, FreeMemory, Wait};
use sluice_engine::{
    Accelerator, AcceleratorBatch, AcceleratorFrame, MapOutputWriter, NotTaken, Page, PairMemory, PairSort,
};
use sluice_gpu_mem::{PinnedProvider, StreamArena, StreamArenaOptions, default_limit};
use sluice_mem::{Arena, HostProvider};

use crate::copies::{CopyCounts, CopyKey, DeviceCopies, HostOutput, Miss, NotKept};
use crate::counts::Counts;
use crate::declined::Declined;
use crate::encode::{Batch, MadeFrame, TakeFrame, Waits};
use crate::encode_scratch::EncodeScratch;
use crate::engine::GpuEngine;
use crate::lanes::{Lane, Lanes};
use crate::policy::{Kind, Policy, Use};
use crate::sample::{FIELDS, FilledPage, PARTITIONS, rows};
use crate::watch::Watch;

/// A batch waits no longer for memory of the device: the CPU encodes it in tens of milliseconds.
const MEMORY_WAIT: Duration = Duration::from_millis(10);
/// Of the timeout: a call of the driver that takes so many times as long, with the wait that follows it, does not
/// return.
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
    /// The most bytes of the device's memory; none: [`default_limit`], and the cache's limit beside it, but no more
    /// than half of what is free.
    pub memory_limit: Option<usize>,
    /// Of these, the most bytes of copies of map outputs ([`DeviceCopies`]); 0: none are kept.
    pub cache_limit: usize,
    /// The most bytes of the host's memory that are pinned for what comes from the device.
    pub pinned_limit: usize,
    /// Where pages come from that are copied to the device, if they may be pinned.
    pub pages: Option<Pages<'o>>,
    /// Batches of fewer bytes ([`AcceleratorBatch::bytes`]), and pairs of fewer, are the CPU's.
    pub least_bytes: usize,
    /// How most map outputs make frames: with it both ways are measured at the start.
    pub codec: CodecOptions,
    /// After so much time without an answer the device is given up.
    pub timeout: Duration,
}

/// Regions with pages of map outputs: those from which much is copied to the device are pinned, because the driver
/// copies from others by way of buffers of its own, one copy at a time. They are not pinned any more when the
/// accelerator ends.
#[derive(Debug, Clone, Copy)]
pub struct Pages<'o> {
    /// The provider below the arena of the pages. Of one accelerator at a time.
    pub regions: &'o Arc<PinnedProvider<HostProvider>>,
    /// The most bytes of them that are pinned.
    pub limit_bytes: usize,
}

/// A GPU that encodes batches of map outputs, and sorts pairs.
pub struct GpuAccelerator {
    /// Ends first, with its share of the context. None while the accelerator is being opened.
    watch: Option<Watch>,
    engine: GpuEngine,
    lanes: Lanes,
    pages: Option<Arc<PinnedProvider<HostProvider>>>,
    policy: Policy,
    least_bytes: usize,
    timeout: Duration,
    memory_limit: usize,
    /// None if none are kept.
    copies: Option<Arc<DeviceCopies>>,
    codec: CodecOptions,
    began: Instant,
    /// What the first call of the driver said that has failed.
    failure: OnceLock<String>,
}

impl GpuAccelerator {
    /// Finds the device, makes its context, loads the kernels, has them pass the self-test, and measures both ways. For
    /// a thread that nobody waits for: it may take seconds.
    ///
    /// # Errors
    /// Nothing of that may be used then; [`Declined::WrongResult`]: the device does not make the CPU's bytes.
    pub fn open(driver: &Arc<Driver>, options: &GpuOptions<'_>) -> Result<Self, Declined> {
        let context = driver.select(options.device)?.context()?;
        let memory_limit = match options.memory_limit {
            Some(limit) => limit,
            None => limit_with_cache(context.free_memory()?, options.cache_limit),
        };
        let copies = match options.cache_limit.min(memory_limit) {
            0 => None,
            limit => Some(DeviceCopies::new(&context, limit)),
        };
        let drop_caches = copies.as_ref().map(DeviceCopies::drop_caches);
        let arena_options = StreamArenaOptions { drop_caches, ..StreamArenaOptions::with_limit(memory_limit) };
        let arena = StreamArena::new(context.clone(), arena_options);
        let engine = GpuEngine::start(&context, &arena, options.kernels, Wait::at_most(START_WAIT))?;
        let accelerator = Self::of(engine, memory_limit, options)?;
        Ok(match copies {
            Some(copies) => accelerator.with_copies(copies),
            None => accelerator,
        })
    }

    /// The same, which keeps copies of map outputs. The engine's arena drops them under pressure
    /// ([`DeviceCopies::drop_caches`]).
    #[must_use]
    pub fn with_copies(mut self, copies: Arc<DeviceCopies>) -> Self {
        self.copies = Some(copies);
        self
    }

    /// The same with an engine that was started.
    ///
    /// # Errors
    /// The host has no memory for buffers, or what is measured fails.
    pub fn of(engine: GpuEngine, memory_limit: usize, options: &GpuOptions<'_>) -> Result<Self, Declined> {
        let lanes = Lanes::new(engine.context(), options.pinned_limit)?;
        engine.counters().lanes_refused.store(lanes.lacking() as u64, Relaxed);
        let mut accelerator = Self {
            watch: None,
            engine,
            lanes,
            pages: None,
            policy: Policy::new(options.used),
            least_bytes: options.least_bytes,
            timeout: options.timeout,
            memory_limit,
            copies: None,
            codec: options.codec,
            began: Instant::now(),
            failure: OnceLock::new(),
        };
        if options.used == Use::WhenItPays {
            accelerator.measure()?;
        }
        // Not before: the first work may wait longer, until the driver has loaded or compiled code.
        let (context, most) = (accelerator.engine.context(), options.timeout * STUCK);
        accelerator.watch = Some(Watch::start(context, accelerator.lanes.calls(), most)?);
        if let Some(Pages { regions, limit_bytes }) = options.pages.filter(|pages| pages.limit_bytes > 0) {
            regions.attach_within(context.clone(), limit_bytes);
            accelerator.pages = Some(Arc::clone(regions));
        }
        Ok(accelerator)
    }

    /// Whether a batch of so many bytes ([`AcceleratorBatch::bytes`]) would be encoded by the GPU now, or pairs of so
    /// many sorted. If not, that is counted as declined. Whoever is told so should come with the batch at once: it may
    /// be a trial of the GPU, which is offered to nobody else for a while.
    pub fn wants(&self, bytes: usize, kind: Kind) -> bool {
        let free = || if self.lanes.is_any_free() { Ok(()) } else { Err(Declined::Busy) };
        let would = self.check(bytes).and_then(|()| free());
        let would = would.and_then(|()| self.policy.invite(kind, self.began.elapsed()));
        would.inspect_err(|why| self.engine.counters().declined(why)).is_ok()
    }

    /// How many batches are encoded at a time, at most.
    pub fn lanes(&self) -> usize {
        self.lanes.count()
    }

    /// Why fewer batches are encoded at a time than the limit on pinned memory allows; none if as many are.
    pub fn lacks_lanes(&self) -> Option<String> {
        self.lanes.why_lacking()
    }

    /// What it did and declined since it was opened, without what was measured then.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    /// The copies of map outputs on the device; none if none are kept.
    pub fn copies(&self) -> Option<&Arc<DeviceCopies>> {
        self.copies.as_ref()
    }

    /// Figures of the copies of map outputs; zeros if none are kept.
    pub fn copy_counts(&self) -> CopyCounts {
        self.copies.as_ref().map(|copies| copies.counts()).unwrap_or_default()
    }

    /// Why the limit on copies of map outputs is lower than what was asked for; none if it is not.
    pub fn lacks_cache(&self, asked_for: usize) -> Option<String> {
        let limit = self.copies.as_ref().map_or(0, |copies| copies.limit());
        let (limit_mib, asked_mib, memory_mib) = (limit >> 20, asked_for >> 20, self.memory_limit >> 20);
        let lower = limit < asked_for as u64;
        lower.then(|| format!("{limit_mib} MiB and not {asked_mib}, because this process may use {memory_mib} MiB"))
    }

    /// Copies a committed map output to the device, as far as the limit and the device's memory allow. For a thread
    /// that may wait for the driver: about as long as it takes to read the file.
    ///
    /// # Errors
    /// It was not kept, and that is counted; readers get the host's copy, as they would without a GPU.
    pub fn keep(&self, output: &HostOutput<'_>) -> Result<(), NotKept> {
        let copies = self.copies.as_ref().ok_or(NotKept::Off)?;
        let mut lane = self.lanes.take();
        let Some(staging) = lane.as_mut().and_then(Lane::staging) else {
            copies.count_busy();
            return Err(NotKept::Busy);
        };
        copies.keep(self.engine.arena(), staging, output, Wait::at_most(self.timeout))
    }

    /// Copies partitions of a map output from the device to memory of the host, which has exactly as many bytes, and
    /// checks the frames.
    ///
    /// # Errors
    /// The device has no copy of them that may be used; the target's bytes mean nothing, and the caller reads the
    /// host's copy.
    pub fn read_copy(&self, key: CopyKey, partitions: Range<u32>, target: &mut [u8]) -> Result<(), Miss> {
        let copies = self.copies.as_ref().ok_or(Miss::Off)?;
        let read = copies.pin(key, &partitions).and_then(|pin| {
            let mut lane = self.lanes.take().ok_or(Miss::Busy)?;
            let staging = lane.staging().ok_or(Miss::Busy)?;
            copies.read(staging, &pin, target, Wait::at_most(self.timeout))
        });
        copies.answered(read, target.len())
    }

    /// Why the device was lost, if it was.
    pub fn lost(&self) -> Option<String> {
        self.engine.context().lost().map(ToString::to_string)
    }

    /// What the first call of the driver said that has failed; the device may work all the same.
    pub fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    /// One line: the device, and what is used of it.
    pub fn describe(&self) -> String {
        let context = self.engine.context();
        format!(
            "{}, {}; up to {} MiB of its memory, {}",
            context.device().describe(),
            context.device().driver().describe(),
            self.memory_limit >> 20,
            self.lanes.describe()
        )
    }

    /// Encodes rows of the self-test's kind both ways, some times each, and then sorts pairs.
    fn measure(&self) -> Result<(), Declined> {
        let kind = Kind::Batch { fields: FIELDS, partitions: PARTITIONS };
        let filled = FilledPage::of(&rows(self.least_bytes.min(MOST_MEASURED_BYTES), PARTITIONS));
        let pages = [filled.page()];
        for _ in 0..MEASUREMENTS {
            let (by_cpu, by_gpu) = (measure_cpu(&pages, self.codec)?, self.measure_gpu(&pages)?);
            // The last ones stay: the first say how long code and memory take to come.
            self.policy.started(kind, Page::row_bytes_of(&pages), by_gpu, by_cpu, self.began.elapsed());
        }
        self.measure_pairs()
    }

    fn measure_gpu(&self, pages: &[Page<'_>]) -> Result<Duration, Declined> {
        let batch = Batch { fields: FIELDS, partitions: PARTITIONS, pages, hash_rows: false };
        let waits = Waits { memory: Wait::at_most(START_WAIT), work: Wait::at_most(START_WAIT) };
        let (mut lane, mut frames) = (self.lanes.take(), Vec::with_capacity(Page::row_bytes_of(pages)));
        let scratch = lane.as_mut().and_then(Lane::scratch).ok_or(Declined::Busy)?;
        let begun = Instant::now();
        self.engine.encode_uncounted(scratch, batch, self.codec, waits, &mut |frame| {
            frames.extend_from_slice(frame.bytes);
            Ok(())
        })?;
        Ok(begun.elapsed())
    }

    /// A lane for a batch of so many bytes that the GPU is to encode, or for pairs that it is to sort.
    fn admit(&self, bytes: usize, kind: Kind) -> Result<Lane<'_>, Declined> {
        self.check(bytes)?;
        // Before the policy, for which a batch that finds no lane is no trial of the GPU.
        let lane = self.lanes.take().ok_or(Declined::Busy)?;
        self.policy.choose(kind, self.began.elapsed())?;
        Ok(lane)
    }

    /// Whether batches of so many bytes are encoded at all.
    fn check(&self, bytes: usize) -> Result<(), Declined> {
        if bytes < self.least_bytes {
            return Err(Declined::TooSmall);
        }
        // Also when all lanes are held up by it: these are not busy.
        self.engine.context().lost().map_or(Ok(()), |why| Err(why.clone().into()))
    }

    /// Encodes a batch that was admitted, and tells the policy.
    fn encode_in(
        &self,
        lane: &mut Lane<'_>,
        batch: &AcceleratorBatch<'_, '_>,
        take: &mut TakeFrame<'_>,
    ) -> Result<(), Declined> {
        let AcceleratorBatch { fields, partitions, pages, options, hash_rows } = *batch;
        let scratch = lane.scratch().ok_or(Declined::Busy)?;
        let wanted = Batch { fields, partitions, pages, hash_rows };
        let waits = Waits { memory: Wait::at_most(MEMORY_WAIT), work: Wait::at_most(self.timeout) };
        let begun = Instant::now();
        self.pin(pages, scratch);
        let made = self.engine.encode_to(scratch, wanted, options, waits, take);
        let (took, now) = (begun.elapsed(), self.began.elapsed());
        match &made {
            Ok(()) => {
                let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
                self.engine.counters().encode_nanos.fetch_add(nanos, Relaxed);
                self.policy.gpu_took(kind_of(batch), batch.row_bytes(), took, now);
            }
            Err(why) => self.failed(kind_of(batch), why, now),
        }
        made
    }

    /// Has the regions of pages pinned from which as much as they have was copied, and counts what is copied from those
    /// that are pinned and from those that are not.
    fn pin(&self, pages: &[Page<'_>], scratch: &EncodeScratch) {
        let Some(regions) = &self.pages else { return };
        // Pinning is a call of the driver, too.
        scratch.staging.calls().begin();
        for page in pages {
            let bytes = page.used.saturating_add(page.entries.saturating_mul(8));
            let pinned = regions.copies(page.memory.as_ptr().addr(), bytes);
            let counters = self.engine.counters();
            let counter = if pinned { &counters.pinned_bytes } else { &counters.unpinned_bytes };
            counter.fetch_add(bytes as u64, Relaxed);
            scratch.staging.calls().go_on();
        }
    }

    fn failed(&self, kind: Kind, why: &Declined, now: Duration) {
        if let Declined::WrongResult(what) = why {
            // It has passed the self-test: whatever it does now, it is not to be trusted.
            self.engine.context().lose(&format!("it makes what is wrong: {what}"));
        }
        if let Declined::Device(error) = why
            && !why.is_lost()
        {
            self.failure.get_or_init(|| error.to_string());
        }
        self.policy.gpu_failed(kind, why, now);
    }
}

impl Drop for GpuAccelerator {
    fn drop(&mut self) {
        if let Some(regions) = &self.pages {
            regions.detach();
        }
    }
}

/// How much of the device's memory is used when no setting says it.
fn limit_with_cache(memory: FreeMemory, cache: usize) -> usize {
    let half = usize::try_from(memory.free_bytes / 2).unwrap_or(usize::MAX);
    default_limit(memory).saturating_add(cache).min(half)
}

/// How long a map output's writer takes for a batch without an accelerator.
fn measure_cpu(pages: &[Page<'_>], codec: CodecOptions) -> Result<Duration, Declined> {
    let bytes: usize = pages.iter().map(|page| page.memory.len()).sum();
    // The run, the sort's references, and roundings.
    let arena = Arena::host(bytes * 4 + (64 << 20));
    let failed = |_| Declined::NotTaken("the host has no memory for a measurement");
    let writer = MapOutputWriter::new(arena, PARTITIONS, codec).map_err(failed)?;
    let begun = Instant::now();
    writer.encode(0, FIELDS, pages).map_err(failed)?;
    Ok(begun.elapsed())
}

/// Batches of it take equally long for their bytes.
fn kind_of(batch: &AcceleratorBatch<'_, '_>) -> Kind {
    Kind::Batch { fields: batch.fields, partitions: batch.partitions }
}

impl Accelerator for GpuAccelerator {
    fn encode(
        &self,
        batch: &AcceleratorBatch<'_, '_>,
        take: &mut sluice_engine::TakeFrame<'_>,
    ) -> Result<(), sluice_engine::Declined> {
        let mut hand_over = |frame: MadeFrame<'_>| {
            let MadeFrame { partition, rows, bytes, hashes, .. } = frame;
            let row_hashes = hashes.map_or((0, 0), |hashes| (hashes.xor, hashes.sum));
            let taken = take(AcceleratorFrame { partition, rows, bytes, row_hashes });
            taken.map_err(|why| match why {
                NotTaken::NoRoom => Declined::NotTaken(sluice_engine::Declined::from(why).why),
                NotTaken::Wrong(what) => Declined::WrongResult(what),
            })
        };
        let admitted =
            self.admit(batch.bytes(), kind_of(batch)).inspect_err(|why| self.engine.counters().declined(why));
        let made = admitted.and_then(|mut lane| self.encode_in(&mut lane, batch, &mut hand_over));
        made.map_err(|why| {
            let finds_pages_wrong = matches!(why, Declined::CheckFailed(_));
            sluice_engine::Declined { why: why.word(), finds_pages_wrong }
        })
    }

    fn encoded_by_cpu(
        &self,
        batch: &AcceleratorBatch<'_, '_>,
        took: Duration,
        declined: Option<sluice_engine::Declined>,
    ) {
        if declined.is_some_and(|declined| declined.finds_pages_wrong) {
            let wrong = Declined::WrongResult("it finds something wrong with pages that the CPU encodes");
            self.engine.counters().declined(&wrong);
            self.failed(kind_of(batch), &wrong, self.began.elapsed());
        }
        if batch.bytes() >= self.least_bytes {
            self.policy.cpu_took(kind_of(batch), batch.row_bytes(), took, self.began.elapsed());
        }
    }

    fn sort_pairs(&self, sort: PairSort, memory: &mut dyn PairMemory) -> Result<(), sluice_engine::Declined> {
        self.sort(sort, memory).map_err(|why| sluice_engine::Declined::new(why.word()))
    }

    fn pairs_sorted_by_cpu(&self, sort: PairSort, took: Duration) {
        if sort.bytes() >= self.least_bytes {
            self.policy.cpu_took(pairs::kind_of(sort), sort.bytes(), took, self.began.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_comes_beside_what_encodes_have_and_others_keep_half_of_what_is_free() {
        const GIB: u64 = 1 << 30;
        let limit = |free_bytes, cache: u64| {
            limit_with_cache(FreeMemory { free_bytes, total_bytes: 80 * GIB }, cache as usize) as u64
        };
        assert_eq!(limit(79 * GIB, 0), 10 * GIB);
        assert_eq!(limit(79 * GIB, 20 * GIB), 30 * GIB);
        assert_eq!(limit(79 * GIB, 100 * GIB), 79 * GIB / 2, "more than the card");
        assert_eq!(limit(8 * GIB, 20 * GIB), 4 * GIB, "RAPIDS has the rest");
        assert_eq!(limit(0, u64::MAX), 0);
    }
}
