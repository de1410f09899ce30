//! Leases.

use std::sync::{Arc, OnceLock};

use jni::JNIEnv;
use jni::objects::JClass;
use jni::sys::{jint, jlong};
use sluice_engine::EngineError;
use sluice_mem::{Arena, ArenaOptions, HostProvider, trace_file_of_environment};

use crate::guard::guard;

/// Until `setMemoryLimit` says otherwise.
const DEFAULT_LIMIT: usize = 1 << 30;

/// What tasks lease. With `SLUICE_ARENA_TRACE` set it records what it is asked for.
pub(crate) fn arena() -> &'static Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| {
        let options = ArenaOptions { trace: trace_file_of_environment(), ..ArenaOptions::with_limit(DEFAULT_LIMIT) };
        Arena::with_provider(Arc::new(HostProvider::default()), &options)
    })
}

/// What holds blocks that were read one-sidedly until they are released. It is apart from [`arena`], with a limit of its own:
/// how much arrives follows from estimates of others, and must not take what tasks count on.
pub(crate) fn receive_arena() -> &'static Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| Arena::host(DEFAULT_LIMIT))
}

/// All of the process's.
fn arenas() -> [&'static Arc<Arena>; 2] {
    [arena(), receive_arena()]
}

pub(crate) fn size(bytes: jlong, what: &str) -> Result<usize, EngineError> {
    usize::try_from(bytes).map_err(|_| EngineError::invalid(format!("{what} is {bytes}")))
}

/// `NativeCore.setMemoryLimit`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_setMemoryLimit(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    bytes: jlong,
) -> jint {
    guard(|| {
        arena().set_limit(size(bytes, "memory limit")?);
        Ok(0)
    }) as jint
}

/// `NativeCore.lease`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_lease(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    bytes: jlong,
) -> jlong {
    guard(|| Ok(arena().lease_raw(size(bytes, "lease")?)?.as_ptr() as i64))
}

/// `NativeCore.release`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_release(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    address: jlong,
) -> jint {
    guard(|| {
        arena().release_raw(address as usize)?;
        Ok(0)
    }) as jint
}

/// `NativeCore.leasedBytes`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_leasedBytes(_: JNIEnv<'_>, _: JClass<'_>) -> jlong {
    guard(|| Ok(arenas().iter().map(|arena| arena.leased_bytes() as i64).sum()))
}

/// `NativeCore.reservedBytes`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_reservedBytes(_: JNIEnv<'_>, _: JClass<'_>) -> jlong {
    guard(|| Ok(arenas().iter().map(|arena| arena.reserved_bytes() as i64).sum()))
}

/// `NativeCore.checkArena`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_checkArena(_: JNIEnv<'_>, _: JClass<'_>) -> jint {
    guard(|| {
        let check = |arena: &&Arc<Arena>| arena.check().map_err(EngineError::invalid);
        arenas().iter().try_for_each(check).map(|()| 0)
    }) as jint
}
