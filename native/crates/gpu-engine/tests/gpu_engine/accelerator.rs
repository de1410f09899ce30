//! The GPU as the accelerator of map outputs: the same data files as without it, whatever happens to it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_codec::{Codec, CodecOptions, EndMarkKey, FrameKey, Level, OutputId, Sealer};
use sluice_cuda::{Driver, Wait};
use sluice_cuda_sim::Simulator;
use sluice_engine::{Accelerator, AcceleratorBatch, ChecksumAlgorithm, ErrorKind, MapOutputWriter, Page, Sealing};
use sluice_gpu_engine::{
    CopyCounts, CopyKey, Counts, Declined, GpuAccelerator, GpuOptions, HostCopy, HostOutput, Kind, Miss, NotKept,
    Pages as GpuPages, Use,
};
use sluice_gpu_mem::PinnedProvider;
use sluice_mem::{Arena, ArenaOptions, HostProvider, Provider};
use sluice_testkit::{Value, unsafe_row};

use crate::setting::{Setting, module};
use crate::tables::{FAST, Row, Rows, page, table};

const LZ4: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };

/// Batches of 1 KiB or more, all of them, one at a time.
pub fn always() -> GpuOptions<'static> {
    GpuOptions {
        used: Use::Always,
        device: None,
        kernels: Path::new(""),
        memory_limit: None,
        cache_limit: 0,
        pinned_limit: 0,
        pages: None,
        least_bytes: 1024,
        codec: FAST,
        timeout: Duration::from_secs(600),
    }
}

/// A batch's pages, in memory.
pub struct Pages {
    memory: Vec<(Vec<u8>, usize, usize)>,
    fields: u32,
}

impl Pages {
    pub fn of(rows: &Rows) -> Self {
        let page = |rows: &[Row]| (page(rows, 8), rows.iter().map(|row| row.1.len()).sum(), rows.len());
        Self { memory: rows.rows.chunks(rows.page_rows.max(1)).map(page).collect(), fields: rows.fields }
    }

    pub fn fields(&self) -> u32 {
        self.fields
    }

    pub fn pages(&self) -> Vec<Page<'_>> {
        self.memory.iter().map(|(memory, used, entries)| Page { memory, used: *used, entries: *entries }).collect()
    }
}

pub fn sealing() -> Sealing {
    let output = OutputId { shuffle: 3, map: 4 };
    let sealer = Sealer::new(FrameKey::new(output, &[7; 16]).unwrap(), 11);
    Sealing { sealer, end_marks: EndMarkKey::new(output, &[9; 32]) }
}

const KIND: Kind = Kind::Batch { fields: 1, partitions: 2 };

/// Whether a batch of a MiB would be taken.
pub fn wants(gpu: &GpuAccelerator) -> bool {
    gpu.wants(1 << 20, KIND)
}

/// Waits until the device is known to be lost, without offering a batch; why it is.
fn lost(gpu: &GpuAccelerator) -> String {
    let begun = Instant::now();
    loop {
        if let Some(why) = gpu.lost() {
            return why;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "nobody has looked");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Lengths, bytes and the checksum of the rows.
pub type Output = (Vec<i64>, Vec<u8>, u64);

fn writer(
    arena: &Arc<Arena>,
    partitions: u32,
    options: CodecOptions,
    gpu: Option<&Arc<GpuAccelerator>>,
) -> MapOutputWriter {
    let writer = MapOutputWriter::new(Arc::clone(arena), partitions, options).unwrap().with_row_checksums();
    if let Some(gpu) = gpu {
        writer.accelerate(Arc::clone(gpu) as Arc<dyn Accelerator>);
    }
    writer
}

fn commit(writer: &MapOutputWriter) -> Output {
    let name = format!("sluice-gpu-output-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    let done = writer.commit(&path, ChecksumAlgorithm::None).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    (done.lengths, bytes, writer.row_checksum().unwrap())
}

pub fn output(batches: &[Rows], options: CodecOptions, gpu: Option<&Arc<GpuAccelerator>>) -> Output {
    let arena = Arena::host(64 << 20);
    let writer = writer(&arena, batches[0].partitions, options, gpu);
    for (i, batch) in batches.iter().enumerate() {
        let pages = Pages::of(batch);
        writer.encode_accelerated(i as i64, pages.fields, &pages.pages()).unwrap();
    }
    let output = commit(&writer);
    drop(writer);
    assert_eq!(arena.leased_bytes(), 0);
    output
}

/// Both ways make the same map output; what the GPU did and declined meanwhile.
fn check(gpu: &Arc<GpuAccelerator>, batches: &[Rows], options: CodecOptions) -> Counts {
    let before = gpu.counts();
    assert!(output(batches, options, Some(gpu)) == output(batches, options, None));
    let (after, mut difference) = (gpu.counts(), Counts::default());
    difference.encoded_batches = after.encoded_batches - before.encoded_batches;
    difference.encoded_bytes = after.encoded_bytes - before.encoded_bytes;
    difference.frames_by_cpu = after.frames_by_cpu - before.frames_by_cpu;
    difference.too_small = after.too_small - before.too_small;
    difference.cpu_faster = after.cpu_faster - before.cpu_faster;
    difference.paused = after.paused - before.paused;
    difference.busy = after.busy - before.busy;
    difference.too_large = after.too_large - before.too_large;
    difference.checks_failed = after.checks_failed - before.checks_failed;
    difference.wrong_results = after.wrong_results - before.wrong_results;
    difference.no_memory = after.no_memory - before.no_memory;
    difference.device_failed = after.device_failed - before.device_failed;
    difference.device_lost = after.device_lost - before.device_lost;
    difference
}

fn bytes(batches: &[Rows]) -> u64 {
    batches.iter().flat_map(|batch| &batch.rows).map(|row| row.1.len() as u64).sum()
}

#[test]
fn map_outputs_are_those_of_the_cpu() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    let batches = [table(&[0, 1, 6, 8], 900, 5, 0, 1), table(&[2, 3, 4, 10], 1200, 5, 1, 2)];
    let zstd = CodecOptions { codec: Codec::Zstd, level: Level::Fast };
    for options in [FAST, LZ4, zstd, CodecOptions { codec: Codec::None, level: Level::Plain }] {
        let counts = check(&gpu, &batches, options);
        assert_eq!((counts.encoded_batches, counts.encoded_bytes), (2, bytes(&batches)));
        assert_eq!(counts.frames_by_cpu > 0, options.codec == Codec::Zstd);
    }
    assert!(gpu.counts().encode_nanos > 0);
    let key = CopyKey { shuffle: 1, map: 1 };
    let host = HostOutput { key, file: Path::new("/absent"), lengths: &[1], host: HostCopy::Disk, sealed: false };
    assert_eq!((gpu.keep(&host), gpu.read_copy(key, 0..1, &mut [0])), (Err(NotKept::Off), Err(Miss::Off)));
    assert!(gpu.copies().is_none() && gpu.lacks_cache(0).is_none() && gpu.copy_counts() == CopyCounts::default());
    let small = [table(&[1], 20, 5, 0, 3)];
    assert_eq!(check(&gpu, &small, FAST), Counts { too_small: 1, ..Counts::default() });
    drop(gpu);
    setting.finish();
}

fn noise(seed: u32, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| sluice_testkit::xorshift(u64::from(seed) << 32 ^ i) as u8).collect()
}

#[test]
fn sealed_frames_are_those_of_the_cpu() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    let pages = Pages::of(&table(&[0, 6], 700, 4, 0, 6));
    let sealed = |gpu: Option<&Arc<GpuAccelerator>>| {
        let writer = writer(&Arena::host(32 << 20), 4, LZ4, gpu).with_sealing(sealing());
        writer.encode_accelerated(0, pages.fields, &pages.pages()).unwrap();
        commit(&writer)
    };
    assert!(sealed(Some(&gpu)) == sealed(None));
    assert_eq!(gpu.counts().encoded_batches, 1);
    drop(gpu);
    setting.finish();
}

#[test]
fn what_it_declines_the_cpu_encodes() {
    let Some(setting) = Setting::simulated() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    let long = [Rows { fields: 1, partitions: 2, rows: vec![(1, vec![0; 70_000]); 2], page_rows: 9 }];
    assert_eq!(check(&gpu, &long, FAST), Counts { too_large: 1, ..Counts::default() });
    let good = [table(&[0, 6], 300, 3, 0, 7)];
    assert_eq!(check(&gpu, &good, FAST).encoded_batches, 1, "rows of one shuffle say nothing of another's");
    assert_eq!(gpu.failure(), None);
    setting.simulator().configure("fail=cuLaunchKernel@3:1");
    assert_eq!(check(&gpu, &good, FAST), Counts { device_failed: 1, ..Counts::default() });
    assert!(gpu.failure().unwrap().contains("cuLaunchKernel"), "{:?}", gpu.failure());
    until_unpaused(&gpu);
    setting.simulator().configure("fail=cuMemcpyDtoHAsync_v2@2:1");
    assert_eq!(check(&gpu, &good, FAST), Counts { device_failed: 1, ..Counts::default() }, "in the middle");
    until_unpaused(&gpu);
    let mut held = Vec::new();
    let soon = Wait::at_most(Duration::ZERO);
    for bytes in [64 << 20, 4 << 20, 256 << 10, 16 << 10] {
        while let Ok(lease) = setting.stream.lease(bytes, soon) {
            held.push(lease);
        }
    }
    assert_eq!(check(&gpu, &good, FAST), Counts { no_memory: 1, ..Counts::default() });
    assert_eq!(check(&gpu, &good, FAST), Counts { paused: 1, ..Counts::default() }, "a while after that");
    until_unpaused(&gpu);
    held.into_iter().for_each(|lease| setting.stream.free(lease));
    setting.stream.flush();
    assert_eq!(check(&gpu, &good, FAST).encoded_batches, 1);
    // The partition of the last row is none: what is wrong is the CPU's to say.
    let writer = writer(&Arena::host(32 << 20), 2, FAST, Some(&gpu));
    let wrong = Pages::of(&Rows { fields: 1, partitions: 3, rows: vec![(2, vec![0; 1024]); 2], page_rows: 9 });
    assert_eq!(writer.encode_accelerated(0, 1, &wrong.pages()).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(gpu.counts().checks_failed, 1);
    drop((gpu, writer));
    setting.finish();
}

/// Waits for the end of the pause after a failure.
fn until_unpaused(gpu: &GpuAccelerator) {
    let begun = Instant::now();
    while !wants(gpu) {
        assert!(begun.elapsed() < Duration::from_secs(120), "it is left alone for ever");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Frames that are not what they should be are found when they come to the host; after that the device is not used.
#[test]
fn a_gpu_that_makes_wrong_frames_is_given_up() {
    let Some(setting) = Setting::simulated() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    // The parts of a checksum are joined behind this barrier.
    let site = setting.told().1.into_iter().find(|site| site.starts_with("crc.cuh") && site.ends_with(" barrier"));
    setting.skip(&site.unwrap());
    let batches = [table(&[0, 6], 3000, 3, 0, 7), table(&[0, 6], 300, 3, 0, 8)];
    assert_eq!(check(&gpu, &batches, FAST), Counts { wrong_results: 1, device_lost: 1, ..Counts::default() });
    assert!(lost(&gpu).contains("it makes what is wrong: a frame whose payload is damaged"), "{}", lost(&gpu));
}

/// The CPU knows better what is wrong with pages: a device that refuses good ones is not to be trusted.
#[test]
fn a_gpu_that_finds_good_pages_wrong_is_given_up() {
    let Some(setting) = Setting::simulated() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    let pages = Pages::of(&Rows { fields: 1, partitions: 3, rows: vec![(2, vec![0; 1024]); 2], page_rows: 9 });
    let pages = pages.pages();
    // The rows' partition is none of two.
    let batch = AcceleratorBatch { fields: 1, partitions: 2, pages: &pages, options: FAST, hash_rows: false };
    let declined = gpu.encode(&batch, &mut |_| Ok(())).unwrap_err();
    assert!(declined.finds_pages_wrong, "{declined:?}");
    let took = Duration::from_millis(1);
    for other in [None, Some(sluice_engine::Declined::new("no room"))] {
        gpu.encoded_by_cpu(&batch, took, other);
        assert_eq!(gpu.lost(), None, "{other:?}");
    }
    gpu.encoded_by_cpu(&batch, took, Some(declined));
    assert!(lost(&gpu).contains("it finds something wrong with pages that the CPU encodes"), "{}", lost(&gpu));
    assert_eq!((gpu.counts().checks_failed, gpu.counts().wrong_results), (1, 1));
}

#[test]
fn frames_for_which_the_host_has_no_room_are_not_taken() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&always()).unwrap();
    let arena = Arena::host(1 << 20);
    let rows = (0..2000u32).map(|i| (i % 3, unsafe_row(&[Value::Bytes(noise(i, 1000))]))).collect();
    let pages = Pages::of(&Rows { fields: 1, partitions: 3, rows, page_rows: 700 });
    let writer = writer(&arena, 3, FAST, Some(&gpu));
    assert_eq!(writer.encode_accelerated(0, 1, &pages.pages()).unwrap_err().kind, ErrorKind::NoMemory);
    assert!(writer.memory_bytes() > 0, "the CPU's encoder keeps what fits");
    assert_eq!((gpu.counts().not_taken, gpu.counts().encoded_batches), (1, 0));
    drop((gpu, writer));
    setting.finish();
}

/// The GPU, which is much slower than the CPU here, is tried once with batches of three partitions: when it is free.
#[test]
fn a_trial_that_finds_no_lane_is_not_spent() {
    let Some(setting) = Setting::simulated() else { return };
    let options = GpuOptions { used: Use::WhenItPays, least_bytes: 16 << 10, ..always() };
    let gpu = setting.accelerator(&options).unwrap();
    let pages = Pages::of(&table(&[0], 1000, 2, 0, 9));
    let pages = pages.pages();
    let batch = |partitions| AcceleratorBatch { fields: 1, partitions, pages: &pages, options: FAST, hash_rows: false };
    let mut frames = 0;
    gpu.encode(&batch(2), &mut |_| {
        frames += 1;
        assert!(gpu.encode(&batch(3), &mut |_| Ok(())).is_err());
        Ok(())
    })
    .unwrap();
    assert!(frames > 0);
    assert_eq!((gpu.counts().busy, gpu.counts().encoded_batches), (frames, 1));
    gpu.encode(&batch(3), &mut |_| Ok(())).unwrap();
    drop(gpu);
    setting.finish();
}

#[test]
fn several_threads_encode_at_a_time() {
    let Some(setting) = Setting::new() else { return };
    let gpu = setting.accelerator(&GpuOptions { pinned_limit: 8 << 20, ..always() }).unwrap();
    assert_eq!(gpu.lanes(), 2);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let gpu = &gpu;
            scope.spawn(move || {
                for round in 0..3 {
                    let batches = [table(&[0, 6, 8], 300, 3, 0, seed * 10 + round)];
                    assert!(output(&batches, FAST, Some(gpu)) == output(&batches, FAST, None));
                }
            });
        }
    });
    let counts = gpu.counts();
    assert_eq!(counts.encoded_batches + counts.busy, 12, "{counts:?}");
    assert!(counts.encoded_batches > 0);
    drop(gpu);
    setting.finish();
}

/// Pages from which much was copied are pinned, and their batches are the same; others count too. All of them are
/// ordinary memory again when the accelerator has ended.
#[test]
fn pages_are_pinned_where_much_is_copied_from_them() {
    let Some(setting) = Setting::new() else { return };
    let regions = Arc::new(PinnedProvider::for_sources(HostProvider::default()));
    let arena = Arena::with_provider(Arc::clone(&regions) as Arc<dyn Provider>, &ArenaOptions::with_limit(128 << 20));
    let pages = GpuPages { regions: &regions, limit_bytes: 64 << 20 };
    let gpu = setting.accelerator(&GpuOptions { pages: Some(pages), ..always() }).unwrap();
    let rows = table(&[0, 6, 8], 300, 3, 0, 1);
    let filled = page(&rows.rows, 8);
    let used: usize = rows.rows.iter().map(|row| row.1.len()).sum();
    let mut lease = arena.lease(filled.len()).unwrap();
    lease.as_mut_slice()[..filled.len()].copy_from_slice(&filled);
    let expected = rows.frames_of_cpu(FAST);
    let encode = || {
        let pages = [Page { memory: &lease.as_slice()[..filled.len()], used, entries: 300 }];
        let batch = AcceleratorBatch { fields: 3, partitions: 3, pages: &pages, options: FAST, hash_rows: false };
        let mut frames = Vec::new();
        gpu.encode(&batch, &mut |frame| {
            frames.push((frame.partition, frame.bytes.to_vec()));
            Ok(())
        })
        .unwrap();
        assert!(frames == expected);
        (gpu.counts().pinned_bytes, gpu.counts().unpinned_bytes)
    };
    let bytes = (used + 300 * 8) as u64;
    assert_eq!(encode(), (0, bytes));
    assert!(regions.copies(lease.as_ptr().addr(), 64 << 20), "what others have copied counts");
    assert_eq!(encode(), (bytes, bytes));
    assert_eq!(regions.statistics().pinned_bytes, 64 << 20);
    drop(gpu);
    assert_eq!((regions.statistics().pinned_bytes, regions.statistics().kept_regions), (0, 0));
    drop(lease);
    setting.finish();
}

#[test]
fn a_lost_device_is_not_used_again() {
    for (fault, timeout) in [("lose=cuLaunchKernel@4", 600_000), ("hang=cuLaunchKernel@2", 200)] {
        let Some(setting) = Setting::simulated() else { return };
        let options = GpuOptions { timeout: Duration::from_millis(timeout), ..always() };
        let gpu = setting.accelerator(&options).unwrap();
        assert_eq!(gpu.lost(), None);
        setting.simulator().configure(fault);
        let batches = [table(&[0, 6], 300, 3, 0, 7), table(&[0, 6], 300, 3, 0, 8)];
        assert_eq!(check(&gpu, &batches, FAST), Counts { device_lost: 2, ..Counts::default() }, "{fault}");
        assert!(gpu.lost().is_some() && !wants(&gpu), "{fault}");
    }
}

#[test]
fn it_is_opened_with_the_kernels_of_a_folder() {
    let Some(module) = module() else { return };
    let simulator = Simulator::start("multiprocessors=1");
    let driver = Driver::open_at(&simulator.path()).unwrap();
    let folder = std::env::temp_dir().join(format!("sluice-gpu-open-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let options = GpuOptions { kernels: &folder, memory_limit: Some(256 << 20), ..always() };
    assert_eq!(GpuAccelerator::open(&driver, &options).err(), Some(Declined::NoKernels));
    std::fs::write(folder.join("sm_90.cubin"), "no kernels\0").unwrap();
    assert!(matches!(GpuAccelerator::open(&driver, &options).err(), Some(Declined::Device(_))), "no module");
    std::fs::write(folder.join("sm_90.cubin"), [&Simulator::image(&["read_entries"])[..], b"\0"].concat()).unwrap();
    assert!(matches!(GpuAccelerator::open(&driver, &options).err(), Some(Declined::Device(_))), "another version's");
    std::fs::copy(module, folder.join("sm_90.cubin")).unwrap();
    let other = GpuOptions { device: Some("GPU-of-another-machine"), ..options };
    assert!(matches!(GpuAccelerator::open(&driver, &other).err(), Some(Declined::Device(_))));
    let gpu = Arc::new(GpuAccelerator::open(&driver, &options).unwrap());
    let told = gpu.describe();
    assert!(told.contains("up to 256 MiB of its memory, 1 batches at a time"), "{told}");
    let defaults = GpuOptions { memory_limit: None, ..options };
    let by_default = GpuAccelerator::open(&driver, &defaults).unwrap().describe();
    assert!(by_default.contains("up to 128 MiB"), "{by_default}");
    assert_eq!(check(&gpu, &[table(&[0, 6], 300, 3, 0, 7)], FAST).encoded_batches, 1);
    std::fs::remove_dir_all(&folder).unwrap();
    drop(gpu);
    let counts = simulator.counts();
    assert_eq!((counts.allocations, counts.modules, counts.registrations, counts.contexts), (0, 0, 0, 0), "{counts:?}");
}

/// Long ones, which `./sluice test` leaves to `--all`.
mod in_all {
    use super::*;

    /// Where the memory limit is too low for the batches of one shuffle, others are encoded all the same.
    #[test]
    fn a_batch_that_never_fits_pauses_only_its_kind() {
        let Some(module) = module() else { return };
        let setting = Setting::with_module(module, 128 << 20);
        let gpu = setting.accelerator(&always()).unwrap();
        // Frames of a row or two, with a hundred columns.
        let large = [table(&[0; 100], 5000, 5000, 0, 1)];
        let small = [table(&[0, 6], 300, 3, 0, 2)];
        for _ in 0..2 {
            assert_eq!(check(&gpu, &large, FAST), Counts { too_large: 1, ..Counts::default() });
            let counts = check(&gpu, &small, FAST);
            assert_eq!((counts.encoded_batches, counts.paused), (1, 0));
        }
        drop(gpu);
        setting.finish();
    }

    /// Whoever asks first gets the answer that the batch gets: else it would go to a thread that then encodes it
    /// itself.
    #[test]
    fn a_batch_is_as_large_for_all_who_ask() {
        let Some(setting) = Setting::new() else { return };
        let least = 4 << 10;
        let gpu = setting.accelerator(&GpuOptions { least_bytes: least, ..always() }).unwrap();
        // Rows of 16 bytes, with entries of 8: the least is reached at 171 rows, whose rows alone are 2.7 KiB.
        for (rows, expected) in [(170, false), (171, true), (300, true)] {
            let batches = [table(&[0], rows, 2, 0, 9)];
            assert_eq!(gpu.wants(rows as usize * 24, KIND), expected, "{rows} rows");
            let counts = check(&gpu, &batches, FAST);
            assert_eq!(
                (counts.encoded_batches, counts.too_small),
                if expected { (1, 0) } else { (0, 1) },
                "{rows} rows"
            );
        }
        assert_eq!(gpu.counts().too_small, 2, "who asks is counted too");
        drop(gpu);
        setting.finish();
    }

    /// Calls of the driver that do not return hold up their threads, all that there may be: without another batch the
    /// device is given up, and then the CPU encodes.
    #[test]
    fn a_driver_that_does_not_return_is_not_called_again() {
        for lanes in 1..=2 {
            let Some(setting) = Setting::simulated() else { return };
            let pinned_limit = lanes * (4 << 20);
            let options = GpuOptions { timeout: Duration::from_millis(250), pinned_limit, ..always() };
            let gpu = setting.accelerator(&options).unwrap();
            assert_eq!(gpu.lanes(), lanes);
            let batches = [table(&[0, 6], 300, 3, 0, 1)];
            let simulator = setting.simulator();
            simulator.configure("block=cuLaunchKernel@3+");
            std::thread::scope(|scope| {
                let held_up: Vec<_> = (0..lanes).map(|_| scope.spawn(|| output(&batches, FAST, Some(&gpu)))).collect();
                assert!(lost(&gpu).contains("calls of the driver have not returned for more than"), "{}", lost(&gpu));
                assert!(!wants(&gpu));
                assert!(output(&batches, FAST, Some(&gpu)) == output(&batches, FAST, None));
                assert!(gpu.counts().device_lost >= 2 && gpu.counts().busy == 0, "{:?}", gpu.counts());
                simulator.release();
                let expected = output(&batches, FAST, None);
                held_up.into_iter().for_each(|held_up| assert!(held_up.join().unwrap() == expected));
            });
            assert_eq!(gpu.counts().device_lost, 2 + lanes as u64);
        }
    }

    /// A wait that fails leaves copies under way: the device is lost, and the lane's memory is used by nobody else.
    #[test]
    fn a_wait_that_fails_loses_the_device() {
        for nth in 1..=3 {
            let Some(setting) = Setting::simulated() else { return };
            let gpu = setting.accelerator(&always()).unwrap();
            setting.simulator().configure(&format!("fail=cuStreamQuery@{nth}:1"));
            let batches = [table(&[0, 6], 300, 3, 0, 7), table(&[0, 6], 300, 3, 0, 8)];
            let launches = setting.simulator().calls("cuLaunchKernel");
            let counts = check(&gpu, &batches, FAST);
            assert_eq!(counts, Counts { device_lost: 2, ..Counts::default() }, "question {nth}");
            let of_one = setting.simulator().calls("cuLaunchKernel") - launches;
            assert!(lost(&gpu).contains("a wait for its work failed: cuStreamQuery"), "{}", lost(&gpu));
            assert!(of_one > 0 && !wants(&gpu));
            check(&gpu, &batches, FAST);
            assert_eq!(
                setting.simulator().calls("cuLaunchKernel"),
                launches + of_one,
                "the driver is not called any more"
            );
        }
    }

    /// Each lane has pinned memory; where the driver pins less there are fewer, and where it pins none there is no GPU.
    #[test]
    fn there_are_as_many_lanes_as_the_driver_pins() {
        let Some(setting) = Setting::simulated() else { return };
        let engine = setting.engine().unwrap();
        setting.simulator().configure("pinned=9m");
        let options = GpuOptions { pinned_limit: 32 << 20, ..always() };
        let gpu = Arc::new(GpuAccelerator::of(engine, 0, &options).unwrap());
        assert_eq!(gpu.lanes(), 2);
        let told = gpu.describe();
        assert!(told.contains("2 batches at a time and not 8, because cuMemHostRegister_v2"), "{told}");
        assert_eq!(gpu.counts().lanes_refused, 6);
        assert!(gpu.lacks_lanes().is_some_and(|why| told.ends_with(&why)), "{told}");
        assert_eq!(check(&gpu, &[table(&[0, 6], 300, 3, 0, 7)], FAST).encoded_batches, 1);
        drop(gpu);
        let engine = setting.engine().unwrap();
        setting.simulator().configure("pinned=0");
        let none = GpuAccelerator::of(engine, 0, &options).err().unwrap();
        assert!(none.to_string().contains("cuMemHostRegister_v2"), "{none}");
        let untested = setting.engine().err().unwrap();
        assert!(untested.to_string().contains("cuMemHostRegister_v2"), "the self-test needs some, too: {untested}");
        setting.finish();
    }

    /// More frames than are described at a time, and more bytes than the buffer of an encode has.
    #[test]
    fn large_outputs_come_in_pieces() {
        let Some(setting) = Setting::new() else { return };
        let gpu = setting.accelerator(&always()).unwrap();
        let many = [table(&[2], 1500, 100_000, 0, 4)];
        assert_eq!(check(&gpu, &many, FAST).encoded_batches, 1);
        let rows = (0..100u32).map(|i| (i % 3, unsafe_row(&[Value::Bytes(noise(i, 60_000))]))).collect();
        let long = [Rows { fields: 1, partitions: 3, rows, page_rows: 40 }];
        assert_eq!(check(&gpu, &long, FAST).encoded_batches, 1);
        drop(gpu);
        setting.finish();
    }

    /// What the caller does with the frames is not the driver's time, and neither are pauses between batches.
    #[test]
    fn a_slow_caller_does_not_lose_the_device() {
        let Some(setting) = Setting::simulated() else { return };
        let gpu = setting.accelerator(&GpuOptions { timeout: Duration::from_millis(200), ..always() }).unwrap();
        let rows = table(&[0], 200, 2, 0, 9);
        let pages = Pages::of(&rows);
        let pages = pages.pages();
        let batch = AcceleratorBatch { fields: 1, partitions: 2, pages: &pages, options: FAST, hash_rows: false };
        let mut pauses = vec![Duration::from_millis(1500)];
        let taken = gpu.encode(&batch, &mut |_| {
            // Longer than four times the timeout.
            pauses.pop().into_iter().for_each(std::thread::sleep);
            Ok(())
        });
        // On a machine that is busy the wait for work may take longer than the timeout; that is another reason.
        let why = gpu.lost().unwrap_or_default();
        assert!(!why.contains("have not returned"), "{taken:?}: {why}");
    }

    /// The simulated GPU is much slower than the CPU, so that the policy gives it a trial now and then.
    #[test]
    fn a_gpu_that_does_not_pay_is_left_alone() {
        let Some(setting) = Setting::simulated() else { return };
        let options = GpuOptions { used: Use::WhenItPays, least_bytes: 16 << 10, ..always() };
        let gpu = setting.accelerator(&options).unwrap();
        assert_eq!(gpu.counts(), Counts::default(), "measurements are not counted");
        assert_eq!(gpu.lacks_lanes(), None);
        let batches: Vec<Rows> = (0..6).map(|seed| table(&[0, 6, 8], 300, 3, 0, seed)).collect();
        let counts = check(&gpu, &batches, FAST);
        assert_eq!(counts.encoded_batches + counts.cpu_faster, 6);
        assert!(counts.encoded_batches > 0 && counts.cpu_faster > 0, "{counts:?}");
        drop(gpu);
        setting.finish();
    }

    /// One encode at a time: a second one, which begins while frames of the first are handed over, is the CPU's.
    #[test]
    fn a_busy_gpu_declines() {
        let Some(setting) = Setting::new() else { return };
        let gpu = setting.accelerator(&always()).unwrap();
        assert_eq!(gpu.lanes(), 1);
        let rows = table(&[0], 200, 2, 0, 9);
        let pages = Pages::of(&rows);
        let pages = pages.pages();
        let batch = AcceleratorBatch { fields: 1, partitions: 2, pages: &pages, options: FAST, hash_rows: false };
        let mut frames = 0;
        gpu.encode(&batch, &mut |_| {
            frames += 1;
            assert!(!wants(&gpu));
            assert!(gpu.encode(&batch, &mut |_| Ok(())).is_err());
            Ok(())
        })
        .unwrap();
        assert_eq!((gpu.counts().busy, gpu.counts().encoded_batches), (2 * frames, 1));
        assert!(frames > 0 && wants(&gpu));
        drop(gpu);
        setting.finish();
    }

    /// The driver copies to memory that is not pinned within the call, behind all of the stream's work. Work that hangs
    /// then ends at the time-out all the same, in the self-test and in an encode.
    #[test]
    fn work_that_hangs_before_a_copy_ends_at_the_timeout() {
        let wait = Wait::at_most(Duration::from_millis(200));
        for launch in [3, 40, 100] {
            let Some(setting) = Setting::simulated() else { return };
            setting.simulator().configure(&format!("pageable_waits=1 hang=cuLaunchKernel@{launch}"));
            let begun = Instant::now();
            let failed = setting.engine_within(wait).err().unwrap();
            assert!(failed.is_lost(), "launch {launch}: {failed}");
            assert!(begun.elapsed() < Duration::from_secs(50), "the call of a copy was waited for");
        }
        let Some(setting) = Setting::simulated() else { return };
        let gpu = setting.accelerator(&GpuOptions { timeout: Duration::from_millis(200), ..always() }).unwrap();
        setting.simulator().configure("pageable_waits=1 hang=cuLaunchKernel@2");
        let batches = [table(&[0, 6], 300, 3, 0, 7)];
        assert_eq!(check(&gpu, &batches, FAST), Counts { device_lost: 1, ..Counts::default() });
    }
}
