//! How this crate takes a lock.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Locks, also after a panic elsewhere: a release must still work while that panic unwinds, or it would become an abort
/// of the whole JVM. [`crate::Arena::check`] finds what a panic may have left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], but `None` where it would wait.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
