//! When a batch, or pairs to sort, go to the GPU. Pairs count as a batch here.
//!
//! What counts is how long the thread that has the batch is held up by it: while it encodes, on a core that others may
//! want too, or while it waits for the device, on which others may work too. Both are measured for each kind of
//! batches, at the start with rows and pairs of a test and then with each batch, and the way that was slower is tried
//! again from time to time. Of two shuffles one may have numbers only and the other long strings, whose frames the CPU
//! makes after the GPU has looked at them: so what one takes says nothing of the other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::declined::Declined;

/// Which batches go to the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// All that it takes.
    Always,
    /// Those for which it is faster than the thread's own encoder.
    WhenItPays,
}

/// What batches have in common that take equally long for their bytes, as a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Rows to encode: those of one shuffle.
    Batch {
        /// Fields of each row.
        fields: u32,
        /// Partitions of the map output.
        partitions: u32,
    },
    /// Pairs to sort.
    Pairs {
        /// By how many bytes of a number; the CPU goes over the pairs for each of them.
        key_bytes: u32,
    },
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
/// How long a trial is kept for a thread that was told to come with a batch.
const INVITED: Duration = Duration::from_millis(100);
/// How long after a failure of the GPU it is left alone, at first and at most: twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// How long after rows that its kernels do not take other batches of the kind are not offered to it, likewise.
const TOO_LARGE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// Kinds that are known at a time.
const MOST_KINDS: usize = 64;

/// Decides for all threads of a process. Times are since any moment, the same for all calls.
#[derive(Debug)]
pub struct Policy {
    used: Use,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Those of the start, for what is not measured of a kind.
    start: Start,
    kinds: HashMap<Kind, KindState>,
    paused_until: Duration,
    pause: Duration,
}

/// Of batches, and of pairs.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    batches: Rates,
    pairs: Rates,
}

impl Start {
    fn of(&mut self, kind: Kind) -> &mut Rates {
        match kind {
            Kind::Batch { .. } => &mut self.batches,
            Kind::Pairs { .. } => &mut self.pairs,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    gpu: Option<Rate>,
    cpu: Option<Rate>,
}

#[derive(Debug, Clone, Copy)]
struct KindState {
    rates: Rates,
    /// Batches of the GPU since the last of the CPU.
    since_cpu: u32,
    next_trial: Duration,
    trial_pause: Duration,
    /// Until then a thread is expected with a batch for the trial that is due.
    invited_until: Duration,
    too_large_until: Duration,
    too_large_pause: Duration,
    /// When it was last asked for.
    asked: Duration,
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
        let (start, kinds) = (Start::default(), HashMap::new());
        let state = State { start, kinds, paused_until: Duration::ZERO, pause: PAUSES.0 };
        Self { used, state: Mutex::new(state) }
    }

    /// Whether the next batch of the kind goes to the GPU.
    ///
    /// # Errors
    /// It does not, for that reason.
    pub fn choose(&self, kind: Kind, now: Duration) -> Result<(), Declined> {
        let mut state = self.state();
        state.check(now)?;
        let start = *state.start.of(kind);
        let of_kind = state.kind(kind, now);
        of_kind.check(now)?;
        if self.used == Use::Always || of_kind.takes_next(start, now) { Ok(()) } else { Err(Declined::CpuFaster) }
    }

    /// Whether a thread should come with a batch of the kind, for which [`Self::choose`] then decides. Of the threads
    /// that ask while a trial is due one is told to come, and no other for a while; the CPU would encode their batches
    /// all the same. A batch of the CPU by which its rate is measured is left out.
    ///
    /// # Errors
    /// It should not, for that reason.
    pub fn invite(&self, kind: Kind, now: Duration) -> Result<(), Declined> {
        let mut state = self.state();
        state.check(now)?;
        let start = *state.start.of(kind);
        let of_kind = state.kind(kind, now);
        of_kind.check(now)?;
        if self.used == Use::Always || of_kind.pays(start) {
            return Ok(());
        }
        if !of_kind.is_trial_due(start, now) || now < of_kind.invited_until {
            return Err(Declined::CpuFaster);
        }
        of_kind.invited_until = now + INVITED;
        Ok(())
    }

    /// How long both ways took at the start, when no batch had come yet: for all batches, or all pairs, as `kind` is
    /// one.
    pub fn started(&self, kind: Kind, bytes: usize, by_gpu: Duration, by_cpu: Duration, now: Duration) {
        let start = Rates { gpu: Some(Rate::of(bytes, by_gpu, now)), cpu: Some(Rate::of(bytes, by_cpu, now)) };
        *self.state().start.of(kind) = start;
    }

    /// The GPU has encoded a batch.
    pub fn gpu_took(&self, kind: Kind, bytes: usize, took: Duration, now: Duration) {
        let mut state = self.state();
        state.pause = PAUSES.0;
        let start = *state.start.of(kind);
        let of_kind = state.kind(kind, now);
        of_kind.rates.gpu = Some(Rate::with(of_kind.rates.gpu, bytes, took, now));
        of_kind.too_large_pause = TOO_LARGE.0;
        if of_kind.pays(start) {
            of_kind.trial_pause = TRIALS.0;
        }
    }

    /// The CPU has encoded a batch.
    pub fn cpu_took(&self, kind: Kind, bytes: usize, took: Duration, now: Duration) {
        let mut state = self.state();
        let of_kind = state.kind(kind, now);
        of_kind.rates.cpu = Some(Rate::with(of_kind.rates.cpu, bytes, took, now));
        of_kind.since_cpu = 0;
    }

    /// The GPU could not encode a batch. A failure of the device, or a lack of its memory, makes all kinds wait a
    /// while; those of batches that were under way at the same time have the same cause and count once. Rows that the
    /// kernels do not take concern their kind only; what the host lacks, or finds wrong with the rows, concerns no
    /// later batch.
    pub fn gpu_failed(&self, kind: Kind, why: &Declined, now: Duration) {
        let mut state = self.state();
        match why {
            Declined::TooLarge(_) => {
                let of_kind = state.kind(kind, now);
                of_kind.too_large_until = now + of_kind.too_large_pause;
                of_kind.too_large_pause = (of_kind.too_large_pause * 2).min(TOO_LARGE.1);
            }
            Declined::Memory(_) | Declined::Device(_) | Declined::WrongResult(_) if now >= state.paused_until => {
                state.paused_until = now + state.pause;
                state.pause = (state.pause * 2).min(PAUSES.1);
            }
            _ => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each figure is right by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&self, now: Duration) -> Result<(), Declined> {
        if now < self.paused_until { Err(Declined::Paused) } else { Ok(()) }
    }

    fn kind(&mut self, kind: Kind, now: Duration) -> &mut KindState {
        if self.kinds.len() >= MOST_KINDS && !self.kinds.contains_key(&kind) {
            let oldest = self.kinds.iter().min_by_key(|(_, state)| state.asked).map(|(kind, _)| *kind);
            oldest.and_then(|oldest| self.kinds.remove(&oldest));
        }
        let state = self.kinds.entry(kind).or_default();
        state.asked = now;
        state
    }
}

impl Default for KindState {
    fn default() -> Self {
        Self {
            rates: Rates::default(),
            since_cpu: 0,
            next_trial: Duration::ZERO,
            trial_pause: TRIALS.0,
            invited_until: Duration::ZERO,
            too_large_until: Duration::ZERO,
            too_large_pause: TOO_LARGE.0,
            asked: Duration::ZERO,
        }
    }
}

impl KindState {
    fn check(&self, now: Duration) -> Result<(), Declined> {
        if now < self.too_large_until { Err(Declined::TooLarge("rows of this kind, a moment ago")) } else { Ok(()) }
    }

    fn takes_next(&mut self, start: Rates, now: Duration) -> bool {
        if !self.pays(start) {
            let trial = self.is_trial_due(start, now);
            if trial {
                self.next_trial = now + self.trial_pause;
                self.trial_pause = (self.trial_pause * 2).min(TRIALS.1);
            }
            return trial;
        }
        self.since_cpu += 1;
        if self.since_cpu < BATCHES_TO_ONE_OF_CPU {
            return true;
        }
        self.since_cpu = 0;
        false
    }

    fn pays(&self, start: Rates) -> bool {
        match (self.rates.gpu.or(start.gpu), self.rates.cpu.or(start.cpu)) {
            (Some(gpu), Some(cpu)) => gpu.ns_per_byte <= cpu.ns_per_byte * MARGIN,
            _ => false,
        }
    }

    /// Not before the CPU is measured, with which the trial is to be compared.
    fn is_trial_due(&self, start: Rates, now: Duration) -> bool {
        self.rates.cpu.or(start.cpu).is_some() && now >= self.next_trial
    }
}

impl Rate {
    fn of(bytes: usize, took: Duration, at: Duration) -> Self {
        Self { ns_per_byte: took.as_nanos() as f64 / bytes.max(1) as f64, at }
    }

    fn with(before: Option<Self>, bytes: usize, took: Duration, now: Duration) -> Self {
        let measured = Self::of(bytes, took, now);
        match before.filter(|before| now.saturating_sub(before.at) < FORGOTTEN) {
            Some(Self { ns_per_byte, .. }) => {
                Self { ns_per_byte: ns_per_byte + (measured.ns_per_byte - ns_per_byte) * WEIGHT, at: now }
            }
            None => measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const KIND: Kind = Kind::Batch { fields: 5, partitions: 200 };
    const OTHER: Kind = Kind::Batch { fields: 2, partitions: 200 };

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn lost() -> Declined {
        Declined::Memory(sluice_gpu_mem::Declined::DeviceLost)
    }

    /// A policy for which the GPU takes so many milliseconds for a MiB, and the CPU 10.
    fn measured(gpu: u64) -> Policy {
        let policy = Policy::new(Use::WhenItPays);
        policy.gpu_took(KIND, MIB, ms(gpu), ms(0));
        policy.cpu_took(KIND, MIB, ms(10), ms(0));
        policy
    }

    fn chooses(policy: &Policy, now: u64) -> bool {
        policy.choose(KIND, ms(now)).is_ok()
    }

    fn invites(policy: &Policy, now: u64) -> bool {
        policy.invite(KIND, ms(now)).is_ok()
    }

    /// How many of 320 batches, a millisecond apart, go to the GPU.
    fn chosen(policy: &Policy, from: u64) -> usize {
        (from..from + 320).filter(|now| chooses(policy, *now)).count()
    }

    #[test]
    fn the_faster_way_gets_nearly_all() {
        for (gpu, expected) in [(2, 310), (7, 310)] {
            let policy = measured(gpu);
            assert!(invites(&policy, 1));
            assert_eq!(chosen(&policy, 1), expected, "{gpu} ms: one of 32 shows how fast the CPU is");
        }
        for gpu in [9, 20] {
            let policy = measured(gpu);
            assert!(invites(&policy, 1), "a trial is due");
            assert_eq!(chosen(&policy, 1), 1, "{gpu} ms: a trial");
            assert_eq!(policy.invite(KIND, ms(321)), Err(Declined::CpuFaster));
        }
    }

    #[test]
    fn nothing_goes_to_the_gpu_before_both_are_measured() {
        let policy = Policy::new(Use::WhenItPays);
        assert!(!chooses(&policy, 0) && !invites(&policy, 0));
        policy.cpu_took(KIND, MIB, ms(10), ms(0));
        assert!(invites(&policy, 1) && chooses(&policy, 1), "a trial, because the GPU is not measured");
        assert!(!invites(&policy, 2) && !chooses(&policy, 2));
        policy.gpu_took(KIND, MIB, ms(1), ms(3));
        assert!(chooses(&policy, 4));
    }

    /// What was measured at the start counts until batches of the kind are measured.
    #[test]
    fn a_kind_begins_with_what_the_start_has_shown() {
        for (gpu, expected) in [(1, 310), (50, 1)] {
            let policy = Policy::new(Use::WhenItPays);
            policy.started(KIND, MIB, ms(gpu), ms(10), ms(0));
            assert_eq!(chosen(&policy, 1), expected, "{gpu} ms");
        }
    }

    /// Pairs begin with what the start has shown of pairs, whatever it has shown of batches.
    #[test]
    fn batches_say_nothing_of_pairs() {
        let (few, all) = (Kind::Pairs { key_bytes: 3 }, Kind::Pairs { key_bytes: 8 });
        let policy = Policy::new(Use::WhenItPays);
        policy.started(KIND, MIB, ms(50), ms(10), ms(0));
        assert_eq!(policy.choose(few, ms(1)), Err(Declined::CpuFaster), "nothing is known");
        policy.started(few, MIB, ms(1), ms(10), ms(0));
        assert_eq!((policy.choose(few, ms(1)), policy.choose(all, ms(1))), (Ok(()), Ok(())));
        assert_eq!(policy.invite(KIND, ms(1)), Ok(()), "a trial");
        assert_eq!(policy.choose(KIND, ms(1)), Ok(()), "the same");
        assert_eq!(policy.choose(KIND, ms(2)), Err(Declined::CpuFaster));
        policy.gpu_took(few, MIB, ms(100), ms(20_000));
        assert_eq!(policy.invite(all, ms(20_000)), Ok(()), "others take longer on the CPU");
        policy.choose(few, ms(20_000)).expect("a trial");
        assert_eq!(policy.choose(few, ms(20_001)), Err(Declined::CpuFaster));
    }

    /// A shuffle whose frames the CPU has to make is slow on the GPU, and another one is not.
    #[test]
    fn one_shuffle_says_nothing_of_another() {
        let policy = measured(2);
        policy.started(KIND, MIB, ms(2), ms(10), ms(0));
        for now in 1..20 {
            policy.gpu_took(OTHER, MIB, ms(100), ms(now));
            policy.cpu_took(OTHER, MIB, ms(10), ms(now));
        }
        policy.choose(OTHER, ms(20)).expect("a trial");
        assert_eq!(policy.choose(OTHER, ms(21)), Err(Declined::CpuFaster));
        assert!(chooses(&policy, 21) && invites(&policy, 21));
        for fields in 100..100 + 2 * MOST_KINDS as u32 {
            policy.gpu_took(Kind::Batch { fields, partitions: 1 }, MIB, ms(1), ms(100));
        }
        assert!(policy.state().kinds.len() <= MOST_KINDS, "what is kept is bounded");
    }

    #[test]
    fn a_slow_gpu_is_tried_again_more_and_more_seldom() {
        let policy = measured(50);
        let trials: Vec<u64> = (1..700_000).filter(|now| chooses(&policy, *now)).collect();
        let pauses: Vec<u64> = trials.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        policy.gpu_took(KIND, MIB, ms(1), ms(700_000));
        assert!(invites(&policy, 700_001), "what was measured long ago is forgotten");
    }

    /// Eight threads ask when a trial is due: the batches of seven would be the CPU's, on threads of the GPU.
    #[test]
    fn one_thread_at_a_time_comes_for_a_trial() {
        let policy = measured(50);
        let invited = |from: u64| (from..from + 8).filter(|now| invites(&policy, *now)).count();
        assert_eq!((invited(1), invited(50)), (1, 0));
        assert_eq!(invited(101), 1, "the first one does not come");
        assert!(chooses(&policy, 102));
        assert_eq!(invited(300), 0, "the trial has been made");
        assert_eq!(invited(1102), 1, "the next trial");
    }

    #[test]
    fn a_gpu_that_others_use_is_given_up_and_comes_back() {
        let policy = measured(2);
        for now in 1..20 {
            policy.gpu_took(KIND, MIB, ms(100), ms(now));
        }
        assert!(chooses(&policy, 20) && !chooses(&policy, 21) && !invites(&policy, 21));
        policy.gpu_took(KIND, MIB, ms(2), ms(30_000));
        assert!(invites(&policy, 30_001));
        policy.cpu_took(KIND, MIB, ms(1), ms(50_000));
        assert!(chooses(&policy, 50_001) && !invites(&policy, 50_002), "the cores are free again");
    }

    #[test]
    fn after_a_failure_it_is_left_alone_for_a_while() {
        for used in [Use::WhenItPays, Use::Always] {
            let policy = Policy { used, ..measured(2) };
            policy.gpu_failed(KIND, &lost(), ms(1000));
            assert_eq!(policy.choose(KIND, ms(1099)), Err(Declined::Paused));
            assert_eq!(policy.invite(OTHER, ms(1099)), Err(Declined::Paused));
            assert!(invites(&policy, 1100) && chooses(&policy, 1100));
            policy.gpu_failed(KIND, &lost(), ms(1100));
            assert!(!chooses(&policy, 1299) && chooses(&policy, 1300));
            policy.gpu_took(KIND, MIB, ms(2), ms(1310));
            policy.gpu_failed(KIND, &lost(), ms(2000));
            assert!(chooses(&policy, 2100), "the pause is short again");
        }
    }

    /// Eight batches that were under way when memory was short for a moment.
    #[test]
    fn failures_at_one_moment_count_once() {
        let policy = measured(2);
        for i in 0..8 {
            policy.gpu_failed(KIND, &lost(), ms(1000 + i));
        }
        assert!(!chooses(&policy, 1099) && chooses(&policy, 1100));
    }

    #[test]
    fn rows_that_it_does_not_take_pause_only_their_kind() {
        for used in [Use::WhenItPays, Use::Always] {
            let policy = Policy { used, ..measured(2) };
            policy.started(KIND, MIB, ms(2), ms(10), ms(0));
            policy.gpu_failed(OTHER, &Declined::TooLarge("bytes of a row"), ms(1000));
            assert!(chooses(&policy, 1000) && invites(&policy, 1000));
            assert!(matches!(policy.choose(OTHER, ms(1999)), Err(Declined::TooLarge(_))));
            assert!(matches!(policy.invite(OTHER, ms(1999)), Err(Declined::TooLarge(_))));
            assert_eq!(policy.choose(OTHER, ms(2000)), Ok(()));
            for why in [Declined::NotTaken("no room"), Declined::CheckFailed("an entry"), Declined::Busy] {
                policy.gpu_failed(KIND, &why, ms(2000));
                assert!(chooses(&policy, 2000), "{why}");
            }
        }
    }

    #[test]
    fn always_means_always() {
        let policy = Policy::new(Use::Always);
        policy.cpu_took(KIND, MIB, ms(1), ms(0));
        policy.gpu_took(KIND, MIB, ms(100), ms(0));
        assert!(chooses(&policy, 1) && invites(&policy, 1));
        assert_eq!(chosen(&policy, 2), 320);
    }
}
