//! The figures of the device tier: what a hit costs beside one of the host's tier, and what it costs to leave it.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use sluice_cuda::{Context, Module};
use sluice_engine::MemoryFile;
use sluice_gpu_engine::{
    CopyKey, DeviceCopies, GpuAccelerator, GpuEngine, GpuOptions, HostCopy, HostOutput, Located, Tier, Use, are_frames,
};
use sluice_gpu_mem::{StreamArena, StreamArenaOptions};

use crate::engine::{FAST, GB, LIMIT, Sizes, long, words};
use crate::figure::{Figure, Target};
use crate::rows::{Batch, ORDERS};

const GIB: usize = 1 << 30;
const SHUFFLE: u32 = 1;

/// Reads the copy with this number.
type Read<'r> = dyn Fn(u64, &mut [u8]) -> Result<(), String> + Sync + 'r;

/// Memory files of the host's tier: more than a core's caches hold, on a real machine.
const HOST_BYTES: usize = 256 << 20;

/// A map output as the host's tier keeps it, several times.
struct Output {
    /// Each with its path.
    files: Vec<(MemoryFile, PathBuf)>,
    bytes: Vec<u8>,
    lengths: [i64; 1],
}

impl Output {
    /// The frames of so many bytes of rows.
    fn of(row_bytes: usize, partitions: u32, real: bool) -> Result<Self, String> {
        let bytes = Batch::of(&ORDERS, row_bytes, partitions, 7).frames_of_cpu(FAST).concat();
        let count = if real { HOST_BYTES.div_ceil(bytes.len()) } else { 2 };
        let file = |_| {
            let file = MemoryFile::create("sluice-gpu-bench").map_err(words)?;
            let path = PathBuf::from(format!("/proc/self/fd/{}", file.descriptor()));
            std::fs::write(&path, &bytes).map_err(words)?;
            Ok((file, path))
        };
        let files = (0..count).map(file).collect::<Result<_, String>>()?;
        let lengths = [bytes.len() as i64];
        Ok(Self { files, bytes, lengths })
    }

    fn path(&self, map: u64) -> &Path {
        &self.files[(map % self.files.len() as u64) as usize].1
    }

    fn as_host(&self, map: u64) -> HostOutput<'_> {
        let key = key(map);
        HostOutput { key, file: self.path(map), lengths: &self.lengths, host: HostCopy::Memory, sealed: false }
    }

    /// A hit of the host's tier: the file is opened, read and checked.
    fn read_from_host(&self, map: u64, target: &mut [u8]) -> Result<(), String> {
        let file = File::open(self.path(map)).map_err(words)?;
        file.read_exact_at(target, 0).map_err(words)?;
        if are_frames(target) { Ok(()) } else { Err("the file has other bytes than frames".into()) }
    }
}

fn key(map: u64) -> CopyKey {
    CopyKey { shuffle: SHUFFLE, map }
}

/// The tier, with as many copies as measurements need.
struct Bench<'b> {
    context: &'b Context,
    arena: std::sync::Arc<StreamArena>,
    gpu: GpuAccelerator,
    output: Output,
    sizes: Sizes,
    /// Copies that have a GiB together, or, on a simulated machine, a few.
    copies: u64,
}

impl<'b> Bench<'b> {
    fn new(context: &'b Context, module: &Module, sizes: Sizes, real: bool) -> Result<Self, String> {
        let output = Output::of(sizes.batches[0], sizes.partitions, real)?;
        let copies = if real { GIB.div_ceil(output.bytes.len()) as u64 } else { 5 };
        let limit = output.bytes.len() * copies as usize;
        let kept = DeviceCopies::new(context, limit);
        let drop_caches = Some(kept.drop_caches());
        // Beside the copies: what is copied within the device, the self-test, and the arena's rounding.
        let options = StreamArenaOptions { drop_caches, ..StreamArenaOptions::with_limit(limit * 2 + (512 << 20)) };
        let arena = StreamArena::new(context.clone(), options);
        let engine = GpuEngine::of(context, &arena, module, long()).map_err(words)?;
        let options = GpuOptions {
            pages: None,
            used: Use::Always,
            device: None,
            kernels: Path::new(""),
            memory_limit: None,
            cache_limit: 0,
            pinned_limit: sizes.threads * (4 << 20),
            least_bytes: 1,
            codec: FAST,
            timeout: LIMIT,
        };
        let gpu = GpuAccelerator::of(engine, 0, &options).map_err(words)?.with_copies(kept);
        Ok(Self { context, arena, gpu, output, sizes, copies })
    }

    fn keep_all(&self) -> Result<Duration, String> {
        let begun = Instant::now();
        for map in 0..self.copies {
            self.gpu.keep(&self.output.as_host(map)).map_err(words)?;
        }
        Ok(begun.elapsed())
    }

    fn drop_all(&self) -> Result<Duration, String> {
        let kept = self.gpu.copies().ok_or("no device tier")?;
        let begun = Instant::now();
        let dropped = kept.forget_shuffle(SHUFFLE) as u64;
        let time = begun.elapsed();
        if dropped == self.copies { Ok(time) } else { Err(format!("{dropped} copies of {}", self.copies)) }
    }

    fn all_bytes(&self) -> f64 {
        self.output.bytes.len() as f64 * self.copies as f64
    }

    /// GB/s of so many threads, each of which reads copies to its memory and looks at them once.
    fn rate(&self, threads: usize, read: &Read<'_>) -> Result<f64, String> {
        let turns = u64::from(self.sizes.turns) * 4;
        let time = self.sizes.shortest(|| self.in_threads(threads, turns, read))?;
        Ok(self.output.bytes.len() as f64 * (threads as u64 * turns) as f64 / time.as_secs_f64() / GB)
    }

    fn in_threads(&self, threads: usize, turns: u64, read: &Read<'_>) -> Result<Duration, String> {
        let gate = Barrier::new(threads + 1);
        let work = |thread: u64, gate: &Barrier| {
            let mut target = vec![0; self.output.bytes.len()];
            let first = read(thread % self.copies, &mut target);
            let same = target == self.output.bytes;
            gate.wait();
            let done = first.and_then(|()| {
                (0..turns).try_for_each(|turn| read((thread + turn) % self.copies, black_box(&mut target)))
            });
            gate.wait();
            if same { done } else { done.and(Err("other bytes were read".into())) }
        };
        std::thread::scope(|scope| {
            let (gate, work) = (&gate, &work);
            let started: Vec<_> = (0..threads as u64).map(|thread| scope.spawn(move || work(thread, gate))).collect();
            gate.wait();
            let begun = Instant::now();
            gate.wait();
            let time = begun.elapsed();
            for thread in started {
                thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))?;
            }
            Ok(time)
        })
    }

    /// GB/s of one reader on the device, which copies each copy to its own memory there.
    fn rate_on_device(&self) -> Result<f64, String> {
        let stream = self.arena.attach(self.context.thread_stream());
        let bytes = self.output.bytes.len();
        let target = stream.lease(bytes, long()).map_err(words)?;
        let kept = self.gpu.copies().ok_or("no device tier")?;
        let time = self.sizes.shortest(|| {
            let begun = Instant::now();
            for map in 0..self.copies {
                let Located::Device(pin) = kept.locate(key(map), 0..1, Tier::Device) else {
                    return Err("a copy is not there".into());
                };
                // SAFETY: the target is as long as each copy, and is used on this stream only.
                unsafe { pin.copy_to(stream.stream(), target.address(), long()) }.map_err(words)?;
            }
            Ok(begun.elapsed())
        });
        stream.free(target);
        Ok(self.all_bytes() / time?.as_secs_f64() / GB)
    }
}

/// Measures all.
pub(crate) fn measure(context: &Context, module: &Module, sizes: Sizes, real: bool) -> Result<Vec<Figure>, String> {
    let bench = Bench::new(context, module, sizes, real)?;
    let (mut keep, mut leave) = (Duration::MAX, Duration::MAX);
    for _ in 0..sizes.repeats {
        keep = keep.min(bench.keep_all()?);
        leave = leave.min(bench.drop_all()?);
    }
    bench.keep_all()?;
    let from_device =
        |map: u64, target: &mut [u8]| bench.gpu.read_copy(key(map), 0..1, target).map_err(|why| why.to_string());
    let from_host = |map: u64, target: &mut [u8]| bench.output.read_from_host(map, target);
    let device = [bench.rate(1, &from_device)?, bench.rate(sizes.threads, &from_device)?];
    let host = [bench.rate(1, &from_host)?, bench.rate(sizes.threads, &from_host)?];
    let on_device = bench.rate_on_device()?;
    let keep_rate = bench.all_bytes() / keep.as_secs_f64() / GB;
    let per_gib = leave.as_secs_f64() * 1e3 * GIB as f64 / bench.all_bytes();
    bench.drop_all()?;
    let left = bench.gpu.copy_counts();
    if (left.copies, left.bytes, left.misses, left.damaged) != (0, 0, 0, 0) {
        return Err(format!("the device tier has something left, or has missed: {left:?}"));
    }
    let figure = |name, value: f64, beside, target| Figure { name, unit: "GB/s", value: Some(value), beside, target };
    let host_hit = |rate| Some(("host-tier hit", Some(rate)));
    Ok(vec![
        figure("device-tier hit to host memory, one thread", device[0], host_hit(host[0]), Target::None),
        figure("the same, 16 threads", device[1], host_hit(host[1]), Target::None),
        figure(
            "device-tier hit to device memory, one thread",
            on_device,
            Some(("from the host's tier to the device", Some(keep_rate))),
            Target::None,
        ),
        Figure {
            name: "dropping 1 GiB of the tier",
            unit: "ms",
            value: Some(per_gib),
            beside: None,
            target: Target::AtMost(1.0),
        },
    ])
}
