//! The native methods of `io.sluice.nativebridge.NativeCore`, `NativeColumns`, `NativeTransport`, `NativeGpu` and
//! `MemoryFile`; their javadoc is the contract.
//!
//! ```text
//! Java ──▶ exports::native_methods! ──▶ guard ──▶ memory, writer, reader, columns, memory_file, transport or gpu
//!          (symbol, types)              (errors, panics)      (arguments by way of arguments::Call)
//! ```
//!
//! Every native method is declared with [`exports::native_methods`], which enters it through [`guard::guard`]: an error
//! becomes its negative reason, a panic [`error::Reason::Panic`], and the error is kept for `lastErrorMessage`.
//! Nothing here calls Java code, but the release callback of a batch that came from Java may.

mod arguments;
mod columns;
mod error;
mod exports;
mod gpu;
mod guard;
mod handles;
mod memory;
mod memory_file;
mod page_trace;
mod pairs;
mod reader;
mod transport;
mod writer;

use jni::sys::{jint, jstring};
use sluice_codec::Kernels;

use crate::arguments::Call;
use crate::error::CallError;
use crate::exports::native_methods;

/// Must equal `NativeCore.ABI_VERSION`.
const ABI_VERSION: jint = 22;

native_methods! {
    NativeCore {
        abiVersion = abi_version() -> jint;
        describe = describe() -> jstring;
        lastErrorMessage = last_error_message() -> jstring;
        lastErrorDirectory = last_error_directory() -> jstring;
    }
}

fn abi_version(_: &mut Call<'_>) -> Result<i32, CallError> {
    Ok(ABI_VERSION)
}

fn describe(_: &mut Call<'_>) -> Result<String, CallError> {
    let (version, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    Ok(format!("sluice native core {version} ({machine}, {} kernels)", Kernels::best().name))
}

fn last_error_message(_: &mut Call<'_>) -> Result<String, CallError> {
    Ok(guard::last_error(|error| error.message.clone()))
}

/// Empty where the error concerns no directory.
fn last_error_directory(_: &mut Call<'_>) -> Result<String, CallError> {
    let directory = |error: &CallError| error.directory.as_ref().map(|path| path.to_string_lossy().into_owned());
    Ok(guard::last_error(directory).unwrap_or_default())
}
