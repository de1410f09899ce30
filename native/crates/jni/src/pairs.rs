//! Pairs in a task's memory, on the JVM's heap or off it, that another thread sorts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jni::JNIEnv;
use jni::objects::JLongArray;
use sluice_engine::{Abandoned, PairMemory};

use crate::arguments::{Call, number};
use crate::error::CallError;

/// Whether a task's pairs may be touched. The task ends that when it has its result, or does not wait any more, maybe
/// while the thread that sorts them is held up in a call of a GPU's driver: that thread copies pairs under the lock,
/// and not after the end.
#[derive(Debug, Default)]
pub(crate) struct Access {
    ended: Mutex<bool>,
}

impl Access {
    /// Nobody touches the pairs when this has returned. Waits for a copy, of 4 MiB at most.
    pub(crate) fn end(&self) {
        *self.lock() = true;
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        // It is set or it is not.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the pairs of a sort lie, and those that are sorted.
pub(crate) struct TaskPairs<'t> {
    access: &'t Access,
    place: Place<'t>,
    count: usize,
}

enum Place<'t> {
    /// An array of longs, and where in it the pairs and the sorted ones begin.
    Heap { env: &'t JNIEnv<'t>, array: &'t JLongArray<'t>, source: usize, target: usize },
    /// Addresses.
    OffHeap { source: *const [u64; 2], target: *mut [u64; 2] },
}

impl<'t> TaskPairs<'t> {
    /// So many pairs in an array of the heap; `places`: the longs at which the pairs and the sorted ones begin.
    ///
    /// # Errors
    /// They are not in the array, or overlap.
    pub(crate) fn on_heap<'l: 't>(
        access: &'t Access,
        call: &'t Call<'l>,
        array: &'t JLongArray<'l>,
        places: [i64; 2],
        count: usize,
    ) -> Result<Self, CallError> {
        let [source, target]: [usize; 2] = [number(places[0], "place of pairs")?, number(places[1], "their target")?];
        let (longs, most) = (count.saturating_mul(2), call.length(array)?);
        if source.abs_diff(target) < longs || most.saturating_sub(longs) < source.max(target) {
            let places = format!("{count} pairs at the longs {source} and {target} of an array of {most}");
            return Err(CallError::invalid(places));
        }
        Ok(Self { access, place: Place::Heap { env: &call.env, array, source, target }, count })
    }

    /// So many pairs at an address, and room for as many sorted ones at another.
    ///
    /// # Errors
    /// The addresses cannot be those of longs.
    pub(crate) fn off_heap(access: &'t Access, source: i64, target: i64, count: usize) -> Result<Self, CallError> {
        if source <= 0 || target <= 0 || source % 8 != 0 || target % 8 != 0 {
            return Err(CallError::invalid("null or misaligned address"));
        }
        Ok(Self { access, place: Place::OffHeap { source: source as *const _, target: target as *mut _ }, count })
    }

    fn range(&self, from: usize, count: usize) -> Result<(), Abandoned> {
        if from.checked_add(count).is_some_and(|until| until <= self.count) { Ok(()) } else { Err(Abandoned) }
    }
}

impl PairMemory for TaskPairs<'_> {
    fn read(&mut self, from: usize, target: &mut [[u64; 2]]) -> Result<(), Abandoned> {
        self.range(from, target.len())?;
        let ended = self.access.lock();
        if *ended {
            return Err(Abandoned);
        }
        match &self.place {
            Place::Heap { env, array, source, .. } => {
                let longs = target.as_flattened_mut();
                // SAFETY: an i64 is of the size and alignment of a u64, and any bits are one; the slice is borrowed
                // for as long as the pairs are.
                let longs = unsafe { &mut *(std::ptr::from_mut(longs) as *mut [i64]) };
                // The place is in the array, so that Java has nothing to throw.
                env.get_long_array_region(array, (source + 2 * from) as i32, longs).map_err(|_| Abandoned)
            }
            Place::OffHeap { source, .. } => {
                // SAFETY: the task's memory has `count` pairs there, by the contract of NativeGpu.sortPairs, and is
                // the task's until the sort ends, which the lock keeps from happening now; nobody writes to it. The
                // target is another thread's staging buffer.
                unsafe { source.add(from).copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
                Ok(())
            }
        }
    }

    fn write(&mut self, at: usize, sorted: &[[u64; 2]]) -> Result<(), Abandoned> {
        self.range(at, sorted.len())?;
        let ended = self.access.lock();
        if *ended {
            return Err(Abandoned);
        }
        match &self.place {
            Place::Heap { env, array, target, .. } => {
                let longs = sorted.as_flattened();
                // SAFETY: as for `read`.
                let longs = unsafe { &*(std::ptr::from_ref(longs) as *const [i64]) };
                env.set_long_array_region(array, (target + 2 * at) as i32, longs).map_err(|_| Abandoned)
            }
            Place::OffHeap { target, .. } => {
                // SAFETY: as for `read`; nobody else reads or writes the room for sorted pairs meanwhile.
                unsafe { target.add(at).copy_from_nonoverlapping(sorted.as_ptr(), sorted.len()) };
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn pairs_are_touched_until_the_sort_ends() {
        let (pairs, mut sorted) = ([[8u64, 3], [16, 1], [24, 2]], [[0u64; 2]; 3]);
        let access = Access::default();
        let source = pairs.as_ptr().expose_provenance() as i64;
        let target = sorted.as_mut_ptr().expose_provenance() as i64;
        let mut memory = TaskPairs::off_heap(&access, source, target, 3).map_err(|e| e.reason).expect("addresses");
        let mut read = [[0; 2]; 2];
        assert_eq!(memory.read(1, &mut read), Ok(()));
        assert_eq!((read, memory.write(0, &read)), ([[16, 1], [24, 2]], Ok(())));
        assert_eq!(memory.read(2, &mut read), Err(Abandoned), "beyond the last");
        assert_eq!(memory.write(usize::MAX, &read), Err(Abandoned));
        access.end();
        assert_eq!(memory.write(1, &[[1, 1]]), Err(Abandoned));
        assert_eq!(memory.read(0, &mut read), Err(Abandoned));
        assert_eq!(sorted, [[16, 1], [24, 2], [0, 0]]);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let access = Access::default();
        for (source, target) in [(0, 8), (8, 0), (-8, 8), (8, 12), (9, 8)] {
            let refused = TaskPairs::off_heap(&access, source, target, 1).err().map(|e| e.reason);
            assert_eq!(refused, Some(Reason::Invalid), "{source}, {target}");
        }
    }
}
