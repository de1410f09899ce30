//! The figures of the engine: encode, decode and sort on the device and from host to host, and parts of the kernels,
//! beside what the machine's cores do.

use std::hint::black_box;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_cuda::{Context, HostRegistration, Module, Wait};
use sluice_engine::{Abandoned, Accelerator, AcceleratorBatch, MapOutputWriter, PairMemory, PairSort};
use sluice_gpu_engine::{
    Batch as GpuBatch, Declined, GpuAccelerator, GpuEngine, GpuOptions, Kernels, MeasuredKernels, PinnedPairs,
    ResidentBatch, ResidentFrames, ResidentPairs, Use, image_for, sort_pairs,
};
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions};
use sluice_mem::Arena;

use crate::columns;
use crate::copies;
use crate::figure::{Figure, Target};
use crate::machine::Machine;
use crate::rows::{Batch, ORDERS, TEXTS, Table};
use crate::tier;

pub(crate) const GB: f64 = 1e9;
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
pub(crate) const FAST: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Fast };
const LZ4: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
/// Values of a column that is measured by itself: a multiple of the packing's tile, as a frame has.
const COLUMN: u32 = 1536;
/// Bits of a packed value.
const WIDTH: u32 = 20;
/// Bytes of a piece that is checked by itself, about as long as a frame.
const PIECE: u64 = 64 << 10;

/// How much is done for each figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// How often each is measured; the best counts.
    pub(crate) repeats: usize,
    /// How often the work is done each time.
    pub(crate) turns: u32,
    pub(crate) threads: usize,
    pub(crate) partitions: u32,
    /// Bytes of rows: of a map task's batch, and of one that fills the device.
    pub(crate) batches: [usize; 2],
    pub(crate) pairs: usize,
    /// Of all columns or pieces that are measured by themselves.
    pub(crate) column_bytes: usize,
    pub(crate) device_bytes: usize,
}

impl Sizes {
    pub(crate) fn of(machine: &Machine) -> Self {
        if machine.is_real() {
            let (batches, device_bytes) = ([16 << 20, 512 << 20], 24 << 30);
            let (repeats, turns, column_bytes) = (3, 10, 1 << 30);
            Self {
                repeats,
                turns,
                threads: 16,
                partitions: 200,
                batches,
                pairs: 10_000_000,
                column_bytes,
                device_bytes,
            }
        } else {
            let (batches, device_bytes) = ([100_000, 200_000], 1 << 30);
            let (repeats, turns, column_bytes) = (1, 1, 200_000);
            Self { repeats, turns, threads: 2, partitions: 5, batches, pairs: 3000, column_bytes, device_bytes }
        }
    }

    pub(crate) fn shortest(self, mut measure: impl FnMut() -> Result<Duration, String>) -> Result<Duration, String> {
        (0..self.repeats).try_fold(Duration::MAX, |best, _| Ok(best.min(measure()?)))
    }
}

pub(crate) fn long() -> Wait<'static> {
    Wait::at_most(LIMIT)
}

pub(crate) fn words(why: impl std::fmt::Display) -> String {
    why.to_string()
}

/// The kernels of the machine, and what they need.
struct Bench<'m> {
    machine: &'m Machine,
    module: Module,
    kernels: Kernels,
    measured: MeasuredKernels,
    arena: Arc<StreamArena>,
    sizes: Sizes,
}

impl<'m> Bench<'m> {
    /// `path`: a folder of `tools/gpu-kernels`; for the simulated driver a module of the kernels for the host.
    fn new(machine: &'m Machine, path: &Path, sizes: Sizes) -> Result<Self, String> {
        let context = &machine.context;
        let image = if machine.is_real() {
            image_for(path, context.device().facts().compute_capability)
                .map_err(words)?
                .ok_or_else(|| format!("{} has no kernels for this device", path.display()))?
        } else {
            std::fs::read(path).map_err(|why| format!("{}: {why}", path.display()))?
        };
        let module = context.load(&image).map_err(words)?;
        let kernels = Kernels::of(context, &module, long()).map_err(words)?;
        let measured = MeasuredKernels::of(&module).map_err(words)?;
        let arena = StreamArena::new(context.clone(), StreamArenaOptions::with_limit(sizes.device_bytes));
        Ok(Self { machine, module, kernels, measured, arena, sizes })
    }

    fn context(&self) -> &Context {
        &self.machine.context
    }

    fn stream(&self) -> ArenaStream {
        self.arena.attach(self.context().thread_stream())
    }

    /// The device's time for work that is put into the stream once; the work is done some times, and once before.
    fn time_of(
        &self,
        stream: &ArenaStream,
        mut work: impl FnMut() -> Result<(), Declined>,
    ) -> Result<Duration, String> {
        let on = stream.stream();
        let (begin, end) =
            (self.context().timing_event().map_err(words)?, self.context().timing_event().map_err(words)?);
        work().map_err(words)?;
        on.finish(long()).map_err(words)?;
        begin.record(on).map_err(words)?;
        for _ in 0..self.sizes.turns {
            work().map_err(words)?;
        }
        end.record(on).map_err(words)?;
        end.finish(long()).map_err(words)?;
        Ok(end.elapsed_since(&begin).map_err(words)? / self.sizes.turns)
    }

    /// A batch is encoded and decoded, on the device.
    fn on_device(&self, bytes: usize, names: [&'static str; 2], targets: [Target; 2]) -> Result<[Figure; 2], String> {
        let batch = Batch::of(&ORDERS, bytes, self.sizes.partitions, 1);
        let stream = self.stream();
        let pages = batch.pages();
        let asked =
            GpuBatch { fields: batch.table.fields, partitions: batch.partitions, pages: &pages, hash_rows: false };
        let resident = ResidentBatch::new(&self.kernels, &stream, asked, FAST, long()).map_err(words)?;
        let encode = self.sizes.shortest(|| self.time_of(&stream, || resident.encode()))?;
        let frames = batch.frames_of_cpu(FAST);
        if resident.frames(long()).map_err(words)? != frames.concat() {
            return Err("the device's frames are not those of the CPU".into());
        }
        drop(resident);
        let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
        let resident = ResidentFrames::new(&self.kernels, &stream, &frames, long()).map_err(words)?;
        let decode = self.sizes.shortest(|| self.time_of(&stream, || resident.decode()))?;
        let rows = batch.sorted_rows();
        if !resident.rows(long()).map_err(words)?.iter().eq(rows.iter().flat_map(|row| row.1)) {
            return Err("the device's rows are not those of the batch".into());
        }
        let rate = |time: Duration| Some(batch.row_bytes() as f64 / time.as_secs_f64() / GB);
        let figure = |name, value, target| Figure { name, unit: "GB/s of rows", value, beside: None, target };
        let [encode, decode] = [encode, decode].map(rate);
        Ok([figure(names[0], encode, targets[0]), figure(names[1], decode, targets[1])])
    }

    /// Pairs are sorted on the device, from host to host, and by a core.
    fn sorts(&self) -> Result<Vec<Figure>, String> {
        let pair = |i: u64| [(i ^ i >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24, i];
        let pairs: Vec<[u64; 2]> = (0..self.sizes.pairs as u64).map(pair).collect();
        let mut expected = pairs.clone();
        let begun = Instant::now();
        expected.sort_by_key(|pair| pair[0]);
        let by_core = begun.elapsed();
        let stream = self.stream();
        let mut resident = ResidentPairs::new(&self.kernels, &stream, &pairs, long()).map_err(words)?;
        let on_device = self.sizes.shortest(|| self.time_of(&stream, || resident.sort(long())))?;
        if resident.pairs(long()).map_err(words)? != expected {
            return Err("the device's pairs are in another order".into());
        }
        drop(resident);
        let mut sorted = pairs.clone();
        let from_host = self.sizes.shortest(|| {
            sorted.copy_from_slice(&pairs);
            let begun = Instant::now();
            sort_pairs(&self.kernels, &stream, &mut sorted, long()).map_err(words)?;
            Ok(begun.elapsed())
        })?;
        if sorted != expected {
            return Err("the sorted pairs are in another order".into());
        }
        let mut pinned = PinnedPairs::new(self.context(), pairs.len()).map_err(words)?;
        pinned.pairs()[..pairs.len()].copy_from_slice(&pairs);
        let from_pinned = self.sizes.shortest(|| {
            let begun = Instant::now();
            pinned.sort(&self.kernels, &stream, pairs.len(), long()).map_err(words)?;
            Ok(begun.elapsed())
        })?;
        if pinned.sort(&self.kernels, &stream, pairs.len(), long()).map_err(words)? != expected {
            return Err("the sorted pairs are in another order".into());
        }
        let figure = |name, time: Duration, target| Figure {
            name,
            unit: "ms",
            value: Some(time.as_secs_f64() * 1e3),
            beside: Some(("one core", Some(by_core.as_secs_f64() * 1e3))),
            target,
        };
        Ok(vec![
            figure("sort of 10 million pairs on the device", on_device, Target::AtMost(5.0)),
            figure("sort of 10 million pairs from host to host, pinned", from_pinned, Target::AtMost(10.0)),
            figure("the same, not pinned", from_host, Target::None),
        ])
    }

    /// References are sorted as a task has them: through a lane's buffer, and by a core by radix.
    fn sort_of_a_task(&self, accelerator: &GpuAccelerator) -> Result<Figure, String> {
        let mut memory = References::of(self.sizes.pairs);
        let sort = PairSort::new(self.sizes.pairs, 0, REFERENCE_BYTES - 1).ok_or("bytes of a number")?;
        let time = self.sizes.shortest(|| {
            let begun = Instant::now();
            accelerator.sort_pairs(sort, &mut memory).map_err(|declined| declined.why.to_owned())?;
            Ok(begun.elapsed())
        })?;
        let sorted = std::mem::take(&mut memory.sorted);
        let by_core = self.sizes.shortest(|| {
            let mut references = References::of(self.sizes.pairs);
            let begun = Instant::now();
            references.sort();
            let took = begun.elapsed();
            if references.pairs != sorted {
                return Err("the sorted references are in another order".into());
            }
            Ok(took)
        })?;
        Ok(Figure {
            name: "sort of 10 million references of a task, by 4 bytes",
            unit: "ms",
            value: Some(time.as_secs_f64() * 1e3),
            beside: Some(("one core, by radix", Some(by_core.as_secs_f64() * 1e3))),
            target: Target::None,
        })
    }

    /// Parts of the kernels by themselves.
    fn parts(&self) -> Result<[Figure; 4], String> {
        let count = (self.sizes.column_bytes / 8) as u64 / u64::from(COLUMN) * u64::from(COLUMN);
        let (shape, stream) = ((count / u64::from(COLUMN), COLUMN), self.stream());
        let values: Vec<u64> = (0..count).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - WIDTH)).collect();
        let (bytes, packed_bytes) = (count as usize * 8, count as usize * WIDTH as usize / 8);
        let lease = |bytes| stream.lease(bytes, long()).map_err(words);
        let (source, packed, target) = (lease(bytes + 64)?, lease(packed_bytes + 64)?, lease(bytes + 64)?);
        let (on, pieces) = (stream.stream(), (bytes as u64 / PIECE.min(bytes as u64), PIECE.min(bytes as u64)));
        // SAFETY: the values stay until the stream has finished.
        unsafe { on.copy_to_device(source.address(), values.as_ptr().cast(), bytes) }.map_err(words)?;
        on.finish(long()).map_err(words)?;
        let (kernels, parts) = (&self.kernels, &self.measured);
        let time = |work: &dyn Fn() -> Result<(), Declined>| self.sizes.shortest(|| self.time_of(&stream, work));
        // SAFETY: the leases have room for what is read and made, and are used on their own stream only.
        let times = unsafe {
            [
                time(&|| parts.statistics(kernels, on, source.address(), shape, target.address()))?,
                time(&|| parts.pack(kernels, on, source.address(), shape, WIDTH, packed.address()))?,
                time(&|| parts.crc(kernels, on, source.address(), pieces, target.address()))?,
                time(&|| parts.unpack(kernels, on, packed.address(), shape, WIDTH, target.address()))?,
            ]
        };
        let mut found = vec![0u64; values.len()];
        // SAFETY: as many bytes on both sides, which stay until the stream has finished.
        unsafe { on.copy_to_host(found.as_mut_ptr().cast(), target.address(), bytes) }.map_err(words)?;
        on.finish(long()).map_err(words)?;
        [source, packed, target].into_iter().for_each(|lease| stream.free(lease));
        if found != values {
            return Err("what was packed and unpacked is something else".into());
        }
        let checked = (pieces.0 * pieces.1) as usize;
        let rate = |bytes: usize, time: Duration| Some(bytes as f64 / time.as_secs_f64() / GB);
        let figure = |name, value, target| Figure { name, unit: "GB/s", value, beside: None, target };
        Ok([
            figure("statistics of columns, bytes read", rate(bytes, times[0]), Target::AtLeast(2000.0)),
            figure(
                "packing to 20 bits, bytes read and written",
                rate(bytes + packed_bytes, times[1]),
                Target::AtLeast(1500.0),
            ),
            figure(
                "unpacking of 20 bits, bytes read and written",
                rate(bytes + packed_bytes, times[3]),
                Target::AtLeast(1500.0),
            ),
            figure("checksums of 64 KiB each", rate(checked, times[2]), Target::AtLeast(500.0)),
        ])
    }

    /// Map tasks' batches from host to host, by one thread and by all, from ordinary and from pinned pages.
    fn host_to_host(&self, accelerator: &GpuAccelerator) -> Result<Vec<Figure>, String> {
        let [cores, ordinary, pinned] = self.rates(accelerator, &ORDERS, FAST)?;
        let figure = |name, value, beside, target| Figure { name, unit: "GB/s of rows", value, beside, target };
        let (one, all) =
            (Some(("the encoder of one core", cores[0])), Some(("the encoders of as many cores", cores[1])));
        Ok(vec![
            figure("encode from host to host, one thread", ordinary[0], one, Target::None),
            figure("the same, 16 threads", ordinary[1], all, Target::None),
            figure("the same from pinned pages, one thread", pinned[0], one, Target::None),
            figure("the same from pinned pages, 16 threads", pinned[1], all, Target::AtLeast(40.0)),
            Figure {
                name: "pinning of memory that is in use",
                unit: "GB/s",
                value: Some(self.pinning()?),
                beside: None,
                target: Target::None,
            },
        ])
    }

    /// How fast regions are pinned, each as long as an arena's.
    fn pinning(&self) -> Result<f64, String> {
        const REGION: usize = 64 << 20;
        let bytes = self.sizes.column_bytes;
        let mut memory = vec![1u8; bytes];
        let begun = Instant::now();
        let mut pinned = Vec::new();
        for region in memory.chunks_mut(REGION) {
            // SAFETY: the memory is there until all registrations have ended, or for ever.
            let registration =
                unsafe { self.context().register_host(NonNull::from(&mut *region).cast(), region.len()) };
            match registration {
                Ok(registration) => pinned.push(registration),
                Err(why) => {
                    std::mem::forget((memory, pinned));
                    return Err(words(why));
                }
            }
        }
        let took = begun.elapsed();
        if !pinned.into_iter().all(HostRegistration::end) {
            std::mem::forget(memory);
            return Err("pinned memory could not be given back".into());
        }
        Ok(bytes as f64 / took.as_secs_f64() / GB)
    }

    /// The same with texts, for which a codec is asked or not.
    fn texts(&self, accelerator: &GpuAccelerator) -> Result<Vec<Figure>, String> {
        let (plain, lz4) = (self.rates(accelerator, &TEXTS, FAST)?, self.rates(accelerator, &TEXTS, LZ4)?);
        let figure = |name, rates: &[[Option<f64>; 2]; 3]| Figure {
            name,
            unit: "GB/s of rows",
            value: rates[2][1],
            beside: Some(("the encoders of as many cores", rates[0][1])),
            target: Target::None,
        };
        Ok(vec![
            figure("encode of texts without a codec, pinned pages, 16 threads", &plain),
            figure("encode of texts with LZ4, pinned pages, 16 threads", &lz4),
        ])
    }

    /// What takes all batches, as many at a time as there are threads.
    fn accelerator(&self) -> Result<GpuAccelerator, String> {
        let options = GpuOptions {
            used: Use::Always,
            device: None,
            kernels: Path::new(""),
            memory_limit: None,
            pages: None,
            cache_limit: 0,
            pinned_limit: self.sizes.threads * (4 << 20),
            least_bytes: 1,
            codec: FAST,
            timeout: LIMIT,
        };
        let engine = GpuEngine::of(self.context(), &self.arena, &self.module, long()).map_err(words)?;
        GpuAccelerator::of(engine, 0, &options).map_err(words)
    }

    /// GB/s of rows by one thread and by all of them: of the cores, of the GPU from ordinary pages, and from pinned
    /// ones.
    fn rates(
        &self,
        accelerator: &GpuAccelerator,
        table: &'static Table,
        codec: CodecOptions,
    ) -> Result<[[Option<f64>; 2]; 3], String> {
        let make = |thread: usize| Batch::of(table, self.sizes.batches[0], self.sizes.partitions, thread as u64);
        let mut batches: Vec<Batch> = (0..self.sizes.threads).map(make).collect();
        let expected: Vec<usize> =
            batches.iter().map(|batch| batch.frames_of_cpu(codec).iter().map(Vec::len).sum()).collect();
        let rate = |batches: &[Batch], by: &(dyn Fn(&Batch) -> Result<Option<usize>, String> + Sync)| {
            let turns = self.sizes.turns * 2;
            let time = self.sizes.shortest(|| in_threads(batches, turns, by, &expected))?;
            let bytes: usize = batches.iter().map(Batch::row_bytes).sum();
            Ok::<_, String>(Some(bytes as f64 * f64::from(turns) / time.as_secs_f64() / GB))
        };
        let by_gpu = |batch: &Batch| encode_by(accelerator, batch, codec).map(Some);
        let by_core = |batch: &Batch| encode_by_core(batch, codec).map(|()| None);
        let cores = [rate(&batches[..1], &by_core)?, rate(&batches, &by_core)?];
        let ordinary = [rate(&batches[..1], &by_gpu)?, rate(&batches, &by_gpu)?];
        let registrations = pin(self.context(), &mut batches)?;
        let pinned = [rate(&batches[..1], &by_gpu)?, rate(&batches, &by_gpu)?];
        if !registrations.into_iter().all(HostRegistration::end) {
            std::mem::forget(batches);
            return Err("pinned memory could not be given back".into());
        }
        Ok([cores, ordinary, pinned])
    }
}

/// By so many bytes a task sorts ten million references.
const REFERENCE_BYTES: u32 = 4;

/// References of a task: addresses and numbers, and room for sorted ones.
struct References {
    pairs: Vec<[u64; 2]>,
    sorted: Vec<[u64; 2]>,
}

impl References {
    fn of(count: usize) -> Self {
        let pair = |i: u64| [i, (i ^ i >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24];
        Self { pairs: (0..count as u64).map(pair).collect(), sorted: vec![[0; 2]; count] }
    }

    /// As a task does it: one pass for each byte, the lowest first.
    fn sort(&mut self) {
        for shift in (0..8 * REFERENCE_BYTES).step_by(8) {
            let digit = |pair: &[u64; 2]| (pair[1] >> shift & 0xFF) as usize;
            let (mut places, mut before) = ([0; 256], 0);
            self.pairs.iter().for_each(|pair| places[digit(pair)] += 1);
            places.iter_mut().for_each(|place| before += std::mem::replace(place, before));
            for pair in &self.pairs {
                let place = &mut places[digit(pair)];
                self.sorted[*place] = *pair;
                *place += 1;
            }
            std::mem::swap(&mut self.pairs, &mut self.sorted);
        }
    }
}

impl PairMemory for References {
    fn read(&mut self, from: usize, target: &mut [[u64; 2]]) -> Result<(), Abandoned> {
        target.copy_from_slice(&self.pairs[from..from + target.len()]);
        Ok(())
    }

    fn write(&mut self, at: usize, sorted: &[[u64; 2]]) -> Result<(), Abandoned> {
        self.sorted[at..at + sorted.len()].copy_from_slice(sorted);
        Ok(())
    }
}

/// Pins all pages. If that fails halfway, those that are pinned end with their registrations.
fn pin(context: &Context, batches: &mut [Batch]) -> Result<Vec<HostRegistration>, String> {
    let mut pinned = Vec::new();
    for memory in batches.iter_mut().flat_map(Batch::memory) {
        let start = NonNull::from(&mut *memory).cast();
        // SAFETY: the batches are there until all registrations have ended, or for ever.
        pinned.push(unsafe { context.register_host(start, memory.len()) }.map_err(words)?);
    }
    Ok(pinned)
}

/// Bytes of the batch's frames, each of which is copied once, as a map output does.
fn encode_by(accelerator: &GpuAccelerator, batch: &Batch, options: CodecOptions) -> Result<usize, String> {
    let pages = batch.pages();
    let asked = AcceleratorBatch {
        fields: batch.table.fields,
        partitions: batch.partitions,
        pages: &pages,
        options,
        hash_rows: false,
    };
    thread_local!(static RUN: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) });
    RUN.with_borrow_mut(|run| {
        run.clear();
        let mut take = |frame: sluice_engine::AcceleratorFrame<'_>| {
            run.extend_from_slice(frame.bytes);
            Ok(())
        };
        accelerator.encode(&asked, &mut take).map_err(|declined| declined.why.to_owned())?;
        Ok(black_box(run).len())
    })
}

/// As a map output does it without an accelerator.
fn encode_by_core(batch: &Batch, options: CodecOptions) -> Result<(), String> {
    let arena = Arena::host(batch.row_bytes() * 4 + (64 << 20));
    let writer = MapOutputWriter::new(arena, batch.partitions, options).map_err(words)?;
    writer.encode(0, batch.table.fields, &batch.pages()).map(drop).map_err(words)
}

/// The time in which each batch is encoded so many times by a thread of its own, after one time that does not count.
/// Frames have together as many bytes as is expected, where the encoder tells.
fn in_threads(
    batches: &[Batch],
    turns: u32,
    encode: &(dyn Fn(&Batch) -> Result<Option<usize>, String> + Sync),
    expected: &[usize],
) -> Result<Duration, String> {
    let gates = [Barrier::new(batches.len() + 1), Barrier::new(batches.len() + 1)];
    let work = |batch: &Batch, expected: usize| {
        let first = encode(batch);
        gates[0].wait();
        let made = first.and_then(|_| {
            for _ in 0..turns {
                if encode(batch)?.is_some_and(|bytes| bytes != expected) {
                    return Err("the frames' length is another".into());
                }
            }
            Ok(())
        });
        gates[1].wait();
        made
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = batches
            .iter()
            .zip(expected)
            .map(|(batch, expected)| {
                let work = &work;
                scope.spawn(move || work(batch, *expected))
            })
            .collect();
        gates[0].wait();
        let begun = Instant::now();
        gates[1].wait();
        let time = begun.elapsed();
        for thread in threads {
            thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))?;
        }
        Ok(time)
    })
}

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Statistics, packing and checksums by themselves.
    Parts,
    /// Encode and decode on the device.
    Device,
    /// The sort of pairs.
    Sort,
    /// Encode from host to host.
    Host,
    /// The same of texts, with and without LZ4.
    Texts,
    /// Columns to frames and back, on the device.
    Columns,
    /// The device tier of map outputs.
    Tier,
}

/// Measures all, or a part. `kernels`: a folder of `tools/gpu-kernels`; for the simulated driver a module of kernels
/// for the host.
pub(crate) fn measure(
    machine: &Machine,
    kernels: &Path,
    sizes: Sizes,
    only: Option<Part>,
) -> Result<Vec<Figure>, String> {
    let bench = Bench::new(machine, kernels, sizes)?;
    let asked = |part| only.is_none_or(|only| only == part);
    let mut figures = Vec::new();
    let bare = copies::on_device(&machine.context, sizes.column_bytes, sizes.turns)?;
    figures.push(Figure {
        name: "copy within the device, read and written",
        unit: "GB/s",
        value: Some(bare / GB),
        beside: None,
        target: Target::None,
    });
    if asked(Part::Parts) {
        figures.extend(bench.parts()?);
    }
    if asked(Part::Device) {
        let names = ["encode on the device, a batch of 16 MiB", "decode on the device, the same"];
        figures.extend(bench.on_device(sizes.batches[0], names, [Target::None, Target::None])?);
        let names = ["encode on the device, 512 MiB", "decode on the device, 512 MiB"];
        figures.extend(bench.on_device(sizes.batches[1], names, [Target::AtLeast(60.0), Target::AtLeast(150.0)])?);
    }
    if asked(Part::Sort) {
        figures.extend(bench.sorts()?);
    }
    if asked(Part::Sort) || asked(Part::Host) || asked(Part::Texts) {
        let accelerator = bench.accelerator()?;
        if asked(Part::Sort) {
            figures.push(bench.sort_of_a_task(&accelerator)?);
        }
        if asked(Part::Host) {
            figures.extend(bench.host_to_host(&accelerator)?);
        }
        if asked(Part::Texts) {
            figures.extend(bench.texts(&accelerator)?);
        }
    }
    if asked(Part::Columns) {
        figures.extend(columns::measure(&bench.kernels, &bench.stream(), sizes, sizes.batches[1])?);
    }
    if asked(Part::Tier) {
        figures.extend(tier::measure(&machine.context, &bench.module, sizes, machine.is_real())?);
    }
    let mistakes = machine.simulator.as_ref().map(|simulator| simulator.violations()).unwrap_or_default();
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n"));
    }
    if !machine.is_real() {
        figures.iter_mut().for_each(Figure::without_times);
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_cuda_sim::compile_kernels;

    const FIGURES: [&str; 18] = [
        "copy within the device, read and written",
        "statistics of columns, bytes read",
        "packing to 20 bits, bytes read and written",
        "unpacking of 20 bits, bytes read and written",
        "checksums of 64 KiB each",
        "encode on the device, a batch of 16 MiB",
        "decode on the device, the same",
        "encode on the device, 512 MiB",
        "decode on the device, 512 MiB",
        "sort of 10 million pairs on the device",
        "sort of 10 million pairs from host to host, pinned",
        "the same, not pinned",
        "sort of 10 million references of a task, by 4 bytes",
        "encode from host to host, one thread",
        "the same, 16 threads",
        "the same from pinned pages, one thread",
        "the same from pinned pages, 16 threads",
        "pinning of memory that is in use",
    ];
    const TEXTS_COLUMNS_AND_TIER: [&str; 9] = [
        "encode of texts without a codec, pinned pages, 16 threads",
        "encode of texts with LZ4, pinned pages, 16 threads",
        "columns to frames on the device",
        "frames to columns on the device",
        "columns to frames to columns on the device",
        "device-tier hit to host memory, one thread",
        "the same, 16 threads",
        "device-tier hit to device memory, one thread",
        "dropping 1 GiB of the tier",
    ];

    /// What is made is compared with the CPU's by the measurement itself.
    #[test]
    fn simulated_figures_are_all_there_and_none_has_a_time() {
        let Some(kernels) = compile_kernels(&std::env::temp_dir(), "figures", &[]).expect("compiled") else { return };
        let machine = Machine::simulated(4).expect("made");
        let small = Sizes { batches: [6000, 9000], pairs: 300, column_bytes: 30_000, ..Sizes::of(&machine) };
        let figures = measure(&machine, &kernels, small, None).expect("measured");
        let names: Vec<&str> = figures.iter().map(|figure| figure.name).collect();
        assert_eq!(names, [&FIGURES[..], &TEXTS_COLUMNS_AND_TIER[..]].concat());
        assert!(figures.iter().all(|figure| figure.value.is_none()));
        assert_eq!(machine.simulator.as_ref().map(|simulator| simulator.counts().allocations), Some(0));
        let sorts = measure(&machine, &kernels, small, Some(Part::Sort)).expect("measured");
        assert_eq!(
            sorts.iter().map(|figure| figure.name).collect::<Vec<_>>(),
            [FIGURES[0], FIGURES[9], FIGURES[10], FIGURES[11], FIGURES[12]]
        );
        let none = measure(&machine, Path::new("absent"), small, None).expect_err("no kernels");
        assert!(none.contains("absent"), "{none}");
    }
}
