//! One program for all targets; `SLUICE_FUZZ_TARGET` says which.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sluice_fuzz::{TARGETS, Target, target};

fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<&Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("SLUICE_FUZZ_TARGET").unwrap_or_default();
        target(&name).unwrap_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
            panic!("SLUICE_FUZZ_TARGET is '{name}', not one of {}", names.join(", "))
        })
    })
}

fuzz_target!(|data: &[u8]| (chosen().run)(data));
