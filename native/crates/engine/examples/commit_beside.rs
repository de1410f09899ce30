//! How much of a commit hides behind the encode of the last batch: `cargo run --release -p sluice-engine --example
//! commit_beside [FOLDER]`.
//!
//! One batch of 300,000 rows, of about 96 bytes each. Without parts it is encoded and then committed; with parts one
//! thread encodes ranges of its partitions while another writes them. Needs two idle cores. Prints the best of several
//! runs, and a trace of the best run in parts.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::{ChecksumAlgorithm, MapOutputWriter, Page};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row, xorshift};

const ROWS: u64 = 300_000;
const PARTS: u32 = 4;
const RUNS: usize = 15;
const FAST: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const CRC: ChecksumAlgorithm = ChecksumAlgorithm::Crc32c;

fn page(partitions: u32) -> (Vec<u8>, usize) {
    let (mut memory, mut entries) = (Vec::new(), Vec::new());
    for i in 0..ROWS {
        entries.push((xorshift(i) % u64::from(partitions)) << 32 | memory.len() as u64);
        let text = format!("{:016x}{:016x}", xorshift(i ^ 1 << 40), i / 50);
        memory.extend(unsafe_row(&[
            Value::Word(i),
            Value::Word(xorshift(i ^ 1 << 41)),
            Value::Word(i % 100),
            Value::Bytes(text.into_bytes()),
        ]));
    }
    let used = memory.len();
    memory.extend(entries.iter().rev().flat_map(|entry| entry.to_le_bytes()));
    (memory, used)
}

fn output(arena: &Arc<Arena>, partitions: u32) -> MapOutputWriter {
    MapOutputWriter::new(Arc::clone(arena), partitions, FAST).expect("a number of partitions")
}

/// When something began and ended.
type Span = (Duration, Duration);

fn in_parts(output: &MapOutputWriter, pages: &[Page<'_>], partitions: u32, path: &Path) -> (Vec<Span>, Vec<Span>) {
    let start = Instant::now();
    let span = |from: Instant| (from - start, start.elapsed());
    output.begin_parts(path, CRC).expect("disk");
    let (encoded, parts) = channel();
    let mut written = Vec::new();
    let encodes = std::thread::scope(|threads| {
        let encoder = threads.spawn(move || {
            let mut spans = Vec::new();
            for part in 1..=PARTS {
                let (from, until) = (Instant::now(), partitions * part / PARTS);
                output.encode_until(0, 4, pages, until).expect("memory");
                spans.push(span(from));
                encoded.send(until).expect("a receiver");
            }
            spans
        });
        for until in parts {
            let from = Instant::now();
            output.commit_part(until).expect("disk");
            written.push(span(from));
        }
        encoder.join().expect("no panic")
    });
    output.end_parts().expect("all is written");
    (encodes, written)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let path = folder.join(format!("sluice-commit-beside-{}", std::process::id()));
    let arena = Arena::host(1 << 30);
    for partitions in [200, 2_000] {
        let (memory, used) = page(partitions);
        let pages = [Page { memory: &memory, used, entries: ROWS as usize }];
        let (mut best, mut best_in_parts) = ((Duration::MAX, Duration::MAX), (Duration::MAX, Vec::new(), Vec::new()));
        for _ in 0..RUNS {
            // As in a job, whose files are new: freeing an old one's pages would be counted as writing.
            let _ = std::fs::remove_file(&path);
            let at_once = output(&arena, partitions);
            let start = Instant::now();
            at_once.encode(0, 4, &pages).expect("memory");
            let encode = start.elapsed();
            at_once.commit(&path, CRC).expect("disk");
            best = best.min((start.elapsed(), encode));
            drop(at_once);
            let _ = std::fs::remove_file(&path);
            let parts = output(&arena, partitions);
            let start = Instant::now();
            let (encodes, writes) = in_parts(&parts, &pages, partitions, &path);
            let time = start.elapsed();
            if time < best_in_parts.0 {
                best_in_parts = (time, encodes, writes);
            }
        }
        let bytes = std::fs::metadata(&path).expect("a file").len();
        println!("{partitions} partitions, {:.1} MB of rows, {:.1} MB written", used as f64 / 1e6, bytes as f64 / 1e6);
        println!("  at once:  {:6.1} ms, of which {:.1} ms encode", millis(best.0), millis(best.1));
        println!("  in parts: {:6.1} ms", millis(best_in_parts.0));
        for (what, spans) in [("encode", &best_in_parts.1), ("write ", &best_in_parts.2)] {
            let spans: Vec<String> =
                spans.iter().map(|(from, to)| format!("{:6.1} to {:6.1}", millis(*from), millis(*to))).collect();
            println!("    {what} {} ms", spans.join(" | "));
        }
    }
    let _ = std::fs::remove_file(&path);
}
