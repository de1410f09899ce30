//! The arena: limit, thread arenas and global arena behind one face.

use crate::audit;
use crate::budget::Budget;
use crate::error::MemError;
use crate::frame::GRANULE_BYTES;
use crate::global::{GlobalArena, MAX_EXTENT_BYTES};
use crate::host::HostProvider;
use crate::lease::Lease;
use crate::provider::{MemoryKind, Provider, REGION_UNIT_BYTES};
use crate::size_class::{CLASSES, MEDIUM_BYTES, class_of};
use crate::stats::Statistics;
use crate::thread_arena::ThreadArenas;
use crate::trace::TraceRecorder;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How an arena is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArenaOptions {
    /// Limit on leased bytes, rounding included.
    pub limit_bytes: usize,
    /// Bytes of an ordinary region, rounded up to [`REGION_UNIT_BYTES`]; a larger lease gets a larger region.
    pub region_bytes: usize,
    /// Bytes of wholly free regions that are kept mapped; what exceeds it goes back to the provider at once.
    pub slack_bytes: usize,
    /// Thread arenas. Threads beyond this number share them.
    pub shards: usize,
    /// A file to record every lease and release in; see [`crate::trace_file_of_environment`]. Where it cannot be made, a line on
    /// standard error says so and nothing is recorded.
    pub trace: Option<PathBuf>,
}

impl ArenaOptions {
    /// The defaults: regions of 64 MiB, 256 MiB of slack, two shards per core between 4 and 64, no trace.
    pub fn with_limit(limit_bytes: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        Self {
            limit_bytes,
            region_bytes: REGION_UNIT_BYTES,
            slack_bytes: 4 * REGION_UNIT_BYTES,
            shards: (2 * cores).clamp(4, 64),
            trace: None,
        }
    }
}

/// The only source of block memory. All methods may be called from any thread.
///
/// Dropping an arena unmaps its free regions; memory under a raw lease that was never released stays mapped.
#[derive(Debug)]
pub struct Arena {
    budget: Budget,
    threads: ThreadArenas,
    global: GlobalArena,
    refused_by_provider: AtomicU64,
    invalid_releases: AtomicU64,
    trace: Option<TraceRecorder>,
}

impl Arena {
    /// An arena over host memory with default options and a limit on leased bytes.
    pub fn host(limit: usize) -> Arc<Self> {
        Self::with_provider(Arc::new(HostProvider::default()), &ArenaOptions::with_limit(limit))
    }

    /// An arena over the regions of `provider`.
    pub fn with_provider(provider: Arc<dyn Provider>, options: &ArenaOptions) -> Arc<Self> {
        let MemoryKind::Host = provider.kind();
        Arc::new(Self {
            budget: Budget::new(options.limit_bytes, options.shards),
            threads: ThreadArenas::new(options.shards),
            global: GlobalArena::new(provider, options.region_bytes, options.slack_bytes, options.shards),
            refused_by_provider: AtomicU64::new(0),
            invalid_releases: AtomicU64::new(0),
            trace: options.trace.as_deref().and_then(start_trace),
        })
    }

    /// Sets the limit on leased bytes. Below what is leased, new leases are refused until enough came back.
    pub fn set_limit(&self, bytes: usize) {
        self.budget.set_limit(bytes);
    }

    /// Leases at least `bytes` bytes, 64-byte aligned, contents undefined (but initialised). The caller owns them until
    /// [`Self::release_raw`]. An empty lease is a real one: it has an address of its own and counts 64 bytes.
    ///
    /// # Errors
    /// [`MemError::OutOfMemory`] when the limit, or the system, refuses. The limit counts whole blocks: up to 1/8 more
    /// than asked for, and multiples of 4 KiB above 120 KiB.
    pub fn lease_raw(&self, bytes: usize) -> Result<NonNull<u8>, MemError> {
        let booked = booked_bytes(bytes);
        if bytes > MAX_EXTENT_BYTES || !self.budget.charge(booked) {
            return Err(self.refuse(bytes));
        }
        let start: Option<NonNull<u8>> = self.find(bytes, booked).and_then(|address| {
            // Its provenance was exposed by `MappedRegion::new`.
            NonNull::new(std::ptr::with_exposed_provenance_mut(address))
        });
        if let (Some(trace), Some(start)) = (&self.trace, start) {
            trace.leased(start.as_ptr().addr(), bytes);
        }
        start.ok_or_else(|| {
            self.refused_by_provider.fetch_add(1, Relaxed);
            let refusal = self.refuse(bytes);
            self.budget.refund(booked);
            refusal
        })
    }

    /// Finds memory; when the provider refuses a region, once more after the thread arenas gave up what they cache.
    fn find(&self, bytes: usize, booked: usize) -> Option<usize> {
        self.try_find(bytes, booked).or_else(|| {
            self.threads.reclaim(&self.global);
            self.try_find(bytes, booked)
        })
    }

    fn try_find(&self, bytes: usize, booked: usize) -> Option<usize> {
        if bytes > MEDIUM_BYTES {
            self.global.lease_large(booked)
        } else {
            self.threads.lease(class_of(bytes), &self.global)
        }
    }

    #[cold]
    fn refuse(&self, requested: usize) -> MemError {
        MemError::OutOfMemory { requested, leased: self.budget.leased(), limit: self.budget.limit() }
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
        let released = match self.global.frames().superblock_at(address) {
            Some(superblock) => self.threads.release(superblock, address, &self.global),
            None => self.global.release_large(address),
        };
        match released {
            Some(bytes) => {
                self.budget.refund(bytes);
                Ok(())
            }
            None => {
                self.invalid_releases.fetch_add(1, Relaxed);
                Err(MemError::NotLeased { address })
            }
        }
    }

    /// Leases memory that is released when the [`Lease`] is dropped.
    ///
    /// # Errors
    /// As [`Self::lease_raw`].
    pub fn lease(self: &Arc<Self>, bytes: usize) -> Result<Lease, MemError> {
        let start = self.lease_raw(bytes)?;
        Ok(Lease::new(Arc::clone(self), start, bytes))
    }

    /// Bytes on lease, rounding included, and bytes of leases under way.
    pub fn leased_bytes(&self) -> usize {
        self.budget.leased()
    }

    /// Bytes of the regions held from the provider.
    pub fn reserved_bytes(&self) -> usize {
        self.global.reserved_bytes()
    }

    /// Returns cached superblocks to the global arena, and wholly free regions beyond `keep_bytes` to the provider.
    pub fn trim(&self, keep_bytes: usize) {
        self.threads.reclaim(&self.global);
        self.global.trim(keep_bytes);
    }

    /// Figures of this moment. Stops every thread arena for a moment: for metrics, not for the hot path.
    pub fn statistics(&self) -> Statistics {
        let bins = self.threads.freeze();
        let small = ThreadArenas::books(&bins);
        let large = self.global.freeze().books();
        Statistics {
            limit_bytes: self.budget.limit(),
            leased_bytes: self.budget.leased(),
            peak_leased_bytes: self.budget.peak(),
            leases: small.leases + large.large_leases,
            releases: small.releases + large.large_releases,
            refused_by_limit: self.budget.refusals(),
            refused_by_provider: self.refused_by_provider.load(Relaxed),
            invalid_releases: self.invalid_releases.load(Relaxed),
            last_refusal: self.global.last_refusal(),
            regions: large.regions,
            reserved_bytes: self.reserved_bytes(),
            free_bytes: large.free_bytes,
            superblock_bytes: small.superblock_bytes,
            cached_bytes: self.threads.cached_bytes(),
        }
    }

    /// Checks every invariant of the arena, with all of it stopped meanwhile: for tests. May be called at any time, also
    /// beside other threads' leases.
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn check(&self) -> Result<(), String> {
        audit::audit(&self.budget, &self.threads, &self.global).map(|_| ())
    }

    /// As [`Self::check`], and that exactly the bytes found on lease are booked: for moments when no other thread is in
    /// a call of this arena.
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn check_quiet(&self) -> Result<(), String> {
        let found = audit::audit(&self.budget, &self.threads, &self.global)?;
        let booked = self.budget.leased();
        if found.bytes != booked {
            return Err(format!("{} bytes in {} leases, but {booked} are booked", found.bytes, found.leases));
        }
        Ok(())
    }
}

impl Drop for Arena {
    /// Gives the free regions back. A region with a raw lease that nobody released stays mapped: its holder may still
    /// touch it.
    fn drop(&mut self) {
        self.trim(0);
    }
}

fn start_trace(path: &Path) -> Option<TraceRecorder> {
    let report = |error| eprintln!("sluice: no trace of the arena in {}: {error}", path.display());
    TraceRecorder::create(path).map_err(report).ok()
}

/// What a lease of `bytes` counts against the limit.
fn booked_bytes(bytes: usize) -> usize {
    if bytes > MEDIUM_BYTES {
        bytes.min(MAX_EXTENT_BYTES).next_multiple_of(GRANULE_BYTES)
    } else {
        CLASSES[class_of(bytes)].block_bytes
    }
}
