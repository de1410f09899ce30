//! The arena of a GPU's memory whose frees are ordered on streams.

use crate::arena_stream::ArenaStream;
use crate::declined::Declined;
use crate::device_provider::{CHUNK_BYTES, DeviceProvider};
use crate::spare_events::SpareEvents;
use crate::statistics::{StreamCounts, StreamStatistics};
use crate::stream_lease::StreamLease;
use crate::stream_limbo::StreamLimbo;
use sluice_cuda::{Context, CudaError, Stream, Wait, Waited};
use sluice_mem::{
    ArenaOptions, DeviceArena, LimitedProvider, MapStatistics, MemError, MeteredProvider, Provider, SEGMENT_BYTES,
};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Drops what can be made again, such as copies of frames that the host has too. Called with the stream for which a
/// lease was refused and the bytes that it needs; whether it has freed any lease.
pub type DropCaches = Box<dyn Fn(&ArenaStream, usize) -> bool + Send + Sync>;

/// How a stream arena is set up.
pub struct StreamArenaOptions {
    /// The most bytes of the GPU's memory that the arena has from the driver, on lease or not, padding included.
    pub limit_bytes: usize,
    /// Bytes of an ordinary allocation, with the 64 MiB that it is padded with; [`CHUNK_BYTES`] unless a test makes
    /// many.
    pub chunk_bytes: usize,
    /// Thread arenas: threads that use the GPU at the same time.
    pub shards: usize,
    /// What can be dropped under pressure. It is called again until there is room or it has nothing more to free. It
    /// frees stream leases whose last use has ended on the stream that it is given: one that it only drops waits until
    /// its home's thread records an event, and that thread may be waiting too. Leases of the arena below are free when
    /// they are dropped. It must not lease from this arena.
    pub drop_caches: Option<DropCaches>,
}

impl StreamArenaOptions {
    /// The defaults, and a limit on the memory that the arena has from the driver.
    pub fn with_limit(limit_bytes: usize) -> Self {
        let ArenaOptions { shards, .. } = ArenaOptions::with_limit(limit_bytes);
        Self { limit_bytes, chunk_bytes: CHUNK_BYTES, shards, drop_caches: None }
    }

    fn arena(&self) -> ArenaOptions {
        ArenaOptions {
            // The provider's limit decides: it counts what the driver gave.
            limit_bytes: self.limit_bytes,
            region_bytes: region_bytes(self.limit_bytes, self.chunk_bytes + SEGMENT_BYTES),
            // Giving memory back lets the driver wait for the device, so only `trim` does.
            slack_bytes: Some(usize::MAX),
            purge_interval: None,
            shards: self.shards,
            trace: None,
        }
    }
}

impl fmt::Debug for StreamArenaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit_bytes, chunk_bytes, shards, .. } = self;
        f.debug_struct("StreamArenaOptions")
            .field("limit_bytes", limit_bytes)
            .field("chunk_bytes", chunk_bytes)
            .field("shards", shards)
            .finish_non_exhaustive()
    }
}

/// The length of regions of which, padded, a whole number fills the limit, each at most `chunk` bytes with its padding.
fn region_bytes(limit: usize, chunk: usize) -> usize {
    let chunks = limit.div_ceil(chunk.max(2 * SEGMENT_BYTES)).max(1);
    let region = (limit / chunks).saturating_sub(SEGMENT_BYTES) / SEGMENT_BYTES * SEGMENT_BYTES;
    region.max(SEGMENT_BYTES)
}

/// See the crate. All methods may be called from any thread; leases are made through an [`ArenaStream`].
pub struct StreamArena {
    context: Context,
    provider: Arc<MeteredProvider<LimitedProvider<DeviceProvider>>>,
    memory: Arc<DeviceArena>,
    limit_bytes: usize,
    streams: Mutex<Streams>,
    events: Arc<SpareEvents>,
    late_drops: Arc<AtomicU64>,
    drop_caches: Option<DropCaches>,
    /// Threads whose lease was refused and that now look for memory. Streams then record an event behind every free.
    short: AtomicUsize,
    pressure: Pressure,
}

#[derive(Debug, Default)]
struct Streams {
    /// Attached, or with leases in limbo.
    open: Vec<Arc<StreamLimbo>>,
    /// The counts of all others that there were.
    past: StreamCounts,
}

#[derive(Debug, Default)]
struct Pressure {
    shortages: AtomicU64,
    waits: AtomicU64,
    wait_ns: AtomicU64,
    cache_drops: AtomicU64,
    declined: AtomicU64,
    killed: AtomicU64,
    declined_lost: AtomicU64,
    foreign_frees: AtomicU64,
}

impl fmt::Debug for StreamArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamArena").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl StreamArena {
    /// An arena over the memory of the context's device. Nothing is allocated before the first lease.
    pub fn new(context: Context, options: StreamArenaOptions) -> Arc<Self> {
        let device = DeviceProvider::new(context.clone());
        let provider = Arc::new(MeteredProvider::new(LimitedProvider::new(device, options.limit_bytes)));
        let memory = DeviceArena::with_provider(Arc::clone(&provider) as Arc<dyn Provider>, &options.arena());
        let events = Arc::new(SpareEvents::new(context.clone()));
        Arc::new(Self {
            context,
            provider,
            memory,
            limit_bytes: options.limit_bytes,
            streams: Mutex::default(),
            events,
            late_drops: Arc::default(),
            drop_caches: options.drop_caches,
            short: AtomicUsize::new(0),
            pressure: Pressure::default(),
        })
    }

    /// Lets the calling thread lease for the work of `stream`, of the same context.
    ///
    /// # Panics
    /// With a stream of another context, whose events say nothing of this arena's device.
    pub fn attach(self: &Arc<Self>, stream: Stream) -> ArenaStream {
        // Each context has a device value of its own.
        let same = std::ptr::eq(stream.context().device(), self.context.device());
        assert!(same, "a stream of another context than the arena's");
        let (context, memory) = (self.context.clone(), Arc::clone(&self.memory));
        let (events, late_drops) = (Arc::clone(&self.events), Arc::clone(&self.late_drops));
        let limbo = Arc::new(StreamLimbo::new(context, memory, events, late_drops));
        self.streams().open.push(Arc::clone(&limbo));
        ArenaStream::new(Arc::clone(self), stream, limbo)
    }

    /// Whether the limit allows a lease of so many bytes at all, where there are no others.
    pub fn can_ever_lease(&self, bytes: usize) -> bool {
        // A lease lies in one region, which is at least as long, rounded, and takes its padding too.
        let region = bytes.max(1).checked_next_multiple_of(SEGMENT_BYTES).unwrap_or(usize::MAX);
        self.provider.footprint(region) <= self.limit_bytes
    }

    /// The arena below. Memory that is leased from it directly must not be in use by the device when it is released.
    pub fn memory(&self) -> &Arc<DeviceArena> {
        &self.memory
    }

    /// What the arena has from the driver.
    pub fn map_statistics(&self) -> MapStatistics {
        self.provider.statistics()
    }

    /// Ends the batches of all streams whose events have ended: how many leases went back to the arena. Waits for
    /// nothing; a stream that another thread uses at this moment is left to that thread.
    ///
    /// # Errors
    /// The device is lost, or an event cannot be asked; the other streams' batches are ended all the same.
    pub fn poll(&self) -> Result<usize, CudaError> {
        let (released, error) = self.poll_each();
        error.map_or(Ok(released), Err)
    }

    /// The leases that went back, and the first error. The driver is called without the lock on the list of streams.
    fn poll_each(&self) -> (usize, Option<CudaError>) {
        let open = self.open_streams();
        let (mut released, mut first) = (0, None);
        for stream in &open {
            match stream.poll() {
                Ok(leases) => released += leases,
                Err(error) => first = first.or(Some(error)),
            }
        }
        // They end their events when they are dropped, which calls the driver too: `open` still has them.
        let Streams { open: streams, past } = &mut *self.streams();
        streams.retain(|stream| match stream.counts_if_over() {
            Some(counts) => {
                *past = past.plus(counts);
                false
            }
            None => true,
        });
        (released, first)
    }

    /// Waits until nothing is in limbo: when no stream works any more. Those that are attached should have been
    /// flushed.
    ///
    /// # Errors
    /// The device is lost, or an event cannot be asked.
    pub fn settle(&self, wait: Wait<'_>) -> Result<Waited, CudaError> {
        wait.until(|| {
            // What is in limbo then has no event that would tell of it.
            if let Some(lost) = self.context.lost() {
                return Err(lost.clone());
            }
            self.poll()?;
            Ok(self.open_streams().iter().all(|stream| stream.held().0 == 0))
        })
    }

    /// Gives free memory beyond `keep_bytes` back to the driver, in whole chunks. The driver may wait for the device
    /// meanwhile: for moments when no task works on it.
    pub fn trim(&self, keep_bytes: usize) {
        if self.context.lost().is_none() {
            self.memory.trim(keep_bytes);
        }
    }

    /// Figures of this moment.
    pub fn statistics(&self) -> StreamStatistics {
        let mut statistics = StreamStatistics::default();
        let (open, mut counts) = {
            let streams = self.streams();
            (streams.open.clone(), streams.past)
        };
        statistics.streams = open.len();
        for stream in &open {
            let (leases, bytes) = stream.held();
            statistics.limbo_leases += leases;
            statistics.limbo_bytes += bytes;
            counts = counts.plus(stream.counts());
        }
        statistics.set_counts(counts);
        if self.context.lost().is_some() {
            let memory = self.memory.statistics();
            (statistics.leaked_leases, statistics.leaked_bytes) = (memory.live_leases(), memory.leased_bytes);
        }
        let late_drops = self.late_drops.load(Relaxed);
        statistics.frees += late_drops;
        statistics.drops += late_drops;
        let pressure = &self.pressure;
        statistics.shortages = pressure.shortages.load(Relaxed);
        statistics.waits = pressure.waits.load(Relaxed);
        statistics.wait_ns = pressure.wait_ns.load(Relaxed);
        statistics.cache_drops = pressure.cache_drops.load(Relaxed);
        statistics.declined = pressure.declined.load(Relaxed);
        statistics.killed = pressure.killed.load(Relaxed);
        statistics.declined_lost = pressure.declined_lost.load(Relaxed);
        statistics.foreign_frees = pressure.foreign_frees.load(Relaxed);
        statistics
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The streams of this moment. Their limbos are looked at without the lock on the list, which every thread needs
    /// to attach a stream.
    fn open_streams(&self) -> Vec<Arc<StreamLimbo>> {
        self.streams().open.clone()
    }

    pub(crate) fn count_foreign_free(&self) {
        self.pressure.foreign_frees.fetch_add(1, Relaxed);
    }

    /// Whether some thread looks for memory.
    pub(crate) fn is_short(&self) -> bool {
        self.short.load(Relaxed) > 0
    }

    /// Takes closed streams out of the list, as far as their work has ended.
    pub(crate) fn stream_closed(&self) {
        // A device that is lost keeps everything; so do events that cannot be asked.
        let _ = self.poll();
    }

    /// Counts a lease that was declined.
    pub(crate) fn declined(&self, why: Declined) -> Declined {
        let counter = match why {
            Declined::Memory(_) => &self.pressure.declined,
            Declined::DeviceLost => &self.pressure.declined_lost,
            Declined::Killed => &self.pressure.killed,
        };
        counter.fetch_add(1, Relaxed);
        why
    }

    /// Looks for memory that the arena has refused: among batches that have ended, then in caches, then in what the
    /// device will have ended before `wait` ends.
    pub(crate) fn lease_under_pressure(
        &self,
        stream: &ArenaStream,
        bytes: usize,
        wait: Wait<'_>,
        refused: MemError,
    ) -> Result<StreamLease, Declined> {
        self.pressure.shortages.fetch_add(1, Relaxed);
        if !self.can_ever_lease(bytes) {
            return Err(self.declined(Declined::Memory(refused)));
        }
        let _short = Short::enter(&self.short);
        let mut found = self.poll_and_lease(stream, bytes);
        // What a cache frees may lie between what it keeps: it drops more until there is room, or nothing is left.
        while matches!(found, Ok(None)) && self.drops_caches(stream, bytes) {
            found = self.poll_and_lease(stream, bytes);
        }
        match found {
            Ok(Some(lease)) => Ok(lease),
            Ok(None) => self.wait_and_lease(stream, bytes, wait, refused),
            Err(_) => Err(self.declined(Declined::DeviceLost)),
        }
    }

    fn drops_caches(&self, stream: &ArenaStream, bytes: usize) -> bool {
        let dropped = self.drop_caches.as_ref().is_some_and(|drop_caches| drop_caches(stream, bytes));
        self.pressure.cache_drops.fetch_add(dropped.into(), Relaxed);
        dropped
    }

    /// How many leases went back to the arena. Also the stream's own batch gets an event each time: what other threads
    /// drop while this one waits comes into it.
    ///
    /// # Errors
    /// The device is lost. An event that cannot be asked for another reason has been counted, and is asked again.
    fn flush_and_poll(&self, stream: &ArenaStream) -> Result<usize, CudaError> {
        stream.flush();
        let (released, _) = self.poll_each();
        // With nothing in limbo, no event would tell of it.
        self.context.lost().map_or(Ok(released), |lost| Err(lost.clone()))
    }

    fn poll_and_lease(&self, stream: &ArenaStream, bytes: usize) -> Result<Option<StreamLease>, CudaError> {
        self.flush_and_poll(stream)?;
        Ok(stream.try_lease(bytes).ok())
    }

    fn wait_and_lease(
        &self,
        stream: &ArenaStream,
        bytes: usize,
        wait: Wait<'_>,
        refused: MemError,
    ) -> Result<StreamLease, Declined> {
        let (begun, mut lease) = (Instant::now(), None);
        let (mut rounds, mut leased) = (0usize, self.memory.leased_bytes());
        let mut waited = wait.until(|| {
            rounds += 1;
            let released = self.flush_and_poll(stream)?;
            let before = std::mem::replace(&mut leased, self.memory.leased_bytes());
            if released > 0 || leased < before || rounds.is_multiple_of(ROUNDS) {
                lease = stream.try_lease(bytes).ok();
            }
            Ok::<bool, CudaError>(lease.is_some())
        });
        if let Ok(Waited::TimedOut) = waited {
            // Others may have leased as much as was released, of other sizes, so that no figure showed it.
            waited = self.poll_and_lease(stream, bytes).map(|last| {
                lease = last;
                Waited::TimedOut
            });
        }
        self.pressure.waits.fetch_add(1, Relaxed);
        self.pressure.wait_ns.fetch_add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX), Relaxed);
        let why = match waited {
            Ok(Waited::Done | Waited::TimedOut) => Declined::Memory(refused),
            Ok(Waited::Killed) => Declined::Killed,
            Err(_) => Declined::DeviceLost,
        };
        lease.ok_or_else(|| self.declined(why))
    }
}

impl Drop for StreamArena {
    /// What has ended goes back to the arena, and from there to the driver. Chunks with leases that have not ended stay
    /// allocated, and the provider has them counted.
    fn drop(&mut self) {
        let _ = self.poll();
    }
}

/// While a thread waits it asks the events in each round, and searches the arena when something was released; else only
/// in every so many rounds (of 1 ms), because another process may have given memory back to the driver.
const ROUNDS: usize = 16;

/// A thread that looks for memory.
struct Short<'a>(&'a AtomicUsize);

impl<'a> Short<'a> {
    fn enter(short: &'a AtomicUsize) -> Self {
        short.fetch_add(1, Relaxed);
        Self(short)
    }
}

impl Drop for Short<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_regions_fill_the_limit() {
        const MIB: usize = 1 << 20;
        let region = |limit, chunk| region_bytes(limit * MIB, chunk * MIB) / MIB;
        assert_eq!(region(1088, 1088), 1024);
        assert_eq!(region(2048, 1088), 960, "two of 1,024 with their padding");
        assert_eq!(region(10 << 10, 1088), 960);
        assert_eq!(region(512, 1088), 448);
        assert_eq!(region(512, 128), 64);
        assert_eq!((region(0, 1088), region(100, 1088)), (64, 64), "which the limit then refuses");
    }
}
