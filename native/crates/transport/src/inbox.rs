//! What other threads tell the agent's thread: a queue that never makes the agent wait.
//!
//! Threads that append link an item before the newest one (`AtomicPtr`, compare and swap). The agent takes all items
//! with one swap and turns their order round. It never meets a lock: a thread that is suspended in the middle of an
//! append delays nothing but its own item. Only the thread whose item finds the queue empty wakes the agent; if it is
//! suspended between the two, an agent that sleeps finds the items when its sleep ends by itself.

use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::wire::Waker;

struct Node<T> {
    item: T,
    /// The item appended before; null for the first since the last take.
    before: *mut Node<T>,
}

/// A queue that any thread appends to and one thread empties.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    newest: AtomicPtr<Node<T>>,
    /// Items that were appended and not taken; may lag behind for a moment.
    length: AtomicUsize,
    /// Items go from thread to thread, as in a mutex.
    _items: PhantomData<Mutex<T>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { newest: AtomicPtr::new(null_mut()), length: AtomicUsize::new(0), _items: PhantomData }
    }
}

impl<T> Inbox<T> {
    /// Appends an item; whether the queue was empty before.
    pub(crate) fn append(&self, item: T) -> bool {
        // Before the item can be taken, so that the length never falls below zero.
        self.length.fetch_add(1, Ordering::Relaxed);
        let node = Box::into_raw(Box::new(Node { item, before: null_mut() }));
        // See `take`.
        node.expose_provenance();
        let mut before = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: `node` comes from `Box::into_raw` above, and no other thread knows it before the exchange below
            // has succeeded, after which this thread does not touch it any more.
            unsafe { (*node).before = before };
            // Release: the thread that takes the node sees what was written to it.
            match self.newest.compare_exchange_weak(before, node, Ordering::Release, Ordering::Relaxed) {
                Ok(before) => return before.is_null(),
                Err(now) => before = now,
            }
        }
    }

    /// Appends an item, then ends the agent's wait. In this order: an agent that is woken first may find nothing, and
    /// wait again. If the queue was not empty, the thread whose item came first wakes the agent for both, so that many
    /// items at once cost one call of the system.
    pub(crate) fn push(&self, item: T, waker: &dyn Waker) {
        if self.append(item) {
            waker.wake();
        }
    }

    /// Takes all items, in the order in which they were appended.
    pub(crate) fn take(&self) -> Vec<T> {
        if self.newest.load(Ordering::Relaxed).is_null() {
            return Vec::new();
        }
        let mut node = self.newest.swap(null_mut(), Ordering::Acquire);
        let mut items = Vec::new();
        while !node.is_null() {
            // By its address: an `append` may have read the pointer to an earlier node, which had this address and has
            // been taken since, before its exchange found this one there.
            let known = std::ptr::with_exposed_provenance_mut::<Node<T>>(node.addr());
            // SAFETY: made by `Box::into_raw` in `append`. The swap has taken the whole chain out of the queue, so no
            // other thread has any of its nodes (an `append` that read one as `before` has failed its exchange, or has
            // put its own node before this one, in which case it does not look at it). Each is turned back once.
            let Node { item, before } = *unsafe { Box::from_raw(known) };
            items.push(item);
            node = before;
        }
        self.length.fetch_sub(items.len(), Ordering::Relaxed);
        items.reverse();
        items
    }

    /// How many items were not taken.
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_threads_append_is_taken_once_and_each_threads_in_its_order() {
        const THREADS: usize = 4;
        const ITEMS: usize = 20_000;
        let inbox = Arc::new(Inbox::default());
        let append = |thread: usize| {
            let inbox = Arc::clone(&inbox);
            std::thread::spawn(move || (0..ITEMS).for_each(|item| _ = inbox.append((thread, Box::new(item)))))
        };
        let threads: Vec<_> = (0..THREADS).map(append).collect();
        let mut next = [0; THREADS];
        while next.iter().sum::<usize>() < THREADS * ITEMS {
            for (thread, item) in inbox.take() {
                assert_eq!(*item, next[thread], "of thread {thread}");
                next[thread] += 1;
            }
        }
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(inbox.take().is_empty() && inbox.len() == 0);
    }

    #[test]
    fn the_first_item_since_the_last_take_wakes_the_agent_and_the_others_do_not() {
        struct Counting(AtomicUsize);
        impl Waker for Counting {
            fn wake(&self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (inbox, waker) = (Inbox::default(), Counting(AtomicUsize::new(0)));
        for round in 1..=3 {
            (0..100).for_each(|item| inbox.push(item, &waker));
            assert_eq!((inbox.take().len(), waker.0.load(Ordering::Relaxed)), (100, round));
        }
    }

    #[test]
    fn what_is_not_taken_is_dropped_with_the_queue() {
        let (inbox, item) = (Inbox::default(), Arc::new(()));
        (0..3).for_each(|_| _ = inbox.append(Arc::clone(&item)));
        assert_eq!((inbox.len(), Arc::strong_count(&item)), (3, 4));
        drop(inbox);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
