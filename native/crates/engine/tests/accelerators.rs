//! Batches that an accelerator encodes: the same map output as without one, whatever it does.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluice_codec::{Codec, CodecOptions, Encoder, EndMarkKey, FrameHeader, FrameKey, Level, OutputId, Sealer};
use sluice_engine::{
    Accelerator, AcceleratorBatch, AcceleratorFrame, ChecksumAlgorithm, Declined, ErrorKind, MapOutputWriter, NotTaken,
    Page, PairMemory, PairSort, Sealing, TakeFrame,
};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row, xorshift};

const FAST: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const PARTITIONS: u32 = 30;
const FIELDS: u32 = 2;

/// What the accelerator of a test does with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Encodes,
    /// Nothing is handed over.
    Declines,
    FindsPagesWrong,
    /// As when the device fails in the middle.
    DeclinesAfter(usize),
    SwapsPartitions,
    LeavesOutTheLast,
    CutsAFrame,
    DamagesAPayload,
    LiesAboutRows,
    NamesNoPartition,
}

/// Encodes with the CPU's encoder, as a device would that makes the same bytes, and does what its test wants.
struct Fake {
    does: Does,
    asked: AtomicUsize,
    handed_over: AtomicUsize,
    /// Why a frame was not taken.
    refused: Mutex<Option<NotTaken>>,
    /// Bytes of rows that were encoded by the CPU.
    by_cpu: Mutex<Vec<usize>>,
    /// What the last of these was declined with.
    declined: Mutex<Option<Declined>>,
    /// Called when it is asked, and when it hears of the CPU.
    look: Mutex<Option<Look>>,
}

type Look = Box<dyn Fn(&str) + Send>;

impl Fake {
    fn new(does: Does) -> Arc<Self> {
        let (refused, by_cpu, declined, look) = Default::default();
        Arc::new(Self { does, asked: 0.into(), handed_over: 0.into(), refused, by_cpu, declined, look })
    }

    fn look(&self, when: &str) {
        if let Some(look) = &*self.look.lock().expect("no panic") {
            look(when);
        }
    }
}

/// Partitions and rows in the order of insertion.
fn rows<'a>(pages: &[Page<'a>]) -> Vec<(u32, &'a [u8])> {
    let mut all = Vec::new();
    for page in pages {
        let entries = &page.memory[page.memory.len() - page.entries * 8..];
        let entries: Vec<(u32, u32)> = entries
            .chunks_exact(8)
            .rev()
            .map(|e| (u32::from_le_bytes([e[0], e[1], e[2], e[3]]), u32::from_le_bytes([e[4], e[5], e[6], e[7]])))
            .collect();
        for (i, (offset, partition)) in entries.iter().enumerate() {
            let end = entries.get(i + 1).map_or(page.used, |next| next.0 as usize);
            all.push((*partition, &page.memory[*offset as usize..end]));
        }
    }
    all
}

struct Made {
    partition: u32,
    rows: u32,
    bytes: Vec<u8>,
    row_hashes: (u64, u64),
}

fn frames(batch: &AcceleratorBatch<'_, '_>) -> Vec<Made> {
    let mut sorted = rows(batch.pages);
    sorted.sort_by_key(|row| row.0);
    let (mut encoder, mut made, mut at) = (Encoder::new(batch.options), Vec::new(), 0);
    for part in sorted.chunk_by(|a, b| a.0 == b.0) {
        let rows: Vec<&[u8]> = part.iter().map(|row| row.1).collect();
        let done: Result<(), ()> = encoder.encode(&rows, batch.fields, |frame| {
            let rows = FrameHeader::parse(frame).expect("a frame").records;
            let here = sorted[at..at + rows as usize].iter().map(|row| xxhash_rust::xxh64::xxh64(row.1, 0));
            let row_hashes = here.fold((0, 0u64), |(xor, sum), hash| (xor ^ hash, sum.wrapping_add(hash)));
            at += rows as usize;
            made.push(Made { partition: part[0].0, rows, bytes: frame.to_vec(), row_hashes });
            Ok(())
        });
        done.expect("no error");
    }
    made
}

impl Accelerator for Fake {
    fn encode(&self, batch: &AcceleratorBatch<'_, '_>, take: &mut TakeFrame<'_>) -> Result<(), Declined> {
        self.asked.fetch_add(1, SeqCst);
        self.look("asked");
        match self.does {
            Does::Declines => return Err(Declined::new("a test")),
            Does::FindsPagesWrong => return Err(Declined { why: "a test", finds_pages_wrong: true }),
            _ => {}
        }
        let mut frames = frames(batch);
        match self.does {
            Does::SwapsPartitions => frames.swap(0, 1),
            Does::LeavesOutTheLast => drop(frames.pop()),
            Does::CutsAFrame => drop(frames[3].bytes.pop()),
            Does::DamagesAPayload => {
                if let Some(last) = frames[3].bytes.last_mut() {
                    *last ^= 1;
                }
            }
            Does::LiesAboutRows => frames[3].rows += 1,
            Does::NamesNoPartition => {
                if let Some(last) = frames.last_mut() {
                    last.partition = PARTITIONS;
                }
            }
            _ => {}
        }
        for (i, frame) in frames.iter().enumerate() {
            if self.does == Does::DeclinesAfter(i) {
                return Err(Declined::new("a test"));
            }
            let Made { partition, rows, bytes, row_hashes } = frame;
            let taken = take(AcceleratorFrame { partition: *partition, rows: *rows, bytes, row_hashes: *row_hashes });
            taken.inspect_err(|why| *self.refused.lock().expect("no panic") = Some(*why))?;
            self.handed_over.fetch_add(1, SeqCst);
        }
        Ok(())
    }

    fn sort_pairs(&self, _: PairSort, _: &mut dyn PairMemory) -> Result<(), Declined> {
        Err(Declined::new("a test"))
    }

    fn pairs_sorted_by_cpu(&self, _: PairSort, _: Duration) {}

    fn encoded_by_cpu(&self, batch: &AcceleratorBatch<'_, '_>, _: Duration, declined: Option<Declined>) {
        self.look("told");
        *self.declined.lock().expect("no panic") = declined;
        assert_eq!(batch.bytes(), batch.row_bytes() + batch.rows() * 8);
        self.by_cpu.lock().expect("no panic").push(batch.row_bytes());
    }
}

/// Two pages of rows.
struct Batch {
    memory: [Vec<u8>; 2],
    used: [usize; 2],
    rows: usize,
}

impl Batch {
    /// Each row has up to `most` bytes of noise.
    fn of(seed: u64, rows: usize, most: u64) -> Self {
        let row = |i: u64| {
            let noise = (0..xorshift(seed ^ i) % most).map(|b| xorshift(i << 16 ^ b) as u8).collect();
            unsafe_row(&[Value::Word(i), Value::Bytes(noise)])
        };
        let page = |numbers: std::ops::Range<usize>| {
            let (mut memory, mut entries) = (Vec::new(), Vec::new());
            for i in numbers {
                let partition = xorshift(seed << 32 ^ i as u64) % u64::from(PARTITIONS);
                entries.push(partition << 32 | memory.len() as u64);
                memory.extend(row(i as u64));
            }
            let used = memory.len();
            memory.extend(entries.iter().rev().flat_map(|entry| entry.to_le_bytes()));
            (memory, used)
        };
        let (first, second) = (page(0..rows / 3), page(rows / 3..rows));
        Self { memory: [first.0, second.0], used: [first.1, second.1], rows }
    }

    fn pages(&self) -> [Page<'_>; 2] {
        let entries = [self.rows / 3, self.rows - self.rows / 3];
        std::array::from_fn(|i| Page { memory: &self.memory[i], used: self.used[i], entries: entries[i] })
    }

    fn bytes(&self) -> usize {
        self.used.iter().sum()
    }
}

fn sealing() -> Sealing {
    let output = OutputId { shuffle: 3, map: 4 };
    let sealer = Sealer::new(FrameKey::new(output, &[7; 16]).expect("a key"), 11);
    Sealing { sealer, end_marks: EndMarkKey::new(output, &[9; 32]) }
}

/// Lengths, bytes and the checksum of the rows.
type Output = (Vec<i64>, Vec<u8>, u64);

fn output(arena: &Arc<Arena>, accelerator: Option<Arc<Fake>>, sealed: bool, batches: &[Batch]) -> Output {
    let mut writer = MapOutputWriter::new(Arc::clone(arena), PARTITIONS, FAST).expect("partitions");
    if sealed {
        writer = writer.with_sealing(sealing());
    }
    let writer = writer.with_row_checksums();
    if let Some(accelerator) = &accelerator {
        writer.accelerate(Arc::clone(accelerator) as Arc<dyn Accelerator>);
    }
    for (i, batch) in batches.iter().enumerate() {
        writer.encode_accelerated(i as i64, FIELDS, &batch.pages()).expect("memory");
    }
    // Without an accelerator, or with one that declines, none.
    let encoded =
        accelerator.filter(|fake| fake.by_cpu.lock().expect("no panic").is_empty()).map_or(0, |_| batches.len());
    assert_eq!(writer.accelerated_batches(), encoded);
    let name = format!("sluice-accelerated-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    let done = writer.commit(&path, ChecksumAlgorithm::None).expect("disk");
    let bytes = fs::read(&path).expect("data file");
    fs::remove_file(&path).expect("data file");
    (done.lengths, bytes, writer.row_checksum().expect("alive"))
}

#[test]
fn an_output_is_the_same_whatever_the_accelerator_does() {
    let batches = [Batch::of(1, 3000, 60), Batch::of(2, 5000, 60)];
    let bytes: Vec<usize> = batches.iter().map(Batch::bytes).collect();
    for sealed in [false, true] {
        let arena = Arena::host(64 << 20);
        let expected = output(&arena, None, sealed, &batches);
        for does in [
            Does::Encodes,
            Does::Declines,
            Does::DeclinesAfter(0),
            Does::DeclinesAfter(7),
            Does::SwapsPartitions,
            Does::LeavesOutTheLast,
            Does::CutsAFrame,
            Does::DamagesAPayload,
            Does::LiesAboutRows,
            Does::NamesNoPartition,
        ] {
            let fake = Fake::new(does);
            let made = output(&arena, Some(Arc::clone(&fake)), sealed, &batches);
            assert!((&made.0, made.2) == (&expected.0, expected.2), "{does:?} {sealed}");
            // A seal has a number that is used once, also for a frame that is thrown away.
            let none_thrown_away = matches!(does, Does::Encodes | Does::Declines | Does::DeclinesAfter(0));
            assert!(sealed && !none_thrown_away || made.1 == expected.1, "{does:?} {sealed}");
            assert_eq!(fake.asked.load(SeqCst), 2, "{does:?}");
            let by_cpu = fake.by_cpu.lock().expect("no panic").clone();
            assert_eq!(by_cpu, if does == Does::Encodes { Vec::new() } else { bytes.clone() }, "{does:?}");
            let wrong = matches!(*fake.refused.lock().expect("no panic"), Some(NotTaken::Wrong(_)));
            let makes_wrong_frames = matches!(
                does,
                Does::SwapsPartitions
                    | Does::CutsAFrame
                    | Does::DamagesAPayload
                    | Does::LiesAboutRows
                    | Does::NamesNoPartition
            );
            assert_eq!(wrong, makes_wrong_frames, "{does:?}");
        }
        assert_eq!(arena.leased_bytes(), 0);
    }
}

#[test]
fn a_part_of_a_batch_is_not_for_an_accelerator() {
    let batch = Batch::of(5, 2000, 60);
    let arena = Arena::host(64 << 20);
    let fake = Fake::new(Does::Declines);
    let writer = MapOutputWriter::new(arena, PARTITIONS, FAST).expect("partitions");
    writer.accelerate(Arc::clone(&fake) as Arc<dyn Accelerator>);
    writer.encode_until(0, FIELDS, &batch.pages(), PARTITIONS / 2).expect("memory");
    writer.encode_until(0, FIELDS, &batch.pages(), PARTITIONS).expect("memory");
    writer.encode_accelerated(1, FIELDS, &[]).expect("nothing to do");
    assert_eq!(fake.asked.load(SeqCst), 0);
    let wrong = Page { memory: &[0; 16], used: 8, entries: 9 };
    let refused = writer.encode_accelerated(2, FIELDS, &[wrong]).expect_err("a malformed page");
    assert_eq!(refused.kind, ErrorKind::Invalid, "the CPU says what is wrong");
}

/// A thread that must go on does not ask the accelerator, which may wait for a device, but tells it how long it took.
#[test]
fn who_must_go_on_does_not_ask() {
    let batch = Batch::of(5, 2000, 60);
    let fake = Fake::new(Does::Encodes);
    let writer = MapOutputWriter::new(Arena::host(64 << 20), PARTITIONS, FAST).expect("partitions");
    writer.accelerate(Arc::clone(&fake) as Arc<dyn Accelerator>);
    writer.encode(0, FIELDS, &batch.pages()).expect("memory");
    assert_eq!(fake.asked.load(SeqCst), 0);
    assert_eq!(*fake.by_cpu.lock().expect("no panic"), [batch.bytes()]);
    assert_eq!(*fake.declined.lock().expect("no panic"), None);
    writer.encode_accelerated(1, FIELDS, &batch.pages()).expect("memory");
    assert_eq!(fake.asked.load(SeqCst), 1);
}

/// An accelerator hears what it has said of pages that the CPU then encodes.
#[test]
fn who_has_declined_hears_why() {
    let batch = Batch::of(5, 2000, 60);
    for (does, finds_pages_wrong) in [(Does::Declines, false), (Does::FindsPagesWrong, true)] {
        let fake = Fake::new(does);
        output(&Arena::host(64 << 20), Some(Arc::clone(&fake)), false, std::slice::from_ref(&batch));
        let expected = Declined { why: "a test", finds_pages_wrong };
        assert_eq!(*fake.declined.lock().expect("no panic"), Some(expected), "{does:?}");
    }
}

/// Who waits for a call sees whether it waits for the accelerator, or encodes by now.
#[test]
fn calls_that_the_accelerator_has_not_answered_are_counted() {
    let batch = Batch::of(5, 2000, 60);
    for does in [Does::Encodes, Does::Declines] {
        let fake = Fake::new(does);
        let writer = MapOutputWriter::new(Arena::host(64 << 20), PARTITIONS, FAST).expect("partitions");
        writer.accelerate(Arc::clone(&fake) as Arc<dyn Accelerator>);
        let writer = Arc::new(writer);
        let (seen, looked_at) = (Arc::new(Mutex::new(Vec::new())), Arc::downgrade(&writer));
        let found = Arc::clone(&seen);
        *fake.look.lock().expect("no panic") = Some(Box::new(move |when| {
            let waiting = looked_at.upgrade().map(|writer| writer.waiting_for_accelerator());
            found.lock().expect("no panic").push((when.to_owned(), waiting));
        }));
        writer.encode_accelerated(0, FIELDS, &batch.pages()).expect("memory");
        writer.encode(1, FIELDS, &batch.pages()).expect("memory");
        let seen = seen.lock().expect("no panic").clone();
        assert_eq!(seen[0], ("asked".to_owned(), Some(1)), "{does:?}");
        assert!(seen[1..].iter().all(|seen| *seen == ("told".to_owned(), Some(0))), "{does:?}: {seen:?}");
        assert_eq!((seen.len(), writer.waiting_for_accelerator()), (if does == Does::Encodes { 2 } else { 3 }, 0));
    }
}

/// Frames that find no room are thrown away; the CPU's encoder keeps those that do, and goes on from there.
#[test]
fn without_room_for_the_run_the_cpu_makes_what_fits() {
    let batches = [Batch::of(6, 5000, 1000)];
    let expected = output(&Arena::host(64 << 20), None, false, &batches);
    let arena = Arena::host(1 << 20);
    let fake = Fake::new(Does::Encodes);
    let writer = MapOutputWriter::new(Arc::clone(&arena), PARTITIONS, FAST).expect("partitions").with_row_checksums();
    writer.accelerate(Arc::clone(&fake) as Arc<dyn Accelerator>);
    let file = |name: usize| std::env::temp_dir().join(format!("sluice-accelerated-{}-{name}", std::process::id()));
    let mut spills = 0;
    while let Err(refused) = writer.encode_accelerated(0, FIELDS, &batches[0].pages()) {
        assert_eq!(refused.kind, ErrorKind::NoMemory);
        assert!(writer.spill(&file(spills)).expect("disk") > 0, "nothing was kept of an encode that was refused");
        spills += 1;
    }
    assert!(spills > 0 && fake.handed_over.load(SeqCst) > 0, "the test's arena has room for all");
    assert_eq!(fake.asked.load(SeqCst), 1, "what follows is a part of the batch");
    assert_eq!(*fake.refused.lock().expect("no panic"), Some(NotTaken::NoRoom));
    let done = writer.commit(&file(spills), ChecksumAlgorithm::None).expect("disk");
    let made = (done.lengths, fs::read(file(spills)).expect("data file"), writer.row_checksum().expect("alive"));
    assert!(made == expected);
    (0..=spills).for_each(|name| fs::remove_file(file(name)).expect("a file of this test"));
    drop(writer);
    assert_eq!(arena.leased_bytes(), 0);
}
