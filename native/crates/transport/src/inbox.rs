//! Commands of the callers' threads to the agent's thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wire::Waker;

/// A queue that any thread appends to and the agent's thread empties.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    commands: Mutex<Vec<T>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { commands: Mutex::new(Vec::new()) }
    }
}

impl<T> Inbox<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        // A push or a take is one step, so a poisoned lock guards a good queue.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a command, then ends the agent's wait. In this order: an agent that is woken first may find nothing, and
    /// wait again.
    pub(crate) fn push(&self, command: T, waker: &dyn Waker) {
        self.lock().push(command);
        waker.wake();
    }

    /// Takes all commands, in the order in which they were appended.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.lock())
    }

    /// How many commands the agent has not taken.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}
