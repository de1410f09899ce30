//! The memory of an encode stays within the bound that was computed beforehand; after the encode little is kept.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sluice_codec::{Codec, CodecOptions, Level, RETAINED_LIMIT};
use sluice_engine::{BatchShape, ErrorKind, MapOutputWriter, Page, heap_bytes};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row, xorshift};

/// Counts this process's heap. (Zstandard's C contexts are not in it.)
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is the system allocator's, with the arguments unchanged; counting touches no memory of theirs.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's contract is the same, and `alloc` took the memory from there.
        unsafe { System.dealloc(start, layout) }
    }
}

struct Batch {
    name: &'static str,
    partitions: u32,
    memory: Vec<u8>,
    shape: BatchShape,
}

/// A page of rows in random partitions.
fn batch(name: &'static str, partitions: u32, rows: usize, row: impl Fn(u64) -> Vec<u8>) -> Batch {
    let (mut memory, mut entries, mut longest_row) = (Vec::new(), Vec::new(), 0);
    for i in 0..rows as u64 {
        let row = row(i);
        entries.push(((xorshift(i) % u64::from(partitions)) << 32) | memory.len() as u64);
        longest_row = longest_row.max(row.len());
        memory.extend(row);
    }
    let shape = BatchShape { row_bytes: memory.len(), rows, longest_row, fields: 2 };
    memory.extend(entries.iter().rev().flat_map(|entry| entry.to_le_bytes()));
    Batch { name, partitions, memory, shape }
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(8) as u64).flat_map(|i| xorshift(seed ^ i << 20).to_le_bytes()).take(bytes).collect()
}

fn two_words(i: u64) -> Vec<u8> {
    unsafe_row(&[Value::Word(xorshift(i)), Value::Word(i)])
}

fn word_and_noise(i: u64, bytes: usize) -> Vec<u8> {
    unsafe_row(&[Value::Word(i), Value::Bytes(noise(i, bytes))])
}

fn batches() -> Vec<Batch> {
    vec![
        batch("more rows than a window of the sort", 200, 1_200_000, two_words),
        batch("a row a partition", 100_000, 100_000, two_words),
        batch("random bytes", 16, 40_000, |i| word_and_noise(i, 300)),
        batch("one giant row", 16, 5_000, |i| word_and_noise(i, if i == 700 { 24 << 20 } else { 30 })),
        batch("few rows", 5, 3, |i| word_and_noise(i, 10)),
    ]
}

/// Encodes in an arena that has exactly the computed number of bytes.
fn check(batch: &Batch, options: CodecOptions) {
    let arena = Arena::host(usize::MAX >> 1);
    let output =
        MapOutputWriter::new(arena.clone(), batch.partitions, options).expect("partitions").with_row_checksums();
    let needs = output.encode_needs(&batch.shape);
    arena.set_limit(needs.arena_bytes);
    let pages = [Page { memory: &batch.memory, used: batch.shape.row_bytes, entries: batch.shape.rows }];
    let (counted, live) = (heap_bytes(), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    output.encode(0, batch.shape.fields, &pages).expect("it fits what is said to be enough");
    let peak = PEAK.load(Relaxed) - live;
    let what = format!("{} with {options:?}: {needs:?}, heap at its peak {peak}", batch.name);
    println!("{what}");
    // What the encoder kept from the batch before is not in the peak, and may be used.
    assert!(peak <= needs.heap_bytes, "{what}");
    let kept = heap_bytes() - counted.min(heap_bytes());
    assert!(kept <= RETAINED_LIMIT + batch.shape.rows.min(batch.partitions as usize) * 16, "{what}, kept {kept}");
    assert_eq!(arena.leased_bytes(), output.memory_bytes(), "the sort's arrays are given back");
    arena.set_limit(batch.shape.rows.min(1 << 16) * 8);
    assert_eq!(output.encode(1, batch.shape.fields, &pages).expect_err("no room").kind, ErrorKind::NoMemory);
}

/// A run that fits beside a small sort only.
fn check_with_small_sort(batch: &Batch, options: CodecOptions) {
    let arena = Arena::host(usize::MAX >> 1);
    let output = MapOutputWriter::new(arena.clone(), batch.partitions, options).expect("partitions");
    arena.set_limit(output.encode_needs(&batch.shape).arena_bytes - (16 << 20));
    let pages = [Page { memory: &batch.memory, used: batch.shape.row_bytes, entries: batch.shape.rows }];
    output.encode(0, batch.shape.fields, &pages).expect("room for the run, and for a sort in windows");
}

#[test]
fn an_encode_stays_within_what_is_said_and_keeps_little() {
    for batch in batches() {
        for (codec, level) in [(Codec::None, Level::Plain), (Codec::Lz4, Level::Fast), (Codec::Zstd, Level::Small)] {
            check(&batch, CodecOptions { codec, level });
        }
    }
    check_with_small_sort(&batches()[0], CodecOptions { codec: Codec::None, level: Level::Plain });
    std::thread::spawn(|| {
        check(&batch("on another thread", 5, 1000, two_words), CodecOptions { codec: Codec::Lz4, level: Level::Fast })
    })
    .join()
    .expect("no panic");
    let before_exit = heap_bytes();
    assert!(before_exit <= RETAINED_LIMIT, "{before_exit} bytes are counted when only this thread's encoder is left");
}
