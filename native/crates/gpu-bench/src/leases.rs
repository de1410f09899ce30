//! How often threads can have device memory and give it back, one stream each, with nothing else for the device to do.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::allocation::{Allocation, Pieces};
use crate::machine::Machine;

/// Leases between two questions to the stream, as a task with batches under way asks: the simulator does its work then.
const STEPS: u64 = 64;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) threads: usize,
    /// Of each piece.
    pub(crate) bytes: usize,
    /// Of each thread, unless it has made so many before.
    pub(crate) time: Duration,
    pub(crate) most: u64,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Leases {
    /// Takes, each with its giving back, of all threads together in a second.
    pub(crate) per_second: f64,
    /// How often a lease waited for the device; of Sluice's arena.
    pub(crate) waits: Option<u64>,
    /// How often the driver waited for all work of the device; of the simulated driver.
    pub(crate) driver_waits: Option<u64>,
}

pub(crate) fn measure(machine: &Machine, allocation: Allocation, plan: Plan) -> Result<Leases, String> {
    let driver_waits = || machine.simulator.as_ref().map(|simulator| simulator.counts().waits);
    let before = driver_waits();
    let pieces = Pieces::new(&machine.context, allocation, plan.bytes);
    let gates = [Barrier::new(plan.threads), Barrier::new(plan.threads)];
    let ended: Vec<Result<f64, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads).map(|_| scope.spawn(|| work(machine, &pieces, plan, &gates))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    let per_second = ended.into_iter().sum::<Result<f64, String>>()?;
    let (waits, after) = (pieces.waits(), driver_waits());
    pieces.settle()?;
    Ok(Leases { per_second, waits, driver_waits: after.zip(before).map(|(after, before)| after - before) })
}

/// One thread's part: its own leases a second. It comes to both gates, whatever happens.
fn work(machine: &Machine, pieces: &Pieces, plan: Plan, gates: &[Barrier; 2]) -> Result<f64, String> {
    let attached = pieces.attach(machine.context.thread_stream());
    let run = |time: Duration| {
        let (begun, mut made) = (Instant::now(), 0);
        while begun.elapsed() < time && made < plan.most {
            for _ in 0..STEPS {
                attached.give_back(attached.take()?)?;
            }
            attached.stream().is_done().map_err(|e| e.to_string())?;
            made += STEPS;
        }
        Ok::<f64, String>(made as f64 / begun.elapsed().as_secs_f64())
    };
    let warm = run(plan.time / 4);
    gates[0].wait();
    let measured = warm.and_then(|_| run(plan.time));
    // No thread gives up its stream while others are timed.
    gates[1].wait();
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { threads: 3, bytes: 1 << 12, time: Duration::from_secs(10), most: 64 };

    #[test]
    fn only_frees_to_the_driver_wait_for_the_device() {
        let machine = Machine::simulated(6).expect("made");
        for allocation in [Allocation::Driver, Allocation::LockedPool, Allocation::DriversPool, Allocation::StreamArena]
        {
            let leases = measure(&machine, allocation, PLAN).expect("measured");
            assert!(leases.per_second > 0.0, "{allocation:?}");
            assert_eq!(leases.waits, (allocation == Allocation::StreamArena).then_some(0), "{allocation:?}");
            let waits = leases.driver_waits.expect("simulated");
            let made = PLAN.threads as u64 * PLAN.most;
            assert_eq!(waits >= made, allocation == Allocation::Driver, "{allocation:?}: {waits}");
        }
        let simulator = machine.simulator.as_ref().expect("simulated");
        assert_eq!((simulator.counts().allocations, simulator.violations()), (0, Vec::new()));
    }
}
