//! The C interface as C programs see it: the examples, compiled with the machine's `cc` and run, with both libraries
//! and with sanitizers; and the header, whose names are those that are exported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

// Linked, so that cargo builds the libraries.
use sluice as _;

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library that cargo has built with this test, the newest if older ones are there too.
fn library(extension: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let folder = test.parent().expect("its folder");
    let is_ours = |path: &Path| {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        path.extension().is_some_and(|e| e == extension) && (stem == "libsluice" || stem.starts_with("libsluice-"))
    };
    let all = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let newest = |path: &PathBuf| path.metadata().and_then(|m| m.modified()).expect("a time");
    all.filter(|path| is_ours(path)).max_by_key(newest).expect("cargo has built it")
}

/// The examples, and what each prints first.
const EXAMPLES: [(&str, &str); 3] =
    [("partition", "1000 rows, 4 frames, "), ("engine", "8400 rows, 97 words, "), ("rows", "5000 nested rows, ")];

/// Compiles an example; none if this machine cannot with these flags, which is said.
fn compile(example: &str, name: &str, flags: &[&str], link: &[&str]) -> Option<PathBuf> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{example}-{name}"));
    let probe = program.with_extension("c");
    std::fs::write(&probe, "int main(void) { return 0; }\n").expect("a file");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let works = Command::new(&compiler).args(flags).arg(&probe).arg("-o").arg(&program).output();
    if cfg!(sluice_asan) || !works.is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: {compiler} does not link programs with {flags:?} here");
        return None;
    }
    let mut command = Command::new(&compiler);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"]).args(flags);
    command.arg("-I").arg(crate_folder().join("include")).arg(crate_folder().join(format!("examples/{example}.c")));
    command.args(link).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    let made = command.output().expect("a compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(program)
}

/// Compiles and runs all examples.
fn run(name: &str, flags: &[&str], link: &Path) {
    for (example, prints) in EXAMPLES {
        let Some(program) = compile(example, name, flags, &[link.to_str().expect("a path")]) else { return };
        let ran = Command::new(program).output().expect("the program");
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success() && out.starts_with(prints), "{example}: {out}{err}");
    }
}

/// The example for GPUs, on a simulated one that runs the kernels as the host's compiler has made them.
#[test]
fn the_gpu_example_runs_on_a_simulated_gpu() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let Some(kernels) = sluice_cuda_sim::compile_kernels(&folder, "c", &[]).expect("they compile") else { return };
    let images = folder.join("c-kernels");
    std::fs::create_dir_all(&images).expect("a folder");
    // The file that is for any GPU.
    std::fs::rename(kernels, images.join("compute_75.ptx")).expect("a file");
    let library = library("so");
    let Some(program) = compile("gpu", "shared", &[], &[library.to_str().expect("a path")]) else { return };
    let simulator = sluice_cuda_sim::Simulator::start("");
    let mut command = Command::new(&program);
    command.arg(&images).env("SLUICE_CUDA_LIBRARY", simulator.path()).env("SLUICE_CUDA_SIM", "multiprocessors=1");
    let ran = command.output().expect("the program");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.starts_with("2000 rows, 3 frames, on a GPU"), "{out}{err}");
    // Without a driver it says so.
    let ran = Command::new(program).arg(&images).env("SLUICE_CUDA_LIBRARY", "/nowhere/libcuda.so.1").output();
    let out = String::from_utf8_lossy(&ran.expect("the program").stdout).into_owned();
    assert!(out.starts_with("no GPU: ") && out.contains("/nowhere/libcuda.so.1"), "{out}");
}

#[test]
fn the_examples_run_with_the_static_library() {
    run("static", &[], &library("a"));
}

#[test]
fn the_examples_run_with_the_shared_library() {
    run("shared", &[], &library("so"));
}

/// The sanitizers see every allocation, those of the library too; of accesses only those of the C program.
#[test]
fn the_examples_run_with_sanitizers() {
    run("sanitized", &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], &library("a"));
}

/// Words of a text that begin like the interface's names.
fn names(text: &str, mark: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(mark)).map(str::to_owned).collect()
}

#[test]
fn the_header_declares_what_is_exported() {
    let header = std::fs::read_to_string(crate_folder().join("include/sluice.h")).expect("the header");
    let source = |name| std::fs::read_to_string(crate_folder().join("src").join(name)).expect("the calls");
    let calls = source("calls.rs") + &source("gpu.rs");
    let is_function =
        |line: &&str| !line.starts_with("typedef") && line.contains('(') && !line.starts_with([' ', '/', '#']);
    let declared: BTreeSet<String> = header
        .lines()
        .filter(is_function)
        .filter_map(|line| names(line.split('(').next()?, "sluice_").into_iter().next_back())
        .collect();
    let exported = calls.lines().filter(|line| line.starts_with("pub ") && line.contains("extern \"C\" fn "));
    let exported: BTreeSet<String> =
        exported.flat_map(|line| names(line.split('(').next().unwrap_or(""), "sluice_")).collect();
    assert_eq!(declared, exported);
    let abi = std::fs::read_to_string(crate_folder().join("tests/abi/abi.c")).expect("the list of the ABI");
    let listed = abi.lines().filter_map(|line| line.strip_prefix("FUNCTION("));
    let listed: BTreeSet<String> =
        listed.filter_map(|line| names(line.split(',').nth(1)?, "sluice_").into_iter().next()).collect();
    assert_eq!(listed, exported, "in tests/abi/abi.c");
    assert!(exported.len() > 15);
    for (name, value) in [("SLUICE_ABI_VERSION", sluice::sluice_abi_version()), ("SLUICE_GPU_LOST", 9)] {
        assert!(header.contains(&format!("#define {name} {value}\n")), "{name}");
    }
}
