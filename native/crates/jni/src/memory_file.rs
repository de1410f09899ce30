//! `MemoryFile`: map outputs that are kept in memory.

use jni::objects::JString;
use jni::sys::{jint, jlong};
use sluice_engine::MemoryFile;

use crate::arguments::Call;
use crate::error::CallError;
use crate::exports::native_methods;
use crate::handles::HandleTable;

static FILES: HandleTable<MemoryFile> = HandleTable::new();

native_methods! {
    MemoryFile {
        open = open(name: JString<'_>) -> jlong;
        descriptor = descriptor(file: jlong) -> jint;
        seal = seal(file: jlong) -> jint;
        move = move_to(file: jlong, path: JString<'_>) -> jlong;
        moveAgain = move_again(file: jlong, path: JString<'_>) -> jlong;
        comeBack = come_back(file: jlong) -> jlong;
        release = release(file: jlong) -> jint;
    }
}

fn open(call: &mut Call<'_>, name: JString<'_>) -> Result<i64, CallError> {
    Ok(FILES.insert(MemoryFile::create(&call.text(&name)?)?))
}

fn descriptor(_: &mut Call<'_>, file: i64) -> Result<i32, CallError> {
    Ok(FILES.get(file)?.descriptor())
}

fn seal(_: &mut Call<'_>, file: i64) -> Result<(), CallError> {
    Ok(FILES.get(file)?.seal()?)
}

fn move_to(call: &mut Call<'_>, file: i64, path: JString<'_>) -> Result<i64, CallError> {
    let path = call.path(&path)?;
    Ok(FILES.get(file)?.move_to(&path)? as i64)
}

fn move_again(call: &mut Call<'_>, file: i64, path: JString<'_>) -> Result<i64, CallError> {
    let path = call.path(&path)?;
    Ok(FILES.get(file)?.move_again(&path)? as i64)
}

fn come_back(_: &mut Call<'_>, file: i64) -> Result<i64, CallError> {
    Ok(FILES.get(file)?.come_back()? as i64)
}

fn release(_: &mut Call<'_>, file: i64) -> Result<(), CallError> {
    FILES.remove(file)?;
    Ok(())
}
