//! The one place where errors and panics become numbers.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni::JNIEnv;
use jni::sys::{jlong, jstring};
use sluice_engine::{EngineError, Reason};

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `body`; its result if it has one, else the reason as a negative number.
pub(crate) fn guard(body: impl FnOnce() -> Result<i64, EngineError>) -> jlong {
    // A panic leaves no half-made state behind that is used again: runs are pushed whole, scratch is cleared before use.
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(result)) => return result,
        Ok(Err(error)) => error,
        Err(panic) => EngineError::new(Reason::Panic, panic_message(panic.as_ref())),
    };
    LAST_ERROR.with_borrow_mut(|last| *last = error.message);
    error.reason as jlong
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the native core panicked: {}", text.unwrap_or("no message"))
}

pub(crate) fn last_error() -> String {
    LAST_ERROR.with_borrow(Clone::clone)
}

/// A Java string, or null if the JVM has no memory for it (an exception is then pending).
pub(crate) fn java_string(env: &JNIEnv<'_>, text: &str) -> jstring {
    env.new_string(text).map_or(std::ptr::null_mut(), |s| s.into_raw())
}

/// A failed call into the JVM itself.
pub(crate) fn jvm_error(e: &jni::errors::Error) -> EngineError {
    EngineError::invalid(format!("reading an argument: {e}"))
}
