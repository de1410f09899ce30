//! Writers of map outputs.

use jni::objects::{JByteArray, JLongArray, JString};
use jni::sys::{jboolean, jint, jlong};
use sluice_codec::{Codec, CodecOptions, EndMarkKey, FrameKey, Level, OutputId, Seal, Sealer};
use sluice_engine::{
    BatchShape, ChecksumAlgorithm, Committed, EngineError, FrameInFile, MapOutputWriter, Page, Sealing,
};

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;
use crate::handles::HandleTable;
use crate::memory::arena;
use crate::page_trace;

pub(crate) static WRITERS: HandleTable<MapOutputWriter> = HandleTable::new();

/// Longs per page in the array given to `writerEncode`.
const PAGE_LONGS: usize = 4;
/// Of the keys given to `writerOpen`, the last.
const END_MARK_KEY_BYTES: usize = 32;

native_methods! {
    NativeCore {
        writerOpen = open(
            partitions: jint, codec: jint, level: jint, row_checksums: jboolean, seal_ids: JLongArray<'_>,
            seal_keys: JByteArray<'_>,
        ) -> jlong;
        writerEncode = encode(writer: jlong, sequence: jlong, fields: jint, pages: JLongArray<'_>) -> jlong;
        writerEncodeAccelerated = encode_accelerated(
            writer: jlong, sequence: jlong, fields: jint, pages: JLongArray<'_>,
        ) -> jlong;
        writerWaitingForAccelerator = waiting_for_accelerator(writer: jlong) -> jint;
        writerAcceleratedBatches = accelerated_batches(writer: jlong) -> jlong;
        writerAddRow = add_row(
            writer: jlong, sequence: jlong, partition: jint, file: JString<'_>, start: jlong, bytes: jlong,
            row_hash: jlong, seal: JByteArray<'_>,
        ) -> jint;
        writerEncodeNeeds = encode_needs(
            writer: jlong, row_bytes: jlong, rows: jlong, longest_row: jlong, fields: jint, needs: JLongArray<'_>,
        ) -> jint;
        writerRowChecksum = row_checksum(writer: jlong, checksum: JLongArray<'_>) -> jint;
        writerMemoryBytes = memory_bytes(writer: jlong) -> jlong;
        writerFramesRepeated = frames_repeated(writer: jlong) -> jlong;
        writerSpill = spill(writer: jlong, file: JString<'_>) -> jlong;
        writerCommit = commit(
            writer: jlong, file: JString<'_>, algorithm: jint, lengths: JLongArray<'_>, checksums: JLongArray<'_>,
        ) -> jlong;
        writerEncodeUntil = encode_until(
            writer: jlong, sequence: jlong, fields: jint, pages: JLongArray<'_>, until: jint,
        ) -> jlong;
        writerBeginParts = begin_parts(writer: jlong, file: JString<'_>, algorithm: jint) -> jint;
        writerCommitPart = commit_part(writer: jlong, until: jint) -> jint;
        writerEndParts = end_parts(writer: jlong, lengths: JLongArray<'_>, checksums: JLongArray<'_>) -> jlong;
        writerAbortParts = abort_parts(writer: jlong) -> jint;
        writerClose = close(writer: jlong) -> jint;
    }
}

fn open(
    call: &mut Call<'_>,
    partitions: i32,
    codec: i32,
    level: i32,
    row_checksums: jboolean,
    seal_ids: JLongArray<'_>,
    seal_keys: JByteArray<'_>,
) -> Result<i64, CallError> {
    let partitions = number(partitions, "number of partitions")?;
    let mut output = MapOutputWriter::new(arena().clone(), partitions, options(codec, level)?)?;
    if row_checksums != 0 {
        output = output.with_row_checksums();
    }
    if !seal_keys.is_null() {
        output = output.with_sealing(sealing(call, &seal_ids, &seal_keys)?);
    }
    Ok(WRITERS.insert(output))
}

/// From the shuffle's, the map output's and the sealer's ids, and the keys of frames and end marks.
fn sealing(call: &mut Call<'_>, ids: &JLongArray<'_>, keys: &JByteArray<'_>) -> Result<Sealing, CallError> {
    let [[shuffle, map, sealer]] = call.records::<3>(ids, "a sealed map output")?[..] else {
        return Err(CallError::invalid("ids of more than one sealed map output"));
    };
    let output = OutputId { shuffle: number(shuffle, "shuffle id")?, map: map as u64 };
    let keys = call.bytes(keys)?;
    let Some((frame_key, end_mark_key)) = keys.split_last_chunk::<END_MARK_KEY_BYTES>() else {
        return Err(CallError::invalid(format!("keys of {} bytes", keys.len())));
    };
    Ok(Sealing {
        sealer: Sealer::new(FrameKey::new(output, frame_key)?, sealer as u64),
        end_marks: EndMarkKey::new(output, end_mark_key),
    })
}

pub(crate) fn options(codec: i32, level: i32) -> Result<CodecOptions, CallError> {
    let known = u8::try_from(codec).ok().and_then(Codec::from_id);
    let codec = known.ok_or_else(|| CallError::invalid(format!("codec {codec}")))?;
    let level = match level {
        0 => Level::Plain,
        1 => Level::Fast,
        2 => Level::Small,
        other => return Err(CallError::invalid(format!("level {other}"))),
    };
    Ok(CodecOptions { codec, level })
}

fn encode(
    call: &mut Call<'_>,
    writer: i64,
    sequence: i64,
    fields: i32,
    pages: JLongArray<'_>,
) -> Result<i64, CallError> {
    encode_until(call, writer, sequence, fields, pages, i32::MAX)
}

fn encode_accelerated(
    call: &mut Call<'_>,
    writer: i64,
    sequence: i64,
    fields: i32,
    pages: JLongArray<'_>,
) -> Result<i64, CallError> {
    encode_pages(call, writer, fields, &pages, |output, fields, pages| {
        output.encode_accelerated(sequence, fields, pages)
    })
}

fn encode_until(
    call: &mut Call<'_>,
    writer: i64,
    sequence: i64,
    fields: i32,
    pages: JLongArray<'_>,
    until: i32,
) -> Result<i64, CallError> {
    let until = number(until, "a partition")?;
    encode_pages(call, writer, fields, &pages, |output, fields, pages| {
        output.encode_until(sequence, fields, pages, until)
    })
}

/// Checks what the JVM has given, and encodes.
fn encode_pages(
    call: &Call<'_>,
    writer: i64,
    fields: i32,
    pages: &JLongArray<'_>,
    encode: impl FnOnce(&MapOutputWriter, u32, &[Page<'_>]) -> Result<usize, EngineError>,
) -> Result<i64, CallError> {
    let output = WRITERS.get(writer)?;
    let pages = call.records::<PAGE_LONGS>(pages, "pages")?.into_iter().map(page);
    let pages = pages.collect::<Result<Vec<_>, _>>()?;
    let fields = number(fields, "number of fields")?;
    page_trace::record(fields, output.partitions(), &pages);
    Ok(encode(&output, fields, &pages)? as i64)
}

fn waiting_for_accelerator(_: &mut Call<'_>, writer: i64) -> Result<i32, CallError> {
    Ok(WRITERS.get(writer)?.waiting_for_accelerator() as i32)
}

fn accelerated_batches(_: &mut Call<'_>, writer: i64) -> Result<i64, CallError> {
    Ok(WRITERS.get(writer)?.accelerated_batches() as i64)
}

fn page<'a>([address, capacity, used, entries]: [i64; PAGE_LONGS]) -> Result<Page<'a>, CallError> {
    if address == 0 {
        return Err(CallError::invalid("page at address 0"));
    }
    // SAFETY: a sealed page is a live lease of `capacity` bytes that the JVM neither writes nor releases until
    // this call returns (contract of NativeCore.writerEncode); arena memory is always initialised.
    let memory = unsafe { std::slice::from_raw_parts(address as *const u8, number(capacity, "page capacity")?) };
    Ok(Page { memory, used: number(used, "bytes of rows")?, entries: number(entries, "number of entries")? })
}

#[expect(clippy::too_many_arguments, reason = "those of the Java method")]
fn add_row(
    call: &mut Call<'_>,
    writer: i64,
    sequence: i64,
    partition: i32,
    file: JString<'_>,
    start: i64,
    bytes: i64,
    row_hash: i64,
    seal: JByteArray<'_>,
) -> Result<(), CallError> {
    let seal = (!seal.is_null()).then(|| call.bytes(&seal)).transpose()?;
    let seal: Option<Seal> =
        seal.map(Seal::try_from).transpose().map_err(|_| CallError::invalid("length of a seal"))?;
    let path = call.path(&file)?;
    let (start, bytes) = (number(start, "start of a frame")?, number(bytes, "bytes of a frame")?);
    let frame = FrameInFile { path: &path, start, bytes, row_hash: row_hash as u64, seal };
    Ok(WRITERS.get(writer)?.add_row(sequence, number(partition, "partition")?, &frame)?)
}

fn encode_needs(
    call: &mut Call<'_>,
    writer: i64,
    row_bytes: i64,
    rows: i64,
    longest_row: i64,
    fields: i32,
    needs: JLongArray<'_>,
) -> Result<(), CallError> {
    let size = |value, what| number(value, what).and_then(|size: usize| check_size(size, what));
    let shape = BatchShape {
        row_bytes: size(row_bytes, "bytes of rows")?,
        rows: size(rows, "number of rows")?,
        longest_row: size(longest_row, "bytes of the longest row")?,
        fields: number(fields, "number of fields")?,
    };
    let most = WRITERS.get(writer)?.encode_needs(&shape);
    call.fill(&needs, &[most.arena_bytes as i64, most.heap_bytes as i64])
}

/// Far above what a batch can have, and far below where sums overflow.
fn check_size(size: usize, what: &str) -> Result<usize, CallError> {
    if size > 1 << 40 {
        return Err(CallError::invalid(format!("{what} is {size}")));
    }
    Ok(size)
}

fn row_checksum(call: &mut Call<'_>, writer: i64, checksum: JLongArray<'_>) -> Result<(), CallError> {
    call.fill(&checksum, &[WRITERS.get(writer)?.row_checksum()? as i64])
}

fn memory_bytes(_: &mut Call<'_>, writer: i64) -> Result<i64, CallError> {
    Ok(WRITERS.get(writer)?.memory_bytes() as i64)
}

fn frames_repeated(_: &mut Call<'_>, writer: i64) -> Result<i64, CallError> {
    Ok(WRITERS.get(writer)?.frames_repeated() as i64)
}

fn spill(call: &mut Call<'_>, writer: i64, file: JString<'_>) -> Result<i64, CallError> {
    Ok(WRITERS.get(writer)?.spill(&call.path(&file)?)? as i64)
}

fn commit(
    call: &mut Call<'_>,
    writer: i64,
    file: JString<'_>,
    algorithm: i32,
    lengths: JLongArray<'_>,
    checksums: JLongArray<'_>,
) -> Result<i64, CallError> {
    let output = WRITERS.get(writer)?;
    let done = output.commit(&call.path(&file)?, algorithm_of(algorithm)?)?;
    fill(call, &done, &lengths, &checksums)
}

fn algorithm_of(id: i32) -> Result<ChecksumAlgorithm, CallError> {
    ChecksumAlgorithm::from_id(id).ok_or_else(|| CallError::invalid(format!("checksum algorithm {id}")))
}

fn fill(
    call: &mut Call<'_>,
    done: &Committed,
    lengths: &JLongArray<'_>,
    checksums: &JLongArray<'_>,
) -> Result<i64, CallError> {
    call.fill(lengths, &done.lengths)?;
    if !done.checksums.is_empty() {
        call.fill(checksums, &done.checksums)?;
    }
    Ok(done.total as i64)
}

fn begin_parts(call: &mut Call<'_>, writer: i64, file: JString<'_>, algorithm: i32) -> Result<(), CallError> {
    let output = WRITERS.get(writer)?;
    Ok(output.begin_parts(&call.path(&file)?, algorithm_of(algorithm)?)?)
}

fn commit_part(_: &mut Call<'_>, writer: i64, until: i32) -> Result<(), CallError> {
    Ok(WRITERS.get(writer)?.commit_part(number(until, "a partition")?)?)
}

fn end_parts(
    call: &mut Call<'_>,
    writer: i64,
    lengths: JLongArray<'_>,
    checksums: JLongArray<'_>,
) -> Result<i64, CallError> {
    let done = WRITERS.get(writer)?.end_parts()?;
    fill(call, &done, &lengths, &checksums)
}

fn abort_parts(_: &mut Call<'_>, writer: i64) -> Result<(), CallError> {
    Ok(WRITERS.get(writer)?.abort_parts()?)
}

fn close(_: &mut Call<'_>, writer: i64) -> Result<(), CallError> {
    WRITERS.remove(writer)?.close();
    Ok(())
}
