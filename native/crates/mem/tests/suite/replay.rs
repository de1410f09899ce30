//! A recording of this product's own calls (`SLUICE_ARENA_TRACE`), made again in its order: what the arena takes is
//! compared with what is live.

use crate::subject::{Make, Subject};
use crate::support::options;
use sluice_mem::{ArenaOptions, SEGMENT_BYTES};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Above this, a lease has no superblock.
const MEDIUM: usize = 120 << 10;
/// A superblock of most classes; of some it is two or three times as much.
const SUPERBLOCK: usize = 256 << 10;

/// Makes the calls of a trace file that is compressed with Zstandard.
pub fn takes_little_more_than_is_live(make: Make<'_>, trace: &Path) {
    let file = std::fs::read(trace).unwrap_or_else(|error| panic!("{}: {error}", trace.display()));
    let text = String::from_utf8(zstd::decode_all(&file[..]).unwrap()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("sluice-arena-trace 1"), "a trace of this form");
    let arena = make(&ArenaOptions { shards: 1, ..options(usize::MAX) });
    let mut replay = Replay::new(&*arena);
    for line in lines {
        replay.call(line);
    }
    let calls = replay.calls;
    let mapped = replay.check_peak();
    let worst = replay.finish();
    println!("{calls} calls: at worst {worst:.3} of the live bytes were taken, and {mapped:.3} of their peak mapped");
    assert!(calls > 10_000, "otherwise this test shows little");
    arena.trim(0);
    arena.check_quiet().unwrap();
    assert_eq!((arena.leased_bytes(), arena.reserved_bytes()), (0, 0));
}

struct Replay<'a> {
    arena: &'a dyn Subject,
    /// Live leases by their names in the trace: address and bytes.
    live: HashMap<usize, (usize, usize)>,
    /// Where live leases end, by address.
    ends: BTreeMap<usize, usize>,
    live_bytes: usize,
    peak: usize,
    peak_reserved: usize,
    classes: BTreeSet<usize>,
    calls: usize,
    worst: f64,
}

impl<'a> Replay<'a> {
    fn new(arena: &'a dyn Subject) -> Self {
        let (live, ends, classes) = Default::default();
        Self { arena, live, ends, live_bytes: 0, peak: 0, peak_reserved: 0, classes, calls: 0, worst: 0.0 }
    }

    fn call(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[2..] {
            ["+", name, bytes] => self.lease(name.parse().unwrap(), bytes.parse().unwrap()),
            ["-", name] => self.release(name.parse().unwrap()),
            _ => panic!("{line}"),
        }
        self.calls += 1;
        if self.calls.is_multiple_of(100) {
            self.look();
        }
    }

    fn lease(&mut self, name: usize, bytes: usize) {
        let address = self.arena.lease_raw(bytes).unwrap();
        if let Some((_, &end)) = self.ends.range(..address + bytes.max(1)).next_back() {
            assert!(end <= address, "{address:#x} lies in another lease");
        }
        self.ends.insert(address, address + bytes.max(1));
        self.live.insert(name, (address, bytes));
        self.live_bytes += bytes;
        self.peak = self.peak.max(self.live_bytes);
        if bytes <= MEDIUM {
            // Eight classes to a doubling, and one per 64 bytes below 512.
            let step = (bytes.next_power_of_two() / 16).max(64);
            self.classes.insert(bytes.next_multiple_of(step));
        }
    }

    fn release(&mut self, name: usize) {
        let (address, bytes) = self.live.remove(&name).unwrap();
        self.arena.release_raw(address).unwrap();
        self.ends.remove(&address);
        self.live_bytes -= bytes;
    }

    fn look(&mut self) {
        let statistics = self.arena.statistics();
        let taken = statistics.reserved_bytes - statistics.free_bytes;
        self.peak_reserved = self.peak_reserved.max(statistics.reserved_bytes);
        let superblocks = self.classes.len() * SUPERBLOCK;
        assert!(taken as f64 <= 1.1 * self.live_bytes as f64 + superblocks as f64, "{taken} bytes: {statistics:?}");
        if self.live_bytes > self.peak / 10 {
            self.worst = self.worst.max(taken as f64 / self.live_bytes as f64);
        }
    }

    /// Free memory that is too scattered to be leased makes the arena map more. The last region is seldom full.
    fn check_peak(&self) -> f64 {
        let (mapped, superblocks) = (self.peak_reserved - SEGMENT_BYTES, self.classes.len() * SUPERBLOCK);
        let most = 1.1 * self.peak as f64 + superblocks as f64;
        assert!(mapped as f64 <= most, "{mapped} bytes and a region for a peak of {} live ones", self.peak);
        mapped as f64 / self.peak as f64
    }

    fn finish(mut self) -> f64 {
        let left: Vec<usize> = self.live.keys().copied().collect();
        left.into_iter().for_each(|name| self.release(name));
        self.worst
    }
}
