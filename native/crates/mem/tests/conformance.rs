//! One suite for every provider: what an arena guarantees with regions of any kind of host memory.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "suite/subject.rs"]
mod subject;
#[macro_use]
#[path = "suite/conformance.rs"]
mod suite;
mod support;

use sluice_mem::RegistrableProvider;
use sluice_mem::{Arena, ArenaOptions, CallbackProvider, HostProvider, LimitedProvider, MeteredProvider, Provider};
use std::sync::Arc;
use subject::Subject;
use support::{AdjacentProvider, FixedProvider, PLAIN_HOST};

fn over<P: Provider + 'static>(provider: impl Fn() -> P) -> impl Fn(&ArenaOptions) -> Box<dyn Subject> {
    move |options| Box::new(Arena::with_provider(Arc::new(provider()), options))
}

conformance! {
    host => over(HostProvider::default);
    host_without_huge_pages => over(|| PLAIN_HOST);
    fixed => over(|| FixedProvider::new(1 << 30));
    adjacent => over(|| AdjacentProvider::new(16));
    registrable => over(|| RegistrableProvider::new(FixedProvider::new(1 << 30)));
    decorated => over(|| {
        CallbackProvider::new(LimitedProvider::new(MeteredProvider::new(PLAIN_HOST), 1 << 30), |_| false)
    });
}
