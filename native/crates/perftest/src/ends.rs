//! The two ends: one publishes a file and is read, the other reads. They find each other over a TCP connection that
//! carries the first one's address, then the processor time that it has used as often as the other asks, and stays open
//! until the other is done.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use sluice_mem::{Arena, ArenaOptions, HostProvider, RegistrableProvider};
use sluice_transport::{Transport, TransportOptions};
use sluice_ucx::Ucx;

use crate::bare::Bare;
use crate::figures::{BareFigure, Figure};
use crate::measure::{Reading, figure, publish};
use crate::plan::{Plan, TIMEOUT};
use crate::progress::Progress;
use crate::report::Row;
use crate::sizes::Bytes;

const ARENA_BYTES: usize = 8 << 30;
const PEER: u64 = 0;
/// What an end prints when it can be connected to.
const LISTENING: &str = "listening at ";

fn start(library: Option<&Path>) -> Result<Transport, String> {
    let ucx = Ucx::open(library, None).map_err(|e| e.to_string())?;
    let options = TransportOptions { timeout: TIMEOUT, ..TransportOptions::default() };
    let regions = Arc::new(RegistrableProvider::new(HostProvider::default()));
    let arena = Arena::with_provider(regions.clone(), &ArenaOptions::with_limit(ARENA_BYTES));
    let make = move || sluice_ucx::wire(ucx, regions, Arc::default(), TIMEOUT);
    Transport::start(make, arena, options).map_err(|e| e.to_string())
}

/// A file that is removed with this value.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Lets other ends read from it, one after the other, until its process is killed.
pub(crate) fn listen(at: &str, library: Option<&Path>, plan: &Plan) -> Result<(), String> {
    let listener = TcpListener::bind(at).map_err(|e| format!("listening at {at}: {e}"))?;
    let owner = start(library)?;
    let file = Temporary(std::env::temp_dir().join(format!("sluice-perftest-{}", std::process::id())));
    publish(&owner, &file.0, plan)?;
    println!("{LISTENING}{}", listener.local_addr().map_err(|e| e.to_string())?);
    loop {
        let (stream, _) = listener.accept().map_err(|e| e.to_string())?;
        if let Err(e) = serve(stream, owner.address()) {
            eprintln!("the other end: {e}");
        }
        if std::env::var_os(ONCE).is_some() {
            return Ok(());
        }
    }
}

/// Tells the address, then answers each byte that comes with the processor nanoseconds of this process, until the end.
fn serve(mut stream: TcpStream, address: &[u8]) -> io::Result<()> {
    stream.write_all(&(address.len() as u32).to_le_bytes())?;
    stream.write_all(address)?;
    while stream.read(&mut [0])? > 0 {
        stream.write_all(&processor_nanos().to_le_bytes())?;
    }
    Ok(())
}

/// What all threads of this process have used.
fn processor_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to `time` only.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(rc, 0, "every process has this clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Asks the other end for the processor seconds that it has used.
fn cpu_seconds(mut stream: &TcpStream) -> io::Result<f64> {
    stream.write_all(&[0])?;
    let mut nanos = [0; 8];
    stream.read_exact(&mut nanos)?;
    Ok(Duration::from_nanos(u64::from_le_bytes(nanos)).as_secs_f64())
}

/// Set for an end that is to listen once.
const ONCE: &str = "SLUICE_PERFTEST_ONCE";

/// Reads from an end that listens.
pub(crate) fn connect(to: &str, library: Option<&Path>, plan: &Plan) -> Result<Vec<Figure>, String> {
    let mut stream = TcpStream::connect(to).map_err(|e| format!("connecting to {to}: {e}"))?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).map_err(|e| format!("reading from {to}: {e}"))?;
    let mut address = vec![0; (u32::from_le_bytes(length) as usize).min(1 << 16)];
    stream.read_exact(&mut address).map_err(|e| format!("reading from {to}: {e}"))?;
    let reader = start(library)?;
    reader.connect(PEER, &address);
    // An end that `both` has started leaves that to it.
    let mut progress = Progress::new(if std::env::var_os(ONCE).is_some() { 0 } else { plan.sizes.len() });
    let figure_of = |(map, size): (usize, &usize)| {
        let mut reading = Reading::new(&reader, PEER, map as u64, *size, plan.partitions(*size) as u32);
        let figure = figure(&mut reading, plan, || cpu_seconds(&stream).map_err(|e| format!("asking {to}: {e}")));
        progress.step();
        figure
    };
    plan.sizes.iter().enumerate().map(figure_of).collect()
}

/// Both ends on this machine, in processes of their own, because UCX takes its settings from the environment. The bare
/// library's runs come in between, so that both see the same machine.
pub(crate) fn both(
    transports: &[String],
    library: Option<&Path>,
    bare: Option<&Path>,
    plan: &Plan,
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let runs = plan.repeat as usize * if bare.is_some() { 2 } else { 1 };
    let mut progress = Progress::new(transports.len() * plan.sizes.len() * runs);
    for transport in transports {
        let tls = tls_of(transport);
        for &size in &plan.sizes {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..plan.repeat {
                ours.push(pair(&tls, library, size, plan)?);
                progress.step();
                if let Some(program) = bare {
                    theirs.push(Bare { program, library, tls: &tls, size }.figure(plan.window, plan.time)?);
                    progress.step();
                }
            }
            let theirs = bare.map(|_| BareFigure::median(&theirs));
            rows.push(Row::new(transport, Figure::median(&ours), theirs));
        }
    }
    Ok(rows)
}

/// `UCX_TLS` for a transport. Messages need TCP beside CMA.
fn tls_of(transport: &str) -> String {
    match transport {
        "cma" => "tcp,cma".into(),
        other => other.replace('+', ","),
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One run of both ends.
fn pair(tls: &str, library: Option<&Path>, size: usize, plan: &Plan) -> Result<Figure, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let end = |role: [&str; 2]| {
        let mut command = Command::new(&program);
        command.args(role).args(["--sizes", &Bytes(size).to_string(), "--window", &plan.window.to_string()]);
        command.args(["--spread", &plan.spread.to_string()]);
        command.args(["--seconds", &plan.time.as_secs_f64().to_string()]);
        command.env("UCX_TLS", tls).env(ONCE, "1").stdout(Stdio::piped());
        if let Some(library) = library {
            command.arg("--library").arg(library);
        }
        command
    };
    let mut owner = Killed(end(["--listen", "127.0.0.1:0"]).spawn().map_err(|e| format!("starting an end: {e}"))?);
    let address = first_line(&mut owner.0)?;
    let address = address.strip_prefix(LISTENING).ok_or_else(|| format!("an end said '{address}'"))?;
    let json = Temporary(std::env::temp_dir().join(format!("sluice-perftest-{}.json", owner.0.id())));
    let mut reader = end(["--connect", address.trim()]);
    let status = reader.arg("--json").arg(&json.0).status().map_err(|e| format!("starting an end: {e}"))?;
    if !status.success() {
        return Err(format!("the reading end failed over {tls}"));
    }
    let text = std::fs::read_to_string(&json.0).map_err(|e| e.to_string())?;
    let rows: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let number = |name: &str| rows[0][name].as_f64().ok_or_else(|| format!("no {name} in {text}"));
    let (mb_per_s, latency_us, owner_cpu) = (number("mb_per_s")?, number("latency_us")?, number("owner_cpu")?);
    Ok(Figure { size, window: plan.window, mb_per_s, latency_us, owner_cpu })
}

fn first_line(child: &mut Child) -> Result<String, String> {
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).map_err(|e| e.to_string())?;
    if line.is_empty() { Err("an end failed at its start; see above".into()) } else { Ok(line) }
}
