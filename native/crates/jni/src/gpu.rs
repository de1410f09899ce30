//! `NativeGpu`: a GPU that encodes batches of map outputs, keeps copies of them, and sorts pairs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jni::objects::{JLongArray, JString};
use jni::sys::{jboolean, jint, jlong, jstring};
use sluice_cuda::{CudaError, Driver, ErrorKind};
use sluice_engine::{Accelerator, PairSort};
use sluice_gpu_engine::{
    CopyCounts, CopyKey, Counts, Declined, GpuAccelerator, GpuOptions, HostCopy, HostOutput, Kind, NotKept, Pages, Use,
};

use crate::arguments::{Call, number};
use crate::error::{CallError, Reason};
use crate::exports::native_methods;
use crate::handles::HandleTable;
use crate::memory::task_regions;
use crate::pairs::{Access, TaskPairs};
use crate::writer::{WRITERS, options as codec_options};

static GPUS: HandleTable<GpuAccelerator> = HandleTable::new();
/// Sorts that tasks wait for.
static SORTS: HandleTable<Access> = HandleTable::new();

native_methods! {
    NativeGpu {
        probe = probe(library: JString<'_>, device: JString<'_>) -> jint;
        openWithin = open(
            library: JString<'_>, device: JString<'_>, kernels: JString<'_>, limits: JLongArray<'_>,
        ) -> jlong;
        describe = describe(gpu: jlong) -> jstring;
        lanes = lanes(gpu: jlong) -> jint;
        lacksLanes = lacks_lanes(gpu: jlong) -> jstring;
        wants = wants(gpu: jlong, batch_bytes: jlong, fields: jint, partitions: jint) -> jint;
        encodeFor = encode_for(gpu: jlong, writer: jlong) -> jint;
        wantsPairs = wants_pairs(gpu: jlong, count: jint, low: jint, high: jint) -> jint;
        beginSort = begin_sort() -> jlong;
        sortPairs = sort_pairs(
            gpu: jlong, sort: jlong, array: JLongArray<'_>, source: jlong, target: jlong, count: jint, low: jint,
            high: jint,
        ) -> jint;
        endSort = end_sort(sort: jlong) -> jint;
        pairsSortedByCpu = pairs_sorted_by_cpu(gpu: jlong, count: jint, low: jint, high: jint, nanos: jlong) -> jint;
        lacksCache = lacks_cache(gpu: jlong, cache_limit: jlong) -> jstring;
        keepCopy = keep(
            gpu: jlong, shuffle: jint, map: jlong, file: JString<'_>, lengths: JLongArray<'_>, in_memory: jboolean,
            sealed: jboolean,
        ) -> jint;
        hostCopyMoved = host_copy_moved(gpu: jlong, shuffle: jint, map: jlong, in_memory: jboolean) -> jint;
        hasNearerCopy = has_nearer_copy(gpu: jlong, shuffle: jint, map: jlong) -> jint;
        readCopy = read_copy(
            gpu: jlong, shuffle: jint, map: jlong, partitions: jlong, target: jlong, bytes: jlong,
        ) -> jint;
        forgetShuffle = forget_shuffle(gpu: jlong, shuffle: jint) -> jint;
        lost = lost(gpu: jlong) -> jstring;
        failure = failure(gpu: jlong) -> jstring;
        statisticNames = statistic_names() -> jstring;
        statistics = statistics(gpu: jlong, values: JLongArray<'_>) -> jint;
        close = close(gpu: jlong) -> jint;
    }
}

/// The library that is named, or the one that `SLUICE_CUDA_LIBRARY` names, or the machine's.
fn driver(call: &mut Call<'_>, library: &JString<'_>) -> Result<Arc<Driver>, CallError> {
    let library = call.optional_path(library)?;
    let opened = library.map_or_else(Driver::open, |library| Driver::open_at(&library));
    opened.map_err(of_driver)
}

/// `NotFound` where there is nothing to use, which is no fault.
fn of_driver(error: CudaError) -> CallError {
    let nothing = matches!(error.kind(), ErrorKind::NoDriver | ErrorKind::NoDevice);
    CallError::new(if nothing { Reason::NotFound } else { Reason::Unavailable }, error.to_string())
}

fn of_declined(why: Declined) -> CallError {
    match why {
        Declined::Device(error) => of_driver(error),
        Declined::CheckFailed(_) | Declined::WrongResult(_) => CallError::new(Reason::SelfTest, why.to_string()),
        _ => CallError::new(Reason::Unavailable, why.to_string()),
    }
}

/// Empty text: the only device.
fn address(call: &mut Call<'_>, device: &JString<'_>) -> Result<Option<String>, CallError> {
    Ok(Some(call.text(device)?).filter(|device| !device.trim().is_empty()))
}

fn probe(call: &mut Call<'_>, library: JString<'_>, device: JString<'_>) -> Result<(), CallError> {
    let (driver, device) = (driver(call, &library)?, address(call, &device)?);
    driver.select(device.as_deref()).map_err(of_driver)?;
    Ok(())
}

fn open(
    call: &mut Call<'_>,
    library: JString<'_>,
    device: JString<'_>,
    kernels: JString<'_>,
    limits: JLongArray<'_>,
) -> Result<i64, CallError> {
    let [[always, memory_limit, cache_limit, pinned_limit, pages_limit, least_bytes, timeout_millis, codec, level]] =
        call.records::<9>(&limits, "a GPU")?[..]
    else {
        return Err(CallError::invalid("limits of more than one GPU"));
    };
    let (driver, device) = (driver(call, &library)?, address(call, &device)?);
    let kernels = call.text(&kernels)?;
    let memory_limit: usize = number(memory_limit, "memory limit")?;
    let options = GpuOptions {
        used: if always == 0 { Use::WhenItPays } else { Use::Always },
        device: device.as_deref(),
        kernels: Path::new(&kernels),
        memory_limit: Some(memory_limit).filter(|limit| *limit > 0),
        cache_limit: number(cache_limit, "limit of the cache")?,
        pinned_limit: number(pinned_limit, "limit on pinned memory")?,
        pages: Some(Pages { regions: task_regions(), limit_bytes: number(pages_limit, "limit on pinned pages")? }),
        least_bytes: number(least_bytes, "least bytes of a batch")?,
        codec: codec_options(number(codec, "codec")?, number(level, "level")?)?,
        timeout: Duration::from_millis(number(timeout_millis, "timeout")?),
    };
    Ok(GPUS.insert(GpuAccelerator::open(&driver, &options).map_err(of_declined)?))
}

fn describe(_: &mut Call<'_>, gpu: i64) -> Result<String, CallError> {
    Ok(GPUS.get(gpu)?.describe())
}

fn lanes(_: &mut Call<'_>, gpu: i64) -> Result<i32, CallError> {
    Ok(GPUS.get(gpu)?.lanes() as i32)
}

/// Why fewer batches are encoded at a time than the limit allows; empty if as many are.
fn lacks_lanes(_: &mut Call<'_>, gpu: i64) -> Result<String, CallError> {
    Ok(GPUS.get(gpu)?.lacks_lanes().unwrap_or_default())
}

fn wants(_: &mut Call<'_>, gpu: i64, batch_bytes: i64, fields: i32, partitions: i32) -> Result<i32, CallError> {
    let fields = number(fields, "number of fields")?;
    let kind = Kind::Batch { fields, partitions: number(partitions, "number of partitions")? };
    Ok(GPUS.get(gpu)?.wants(number(batch_bytes, "bytes of a batch")?, kind).into())
}

fn encode_for(_: &mut Call<'_>, gpu: i64, writer: i64) -> Result<(), CallError> {
    WRITERS.get(writer)?.accelerate(GPUS.get(gpu)?);
    Ok(())
}

/// What is sorted: so many pairs, by some bytes of their numbers.
fn pair_sort(count: i32, low: i32, high: i32) -> Result<PairSort, CallError> {
    let (lowest, highest) = (number(low, "lowest byte")?, number(high, "highest byte")?);
    let sort = PairSort::new(number(count, "number of pairs")?, lowest, highest);
    sort.ok_or_else(|| CallError::invalid(format!("a sort by the bytes {low} to {high} of a number")))
}

fn wants_pairs(_: &mut Call<'_>, gpu: i64, count: i32, low: i32, high: i32) -> Result<i32, CallError> {
    let sort = pair_sort(count, low, high)?;
    Ok(GPUS.get(gpu)?.wants(sort.bytes(), Kind::Pairs { key_bytes: sort.key_bytes() }).into())
}

fn begin_sort(_: &mut Call<'_>) -> Result<i64, CallError> {
    Ok(SORTS.insert(Access::default()))
}

/// 1 if they were sorted; 0 if that was declined, which is counted.
#[expect(clippy::too_many_arguments, reason = "those of the Java method")]
fn sort_pairs(
    call: &mut Call<'_>,
    gpu: i64,
    sort: i64,
    array: JLongArray<'_>,
    source: i64,
    target: i64,
    count: i32,
    low: i32,
    high: i32,
) -> Result<i32, CallError> {
    let (gpu, access, wanted) = (GPUS.get(gpu)?, SORTS.get(sort)?, pair_sort(count, low, high)?);
    let mut memory = if array.is_null() {
        TaskPairs::off_heap(&access, source, target, wanted.count())?
    } else {
        TaskPairs::on_heap(&access, call, &array, [source, target], wanted.count())?
    };
    Ok(gpu.sort_pairs(wanted, &mut memory).is_ok().into())
}

fn end_sort(_: &mut Call<'_>, sort: i64) -> Result<(), CallError> {
    SORTS.remove(sort)?.end();
    Ok(())
}

fn pairs_sorted_by_cpu(
    _: &mut Call<'_>,
    gpu: i64,
    count: i32,
    low: i32,
    high: i32,
    nanos: i64,
) -> Result<(), CallError> {
    let took = Duration::from_nanos(number(nanos, "time")?);
    GPUS.get(gpu)?.pairs_sorted_by_cpu(pair_sort(count, low, high)?, took);
    Ok(())
}

/// Why the copies' limit is lower than what was asked for; empty if it is not.
fn lacks_cache(_: &mut Call<'_>, gpu: i64, cache_limit: i64) -> Result<String, CallError> {
    Ok(GPUS.get(gpu)?.lacks_cache(number(cache_limit, "limit of the cache")?).unwrap_or_default())
}

/// 1 if a copy of a committed map output is on the device now.
#[expect(clippy::too_many_arguments, reason = "those of the Java method")]
fn keep(
    call: &mut Call<'_>,
    gpu: i64,
    shuffle: i32,
    map: i64,
    file: JString<'_>,
    lengths: JLongArray<'_>,
    in_memory: jboolean,
    sealed: jboolean,
) -> Result<i32, CallError> {
    let gpu = GPUS.get(gpu)?;
    let (file, lengths) = (call.path(&file)?, call.longs(&lengths)?);
    let output = HostOutput {
        key: CopyKey { shuffle: number(shuffle, "shuffle id")?, map: map as u64 },
        file: &file,
        lengths: &lengths,
        host: host_copy(in_memory),
        sealed: sealed != 0,
    };
    match gpu.keep(&output) {
        Ok(()) => Ok(1),
        Err(NotKept::BadLengths) => Err(CallError::invalid("lengths of partitions that cannot be")),
        // The reason is counted; the host's copy is there.
        Err(_) => Ok(0),
    }
}

fn host_copy(in_memory: jboolean) -> HostCopy {
    if in_memory == 0 { HostCopy::Disk } else { HostCopy::Memory }
}

fn host_copy_moved(_: &mut Call<'_>, gpu: i64, shuffle: i32, map: i64, in_memory: jboolean) -> Result<(), CallError> {
    let gpu = GPUS.get(gpu)?;
    let key = CopyKey { shuffle: number(shuffle, "shuffle id")?, map: map as u64 };
    if let Some(copies) = gpu.copies() {
        copies.host_copy_moved(key, host_copy(in_memory));
    }
    Ok(())
}

/// 1 if the device has a copy of a map output, and the host's is on a disk.
fn has_nearer_copy(_: &mut Call<'_>, gpu: i64, shuffle: i32, map: i64) -> Result<i32, CallError> {
    let gpu = GPUS.get(gpu)?;
    let key = CopyKey { shuffle: number(shuffle, "shuffle id")?, map: map as u64 };
    Ok(gpu.copies().is_some_and(|copies| copies.are_nearer(key)).into())
}

/// Partitions: the first in the high half, the end in the low half. 1 if the target has their bytes; 0: read the host's
/// copy.
fn read_copy(
    _: &mut Call<'_>,
    gpu: i64,
    shuffle: i32,
    map: i64,
    partitions: i64,
    target: i64,
    bytes: i64,
) -> Result<i32, CallError> {
    let gpu = GPUS.get(gpu)?;
    let key = CopyKey { shuffle: number(shuffle, "shuffle id")?, map: map as u64 };
    let (first, end) = ((partitions >> 32) as u32, partitions as u32);
    if target == 0 {
        return Err(CallError::invalid("target at address 0"));
    }
    // SAFETY: the target is a live lease of so many bytes that nobody else uses during the call (contract of
    // NativeGpu.readCopy); arena memory is always initialised.
    let target = unsafe { std::slice::from_raw_parts_mut(target as *mut u8, number(bytes, "bytes of a target")?) };
    // Why not, is counted.
    Ok(gpu.read_copy(key, first..end, target).is_ok().into())
}

fn forget_shuffle(_: &mut Call<'_>, gpu: i64, shuffle: i32) -> Result<i32, CallError> {
    let gpu = GPUS.get(gpu)?;
    let shuffle = number(shuffle, "shuffle id")?;
    Ok(gpu.copies().map_or(0, |copies| copies.forget_shuffle(shuffle)) as i32)
}

/// Why the device was lost; empty while it is not.
fn lost(_: &mut Call<'_>, gpu: i64) -> Result<String, CallError> {
    Ok(GPUS.get(gpu)?.lost().unwrap_or_default())
}

/// What the first call of the driver said that has failed; empty while none has.
fn failure(_: &mut Call<'_>, gpu: i64) -> Result<String, CallError> {
    Ok(GPUS.get(gpu)?.failure().unwrap_or_default())
}

/// The names of what `statistics` gives, in its order.
fn statistic_names(_: &mut Call<'_>) -> Result<String, CallError> {
    let of_cache = CopyCounts::NAMES.map(|name| format!("cache_{name}"));
    Ok(Counts::NAMES.iter().copied().chain(of_cache.iter().map(String::as_str)).collect::<Vec<_>>().join(","))
}

fn statistics(call: &mut Call<'_>, gpu: i64, values: JLongArray<'_>) -> Result<(), CallError> {
    let gpu = GPUS.get(gpu)?;
    let counts = gpu.counts().to_array().into_iter().chain(gpu.copy_counts().to_array());
    let longs: Vec<i64> = counts.map(|value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
    call.fill(&values, &longs)
}

fn close(_: &mut Call<'_>, gpu: i64) -> Result<(), CallError> {
    GPUS.remove(gpu).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_told_apart_from_what_cannot_be_used() {
        let absent = Driver::open_at(Path::new("/absent/libcuda.so.1")).map_err(of_driver);
        assert_eq!(absent.err().map(|e| e.reason), Some(Reason::NotFound));
        let reason = |why| of_declined(why).reason;
        assert_eq!(reason(Declined::NoKernels), Reason::Unavailable);
        assert_eq!(reason(Declined::NotTaken("no buffer")), Reason::Unavailable);
        assert_eq!(reason(Declined::CheckFailed("its own frames")), Reason::SelfTest);
        assert_eq!(reason(Declined::WrongResult("other frames")), Reason::SelfTest);
    }
}
