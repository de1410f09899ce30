//! The program with `--gets`, both ends of it, on whatever UCX there is. Needs a UCX, as `sluice-ucx`'s tests do.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use sluice_ucx::Ucx;

/// What `--self` measures on TCP with these options, or nothing without a UCX.
fn measured(options: &[&str]) -> Option<Vec<Value>> {
    let configured = std::env::var_os("SLUICE_UCX_LIBRARY").map(PathBuf::from);
    if let Err(why) = Ucx::open(configured.as_deref(), None) {
        assert!(configured.is_none(), "{why}");
        eprintln!("skipped: {why}");
        return None;
    }
    let file = std::env::temp_dir().join(format!("sluice-perftest-gets-{}.json", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-perftest"));
    command.args(["--self", "--transports", "tcp", "--seconds", "0.05", "--repeat", "1", "--json"]).arg(&file);
    let output = command.env_remove("SLUICE_UCX_PERFTEST").args(options).output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
    std::fs::remove_file(&file).expect("there");
    Some(rows)
}

#[test]
fn blocks_are_read_with_one_get_and_with_eight_and_by_the_wire_alone() {
    let Some(rows) = measured(&["--gets", "1,8", "--sizes", "8k,2m", "--spread", "8m"]) else { return };
    let of = |row: &Value| (row["size"].as_u64(), row["gets"].as_u64());
    let expected = [(8 << 10, 1), (8 << 10, 8), (2 << 20, 1), (2 << 20, 8)];
    assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), expected.map(|(size, gets)| (Some(size), Some(gets))));
    for row in &rows {
        assert!(row["mb_per_s"].as_f64() > Some(0.0) && row["wire_mb_per_s"].as_f64() > Some(0.0), "{row}");
    }
}

#[test]
fn gets_and_window_exclude_each_other() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-perftest"));
    let output = command.args(["--self", "--gets", "1", "--window", "2"]).output().expect("started");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("cannot be used with"));
    let output = Command::new(env!("CARGO_BIN_EXE_sluice-perftest")).args(["--self", "--gets", "0"]).output();
    assert!(!output.expect("started").status.success());
}
