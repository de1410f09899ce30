//! Random calls against an interval-set model: leases never overlap, limits hold, and at the end all free memory is
//! joined again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use proptest::prelude::*;
use sluice_mem::{Arena, MemError};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::host_arena;

#[derive(Debug, Clone)]
enum Call {
    Lease(usize),
    Release(prop::sample::Index),
    /// Releases a live lease's address plus this offset.
    ReleaseNear(prop::sample::Index, isize),
    ReleaseAgain(prop::sample::Index),
    ReleaseAny(usize),
    SetLimit(usize),
    Trim(usize),
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0usize..2_000,
        4 => 2_000usize..130_000,
        4 => 130_000usize..2_000_000,
        2 => 2_000_000usize..40_000_000,
        1 => 60_000_000usize..200_000_000,
        2 => (6u32..25, -1isize..2).prop_map(|(bits, by)| (1usize << bits).saturating_add_signed(by)),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        12 => size().prop_map(Call::Lease),
        8 => index().prop_map(Call::Release),
        1 => (index(), prop_oneof![-5_000isize..5_000, -300_000isize..300_000])
            .prop_map(|(i, by)| Call::ReleaseNear(i, by)),
        1 => index().prop_map(Call::ReleaseAgain),
        1 => (0usize..usize::MAX).prop_map(Call::ReleaseAny),
        1 => (0usize..400_000_000).prop_map(Call::SetLimit),
        1 => (0usize..200_000_000).prop_map(Call::Trim),
    ]
}

#[derive(Debug)]
struct Live {
    requested: usize,
    charged: usize,
    cookie: u64,
}

#[derive(Debug)]
struct Model {
    arena: Arc<Arena>,
    live: BTreeMap<usize, Live>,
    released: Vec<usize>,
    limit: usize,
    charged: usize,
    calls: u64,
}

const LIMIT: usize = 300_000_000;

impl Model {
    fn new() -> Self {
        let arena = host_arena(LIMIT);
        Self { arena, live: BTreeMap::new(), released: Vec::new(), limit: LIMIT, charged: 0, calls: 0 }
    }

    fn run(&mut self, call: &Call) {
        self.calls += 1;
        match call {
            Call::Lease(bytes) => self.lease(*bytes),
            Call::Release(index) => _ = self.pick(index).map(|address| self.release(address)),
            Call::ReleaseNear(index, by) => {
                _ = self.pick(index).map(|address| self.release_garbage(address.wrapping_add_signed(*by)));
            }
            Call::ReleaseAgain(index) if !self.released.is_empty() => {
                self.release_garbage(self.released[index.index(self.released.len())]);
            }
            Call::ReleaseAgain(_) => {}
            Call::ReleaseAny(address) => self.release_garbage(*address),
            Call::SetLimit(bytes) => {
                self.limit = *bytes;
                self.arena.set_limit(*bytes);
            }
            Call::Trim(bytes) => self.arena.trim(*bytes),
        }
        assert_eq!(self.arena.leased_bytes(), self.charged);
        assert_eq!(self.arena.statistics().live_leases(), self.live.len() as u64);
        self.arena.check_quiet().unwrap();
    }

    fn pick(&self, index: &prop::sample::Index) -> Option<usize> {
        let nth = (!self.live.is_empty()).then(|| index.index(self.live.len()))?;
        self.live.keys().nth(nth).copied()
    }

    fn lease(&mut self, requested: usize) {
        match self.arena.lease_raw(requested) {
            Ok(start) => {
                let charged = self.arena.leased_bytes() - self.charged;
                self.add(start.as_ptr() as usize, requested, charged);
            }
            Err(error) => {
                let (leased, limit) = (self.charged, self.limit);
                assert_eq!(error, MemError::OutOfMemory { requested, leased, limit });
                assert!(leased + requested + most_rounding(requested) > limit, "refused without need: {error}");
            }
        }
    }

    fn add(&mut self, start: usize, requested: usize, charged: usize) {
        assert!(start.is_multiple_of(64) && charged >= requested.max(64));
        assert!(charged - requested <= most_rounding(requested), "{requested} counts {charged}");
        self.charged += charged;
        assert!(self.charged <= self.limit, "limit {} passed: {}", self.limit, self.charged);
        if let Some((before, lease)) = self.live.range(..start + charged).next_back() {
            assert!(before + lease.charged <= start, "{start:#x} overlaps the lease at {before:#x}");
        }
        let cookie = (start as u64) ^ (self.calls << 48);
        self.live.insert(start, Live { requested, charged, cookie });
        write_ends(start, requested, cookie);
    }

    fn release(&mut self, address: usize) {
        let lease = self.live.remove(&address).unwrap();
        assert!(ends_hold(address, lease.requested, lease.cookie), "somebody else wrote into {address:#x}");
        self.arena.release_raw(address).unwrap();
        self.charged -= lease.charged;
        self.released.push(address);
    }

    fn release_garbage(&mut self, address: usize) {
        if !self.live.contains_key(&address) {
            assert_eq!(self.arena.release_raw(address), Err(MemError::NotLeased { address }));
        }
    }

    fn finish(mut self) {
        while let Some(address) = self.live.keys().next().copied() {
            self.release(address);
        }
        self.arena.trim(0);
        self.arena.check_quiet().unwrap();
        assert_eq!((self.arena.leased_bytes(), self.arena.reserved_bytes()), (0, 0), "all joined and given back");
    }
}

/// The rounding that `Arena::lease_raw` documents.
fn most_rounding(requested: usize) -> usize {
    if requested > 120 << 10 { 4095 } else { (requested / 8).max(64) }
}

fn write_ends(start: usize, bytes: usize, cookie: u64) {
    if bytes >= 16 {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(start);
        // SAFETY: a live lease of `bytes >= 16` bytes that only this model uses.
        unsafe {
            start.cast::<u64>().write_unaligned(cookie);
            start.add(bytes - 8).cast::<u64>().write_unaligned(cookie);
        }
    }
}

fn ends_hold(start: usize, bytes: usize, cookie: u64) -> bool {
    let start = std::ptr::with_exposed_provenance::<u8>(start);
    // SAFETY: as in `write_ends`, which wrote both words.
    bytes < 16
        || unsafe {
            start.cast::<u64>().read_unaligned() == cookie
                && start.add(bytes - 8).cast::<u64>().read_unaligned() == cookie
        }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_an_interval_set(calls in prop::collection::vec(call(), 1..120)) {
        let mut model = Model::new();
        calls.iter().for_each(|call| model.run(call));
        model.finish();
    }
}
