//! The one place where a function is entered: errors and panics become numbers and a message.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use sluice_columns::{ColumnError, ErrorKind};
use sluice_gpu_engine::Declined;

/// Why a call failed.
pub(crate) enum CallError {
    /// A pointer is null.
    Null(&'static str),
    /// An argument is wrong.
    Argument(String),
    Columns(ColumnError),
    /// What the sink returned.
    Sink(i32),
    Gpu(Declined),
}

impl From<Declined> for CallError {
    fn from(why: Declined) -> Self {
        Self::Gpu(why)
    }
}

impl From<ColumnError> for CallError {
    fn from(error: ColumnError) -> Self {
        Self::Columns(error)
    }
}

const OK: i32 = 0;
const INVALID: i32 = 1;
const UNSUPPORTED: i32 = 2;
const PRODUCER: i32 = 3;
const CORRUPT: i32 = 4;
const NO_MEMORY: i32 = 5;
const SINK: i32 = 6;
const DEFECT: i32 = 7;
const DECLINED: i32 = 8;
const GPU_LOST: i32 = 9;

impl CallError {
    fn number(&self) -> i32 {
        match self {
            Self::Null(_) | Self::Argument(_) => INVALID,
            Self::Sink(_) => SINK,
            Self::Gpu(why) if why.is_lost() => GPU_LOST,
            Self::Gpu(_) => DECLINED,
            Self::Columns(error) => match error.kind {
                ErrorKind::Invalid | ErrorKind::Value => INVALID,
                ErrorKind::Unsupported => UNSUPPORTED,
                ErrorKind::Producer => PRODUCER,
                ErrorKind::Corrupt => CORRUPT,
                ErrorKind::NoMemory => NO_MEMORY,
            },
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Null(what) => format!("{what} is null"),
            Self::Argument(what) => what.clone(),
            Self::Sink(answer) => format!("the sink returned {answer}"),
            Self::Gpu(why) => why.to_string(),
            Self::Columns(error) => error.to_string(),
        }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// The message of this thread's last failure, until the next one; empty while the thread's variables are destroyed,
/// from whose destructors these functions may be called too.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Makes a number of what `call` returns.
pub(crate) fn guarded(call: impl FnOnce() -> Result<(), CallError>) -> i32 {
    let (number, message) = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return OK,
        Ok(Err(error)) => (error.number(), error.message()),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            (DEFECT, format!("panic: {}", text.unwrap_or_default()))
        }
    };
    // A message of Sluice's has no byte 0, but one of a producer's may quote anything.
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // Without the message where the thread has none any more.
    LAST_ERROR.try_with(|last| last.replace(message)).ok();
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_number_and_a_message() {
        assert_eq!(guarded(|| panic!("no {}", "way")), DEFECT);
        // SAFETY: a string until the next failure.
        let message = unsafe { std::ffi::CStr::from_ptr(last_error()) };
        assert_eq!(message.to_str(), Ok("panic: no way"));
    }

    /// Calls at its thread's end, and sends what they return.
    struct AtEnd(std::sync::mpsc::Sender<(i32, CString)>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            let number = guarded(|| Err(CallError::Null("all")));
            // SAFETY: a string until the next failure.
            let message = unsafe { std::ffi::CStr::from_ptr(last_error()) };
            self.0.send((number, message.to_owned())).ok();
        }
    }

    thread_local! {
        // One of them is destroyed after the message, whatever the order is.
        static BEFORE: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
        static AFTER: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }

    #[test]
    fn calls_while_a_thread_ends_fail_without_a_message() {
        let (sender, results) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            BEFORE.set(Some(AtEnd(sender.clone())));
            assert_eq!(guarded(|| Err(CallError::Sink(1))), SINK);
            AFTER.set(Some(AtEnd(sender)));
        });
        thread.join().expect("no panic");
        let results: Vec<(i32, CString)> = results.iter().collect();
        assert!(results.iter().all(|(number, _)| *number == INVALID), "{results:?}");
        assert!(results.len() == 2 && results.iter().any(|(_, message)| message.is_empty()), "{results:?}");
    }
}
