//! What a row costs: copy into pages + sort + encode (with both CRCs), and verify + decode.
//!
//! `cargo bench -p sluice-engine`; the figures are CPU time of the one thread (so that a busy machine disturbs less),
//! ns a row = time / rows. Rows come from memory in order, partitions are random, pages and batches are sized as
//! the JVM's writer does. With `SLUICE_ARENA_TRACE=FILE` the arena records what it is asked for (`sluice-mem`'s bench
//! replays it).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sluice_codec::{Codec, CodecOptions, Decoder, FrameHeader, HEADER_BYTES, Level};
use sluice_engine::{ChecksumAlgorithm, MapOutputWriter, Page};
use sluice_mem::{Arena, ArenaOptions, HostProvider, Lease, trace_file_of_environment};
use sluice_testkit::{Table, bench_table, incompressible, lineitem, xorshift};

const PAGE_BYTES: usize = 1 << 20;
const OPTIONS: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };

/// Bytes of rows encoded together, by the writer's rule.
fn batch_bytes(partitions: u32, table: &Table) -> usize {
    let row = table.bytes.len() / table.rows();
    (partitions as usize * 1024 * row).clamp(4 << 20, 64 << 20)
}

struct FilledPage {
    lease: Lease,
    used: usize,
    entries: usize,
}

/// The task's side: rows into pages; every full batch is encoded, its pages reused.
fn write(table: &Table, partitions: u32, targets: &[u32], arena: &Arc<Arena>) -> MapOutputWriter {
    let output = MapOutputWriter::new(Arc::clone(arena), partitions, OPTIONS).expect("partitions");
    write_to(output, table, partitions, targets, arena)
}

fn write_to(
    output: MapOutputWriter,
    table: &Table,
    partitions: u32,
    targets: &[u32],
    arena: &Arc<Arena>,
) -> MapOutputWriter {
    let most = batch_bytes(partitions, table);
    let mut pages: Vec<FilledPage> = Vec::new();
    let (mut sequence, mut open, mut rows_bytes) = (0, 0, 0);
    for (i, target) in targets.iter().enumerate() {
        let row = table.row(i);
        if open == 0 || pages[open - 1].used + row.len() + (pages[open - 1].entries + 1) * 8 > PAGE_BYTES {
            if rows_bytes >= most {
                encode(&output, sequence, table.fields, &pages[..open]);
                (sequence, open, rows_bytes) = (sequence + 1, 0, 0);
            }
            if open == pages.len() {
                pages.push(FilledPage { lease: arena.lease(PAGE_BYTES).expect("memory"), used: 0, entries: 0 });
            }
            (pages[open].used, pages[open].entries) = (0, 0);
            open += 1;
        }
        let page = &mut pages[open - 1];
        let memory = page.lease.as_mut_slice();
        memory[page.used..page.used + row.len()].copy_from_slice(row);
        let at = PAGE_BYTES - (page.entries + 1) * 8;
        let entry = u64::from(*target) << 32 | page.used as u64;
        memory[at..at + 8].copy_from_slice(&entry.to_le_bytes());
        page.used += row.len();
        page.entries += 1;
        rows_bytes += row.len();
    }
    encode(&output, sequence, table.fields, &pages[..open]);
    output
}

fn encode(output: &MapOutputWriter, sequence: i64, fields: u32, pages: &[FilledPage]) {
    let pages: Vec<Page<'_>> =
        pages.iter().map(|p| Page { memory: p.lease.as_slice(), used: p.used, entries: p.entries }).collect();
    output.encode(sequence, fields, &pages).expect("memory");
}

fn decode(file: &[u8], decoder: &mut Decoder, target: &mut Vec<u8>, lengths: &mut Vec<u32>) -> usize {
    let (mut at, mut rows) = (0, 0);
    while at < file.len() {
        let header = FrameHeader::parse(&file[at..]).expect("frame");
        let end = at + HEADER_BYTES + header.encoded_bytes as usize;
        target.resize(target.len().max(header.decoded_bytes as usize), 0);
        lengths.resize(lengths.len().max(header.records as usize), 0);
        rows += decoder.decode(&file[at..end], target, lengths).expect("frame");
        at = end;
    }
    rows
}

fn thread_cpu() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes the timespec, which lives on this stack.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    assert_eq!(rc, 0);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// CPU time of `iterations` calls.
fn cpu_time<T>(iterations: u64, mut work: impl FnMut() -> T) -> Duration {
    let start = thread_cpu();
    for _ in 0..iterations {
        black_box(work());
    }
    thread_cpu() - start
}

fn rows(c: &mut Criterion) {
    let options = ArenaOptions { trace: trace_file_of_environment(), ..ArenaOptions::with_limit(4 << 30) };
    let arena = Arena::with_provider(Arc::new(HostProvider::default()), &options);
    for table in [bench_table(1_250_000), lineitem(600_000), incompressible(1_000_000)] {
        let mut group = c.benchmark_group(table.name);
        group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
        group.throughput(Throughput::Elements(table.rows() as u64));
        for partitions in [16, 200, 2000, 10_000] {
            let targets: Vec<u32> =
                (0..table.rows() as u64).map(|i| (xorshift(i) % u64::from(partitions)) as u32).collect();
            group.bench_function(BenchmarkId::new("encode", partitions), |b| {
                b.iter_custom(|n| cpu_time(n, || write(&table, partitions, &targets, &arena).memory_bytes()));
            });
            group.bench_function(BenchmarkId::new("encode with row checksums", partitions), |b| {
                b.iter_custom(|n| {
                    cpu_time(n, || {
                        let output = MapOutputWriter::new(Arc::clone(&arena), partitions, OPTIONS).expect("partitions");
                        write_to(output.with_row_checksums(), &table, partitions, &targets, &arena).memory_bytes()
                    })
                });
            });
            let path = std::env::temp_dir().join(format!("sluice-bench-{}", std::process::id()));
            let done =
                write(&table, partitions, &targets, &arena).commit(&path, ChecksumAlgorithm::Adler32).expect("disk");
            let file = std::fs::read(&path).expect("data file");
            std::fs::remove_file(&path).expect("data file");
            println!("{}/{partitions}: {:.2} bytes a row", table.name, done.total as f64 / table.rows() as f64);
            let (mut decoder, mut target, mut lengths) = (Decoder::new(), Vec::new(), Vec::new());
            group.bench_function(BenchmarkId::new("decode", partitions), |b| {
                b.iter_custom(|n| {
                    cpu_time(n, || {
                        let rows = decode(black_box(&file), &mut decoder, &mut target, &mut lengths);
                        assert_eq!(rows, table.rows());
                    })
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, rows);
criterion_main!(benches);
