//! The locks and atomics of this crate, named in one place: under `cfg(loom)` they are loom's, which tries every order
//! in which threads can take turns (`src/loom_models.rs`).
//!
//! `std::sync::OnceLock`, of which loom has no kind, is used directly: what it guards is set by a closure that neither
//! waits nor reads what other threads write.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{PoisonError, TryLockError};

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
