//! The tier on the simulated driver: what is kept is what is read, what leaves calls nobody, and nothing is left.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use sluice_codec::{Codec, CodecOptions, Encoder, Level};
use sluice_cuda::Driver;
use sluice_cuda_sim::Simulator;
use sluice_gpu_mem::StreamArenaOptions;
use sluice_mem::SEGMENT_BYTES;
use sluice_testkit::{Value, unsafe_row};

use super::*;

const MIB: usize = 1 << 20;

fn long() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(60))
}

/// A map output in a file, of frames with numbers.
struct Output {
    path: PathBuf,
    bytes: Vec<u8>,
    lengths: Vec<i64>,
}

impl Output {
    /// About so many bytes in all, in some partitions of which the second one is empty.
    fn new(seed: u64, about: usize) -> Self {
        let mut encoder = Encoder::new(CodecOptions { codec: Codec::None, level: Level::Fast });
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        for partition in 0..5u64 {
            let start = bytes.len();
            while partition != 1 && bytes.len() - start < about / 4 {
                // Numbers that no encoding makes shorter.
                let number = |i: u64| {
                    let word = (i + (seed << 40) + bytes.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    (word ^ (word >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
                };
                let rows: Vec<Vec<u8>> =
                    (0..2000u64).map(|i| unsafe_row(&[Value::Word(number(i)), Value::Word(number(i * 31))])).collect();
                let rows: Vec<&[u8]> = rows.iter().map(|row| &row[..]).collect();
                bytes.extend_from_slice(encoder.encode_frame(&rows, 2));
            }
            lengths.push((bytes.len() - start) as i64);
        }
        Self::of(bytes, lengths)
    }

    fn of(bytes: Vec<u8>, lengths: Vec<i64>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sluice-device-copies-{}-{}", std::process::id(), NEXT.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, &bytes).expect("a file");
        Self { path, bytes, lengths }
    }

    fn as_host(&self, shuffle: u32, map: u64) -> HostOutput<'_> {
        let key = CopyKey { shuffle, map };
        HostOutput { key, file: &self.path, lengths: &self.lengths, host: HostCopy::Memory, sealed: false }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Fields are dropped in this order.
struct Setting {
    copies: Arc<DeviceCopies>,
    arena: Arc<StreamArena>,
    staging: Staging,
    context: Context,
    simulator: Simulator,
}

impl Setting {
    /// A tier with so many MiB, over so many regions of 64 MiB.
    fn new(limit_mib: usize, regions: usize) -> Self {
        let simulator = Simulator::start(&format!("memory=4g seed={}", std::process::id()));
        let driver = Driver::open_at(&simulator.path()).expect("a driver");
        let context = driver.select(None).expect("a device").context().expect("a context");
        let copies = DeviceCopies::new(&context, limit_mib * MIB);
        let limit = regions * 2 * SEGMENT_BYTES;
        let options = StreamArenaOptions {
            chunk_bytes: SEGMENT_BYTES,
            shards: 2,
            drop_caches: Some(copies.drop_caches()),
            ..StreamArenaOptions::with_limit(limit)
        };
        let arena = StreamArena::new(context.clone(), options);
        let staging = Staging::pinned(&context, MIB).expect("pinned memory");
        Self { copies, arena, staging, context, simulator }
    }

    fn keep(&mut self, output: &HostOutput<'_>) -> Result<(), NotKept> {
        self.copies.keep(&self.arena, &mut self.staging, output, long())
    }

    fn read(&mut self, key: CopyKey, partitions: Range<u32>, target: &mut [u8]) -> Result<(), Miss> {
        let Self { copies, staging, .. } = self;
        let read = copies.pin(key, &partitions).and_then(|pin| copies.read(staging, &pin, target, long()));
        copies.answered(read, target.len())
    }

    /// Reads partitions of an output that is on the device, and compares them with the file's.
    fn check_read(&mut self, output: &Output, key: CopyKey, partitions: Range<u32>) {
        let until = |partition: u32| output.lengths[..partition as usize].iter().sum::<i64>() as usize;
        let expected = &output.bytes[until(partitions.start)..until(partitions.end)];
        let mut found = vec![0xAA; expected.len()];
        self.read(key, partitions, &mut found).expect("a hit");
        assert!(found == expected, "other bytes than the host's");
    }

    fn calls(&self) -> u64 {
        self.simulator.calls("cuCtxPushCurrent_v2")
    }

    /// Nothing is left on the device.
    fn finish(self) {
        let Self { copies, arena, staging, context, simulator } = self;
        let counts = copies.counts();
        assert_eq!((counts.bytes, counts.copies, arena.memory().leased_bytes()), (0, 0, 0), "{counts:?}");
        arena.memory().check_quiet().expect("an arena without a mistake");
        drop((copies, arena, staging));
        drop(context);
        let counts = simulator.counts();
        assert_eq!([counts.allocations, counts.events, counts.streams, counts.contexts, counts.registrations], [0; 5]);
        assert_eq!(simulator.violations(), Vec::<String>::new());
    }
}

const KEY: CopyKey = CopyKey { shuffle: 3, map: 4 };

#[test]
fn what_is_kept_is_read_byte_for_byte_to_host_and_to_device() {
    let mut setting = Setting::new(20, 2);
    // Longer than the buffer, so that it comes and goes in pieces.
    let output = Output::new(1, 3 * MIB);
    setting.keep(&output.as_host(3, 4)).expect("room");
    for partitions in [0..1, 1..2, 0..5, 3..5, 4..5] {
        setting.check_read(&output, KEY, partitions);
    }
    let Located::Device(pin) = setting.copies.locate(KEY, 2..5, Tier::Device) else { panic!("a miss") };
    let start = output.lengths[..2].iter().sum::<i64>() as usize;
    assert_eq!(pin.len() as usize, output.bytes.len() - start);
    let stream = setting.arena.attach(setting.context.thread_stream());
    let target = stream.lease(output.bytes.len() - start, long()).expect("memory");
    // SAFETY: the lease is as long, and is used on this stream only.
    unsafe { pin.copy_to(stream.stream(), target.address(), long()).expect("a copy") };
    let mut found = vec![0u8; pin.len() as usize];
    // SAFETY: any bytes are bytes; the lease has so many.
    unsafe { setting.staging.get_all(stream.stream(), target.address().0, &mut found, long()).expect("a copy") };
    assert!(found == output.bytes[start..]);
    let counts = setting.copies.counts();
    assert_eq!((counts.hits, counts.misses, counts.kept), (6, 0, 1));
    assert_eq!(counts.kept_bytes, output.bytes.len() as u64);
    drop(pin);
    stream.free(target);
    drop(stream);
    assert_eq!(setting.copies.forget_shuffle(3), 1);
    setting.arena.settle(long()).map(|_| ()).expect("a device");
    setting.finish();
}

#[test]
fn what_is_not_there_is_a_miss_with_its_reason() {
    let mut setting = Setting::new(20, 2);
    let output = Output::new(1, MIB);
    setting.keep(&output.as_host(3, 4)).expect("room");
    let missed = |located| match located {
        Located::Host(why) => why,
        Located::Device(_) => panic!("a hit"),
    };
    let locate = |key, partitions, tier| missed(setting.copies.locate(key, partitions, tier));
    assert_eq!(locate(KEY, 0..1, Tier::Host), Miss::HostPreferred);
    assert_eq!(setting.copies.counts().misses, 0, "the reader did not want it");
    assert_eq!(locate(CopyKey { shuffle: 3, map: 5 }, 0..1, Tier::Device), Miss::Absent);
    for range in [0..0, 4..6, 5..6] {
        assert_eq!(locate(KEY, range, Tier::Device), Miss::BadRange);
    }
    assert_eq!(setting.copies.counts().misses, 4);
    assert!(setting.copies.forget(KEY) && !setting.copies.forget(KEY));
    setting.finish();
}

#[test]
fn outputs_that_cannot_be_kept_are_refused_and_leave_nothing() {
    let mut setting = Setting::new(70, 1);
    let small = Output::new(1, MIB / 2);
    let absent = HostOutput { file: Path::new("/absent/file"), ..small.as_host(1, 1) };
    assert!(matches!(setting.keep(&absent), Err(NotKept::HostCopy(_))));
    let shorter = Output::of(small.bytes[1..].to_vec(), small.lengths.clone());
    assert!(matches!(setting.keep(&shorter.as_host(1, 1)), Err(NotKept::HostCopy(_))), "another length than the index");
    assert_eq!(setting.keep(&HostOutput { lengths: &[5, -1], ..small.as_host(1, 1) }), Err(NotKept::BadLengths));
    assert_eq!(setting.keep(&HostOutput { lengths: &[0, 0], ..small.as_host(1, 1) }), Err(NotKept::Empty));
    let most = [100 * MIB as i64];
    assert_eq!(setting.keep(&HostOutput { lengths: &most, ..small.as_host(1, 1) }), Err(NotKept::NoRoom));
    // The limit has room, and the arena has none.
    let sparse = Output::of(Vec::new(), vec![66 * MIB as i64]);
    std::fs::File::options().write(true).open(&sparse.path).expect("a file").set_len(66 * MIB as u64).expect("length");
    assert_eq!(setting.keep(&sparse.as_host(1, 1)), Err(NotKept::NoMemory));
    setting.keep(&small.as_host(1, 1)).expect("room");
    assert_eq!(setting.keep(&small.as_host(1, 1)), Err(NotKept::Present));
    let counts = setting.copies.counts();
    assert_eq!((counts.failed, counts.refused_by_limit, counts.refused_by_memory, counts.kept), (2, 1, 1, 1));
    setting.copies.forget_shuffle(1);
    setting.finish();
}

#[test]
fn a_call_that_fails_leaves_nothing() {
    let mut setting = Setting::new(20, 2);
    let output = Output::new(1, 3 * MIB);
    setting.simulator.configure("fail=cuMemcpyHtoDAsync_v2@2:801");
    assert!(matches!(setting.keep(&output.as_host(3, 4)), Err(NotKept::Device(_))));
    setting.keep(&output.as_host(3, 4)).expect("it works again");
    setting.simulator.configure("fail=cuMemcpyDtoHAsync_v2@1:801");
    let mut target = vec![0; output.lengths[0] as usize];
    assert!(matches!(setting.read(KEY, 0..1, &mut target), Err(Miss::Device(_))));
    setting.check_read(&output, KEY, 0..5);
    let counts = setting.copies.counts();
    assert_eq!((counts.failed, counts.hits, counts.misses, counts.damaged), (1, 1, 1, 0));
    setting.copies.forget_shuffle(3);
    setting.finish();
}

#[test]
fn bytes_that_are_no_frames_are_dropped_unless_they_are_sealed() {
    let mut setting = Setting::new(20, 2);
    let mut output = Output::new(1, MIB);
    let last = output.bytes.len() - 1;
    output.bytes[last] ^= 1;
    let output = Output::of(output.bytes.clone(), output.lengths.clone());
    setting.keep(&output.as_host(3, 4)).expect("room");
    setting.check_read(&output, KEY, 0..4);
    let mut target = vec![0; output.lengths[4] as usize];
    assert_eq!(setting.read(KEY, 4..5, &mut target), Err(Miss::Damaged));
    assert_eq!(setting.read(KEY, 0..4, &mut target), Err(Miss::Absent), "the whole copy is gone");
    // Another length than the reader's index has.
    setting.keep(&output.as_host(3, 4)).expect("room");
    assert_eq!(setting.read(KEY, 0..1, &mut target[1..]), Err(Miss::Damaged));
    assert_eq!(setting.copies.counts().damaged, 2);
    setting.keep(&HostOutput { sealed: true, ..output.as_host(3, 4) }).expect("room");
    setting.check_read(&output, KEY, 0..5);
    setting.copies.forget_shuffle(3);
    setting.finish();
}

/// The point of an inclusive tier: nothing is copied, nobody is asked, and nothing is waited for.
#[test]
fn dropping_calls_the_driver_for_nothing() {
    let mut setting = Setting::new(200, 6);
    let outputs: Vec<Output> = (0..12).map(|seed| Output::new(seed, 4 * MIB)).collect();
    let keep_all = |setting: &mut Setting| {
        for (map, output) in outputs.iter().enumerate() {
            setting.keep(&output.as_host(7, map as u64)).expect("room");
        }
    };
    keep_all(&mut setting);
    let (calls, leased) = (setting.calls(), setting.arena.memory().leased_bytes());
    assert!(leased > 40 * MIB);
    assert!(setting.copies.shrink(1000 * MIB));
    assert_eq!((setting.arena.memory().leased_bytes(), setting.calls()), (0, calls), "by pressure");
    keep_all(&mut setting);
    let calls = setting.calls();
    assert_eq!(setting.copies.forget_shuffle(7), 12);
    assert_eq!((setting.arena.memory().leased_bytes(), setting.calls()), (0, calls), "with the shuffle");
    setting.finish();
}

/// A lease of 60 MiB needs the whole region, in which copies lie.
#[test]
fn encodes_get_the_memory_that_copies_have() {
    let mut setting = Setting::new(60, 1);
    let outputs: Vec<Output> = (0..12).map(|seed| Output::new(seed, 4 * MIB)).collect();
    for (map, output) in outputs.iter().enumerate() {
        setting.keep(&output.as_host(7, map as u64)).expect("room");
    }
    let stream = setting.arena.attach(setting.context.thread_stream());
    let few = stream.lease(20 * MIB, Wait::at_most(Duration::ZERO)).expect("copies are dropped");
    let left = setting.copies.counts().copies;
    assert!((1..12).contains(&left), "{left} copies are left");
    stream.free(few);
    let pin = (0..12).find_map(|map| match setting.copies.locate(CopyKey { shuffle: 7, map }, 0..1, Tier::Device) {
        Located::Device(pin) => Some(pin),
        Located::Host(_) => None,
    });
    assert!(stream.lease(60 * MIB, Wait::at_most(Duration::ZERO)).is_err(), "one is in use");
    assert_eq!(setting.copies.counts().copies, 1);
    drop(pin);
    let all = stream.lease(60 * MIB, Wait::at_most(Duration::ZERO)).expect("it can be dropped now");
    assert_eq!((setting.copies.counts().pressure_drops, setting.copies.counts().copies), (12, 0));
    stream.free(all);
    drop(stream);
    setting.arena.settle(long()).map(|_| ()).expect("a device");
    setting.finish();
}

#[test]
fn a_lost_device_has_no_copies_and_the_host_serves() {
    let mut setting = Setting::new(60, 2);
    let outputs: Vec<Output> = (0..4).map(|seed| Output::new(seed, 3 * MIB)).collect();
    for (map, output) in outputs.iter().enumerate() {
        setting.keep(&output.as_host(3, map as u64)).expect("room");
    }
    let Located::Device(pin) = setting.copies.locate(CopyKey { shuffle: 3, map: 1 }, 0..5, Tier::Device) else {
        panic!("a miss")
    };
    let leased = setting.arena.memory().leased_bytes();
    // In the middle of a read that comes in pieces.
    setting.simulator.configure("lose=cuMemcpyDtoHAsync_v2@2");
    let mut target = vec![0; outputs[0].bytes.len()];
    assert_eq!(setting.read(CopyKey { shuffle: 3, map: 0 }, 0..5, &mut target), Err(Miss::Lost));
    let (calls, counts) = (setting.calls(), setting.copies.counts());
    assert_eq!((counts.lost, counts.misses), (4, 1));
    assert_eq!((counts.copies, counts.bytes), (1, pin.len()), "a reader has not noticed yet");
    for map in 0..5 {
        let key = CopyKey { shuffle: 3, map };
        assert!(matches!(setting.copies.locate(key, 0..1, Tier::Device), Located::Host(Miss::Lost)));
        assert_eq!(setting.keep(&outputs[0].as_host(4, map)), Err(NotKept::Lost));
        assert!(!setting.copies.forget(key));
    }
    assert!(!setting.copies.shrink(1));
    drop(pin);
    assert_eq!((setting.copies.counts().copies, setting.copies.counts().bytes), (0, 0));
    assert_eq!(setting.arena.memory().leased_bytes(), leased, "what the device had stays as it is");
    assert_eq!(setting.arena.statistics().leaked_leases, 4);
    assert_eq!(setting.calls(), calls, "the driver is left alone");
    let Setting { copies, arena, staging, context, simulator } = setting;
    drop((copies, arena, staging));
    assert!(context.statistics().leaked_bytes > 0);
    drop(context);
    assert_eq!(simulator.violations(), Vec::<String>::new());
}

#[test]
fn a_device_that_is_lost_while_an_output_comes_keeps_nothing() {
    for fault in ["lose=cuMemcpyHtoDAsync_v2@2", "hang=cuMemcpyHtoDAsync_v2@2", "sticky=cuStreamQuery@2:700"] {
        let mut setting = Setting::new(60, 2);
        let output = Output::new(1, 3 * MIB);
        setting.simulator.configure(fault);
        let Setting { copies, arena, staging, .. } = &mut setting;
        let wait = Wait::at_most(Duration::from_millis(50));
        assert_eq!(copies.keep(arena, staging, &output.as_host(1, 1), wait), Err(NotKept::Lost), "{fault}");
        let counts = setting.copies.counts();
        assert_eq!((counts.copies, counts.bytes, counts.failed, counts.kept), (0, 0, 1, 0), "{fault}");
    }
}

/// Each query has a few map outputs; its shuffle ends while the next one's begins, and some readers are late.
#[test]
fn a_thousand_queries_leave_nothing_behind() {
    let mut setting = Setting::new(10, 2);
    let outputs: Vec<Output> = (0..6).map(|seed| Output::new(seed, MIB / 2)).collect();
    let (mut late, mut most_events) = (None, 0);
    for query in 0..1000u32 {
        for map in 0..1 + u64::from(query % 3) {
            let output = &outputs[(query as usize + map as usize) % outputs.len()];
            let kept = setting.keep(&output.as_host(query, map));
            assert_eq!(kept, Ok(()), "{query}");
            if query.is_multiple_of(50) {
                setting.check_read(output, CopyKey { shuffle: query, map }, 0..5);
            }
        }
        let pinned = setting.copies.locate(CopyKey { shuffle: query, map: 0 }, 0..1, Tier::Device);
        if let Some(before) = query.checked_sub(1) {
            setting.copies.forget_shuffle(before);
        }
        late = Some(pinned);
        most_events = most_events.max(setting.simulator.counts().events);
    }
    setting.copies.forget_shuffle(999);
    assert_eq!(setting.copies.counts().copies, 1, "the last reader's");
    drop(late);
    let counts = setting.copies.counts();
    assert_eq!((counts.kept, counts.forgotten + counts.evictions, counts.misses), (1999, 1999, 0));
    assert_eq!((most_events, setting.simulator.calls("cuMemAlloc_v2")), (0, 1), "of the driver");
    setting.finish();
}

#[test]
fn threads_keep_read_and_drop_side_by_side() {
    let setting = Setting::new(12, 2);
    let outputs: Vec<Output> = (0..4).map(|seed| Output::new(seed, MIB)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (copies, arena, context, outputs) = (&setting.copies, &setting.arena, &setting.context, &outputs);
            scope.spawn(move || {
                let mut staging = Staging::pinned(context, MIB / 2).expect("pinned memory");
                for turn in 0..30u32 {
                    let map = u64::from((turn * 7 + thread) % 4);
                    let (output, shuffle) = (&outputs[map as usize], turn % 3);
                    let key = CopyKey { shuffle, map };
                    let _ = copies.keep(arena, &mut staging, &output.as_host(shuffle, map), long());
                    let mut target = vec![0; output.bytes.len()];
                    let read = copies.pin(key, &(0..5));
                    let read = read.and_then(|pin| copies.read(&mut staging, &pin, &mut target, long()));
                    match copies.answered(read, target.len()) {
                        Ok(()) => assert!(target == output.bytes),
                        Err(why) => assert_eq!(why, Miss::Absent),
                    }
                    if turn % 5 == thread {
                        copies.forget_shuffle(shuffle);
                    }
                }
            });
        }
    });
    let counts = setting.copies.counts();
    assert!(counts.hits > 0 && counts.damaged == 0, "{counts:?}");
    (0..3).for_each(|shuffle| _ = setting.copies.forget_shuffle(shuffle));
    setting.finish();
}
