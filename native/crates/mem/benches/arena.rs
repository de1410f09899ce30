//! Time of one lease and release: fixed sizes, and the seed's size distribution with a working set of live leases,
//! against the system allocator.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use sluice_mem::{Arena, Lease};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use support::Random;

/// Live leases in the distribution benchmark.
const WORKING_SET: usize = 64;

/// Memory of the system allocator with the arena's alignment.
struct Malloced(*mut u8, Layout);

impl Malloced {
    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), 64).unwrap();
        // SAFETY: the layout's size is not zero.
        Self(unsafe { System.alloc(layout) }, layout)
    }
}

impl Drop for Malloced {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout and freed once.
        unsafe { System.dealloc(self.0, self.1) };
    }
}

fn arena() -> Arc<Arena> {
    Arena::host(4 << 30)
}

fn fixed_sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lease_and_release");
    let arena = arena();
    for bytes in [256, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20] {
        group.bench_function(format!("arena/{bytes}"), |bench| {
            bench.iter(|| arena.release_raw(arena.lease_raw(black_box(bytes)).unwrap().as_ptr() as usize));
        });
        group.bench_function(format!("system/{bytes}"), |bench| {
            bench.iter(|| drop(black_box(Malloced::new(black_box(bytes)))));
        });
    }
    group.finish();
}

/// Replaces a random one of [`WORKING_SET`] live allocations by one of a size from the seed's table.
fn replace<T>(slots: &mut Vec<Option<T>>, random: &mut Random, allocate: impl Fn(usize) -> T) {
    slots.resize_with(WORKING_SET, || None);
    let slot = random.below(WORKING_SET);
    slots[slot] = None;
    slots[slot] = Some(allocate(random.seed_size()));
}

fn seed_distribution(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("seed_distribution");
    let arena = arena();
    group.bench_function("arena", |bench| {
        let (mut slots, mut random): (Vec<Option<Lease>>, _) = (Vec::new(), Random(1));
        bench.iter(|| replace(&mut slots, &mut random, |bytes| arena.lease(bytes).unwrap()));
    });
    group.bench_function("system", |bench| {
        let (mut slots, mut random): (Vec<Option<Malloced>>, _) = (Vec::new(), Random(1));
        bench.iter(|| replace(&mut slots, &mut random, Malloced::new));
    });
    group.finish();
}

criterion_group!(benches, fixed_sizes, seed_distribution);
criterion_main!(benches);
