//! Figures of the experiment, for people and for programs.

use std::fmt::Write;

use serde_json::json;

use crate::machine::Machine;
use crate::streams::{Outcome, Plan};

pub(crate) fn table(machine: &Machine, outcomes: &[Outcome]) -> String {
    let real = machine.is_real();
    let mut text = if real {
        String::from("memory                           streams      seconds  rounds/s  in flight\n")
    } else {
        String::from(
            "Simulated: the order means something, times do not.\n\
             memory                           streams      changes  driver's waits\n",
        )
    };
    for outcome in outcomes {
        let streams = if outcome.per_thread { "per thread" } else { "legacy" };
        let _ = write!(text, "{:<32} {streams:<12}", outcome.allocation.name());
        let _ = match outcome.driver_waits {
            None => {
                let (seconds, rate) = (outcome.seconds, outcome.rounds_per_second);
                writeln!(text, " {seconds:>7.3} {rate:>9.0} {:>10.2}", outcome.in_flight())
            }
            Some(waits) => writeln!(text, " {:>6.0}% {waits:>15}", outcome.changes() * 100.0),
        };
    }
    text
}

pub(crate) fn json(machine: &Machine, plan: &Plan, outcomes: &[Outcome]) -> Result<String, String> {
    let real = machine.is_real();
    let rows: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "streams": if outcome.per_thread { "per-thread" } else { "legacy" },
                "memory": outcome.allocation.name(),
                "seconds": real.then_some(outcome.seconds),
                "rounds_per_second": real.then_some(outcome.rounds_per_second),
                "submitted_not_finished": real.then(|| outcome.in_flight()),
                "changes_of_stream": (!real).then(|| outcome.changes()),
                "driver_waits": outcome.driver_waits,
            })
        })
        .collect();
    let all = json!({
        "simulated": !real,
        "device": machine.context.device().describe(),
        "driver": machine.context.device().driver().describe(),
        "threads": plan.threads,
        "rounds": plan.rounds,
        "bytes": plan.bytes,
        "turns": plan.turns,
        "outcomes": rows,
    });
    serde_json::to_string_pretty(&all).map(|text| text + "\n").map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::Allocation;

    #[test]
    fn simulated_figures_have_no_times() {
        let machine = Machine::simulated(1).expect("made");
        let outcome = Outcome {
            per_thread: false,
            allocation: Allocation::Driver,
            seconds: 1.0,
            rounds_per_second: 12.0,
            driver_waits: Some(12),
            bars: Vec::new(),
        };
        let plan = Plan { threads: 1, rounds: 1, bytes: 8, turns: 1 };
        let text = json(&machine, &plan, std::slice::from_ref(&outcome)).expect("written");
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read["simulated"], true);
        assert!(read["outcomes"][0]["seconds"].is_null());
        assert_eq!(read["outcomes"][0]["driver_waits"], 12);
        let table = table(&machine, &[outcome]);
        assert!(table.contains("times do not") && table.contains("cuMemAlloc, cuMemFree") && table.contains("12"));
    }
}
