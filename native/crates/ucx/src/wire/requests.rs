//! Requests under way: what UCX has begun and not ended, and what each one's end means.

use std::collections::HashMap;
use std::rc::Rc;

use sluice_transport::Endpoint;

use super::inbox::{EndpointArg, Inbox, callback_arg, on_completion};
use super::keys::KeyId;
use crate::sys::{self, Functions};

/// What the end of a request means.
pub(super) enum End {
    /// Of a get.
    Got { token: u64, key: KeyId },
    /// Of a send. The message is kept until then, because UCX reads it until then.
    Sent { endpoint: Endpoint, _message: Vec<u8> },
    /// Of closing an endpoint. The argument of its error handler is kept until then.
    Closed { arg: Rc<EndpointArg> },
}

/// Requests by their address. UCX tells of each one's end by a callback, so nothing is looked at but what has ended.
pub(super) struct Requests {
    inbox: Rc<Inbox>,
    under_way: HashMap<sys::StatusPtr, End>,
}

impl Requests {
    pub(super) fn new(inbox: Rc<Inbox>) -> Self {
        Self { inbox, under_way: HashMap::new() }
    }

    /// What to pass to UCX with an operation whose result goes to [`Requests::begun`].
    pub(super) fn param(&self, flags: u32) -> sys::RequestParam {
        // SAFETY: integers, raw pointers and an optional function, all of which may be zero; the mask says which of
        // them UCX looks at.
        let mut param: sys::RequestParam = unsafe { std::mem::zeroed() };
        param.op_attr_mask = sys::OP_ATTR_FIELD_CALLBACK | sys::OP_ATTR_FIELD_USER_DATA;
        param.cb = Some(on_completion);
        param.user_data = callback_arg(&self.inbox);
        if flags != 0 {
            param.op_attr_mask |= sys::OP_ATTR_FIELD_FLAGS;
            param.flags = flags;
        }
        param
    }

    /// Takes note of what UCX has answered to an operation. If that was a status, it has ended already: it is given
    /// back.
    pub(super) fn begun(&mut self, answer: sys::StatusPtr, end: End) -> Option<(End, sys::Status)> {
        if is_request(answer) {
            self.under_way.insert(answer, end);
            None
        } else {
            // Statuses are the lowest byte of the pointer (UCS_PTR_RAW_STATUS).
            Some((end, answer as usize as sys::Status))
        }
    }

    /// Takes what has ended since the last call.
    pub(super) fn take_completed(&mut self, calls: &Functions) -> Vec<(End, sys::Status)> {
        let completed = std::mem::take(&mut *self.inbox.completed.borrow_mut());
        let end_of = |(request, status)| {
            // A callback comes after its operation has answered with the request, so each is known.
            let end = self.under_way.remove(&request)?;
            // SAFETY: UCX answered with this request and has called back for it, so it has ended; it was in the map
            // until now, so it has not been freed.
            unsafe { (calls.request_free)(request) };
            Some((end, status))
        };
        completed.into_iter().filter_map(end_of).collect()
    }

    /// Gives up what has not ended: UCX could still use the messages and arguments, so they are never freed.
    pub(super) fn leak(&mut self) {
        self.under_way.drain().for_each(|(_, end)| std::mem::forget(end));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    #[cfg(test)]
    pub(super) fn sends(&self) -> usize {
        self.under_way.values().filter(|end| matches!(end, End::Sent { .. })).count()
    }
}

/// Whether an answer is a request. Else it is a status: 0, or one of the 100 numbers below it (UCS_PTR_IS_PTR).
fn is_request(answer: sys::StatusPtr) -> bool {
    !answer.is_null() && (answer as usize) < 0usize.wrapping_sub(100)
}
