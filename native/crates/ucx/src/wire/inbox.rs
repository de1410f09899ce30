//! What UCX's callbacks leave for the wire, and the callbacks.

use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;

use sluice_transport::Endpoint;

use crate::sys;

/// A request that has ended, and how.
pub(super) type Completed = (sys::StatusPtr, sys::Status);

/// Filled by callbacks, emptied by the wire. It is shared as an [`Rc`], never a `Box`, because UCX keeps a pointer to
/// it: moving a `Box` makes pointers that were taken before invalid (the compiler takes a `Box` for the only way to its
/// content), moving an `Rc` does not.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) messages: RefCell<Vec<Vec<u8>>>,
    /// Of endpoints, and of sends over them. An endpoint may be in it more than once, or closed meanwhile.
    pub(super) failures: RefCell<Vec<(Endpoint, sys::Status)>>,
    pub(super) completed: RefCell<Vec<Completed>>,
}

/// What the failure callback of one endpoint is given.
pub(super) struct EndpointArg {
    pub(super) endpoint: Endpoint,
    pub(super) inbox: Rc<Inbox>,
}

/// The callbacks' argument: the inbox's address.
pub(super) fn callback_arg(inbox: &Rc<Inbox>) -> *mut c_void {
    Rc::as_ptr(inbox).cast_mut().cast()
}

/// The receive handler of active messages.
///
/// # Safety
/// `arg` is [`callback_arg`] of an inbox that is alive, and this is its thread; no borrow of it is held. `data` has
/// `length` bytes and `param` is valid during the call.
pub(super) unsafe extern "C" fn on_message(
    arg: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::AmRecvParam,
) -> sys::Status {
    // SAFETY: valid during the call (contract).
    let rendezvous = unsafe { (*param).recv_attr } & sys::AM_RECV_ATTR_FLAG_RNDV != 0;
    // Messages are sent eagerly. What comes as the descriptor of a rendezvous has no bytes yet, and no Sluice process
    // has sent it.
    if !rendezvous {
        // SAFETY: `data` has `length` bytes during the call (contract); UCX may pass null when there are none.
        let bytes = if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) } };
        // SAFETY: alive and of this thread (contract), so a shared reference is allowed.
        let inbox = unsafe { &*arg.cast::<Inbox>() };
        inbox.messages.borrow_mut().push(bytes.to_vec());
    }
    sys::OK
}

/// The error handler of endpoints.
///
/// # Safety
/// `arg` points to an [`EndpointArg`] that is alive, and this is its thread; no borrow of its inbox is held.
pub(super) unsafe extern "C" fn on_failure(arg: *mut c_void, _: sys::Ep, status: sys::Status) {
    // SAFETY: alive (contract).
    let arg = unsafe { &*arg.cast::<EndpointArg>() };
    arg.inbox.failures.borrow_mut().push((arg.endpoint, status));
}

/// The completion callback of sends and gets.
///
/// # Safety
/// `user_data` is [`callback_arg`] of an inbox that is alive, and this is its thread; no borrow of it is held.
pub(super) unsafe extern "C" fn on_completion(request: *mut c_void, status: sys::Status, user_data: *mut c_void) {
    // SAFETY: alive and of this thread (contract), so a shared reference is allowed.
    let inbox = unsafe { &*user_data.cast::<Inbox>() };
    inbox.completed.borrow_mut().push((request, status));
}
