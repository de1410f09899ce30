//! The two ends: one publishes a file and is read, the other reads. They find each other over a TCP connection that
//! carries the first one's address, then what the other asks for ([`CPU`], [`WIRE`]), and stays open until the other is
//! done.

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
use crate::plan::{Load, Plan, TIMEOUT};
use crate::progress::Progress;
use crate::report::Row;
use crate::sizes::Bytes;
use crate::wire_alone::{Remote, Served, WireReading};

const ARENA_BYTES: usize = 8 << 30;
const PEER: u64 = 0;
/// A question of the reading end: how many processor nanoseconds has the other's process used?
const CPU: u8 = 0;
/// Another: how is its file read without the protocol?
const WIRE: u8 = 1;
/// Of an address or a key.
const LONGEST: usize = 1 << 16;
/// What an end prints when it can be connected to.
const LISTENING: &str = "listening at ";

/// What is read into, and its regions.
pub(crate) fn receive_arena() -> (Arc<Arena>, Arc<RegistrableProvider>) {
    let regions = Arc::new(RegistrableProvider::new(HostProvider::default()));
    (Arena::with_provider(regions.clone(), &ArenaOptions::with_limit(ARENA_BYTES)), regions)
}

fn open(library: Option<&Path>) -> Result<Arc<Ucx>, String> {
    Ucx::open(library, None).map_err(|e| e.to_string())
}

fn start(ucx: Arc<Ucx>, max_gets: Option<usize>) -> Result<Transport, String> {
    let options = TransportOptions { timeout: TIMEOUT, max_gets, ..TransportOptions::default() };
    let (arena, regions) = receive_arena();
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
    let ucx = open(library)?;
    let owner = start(Arc::clone(&ucx), None)?;
    let file = Temporary(std::env::temp_dir().join(format!("sluice-perftest-{}", std::process::id())));
    publish(&owner, &file.0, plan)?;
    println!("{LISTENING}{}", listener.local_addr().map_err(|e| e.to_string())?);
    loop {
        let (stream, _) = listener.accept().map_err(|e| e.to_string())?;
        if let Err(e) = serve(stream, owner.address(), || Served::start(Arc::clone(&ucx), &file.0)) {
            eprintln!("the other end: {e}");
        }
        if std::env::var_os(ONCE).is_some() {
            return Ok(());
        }
    }
}

/// Tells the address, then answers each question that comes, until the end.
fn serve(mut stream: TcpStream, address: &[u8], wire: impl Fn() -> Result<Served, String>) -> io::Result<()> {
    send_bytes(&mut stream, address)?;
    let (mut question, mut served) = ([CPU], None);
    while stream.read(&mut question)? > 0 {
        if question == [WIRE] {
            let started = wire().map_err(io::Error::other)?;
            started.remote.send(&mut stream)?;
            served = Some(started);
        } else {
            stream.write_all(&processor_nanos().to_le_bytes())?;
        }
    }
    drop(served);
    Ok(())
}

/// Their number, and then the bytes.
pub(crate) fn send_bytes(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u32).to_le_bytes())?;
    stream.write_all(bytes)
}

pub(crate) fn receive_bytes(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; (u32::from_le_bytes(length) as usize).min(LONGEST)];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
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
    stream.write_all(&[CPU])?;
    let mut nanos = [0; 8];
    stream.read_exact(&mut nanos)?;
    Ok(Duration::from_nanos(u64::from_le_bytes(nanos)).as_secs_f64())
}

/// Set for an end that is to listen once.
const ONCE: &str = "SLUICE_PERFTEST_ONCE";

/// Reads from an end that listens.
pub(crate) fn connect(to: &str, library: Option<&Path>, plan: &Plan) -> Result<Vec<Figure>, String> {
    let mut stream = TcpStream::connect(to).map_err(|e| format!("connecting to {to}: {e}"))?;
    let address = receive_bytes(&mut stream).map_err(|e| format!("reading from {to}: {e}"))?;
    let ucx = open(library)?;
    // An end that `both` has started leaves that to it.
    let steps = if std::env::var_os(ONCE).is_some() { 0 } else { plan.sizes.len() * plan.loads.len() };
    let (mut progress, mut figures) = (Progress::new(steps), Vec::new());
    for &load in &plan.loads {
        let reader = start(Arc::clone(&ucx), load.max_gets())?;
        reader.connect(PEER, &address);
        for (map, &size) in plan.sizes.iter().enumerate() {
            let mut reading = Reading::new(&reader, PEER, map as u64, size, plan.partitions(size) as u32);
            let owner_cpu = || cpu_seconds(&stream).map_err(|e| format!("asking {to}: {e}"));
            figures.push(figure(&mut reading, plan, load, owner_cpu)?);
            progress.step();
        }
    }
    if figures.iter().any(|figure| figure.load.max_gets().is_some()) {
        let remote = ask_wire(&mut stream).map_err(|e| format!("asking {to}: {e}"))?;
        for figure in &mut figures {
            let Some(gets) = figure.load.max_gets() else { continue };
            let blocks = (figure.size, plan.partitions(figure.size));
            let mut reading = WireReading::new(Arc::clone(&ucx), &remote, blocks, gets)?;
            figure.wire_mb_per_s = Some(reading.mb_per_s(plan.time)?);
        }
    }
    Ok(figures)
}

fn ask_wire(stream: &mut TcpStream) -> io::Result<Remote> {
    stream.write_all(&[WIRE])?;
    Remote::receive(stream)
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
    let mut progress = Progress::new(transports.len() * plan.sizes.len() * plan.loads.len() * runs);
    for transport in transports {
        let (tls, bare_tls) = tls_of(transport);
        let figures = plan.sizes.iter().flat_map(|&size| plan.loads.iter().map(move |&load| (size, load)));
        for (size, load) in figures {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..plan.repeat {
                ours.push(pair(&tls, library, size, load, plan)?);
                progress.step();
                if let Some(program) = bare {
                    let bare = Bare { program, library, tls: &bare_tls, size };
                    theirs.push(bare.figure(load.count(), plan.time)?);
                    progress.step();
                }
            }
            let theirs = bare.map(|_| BareFigure::median(&theirs));
            rows.push(Row::new(transport, Figure::median(&ours), theirs));
        }
    }
    Ok(rows)
}

/// `UCX_TLS` for a transport: Sluice's, and the bare library's. Messages need TCP beside CMA. Sluice's way within a
/// machine is CMA, also where UCX would use its shared memory: that has no way to tell that a peer has died.
fn tls_of(transport: &str) -> (String, String) {
    match transport {
        "cma" => ("tcp,cma".into(), "tcp,cma".into()),
        "shm" => ("tcp,cma".into(), "posix,self".into()),
        other => (other.replace('+', ","), other.replace('+', ",")),
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
fn pair(tls: &str, library: Option<&Path>, size: usize, load: Load, plan: &Plan) -> Result<Figure, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let end = |role: [&str; 2]| {
        let mut command = Command::new(&program);
        command.args(role).args(["--sizes", &Bytes(size).to_string(), load.option(), &load.count().to_string()]);
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
    let wire_mb_per_s = rows[0]["wire_mb_per_s"].as_f64();
    Ok(Figure { size, load, mb_per_s, latency_us, owner_cpu, wire_mb_per_s })
}

fn first_line(child: &mut Child) -> Result<String, String> {
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).map_err(|e| e.to_string())?;
    if line.is_empty() { Err("an end failed at its start; see above".into()) } else { Ok(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_machine_sluice_reads_by_cma() {
        let pair = |ours: &str, theirs: &str| (ours.to_string(), theirs.to_string());
        assert_eq!(tls_of("cma"), pair("tcp,cma", "tcp,cma"));
        assert_eq!(tls_of("shm"), pair("tcp,cma", "posix,self"));
        assert_eq!(tls_of("rc+self"), pair("rc,self", "rc,self"));
    }
}
