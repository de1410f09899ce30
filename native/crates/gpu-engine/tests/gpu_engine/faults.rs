//! Planted faults: a barrier is left out, and something must notice. Each is tried in a process of its own, which may
//! die of it.

use std::process::Command;

use crate::orders::work;
use crate::setting::{MODULE, ORDERS, Setting, module};

const SKIPPED: &str = "SLUICE_SKIPPED_BARRIER";
const DONE: &str = "nobody noticed";

#[test]
fn a_barrier_that_is_left_out_is_noticed() {
    let Some(setting) = Setting::new() else { return };
    work(&setting);
    let (fault, sites) = setting.told();
    assert_eq!(fault, "");
    setting.finish();
    let all = std::env::var_os("SLUICE_TEST_GPU_KERNELS").is_some_and(|value| value == "all");
    let barriers: Vec<usize> = (0..sites.len()).filter(|site| sites[*site].ends_with("barrier")).collect();
    let step = if all { 1 } else { 9 };
    let tried: Vec<usize> = barriers.iter().copied().skip(1).step_by(step).collect();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let missed: Vec<&str> = tried.iter().filter(|site| !is_noticed(**site, &folder)).map(|site| &sites[*site][..]).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{} of {} barriers, missed: {missed:#?}", tried.len(), barriers.len());
    // Those that keep the next turn of a loop from what this one still reads show only if a thread overtakes another.
    assert!(missed.len() * 4 <= tried.len(), "left out and not noticed: {missed:#?}");
}

/// Whether a process that leaves the barrier out fails.
fn is_noticed(site: usize, folder: &std::path::Path) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "faults::without_a_barrier", "--ignored", "--nocapture"]).env(SKIPPED, site.to_string());
    let ended = child.env(MODULE, module().unwrap()).env("TMPDIR", folder).output().unwrap();
    !String::from_utf8_lossy(&ended.stdout).contains(DONE)
}

#[test]
#[ignore = "a_barrier_that_is_left_out_is_noticed runs it"]
fn without_a_barrier() {
    let Ok(site) = std::env::var(SKIPPED) else { return };
    for order in ORDERS {
        let Some(setting) = Setting::new() else { return };
        setting.set_order(order);
        setting.skip(site.parse().unwrap());
        work(&setting);
        setting.finish();
    }
    println!("{DONE}");
}
