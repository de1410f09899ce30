//! `NativeTransport`: one-sided reads between executors.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JLongArray, JString};
use jni::sys::{jbyteArray, jint, jlong, jstring};
use sluice_engine::{EngineError, HandleTable, Reason};
use sluice_transport::{Block, Completion, Failure, FetchError, Options, Statistic, Transport};
use sluice_ucx::Ucx;

use crate::guard::{guard, java_string, jvm_error};
use crate::memory::{receive_arena, size};

static TRANSPORTS: HandleTable<Running> = HandleTable::new();

/// `NativeTransport.BLOCK_LONGS`
const BLOCK_LONGS: usize = 4;
/// `NativeTransport.COMPLETION_LONGS`
const COMPLETION_LONGS: usize = 5;

/// `NativeTransport.BUSY`
const BUSY: i64 = -12;

struct Running {
    transport: Transport,
    description: String,
    /// Bytes read by system calls, of all that were read.
    cma_bytes: Arc<AtomicU64>,
}

fn text(env: &mut JNIEnv<'_>, text: &JString<'_>) -> Result<String, EngineError> {
    Ok(env.get_string(text).map_err(|e| jvm_error(&e))?.into())
}

fn path(env: &mut JNIEnv<'_>, name: &JString<'_>) -> Result<Option<PathBuf>, EngineError> {
    Ok(Some(text(env, name)?).filter(|name| !name.is_empty()).map(PathBuf::from))
}

fn bytes(env: &JNIEnv<'_>, array: &JByteArray<'_>) -> Result<Vec<u8>, EngineError> {
    env.convert_byte_array(array).map_err(|e| jvm_error(&e))
}

fn longs(env: &JNIEnv<'_>, array: &JLongArray<'_>) -> Result<Vec<i64>, EngineError> {
    let count = env.get_array_length(array).map_err(|e| jvm_error(&e))? as usize;
    let mut longs = vec![0; count];
    env.get_long_array_region(array, 0, &mut longs).map_err(|e| jvm_error(&e))?;
    Ok(longs)
}

fn number<T: TryFrom<i64>>(value: i64, what: &str) -> Result<T, EngineError> {
    T::try_from(value).map_err(|_| EngineError::invalid(format!("{what} is {value}")))
}

/// `NativeTransport.start`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_start(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    library: JString<'_>,
    bundled: JString<'_>,
    secret: JByteArray<'_>,
    timeout_millis: jlong,
    receive_bytes: jlong,
    max_mapped_bytes: jlong,
    max_mapped_regions: jlong,
) -> jlong {
    guard(|| {
        let (library, bundled) = (path(&mut env, &library)?, path(&mut env, &bundled)?);
        let secret = bytes(&env, &secret)?;
        let timeout = Duration::from_millis(number(timeout_millis, "timeout")?);
        receive_arena().set_limit(size(receive_bytes, "limit on received bytes")?);
        let unavailable = |e: sluice_transport::WireError| EngineError::new(Reason::Unavailable, e.to_string());
        let ucx = Ucx::open(library.as_deref(), bundled.as_deref()).map_err(unavailable)?;
        let description = ucx.describe();
        let (bytes, regions) =
            (number(max_mapped_bytes, "maxMappedBytes")?, number(max_mapped_regions, "maxMappedRegions")?);
        let options = Options::new(secret, timeout, bytes, regions);
        let cma_bytes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&cma_bytes);
        let make = move || sluice_ucx::wire(ucx, counted, timeout);
        let transport = Transport::start(make, receive_arena().clone(), options).map_err(unavailable)?;
        Ok(TRANSPORTS.insert(Running { transport, description, cma_bytes }))
    })
}

/// `NativeTransport.describe`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_describe(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
) -> jstring {
    TRANSPORTS.get(transport).map_or(std::ptr::null_mut(), |running| java_string(&env, &running.description))
}

/// `NativeTransport.address`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_address(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
) -> jbyteArray {
    let address = TRANSPORTS.get(transport).ok().map(|running| env.byte_array_from_slice(running.transport.address()));
    address.and_then(Result::ok).map_or(std::ptr::null_mut(), |array| array.into_raw())
}

/// `NativeTransport.publish`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_publish(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    shuffle: jint,
    map: jlong,
    data_file: JString<'_>,
    index_file: JString<'_>,
    offsets: JLongArray<'_>,
) -> jint {
    guard(|| {
        let running = TRANSPORTS.get(transport)?;
        let (file, index) = (PathBuf::from(text(&mut env, &data_file)?), path(&mut env, &index_file)?);
        let offsets = longs(&env, &offsets)?;
        let offsets = offsets.into_iter().map(|offset| number(offset, "an offset")).collect::<Result<_, _>>()?;
        let (shuffle, map) = (number(shuffle.into(), "shuffle id")?, number(map, "map id")?);
        running.transport.publish(shuffle, map, file, index, offsets).map_err(EngineError::invalid)?;
        Ok(0)
    }) as jint
}

/// `NativeTransport.renew`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_renew(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    shuffle: jint,
    map: jlong,
) -> jint {
    guard(|| {
        let running = TRANSPORTS.get(transport)?;
        Ok(running.transport.renew(number(shuffle.into(), "shuffle id")?, number(map, "map id")?) as i64)
    }) as jint
}

/// `NativeTransport.withdrawShuffle`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_withdrawShuffle(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    shuffle: jint,
) -> jint {
    guard(|| {
        let running = TRANSPORTS.get(transport)?;
        Ok(running.transport.withdraw_shuffle(number(shuffle.into(), "shuffle id")?) as i64)
    }) as jint
}

/// `NativeTransport.connect`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_connect(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    peer: jlong,
    address: JByteArray<'_>,
) -> jint {
    guard(|| {
        let running = TRANSPORTS.get(transport)?;
        running.transport.connect(number(peer, "peer")?, &bytes(&env, &address)?);
        Ok(0)
    }) as jint
}

/// `NativeTransport.disconnect`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_disconnect(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    peer: jlong,
) -> jint {
    guard(|| {
        TRANSPORTS.get(transport)?.transport.disconnect(number(peer, "peer")?);
        Ok(0)
    }) as jint
}

/// `NativeTransport.fetch`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_fetch(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    peer: jlong,
    blocks: JLongArray<'_>,
) -> jlong {
    guard(|| {
        let running = TRANSPORTS.get(transport)?;
        let longs = longs(&env, &blocks)?;
        if !longs.len().is_multiple_of(BLOCK_LONGS) {
            return Err(EngineError::invalid(format!("{} longs do not describe blocks", longs.len())));
        }
        let blocks = longs.chunks_exact(BLOCK_LONGS).map(block).collect::<Result<_, _>>()?;
        let request = running.transport.fetch(number(peer, "peer")?, blocks).map_err(not_accepted)?;
        Ok(request as i64)
    })
}

fn block(longs: &[i64]) -> Result<Block, EngineError> {
    Ok(Block {
        shuffle: number(longs[0], "shuffle id")?,
        map: number(longs[1], "map id")?,
        first: number(longs[2], "first partition")?,
        end: number(longs[3], "end partition")?,
    })
}

fn not_accepted(error: FetchError) -> EngineError {
    let why = match error {
        FetchError::UnknownPeer => "the peer is not connected".to_string(),
        FetchError::FailedPeer(why) => why,
    };
    EngineError::new(Reason::Peer, why)
}

/// `NativeTransport.poll`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_poll(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    completions: JLongArray<'_>,
    timeout_millis: jint,
) -> jint {
    guard(|| {
        let running = TRANSPORTS.get(transport)?;
        let room = env.get_array_length(&completions).map_err(|e| jvm_error(&e))? as usize / COMPLETION_LONGS;
        let longest = Duration::from_millis(number(timeout_millis.into(), "timeout")?);
        let taken = running.transport.poll(room, longest);
        let taken = taken.map_err(|ended| EngineError::new(Reason::StaleHandle, ended.to_string()))?;
        let longs: Vec<i64> = taken.into_iter().flat_map(completion).collect();
        env.set_long_array_region(&completions, 0, &longs).map_err(|e| jvm_error(&e))?;
        Ok((longs.len() / COMPLETION_LONGS) as i64)
    }) as jint
}

/// The lease's address is its receiver's from here.
fn completion(completion: Completion) -> [i64; COMPLETION_LONGS] {
    let (request, index) = (completion.request as i64, i64::from(completion.index));
    match completion.result {
        Ok(None) => [request, index, 0, 0, 0],
        Ok(Some(lease)) => {
            let bytes = lease.len() as i64;
            [request, index, 0, lease.into_raw().as_ptr().expose_provenance() as i64, bytes]
        }
        Err(failure) => {
            let reason = match failure {
                Failure::NoMemory => Reason::NoMemory,
                Failure::NotFound => Reason::NotFound,
                Failure::NotRead => Reason::Io,
                Failure::Peer => Reason::Peer,
                Failure::Timeout => Reason::Timeout,
                Failure::Busy => return [request, index, BUSY, 0, 0],
            };
            [request, index, reason as i64, 0, 0]
        }
    }
}

/// `NativeTransport.release`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_release(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    address: jlong,
) -> jint {
    guard(|| {
        receive_arena().release_raw(address as usize)?;
        Ok(0)
    }) as jint
}

/// `NativeTransport.cmaBytes`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_cmaBytes(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
) -> jlong {
    guard(|| Ok(TRANSPORTS.get(transport)?.cma_bytes.load(Ordering::Relaxed) as i64))
}

/// `NativeTransport.peerState`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_peerState(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    peer: jlong,
) -> jint {
    guard(|| {
        Ok(match TRANSPORTS.get(transport)?.transport.peer_ready(number(peer, "peer")?) {
            None => 0,
            Some(true) => 1,
            Some(false) => Reason::Peer as i64,
        })
    }) as jint
}

/// `NativeTransport.peerError`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_peerError(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    peer: jlong,
) -> jstring {
    let error = TRANSPORTS.get(transport).map(|running| running.transport.peer_error(peer as u64));
    error.map_or(std::ptr::null_mut(), |error| java_string(&env, &error))
}

/// `NativeTransport.stop`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_stop(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
) -> jint {
    guard(|| {
        let running = TRANSPORTS.remove(transport)?;
        running.transport.stop();
        Ok(0)
    }) as jint
}

/// `NativeTransport.warnings`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_warnings(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
) -> jstring {
    let warnings = TRANSPORTS.get(transport).map(|running| running.transport.warnings().join("; "));
    warnings.map_or(std::ptr::null_mut(), |warnings| java_string(&env, &warnings))
}

/// `NativeTransport.statisticNames`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_statisticNames(
    env: JNIEnv<'_>,
    _: JClass<'_>,
) -> jstring {
    java_string(&env, &Statistic::NAMES.join(","))
}

/// `NativeTransport.statistics`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeTransport_statistics(
    env: JNIEnv<'_>,
    _: JClass<'_>,
    transport: jlong,
    statistics: JLongArray<'_>,
) -> jint {
    guard(|| {
        let longs = TRANSPORTS.get(transport)?.transport.statistics().map(|value| value as i64);
        env.set_long_array_region(&statistics, 0, &longs).map_err(|e| jvm_error(&e))?;
        Ok(longs.len() as i64)
    }) as jint
}
