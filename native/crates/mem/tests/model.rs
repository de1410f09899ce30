//! Random calls against an interval-set model, over host memory.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "suite/subject.rs"]
mod subject;
#[path = "suite/model.rs"]
mod suite;
mod support;

use proptest::prelude::*;
use sluice_mem::{Arena, ArenaOptions};
use std::sync::Arc;
use subject::Subject;

fn host(options: &ArenaOptions) -> Box<dyn Subject> {
    Box::new(Arena::with_provider(Arc::new(support::PLAIN_HOST), options))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_an_interval_set(calls in suite::calls()) {
        suite::run(&host, &calls);
    }
}
