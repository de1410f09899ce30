//! Map outputs.

use std::path::PathBuf;

use jni::JNIEnv;
use jni::objects::{JClass, JLongArray, JString};
use jni::sys::{jboolean, jint, jlong};
use sluice_codec::{Codec, Level, Options};
use sluice_engine::{ChecksumAlgorithm, EngineError, HandleTable, MapOutput, Page};

use crate::guard::{guard, jvm_error};
use crate::memory::{arena, size};

static OUTPUTS: HandleTable<MapOutput> = HandleTable::new();

/// Longs per page in the array given to `writerEncode`.
const PAGE_LONGS: usize = 4;

fn options(codec: jint, level: jint) -> Result<Options, EngineError> {
    let known = u8::try_from(codec).ok().and_then(Codec::from_id);
    let codec = known.ok_or_else(|| EngineError::invalid(format!("codec {codec}")))?;
    let level = match level {
        0 => Level::Plain,
        1 => Level::Fast,
        2 => Level::Small,
        other => return Err(EngineError::invalid(format!("level {other}"))),
    };
    Ok(Options { codec, level })
}

fn path(env: &mut JNIEnv<'_>, text: &JString<'_>) -> Result<PathBuf, EngineError> {
    let text: String = env.get_string(text).map_err(|e| jvm_error(&e))?.into();
    Ok(PathBuf::from(text))
}

/// `NativeCore.writerOpen`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerOpen(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    partitions: jint,
    codec: jint,
    level: jint,
    row_checksums: jboolean,
) -> jlong {
    guard(|| {
        let partitions = size(partitions.into(), "number of partitions")? as u32;
        let output = MapOutput::new(arena().clone(), partitions, options(codec, level)?)?;
        Ok(OUTPUTS.insert(if row_checksums == 0 { output } else { output.with_row_checksums() }))
    })
}

/// `NativeCore.writerEncode`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerEncode(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    writer: jlong,
    sequence: jlong,
    fields: jint,
    pages: JLongArray<'_>,
) -> jlong {
    guard(|| {
        let output = OUTPUTS.get(writer)?;
        let count = env.get_array_length(&pages).map_err(|e| jvm_error(&e))? as usize;
        let mut longs = vec![0i64; count];
        env.get_long_array_region(&pages, 0, &mut longs).map_err(|e| jvm_error(&e))?;
        if !count.is_multiple_of(PAGE_LONGS) {
            return Err(EngineError::invalid(format!("{count} longs do not describe pages")));
        }
        let pages: Vec<Page<'_>> = longs.chunks_exact(PAGE_LONGS).map(page).collect::<Result<_, _>>()?;
        let fields = size(fields.into(), "number of fields")? as u32;
        Ok(output.encode(sequence, fields, &pages)? as i64)
    })
}

fn page<'a>(longs: &[i64]) -> Result<Page<'a>, EngineError> {
    let (address, capacity) = (longs[0], size(longs[1], "page capacity")?);
    if address == 0 {
        return Err(EngineError::invalid("page at address 0"));
    }
    // SAFETY: a sealed page is a live lease of `capacity` bytes that the JVM neither writes nor releases until
    // this call returns (contract of NativeCore.writerEncode); arena memory is always initialised.
    let memory = unsafe { std::slice::from_raw_parts(address as *const u8, capacity) };
    Ok(Page { memory, used: size(longs[2], "bytes of rows")?, entries: size(longs[3], "number of entries")? })
}

/// `NativeCore.writerRowChecksum`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerRowChecksum(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    writer: jlong,
    checksum: JLongArray<'_>,
) -> jint {
    guard(|| {
        let value = OUTPUTS.get(writer)?.row_checksum() as i64;
        env.set_long_array_region(&checksum, 0, &[value]).map_err(|e| jvm_error(&e))?;
        Ok(0)
    }) as jint
}

/// `NativeCore.writerMemoryBytes`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerMemoryBytes(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    writer: jlong,
) -> jlong {
    guard(|| Ok(OUTPUTS.get(writer)?.memory_bytes() as i64))
}

/// `NativeCore.writerSpill`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerSpill(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    writer: jlong,
    file: JString<'_>,
) -> jlong {
    guard(|| Ok(OUTPUTS.get(writer)?.spill(&path(&mut env, &file)?)? as i64))
}

/// `NativeCore.writerCommit`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerCommit(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    writer: jlong,
    file: JString<'_>,
    algorithm: jint,
    lengths: JLongArray<'_>,
    checksums: JLongArray<'_>,
) -> jlong {
    guard(|| {
        let output = OUTPUTS.get(writer)?;
        let algorithm = ChecksumAlgorithm::from_id(algorithm)
            .ok_or_else(|| EngineError::invalid(format!("checksum algorithm {algorithm}")))?;
        let done = output.commit(&path(&mut env, &file)?, algorithm)?;
        env.set_long_array_region(&lengths, 0, &done.lengths).map_err(|e| jvm_error(&e))?;
        if !done.checksums.is_empty() {
            env.set_long_array_region(&checksums, 0, &done.checksums).map_err(|e| jvm_error(&e))?;
        }
        Ok(done.total as i64)
    })
}

/// `NativeCore.writerClose`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_writerClose(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    writer: jlong,
) -> jint {
    guard(|| {
        OUTPUTS.remove(writer)?.close();
        Ok(0)
    }) as jint
}
