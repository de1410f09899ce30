//! The functions that `io.sluice.nativebridge.NativeCore`, `NativeTransport` and `MemoryFile` declare; their javadoc is the contract.
//!
//! Every function is entered through [`guard`], which turns an error into its negative reason, keeps its message
//! for `lastErrorMessage`, and turns a panic into [`Reason::Panic`]. Nothing here calls back into Java.

mod guard;
mod memory;
mod memory_file;
mod reader;
mod transport;
mod writer;

use jni::JNIEnv;
use jni::objects::JClass;
use jni::sys::{jint, jstring};
use sluice_codec::kernels::Kernels;

/// Must equal `NativeCore.ABI_VERSION`.
const ABI_VERSION: jint = 7;

/// `NativeCore.abiVersion`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_abiVersion(_: JNIEnv<'_>, _: JClass<'_>) -> jint {
    ABI_VERSION
}

/// `NativeCore.describe`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_describe(env: JNIEnv<'_>, _: JClass<'_>) -> jstring {
    let text = format!(
        "sluice native core {} ({}, {} kernels)",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        Kernels::best().name
    );
    guard::java_string(&env, &text)
}

/// `NativeCore.lastErrorMessage`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_lastErrorMessage(
    env: JNIEnv<'_>,
    _: JClass<'_>,
) -> jstring {
    guard::java_string(&env, &guard::last_error())
}
