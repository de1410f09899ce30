//! When a batch goes to the GPU.
//!
//! What counts is how long the thread that has the batch is held up by it: while it encodes, on a core that others may
//! want too, or while it waits for the device, on which others may work too. Both are measured, at the start and with
//! each batch, and the way that was slower is tried again from time to time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Which batches go to the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// All that it takes.
    Always,
    /// Those for which it is faster than the thread's own encoder.
    WhenItPays,
}

/// The GPU has to be faster by a fifth, because it takes power and memory, and others may want it.
const MARGIN: f64 = 0.8;
/// A measurement that is older says nothing of now.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// What a new measurement counts beside earlier ones.
const WEIGHT: f64 = 0.25;
/// While the GPU is faster, one of so many batches is encoded by the CPU, to see whether it still is.
const BATCHES_TO_ONE_OF_CPU: u32 = 32;
/// How long after the GPU was slower it is tried again, at first and at most: twice as long each time.
const TRIALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// How long after a batch that it could not encode it is left alone, at first and at most: twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Decides for all threads of a process. Times are since any moment, the same for all calls.
#[derive(Debug)]
pub struct Policy {
    used: Use,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    gpu: Option<Rate>,
    cpu: Option<Rate>,
    /// Batches of the GPU since the last of the CPU.
    since_cpu: u32,
    next_trial: Duration,
    trial_pause: Duration,
    paused_until: Duration,
    pause: Duration,
}

/// How long a byte of rows takes.
#[derive(Debug, Clone, Copy)]
struct Rate {
    ns_per_byte: f64,
    at: Duration,
}

impl Policy {
    /// Nothing is measured yet.
    pub fn new(used: Use) -> Self {
        let state = State {
            gpu: None,
            cpu: None,
            since_cpu: 0,
            next_trial: Duration::ZERO,
            trial_pause: TRIALS.0,
            paused_until: Duration::ZERO,
            pause: PAUSES.0,
        };
        Self { used, state: Mutex::new(state) }
    }

    /// Whether the next batch goes to the GPU.
    pub fn choose(&self, now: Duration) -> bool {
        if self.used == Use::Always {
            return true;
        }
        let mut state = self.state();
        if now < state.paused_until || state.cpu.is_none() {
            return false;
        }
        if !state.gpu_pays() {
            return state.is_time_for_a_trial(now);
        }
        state.since_cpu += 1;
        if state.since_cpu < BATCHES_TO_ONE_OF_CPU {
            return true;
        }
        state.since_cpu = 0;
        false
    }

    /// Whether a batch would go to the GPU, not counting those by which the slower way is measured.
    pub fn prefers_gpu(&self, now: Duration) -> bool {
        self.used == Use::Always || {
            let state = self.state();
            now >= state.paused_until && state.gpu_pays()
        }
    }

    /// The GPU has encoded a batch.
    pub fn gpu_took(&self, bytes: usize, took: Duration, now: Duration) {
        let mut state = self.state();
        state.gpu = Rate::with(state.gpu, bytes, took, now);
        state.pause = PAUSES.0;
        if state.gpu_pays() {
            state.trial_pause = TRIALS.0;
        }
    }

    /// The CPU has encoded a batch.
    pub fn cpu_took(&self, bytes: usize, took: Duration, now: Duration) {
        let mut state = self.state();
        state.cpu = Rate::with(state.cpu, bytes, took, now);
        state.since_cpu = 0;
    }

    /// What was measured counts no more.
    pub fn forget(&self) {
        let mut state = self.state();
        (state.gpu, state.cpu) = (None, None);
    }

    /// The GPU could not encode a batch.
    pub fn gpu_failed(&self, now: Duration) {
        let mut state = self.state();
        state.paused_until = now + state.pause;
        state.pause = (state.pause * 2).min(PAUSES.1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each figure is right by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn gpu_pays(&self) -> bool {
        match (self.gpu, self.cpu) {
            (Some(gpu), Some(cpu)) => gpu.ns_per_byte <= cpu.ns_per_byte * MARGIN,
            _ => false,
        }
    }

    fn is_time_for_a_trial(&mut self, now: Duration) -> bool {
        if now < self.next_trial {
            return false;
        }
        self.next_trial = now + self.trial_pause;
        self.trial_pause = (self.trial_pause * 2).min(TRIALS.1);
        true
    }
}

impl Rate {
    fn with(before: Option<Self>, bytes: usize, took: Duration, now: Duration) -> Option<Self> {
        let measured = took.as_nanos() as f64 / bytes.max(1) as f64;
        let ns_per_byte = match before.filter(|before| now.saturating_sub(before.at) < FORGOTTEN) {
            Some(before) => before.ns_per_byte + (measured - before.ns_per_byte) * WEIGHT,
            None => measured,
        };
        Some(Self { ns_per_byte, at: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A policy for which the GPU takes so many milliseconds for a MiB, and the CPU 10.
    fn measured(gpu: u64) -> Policy {
        let policy = Policy::new(Use::WhenItPays);
        policy.gpu_took(MIB, ms(gpu), ms(0));
        policy.cpu_took(MIB, ms(10), ms(0));
        policy
    }

    /// How many of 320 batches, a millisecond apart, go to the GPU.
    fn chosen(policy: &Policy, from: u64) -> usize {
        (from..from + 320).filter(|now| policy.choose(ms(*now))).count()
    }

    #[test]
    fn the_faster_way_gets_nearly_all() {
        for (gpu, expected) in [(2, 310), (7, 310)] {
            let policy = measured(gpu);
            assert!(policy.prefers_gpu(ms(1)));
            assert_eq!(chosen(&policy, 1), expected, "{gpu} ms: one of 32 shows how fast the CPU is");
        }
        for gpu in [9, 20] {
            let policy = measured(gpu);
            assert!(!policy.prefers_gpu(ms(1)));
            assert_eq!(chosen(&policy, 1), 1, "{gpu} ms: a trial");
        }
    }

    #[test]
    fn nothing_goes_to_the_gpu_before_both_are_measured() {
        let policy = Policy::new(Use::WhenItPays);
        assert!(!policy.choose(ms(0)) && !policy.prefers_gpu(ms(0)));
        policy.cpu_took(MIB, ms(10), ms(0));
        assert!(policy.choose(ms(1)), "a trial, because the GPU is not measured");
        assert!(!policy.choose(ms(2)));
        policy.gpu_took(MIB, ms(1), ms(3));
        assert!(policy.choose(ms(4)));
    }

    #[test]
    fn a_slow_gpu_is_tried_again_more_and_more_seldom() {
        let policy = measured(50);
        let trials: Vec<u64> = (1..700_000).filter(|now| policy.choose(ms(*now))).collect();
        let pauses: Vec<u64> = trials.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        policy.gpu_took(MIB, ms(1), ms(700_000));
        assert!(policy.prefers_gpu(ms(700_001)), "what was measured long ago is forgotten");
    }

    #[test]
    fn a_gpu_that_others_use_is_given_up_and_comes_back() {
        let policy = measured(2);
        for now in 1..20 {
            policy.gpu_took(MIB, ms(100), ms(now));
        }
        assert!(!policy.prefers_gpu(ms(20)) && policy.choose(ms(20)) && !policy.choose(ms(21)));
        policy.gpu_took(MIB, ms(2), ms(30_000));
        assert!(policy.prefers_gpu(ms(30_001)));
        policy.cpu_took(MIB, ms(1), ms(50_000));
        assert!(!policy.prefers_gpu(ms(50_001)), "the cores are free again");
    }

    #[test]
    fn after_a_failure_it_is_left_alone_for_a_while() {
        let policy = measured(2);
        policy.gpu_failed(ms(1000));
        assert!(!policy.prefers_gpu(ms(1099)) && !policy.choose(ms(1099)));
        assert!(policy.prefers_gpu(ms(1100)) && policy.choose(ms(1100)));
        policy.gpu_failed(ms(1100));
        assert!(!policy.choose(ms(1299)) && policy.choose(ms(1300)));
        policy.gpu_took(MIB, ms(2), ms(1310));
        policy.gpu_failed(ms(2000));
        assert!(policy.choose(ms(2100)), "the pause is short again");
    }

    #[test]
    fn always_means_always() {
        let policy = Policy::new(Use::Always);
        policy.cpu_took(MIB, ms(1), ms(0));
        policy.gpu_took(MIB, ms(100), ms(0));
        policy.gpu_failed(ms(1));
        assert!(policy.choose(ms(1)) && policy.prefers_gpu(ms(1)));
        assert_eq!(chosen(&policy, 2), 320);
    }
}
