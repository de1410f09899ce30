//! Random calls against an interval-set model: leases never overlap, limits hold, and at the end all free memory is
//! joined again.

use crate::subject::{Make, Subject};
use crate::support::options;
use proptest::prelude::*;
use sluice_mem::MemError;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub enum Call {
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

/// Any sequence of calls.
pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec(call(), 1..120)
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

struct Model {
    arena: Box<dyn Subject>,
    live: BTreeMap<usize, Live>,
    released: Vec<usize>,
    limit: usize,
    charged: usize,
    calls: u64,
}

const LIMIT: usize = 300_000_000;

impl Model {
    fn new(make: Make<'_>) -> Self {
        let arena = make(&options(LIMIT));
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
                self.add(start, requested, charged);
            }
            Err(error) => {
                let (leased, limit) = (self.charged, self.limit);
                assert_eq!(error, MemError::OutOfMemory { requested, leased, limit });
                let most = leased + requested + self.arena.most_rounding(requested);
                assert!(most > limit, "refused without need: {error}");
            }
        }
    }

    fn add(&mut self, start: usize, requested: usize, charged: usize) {
        assert!(start.is_multiple_of(64) && charged >= requested.max(64));
        assert!(charged - requested <= self.arena.most_rounding(requested), "{requested} counts {charged}");
        self.charged += charged;
        assert!(self.charged <= self.limit, "limit {} passed: {}", self.limit, self.charged);
        if let Some((before, lease)) = self.live.range(..start + charged).next_back() {
            assert!(before + lease.charged <= start, "{start:#x} overlaps the lease at {before:#x}");
        }
        let cookie = (start as u64) ^ (self.calls << 48);
        self.live.insert(start, Live { requested, charged, cookie });
        self.write_ends(start, requested, cookie);
    }

    fn release(&mut self, address: usize) {
        let lease = self.live.remove(&address).unwrap();
        assert!(self.ends_hold(address, lease.requested, lease.cookie), "somebody else wrote into {address:#x}");
        self.arena.release_raw(address).unwrap();
        self.charged -= lease.charged;
        self.released.push(address);
    }

    fn release_garbage(&mut self, address: usize) {
        if !self.live.contains_key(&address) {
            assert_eq!(self.arena.release_raw(address), Err(MemError::NotLeased { address }));
        }
    }

    fn write_ends(&self, start: usize, bytes: usize, cookie: u64) {
        if bytes >= 16 {
            [start, start + bytes - 8].iter().for_each(|&at| self.arena.write(at, &cookie.to_le_bytes()));
        }
    }

    fn ends_hold(&self, start: usize, bytes: usize, cookie: u64) -> bool {
        let holds = |at: usize| {
            let mut word = [0; 8];
            self.arena.read(at, &mut word);
            u64::from_le_bytes(word) == cookie
        };
        bytes < 16 || (holds(start) && holds(start + bytes - 8))
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

/// Runs the calls against an arena and the model, then releases everything.
pub fn run(make: Make<'_>, calls: &[Call]) {
    let mut model = Model::new(make);
    calls.iter().for_each(|call| model.run(call));
    model.finish();
}
