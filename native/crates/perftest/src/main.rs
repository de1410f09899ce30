//! `./sluice perftest`: bandwidth and latency of Sluice's one-sided transport between two processes, beside those of
//! the bare library (`ucx_perftest`) on the same transport.

mod bare;
mod ends;
mod figures;
mod measure;
mod plan;
mod progress;
mod report;
mod sizes;
mod wire_alone;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::plan::{Load, Plan};
use crate::report::Row;
use crate::sizes::Bytes;

#[derive(Parser)]
#[command(name = "./sluice perftest", about = "Measures one-sided reads between two processes.")]
struct Arguments {
    /// Both ends on this machine, for each of the transports.
    #[arg(long = "self", conflicts_with_all = ["listen", "connect"])]
    both: bool,
    /// One end: waits for the other at this address and port, and is read.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "connect")]
    listen: Option<String>,
    /// The other end: reads from one that listens.
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    /// Sizes of the blocks.
    #[arg(long, value_delimiter = ',', default_value = "64k,1m")]
    sizes: Vec<Bytes>,
    /// With --self: cma, tcp, shm, or what UCX_TLS may be, as rc+tcp. Sluice's way within a machine is CMA, with shm
    /// too: beside it UCX's own program then uses UCX's shared memory.
    #[arg(long, value_delimiter = ',', default_value = "cma,tcp")]
    transports: Vec<String>,
    /// Blocks asked for at once.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    window: u32,
    /// Instead of --window: so many reads under way over the wire, no more and no fewer, each of a whole block (jobs
    /// read pieces of at most 512k), as UCX's own program has them. Then the wire is measured without the protocol,
    /// too.
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "window",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    gets: Vec<u32>,
    /// Bytes that are read round and round; at least one block. ucx_perftest reads one block again and again; map
    /// outputs are larger than a core's cache: 64m, say.
    #[arg(long, default_value = "1")]
    spread: Bytes,
    /// Seconds for each figure.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Repetitions of each figure, alternating with the bare library's; the median is shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    repeat: u32,
    /// UCX's libucp.so.0 or its folder; without it, the system's.
    #[arg(long, env = "SLUICE_UCX_LIBRARY", value_name = "PATH")]
    library: Option<PathBuf>,
    /// UCX's own ucx_perftest, to compare with.
    #[arg(long, env = "SLUICE_UCX_PERFTEST", value_name = "PATH")]
    ucx_perftest: Option<PathBuf>,
    /// Writes the figures to a file: an array of transport, size, window or gets, mb_per_s, latency_us,
    /// owner_cpu (processor seconds of the process that is read, per second), library_mb_per_s, library_latency_us,
    /// ratio_vs_library (of the bandwidths); with --gets wire_mb_per_s and ratio_vs_wire, too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Arguments {
    fn plan(&self) -> Result<Plan, String> {
        if !(0.01..=3600.0).contains(&self.seconds) {
            return Err(format!("--seconds {} is not between 0.01 and 3600", self.seconds));
        }
        let sizes: Vec<usize> = self.sizes.iter().map(|size| size.0).collect();
        let mut loads: Vec<Load> = self.gets.iter().map(|gets| Load::Gets(*gets)).collect();
        if loads.is_empty() {
            loads.push(Load::Window(self.window));
        }
        let time = Duration::from_secs_f64(self.seconds);
        Ok(Plan { sizes, spread: self.spread.0, loads, time, repeat: self.repeat })
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let plan = arguments.plan()?;
    let library = arguments.library.as_deref();
    if let Some(at) = &arguments.listen {
        return ends::listen(at, library, &plan);
    }
    let rows = if let Some(to) = &arguments.connect {
        let transport = std::env::var("UCX_TLS").unwrap_or_else(|_| "all".into());
        ends::connect(to, library, &plan)?.into_iter().map(|figure| Row::new(&transport, figure, None)).collect()
    } else if arguments.both {
        let bare = arguments.ucx_perftest.as_deref();
        ends::both(&arguments.transports, library, bare, &plan)?
    } else {
        return Err("one of --self, --listen and --connect is needed".into());
    };
    print!("{}{}", report::table(&rows), report::notes(&rows));
    if let Some(file) = &arguments.json {
        std::fs::write(file, report::json(&rows)).map_err(|e| format!("writing {}: {e}", file.display()))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
