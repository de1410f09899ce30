//! Connections to other workers.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::rc::Rc;

use sluice_transport::{Endpoint, WireError};

use super::inbox::{EndpointArg, Inbox, on_failure};
use super::status::check;
use super::worker::Worker;
use crate::sys;

/// Zeros that follow bytes of a peer's when they are given to UCX, which reads as far as the bytes say and knows no
/// length.
pub(super) const PADDING: [u8; 64] = [0; 64];

/// More transports than UCX uses for one endpoint (`UCP_MAX_LANES` is 16 in UCX 1.22).
const MOST_MEANS: usize = 64;

/// None for an entry that UCX has not written.
fn name_of_means(entry: &sys::TransportEntry) -> Option<String> {
    let text = |name: *const std::ffi::c_char| {
        // SAFETY: not null, so written by UCX: a string that ends with 0 and lives as long as the endpoint is open,
        // which it is until after this call.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    };
    Some(format!("{}/{}", text(entry.transport_name)?, text(entry.device_name)?))
}

/// An endpoint that has not been closed.
struct Open {
    ep: sys::Ep,
    /// UCX has a pointer to it until the endpoint's close has ended. An `Rc` for the reason that [`Inbox`] gives.
    arg: Rc<EndpointArg>,
    /// Whether its failure has been reported.
    failed: bool,
}

/// Open endpoints, and how often each address was opened.
#[derive(Default)]
pub(super) struct Endpoints {
    open: HashMap<Endpoint, Open>,
    /// As long as the worker lives, because UCX counts so.
    openings: HashMap<Vec<u8>, u32>,
}

impl Endpoints {
    /// Opens an endpoint; which opening to that address it is.
    pub(super) fn open(
        &mut self,
        worker: &Worker,
        inbox: &Rc<Inbox>,
        endpoint: Endpoint,
        address: &[u8],
    ) -> Result<u32, WireError> {
        if address.is_empty() {
            return Err(WireError("an empty address".into()));
        }
        let arg = Rc::new(EndpointArg { endpoint, inbox: Rc::clone(inbox) });
        // SAFETY: integers, raw pointers and an optional function, all of which may be zero; the mask says which of
        // them UCX looks at.
        let mut params: sys::EpParams = unsafe { std::mem::zeroed() };
        params.field_mask = sys::EP_PARAM_FIELD_REMOTE_ADDRESS
            | sys::EP_PARAM_FIELD_ERR_HANDLING_MODE
            | sys::EP_PARAM_FIELD_ERR_HANDLER;
        let padded = [address, &PADDING].concat();
        params.address = padded.as_ptr().cast();
        params.err_mode = sys::ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = Some(on_failure);
        params.err_handler.arg = Rc::as_ptr(&arg).cast_mut().cast();
        let number = self.openings.entry(address.to_vec()).or_default();
        *number += 1;
        let (number, mut ep) = (*number, null_mut());
        // SAFETY: the worker is live and this is its thread; the address is copied by the call. `on_failure`'s
        // contract: `arg` is kept in `open`, then by the request that closes the endpoint; UCX calls back only inside
        // of calls on the worker, during which no borrow of the inbox is held.
        let status = unsafe { (worker.calls().ep_create)(worker.worker(), &params, &mut ep) };
        check("connecting", status)?;
        self.open.insert(endpoint, Open { ep, arg, failed: false });
        Ok(number)
    }

    /// UCX's endpoint; live until it is taken out by [`Endpoints::remove`].
    pub(super) fn ep(&self, endpoint: Endpoint) -> Option<sys::Ep> {
        self.open.get(&endpoint).map(|open| open.ep)
    }

    /// The transports and devices that UCX has chosen for an endpoint, as `tcp/eth0`; empty if it does not say.
    pub(super) fn means(&self, worker: &Worker, endpoint: Endpoint) -> Vec<String> {
        let Some(ep) = self.ep(endpoint) else { return Vec::new() };
        let mut entries = [sys::TransportEntry { transport_name: null(), device_name: null() }; MOST_MEANS];
        // SAFETY: integers and raw pointers, all of which may be zero; the mask says which of them UCX looks at.
        let mut attr: sys::EpAttr = unsafe { std::mem::zeroed() };
        attr.field_mask = sys::EP_ATTR_FIELD_TRANSPORTS;
        attr.transports = sys::Transports {
            entries: entries.as_mut_ptr(),
            num_entries: MOST_MEANS as std::ffi::c_uint,
            entry_size: size_of::<sys::TransportEntry>(),
        };
        // SAFETY: the endpoint is live and this is its worker's thread; `attr` has room for as many entries as it says
        // and is valid during the call.
        if unsafe { (worker.calls().ep_query)(ep, &mut attr) } != sys::OK {
            return Vec::new();
        }
        let count = MOST_MEANS.min(attr.transports.num_entries as usize);
        let mut means: Vec<String> = entries[..count].iter().filter_map(name_of_means).collect();
        means.sort();
        means.dedup();
        means
    }

    /// Takes an endpoint out, to be closed by the caller: UCX's endpoint, and what to keep until its close has ended.
    pub(super) fn remove(&mut self, endpoint: Endpoint) -> Option<(sys::Ep, Rc<EndpointArg>)> {
        self.open.remove(&endpoint).map(|open| (open.ep, open.arg))
    }

    /// Whether a failure is one to report: the endpoint is open, and none was reported before.
    pub(super) fn fail(&mut self, endpoint: Endpoint) -> bool {
        self.open.get_mut(&endpoint).is_some_and(|open| !std::mem::replace(&mut open.failed, true))
    }

    pub(super) fn all(&self) -> Vec<Endpoint> {
        self.open.keys().copied().collect()
    }
}
