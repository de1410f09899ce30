//! `NativeTransport`: one-sided reads between executors.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jni::objects::{JByteArray, JLongArray, JString};
use jni::sys::{jbyteArray, jint, jlong, jstring};
use sluice_transport::{Block, Completion, Failure, FetchError, Statistic, Transport, TransportOptions, WireError};
use sluice_ucx::Ucx;

use crate::arguments::{Call, number};
use crate::error::{CallError, Reason};
use crate::exports::native_methods;
use crate::handles::HandleTable;
use crate::memory::{receive_arena, receive_regions};

static TRANSPORTS: HandleTable<Running> = HandleTable::new();

/// `NativeTransport.BLOCK_LONGS`
const BLOCK_LONGS: usize = 4;
/// `NativeTransport.COMPLETION_LONGS`
const COMPLETION_LONGS: usize = 5;

native_methods! {
    NativeTransport {
        startWithin = start(
            library: JString<'_>, bundled: JString<'_>, secret: JByteArray<'_>, directories: JString<'_>,
            limits: JLongArray<'_>,
        ) -> jlong;
        describe = describe(transport: jlong) -> jstring;
        address = address(transport: jlong) -> jbyteArray;
        publish = publish(
            transport: jlong, shuffle: jint, map: jlong, data_file: JString<'_>, index_file: JString<'_>,
            offsets: JLongArray<'_>,
        ) -> jint;
        renew = renew(transport: jlong, shuffle: jint, map: jlong) -> jint;
        withdrawShuffle = withdraw_shuffle(transport: jlong, shuffle: jint) -> jint;
        connect = connect(transport: jlong, peer: jlong, address: JByteArray<'_>) -> jint;
        disconnect = disconnect(transport: jlong, peer: jlong) -> jint;
        fetch = fetch(transport: jlong, peer: jlong, blocks: JLongArray<'_>) -> jlong;
        poll = poll(transport: jlong, completions: JLongArray<'_>, timeout_millis: jint) -> jint;
        release = release(address: jlong) -> jint;
        cmaBytes = cma_bytes(transport: jlong) -> jlong;
        peerState = peer_state(transport: jlong, peer: jlong) -> jint;
        peerError = peer_error(transport: jlong, peer: jlong) -> jstring;
        stop = stop(transport: jlong) -> jint;
        warnings = warnings(transport: jlong) -> jstring;
        means = means(transport: jlong) -> jstring;
        registrations = registrations(transport: jlong) -> jstring;
        statisticNames = statistic_names() -> jstring;
        statistics = statistics(transport: jlong, values: JLongArray<'_>) -> jint;
    }
}

struct Running {
    transport: Transport,
    description: String,
    /// Bytes read by system calls, of all that were read.
    cma_bytes: Arc<AtomicU64>,
}

fn start(
    call: &mut Call<'_>,
    library: JString<'_>,
    bundled: JString<'_>,
    secret: JByteArray<'_>,
    directories: JString<'_>,
    limits: JLongArray<'_>,
) -> Result<i64, CallError> {
    let limits = call.longs(&limits)?;
    let &[timeout_millis, receive_bytes, max_mapped_bytes, max_mapped_regions, max_connections] = limits.as_slice()
    else {
        return Err(CallError::invalid(format!("{} limits", limits.len())));
    };
    let (library, bundled) = (call.optional_path(&library)?, call.optional_path(&bundled)?);
    let timeout = Duration::from_millis(number(timeout_millis, "timeout")?);
    let (bytes, regions) =
        (number(max_mapped_bytes, "maxMappedBytes")?, number(max_mapped_regions, "maxMappedRegions")?);
    let max_connections = number(max_connections, "maxConnections")?;
    let directories = call.text(&directories)?.lines().map(PathBuf::from).collect();
    let options = TransportOptions::new(call.bytes(&secret)?, timeout, bytes, regions);
    let options = TransportOptions { max_connections, directories, ..options };
    receive_arena().set_limit(number(receive_bytes, "limit on received bytes")?);
    let unavailable = |e: WireError| CallError::new(Reason::Unavailable, e.to_string());
    let ucx = Ucx::open(library.as_deref(), bundled.as_deref()).map_err(unavailable)?;
    let description = ucx.describe();
    let cma_bytes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&cma_bytes);
    let make = move || sluice_ucx::wire(ucx, Arc::clone(receive_regions()), counted, timeout);
    let transport = Transport::start(make, receive_arena().clone(), options).map_err(unavailable)?;
    Ok(TRANSPORTS.insert(Running { transport, description, cma_bytes }))
}

fn describe(_: &mut Call<'_>, transport: i64) -> Result<String, CallError> {
    Ok(TRANSPORTS.get(transport)?.description.clone())
}

fn address(_: &mut Call<'_>, transport: i64) -> Result<Vec<u8>, CallError> {
    Ok(TRANSPORTS.get(transport)?.transport.address().to_vec())
}

fn publish(
    call: &mut Call<'_>,
    transport: i64,
    shuffle: i32,
    map: i64,
    data_file: JString<'_>,
    index_file: JString<'_>,
    offsets: JLongArray<'_>,
) -> Result<(), CallError> {
    let running = TRANSPORTS.get(transport)?;
    let (file, index): (PathBuf, _) = (call.path(&data_file)?, call.optional_path(&index_file)?);
    let offsets =
        call.longs(&offsets)?.into_iter().map(|offset| number(offset, "an offset")).collect::<Result<_, _>>()?;
    let (shuffle, map) = (number(shuffle, "shuffle id")?, number(map, "map id")?);
    running.transport.publish(shuffle, map, file, index, offsets).map_err(CallError::invalid)
}

fn renew(_: &mut Call<'_>, transport: i64, shuffle: i32, map: i64) -> Result<i32, CallError> {
    let running = TRANSPORTS.get(transport)?;
    Ok(running.transport.renew(number(shuffle, "shuffle id")?, number(map, "map id")?) as i32)
}

fn withdraw_shuffle(_: &mut Call<'_>, transport: i64, shuffle: i32) -> Result<i32, CallError> {
    let running = TRANSPORTS.get(transport)?;
    Ok(running.transport.withdraw_shuffle(number(shuffle, "shuffle id")?) as i32)
}

fn connect(call: &mut Call<'_>, transport: i64, peer: i64, address: JByteArray<'_>) -> Result<(), CallError> {
    let running = TRANSPORTS.get(transport)?;
    running.transport.connect(number(peer, "peer")?, &call.bytes(&address)?);
    Ok(())
}

fn disconnect(_: &mut Call<'_>, transport: i64, peer: i64) -> Result<(), CallError> {
    TRANSPORTS.get(transport)?.transport.disconnect(number(peer, "peer")?);
    Ok(())
}

fn fetch(call: &mut Call<'_>, transport: i64, peer: i64, blocks: JLongArray<'_>) -> Result<i64, CallError> {
    let running = TRANSPORTS.get(transport)?;
    let blocks = call.records::<BLOCK_LONGS>(&blocks, "blocks")?;
    let blocks = blocks.into_iter().map(block).collect::<Result<_, _>>()?;
    let request = running.transport.fetch(number(peer, "peer")?, blocks).map_err(not_accepted)?;
    Ok(request as i64)
}

fn block([shuffle, map, first, end]: [i64; BLOCK_LONGS]) -> Result<Block, CallError> {
    Ok(Block {
        shuffle: number(shuffle, "shuffle id")?,
        map: number(map, "map id")?,
        first: number(first, "first partition")?,
        end: number(end, "end partition")?,
    })
}

fn not_accepted(error: FetchError) -> CallError {
    let why = match error {
        FetchError::UnknownPeer => "the peer is not connected".to_string(),
        FetchError::FailedPeer(why) => why,
    };
    CallError::new(Reason::Peer, why)
}

fn poll(
    call: &mut Call<'_>,
    transport: i64,
    completions: JLongArray<'_>,
    timeout_millis: i32,
) -> Result<i32, CallError> {
    let running = TRANSPORTS.get(transport)?;
    let room = call.length(&completions)? / COMPLETION_LONGS;
    let longest = Duration::from_millis(number(timeout_millis, "timeout")?);
    let taken = running.transport.poll(room, longest);
    let taken = taken.map_err(|ended| CallError::new(Reason::StaleHandle, ended.to_string()))?;
    let longs: Vec<i64> = taken.into_iter().flat_map(completion).collect();
    call.fill(&completions, &longs)?;
    Ok((longs.len() / COMPLETION_LONGS) as i32)
}

/// One completion as Java gets it. From here on the lease at its address is the receiver's to release.
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
                Failure::Busy => Reason::Busy,
            };
            [request, index, reason as i64, 0, 0]
        }
    }
}

fn release(_: &mut Call<'_>, address: i64) -> Result<(), CallError> {
    Ok(receive_arena().release_raw(address as usize)?)
}

fn cma_bytes(_: &mut Call<'_>, transport: i64) -> Result<i64, CallError> {
    Ok(TRANSPORTS.get(transport)?.cma_bytes.load(Ordering::Relaxed) as i64)
}

fn peer_state(_: &mut Call<'_>, transport: i64, peer: i64) -> Result<i32, CallError> {
    Ok(match TRANSPORTS.get(transport)?.transport.peer_ready(number(peer, "peer")?) {
        None => 0,
        Some(true) => 1,
        Some(false) => Reason::Peer as i32,
    })
}

fn peer_error(_: &mut Call<'_>, transport: i64, peer: i64) -> Result<String, CallError> {
    Ok(TRANSPORTS.get(transport)?.transport.peer_error(number(peer, "peer")?))
}

fn stop(_: &mut Call<'_>, transport: i64) -> Result<(), CallError> {
    TRANSPORTS.remove(transport)?.transport.stop();
    Ok(())
}

/// Which limits were reduced on this machine, and which files cannot be registered as they are, each with the cause, in
/// words; empty if there is nothing.
fn warnings(_: &mut Call<'_>, transport: i64) -> Result<String, CallError> {
    Ok(TRANSPORTS.get(transport)?.transport.warnings().join("; "))
}

/// How files of each directory are registered with an RDMA device, in words; empty without one.
fn registrations(_: &mut Call<'_>, transport: i64) -> Result<String, CallError> {
    Ok(TRANSPORTS.get(transport)?.transport.registrations().join("; "))
}

fn means(_: &mut Call<'_>, transport: i64) -> Result<String, CallError> {
    Ok(TRANSPORTS.get(transport)?.transport.means().join(","))
}

/// The names of what `statistics` gives, in its order.
fn statistic_names(_: &mut Call<'_>) -> Result<String, CallError> {
    Ok(Statistic::NAMES.join(","))
}

fn statistics(call: &mut Call<'_>, transport: i64, values: JLongArray<'_>) -> Result<(), CallError> {
    let longs = TRANSPORTS.get(transport)?.transport.statistics().map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    call.fill(&values, &longs)
}
