//! A recorded trace (`SLUICE_ARENA_TRACE`), asked of any allocator.

use crate::candidates::Candidate;
use crate::churn::{Cost, Worst, cpu_ns};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::Instant;

/// How many calls a thread may be ahead of the trace's order.
const AHEAD: usize = 1_000;
/// Calls between two looks at the footprint.
const LOOK_EVERY: usize = 50;

/// A call; leases are numbered in the order of the trace.
#[derive(Debug, Clone, Copy)]
struct Call {
    thread: usize,
    lease: usize,
    /// Whether this is the lease's end.
    ends: bool,
}

/// A trace, ready to be replayed. What is still on lease at its end is released then.
#[derive(Debug)]
pub struct Trace {
    calls: Vec<Call>,
    /// Bytes of each lease.
    bytes: Vec<usize>,
    pub threads: usize,
}

impl Trace {
    /// Reads a trace file, compressed with Zstandard if its name ends so.
    pub fn read(path: &Path) -> Self {
        let file = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let compressed = path.extension().is_some_and(|extension| extension == "zst");
        let text = if compressed { zstd::decode_all(&file[..]).unwrap() } else { file };
        Self::parse(std::str::from_utf8(&text).unwrap())
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("sluice-arena-trace 1"), "a trace of this form");
        let mut trace = Self { calls: Vec::new(), bytes: Vec::new(), threads: 0 };
        let mut open = HashMap::new();
        for line in lines {
            let mut words = line.split(' ');
            let (_, thread, sign) = (words.next(), words.next(), words.next());
            let numbers: Vec<usize> = words.map_while(|word| word.parse().ok()).collect();
            let thread: usize = thread.and_then(|word| word.parse().ok()).unwrap_or(0);
            match (sign, &numbers[..]) {
                (Some("+"), &[name, bytes]) => {
                    open.insert(name, trace.bytes.len());
                    trace.call(thread, trace.bytes.len(), false);
                    trace.bytes.push(bytes.max(1));
                }
                (Some("-"), &[name]) => {
                    open.remove(&name).into_iter().for_each(|lease| trace.call(thread, lease, true))
                }
                // The last line of a process that was ended may be cut off.
                _ => break,
            }
        }
        let left: Vec<usize> = open.into_values().collect();
        left.into_iter().for_each(|lease| trace.call(0, lease, true));
        trace
    }

    fn call(&mut self, thread: usize, lease: usize, ends: bool) {
        self.threads = self.threads.max(thread + 1);
        self.calls.push(Call { thread, lease, ends });
    }

    pub fn leases(&self) -> usize {
        self.bytes.len()
    }

    /// The most bytes live at once, in the trace's order.
    pub fn peak_bytes(&self) -> usize {
        let (mut live, mut peak) = (0, 0);
        for call in &self.calls {
            let bytes = self.bytes[call.lease];
            live = if call.ends { live - bytes } else { live + bytes };
            peak = peak.max(live);
        }
        peak
    }

    fn run(&self, candidate: &dyn Candidate, call: Call, addresses: &[AtomicUsize]) {
        let (address, bytes) = (&addresses[call.lease], self.bytes[call.lease]);
        if call.ends {
            let mut start = address.load(Acquire);
            while start == 0 {
                std::thread::yield_now();
                start = address.load(Acquire);
            }
            candidate.free(call.thread, start, bytes);
            return;
        }
        let start = candidate.allocate(call.thread, bytes);
        assert_ne!(start, 0, "there is room");
        // SAFETY: at least one byte, just allocated and not yet known to other threads.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(start).write_volatile(1) };
        address.store(start, Release);
    }

    fn addresses(&self) -> Vec<AtomicUsize> {
        self.bytes.iter().map(|_| AtomicUsize::new(0)).collect()
    }

    /// Cost of a lease and its release, all calls by one thread in the trace's order. The lists of the pool's sub-pools
    /// are those of the trace's threads all the same.
    pub fn in_order(&self, candidate: &dyn Candidate) -> Cost {
        let addresses = self.addresses();
        let (begun, cpu) = (Instant::now(), cpu_ns());
        self.calls.iter().for_each(|&call| self.run(candidate, call, &addresses));
        self.per_lease(begun, cpu_ns() - cpu)
    }

    fn per_lease(&self, begun: Instant, cpu: u64) -> Cost {
        let leases = self.leases() as f64;
        Cost { wall: begun.elapsed().as_secs_f64() * 1e9 / leases, cpu: cpu as f64 / leases }
    }

    /// Cost of a lease and its release, every thread of the trace a thread, none waiting but for what it releases and
    /// for those that are far behind.
    pub fn at_once(&self, candidate: &dyn Candidate) -> Cost {
        let (addresses, start, done) = (self.addresses(), Barrier::new(self.threads + 1), AtomicUsize::new(0));
        let cpu = AtomicU64::new(0);
        let begun = std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let (addresses, start, done, cpu) = (&addresses, &start, &done, &cpu);
                scope.spawn(move || {
                    let own = self.calls.iter().enumerate().filter(|(_, call)| call.thread == thread);
                    let own: Vec<(usize, Call)> = own.map(|(nth, call)| (nth, *call)).collect();
                    start.wait();
                    let before = cpu_ns();
                    for (nth, call) in own {
                        while done.load(Relaxed) + AHEAD < nth {
                            std::thread::yield_now();
                        }
                        self.run(candidate, call, addresses);
                        done.fetch_add(1, Relaxed);
                    }
                    cpu.fetch_add(cpu_ns() - before, Relaxed);
                });
            }
            // Before the wait: this thread may be the last to wake.
            let begun = Instant::now();
            start.wait();
            begun
        });
        self.per_lease(begun, cpu.into_inner())
    }

    /// The worst footprint over live bytes from the moment on when a tenth of the peak is live, in the trace's order.
    pub fn footprint(&self, candidate: &dyn Candidate) -> Option<Worst> {
        let (addresses, floor) = (self.addresses(), self.peak_bytes() / 10);
        let (mut live, mut worst) = (0, Worst::default());
        for (nth, &call) in self.calls.iter().enumerate() {
            self.run(candidate, call, &addresses);
            let bytes = self.bytes[call.lease];
            live = if call.ends { live - bytes } else { live + bytes };
            if nth % LOOK_EVERY == 0 && live > floor {
                worst.note(candidate.footprint()?, live as f64);
            }
        }
        Some(worst)
    }
}
