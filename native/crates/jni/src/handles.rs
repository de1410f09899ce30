//! Handles for the JVM: a slot and a generation, so that a stale one is an error and never a dangling pointer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{CallError, Reason};

struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

/// A table of live objects. Any thread may call anything.
pub(crate) struct HandleTable<T> {
    slots: Mutex<(Vec<Slot<T>>, Vec<u32>)>,
}

impl<T> Default for HandleTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> HandleTable<T> {
    /// An empty table.
    pub(crate) const fn new() -> Self {
        Self { slots: Mutex::new((Vec::new(), Vec::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<Slot<T>>, Vec<u32>)> {
        // The table is consistent between any two statements below, so a poisoned lock is still good.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes ownership of `value`; the handle is positive.
    pub(crate) fn insert(&self, value: T) -> i64 {
        let mut table = self.lock();
        let (slots, free) = &mut *table;
        let index = free.pop().unwrap_or_else(|| {
            slots.push(Slot { generation: 0, value: None });
            slots.len() as u32 - 1
        });
        let slot = &mut slots[index as usize];
        // 31 bits, never 0: handles stay positive, and 0 is never one.
        slot.generation = (slot.generation % 0x7FFF_FFFF) + 1;
        slot.value = Some(Arc::new(value));
        i64::from(slot.generation) << 32 | i64::from(index)
    }

    /// The object, kept alive for the caller even if the handle is removed meanwhile.
    ///
    /// # Errors
    /// `StaleHandle` if the handle was removed or never existed.
    pub(crate) fn get(&self, handle: i64) -> Result<Arc<T>, CallError> {
        self.lock()
            .0
            .get(handle as u32 as usize)
            .filter(|s| i64::from(s.generation) == handle >> 32)
            .and_then(|s| s.value.clone())
            .ok_or_else(|| stale(handle))
    }

    /// Ends the handle and returns the object.
    ///
    /// # Errors
    /// `StaleHandle` if the handle was removed or never existed.
    pub(crate) fn remove(&self, handle: i64) -> Result<Arc<T>, CallError> {
        let mut table = self.lock();
        let (slots, free) = &mut *table;
        let index = handle as u32;
        let value = slots
            .get_mut(index as usize)
            .filter(|s| i64::from(s.generation) == handle >> 32)
            .and_then(|s| s.value.take())
            .ok_or_else(|| stale(handle))?;
        free.push(index);
        Ok(value)
    }
}

fn stale(handle: i64) -> CallError {
    CallError::new(Reason::StaleHandle, format!("handle {handle:#x} is closed or was never opened"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_stays_dead_when_its_slot_is_reused() {
        let table = HandleTable::new();
        let first = table.insert("a");
        assert_eq!(*table.get(first).expect("live"), "a");
        table.remove(first).expect("live");
        let second = table.insert("b");
        assert_eq!(first as u32, second as u32, "the slot is reused");
        for dead in [first, 0, -1, i64::MAX, second + 1] {
            assert_eq!(table.get(dead).err().map(|e| e.reason), Some(Reason::StaleHandle));
            assert_eq!(table.remove(dead).err().map(|e| e.reason), Some(Reason::StaleHandle));
        }
        assert_eq!(*table.get(second).expect("live"), "b");
    }
}
