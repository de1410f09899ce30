//! The process that reads: gets of each size into its memory, looked at byte by byte, then timed beside bare copies.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_cuda::{Context, IpcHandle, IpcMemory};
use sluice_gpu_wire::CopyOptions;
use sluice_mem::MemoryKind;
use sluice_transport::{Endpoint, Event, Get, Wire};

use super::memory::{Bare, Kind, Memory, finish, gpu};
use super::owner::Reading;
use super::{Plan, SAYS, bytes_of};

/// The owner starts CUDA and writes its memory.
const OWNER_STARTS: Duration = Duration::from_secs(20);
/// One get, also of 256 MiB by way of TCP.
const GET_ENDS: Duration = Duration::from_secs(10);
/// What is measured at once, at least, and how often in turn.
const MEASURED: Duration = Duration::from_millis(25);
const ROUNDS: usize = 3;
/// Bytes of gets under way at a time, when there are several.
const WINDOW_BYTES: usize = 4 << 20;

/// What went wrong, as far as it has a name of its own.
pub(super) enum Wrong {
    /// It was refused in words; nothing was read.
    Declined(String),
    Failed(String),
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// The owner's process, which ends with this value.
struct Owner {
    child: Child,
    says: Value,
}

impl Owner {
    fn start(plan: &Plan) -> Result<Self, Wrong> {
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        command.args(plan.device.iter().flat_map(|device| ["--device", device]));
        command.args(["ucx-owner", plan.owner.name(), "--bytes", &plan.largest().to_string()]);
        command.args(plan.library.iter().flat_map(|path| [Path::new("--library"), path]));
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let mut owner = Self { child, says: Value::Null };
        let (sender, lines) = mpsc::channel();
        let output = owner.child.stdout.take().ok_or_else(|| "no pipe".to_string())?;
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match line.split_once(SAYS) {
                    Some((_, said)) => drop(sender.send(said.to_string())),
                    None => println!("owner: {line}"),
                }
            }
        });
        let said = lines.recv_timeout(OWNER_STARTS).map_err(|_| format!("the owner {}", owner.state()))?;
        owner.says = serde_json::from_str(&said).map_err(|e| e.to_string())?;
        match owner.says["declined"].as_str() {
            Some(why) => Err(Wrong::Declined(format!("registering: {why}"))),
            None => Ok(owner),
        }
    }

    fn state(&mut self) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => format!("has ended: {status}"),
            Ok(None) => "is alive".into(),
            Err(why) => why.to_string(),
        }
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        self.says[name].as_str().and_then(bytes_of).ok_or_else(|| format!("the owner said no {name}"))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gets of the owner's memory into this process's.
struct Gets {
    wire: Reading,
    endpoint: Endpoint,
    key: Vec<u8>,
    remote: u64,
    memory: Memory,
    /// Memory of the owner's sort, where the reader's is of the other: what the wire below reads to at once.
    link: Option<Memory>,
    next: u64,
    /// What the calls of the wire's `get` took.
    begun: Duration,
}

impl Gets {
    /// Starts a get of the bytes at this offset, to an address here.
    fn start(&mut self, offset: usize, local: usize, bytes: usize, kind: MemoryKind) -> u64 {
        self.next += 1;
        let local = std::ptr::with_exposed_provenance_mut(local);
        let (token, remote) = (self.next, self.remote + offset as u64);
        let get = Get { token, key: &self.key, remote, local, bytes, kind };
        let begin = Instant::now();
        // SAFETY: the memory has these bytes and is looked at only after the gets have ended; if one does not end, the
        // process does (what waits for it fails, and what fails ends by `exit`).
        unsafe { self.wire.get(self.endpoint, get) };
        self.begun += begin.elapsed();
        token
    }

    /// The tokens of gets that have ended since the last call.
    fn ended(&mut self) -> Result<Vec<u64>, String> {
        let mut events = Vec::new();
        self.wire.progress(&mut events);
        let mut ended = Vec::new();
        for event in events {
            match event {
                Event::Got { token, result } => {
                    result.map_err(|e| format!("a get: {e}"))?;
                    ended.push(token);
                }
                Event::Failed { error, .. } => return Err(error.to_string()),
                Event::Message(_) | Event::Stuck { .. } => {}
            }
        }
        Ok(ended)
    }

    /// Reads pieces of this size, one behind the other.
    fn read(&mut self, shape: Shape) -> Result<(), String> {
        let (kind, local) = (self.memory.kind(), self.memory.address());
        self.read_to(shape, kind, local)
    }

    fn read_to(&mut self, shape: Shape, kind: MemoryKind, local: usize) -> Result<(), String> {
        let end = Instant::now() + GET_ENDS;
        for number in 0..shape.window {
            let offset = number * shape.bytes;
            self.start(offset, local + offset, shape.bytes, kind);
        }
        let mut under_way = shape.window;
        while under_way > 0 {
            under_way -= self.ended()?.len();
            if Instant::now() > end {
                return Err(format!("{under_way} gets have not ended within {GET_ENDS:?}"));
            }
        }
        Ok(())
    }

    /// A get of so many bytes brings them all.
    fn verify(&mut self, bytes: usize) -> Result<(), String> {
        self.memory.spoil(bytes)?;
        self.read(Shape { bytes, window: 1 })?;
        self.memory.check(bytes)
    }

    /// Seconds of gets of this size, `window` under way at a time.
    fn seconds(&mut self, shape: Shape, count: usize) -> Result<f64, String> {
        let begin = Instant::now();
        for _ in 0..count.div_ceil(shape.window) {
            self.read(shape)?;
        }
        Ok(begin.elapsed().as_secs_f64())
    }

    /// Bytes a second of gets to memory of the owner's sort, of the sizes that pieces have.
    fn first_link(&mut self, bytes: usize) -> Result<Option<f64>, String> {
        let Some(link) = self.link.as_mut() else { return Ok(None) };
        let (kind, local) = (link.kind(), link.address());
        let CopyOptions { slots, slot_bytes, .. } = CopyOptions::default();
        let shape = Shape { bytes: bytes.min(slot_bytes), window: slots };
        let mut seconds = |count: usize| -> Result<f64, String> {
            let begin = Instant::now();
            for _ in 0..count.div_ceil(slots) {
                self.read_to(shape, kind, local)?;
            }
            Ok(begin.elapsed().as_secs_f64())
        };
        let count = enough(&mut seconds, slots)?;
        Ok(Some((shape.bytes * count) as f64 / seconds(count)?))
    }
}

/// None where the owner's memory is of the reader's sort.
fn link_of(plan: &Plan, gpu: Option<&Context>) -> Result<Option<Memory>, String> {
    let CopyOptions { slots, slot_bytes, .. } = CopyOptions::default();
    let kind = match (plan.owner, plan.reader) {
        (Kind::Device, Kind::Pinned | Kind::Host) => Kind::Device,
        (Kind::Pinned | Kind::Host, Kind::Device) => Kind::Pinned,
        _ => return Ok(None),
    };
    Memory::new(kind, slots * slot_bytes, gpu).map(Some)
}

#[derive(Clone, Copy)]
struct Shape {
    bytes: usize,
    window: usize,
}

/// Bare copies in the same direction.
struct Copies {
    bare: Bare,
    gpu: Option<Context>,
    /// What `bare` points to.
    _mapped: Option<IpcMemory>,
    _source: Option<Memory>,
    said: String,
}

impl Copies {
    fn new(plan: &Plan, owner: &Owner, gpu: Option<&Context>) -> Result<Self, String> {
        let is_device = |kind| kind == Kind::Device;
        let (mut mapped, mut source, mut said) = (None, None, "in this process".to_string());
        if is_device(plan.owner)
            && let Some(gpu) = gpu
        {
            let handle = owner.bytes("ipc").ok().and_then(|bytes| bytes.try_into().ok());
            match handle
                .ok_or_else(|| owner.says["ipc_refused"].to_string())
                .and_then(|handle| gpu.open_ipc(&IpcHandle(handle)).map_err(|e| e.to_string()))
            {
                Ok(memory) => (mapped, said) = (Some(memory), "the owner's memory by CUDA IPC".into()),
                Err(why) => said = format!("in this process, because CUDA IPC is refused: {why}"),
            }
        }
        if mapped.is_none() {
            source = Some(Memory::new(plan.owner, plan.largest(), gpu)?);
        }
        let on_host = || source.as_mut().map(Memory::address);
        let bare = match (&mapped, plan.owner, plan.reader) {
            (Some(memory), _, Kind::Device) => Bare::OnDevice { source: memory.address() },
            (Some(memory), _, _) => Bare::ToHost { source: memory.address() },
            (None, from, to) => {
                let address = { on_host }().unwrap_or(0);
                let (host, device) =
                    (std::ptr::with_exposed_provenance(address), sluice_cuda::DeviceAddress(address as u64));
                match (is_device(from), is_device(to)) {
                    (true, true) => Bare::OnDevice { source: device },
                    (true, false) => Bare::ToHost { source: device },
                    (false, true) => Bare::ToDevice { source: host },
                    (false, false) => Bare::OnHost { source: host },
                }
            }
        };
        Ok(Self { bare, gpu: gpu.cloned(), _mapped: mapped, _source: source, said })
    }

    fn seconds(&self, target: &mut Memory, shape: Shape, count: usize) -> Result<f64, String> {
        let stream = self.gpu.as_ref().map(Context::thread_stream);
        let begin = Instant::now();
        for _ in 0..count.div_ceil(shape.window) {
            for number in 0..shape.window {
                // SAFETY: source and target have the largest size, and stay until this value goes, which is after the
                // stream is done below, or with the process.
                unsafe { self.bare.copy(target, stream.as_ref(), number * shape.bytes, shape.bytes) }?;
            }
            stream.as_ref().map_or(Ok(()), finish)?;
        }
        Ok(begin.elapsed().as_secs_f64())
    }
}

/// The middle one of several.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// So many that they take long enough to be measured.
fn enough(mut seconds: impl FnMut(usize) -> Result<f64, String>, window: usize) -> Result<usize, String> {
    // The first ones map memory, start threads and so on.
    seconds(window)?;
    let one = seconds(window)? / window as f64;
    Ok(((MEASURED.as_secs_f64() / one) as usize).clamp(window, 4096).next_multiple_of(window))
}

/// Bytes a second of gets and of bare copies, in turn.
fn rates(gets: &mut Gets, copies: &Copies, shape: Shape) -> Result<(f64, f64), String> {
    let count = enough(|count| gets.seconds(shape, count), shape.window)?;
    let bare_count = enough(|count| copies.seconds(&mut gets.memory, shape, count), shape.window)?;
    let (mut got, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        got.push((shape.bytes * count) as f64 / gets.seconds(shape, count)?);
        bare.push((shape.bytes * bare_count) as f64 / copies.seconds(&mut gets.memory, shape, bare_count)?);
    }
    Ok((median(got), median(bare)))
}

/// All of a combination; the sizes' figures are added one by one, so that a later failure does not lose them.
fn read(plan: &Plan, figures: &mut Vec<Value>) -> Result<Value, Wrong> {
    let gpu = gpu(plan.device.as_deref());
    if let (Kind::Device | Kind::Pinned, _) | (_, Kind::Device | Kind::Pinned) = (plan.owner, plan.reader)
        && let Err(why) = &gpu
    {
        return Err(Wrong::Declined(why.clone()));
    }
    let gpu = gpu.ok();
    let mut owner = Owner::start(plan)?;
    let memory = Memory::new(plan.reader, plan.largest(), gpu.as_ref())?;
    let (ucx, mut wire) = super::owner::wire(plan.library.as_deref(), gpu.as_ref())?;
    let endpoint = wire.open(&owner.bytes("address")?).map_err(|e| e.to_string())?.endpoint;
    let remote = owner.says["remote"].as_u64().ok_or_else(|| "the owner said no address".to_string())?;
    let (link, begun) = (link_of(plan, gpu.as_ref())?, Duration::ZERO);
    let mut gets = Gets { wire, endpoint, key: owner.bytes("key")?, remote, memory, link, next: 0, begun };
    let begin = Instant::now();
    let mut sized = || -> Result<String, String> {
        gets.verify(plan.sizes[0])?;
        let first = begin.elapsed();
        let copies = Copies::new(plan, &owner, gpu.as_ref())?;
        for &bytes in &plan.sizes {
            gets.verify(bytes)?;
            let (one, bare_one) = rates(&mut gets, &copies, Shape { bytes, window: 1 })?;
            let window = (WINDOW_BYTES / bytes).max(1);
            let (got, bare) = match window {
                1 => (one, bare_one),
                _ => rates(&mut gets, &copies, Shape { bytes, window })?,
            };
            gets.verify(bytes)?;
            let first_link = gets.first_link(bytes)?;
            let (begun, number) = (gets.begun, gets.next);
            gets.seconds(Shape { bytes, window }, 2 * window)?;
            let begin_micros = (gets.begun - begun).as_secs_f64() * 1e6 / (gets.next - number) as f64;
            figures.push(json!({
                "first_link": first_link, "begin_micros": begin_micros,
                "bytes": bytes, "one": one, "bare_one": bare_one, "one_ratio": one / bare_one,
                "window": window, "got": got, "bare": bare, "ratio": got / bare,
            }));
        }
        Ok(format!("{}; first get after {:.0} ms", copies.said, first.as_secs_f64() * 1e3))
    };
    let said = sized();
    let said = said.map_err(|why| format!("{why}; the owner {}", owner.state()))?;
    Ok(json!({ "bare_copy": said, "ucx": ucx.describe() }))
}

/// Runs the reader's process: one line with what came of it.
pub(super) fn run(plan: &Plan) -> Result<(), String> {
    let mut figures = Vec::new();
    let mut value = match read(plan, &mut figures) {
        Ok(facts) => json!({ "outcome": "ok", "facts": facts }),
        Err(Wrong::Declined(why)) => json!({ "outcome": "declined", "why": why }),
        Err(Wrong::Failed(why)) => json!({ "outcome": "failed", "why": why }),
    };
    value["figures"] = figures.into();
    println!("\n{SAYS}{value}");
    // What has not ended may still write to memory that would be given back on the way out.
    std::process::exit(0);
}
