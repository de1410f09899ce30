//! Recording what an arena is asked for, so that the benchmark `allocators` can ask every allocator for the same.
//!
//! Off unless [`crate::ArenaOptions::trace`] names a file. A trace is text, a line per call in the order of the calls:
//!
//! ```text
//! sluice-arena-trace 1
//! 1520 3 + 17 505344      1,520 us after the start, thread 3 leased 505,344 bytes, from now on called 17
//! 1533 0 - 17             thread 0 released them
//! ```
//!
//! Thread numbers are dense: a thread that starts takes the lowest number that no living one has. Refused leases and
//! invalid releases are not recorded. All threads take one lock here; that makes a traced run slower and gives the
//! lines their order.

use crate::sync::{Mutex, lock};
use crate::thread_slot;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The environment variable that names the file; `%p` in it becomes the process's id.
const VARIABLE: &str = "SLUICE_ARENA_TRACE";
const HEAD: &str = "sluice-arena-trace 1\n";
/// A process may end without dropping its arena: at most what was called in this time before the last call is then
/// lost.
const FLUSH_AFTER: Duration = Duration::from_millis(100);

/// The file that the environment variable `SLUICE_ARENA_TRACE` names, with `%p` replaced by the process's id; `None`
/// when it is not set, or empty.
pub fn trace_file_of_environment() -> Option<PathBuf> {
    let path = std::env::var(VARIABLE).ok().filter(|path| !path.is_empty())?;
    Some(path.replace("%p", &std::process::id().to_string()).into())
}

#[derive(Debug)]
struct TraceFile {
    file: BufWriter<File>,
    /// Names of live leases by address.
    names: HashMap<usize, u64>,
    next_name: u64,
    flushed: Instant,
    broken: bool,
}

/// Writes a trace. Every method may be called from any thread.
#[derive(Debug)]
pub(crate) struct TraceRecorder {
    started: Instant,
    trace: Mutex<TraceFile>,
}

impl TraceRecorder {
    /// Starts a trace in a new file, in the place of one that is there.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(HEAD.as_bytes())?;
        let started = Instant::now();
        let trace = TraceFile { file, names: HashMap::new(), next_name: 0, flushed: started, broken: false };
        Ok(Self { started, trace: Mutex::new(trace) })
    }

    /// Records a new lease, before any other thread can know of it.
    #[cold]
    pub(crate) fn leased(&self, address: usize, bytes: usize) {
        let mut trace = lock(&self.trace);
        let name = trace.next_name;
        trace.next_name += 1;
        trace.names.insert(address, name);
        trace.line(self.started, format_args!("+ {name} {bytes}"));
    }

    /// Notes the end of a lease, before its address can be leased again.
    #[cold]
    pub(crate) fn releasing(&self, address: usize) {
        let mut trace = lock(&self.trace);
        if let Some(name) = trace.names.remove(&address) {
            trace.line(self.started, format_args!("- {name}"));
        }
    }
}

impl TraceFile {
    /// Writes a line. The first failure ends the trace, with a message: the run that is traced goes on.
    fn line(&mut self, started: Instant, call: std::fmt::Arguments<'_>) {
        if self.broken {
            return;
        }
        let now = Instant::now();
        let at = (now - started).as_micros();
        let mut written = writeln!(self.file, "{at} {} {call}", thread_slot::current());
        if now - self.flushed > FLUSH_AFTER {
            self.flushed = now;
            written = written.and_then(|()| self.file.flush());
        }
        if let Err(error) = written {
            self.broken = true;
            eprintln!("sluice: the arena's trace ends early: {error}");
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_name_leases_in_the_order_of_the_calls() {
        let path = std::env::temp_dir().join(format!("sluice-trace-{}", std::process::id()));
        let recorder = TraceRecorder::create(&path).expect("a file");
        recorder.leased(64, 100);
        recorder.leased(128, 5_000);
        recorder.releasing(64);
        recorder.releasing(64);
        recorder.leased(64, 7);
        drop(recorder);
        let text = std::fs::read_to_string(&path).expect("the trace");
        std::fs::remove_file(&path).expect("the trace");
        let calls: Vec<&str> = text.lines().skip(1).filter_map(|line| line.splitn(3, ' ').nth(2)).collect();
        assert_eq!(calls, ["+ 0 100", "+ 1 5000", "- 0", "+ 2 7"], "{text}");
        assert!(text.starts_with(HEAD));
    }
}
