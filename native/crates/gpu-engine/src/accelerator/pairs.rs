//! Sorts of pairs that tasks ask for.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use sluice_cuda::Wait;
use sluice_engine::{Abandoned, PairMemory, PairSort};

use super::{GpuAccelerator, MEASUREMENTS, MEMORY_WAIT, MOST_MEASURED_BYTES, START_WAIT};
use crate::declined::Declined;
use crate::encode::Waits;
use crate::lanes::Lane;
use crate::policy::Kind;
use crate::sample::mix;

/// The fewest bytes by which a task sorts so many pairs that they are offered: it looks at about as many bits as tell
/// them apart. With fewer bytes the CPU is faster.
const MEASURED_KEY_BYTES: u32 = 3;

/// Sorts of it take equally long for their bytes.
pub(super) fn kind_of(sort: PairSort) -> Kind {
    Kind::Pairs { key_bytes: sort.key_bytes() }
}

impl GpuAccelerator {
    /// Sorts pairs if the policy says so, and tells it how long that took.
    pub(super) fn sort(&self, sort: PairSort, memory: &mut dyn PairMemory) -> Result<(), Declined> {
        let admitted = self.admit(sort.bytes(), kind_of(sort));
        let mut lane = admitted.inspect_err(|why| self.engine.counters().declined(why))?;
        let staging = lane.staging().ok_or(Declined::Busy)?;
        let waits = Waits { memory: Wait::at_most(MEMORY_WAIT), work: Wait::at_most(self.timeout) };
        let begun = Instant::now();
        let sorted = self.engine.sort_in_memory(staging, sort, memory, waits);
        let (took, now) = (begun.elapsed(), self.began.elapsed());
        match &sorted {
            Ok(()) => {
                let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
                self.engine.counters().sort_nanos.fetch_add(nanos, Relaxed);
                self.policy.gpu_took(kind_of(sort), sort.bytes(), took, now);
            }
            Err(why) => self.failed(kind_of(sort), why, now),
        }
        sorted
    }

    /// Sorts pairs of a test both ways, some times each.
    pub(super) fn measure_pairs(&self) -> Result<(), Declined> {
        let count = self.least_bytes.min(MOST_MEASURED_BYTES).div_ceil(size_of::<[u64; 2]>());
        let sort = PairSort::new(count, 0, MEASURED_KEY_BYTES - 1).ok_or(Declined::TooLarge("pairs of a sort"))?;
        let pairs: Vec<[u64; 2]> = (0..count as u64).map(|i| [i, mix(i)]).collect();
        for _ in 0..MEASUREMENTS {
            let (by_cpu, by_gpu) = (measure_cpu(&pairs), self.measure_gpu_sort(&pairs, sort)?);
            self.policy.started(kind_of(sort), sort.bytes(), by_gpu, by_cpu, self.began.elapsed());
        }
        Ok(())
    }

    fn measure_gpu_sort(&self, pairs: &[[u64; 2]], sort: PairSort) -> Result<Duration, Declined> {
        let waits = Waits { memory: Wait::at_most(START_WAIT), work: Wait::at_most(START_WAIT) };
        let mut lane = self.lanes.take();
        let staging = lane.as_mut().and_then(Lane::staging).ok_or(Declined::Busy)?;
        let mut memory = Measured { pairs, sorted: vec![[0; 2]; pairs.len()] };
        let begun = Instant::now();
        self.engine.sort_uncounted(staging, sort, &mut memory, waits)?;
        Ok(begun.elapsed())
    }
}

/// Pairs of a measurement.
struct Measured<'m> {
    pairs: &'m [[u64; 2]],
    sorted: Vec<[u64; 2]>,
}

impl PairMemory for Measured<'_> {
    fn read(&mut self, from: usize, target: &mut [[u64; 2]]) -> Result<(), Abandoned> {
        target.copy_from_slice(&self.pairs[from..from + target.len()]);
        Ok(())
    }

    fn write(&mut self, at: usize, sorted: &[[u64; 2]]) -> Result<(), Abandoned> {
        self.sorted[at..at + sorted.len()].copy_from_slice(sorted);
        Ok(())
    }
}

/// How long a task's thread takes, which sorts by radix, a byte at a time, lowest byte first.
fn measure_cpu(pairs: &[[u64; 2]]) -> Duration {
    let (mut source, mut target) = (pairs.to_vec(), vec![[0; 2]; pairs.len()]);
    let begun = Instant::now();
    for byte in 0..MEASURED_KEY_BYTES {
        sort_by_byte(&source, &mut target, 8 * byte);
        std::mem::swap(&mut source, &mut target);
    }
    // The compiler must not leave the sort out.
    std::hint::black_box(&source);
    begun.elapsed()
}

fn sort_by_byte(source: &[[u64; 2]], target: &mut [[u64; 2]], shift: u32) {
    let digit = |pair: &[u64; 2]| (pair[1] >> shift & 0xFF) as usize;
    let mut places = [0; 256];
    source.iter().for_each(|pair| places[digit(pair)] += 1);
    let mut before = 0;
    for place in &mut places {
        before += std::mem::replace(place, before);
    }
    for pair in source {
        let place = &mut places[digit(pair)];
        target[*place] = *pair;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_a_sort() {
        let pairs: Vec<[u64; 2]> = (0..3000).map(|i| [i, mix(i) & 0x3FFF]).collect();
        let (mut source, mut target) = (pairs.clone(), vec![[0; 2]; pairs.len()]);
        for shift in [0, 8] {
            sort_by_byte(&source, &mut target, shift);
            std::mem::swap(&mut source, &mut target);
        }
        let mut expected = pairs;
        expected.sort_by_key(|pair| pair[1]);
        assert!(source == expected);
    }
}
