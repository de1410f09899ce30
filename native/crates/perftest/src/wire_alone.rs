//! The wire without the protocol above it: reads of one size from a file that the other end has mapped, so many at a
//! time, each into memory that is leased for it. What the transport reaches of that is what its protocol leaves.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_mem::{Arena, Lease, MemoryKind};
use sluice_transport::{CmaWire, Endpoint, Event, Get, Wire};
use sluice_ucx::{Ucx, UcxWire};

use crate::ends::{receive_arena, receive_bytes, send_bytes};
use crate::plan::TIMEOUT;

/// How long the owner's thread sleeps at most before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A mapping of a whole file, which nobody writes to.
struct Mapped {
    start: usize,
    bytes: usize,
}

impl Mapped {
    fn of(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len() as usize;
        // Private and writable: devices register no other mapping of a file.
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        let failed = start == libc::MAP_FAILED;
        if failed { Err(io::Error::last_os_error()) } else { Ok(Self { start: start as usize, bytes }) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference to its bytes was ever made.
        unsafe { libc::munmap(self.start as *mut _, self.bytes) };
    }
}

/// What the reader must know of a [`Served`] file.
pub(crate) struct Remote {
    wire: Vec<u8>,
    key: Vec<u8>,
    start: u64,
}

impl Remote {
    pub(crate) fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        send_bytes(stream, &self.wire)?;
        send_bytes(stream, &self.key)?;
        send_bytes(stream, &self.start.to_le_bytes())
    }

    pub(crate) fn receive(stream: &mut TcpStream) -> io::Result<Self> {
        let (wire, key, start) = (receive_bytes(stream)?, receive_bytes(stream)?, receive_bytes(stream)?);
        let start = <[u8; 8]>::try_from(start).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Self { wire, key, start: u64::from_le_bytes(start) })
    }
}

/// The owner's end: a thread with a wire that lets others read a file, until this value is dropped.
pub(crate) struct Served {
    pub(crate) remote: Remote,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start(ucx: Arc<Ucx>, path: &Path) -> Result<Self, String> {
        let mapped = Mapped::of(path).map_err(|e| format!("mapping {}: {e}", path.display()))?;
        let ended = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let ended_there = Arc::clone(&ended);
        let serve = move || {
            // Declared before the wire, so that it is unmapped after the wire has ended.
            let mapped = mapped;
            let made = make(ucx).and_then(|mut wire| {
                // SAFETY: the mapping stays until this thread ends, after the wire.
                let registered = unsafe { wire.register(mapped.start, mapped.bytes, MemoryKind::Host) };
                let (_, key) = registered.map_err(|e| e.to_string())?;
                let remote = Remote { wire: wire.address().to_vec(), key, start: mapped.start as u64 };
                Ok((wire, remote))
            });
            let mut wire = match made {
                Ok((wire, remote)) => {
                    let _ = tell.send(Ok(remote));
                    wire
                }
                Err(why) => return drop(tell.send(Err(why))),
            };
            let mut events = Vec::new();
            while !ended_there.load(Ordering::Relaxed) {
                wire.progress(&mut events);
                events.clear();
                wire.wait(LOOK);
            }
        };
        let thread = std::thread::Builder::new().name("wire-alone".into()).spawn(serve).map_err(|e| e.to_string())?;
        let remote = told.recv_timeout(TIMEOUT).map_err(|e| format!("a wire for the other end: {e}"))??;
        Ok(Self { remote, ended, thread: Some(thread) })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn make(ucx: Arc<Ucx>) -> Result<CmaWire<UcxWire>, String> {
    let (_, regions) = receive_arena();
    sluice_ucx::wire(ucx, regions, Arc::default(), TIMEOUT).map_err(|e| e.to_string())
}

/// The reader's end.
pub(crate) struct WireReading<'a> {
    // Before the leases, which its reads write to.
    wire: CmaWire<UcxWire>,
    endpoint: Endpoint,
    remote: &'a Remote,
    arena: Arc<Arena>,
    size: usize,
    partitions: usize,
    gets: usize,
    token: u64,
    under_way: HashMap<u64, Lease>,
    events: Vec<Event>,
}

impl<'a> WireReading<'a> {
    /// Of `partitions` blocks of `size` bytes, that lie one after the other from the file's begin.
    pub(crate) fn new(
        ucx: Arc<Ucx>,
        remote: &'a Remote,
        (size, partitions): (usize, usize),
        gets: usize,
    ) -> Result<Self, String> {
        let (arena, regions) = receive_arena();
        let mut wire = sluice_ucx::wire(ucx, regions, Arc::default(), TIMEOUT).map_err(|e| e.to_string())?;
        let endpoint = wire.open(&remote.wire).map_err(|e| e.to_string())?.endpoint;
        let (token, under_way, events) = Default::default();
        Ok(Self { wire, endpoint, remote, arena, size, partitions, gets, token, under_way, events })
    }

    /// MB (10^6 bytes) per second, after a warm-up.
    pub(crate) fn mb_per_s(&mut self, time: Duration) -> Result<f64, String> {
        self.read_for(time / 4)?;
        self.read_for(time)
    }

    fn read_for(&mut self, time: Duration) -> Result<f64, String> {
        let (start, mut ended) = (Instant::now(), 0);
        while start.elapsed() < time {
            while self.under_way.len() < self.gets {
                self.begin()?;
            }
            ended += self.take()?;
        }
        let rate = ended as f64 * self.size as f64 / start.elapsed().as_secs_f64() / 1e6;
        while !self.under_way.is_empty() {
            self.take()?;
        }
        Ok(rate)
    }

    fn begin(&mut self) -> Result<(), String> {
        let lease = self.arena.lease(self.size).map_err(|e| e.to_string())?;
        let block = self.token % self.partitions as u64;
        self.token += 1;
        let remote = self.remote.start + block * self.size as u64;
        let (token, local) = (self.token, lease.as_ptr());
        self.under_way.insert(token, lease);
        let get = Get { token, key: &self.remote.key, remote, local, bytes: self.size, kind: MemoryKind::Host };
        // SAFETY: `local` is a lease of `size` bytes, which is kept until the read's end is reported (`take`), or for
        // ever (`drop`).
        unsafe { self.wire.get(self.endpoint, get) };
        Ok(())
    }

    /// Waits for at least one read's end; how many have ended.
    fn take(&mut self) -> Result<usize, String> {
        let (start, mut ended) = (Instant::now(), 0);
        while ended == 0 {
            self.wire.progress(&mut self.events);
            for event in self.events.drain(..) {
                match event {
                    Event::Got { token, result } => {
                        self.under_way.remove(&token);
                        result.map_err(|e| format!("a read of the wire alone: {e}"))?;
                        ended += 1;
                    }
                    Event::Failed { error, .. } | Event::Stuck { error, .. } => return Err(error.to_string()),
                    Event::Message(_) => {}
                }
            }
            if start.elapsed() > TIMEOUT {
                return Err(format!("a read of the wire alone has not ended within {} s", TIMEOUT.as_secs()));
            }
        }
        Ok(ended)
    }
}

impl Drop for WireReading<'_> {
    fn drop(&mut self) {
        // Reads under way may still write to their memory.
        self.under_way.drain().for_each(|(_, lease)| std::mem::forget(lease));
    }
}
