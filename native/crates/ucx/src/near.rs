//! The wire that executors use: UCX, and before it system calls for what lies on the same machine.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sluice_transport::{CmaWire, WireError, longest_step};

use crate::library::Ucx;
use crate::wire::UcxWire;

/// A wire on UCX that reads near where `UCX_TLS` lets UCX itself read so: when it is not set or names `cma` or what
/// shared memory is called, and when it excludes none of those that are or contain CMA.
///
/// On more than one core a second thread helps to read, with the patience that a transport with this `timeout` has.
/// `read_bytes` counts the bytes read so; any thread may look at it. To be called on the thread that uses the wire.
///
/// # Errors
/// Those of [`UcxWire::new`] and [`CmaWire::with_helper`].
pub fn wire(ucx: Arc<Ucx>, read_bytes: Arc<AtomicU64>, timeout: Duration) -> Result<CmaWire<UcxWire>, WireError> {
    let transports = std::env::var_os("UCX_TLS").map(|value| value.to_string_lossy().into_owned());
    let enabled = transports.as_deref().is_none_or(allow_near);
    let cma = CmaWire::new(UcxWire::new(ucx)?, enabled, read_bytes);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores > 1 { cma.with_helper(longest_step(timeout)) } else { Ok(cma) }
}

/// CMA, and what stands for several transports of which it is one.
const CMA: [&str; 3] = ["cma", "sm", "shm"];
/// A user who asks for one of these wants no network within a machine.
const SHARED_MEMORY: [&str; 4] = ["posix", "sysv", "mm", "all"];

fn allow_near(transports: &str) -> bool {
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
    fn near_reads_follow_what_ucx_may_use() {
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
            assert!(allow_near(yes), "{yes}");
        }
        for no in ["tcp", "", "tcp,self", "rc,ud", "^cma", "^tcp,sm", "^shm", "cmax"] {
            assert!(!allow_near(no), "{no}");
        }
    }
}
