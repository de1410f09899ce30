//! A small number for each living thread.
//!
//! Numbers are dense: a thread takes the lowest one that no living thread has and gives it back when it ends. So N
//! threads at a time use the N lowest shards however many threads come and go, and what a dead thread's shard still
//! caches is used by the next thread that takes its number.

#[cfg(not(loom))]
pub(crate) use dense::current;
#[cfg(loom)]
pub(crate) use given::{current, set};

/// Numbers that a loom model gives its threads, so that they are the same in every execution; 0 at first.
#[cfg(loom)]
mod given {
    use std::cell::Cell;

    loom::thread_local! {
        static NUMBER: Cell<usize> = Cell::new(0);
    }

    /// Sets the calling thread's number.
    pub(crate) fn set(number: usize) {
        NUMBER.with(|own| own.set(number));
    }

    pub(crate) fn current() -> usize {
        NUMBER.with(Cell::get)
    }
}

#[cfg(not(loom))]
mod dense {
    use crate::sync::lock;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::sync::Mutex;

    #[derive(Debug)]
    struct Numbers {
        free: BinaryHeap<Reverse<usize>>,
        next: usize,
    }

    static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers { free: BinaryHeap::new(), next: 0 });

    struct ThreadSlot(usize);

    impl ThreadSlot {
        fn take() -> Self {
            let mut numbers = lock(&NUMBERS);
            if let Some(Reverse(number)) = numbers.free.pop() {
                return Self(number);
            }
            numbers.next += 1;
            Self(numbers.next - 1)
        }
    }

    impl Drop for ThreadSlot {
        fn drop(&mut self) {
            lock(&NUMBERS).free.push(Reverse(self.0));
        }
    }

    thread_local! {
        static SLOT: ThreadSlot = ThreadSlot::take();
    }

    /// The calling thread's number; 0 for a thread that is ending, which may share it.
    pub(crate) fn current() -> usize {
        SLOT.try_with(|slot| slot.0).unwrap_or(0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;

    #[test]
    fn living_threads_have_different_numbers_and_dead_ones_give_theirs_back() {
        for _ in 0..50 {
            let together = Barrier::new(4);
            let numbers: Vec<usize> = std::thread::scope(|scope| {
                let run = || {
                    let number = current();
                    together.wait();
                    assert_eq!(number, current(), "stable");
                    number
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 4);
            // 50 rounds of 4 threads would reach 200 if numbers were not reused; other tests' threads take some too.
            assert!(numbers.iter().all(|&number| number < 150), "{numbers:?}");
        }
    }
}
