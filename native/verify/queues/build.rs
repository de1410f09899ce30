//! Copies sources of other crates with loom's locks and atomics in the place of the standard library's: they name them
//! in one `use` line each.

use std::path::Path;
use std::{env, fs};

/// The file of a model, at the first of the places where it may be, with `std::sync` replaced.
fn copy(name: &str, places: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let path = places.iter().map(|place| root.join(place)).find(|path| path.exists());
    let path = path.unwrap_or_else(|| panic!("{name} is in none of {places:?}; say in build.rs where it is now"));
    println!("cargo::rerun-if-changed={}", path.display());
    let source = fs::read_to_string(&path).expect("a readable source");
    let mut copied = String::new();
    let mut replaced = false;
    // The tests are for threads of the system, and inner comments cannot be included.
    for line in source.split("#[cfg(test)]").next().unwrap_or_default().lines().filter(|line| !line.starts_with("//!"))
    {
        let names = line.strip_prefix("use std::sync::{").and_then(|rest| rest.strip_suffix("};"));
        if let Some(atomics) = line.strip_prefix("use std::sync::atomic::") {
            replaced = true;
            copied += &format!("use loom::sync::atomic::{atomics}\n");
        } else if let Some(names) = names {
            replaced = true;
            for name in names.split(", ") {
                let of_loom = ["Mutex", "MutexGuard", "Condvar"].contains(&name);
                copied += &format!("use {}::sync::{name};\n", if of_loom { "loom" } else { "std" });
            }
        } else {
            // loom's locks have no constant constructor.
            copied += &line.replace("const fn new()", "fn new()");
            copied += "\n";
        }
    }
    assert!(replaced, "{} has no line `use std::sync::{{…}};` or `use std::sync::atomic::…;`", path.display());
    let out = env::var("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join(name), copied).expect("a writable folder");
}

fn main() {
    copy("handles.rs", &["jni/src/handles.rs", "engine/src/handles.rs"]);
    copy("completions.rs", &["transport/src/completions.rs"]);
    copy("inbox.rs", &["transport/src/inbox.rs"]);
    copy("mapped_budget.rs", &["transport/src/mapped_budget.rs"]);
}
