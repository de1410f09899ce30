//! What encoders and decoders allocate, counted by the allocator itself (Zstandard's contexts apart, which C
//! allocates).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, Level, RETAINED_LIMIT};
use sluice_testkit::{Value, bench_table, incompressible, lineitem, unsafe_row, xorshift};

/// Counts of this thread: allocations, live bytes and the peak of live bytes.
#[derive(Clone, Copy)]
struct Counts {
    allocations: usize,
    live: isize,
    peak: isize,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { allocations: 0, live: 0, peak: 0 }) };
}

struct Counting;

fn note(allocations: usize, bytes: isize) {
    let mut counts = COUNTS.get();
    counts.allocations += allocations;
    counts.live += bytes;
    counts.peak = counts.peak.max(counts.live);
    COUNTS.set(counts);
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing (the counters are `Cell`s of
// constant initial value, without a destructor).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note(0, -(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, size as isize - layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` allocates: allocations, bytes that stay, and most bytes at any time.
fn counted<T>(work: impl FnOnce() -> T) -> (T, Counts) {
    let before = COUNTS.get();
    COUNTS.set(Counts { peak: before.live, ..before });
    let result = work();
    let after = COUNTS.get();
    let counts = Counts {
        allocations: after.allocations - before.allocations,
        live: after.live - before.live,
        peak: after.peak - before.live,
    };
    (result, counts)
}

fn options() -> Vec<CodecOptions> {
    let mut all = vec![CodecOptions { codec: Codec::None, level: Level::Plain }];
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy] {
        all.push(CodecOptions { codec, level: Level::Fast });
        all.push(CodecOptions { codec, level: Level::Small });
    }
    all
}

fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let words = (0..bytes as u64 / 8 + 1).map(|i| format!("{:07} ", xorshift(seed << 32 | i) % 100_000));
    words.flat_map(String::into_bytes).take(bytes).collect()
}

/// Tables of every kind: name, fields, rows.
fn tables() -> Vec<(&'static str, u32, Vec<Vec<u8>>)> {
    let of = |t: sluice_testkit::Table| (t.name, t.fields, (0..t.rows()).map(|i| t.row(i).to_vec()).collect());
    let texts = (0..1500).map(|i| unsafe_row(&[Value::Word(i), Value::Bytes(text(i, (i % 300) as usize))]));
    let tails = (0..3000u64).map(|i| [&i.to_le_bytes()[..], &text(i, (i % 90) as usize)].concat());
    let wide = (0..40).map(|i| unsafe_row(&(0..900).map(|f| Value::Word(xorshift(i * f))).collect::<Vec<_>>()));
    vec![
        of(bench_table(5000)),
        of(lineitem(3000)),
        of(incompressible(1000)),
        ("texts", 2, texts.collect()),
        ("tails", 0, tails.collect()),
        ("wide", 900, wide.collect()),
        ("short rows of many fields", 1 << 20, vec![vec![0; 8]; 3000]),
    ]
}

fn encode(encoder: &mut Encoder, rows: &[&[u8]], fields: u32, mut each: impl FnMut(&[u8])) {
    let done: Result<(), ()> = encoder.encode(rows, fields, |frame| {
        each(frame);
        Ok(())
    });
    done.expect("no error of the sink");
}

fn refs(rows: &[Vec<u8>]) -> Vec<&[u8]> {
    rows.iter().map(|r| &r[..]).collect()
}

#[test]
fn frames_allocate_nothing_once_warm() {
    for (name, fields, rows) in tables() {
        let rows = refs(&rows);
        for o in options() {
            let mut encoder = Encoder::new(o);
            let mut frames: Vec<Vec<u8>> = Vec::new();
            encode(&mut encoder, &rows, fields, |f| frames.push(f.to_vec()));
            let ((), counts) = counted(|| encode(&mut encoder, &rows, fields, |_| ()));
            assert_eq!(counts.allocations, 0, "encoding {name} with {o:?}");
            let mut decoder = Decoder::new();
            let (mut target, mut lengths) = (vec![0; 1 << 20], vec![0; 1 << 16]);
            let mut decode_all = || {
                frames.iter().for_each(|f| assert!(decoder.decode(f, &mut target, &mut lengths).is_ok(), "{name}"));
            };
            decode_all();
            assert_eq!(counted(decode_all).1.allocations, 0, "decoding {name} with {o:?}");
        }
    }
}

/// Encodes in a new encoder and decodes in a new decoder; asserts the bounds that both publish.
fn check_bounds(name: &str, rows: &[&[u8]], fields: u32, o: CodecOptions) {
    let longest = rows.iter().map(|r| r.len()).max().unwrap_or(0);
    let mut frames: Vec<Vec<u8>> = Vec::new();
    encode(&mut Encoder::new(o), rows, fields, |f| frames.push(f.to_vec()));
    let (encoder, counts) = counted(|| {
        let mut encoder = Encoder::new(o);
        encode(&mut encoder, rows, fields, |_| ());
        encoder
    });
    let bound = encoder.scratch_bound(longest, fields);
    assert!(counts.peak as usize <= bound, "encoding {name} with {o:?}: {} of {bound} bytes", counts.peak);
    assert!(encoder.retained_bytes() <= RETAINED_LIMIT, "{name} {o:?}: {}", encoder.retained_bytes());
    assert!(counts.live as usize <= encoder.retained_bytes(), "{name} {o:?}: more is live than is counted");
    let mut target = vec![0; frames.iter().map(|f| decoded_bytes(f)).max().unwrap_or(0)];
    let mut lengths = vec![0; 1 << 16];
    for frame in &frames {
        let bound = Decoder::scratch_bound(&FrameHeader::parse(frame).expect("own header"));
        let (decoder, counts) = counted(|| {
            let mut decoder = Decoder::new();
            decoder.decode(frame, &mut target, &mut lengths).expect("own frame");
            decoder
        });
        assert!(counts.peak as usize <= bound, "decoding {name} with {o:?}: {} of {bound} bytes", counts.peak);
        assert!(decoder.retained_bytes() <= RETAINED_LIMIT, "{name} {o:?}: {}", decoder.retained_bytes());
        assert!(counts.live as usize <= decoder.retained_bytes(), "{name} {o:?}: more is live than is counted");
    }
}

fn decoded_bytes(frame: &[u8]) -> usize {
    FrameHeader::parse(frame).expect("own header").decoded_bytes as usize
}

#[test]
fn scratch_stays_under_its_bound() {
    for (name, fields, rows) in tables() {
        options().into_iter().for_each(|o| check_bounds(name, &refs(&rows), fields, o));
    }
    let giant = unsafe_row(&[Value::Word(1), Value::Bytes(text(1, 9 << 20)), Value::Bytes(text(2, 100))]);
    let small: Vec<Vec<u8>> = (0..900).map(|i| unsafe_row(&[Value::Word(i), Value::Null, Value::Null])).collect();
    let mut mixed = refs(&small);
    mixed.insert(700, &giant);
    let noise: Vec<u8> = (0..1u64 << 19).flat_map(|i| xorshift(i).to_le_bytes()).collect();
    let fields: Vec<Value> = (0..200_000).map(|f| Value::Word(xorshift(f))).collect();
    for o in options() {
        check_bounds("a giant row among small ones", &mixed, 3, o);
        check_bounds("a giant row of noise", &[&unsafe_row(&[Value::Bytes(noise.clone())])], 1, o);
        check_bounds("a giant row, then rows without their words", &[&noise, &noise[..8], &noise[..8]], 2, o);
        check_bounds("a giant tail", &[&noise, &noise[..100]], 2, o);
        check_bounds("200,000 fields", &[&unsafe_row(&fields)], 200_000, o);
    }
}

#[test]
fn a_giant_row_leaves_no_giant_buffers() {
    let giant = unsafe_row(&[Value::Bytes(text(3, 1 << 20).repeat(100))]);
    let small = unsafe_row(&[Value::Bytes(text(4, 100))]);
    let mut encoder = Encoder::new(CodecOptions { codec: Codec::Lz4, level: Level::Fast });
    let mut frame = Vec::new();
    let ((), counts) = counted(|| encode(&mut encoder, &[&giant], 1, |f| frame = f.to_vec()));
    assert!(counts.peak as usize > giant.len(), "the giant row went through the encoder");
    assert!(counts.live as usize - frame.capacity() <= RETAINED_LIMIT, "{} bytes live", counts.live);
    assert!(encoder.retained_bytes() <= RETAINED_LIMIT, "{} bytes", encoder.retained_bytes());
    encode(&mut encoder, &[&small], 1, |_| ());
    assert!(encoder.retained_bytes() <= RETAINED_LIMIT, "{} bytes", encoder.retained_bytes());
    let (mut target, mut lengths) = (vec![0; giant.len()], vec![0; 1]);
    let mut decoder = Decoder::new();
    decoder.decode(&frame, &mut target, &mut lengths).expect("own frame");
    assert!(target == giant, "the giant row came back");
    assert!(decoder.retained_bytes() <= RETAINED_LIMIT, "{} bytes", decoder.retained_bytes());
}
