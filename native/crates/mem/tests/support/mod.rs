//! What the arena's integration tests and its benchmark share.
#![allow(dead_code, reason = "each test crate uses a part")]

use sluice_mem::{Arena, ArenaOptions, HostProvider, MapError, MappedRegion, MemoryKind, Provider, SEGMENT_BYTES};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Buffer sizes and their counts in the seed's recording of one query: the ten most frequent.
pub const SEED_TABLE: [(usize, usize); 10] = [
    (256, 1871),
    (505_344, 420),
    (2_874_368, 290),
    (768, 196),
    (2_816, 181),
    (4_042_496, 160),
    (564_992, 144),
    (1_536, 121),
    (1_792, 113),
    (319_488, 108),
];

/// Host memory without huge pages: tests touch little of what they lease.
pub const PLAIN_HOST: HostProvider = HostProvider { huge_pages: false };

/// Options with two shards, so that threads also share one, one region of slack, and a step of a purge at each large
/// release.
pub fn options(limit_bytes: usize) -> ArenaOptions {
    ArenaOptions {
        region_bytes: SEGMENT_BYTES,
        slack_bytes: Some(SEGMENT_BYTES),
        purge_interval: Some(Duration::ZERO),
        shards: 2,
        ..ArenaOptions::with_limit(limit_bytes)
    }
}

/// An arena over plain host memory with [`options`].
pub fn host_arena(limit_bytes: usize) -> Arc<Arena> {
    Arena::with_provider(Arc::new(PLAIN_HOST), &options(limit_bytes))
}

/// Host memory of a fixed size, that checks how the arena treats its provider and can be told to refuse.
#[derive(Debug)]
pub struct FixedProvider {
    capacity: AtomicUsize,
    mapped: Mutex<Vec<(usize, usize)>>,
}

impl FixedProvider {
    pub fn new(capacity: usize) -> Self {
        Self { capacity: AtomicUsize::new(capacity), mapped: Mutex::default() }
    }

    pub fn set_capacity(&self, bytes: usize) {
        self.capacity.store(bytes, SeqCst);
    }

    pub fn mapped_bytes(&self) -> usize {
        self.mapped.lock().expect("lock").iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Provider for FixedProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        assert!(bytes > 0 && bytes.is_multiple_of(SEGMENT_BYTES), "a region of {bytes} bytes");
        let mut mapped = self.mapped.lock().expect("lock");
        let used: usize = mapped.iter().map(|(_, bytes)| bytes).sum();
        if used + bytes > self.capacity.load(SeqCst) {
            return Err(MapError { bytes, reason: format!("{used} bytes are mapped already") });
        }
        let region = PLAIN_HOST.map(bytes)?;
        mapped.push((region.address(), bytes));
        Ok(region)
    }

    fn unmap(&self, region: MappedRegion) {
        let key = (region.address(), region.bytes());
        let mut mapped = self.mapped.lock().expect("lock");
        let at = mapped.iter().position(|known| *known == key).expect("only what was mapped comes back");
        mapped.swap_remove(at);
        drop(mapped);
        PLAIN_HOST.unmap(region);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let (first, end) = (start.as_ptr() as usize, start.as_ptr() as usize + bytes);
        let inside = |(address, bytes): &(usize, usize)| *address <= first && end <= address + bytes;
        assert!(self.mapped.lock().expect("lock").iter().any(inside), "a purge of {first:#x}..{end:#x}");
        // SAFETY: the caller's promise; the region is from `PLAIN_HOST`, as just checked.
        unsafe { PLAIN_HOST.purge(start, bytes) }
    }
}

/// Regions that lie side by side in one mapping, lowest address first: what is free in one must not join the next.
#[derive(Debug)]
pub struct AdjacentProvider {
    area: Option<MappedRegion>,
    taken: Mutex<Vec<bool>>,
}

impl AdjacentProvider {
    pub fn new(units: usize) -> Self {
        let area = PLAIN_HOST.map(units * SEGMENT_BYTES).expect("address space");
        Self { area: Some(area), taken: Mutex::new(vec![false; units]) }
    }

    fn start(&self) -> usize {
        self.area.as_ref().map_or(0, MappedRegion::address)
    }
}

impl Provider for AdjacentProvider {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        let units = bytes / SEGMENT_BYTES;
        let mut taken = self.taken.lock().expect("lock");
        let first = taken.windows(units).position(|run| !run.contains(&true));
        let first = first.ok_or_else(|| MapError { bytes, reason: "the area is full".to_owned() })?;
        taken[first..first + units].fill(true);
        let start = std::ptr::with_exposed_provenance_mut(self.start() + first * SEGMENT_BYTES);
        let start = NonNull::new(start).expect("inside the area");
        // SAFETY: units of the mapped, initialised area that, by `taken`, no other region has until `unmap`.
        Ok(unsafe { MappedRegion::new(start, bytes) })
    }

    fn unmap(&self, region: MappedRegion) {
        let first = (region.address() - self.start()) / SEGMENT_BYTES;
        let units = region.bytes() / SEGMENT_BYTES;
        self.taken.lock().expect("lock")[first..first + units].fill(false);
    }
}

impl Drop for AdjacentProvider {
    fn drop(&mut self) {
        self.area.take().into_iter().for_each(|area| PLAIN_HOST.unmap(area));
    }
}

/// A small deterministic generator (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A size drawn from [`SEED_TABLE`] by its counts; one in 16 is from the long tail, any size up to 4 MB.
    pub fn seed_size(&mut self) -> usize {
        if self.below(16) == 0 {
            return 1 << self.below(23);
        }
        let total: usize = SEED_TABLE.iter().map(|(_, count)| count).sum();
        let mut nth = self.below(total);
        for (size, count) in SEED_TABLE {
            if nth < count {
                return size;
            }
            nth -= count;
        }
        unreachable!("the counts cover the total")
    }
}
