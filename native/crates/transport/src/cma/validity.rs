//! Validity words: words of this process's memory that tell another process whether a registration here still stands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::proof::random_nonce;

/// Validity words that are made at once: a page of them.
const SLAB_WORDS: usize = 512;

/// The free validity words. Their memory is never freed, so the address of a validity word is never used for anything
/// else: one page for every 512 registrations that existed at the same time.
static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), last: 0 });

struct Pool {
    free: Vec<&'static AtomicU64>,
    /// The value given last; 0 before the first.
    last: u64,
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Odd, so never 0; not given before in this process, and by another one with a chance of 1 in 2^63.
    fn fresh_value(&mut self) -> u64 {
        self.last = match self.last {
            0 => u128::from_le_bytes(random_nonce()) as u64 | 1,
            last => last.wrapping_add(2),
        };
        self.last
    }

    fn free_word(&mut self) -> &'static AtomicU64 {
        if let Some(word) = self.free.pop() {
            return word;
        }
        let slab: Vec<AtomicU64> = (0..SLAB_WORDS).map(|_| AtomicU64::new(0)).collect();
        self.free.extend(slab.leak().iter());
        self.free.pop().expect("just filled")
    }
}

/// Where a validity word lies in its process, and what it holds while its registration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValidityMark {
    pub(crate) address: u64,
    pub(crate) value: u64,
}

/// A validity word with a number of its own. Dropping it sets it to 0 before anything that the caller does next.
#[derive(Debug)]
pub(crate) struct ValidityWord {
    word: &'static AtomicU64,
    value: u64,
}

impl ValidityWord {
    pub(crate) fn new() -> Self {
        let mut pool = pool();
        let (word, value) = (pool.free_word(), pool.fresh_value());
        word.store(value, Ordering::SeqCst);
        Self { word, value }
    }

    pub(crate) fn mark(&self) -> ValidityMark {
        ValidityMark { address: std::ptr::from_ref(self.word).expose_provenance() as u64, value: self.value }
    }
}

impl Drop for ValidityWord {
    fn drop(&mut self) {
        self.word.store(0, Ordering::SeqCst);
        pool().free.push(self.word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_word_holds_its_value_and_then_nothing_and_no_value_comes_again() {
        let mut values = HashSet::new();
        for _ in 0..3 {
            let held: Vec<ValidityWord> = (0..2 * SLAB_WORDS).map(|_| ValidityWord::new()).collect();
            for word in &held {
                assert_eq!(word.word.load(Ordering::SeqCst), word.mark().value);
                assert_eq!(word.mark().value % 2, 1);
                assert!(values.insert(word.mark().value));
            }
            let words: Vec<&AtomicU64> = held.iter().map(|word| word.word).collect();
            let places: HashSet<u64> = held.iter().map(|word| word.mark().address).collect();
            assert_eq!(places.len(), held.len());
            let numbers: Vec<u64> = held.iter().map(|word| word.value).collect();
            drop(held);
            // Other tests may have taken them since.
            assert!(words.iter().zip(numbers).all(|(word, value)| word.load(Ordering::SeqCst) != value));
        }
    }
}
