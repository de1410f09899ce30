//! Planted faults: a barrier is left out, or a kernel does nothing, and something must notice. Each is tried in a
//! process of its own, which may die of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sluice_cuda_sim::long_tests;
use sluice_gpu_engine::Kernels;

use crate::orders::work;
use crate::setting::{MODULE, ORDERS, Setting, folder_for_files, module};

const SKIPPED: &str = "SLUICE_SKIPPED_BARRIER";
const SKIPPED_KERNEL: &str = "SLUICE_SKIPPED_KERNEL";
const DONE: &str = "nobody noticed";
/// On a machine where tests are stopped for a while; a self-test of a device would reach its time-out long before.
const LONGEST: Duration = Duration::from_secs(300);

#[test]
fn a_barrier_that_is_left_out_is_noticed() {
    let Some(setting) = Setting::simulated() else { return };
    work(&setting);
    let (fault, sites) = setting.told();
    assert_eq!(fault, "");
    setting.finish();
    let barriers: BTreeSet<&str> = sites.iter().map(String::as_str).filter(|site| site.ends_with("barrier")).collect();
    let tried: Vec<&str> = barriers.iter().copied().step_by(if long_tests() { 1 } else { 4 }).collect();
    let folder = folder("barriers");
    let is_noticed = |site: &str| !says("without_a_barrier", (SKIPPED, site), &folder).contains(DONE);
    let missed: Vec<&str> = tried.iter().copied().filter(|site| !is_noticed(site)).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{} of {} barriers, missed: {missed:#?}", tried.len(), barriers.len());
    assert!(missed.is_empty(), "left out and not noticed: {missed:#?}");
}

/// For files of processes that may die.
fn folder(of: &str) -> PathBuf {
    let folder = folder_for_files().join(format!("faults-{of}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What a test of this file says in a process of its own, with an environment variable for it.
fn says(test: &str, (variable, value): (&str, &str), folder: &Path) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("faults::{test}"), "--ignored", "--nocapture"]).env(variable, value);
    let ended = child.env(MODULE, module().unwrap()).env("TMPDIR", folder).output().unwrap();
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

#[test]
#[ignore = "a_barrier_that_is_left_out_is_noticed runs it"]
fn without_a_barrier() {
    let Ok(site) = std::env::var(SKIPPED) else { return };
    for order in ORDERS {
        let Some(setting) = Setting::simulated() else { return };
        // Each block has more than one piece of work, so that it shows if the second comes too early.
        let setting = setting.with_most_blocks(1);
        setting.set_order(order);
        setting.skip(&site);
        work(&setting);
        setting.finish();
    }
    println!("{DONE}");
}

#[test]
#[ignore = "a_kernel_that_does_nothing_fails_the_self_test runs it"]
fn the_self_test_without_a_kernel() {
    let Ok(kernel) = std::env::var(SKIPPED_KERNEL) else { return };
    // Without what the kernel makes, another one may not end.
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST);
        std::process::exit(1);
    });
    let Some(setting) = Setting::simulated() else { return };
    setting.simulator().configure(&format!("skip={kernel}"));
    if setting.engine().is_ok() {
        println!("{DONE}");
    }
}

/// Long ones, which `./sluice test` leaves to `--all`.
mod in_all {
    use super::*;

    /// The self-test needs each kernel.
    #[test]
    fn a_kernel_that_does_nothing_fails_the_self_test() {
        if module().is_none() {
            return;
        }
        let folder = folder("kernels");
        let passes =
            |kernel: &str| says("the_self_test_without_a_kernel", (SKIPPED_KERNEL, kernel), &folder).contains(DONE);
        assert!(passes("none"), "the self-test fails with all kernels");
        let missed: Vec<&str> = Kernels::NAMES.into_iter().filter(|kernel| passes(kernel)).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(missed.is_empty(), "the self-test passes without {missed:#?}");
    }
}
