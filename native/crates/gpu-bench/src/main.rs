//! `./sluice gpu`: what the driver says, and experiments on a GPU, or on the simulated driver where there is none.

mod allocation;
mod columns;
mod copies;
mod engine;
mod figure;
mod figures;
mod footprint;
mod kernel;
mod leases;
mod machine;
mod picture;
mod report;
mod rows;
mod streams;
mod tier;
mod ucx;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::figure::Figure;
use crate::figures::Sizes;
use crate::machine::Machine;
use crate::streams::Plan;

#[derive(Parser)]
#[command(
    name = "./sluice gpu",
    about = "What the CUDA driver says, and experiments on a GPU or on a simulated driver."
)]
struct Arguments {
    /// The simulated driver, even if there is a GPU.
    #[arg(long, global = true)]
    simulate: bool,
    /// The device: its number in the order of PCI addresses, or its UUID. Needed if there are several.
    #[arg(long, global = true, value_name = "DEVICE", conflicts_with = "simulate")]
    device: Option<String>,
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// Tells driver, device and free memory.
    Device,
    /// Measures copies, leases and streams, each beside what the machine can do at best or what others do.
    Figures {
        /// Where they go.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Measures encode, decode and sort on the device and from host to host, beside the machine's cores.
    Engine {
        /// A folder of kernels, as ./sluice build makes it; with the simulated driver a file of kernels for the host.
        #[arg(long, value_name = "PATH")]
        kernels: PathBuf,
        /// Measures this part only.
        #[arg(long, value_enum)]
        only: Option<engine::Part>,
        /// Where they go.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Reads by UCX between two processes, in all combinations of device, pinned and host memory, beside bare copies.
    /// Without a GPU those of host memory.
    Ucx(ucx::Experiment),
    #[command(hide = true)]
    UcxOwner(ucx::OwnerProcess),
    #[command(hide = true)]
    UcxReader(ucx::ReaderProcess),
    /// Copies to the device, a kernel and copies back, in a loop on several threads: on the one default stream and on
    /// the threads' own ones, with several ways to allocate the memory.
    Streams {
        /// Threads.
        #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=256))]
        threads: u32,
        /// Rounds of each thread.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        rounds: u32,
        /// KiB that are copied in each direction.
        #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
        kib: u32,
        /// Turns of the kernel's loop for each word.
        #[arg(long, default_value_t = 2000)]
        turns: u32,
        /// Of the order on the simulated driver.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where the picture goes (SVG).
        #[arg(long, value_name = "FILE")]
        picture: Option<PathBuf>,
        /// Where the figures go.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let device = arguments.device.as_deref();
    match &arguments.experiment {
        Experiment::Ucx(experiment) => return ucx::run(experiment, device),
        Experiment::UcxOwner(process) => return ucx::own(process, device),
        Experiment::UcxReader(process) => return ucx::read(process, device),
        _ => {}
    }
    let seed = if let Experiment::Streams { seed, .. } = arguments.experiment { seed } else { 1 };
    let machine = match arguments.simulate {
        true => Machine::simulated(seed)?,
        false => Machine::open(arguments.device.as_deref(), seed)?,
    };
    println!("{}", machine.describe()?);
    match &arguments.experiment {
        Experiment::Device | Experiment::Ucx(_) | Experiment::UcxOwner(_) | Experiment::UcxReader(_) => Ok(()),
        Experiment::Figures { json } => {
            let figures = figures::measure_all(&machine, Sizes::of(&machine))?;
            report_figures(&machine, &figures, json.as_deref())
        }
        Experiment::Engine { kernels, only, json } => {
            let figures = engine::measure(&machine, kernels, engine::Sizes::of(&machine), *only)?;
            report_figures(&machine, &figures, json.as_deref())
        }
        Experiment::Streams { threads, rounds, kib, turns, picture, json, .. } => {
            let plan = Plan { threads: *threads, rounds: *rounds, bytes: *kib as usize * 1024, turns: *turns };
            let outcomes = streams::run_all(&machine, &plan)?;
            print!("{}", report::table(&machine, &outcomes));
            if let Some(path) = picture {
                write(path, &picture::svg(&machine, &outcomes))?;
            }
            json.as_deref().map_or(Ok(()), |path| write(path, &report::json(&machine, &plan, &outcomes)?))
        }
    }
}

fn report_figures(machine: &Machine, figures: &[Figure], json: Option<&Path>) -> Result<(), String> {
    print!("{}", figure::table(machine, figures));
    json.map_or(Ok(()), |path| write(path, &figure::json(machine, figures)?))
}

/// Writes a file, and its folder where that is missing.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text));
    written.map_err(|e| format!("{}: {e}", path.display()))?;
    println!("Wrote {}", path.display());
    Ok(())
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
