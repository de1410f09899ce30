//! The experiment: threads that copy, compute and copy back, on one stream or on their own.

use std::ptr::NonNull;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use sluice_cuda::{Context, CudaError, DeviceAddress, Event, HostRegistration, Launch, Stream, Wait};

use crate::allocation::{Allocation, Attached, Piece, Pieces};
use crate::kernel;
use crate::machine::Machine;

/// Longer than a round can take.
const LIMIT: Duration = Duration::from_secs(60);
const BLOCK: u32 = 256;

pub(crate) struct Plan {
    pub(crate) threads: u32,
    pub(crate) rounds: u32,
    pub(crate) bytes: usize,
    pub(crate) turns: u32,
}

/// A piece of work in the picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    /// Row of the picture.
    pub(crate) row: usize,
    pub(crate) kind: Kind,
    /// Milliseconds on a GPU, steps on the simulated one.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    ToDevice,
    Kernel,
    ToHost,
}

/// What came out for one kind of stream with one way to allocate.
pub(crate) struct Outcome {
    pub(crate) per_thread: bool,
    pub(crate) allocation: Allocation,
    /// From when all threads are ready to the end of the last round.
    pub(crate) seconds: f64,
    /// Rounds of all threads.
    pub(crate) rounds_per_second: f64,
    /// How often the driver waited for all work of the device; known of the simulated driver only.
    pub(crate) driver_waits: Option<u64>,
    pub(crate) bars: Vec<Bar>,
}

impl Outcome {
    /// Work that is submitted and not finished at a time, on average over the time when there is any. That is not work
    /// that the device does at the same time: a bar of a stream that is shared reaches over the work of other threads
    /// that came in between, and every bar over the time in which the device does something else.
    pub(crate) fn in_flight(&self) -> f64 {
        let mut edges: Vec<(f64, i32)> = self.bars.iter().flat_map(|bar| [(bar.from, 1), (bar.to, -1)]).collect();
        edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut busy, mut since, mut under_way) = (0.0, 0.0, 0);
        for (time, change) in edges {
            if under_way == 0 {
                since = time;
            }
            under_way += change;
            if under_way == 0 {
                busy += time - since;
            }
        }
        let sum: f64 = self.bars.iter().map(|bar| bar.to - bar.from).sum();
        if busy > 0.0 { sum / busy } else { 0.0 }
    }

    /// How often the next work is of another row, out of how often it could be.
    pub(crate) fn changes(&self) -> f64 {
        let mut bars: Vec<&Bar> = self.bars.iter().collect();
        bars.sort_by(|a, b| a.from.total_cmp(&b.from));
        let changed = bars.windows(2).filter(|pair| pair[0].row != pair[1].row).count();
        changed as f64 / bars.len().saturating_sub(1).max(1) as f64
    }
}

/// Runs all kinds.
pub(crate) fn run_all(machine: &Machine, plan: &Plan) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    for allocation in Allocation::ALL {
        for per_thread in [false, true] {
            outcomes.push(run(machine, plan, per_thread, allocation)?);
        }
    }
    let mistakes = machine.simulator.as_ref().map(|simulator| simulator.violations()).unwrap_or_default();
    if mistakes.is_empty() { Ok(outcomes) } else { Err(mistakes.join("\n")) }
}

/// Runs one kind.
pub(crate) fn run(machine: &Machine, plan: &Plan, per_thread: bool, allocation: Allocation) -> Result<Outcome, String> {
    let context = &machine.context;
    let simulated = machine.simulator.as_ref();
    let before = simulated.map(|simulator| (simulator.timeline().len(), simulator.counts().waits));
    let pieces = Pieces::new(context, allocation, plan.bytes);
    let start = context.timing_event().map_err(|e| e.to_string())?;
    // The rounds that come before times count need one, too.
    start.record(&context.thread_stream()).map_err(|e| e.to_string())?;
    let gates = Gates::new(plan.threads as usize + 1);
    let (worked, seconds) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|row| {
                let row = row as usize;
                let worker = Worker { machine, plan, pieces: &pieces, allocation, row, per_thread, start: &start };
                let gates = &gates;
                scope.spawn(move || worker.work(gates))
            })
            .collect();
        gates.ready.wait();
        // Before all work of the threads, so that times begin here.
        let recorded = start.record(&context.thread_stream()).map_err(|e| e.to_string());
        gates.begin.wait();
        let began = Instant::now();
        gates.end.wait();
        let seconds = began.elapsed().as_secs_f64();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())));
        // All threads have ended before the first error is returned.
        let ended: Vec<_> = ended.collect();
        let worked: Result<Vec<_>, String> = recorded.and_then(|()| ended.into_iter().collect());
        (worked, seconds)
    });
    let mut bars = worked?.concat();
    pieces.settle()?;
    let mut driver_waits = None;
    if let (Some(simulator), Some((steps, waits))) = (simulated, before) {
        bars = bars_of(&simulator.timeline()[steps..]);
        driver_waits = Some(simulator.counts().waits - waits);
    }
    let rounds = u64::from(plan.threads) * u64::from(plan.rounds);
    Ok(Outcome { per_thread, allocation, seconds, rounds_per_second: rounds as f64 / seconds, driver_waits, bars })
}

/// Where all threads and the one that takes the time wait for each other. Each of them comes to each gate, whatever
/// happens.
struct Gates {
    /// All have what they need, and have made one round where times mean something.
    ready: Barrier,
    begin: Barrier,
    /// All have made their last round; nothing has been given back that was not a part of a round.
    end: Barrier,
}

impl Gates {
    fn new(threads: usize) -> Self {
        Self { ready: Barrier::new(threads), begin: Barrier::new(threads), end: Barrier::new(threads) }
    }
}

/// Before, between and after the three pieces of a round's work.
struct Events([Event; 4]);

impl Events {
    fn new(context: &Context) -> Result<Self, CudaError> {
        let event = || context.timing_event();
        Ok(Self([event()?, event()?, event()?, event()?]))
    }
}

/// One thread's part.
struct Worker<'a> {
    machine: &'a Machine,
    plan: &'a Plan,
    pieces: &'a Pieces,
    allocation: Allocation,
    row: usize,
    per_thread: bool,
    start: &'a Event,
}

impl Worker<'_> {
    fn work(&self, gates: &Gates) -> Result<Vec<Bar>, String> {
        let words = self.plan.bytes / 8;
        let mut host: Vec<u64> = (0..words as u64).map(|word| word * 31 + self.row as u64).collect();
        let (factor, addend) = kernel::together(self.plan.turns);
        let expected: Vec<u64> = host.iter().map(|word| word.wrapping_mul(factor).wrapping_add(addend)).collect();
        let mut found = vec![0u64; words];
        let context = &self.machine.context;
        let pinned = [&mut host, &mut found].map(|memory| {
            // SAFETY: the memory is there as long as the registration, or for ever if that does not end.
            unsafe { context.register_host(NonNull::from(&mut memory[..]).cast(), memory.len() * 8) }
        });
        // Memory that is not pinned gives other times, so that nothing is measured with it.
        let refused = pinned.iter().find_map(|registration| registration.as_ref().err().map(ToString::to_string));
        let bars = self.measured(gates, &host, &mut found, &expected, refused);
        let ended: Vec<bool> = pinned.into_iter().flatten().map(HostRegistration::end).collect();
        if bars.is_err() || ended.contains(&false) {
            // The device may still use it.
            std::mem::forget((host, std::mem::take(&mut found)));
        }
        if bars.is_ok() && ended.contains(&false) {
            return Err("pinned memory could not be given back".into());
        }
        bars
    }

    /// Comes to all gates, and makes the rounds between them.
    fn measured(
        &self,
        gates: &Gates,
        host: &[u64],
        found: &mut [u64],
        expected: &[u64],
        refused: Option<String>,
    ) -> Result<Vec<Bar>, String> {
        let context = &self.machine.context;
        let stream = if self.per_thread { context.thread_stream() } else { context.legacy_stream() };
        let pieces = self.pieces.attach(stream);
        let events = Events::new(context).map_err(|e| e.to_string());
        let mut kept: Option<Piece> = None;
        let mut rounds = |count| {
            let make = || match (&events, &refused) {
                (_, Some(why)) | (Err(why), _) => Err(why.clone()),
                (Ok(events), None) => self.rounds(count, &pieces, events, &mut kept, host, found, expected),
            };
            // A thread that does not come to a gate would hold up all.
            let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
            made.unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        let warm = if self.machine.is_real() { rounds(1).map(drop) } else { Ok(()) };
        gates.ready.wait();
        gates.begin.wait();
        let bars = warm.and_then(|()| rounds(self.plan.rounds));
        gates.end.wait();
        bars
    }

    #[expect(clippy::too_many_arguments, reason = "all that a round needs, of which each part is used alone")]
    fn rounds(
        &self,
        count: u32,
        pieces: &Attached<'_>,
        events: &Events,
        kept: &mut Option<Piece>,
        host: &[u64],
        found: &mut [u64],
        expected: &[u64],
    ) -> Result<Vec<Bar>, String> {
        let mut bars = Vec::new();
        for _ in 0..count {
            let piece = kept.take().map_or_else(|| pieces.take(), Ok)?;
            let stream = pieces.stream();
            // So that what an earlier round copied is not taken for what this one should have.
            found.fill(0);
            self.put(stream, piece.address(), host, found, events).map_err(|e| e.to_string())?;
            let finish = || stream.finish(Wait::at_most(LIMIT)).map_err(|e| e.to_string());
            if self.allocation.frees_in_order() {
                pieces.give_back(piece)?;
                finish()?;
            } else {
                finish()?;
                match self.allocation {
                    Allocation::Kept => *kept = Some(piece),
                    _ => pieces.give_back(piece)?,
                }
            }
            // Each result where times mean nothing, the last word of each else; all of them at the end.
            let last = bars.len() as u32 / 3 + 1 == count;
            let right = match self.machine.is_real() && !last {
                true => found.last() == expected.last(),
                false => found == expected,
            };
            if !right {
                return Err(format!("thread {}: the kernel's results are wrong", self.row));
            }
            if self.machine.is_real() {
                self.add_bars(&mut bars, events).map_err(|e| e.to_string())?;
            }
        }
        Ok(bars)
    }

    /// Puts a round into the stream; the caller waits for it.
    fn put(
        &self,
        stream: &Stream,
        memory: DeviceAddress,
        host: &[u64],
        found: &mut [u64],
        events: &Events,
    ) -> Result<(), CudaError> {
        let (bytes, words) = (self.plan.bytes, host.len() as u32);
        let (mut address, mut count, mut turns) = (memory.0, words, self.plan.turns);
        let mut parameters = [(&raw mut address).cast(), (&raw mut count).cast(), (&raw mut turns).cast()];
        events.0[0].record(stream)?;
        // SAFETY: the caller keeps all memory until the stream has finished, and only this thread's stream uses it; the
        // parameters are the kernel's.
        unsafe {
            stream.copy_to_device(memory, host.as_ptr().cast(), bytes)?;
            events.0[1].record(stream)?;
            let launch = Launch::linear(words.div_ceil(BLOCK), BLOCK);
            stream.launch(&self.machine.kernel, launch, &mut parameters)?;
            events.0[2].record(stream)?;
            stream.copy_to_host(found.as_mut_ptr().cast(), memory, bytes)?;
        }
        events.0[3].record(stream)
    }

    fn add_bars(&self, bars: &mut Vec<Bar>, events: &Events) -> Result<(), CudaError> {
        let mut times = [0.0; 4];
        for (time, event) in times.iter_mut().zip(&events.0) {
            *time = event.elapsed_since(self.start)?.as_secs_f64() * 1e3;
        }
        for (i, kind) in [Kind::ToDevice, Kind::Kernel, Kind::ToHost].into_iter().enumerate() {
            bars.push(Bar { row: self.row, kind, from: times[i], to: times[i + 1] });
        }
        Ok(())
    }
}

/// The simulated driver's steps: a row for each stream, each step as long as the others.
fn bars_of(steps: &[sluice_cuda_sim::Step]) -> Vec<Bar> {
    let mut rows: Vec<&str> = Vec::new();
    let mut bars: Vec<Bar> = Vec::new();
    for step in steps {
        let kind = match step.function.as_str() {
            "cuMemcpyHtoDAsync_v2" => Kind::ToDevice,
            "cuLaunchKernel" => Kind::Kernel,
            "cuMemcpyDtoHAsync_v2" => Kind::ToHost,
            _ => continue,
        };
        let row = rows.iter().position(|row| *row == step.stream).unwrap_or_else(|| {
            rows.push(&step.stream);
            rows.len() - 1
        });
        let from = bars.len() as f64;
        bars.push(Bar { row, kind, from, to: from + 1.0 });
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(row: usize, from: f64, to: f64) -> Bar {
        Bar { row, kind: Kind::Kernel, from, to }
    }

    fn outcome(bars: Vec<Bar>) -> Outcome {
        Outcome {
            per_thread: true,
            allocation: Allocation::Kept,
            seconds: 1.0,
            rounds_per_second: 1.0,
            driver_waits: None,
            bars,
        }
    }

    #[test]
    fn work_in_flight_is_submitted_and_not_finished() {
        assert_eq!(outcome(vec![bar(0, 0.0, 1.0), bar(1, 1.0, 2.0)]).in_flight(), 1.0);
        assert_eq!(outcome(vec![bar(0, 0.0, 2.0), bar(1, 0.0, 2.0), bar(0, 5.0, 7.0)]).in_flight(), 1.5);
        assert_eq!(outcome(Vec::new()).in_flight(), 0.0);
    }

    #[test]
    fn changes_are_those_of_the_row() {
        assert_eq!(outcome(vec![bar(0, 0.0, 1.0), bar(1, 1.0, 2.0), bar(1, 2.0, 3.0)]).changes(), 0.5);
    }

    #[test]
    fn all_kinds_give_the_right_results_on_the_simulated_driver() {
        let machine = Machine::simulated(3).expect("made");
        let plan = Plan { threads: 4, rounds: 3, bytes: 4096, turns: 5 };
        let outcomes = run_all(&machine, &plan).expect("no mistakes");
        assert_eq!(outcomes.len(), 10);
        for outcome in &outcomes {
            assert_eq!(outcome.bars.len(), 4 * 3 * 3, "{:?}", outcome.allocation);
            let rows = outcome.bars.iter().map(|bar| bar.row).max().unwrap_or(0) + 1;
            assert_eq!(rows, if outcome.per_thread { 4 } else { 1 });
            let frees = if outcome.allocation == Allocation::Driver { 12 } else { 0 };
            assert!(outcome.driver_waits.is_some_and(|waits| waits >= frees), "{:?}", outcome.driver_waits);
            if outcome.allocation.frees_in_order() {
                assert_eq!(outcome.driver_waits, Some(0), "a free in order waits for nothing");
            }
        }
        assert_eq!(machine.context.statistics().leaked_objects, 0);
        assert_eq!(machine.simulator.as_ref().map(|simulator| simulator.counts().allocations), Some(0));
    }

    #[test]
    fn a_device_that_is_lost_ends_the_experiment() {
        let machine = Machine::simulated(3).expect("made");
        machine.simulator.as_ref().expect("simulated").configure("lose=cuLaunchKernel@5");
        let plan = Plan { threads: 2, rounds: 10, bytes: 4096, turns: 1 };
        let why = run_all(&machine, &plan).err().expect("lost");
        assert!(why.contains("CUDA_ERROR_UNKNOWN"), "{why}");
    }
}
