//! How much of the device's memory the leases of a recorded job take, beside what of them is live.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use sluice_cuda::{Context, Wait, Waited};
use sluice_cuda_sim::checkout;
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions, StreamLease};

/// 20,000 calls of the engine's arena, by `SLUICE_ARENA_TRACE`; at most 162 MiB are live.
const TRACE: &str = "bench/results/native/arena-engine.trace.zst";
const FIRST_LINE: &str = "sluice-arena-trace 1";
const LIMIT: Duration = Duration::from_secs(60);
const ARENA_BYTES: usize = 2 << 30;
const CHUNK_BYTES: usize = 128 << 20;
/// Calls between two looks at what is taken.
const LOOK_EVERY: usize = 50;

/// The most that was taken, what is in limbo included, over the most that was live.
pub(crate) fn of_recorded_job(context: &Context) -> Result<f64, String> {
    let path = checkout().join(TRACE);
    let text = read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
    let options = StreamArenaOptions { chunk_bytes: CHUNK_BYTES, ..StreamArenaOptions::with_limit(ARENA_BYTES) };
    let arena = StreamArena::new(context.clone(), options);
    let ratio = replay(&arena, arena.attach(context.thread_stream()), &text)?;
    match arena.settle(Wait::at_most(LIMIT)).map_err(|e| e.to_string())? {
        Waited::Done => Ok(ratio),
        other => Err(format!("leases that were freed did not come back: {other:?}")),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let file = std::fs::read(path).map_err(|e| e.to_string())?;
    let bytes = zstd::decode_all(&file[..]).map_err(|e| e.to_string())?;
    String::from_utf8(bytes).map_err(|e| e.to_string())
}

/// Makes the calls in their order, on one stream; leases that are live at the end are freed then.
fn replay(arena: &StreamArena, stream: ArenaStream, trace: &str) -> Result<f64, String> {
    let mut lines = trace.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(format!("a trace begins with '{FIRST_LINE}'"));
    }
    let mut live: HashMap<&str, StreamLease> = HashMap::new();
    let (mut live_bytes, mut peak, mut taken) = (0, 0, 0);
    for (nth, line) in lines.enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let wrong = || format!("line {} is no call: {line}", nth + 2);
        match words[..] {
            [_, _, "+", name, bytes] => {
                let bytes: usize = bytes.parse().map_err(|_| wrong())?;
                let lease = stream.lease(bytes, Wait::at_most(LIMIT)).map_err(|e| e.to_string())?;
                live.insert(name, lease);
                live_bytes += bytes;
                peak = peak.max(live_bytes);
            }
            [_, _, "-", name] => {
                let lease = live.remove(name).ok_or_else(wrong)?;
                live_bytes -= lease.len();
                stream.free(lease);
            }
            _ => return Err(wrong()),
        }
        if nth % LOOK_EVERY == 0 {
            let memory = arena.memory().statistics();
            taken = taken.max(memory.reserved_bytes - memory.free_bytes);
        }
    }
    live.into_values().for_each(|lease| stream.free(lease));
    if peak == 0 { Err("the trace has no leases".into()) } else { Ok(taken as f64 / peak as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    #[test]
    fn a_recorded_job_takes_little_more_than_is_live() {
        let machine = Machine::simulated(8).expect("made");
        let ratio = of_recorded_job(&machine.context).expect("replayed");
        assert!((1.0..=1.1).contains(&ratio), "{ratio}");
        let simulator = machine.simulator.as_ref().expect("simulated");
        assert_eq!((simulator.counts().allocations, simulator.counts().waits > 0), (0, true), "given back at the end");
        assert_eq!(simulator.violations(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let machine = Machine::simulated(8).expect("made");
        let arena = StreamArena::new(machine.context.clone(), StreamArenaOptions::with_limit(ARENA_BYTES));
        let why = |trace: &str| {
            let stream = arena.attach(machine.context.thread_stream());
            replay(&arena, stream, trace).expect_err("refused")
        };
        assert!(why("something else").contains("begins with"));
        assert!(why("sluice-arena-trace 1\n").contains("no leases"));
        for line in ["1 0 + a", "1 0 + a many", "1 0 - a", "1 0 ?"] {
            assert_eq!(why(&format!("{FIRST_LINE}\n{line}\n")), format!("line 2 is no call: {line}"));
        }
    }
}
