//! Models for loom of the JVM's handle table, of the transport's queues of commands and of completions, and of its
//! limits on mapped files: their own sources, with loom's locks and atomics (`build.rs`). See `tools/verify-native
//! loom`.
#![cfg(loom)]
#![allow(dead_code, reason = "the models use a part")]

/// What the handle table needs of its crate's errors.
mod error {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Reason {
        StaleHandle,
    }

    #[derive(Debug)]
    pub struct EngineError {
        pub reason: Reason,
    }

    pub type CallError = EngineError;

    impl EngineError {
        pub fn new(reason: Reason, _: String) -> Self {
            Self { reason }
        }
    }
}

/// Stands for arena memory: says how many there are.
mod sluice_mem {
    #[derive(Debug)]
    pub struct Lease(pub std::sync::Arc<()>);
}

mod handles {
    include!(concat!(env!("OUT_DIR"), "/handles.rs"));
}

mod completions {
    use crate::sluice_mem;

    include!(concat!(env!("OUT_DIR"), "/completions.rs"));
}

/// What the queue of commands needs of the wire.
mod wire {
    pub trait Waker {
        fn wake(&self);
    }
}

mod inbox {
    include!(concat!(env!("OUT_DIR"), "/inbox.rs"));
}

mod mapped_budget {
    include!(concat!(env!("OUT_DIR"), "/mapped_budget.rs"));
}

#[cfg(test)]
mod tests {
    use crate::completions::{Completion, Completions};
    use crate::handles::HandleTable;
    use crate::inbox::Inbox;
    use crate::mapped_budget::MappedBudget;
    use crate::sluice_mem::Lease;
    use crate::wire::Waker;
    use loom::sync::{Condvar, Mutex};
    use loom::thread;
    use std::sync::Arc;
    use std::time::Duration;

    /// loom's waits have no end: a wake-up that is lost is a deadlock, which it reports.
    const LONG: Duration = Duration::from_secs(3_600);

    fn model(run: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(run);
    }

    #[test]
    fn one_of_two_threads_that_remove_a_handle_gets_the_object() {
        model(|| {
            let table = Arc::new(HandleTable::new());
            let handle = table.insert("object");
            let other = Arc::clone(&table);
            let thread = thread::spawn(move || other.remove(handle).is_ok());
            let own = table.remove(handle).is_ok();
            assert!(own != thread.join().expect("no panic"));
            assert!(table.get(handle).is_err());
        });
    }

    #[test]
    fn a_stale_handle_never_finds_the_object_that_has_its_slot_now() {
        model(|| {
            let table = Arc::new(HandleTable::new());
            let first = table.insert("first");
            let other = Arc::clone(&table);
            let thread = thread::spawn(move || other.get(first).ok().map(|object| *object));
            table.remove(first).expect("live");
            let second = table.insert("second");
            assert_eq!((second as u32, second == first), (first as u32, false), "the slot is reused");
            let found = thread.join().expect("no panic");
            assert!(found.is_none_or(|object| object == "first"), "{found:?}");
            assert_eq!(*table.get(second).expect("live"), "second");
        });
    }

    #[test]
    fn an_object_in_use_outlives_its_handle() {
        model(|| {
            let table = Arc::new(HandleTable::new());
            let handle = table.insert(String::from("object"));
            let other = Arc::clone(&table);
            let thread = thread::spawn(move || other.get(handle).ok());
            drop(table.remove(handle));
            assert!(thread.join().expect("no panic").is_none_or(|object| *object == "object"));
        });
    }

    fn completion(index: u32, memory: &Arc<()>) -> Completion {
        Completion { request: 1, index, result: Ok(Some(Lease(Arc::clone(memory)))) }
    }

    /// As the agent does, which does not wait for the queue but tries again.
    fn append(queue: &Completions, completion: Completion) {
        let mut completions = vec![completion];
        while !queue.append(&mut completions) {
            thread::yield_now();
        }
    }

    #[test]
    fn a_taker_that_sleeps_is_woken_by_what_arrives() {
        model(|| {
            let (queue, memory) = (Arc::new(Completions::default()), Arc::new(()));
            let (other, theirs) = (Arc::clone(&queue), Arc::clone(&memory));
            let thread = thread::spawn(move || {
                for index in 0..2 {
                    append(&other, completion(index, &theirs));
                }
            });
            let mut taken = Vec::new();
            while taken.len() < 2 {
                taken.extend(queue.take(8, LONG).expect("not closed"));
            }
            thread.join().expect("no panic");
            assert_eq!(taken.iter().map(|completion| completion.index).collect::<Vec<_>>(), [0, 1]);
        });
    }

    #[test]
    fn closing_ends_every_wait_and_frees_untaken_completions() {
        model(|| {
            let (queue, memory) = (Arc::new(Completions::default()), Arc::new(()));
            let (other, theirs) = (Arc::clone(&queue), Arc::clone(&memory));
            let thread = thread::spawn(move || {
                append(&other, completion(0, &theirs));
                other.close();
                append(&other, completion(1, &theirs));
            });
            while queue.take(8, LONG).is_some() {}
            thread.join().expect("no panic");
            assert!(queue.take(8, LONG).is_none());
            assert_eq!(Arc::strong_count(&memory), 1, "no completion keeps memory");
        });
    }

    /// As a wire waits: what woke it since the last wait ends the next one at once. The wait has no end of its own.
    #[derive(Default)]
    struct EventWaker {
        woken: Mutex<bool>,
        changed: Condvar,
    }

    impl Waker for EventWaker {
        fn wake(&self) {
            *self.woken.lock().expect("no panic") = true;
            self.changed.notify_one();
        }
    }

    impl EventWaker {
        fn wait(&self) {
            let mut woken = self.woken.lock().expect("no panic");
            while !*woken {
                woken = self.changed.wait(woken).expect("no panic");
            }
            *woken = false;
        }
    }

    #[test]
    fn an_agent_that_sleeps_takes_every_command_once_and_in_order() {
        model(|| {
            let (inbox, waker) = (Arc::new(Inbox::default()), Arc::new(EventWaker::default()));
            let caller = |caller: u32| {
                let (inbox, waker) = (Arc::clone(&inbox), Arc::clone(&waker));
                thread::spawn(move || {
                    for number in 0..2 {
                        inbox.push((caller, number), &*waker);
                    }
                })
            };
            let callers = [caller(0), caller(1)];
            let mut taken = Vec::new();
            while taken.len() < 4 {
                let commands = inbox.take();
                if commands.is_empty() {
                    waker.wait();
                }
                taken.extend(commands);
            }
            callers.into_iter().for_each(|caller| caller.join().expect("no panic"));
            assert_eq!(inbox.len(), 0);
            for caller in 0..2 {
                let of_caller: Vec<u32> = taken.iter().filter(|(by, _)| *by == caller).map(|(_, nth)| *nth).collect();
                assert_eq!(of_caller, [0, 1]);
            }
        });
    }

    /// Two threads want what only one of them can have: by bytes, then by mappings.
    #[test]
    fn reservations_of_two_threads_never_pass_a_limit() {
        for (max_bytes, max_regions) in [(100, 9), (usize::MAX, 1)] {
            model(move || {
                let budget = MappedBudget::new(max_bytes, max_regions);
                let other = {
                    let budget = Arc::clone(&budget);
                    thread::spawn(move || budget.reserve(60))
                };
                let (mine, other) = (budget.reserve(60), other.join().expect("no panic"));
                assert_eq!(u32::from(mine.is_some()) + u32::from(other.is_some()), 1);
                assert_eq!((budget.bytes(), budget.regions(), budget.peak_bytes()), (60, 1, 60));
                drop((mine, other));
                assert_eq!((budget.bytes(), budget.regions()), (0, 0));
            });
        }
    }

    #[test]
    fn what_one_thread_gives_back_while_another_reserves_is_counted_once() {
        model(|| {
            let budget = MappedBudget::new(100, 2);
            let held = budget.reserve(60);
            let other = {
                let budget = Arc::clone(&budget);
                thread::spawn(move || budget.reserve(60))
            };
            drop(held);
            drop(other.join().expect("no panic"));
            assert_eq!((budget.bytes(), budget.regions(), budget.peak_bytes()), (0, 0, 60));
            assert!(budget.reserve(100).is_some());
        });
    }
}
