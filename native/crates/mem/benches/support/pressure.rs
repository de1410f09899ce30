//! Success when memory is 95 % full.

use crate::candidates::Candidate;
use crate::support::Random;

const STEPS: usize = 40_000;

/// Of a thousand allocations around 95 % of `capacity`, how many fail.
pub fn refusals(candidate: &dyn Candidate, threads: usize, capacity: usize) -> f64 {
    let mut random = Random(11);
    let (mut live, mut slots) = (0, Vec::<(usize, usize, usize)>::new());
    let mut failed = 0u64;
    for step in 0..STEPS {
        let (thread, bytes) = (step % threads, random.seed_size());
        while live + bytes > capacity / 100 * 95 {
            let (thread, address, bytes) = slots.swap_remove(random.below(slots.len()));
            candidate.free(thread, address, bytes);
            live -= bytes;
        }
        match candidate.allocate(thread, bytes) {
            0 => failed += 1,
            address => {
                slots.push((thread, address, bytes));
                live += bytes;
            }
        }
    }
    slots.into_iter().for_each(|(thread, address, bytes)| candidate.free(thread, address, bytes));
    failed as f64 * 1000.0 / STEPS as f64
}
