//! What the tests on a real UCX share.

use std::path::PathBuf;
use std::sync::Arc;

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
