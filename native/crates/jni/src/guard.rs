//! The one place where a native method is entered: errors and panics become values that Java understands.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use jni::JNIEnv;
use jni::sys::{jbyteArray, jint, jlong, jstring};

use crate::arguments::Call;
use crate::error::{CallError, Reason};

thread_local! {
    static LAST_ERROR: RefCell<Option<CallError>> = const { RefCell::new(None) };
}

/// A result of a native method.
pub(crate) trait Answer {
    /// Its type as the JVM takes it.
    type Java;

    fn into_java(self, env: &JNIEnv<'_>) -> Result<Self::Java, CallError>;

    /// What the method returns instead when it fails.
    fn failed(reason: Reason) -> Self::Java;
}

impl Answer for i64 {
    type Java = jlong;

    fn into_java(self, _: &JNIEnv<'_>) -> Result<jlong, CallError> {
        Ok(self)
    }

    fn failed(reason: Reason) -> jlong {
        reason as jlong
    }
}

impl Answer for i32 {
    type Java = jint;

    fn into_java(self, _: &JNIEnv<'_>) -> Result<jint, CallError> {
        Ok(self)
    }

    fn failed(reason: Reason) -> jint {
        reason as jint
    }
}

/// For methods without a result: 0 when they succeed.
impl Answer for () {
    type Java = jint;

    fn into_java(self, _: &JNIEnv<'_>) -> Result<jint, CallError> {
        Ok(0)
    }

    fn failed(reason: Reason) -> jint {
        reason as jint
    }
}

/// Null when the method fails.
impl Answer for String {
    type Java = jstring;

    fn into_java(self, env: &JNIEnv<'_>) -> Result<jstring, CallError> {
        Ok(env.new_string(self)?.into_raw())
    }

    fn failed(_: Reason) -> jstring {
        null_mut()
    }
}

/// Null when the method fails.
impl Answer for Vec<u8> {
    type Java = jbyteArray;

    fn into_java(self, env: &JNIEnv<'_>) -> Result<jbyteArray, CallError> {
        Ok(env.byte_array_from_slice(&self)?.into_raw())
    }

    fn failed(_: Reason) -> jbyteArray {
        null_mut()
    }
}

/// Runs the body of a native method. An error or a panic becomes [`Answer::failed`], and is kept for
/// `lastErrorMessage` and `lastErrorDirectory` on this thread.
pub(crate) fn guard<A: Answer>(env: JNIEnv<'_>, body: impl FnOnce(&mut Call<'_>) -> Result<A, CallError>) -> A::Java {
    // Unwind safety: a handle table's lock is taken for single statements only. Other state that a panic leaves
    // inconsistent is discarded by its owner: a map output's writer enters the phase `Failed`, and scratch is cleared
    // before its next use.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut call = Call { env };
        body(&mut call)?.into_java(&call.env)
    }));
    let error = match outcome {
        Ok(Ok(answer)) => return answer,
        Ok(Err(error)) => error,
        Err(panic) => CallError::new(Reason::Panic, panic_message(panic.as_ref())),
    };
    let answer = A::failed(error.reason);
    LAST_ERROR.with_borrow_mut(|last| *last = Some(error));
    answer
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the native core panicked: {}", text.unwrap_or("no message"))
}

/// Of the last failed call on this thread what `get` takes from it; the default if none has failed.
pub(crate) fn last_error<T: Default>(get: impl FnOnce(&CallError) -> T) -> T {
    LAST_ERROR.with_borrow(|last| last.as_ref().map(get).unwrap_or_default())
}
