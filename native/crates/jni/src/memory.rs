//! The process's two arenas, and their leases.

use std::sync::{Arc, OnceLock};

use jni::sys::{jint, jlong};
use sluice_mem::{Arena, ArenaOptions, HostProvider, trace_file_of_environment};

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
        checkArena = check_arena() -> jint;
    }
}

/// The arena of tasks. With `SLUICE_ARENA_TRACE` set it records what it is asked for.
pub(crate) fn arena() -> &'static Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| {
        let options = ArenaOptions { trace: trace_file_of_environment(), ..ArenaOptions::with_limit(DEFAULT_LIMIT) };
        Arena::with_provider(Arc::new(HostProvider::default()), &options)
    })
}

/// The arena of blocks that were read one-sidedly, until they are released. It has a limit of its own, because how much
/// arrives follows from other executors' estimates and must not use up the memory that tasks were promised.
pub(crate) fn receive_arena() -> &'static Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| Arena::host(DEFAULT_LIMIT))
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

fn check_arena(_: &mut Call<'_>) -> Result<(), CallError> {
    arenas().iter().try_for_each(|arena| arena.check().map_err(CallError::invalid))
}
