//! The arena: limit, thread arenas and global arena behind one interface.

use crate::asan;
use crate::audit;
use crate::budget::Budget;
use crate::error::MemError;
use crate::geometry::{GRANULE_BYTES, MAX_EXTENT_BYTES, MEDIUM_BYTES, SEGMENT_BYTES};
use crate::global::{GlobalArena, GlobalOptions};
use crate::host::HostProvider;
use crate::provider::{MemoryKind, Provider};
use crate::residency::Purgeable;
use crate::size_class::{CLASSES, class_of};
use crate::slack::default_slack;
use crate::stats::{LastRefusal, RefusalCause, Statistics};
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use crate::thread_arena::ThreadArenas;
use crate::thread_slot;
use crate::trace::TraceRecorder;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// Between two purge passes. Memory is given back one to two intervals after its last use. A job that uses all memory
/// once in each interval pays at most for clearing it anew each time: some 100 ms of processor time per GiB, which is 2
/// % of one core.
const PURGE_INTERVAL: Duration = Duration::from_secs(5);

/// How an arena is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArenaOptions {
    /// Limit on leased bytes, rounding included.
    pub limit_bytes: usize,
    /// Bytes of an ordinary region, rounded up to [`SEGMENT_BYTES`]; a larger lease gets a larger region.
    pub region_bytes: usize,
    /// Bytes of wholly free regions that are kept mapped; what exceeds it is unmapped at once. `None`: an eighth of the
    /// limit, whatever the limit becomes, but at least one segment.
    pub slack_bytes: Option<usize>,
    /// Free memory that no lease has used for one to two of these intervals is given back to the system, and stays
    /// mapped. `None`: only [`Arena::purge`] does that.
    pub purge_interval: Option<Duration>,
    /// Thread arenas. Threads beyond this number share them.
    pub shards: usize,
    /// A file to record every lease and release in; see [`crate::trace_file_of_environment`]. Where it cannot be made,
    /// a line on standard error says so and nothing is recorded.
    pub trace: Option<PathBuf>,
}

impl ArenaOptions {
    /// The defaults: regions of 64 MiB, slack by the limit, purges every 5 s, two shards per core between 4 and 64, no
    /// trace.
    pub fn with_limit(limit_bytes: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        Self {
            limit_bytes,
            region_bytes: SEGMENT_BYTES,
            slack_bytes: None,
            purge_interval: Some(PURGE_INTERVAL),
            shards: (2 * cores).clamp(4, 64),
            trace: None,
        }
    }

    fn global(&self) -> GlobalOptions {
        GlobalOptions {
            region_bytes: self.region_bytes,
            slack_bytes: self.slack_bytes.unwrap_or_else(|| default_slack(self.limit_bytes)),
            sub_arenas: self.shards,
            purge_interval: self.purge_interval,
        }
    }
}

/// The only source of block memory that this process reads and writes: of host memory, pinned or not. The memory of a
/// GPU comes from a [`crate::DeviceArena`]. All methods may be called from any thread.
///
/// Dropping an arena unmaps its free regions; memory under a raw lease that was never released stays mapped.
#[derive(Debug)]
pub struct Arena {
    shards: u32,
    budget: Budget,
    threads: ThreadArenas,
    global: GlobalArena,
    slack_follows_limit: bool,
    refused_by_provider: AtomicU64,
    refused_by_size: AtomicU64,
    last_refusal: Mutex<LastRefusal>,
    invalid_releases: AtomicU64,
    trace: Option<TraceRecorder>,
}

impl Arena {
    /// An arena over host memory with default options and a limit on leased bytes.
    pub fn host(limit: usize) -> Arc<Self> {
        Self::with_provider(Arc::new(HostProvider::default()), &ArenaOptions::with_limit(limit))
    }

    /// An arena over the regions of `provider`, which maps host memory, pinned or not.
    ///
    /// # Panics
    /// With a provider of a GPU's memory, whose leases cannot be slices: [`crate::DeviceArena::with_provider`] takes
    /// it.
    pub fn with_provider(provider: Arc<dyn Provider>, options: &ArenaOptions) -> Arc<Self> {
        let arena = Self::of_any_kind(provider, options);
        assert_eq!(arena.kind().device(), None, "an arena whose leases are slices, over a GPU's memory");
        Arc::new(arena)
    }

    /// An arena over the regions of `provider`, whatever its kind: its leases may be addresses that only a GPU reads.
    pub(crate) fn of_any_kind(provider: Arc<dyn Provider>, options: &ArenaOptions) -> Self {
        let shards = options.shards.clamp(1, 1 << 16);
        Self {
            shards: shards as u32,
            budget: Budget::new(options.limit_bytes, shards),
            threads: ThreadArenas::new(shards),
            global: GlobalArena::new(provider, options.global()),
            slack_follows_limit: options.slack_bytes.is_none(),
            refused_by_provider: AtomicU64::new(0),
            refused_by_size: AtomicU64::new(0),
            last_refusal: Mutex::new(LastRefusal::default()),
            invalid_releases: AtomicU64::new(0),
            trace: options.trace.as_deref().and_then(start_trace),
        }
    }

    /// The kind of memory of every lease.
    pub fn kind(&self) -> MemoryKind {
        self.global.kind()
    }

    /// Sets the limit on leased bytes. Below what is leased, new leases are refused until enough was released.
    pub fn set_limit(&self, bytes: usize) {
        self.budget.set_limit(bytes);
        if self.slack_follows_limit {
            self.global.set_slack(default_slack(bytes));
        }
    }

    /// Leases at least `bytes` bytes, 64-byte aligned, contents undefined (but initialised). The caller owns them until
    /// [`Self::release_raw`]. An empty lease is a real one: it has an address of its own and counts 64 bytes.
    ///
    /// # Errors
    /// [`MemError::OutOfMemory`] when the limit, or the system, refuses. The limit counts whole blocks: up to 1/8 more
    /// than asked for, and multiples of 4 KiB above 120 KiB.
    pub fn lease_raw(&self, bytes: usize) -> Result<NonNull<u8>, MemError> {
        // Its provenance was exposed by `MappedRegion::new`.
        self.lease_as(bytes, |address| NonNull::new(std::ptr::with_exposed_provenance_mut(address)))
    }

    /// Leases memory as [`Self::lease_raw`] does. `own` makes of its address, which is not 0, what the caller gets.
    #[inline(always)]
    pub(crate) fn lease_as<T>(&self, bytes: usize, own: impl FnOnce(usize) -> Option<T>) -> Result<T, MemError> {
        if bytes > MAX_EXTENT_BYTES {
            return Err(self.refuse(bytes, RefusalCause::Size));
        }
        let (shard, charged) = (self.own_shard(), charged_bytes(bytes));
        if !self.budget.charge(shard, charged) {
            return Err(self.refuse(bytes, RefusalCause::Limit));
        }
        let lease = self.find(shard, bytes, charged).and_then(|address| {
            asan::unpoison(address, bytes);
            if let Some(trace) = &self.trace {
                trace.leased(address, bytes);
            }
            own(address)
        });
        match lease {
            Some(lease) => Ok(lease),
            None => {
                let refusal = self.refuse(bytes, RefusalCause::Provider);
                self.budget.refund(shard, charged);
                Err(refusal)
            }
        }
    }

    /// The calling thread's shard, of the thread arenas and of the budget.
    fn own_shard(&self) -> usize {
        // 32-bit division is much cheaper than 64-bit division on many processors.
        (thread_slot::current() as u32 % self.shards) as usize
    }

    /// Finds memory; when the provider refuses a region, once more after the thread arenas gave up what they cache.
    #[inline(always)]
    fn find(&self, shard: usize, bytes: usize, charged: usize) -> Option<usize> {
        self.try_find(shard, bytes, charged).or_else(|| {
            self.threads.reclaim(&self.global);
            self.try_find(shard, bytes, charged)
        })
    }

    #[inline(always)]
    fn try_find(&self, shard: usize, bytes: usize, charged: usize) -> Option<usize> {
        if bytes > MEDIUM_BYTES {
            self.global.lease_large(charged)
        } else {
            self.threads.lease(shard, class_of(bytes), &self.global)
        }
    }

    #[cold]
    fn refuse(&self, requested: usize, cause: RefusalCause) -> MemError {
        match cause {
            RefusalCause::Limit => {} // The budget has counted it.
            RefusalCause::Provider => _ = self.refused_by_provider.fetch_add(1, Relaxed),
            RefusalCause::Size => _ = self.refused_by_size.fetch_add(1, Relaxed),
        }
        let (leased, limit) = (self.budget.leased(), self.budget.limit());
        *lock(&self.last_refusal) = LastRefusal { cause: Some(cause), requested, leased, limit };
        MemError::OutOfMemory { requested, leased, limit }
    }

    /// Ends the lease that starts at `address`, from any thread.
    ///
    /// # Errors
    /// [`MemError::NotLeased`] for any other number: inside a lease, released before, never leased, not mapped. Memory
    /// at `address` is not looked at. (A stale address that meanwhile was leased again is that new lease's address.)
    pub fn release_raw(&self, address: usize) -> Result<(), MemError> {
        if let Some(trace) = &self.trace {
            trace.releasing(address);
        }
        let shard = self.own_shard();
        let released = match self.global.segments().superblock_at(address) {
            Some(superblock) => self.threads.release(shard, superblock, address, &self.global),
            None => self.global.release_large(address),
        };
        match released {
            Some(bytes) => {
                self.budget.refund(shard, bytes);
                Ok(())
            }
            None => {
                self.invalid_releases.fetch_add(1, Relaxed);
                Err(MemError::NotLeased { address })
            }
        }
    }

    /// Bytes on lease, rounding included, and bytes of leases under way.
    pub fn leased_bytes(&self) -> usize {
        self.budget.leased()
    }

    /// At least [`Self::leased_bytes`]: with what threads may lease without asking. One load, where that reads a line
    /// of every shard.
    pub fn charged_bytes(&self) -> usize {
        self.budget.charged()
    }

    /// The limit on leased bytes.
    pub fn limit_bytes(&self) -> usize {
        self.budget.limit()
    }

    /// Bytes of the mapped regions.
    pub fn reserved_bytes(&self) -> usize {
        self.global.reserved_bytes()
    }

    /// Returns cached superblocks to the global arena, and unmaps wholly free regions beyond `keep_bytes`.
    pub fn trim(&self, keep_bytes: usize) {
        self.threads.reclaim(&self.global);
        self.global.trim(keep_bytes);
    }

    /// Gives all free memory back to the system, cached superblocks included, at once; the regions stay mapped. How
    /// many bytes it was. The next leases have the kernel clear pages again: call it when none are expected soon.
    pub fn purge(&self) -> u64 {
        self.threads.reclaim(&self.global);
        self.global.purge(Purgeable::All)
    }

    /// Makes one step of a purge pass if one is due ([`ArenaOptions::purge_interval`]), as releases of large leases do
    /// by themselves. For moments after which no such release may come for long, and for timers. Without a pass that is
    /// due it reads a clock.
    pub fn purge_if_due(&self) {
        self.global.purge_if_due();
    }

    /// Figures of this moment. Locks every bin and every sub-arena, one after another, each for some nanoseconds:
    /// beside calls of other threads the figures are of slightly different moments.
    pub fn statistics(&self) -> Statistics {
        let (small, large) = (self.threads.counts(), self.global.counts());
        let (refusal, purges) = (*lock(&self.last_refusal), self.global.purges());
        Statistics {
            limit_bytes: self.budget.limit(),
            leased_bytes: self.budget.leased(),
            peak_leased_bytes: self.budget.peak(),
            leases: small.leases + large.large_leases,
            releases: small.releases + large.large_releases,
            cross_thread_releases: self.threads.cross_thread_releases() + large.cross_thread_releases,
            invalid_releases: self.invalid_releases.load(Relaxed),
            refused_by_limit: self.budget.refusals(),
            refused_by_provider: self.refused_by_provider.load(Relaxed),
            refused_by_size: self.refused_by_size.load(Relaxed),
            last_refusal_cause: refusal.cause.map_or(0, |cause| cause as u64),
            last_refusal_requested_bytes: refusal.requested,
            last_refusal_leased_bytes: refusal.leased,
            last_refusal_limit_bytes: refusal.limit,
            regions: large.regions,
            reserved_bytes: self.reserved_bytes(),
            touched_bytes: self.reserved_bytes().saturating_sub(large.untouched_bytes),
            free_bytes: large.free_bytes,
            superblock_bytes: small.superblock_bytes,
            cached_bytes: self.threads.cached_bytes(),
            purge_passes: purges.passes(),
            purged_bytes: purges.purged_bytes(),
            purge_failures: purges.failures(),
        }
    }

    /// Why the provider last mapped no region, in words.
    pub fn last_map_error(&self) -> Option<String> {
        self.global.map_error()
    }

    /// Checks every invariant of the arena, with all of it stopped meanwhile: for tests. May be called at any time,
    /// also beside other threads' leases.
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn check(&self) -> Result<(), String> {
        audit::audit(&self.budget, &self.threads, &self.global).map(|_| ())
    }

    /// As [`Self::check`], and that exactly the bytes found on lease are charged to the limit: for moments when no
    /// other thread is in a call of this arena.
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn check_quiet(&self) -> Result<(), String> {
        let found = audit::audit(&self.budget, &self.threads, &self.global)?;
        let charged = self.budget.leased();
        if found.bytes != charged {
            return Err(format!("{} bytes in {} leases, but {charged} are charged", found.bytes, found.leases));
        }
        Ok(())
    }
}

impl Drop for Arena {
    /// Unmaps the free regions. One with a raw lease that was not released stays mapped: its holder may still use the
    /// memory.
    fn drop(&mut self) {
        self.trim(0);
    }
}

fn start_trace(path: &Path) -> Option<TraceRecorder> {
    let report = |error| eprintln!("sluice: no trace of the arena in {}: {error}", path.display());
    TraceRecorder::create(path).map_err(report).ok()
}

/// What a lease of `bytes` counts against the limit.
pub(crate) fn charged_bytes(bytes: usize) -> usize {
    if bytes > MEDIUM_BYTES {
        bytes.min(MAX_EXTENT_BYTES).next_multiple_of(GRANULE_BYTES)
    } else {
        CLASSES[class_of(bytes)].block_bytes
    }
}
