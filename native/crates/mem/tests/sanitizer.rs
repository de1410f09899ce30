//! AddressSanitizer reports wrong accesses to leases: each is made in a process of its own, which must end with the
//! report. Only in builds for it: `tools/verify-native asan`.
#![cfg(sluice_asan)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::process::Command;
use support::host_arena;

/// Names the wrong access to the child process.
const FAULT: &str = "SLUICE_TEST_FAULT";

fn report_of(fault: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", "--nocapture", "wrong_access"]).env(FAULT, fault).output().unwrap();
    assert!(!output.status.success(), "{fault} was not noticed");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes the wrong access that the environment names; none when this is an ordinary test run.
#[test]
fn wrong_access() {
    let Ok(fault) = std::env::var(FAULT) else {
        return;
    };
    let arena = host_arena(1 << 30);
    let lease = arena.lease(if fault.contains("large") { 1_000_000 } else { 100 }).unwrap();
    let (start, bytes) = (lease.as_ptr(), lease.len());
    let at = if fault.starts_with("beyond") { start.wrapping_add(bytes) } else { start };
    if fault.starts_with("after") {
        drop(lease);
    }
    if fault.contains("unmapped") {
        arena.trim(0);
    }
    // SAFETY: none, on purpose: the address is not on lease.
    unsafe { at.write_volatile(1) };
}

#[test]
fn a_write_beyond_a_lease_is_reported() {
    for fault in ["beyond a small lease", "beyond a large lease"] {
        assert!(report_of(fault).contains("AddressSanitizer: use-after-poison"), "{}", report_of(fault));
    }
}

#[test]
fn a_write_after_a_lease_is_reported() {
    for fault in ["after a small lease", "after a large lease"] {
        assert!(report_of(fault).contains("AddressSanitizer: use-after-poison"), "{}", report_of(fault));
    }
}

#[test]
fn a_write_to_an_unmapped_region_is_reported() {
    let report = report_of("after an unmapped region's large lease");
    assert!(report.contains("AddressSanitizer: SEGV"), "{report}");
}
