//! A recording of this product's own calls, over host memory.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "suite/subject.rs"]
mod subject;
#[path = "suite/replay.rs"]
mod suite;
mod support;

use sluice_mem::Arena;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_recorded_job_takes_little_more_than_is_live() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../bench/results/native/arena-engine.trace.zst");
    suite::takes_little_more_than_is_live(
        &|options| Box::new(Arena::with_provider(Arc::new(support::PLAIN_HOST), options)),
        &trace,
    );
}
