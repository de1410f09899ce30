//! How this crate takes a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic elsewhere: a release must still work while that panic unwinds, or it would become an abort
/// of the whole JVM. [`crate::Arena::check`] finds what a panic may have left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
