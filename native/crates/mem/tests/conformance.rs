//! One suite for every provider: what an arena guarantees with regions of any kind of host memory.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "suite/subject.rs"]
mod subject;
#[macro_use]
#[path = "suite/conformance.rs"]
mod suite;
mod support;

use sluice_mem::{Arena, ArenaOptions, CallbackProvider, HostProvider, LimitedProvider, MeteredProvider, Provider};
use sluice_mem::{RegistrableProvider, SEGMENT_BYTES};
use std::sync::Arc;
use subject::Subject;
use support::{AdjacentProvider, FixedProvider, PLAIN_HOST};

fn over<P: Provider + 'static>(provider: impl Fn() -> P) -> impl Fn(&ArenaOptions) -> Box<dyn Subject> {
    move |options| Box::new(Arena::with_provider(Arc::new(provider()), options))
}

/// A lease of host memory is a slice of just what was asked for.
fn leases_are_slices(provider: impl Provider + 'static) {
    let arena = Arena::with_provider(Arc::new(provider), &support::options(1 << 30));
    for bytes in [0, 1, 65, 4_097, 131_072, SEGMENT_BYTES + 1] {
        let mut lease = arena.lease(bytes).unwrap();
        assert_eq!((lease.len(), lease.is_empty()), (bytes, bytes == 0));
        assert_eq!((lease.as_slice().len(), lease.as_mut_slice().len()), (bytes, bytes));
        let ends = [0, bytes.saturating_sub(1)].into_iter().filter(|&at| at < bytes);
        for at in ends {
            lease.as_mut_slice()[at] = 7;
            assert_eq!(lease.as_slice()[at], 7, "{at} of {bytes}");
        }
    }
    assert_eq!(arena.leased_bytes(), 0);
}

/// The suite, and what only host memory has, for each provider.
macro_rules! host_conformance {
    ($($kind:ident => $make:expr;)*) => {
        conformance! { $($kind => over($make);)* }

        #[test]
        fn leases_of_every_provider_are_slices() {
            $(leases_are_slices($make());)*
        }
    };
}

host_conformance! {
    host => HostProvider::default;
    host_without_huge_pages => || PLAIN_HOST;
    fixed => || FixedProvider::new(1 << 30);
    adjacent => || AdjacentProvider::new(16);
    registrable => || RegistrableProvider::new(FixedProvider::new(1 << 30));
    decorated => || {
        CallbackProvider::new(LimitedProvider::new(MeteredProvider::new(PLAIN_HOST), 1 << 30), |_| false)
    };
}
