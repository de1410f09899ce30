//! What the tests on a real UCX share.

use std::path::PathBuf;
use std::sync::Arc;

use sluice_mem::{Arena, ArenaOptions, HostProvider, RegistrableProvider};
use sluice_ucx::Ucx;

/// The UCX that `SLUICE_UCX_LIBRARY` names, which must then be usable, or the system's. Without one, says that the test
/// was skipped.
pub fn ucx() -> Option<Arc<Ucx>> {
    let configured = std::env::var_os("SLUICE_UCX_LIBRARY").map(PathBuf::from);
    match Ucx::open(configured.as_deref(), None) {
        Ok(ucx) => Some(ucx),
        Err(why) if configured.is_none() => {
            eprintln!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// An arena to read into, and its regions.
#[allow(dead_code, reason = "not all tests need it")]
pub fn receive_arena(limit: usize) -> (Arc<Arena>, Arc<RegistrableProvider>) {
    let regions = Arc::new(RegistrableProvider::new(HostProvider::default()));
    (Arena::with_provider(regions.clone(), &ArenaOptions::with_limit(limit)), regions)
}
