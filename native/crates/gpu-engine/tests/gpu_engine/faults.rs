//! Planted faults: a barrier is left out, and something must notice. Each is tried in a process of its own, which may
//! die of it.

use std::collections::BTreeSet;
use std::process::Command;

use crate::orders::work;
use crate::setting::{MODULE, ORDERS, Setting, folder_for_files, module};

const SKIPPED: &str = "SLUICE_SKIPPED_BARRIER";
const DONE: &str = "nobody noticed";

#[test]
fn a_barrier_that_is_left_out_is_noticed() {
    let Some(setting) = Setting::simulated() else { return };
    work(&setting);
    let (fault, sites) = setting.told();
    assert_eq!(fault, "");
    setting.finish();
    let all = std::env::var_os("SLUICE_TEST_GPU_KERNELS").is_some_and(|value| value == "all");
    let barriers: BTreeSet<&str> = sites.iter().map(String::as_str).filter(|site| site.ends_with("barrier")).collect();
    let tried: Vec<&str> = barriers.iter().copied().step_by(if all { 1 } else { 4 }).collect();
    let folder = folder_for_files().join(format!("faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let missed: Vec<&str> = tried.iter().copied().filter(|site| !is_noticed(site, &folder)).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{} of {} barriers, missed: {missed:#?}", tried.len(), barriers.len());
    assert!(missed.is_empty(), "left out and not noticed: {missed:#?}");
}

/// Whether a process that leaves the barrier out fails.
fn is_noticed(site: &str, folder: &std::path::Path) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "faults::without_a_barrier", "--ignored", "--nocapture"]).env(SKIPPED, site);
    let ended = child.env(MODULE, module().unwrap()).env("TMPDIR", folder).output().unwrap();
    !String::from_utf8_lossy(&ended.stdout).contains(DONE)
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
