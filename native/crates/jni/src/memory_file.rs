//! `MemoryFile`: map outputs that are kept in memory.

use std::path::PathBuf;

use jni::JNIEnv;
use jni::objects::{JClass, JString};
use jni::sys::{jint, jlong};
use sluice_engine::{EngineError, HandleTable, MemoryFile};

use crate::guard::{guard, jvm_error};

static FILES: HandleTable<MemoryFile> = HandleTable::new();

fn text(env: &mut JNIEnv<'_>, text: &JString<'_>) -> Result<String, EngineError> {
    Ok(env.get_string(text).map_err(|e| jvm_error(&e))?.into())
}

/// `MemoryFile.open`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_MemoryFile_open(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    name: JString<'_>,
) -> jlong {
    guard(|| Ok(FILES.insert(MemoryFile::create(&text(&mut env, &name)?)?)))
}

/// `MemoryFile.descriptor`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_MemoryFile_descriptor(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    file: jlong,
) -> jint {
    guard(|| Ok(FILES.get(file)?.descriptor().into())) as jint
}

/// `MemoryFile.seal`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_MemoryFile_seal(_: JNIEnv<'_>, _: JClass<'_>, file: jlong) -> jint {
    guard(|| FILES.get(file)?.seal().map(|()| 0)) as jint
}

/// `MemoryFile.move`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_MemoryFile_move(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    file: jlong,
    path: JString<'_>,
) -> jlong {
    guard(|| {
        let path = PathBuf::from(text(&mut env, &path)?);
        Ok(FILES.get(file)?.move_to(&path)? as i64)
    })
}

/// `MemoryFile.release`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_MemoryFile_release(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    file: jlong,
) -> jint {
    guard(|| FILES.remove(file).map(|_| 0)) as jint
}
