//! `sluice-gpu ucx`: gets by UCX between two processes of this machine, in all combinations of the owner's and the
//! reader's memory, each in processes of its own, so that one that crashes or hangs takes no other with it.

mod memory;
mod owner;
mod reader;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use self::memory::Kind;

/// What a line of a process begins with that is meant for the one that has started it; others are UCX's.
const SAYS: &str = "sluice-gpu-ucx ";
const SIZES: [usize; 4] = [64 << 10, 1 << 20, 16 << 20, 256 << 20];

#[derive(Args)]
pub(crate) struct Experiment {
    /// UCX: libucp.so.0 or its folder; without it, the system's.
    #[arg(long, value_name = "PATH", env = "SLUICE_UCX_LIBRARY")]
    library: Option<PathBuf>,
    /// MiB of the largest gets.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    largest: u32,
    /// Seconds that all may take; what is not begun by then is left out.
    #[arg(long, default_value_t = 80)]
    seconds: u64,
    /// Only combinations whose name (owner-reader: device-host) contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Where the figures go.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// The process whose memory is read.
#[derive(Args)]
pub(crate) struct OwnerProcess {
    kind: Kind,
    #[arg(long)]
    bytes: usize,
    #[arg(long)]
    library: Option<PathBuf>,
}

/// The process that reads.
#[derive(Args)]
pub(crate) struct ReaderProcess {
    owner: Kind,
    reader: Kind,
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<usize>,
    #[arg(long)]
    library: Option<PathBuf>,
}

/// A combination.
struct Plan {
    owner: Kind,
    reader: Kind,
    /// At least one, the largest last.
    sizes: Vec<usize>,
    library: Option<PathBuf>,
    device: Option<String>,
}

impl Plan {
    fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    fn name(&self) -> String {
        format!("{}-{}", self.owner.name(), self.reader.name())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    digits.map(|digits| digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect())
}

pub(crate) fn own(process: &OwnerProcess, device: Option<&str>) -> Result<(), String> {
    owner::run(process.kind, process.bytes, process.library.as_deref(), device)
}

pub(crate) fn read(process: &ReaderProcess, device: Option<&str>) -> Result<(), String> {
    let ReaderProcess { owner, reader, sizes, library } = process;
    let device = device.map(str::to_string);
    if sizes.is_empty() {
        return Err("no sizes".into());
    }
    reader::run(&Plan { owner: *owner, reader: *reader, sizes: sizes.clone(), library: library.clone(), device })
}

/// All combinations; an error if one has failed.
pub(crate) fn run(experiment: &Experiment, device: Option<&str>) -> Result<(), String> {
    let end = Instant::now() + Duration::from_secs(experiment.seconds);
    let largest = (experiment.largest as usize) << 20;
    let mut sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= largest).collect();
    if !sizes.contains(&largest) {
        sizes.push(largest);
    }
    let all = Kind::ALL.into_iter().flat_map(|owner| Kind::ALL.map(|reader| (owner, reader)));
    let plan = |(owner, reader)| {
        let (sizes, library) = (sizes.clone(), experiment.library.clone());
        Plan { owner, reader, sizes, library, device: device.map(str::to_string) }
    };
    let plans = all.map(plan).filter(|plan| experiment.only.as_ref().is_none_or(|only| plan.name().contains(only)));
    let mut outcomes = Vec::new();
    for plan in plans {
        let left = end.saturating_duration_since(Instant::now());
        let mut outcome = run_one(&plan, left);
        outcome["combination"] = plan.name().into();
        print!("{}", lines(&outcome));
        outcomes.push(outcome);
    }
    let failed = outcomes.iter().filter(|outcome| outcome["outcome"] == "failed").count();
    let text = serde_json::to_string_pretty(&json!({ "combinations": outcomes })).map_err(|e| e.to_string())?;
    experiment.json.as_deref().map_or(Ok(()), |path| crate::write(path, &(text + "\n")))?;
    if failed == 0 { Ok(()) } else { Err(format!("{failed} combinations failed")) }
}

/// A combination, in a process that is ended when the time is over.
fn run_one(plan: &Plan, left: Duration) -> Value {
    let limit = left.min(Duration::from_secs(9));
    if limit < Duration::from_secs(2) {
        return json!({ "outcome": "left out", "why": "no time was left" });
    }
    let failed = |why: String| json!({ "outcome": "failed", "why": why });
    let sizes: Vec<String> = plan.sizes.iter().map(ToString::to_string).collect();
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.args(plan.device.iter().flat_map(|device| ["--device", device]));
        command.args(["ucx-reader", plan.owner.name(), plan.reader.name(), "--sizes", &sizes.join(",")]);
        command.args(plan.library.iter().flat_map(|path| [Path::new("--library"), path]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
    };
    let started = std::env::current_exe().and_then(|program| command(&program));
    let mut child = match started {
        Ok(child) => child,
        Err(why) => return failed(why.to_string()),
    };
    let (sender, said) = mpsc::channel();
    let Some(output) = child.stdout.take() else { return failed("no pipe".into()) };
    std::thread::spawn(move || sender.send(collect(output)));
    let end = Instant::now() + limit;
    let mut status = None;
    while status.is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
        status = child.try_wait().ok().flatten();
    }
    let _ = child.kill();
    let _ = child.wait();
    // An owner that is left may hold the pipe for a while.
    let (value, protocols) = said.recv_timeout(Duration::from_secs(4)).unwrap_or_default();
    let mut value = value.unwrap_or_else(|| match status {
        Some(status) => failed(format!("the reader's process ended without a word: {status}")),
        None => failed(format!("the reader's process had not ended after {limit:?}")),
    });
    value["protocols"] = protocols.into();
    value
}

/// What the process says, and what UCX tells of its protocols for gets (`UCX_PROTO_INFO=y`: tables, of which those for
/// messages are left out). All other lines are passed on.
fn collect(output: impl Read) -> (Option<Value>, Vec<String>) {
    let (mut value, mut protocols, mut of_gets) = (None, Vec::new(), false);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let row = line.split_once('|').map(|(_, row)| row.trim_matches(['|', ' ']));
        // UCX's own buffer may have left the begin of a line before it.
        if let Some((_, said)) = line.split_once(SAYS) {
            value = serde_json::from_str(said).ok();
        } else if let Some(row) = row {
            let begins = row.contains(" by ucp_");
            of_gets = if begins { row.contains("ucp_get") } else { of_gets && !row.starts_with("ucp_context") };
            if of_gets && !row.starts_with("Range") {
                let row = row.split('|').map(str::trim).collect::<Vec<_>>().join(" | ");
                println!("    {row}");
                protocols.push(row);
            }
        } else if !line.ends_with("-+") && !line.trim_end().ends_with("owner:") && !line.is_empty() {
            println!("    {line}");
        }
    }
    (value, protocols)
}

/// For people.
fn lines(outcome: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let (name, came) = (text(&outcome["combination"]), text(&outcome["outcome"]));
    let why = [&outcome["why"], &outcome["facts"]["bare_copy"]].map(text).concat();
    let mut lines = format!("{name}: {came}{}{why}\n", if why.is_empty() { "" } else { ": " });
    for figure in outcome["figures"].as_array().into_iter().flatten() {
        let number = |name: &str| figure[name].as_f64().unwrap_or(f64::NAN);
        let rate = |name: &str| format!("{:.2}", number(name) / 1e9);
        let link = figure["first_link"].as_f64().map(|link| format!(", its get alone {:.2}", link / 1e9));
        lines += &format!(
            "  {:>6} KiB: {} GB/s beside {} ({:.2}); {} at a time {} beside {} ({:.2}){}; begun in {:.1} us\n",
            number("bytes") / 1024.0,
            rate("one"),
            rate("bare_one"),
            number("one_ratio"),
            number("window"),
            rate("got"),
            rate("bare"),
            number("ratio"),
            link.unwrap_or_default(),
            number("begin_micros"),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes_of(&hex(&bytes)), Some(bytes));
        assert_eq!((bytes_of(""), bytes_of("0g")), (Some(vec![]), None));
    }
}
