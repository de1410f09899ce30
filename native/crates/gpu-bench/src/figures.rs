//! The figures of memory and streams, each beside what the machine can do at best or what others do, and its target.

use std::time::Duration;

use crate::allocation::Allocation;
use crate::copies::{self, Direction, Source};
use crate::figure::{Figure, Target};
use crate::footprint;
use crate::leases;
use crate::machine::Machine;
use crate::streams;

const GB: f64 = 1e9;
/// The units that no time is in.
const WAITS: &str = "waits";
const TIMES_LIVE: &str = "× live";

/// How much is done for each figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// How often each is measured; the best counts, because other load makes all of them worse.
    repeats: usize,
    threads: usize,
    /// Of a copy by one stream, and of one of each stream's.
    copy_bytes: [usize; 2],
    copies: u32,
    device_bytes: usize,
    lease_bytes: usize,
    lease_time: Duration,
    most_leases: u64,
    rounds: u32,
    round_bytes: usize,
}

impl Sizes {
    /// Enough for times that mean something, or for the work to be done at all.
    pub(crate) fn of(machine: &Machine) -> Self {
        if machine.is_real() {
            Self {
                repeats: 3,
                threads: 16,
                copy_bytes: [128 << 20, 32 << 20],
                copies: 40,
                device_bytes: 1 << 30,
                lease_bytes: 1 << 20,
                lease_time: Duration::from_millis(500),
                most_leases: u64::MAX,
                rounds: 50,
                round_bytes: 1 << 20,
            }
        } else {
            Self {
                repeats: 1,
                threads: 16,
                copy_bytes: [256 << 10, 64 << 10],
                copies: 2,
                device_bytes: 1 << 20,
                lease_bytes: 4 << 10,
                lease_time: Duration::from_secs(5),
                most_leases: 64,
                rounds: 3,
                round_bytes: 16 << 10,
            }
        }
    }

    /// The best of several.
    fn best(self, mut measure: impl FnMut() -> Result<f64, String>) -> Result<f64, String> {
        (0..self.repeats).try_fold(0f64, |best, _| Ok(best.max(measure()?)))
    }
}

/// Measures all.
pub(crate) fn measure_all(machine: &Machine, sizes: Sizes) -> Result<Vec<Figure>, String> {
    let mut figures = copies(machine, sizes)?;
    figures.extend(leases(machine, sizes)?);
    figures.push(footprint(machine)?);
    figures.push(streams(machine, sizes)?);
    let mistakes = machine.simulator.as_ref().map(|simulator| simulator.violations()).unwrap_or_default();
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n"));
    }
    if machine.is_real() {
        return Ok(figures);
    }
    // The simulator's times mean nothing; its counts do, and what is taken of its memory.
    let times = |figure: &mut Figure| {
        if ![WAITS, TIMES_LIVE].contains(&figure.unit) {
            figure.without_times();
        }
    };
    figures.iter_mut().for_each(times);
    Ok(figures)
}

fn copies(machine: &Machine, sizes: Sizes) -> Result<Vec<Figure>, String> {
    let context = &machine.context;
    let sources = [Source::driver(context), Source::leases(context)];
    let mut figures = Vec::new();
    for (direction, one, several) in [
        (Direction::ToDevice, "copy to the device from pinned leases, one stream", "copy to the device, 16 streams"),
        (Direction::ToHost, "copy to pinned leases from the device, one stream", "copy from the device, 16 streams"),
    ] {
        let plan = |threads: usize, bytes| copies::Plan { threads, bytes, copies: sizes.copies };
        let (alone, together) = (plan(1, sizes.copy_bytes[0]), plan(sizes.threads, sizes.copy_bytes[1]));
        let rate =
            |source: &Source, plan| sizes.best(|| copies::rate(context, source, direction, plan).map(|rate| rate / GB));
        let bare = rate(&sources[0], alone)?;
        let (ours, ours_together) = (rate(&sources[1], alone)?, rate(&sources[1], together)?);
        let beside = Some(("pinned memory straight from the driver, one stream", Some(bare)));
        let figure =
            |name, value| Figure { name, unit: "GB/s", value: Some(value), beside, target: Target::Times(0.95) };
        figures.extend([figure(one, ours), figure(several, ours_together)]);
    }
    let on_device =
        sizes.best(|| copies::on_device(context, sizes.device_bytes, sizes.copies).map(|rate| rate / GB))?;
    figures.push(Figure {
        name: "copy within the device, read and written",
        unit: "GB/s",
        value: Some(on_device),
        beside: None,
        target: Target::None,
    });
    Ok(figures)
}

fn leases(machine: &Machine, sizes: Sizes) -> Result<Vec<Figure>, String> {
    let plan = leases::Plan {
        threads: sizes.threads,
        bytes: sizes.lease_bytes,
        time: sizes.lease_time,
        most: sizes.most_leases,
    };
    let (mut waits, mut driver_waits) = (0, None);
    let mut ours = || {
        let leases = leases::measure(machine, Allocation::StreamArena, plan)?;
        waits += leases.waits.unwrap_or(0);
        driver_waits = leases.driver_waits.map(|more| more + driver_waits.unwrap_or(0));
        Ok::<f64, String>(leases.per_second / 1e6)
    };
    let rate =
        |allocation| sizes.best(|| leases::measure(machine, allocation, plan).map(|leases| leases.per_second / 1e6));
    let ours = sizes.best(&mut ours)?;
    let pool = ("cuMemAllocAsync and cuMemFreeAsync", Some(rate(Allocation::DriversPool)?));
    let locked = ("a pool behind a lock, which waits for nothing", Some(rate(Allocation::LockedPool)?));
    let allocated = ("cuMemAlloc and cuMemFree", Some(rate(Allocation::Driver)?));
    let figure = |name, beside, target| Figure { name, unit: "million/s", value: Some(ours), beside, target };
    let count = |name, value: Option<u64>| Figure {
        name,
        unit: WAITS,
        value: value.map(|waits| waits as f64),
        beside: None,
        target: Target::AtMost(0.0),
    };
    Ok(vec![
        figure("leases with their frees, 16 threads", None, Target::AtLeast(20.0)),
        figure("the same beside the driver's pool", Some(pool), Target::Times(20.0)),
        figure("the same beside a locked pool", Some(locked), Target::Times(5.0)),
        figure("the same beside plain allocations", Some(allocated), Target::None),
        count("leases that waited for the device", Some(waits)),
        count("waits of the driver for leases and frees", driver_waits),
    ])
}

fn footprint(machine: &Machine) -> Result<Figure, String> {
    Ok(Figure {
        name: "what the leases of a recorded job take, at most",
        unit: TIMES_LIVE,
        value: Some(footprint::of_recorded_job(&machine.context)?),
        beside: None,
        target: Target::AtMost(1.1),
    })
}

fn streams(machine: &Machine, sizes: Sizes) -> Result<Figure, String> {
    let plan =
        streams::Plan { threads: sizes.threads as u32, rounds: sizes.rounds, bytes: sizes.round_bytes, turns: 2000 };
    let rounds = |per_thread| {
        sizes.best(|| {
            streams::run(machine, &plan, per_thread, Allocation::StreamArena).map(|outcome| outcome.rounds_per_second)
        })
    };
    Ok(Figure {
        name: "copy, kernel, copy on the threads' own streams",
        unit: "rounds/s",
        value: Some(rounds(true)?),
        beside: Some(("the same on one stream for all", Some(rounds(false)?))),
        target: Target::Times(2.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{json, table};
    use serde_json::{Value, json};
    use sluice_cuda_sim::long_tests;

    /// All figures, in their order; from and to what the simulator has them, if no time is in them.
    const FIGURES: [(&str, Option<(f64, f64)>); 13] = [
        ("copy to the device from pinned leases, one stream", None),
        ("copy to the device, 16 streams", None),
        ("copy to pinned leases from the device, one stream", None),
        ("copy from the device, 16 streams", None),
        ("copy within the device, read and written", None),
        ("leases with their frees, 16 threads", None),
        ("the same beside the driver's pool", None),
        ("the same beside a locked pool", None),
        ("the same beside plain allocations", None),
        ("leases that waited for the device", Some((0.0, 0.0))),
        ("waits of the driver for leases and frees", Some((0.0, 0.0))),
        ("what the leases of a recorded job take, at most", Some((1.0, 1.1))),
        ("copy, kernel, copy on the threads' own streams", None),
    ];

    /// The least with which every figure is made; what the program makes in the tests' long form.
    fn sizes(machine: &Machine) -> Sizes {
        let all = Sizes::of(machine);
        if long_tests() {
            return all;
        }
        Sizes {
            threads: 3,
            copy_bytes: [5000, 3000],
            copies: 1,
            device_bytes: 5000,
            most_leases: 1,
            rounds: 1,
            round_bytes: 512,
            ..all
        }
    }

    #[test]
    fn simulated_figures_are_all_there_and_none_has_a_time() {
        let machine = Machine::simulated(4).expect("made");
        let figures = measure_all(&machine, sizes(&machine)).expect("measured");
        let read: Value = serde_json::from_str(&json(&machine, &figures).expect("written")).expect("JSON");
        assert_eq!(read["simulated"], true);
        let rows = read["figures"].as_array().expect("rows");
        assert_eq!(rows.len(), FIGURES.len());
        for (row, (name, expected)) in rows.iter().zip(FIGURES) {
            assert_eq!(row["name"], name);
            let in_range = row["value"].as_f64().zip(expected).map(|(value, (from, to))| from <= value && value <= to);
            assert_eq!((in_range, row["value"].is_null()), (expected.map(|_| true), expected.is_none()), "{row}");
            assert_eq!(row["met"], if expected.is_some() { json!(true) } else { Value::Null }, "{row}");
            assert_eq!((&row["ratio"], &row["beside_value"]), (&Value::Null, &Value::Null), "{row}");
        }
        let table = table(&machine, &figures);
        assert_eq!(table.lines().count(), 4 + FIGURES.len());
        assert!(table.contains("times do not") && table.contains("| — GB/s |"), "{table}");
        assert_eq!(machine.simulator.as_ref().map(|simulator| simulator.counts().allocations), Some(0));
    }
}
