//! The process whose memory is read: it registers, says where, and lets UCX work until it is told to end.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_cuda::Context;
use sluice_gpu_wire::{CopyOptions, CudaCopies};
use sluice_transport::{BounceWire, CmaWire, Wire};
use sluice_ucx::{Ucx, UcxOptions, UcxWire};

use super::memory::{Kind, Memory, gpu};
use super::{SAYS, hex};

/// Longer than a combination takes.
const LONGEST: Duration = Duration::from_secs(60);

/// As executors have it, with what reads between the memory of hosts and of GPUs before it.
pub(super) type Reading = BounceWire<CmaWire<UcxWire>, CudaCopies>;

/// A wire for device memory, if there is a GPU. UCX looks at the context that is
/// current when it makes its own.
pub(super) fn wire(library: Option<&Path>, gpu: Option<&Context>) -> Result<(Arc<Ucx>, Reading), String> {
    let ucx = Ucx::open(library, None).map_err(|e| e.to_string())?;
    let options = UcxOptions { device_memory: gpu.is_some(), ..UcxOptions::default() };
    let make = || UcxWire::with(Arc::clone(&ucx), options);
    let wire = match gpu {
        Some(gpu) => gpu.with_current(make).map_err(|e| e.to_string())?,
        None => make(),
    };
    let wire = CmaWire::new(wire.map_err(|e| e.to_string())?, true, Arc::default()).with_helper(LONGEST);
    let copies = gpu.map(|gpu| CudaCopies::new(gpu, CopyOptions::default())).transpose().map_err(|e| e.to_string())?;
    Ok((ucx, BounceWire::new(wire.map_err(|e| e.to_string())?, copies, Arc::default())))
}

/// Runs the owner's process: one line with what a reader needs, then UCX's work until the standard input ends.
pub(super) fn run(kind: Kind, bytes: usize, library: Option<&Path>, device: Option<&str>) -> Result<(), String> {
    let say = |value: Value| println!("\n{SAYS}{value}");
    let gpu = gpu(device);
    let mut memory = Memory::new(kind, bytes, gpu.as_ref().ok())?;
    memory.write_pattern()?;
    let (_, mut wire) = wire(library, gpu.as_ref().ok())?;
    let (address, kind) = (memory.address(), memory.kind());
    // SAFETY: the memory stays until the end of this function, and the wire goes before it.
    let (region, key) = match unsafe { wire.register(address, bytes, kind) } {
        Ok(registered) => registered,
        Err(why) => {
            say(json!({ "declined": why.to_string() }));
            return Ok(());
        }
    };
    let handle = memory.device().map(|(memory, _)| memory.ipc_handle());
    say(json!({
        "address": hex(wire.address()),
        "key": hex(&key),
        "remote": address as u64,
        "ipc": handle.as_ref().and_then(|handle| handle.as_ref().ok()).map(|handle| hex(&handle.0)),
        "ipc_refused": handle.and_then(Result::err).map(|e| e.to_string()),
    }));
    let (ended, waker) = (Arc::new(AtomicBool::new(false)), wire.waker());
    let told = Arc::clone(&ended);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Release);
        waker.wake();
    });
    let (end, mut events) = (Instant::now() + LONGEST, Vec::new());
    while !ended.load(Ordering::Acquire) && Instant::now() < end {
        wire.progress(&mut events);
        // An owner waits for what comes, as executors do.
        wire.wait(Duration::from_millis(10));
        events.clear();
    }
    wire.unregister(region);
    drop(wire);
    drop(memory);
    Ok(())
}
