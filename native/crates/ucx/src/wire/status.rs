//! UCX's statuses as errors in words.

use sluice_transport::WireError;

use crate::sys;

/// # Errors
/// Any status but `UCS_OK`; `what` was to be done.
pub(super) fn check(what: &str, status: sys::Status) -> Result<(), WireError> {
    if status == sys::OK { Ok(()) } else { Err(error(what, status)) }
}

pub(super) fn error(what: &str, status: sys::Status) -> WireError {
    WireError(format!("{what}: UCX says {}", meaning(status)))
}

fn meaning(status: sys::Status) -> String {
    let text = match status {
        -2 => "no resource",
        -3 => "input or output error",
        -4 => "out of memory",
        -5 => "invalid parameter",
        -6 => "the destination is unreachable",
        -7 => "invalid address",
        -8 => "not implemented",
        -14 => "no such device",
        sys::ERR_BUSY => "a device or port is busy",
        -16 => "cancelled",
        -17 => "shared memory error",
        -20 => "timed out",
        -21 => "limit exceeded",
        -22 => "unsupported",
        -23 => "rejected",
        -24 => "not connected",
        -25 => "the connection was reset",
        -80 => "the endpoint timed out",
        _ => "an error",
    };
    format!("{text} ({status})")
}
