//! The process's two arenas, and their leases.

use std::sync::{Arc, OnceLock};

use jni::objects::JLongArray;
use jni::sys::{jboolean, jint, jlong, jstring};
use sluice_engine::heap_bytes;
use sluice_gpu_mem::PinnedProvider;
use sluice_mem::{
    Arena, ArenaOptions, HostProvider, Provider, RegistrableProvider, Statistics, trace_file_of_environment,
};

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;

/// Until `setMemoryLimit` says otherwise.
const DEFAULT_LIMIT: usize = 1 << 30;

native_methods! {
    NativeCore {
        setMemoryLimit = set_memory_limit(bytes: jlong) -> jint;
        lease = lease(bytes: jlong) -> jlong;
        release = release(address: jlong) -> jint;
        leasedBytes = leased_bytes() -> jlong;
        reservedBytes = reserved_bytes() -> jlong;
        scratchBytes = scratch_bytes() -> jlong;
        purge = purge(all: jboolean) -> jlong;
        arenaStatisticsNames = arena_statistics_names() -> jstring;
        arenaStatistics = arena_statistics(received: jboolean, values: JLongArray<'_>) -> jint;
        checkArena = check_arena() -> jint;
    }
}

/// The arena of tasks. With `SLUICE_ARENA_TRACE` set it records what it is asked for.
pub(crate) fn arena() -> &'static Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| {
        let options = ArenaOptions { trace: trace_file_of_environment(), ..ArenaOptions::with_limit(DEFAULT_LIMIT) };
        Arena::with_provider(Arc::clone(task_regions()) as Arc<dyn Provider>, &options)
    })
}

/// The regions of [`arena`], in which the pages of map outputs lie: a GPU has those pinned that it copies from.
pub(crate) fn task_regions() -> &'static Arc<PinnedProvider<HostProvider>> {
    static REGIONS: OnceLock<Arc<PinnedProvider<HostProvider>>> = OnceLock::new();
    REGIONS.get_or_init(|| Arc::new(PinnedProvider::for_sources(HostProvider::default())))
}

/// The regions of the [`receive_arena`]: a transport registers them with an RDMA device.
pub(crate) fn receive_regions() -> &'static Arc<RegistrableProvider> {
    static REGIONS: OnceLock<Arc<RegistrableProvider>> = OnceLock::new();
    REGIONS.get_or_init(|| Arc::new(RegistrableProvider::new(HostProvider::default())))
}

/// The arena of blocks that were read one-sidedly, until they are released. It has a limit of its own, because how much
/// arrives follows from other executors' estimates and must not use up the memory that tasks were promised.
pub(crate) fn receive_arena() -> &'static Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| {
        let regions = Arc::clone(receive_regions());
        Arena::with_provider(regions, &ArenaOptions::with_limit(DEFAULT_LIMIT))
    })
}

fn arenas() -> [&'static Arc<Arena>; 2] {
    [arena(), receive_arena()]
}

fn set_memory_limit(_: &mut Call<'_>, bytes: i64) -> Result<(), CallError> {
    arena().set_limit(number(bytes, "memory limit")?);
    Ok(())
}

fn lease(_: &mut Call<'_>, bytes: i64) -> Result<i64, CallError> {
    Ok(arena().lease_raw(number(bytes, "lease")?)?.as_ptr() as i64)
}

fn release(_: &mut Call<'_>, address: i64) -> Result<(), CallError> {
    Ok(arena().release_raw(address as usize)?)
}

fn leased_bytes(_: &mut Call<'_>) -> Result<i64, CallError> {
    Ok(arenas().iter().map(|arena| arena.leased_bytes() as i64).sum())
}

fn reserved_bytes(_: &mut Call<'_>) -> Result<i64, CallError> {
    Ok(arenas().iter().map(|arena| arena.reserved_bytes() as i64).sum())
}

fn scratch_bytes(_: &mut Call<'_>) -> Result<i64, CallError> {
    Ok(heap_bytes() as i64)
}

/// Gives back all free memory at once, or makes the step of a purge pass that is due in each arena.
fn purge(_: &mut Call<'_>, all: jboolean) -> Result<i64, CallError> {
    if all != 0 {
        return Ok(arenas().iter().map(|arena| arena.purge() as i64).sum());
    }
    arenas().iter().for_each(|arena| arena.purge_if_due());
    Ok(0)
}

/// The names of what `arenaStatistics` gives, in its order.
fn arena_statistics_names(_: &mut Call<'_>) -> Result<String, CallError> {
    Ok(Statistics::NAMES.join(","))
}

fn arena_statistics(call: &mut Call<'_>, received: jboolean, values: JLongArray<'_>) -> Result<(), CallError> {
    let arena = if received == 0 { arena() } else { receive_arena() };
    let longs = arena.statistics().to_array().map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    call.fill(&values, &longs)
}

fn check_arena(_: &mut Call<'_>) -> Result<(), CallError> {
    arenas().iter().try_for_each(|arena| arena.check().map_err(CallError::invalid))
}
