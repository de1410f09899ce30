//! The GPU kernels of this checkout (`crates/gpu-engine/kernels`), compiled for the host: a module of the simulator.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::checkout;

/// Compiles them with the C++ compiler of `CXX`, else `c++`, into a file of `folder` that has the name and is replaced
/// in one step. None without a compiler, which is said.
///
/// # Errors
/// What the compiler says, or the file system.
pub fn compile_kernels(folder: &Path, name: &str, flags: &[&str]) -> Result<Option<PathBuf>, String> {
    let crates = checkout().join("native/crates");
    let new = folder.join(format!("kernels-{name}-{}.so", std::process::id()));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]);
    command.args(flags).arg("-I").arg(crates.join("cuda-sim/include"));
    command.arg(crates.join("gpu-engine/kernels/host/kernels.cpp")).arg("-o").arg(&new);
    match command.output() {
        Ok(made) if made.status.success() => {}
        Ok(made) => return Err(String::from_utf8_lossy(&made.stderr).into_owned()),
        Err(why) => {
            eprintln!("skipped: tests of the GPU kernels: no C++ compiler ({compiler}): {why}");
            return Ok(None);
        }
    }
    // Another process may read it.
    let object = folder.join(format!("kernels-{name}.so"));
    std::fs::rename(new, &object).map_err(|why| format!("{}: {why}", object.display()))?;
    Ok(Some(object))
}
