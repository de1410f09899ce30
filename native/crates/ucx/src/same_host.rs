//! The wire that executors use: system calls (CMA) for memory of processes of the same host, UCX for the rest.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sluice_mem::RegistrableProvider;
use sluice_transport::{CmaWire, WireError, longest_step};

use crate::library::Ucx;
use crate::wire::UcxWire;

/// A wire that reads by CMA where `UCX_TLS` lets UCX itself do so: when it is not set, when it names `cma` or a
/// transport of shared memory, and when it excludes neither `cma` nor a group that contains it.
///
/// On more than one core a second thread reads too; a read of its that takes longer than a step of a transport with
/// this `timeout` may is reported as stuck. `received` has the regions of the arena that is read into, see
/// [`UcxWire::with_received`]. `read_bytes` counts the bytes read by CMA. To be called on the thread that uses the
/// wire.
///
/// # Errors
/// Those of [`UcxWire::new`], [`UcxWire::check_reach`] and [`CmaWire::with_helper`].
pub fn wire(
    ucx: Arc<Ucx>,
    received: Arc<RegistrableProvider>,
    read_bytes: Arc<AtomicU64>,
    timeout: Duration,
) -> Result<CmaWire<UcxWire>, WireError> {
    let transports = std::env::var_os("UCX_TLS").map(|value| value.to_string_lossy().into_owned());
    let enabled = transports.as_deref().is_none_or(allows_cma);
    let mut inner = UcxWire::with_received(ucx, received)?;
    inner.check_reach()?;
    let cma = CmaWire::new(inner, enabled, read_bytes);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores > 1 { cma.with_helper(longest_step(timeout)) } else { Ok(cma) }
}

/// CMA, and the names of groups that contain it.
const CMA: [&str; 3] = ["cma", "sm", "shm"];
/// Transports of shared memory: a user who names one wants no network within a host.
const SHARED_MEMORY: [&str; 4] = ["posix", "sysv", "mm", "all"];

fn allows_cma(transports: &str) -> bool {
    let names = |list: &str, wanted: &[&str]| list.split(',').any(|name| wanted.contains(&name.trim()));
    match transports.trim().strip_prefix('^') {
        Some(excluded) => !names(excluded, &CMA),
        None => names(transports, &CMA) || names(transports, &SHARED_MEMORY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cma_is_used_where_ucx_may_use_it() {
        for yes in [
            "all",
            "cma",
            "tcp,cma",
            "rc,tcp,sm,self",
            "shm",
            "posix",
            "sysv,tcp",
            "mm",
            " tcp , cma ",
            "^posix",
            "^rc,tcp",
            "^",
        ] {
            assert!(allows_cma(yes), "{yes}");
        }
        for no in ["tcp", "", "tcp,self", "rc,ud", "^cma", "^tcp,sm", "^shm", "cmax"] {
            assert!(!allows_cma(no), "{no}");
        }
    }
}
