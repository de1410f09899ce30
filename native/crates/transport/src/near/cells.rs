//! Cells: words of this process's memory that tell another process whether a registration here still stands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::proof::random_nonce;

/// Cells that are made at once: a page of them.
const SLAB_CELLS: usize = 512;

/// The cells that nobody has. Their memory is never given back, so that what lies at a cell's address is always a cell:
/// a page for every 512 registrations that there were at one time.
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

    fn free_cell(&mut self) -> &'static AtomicU64 {
        if let Some(word) = self.free.pop() {
            return word;
        }
        let slab: Vec<AtomicU64> = (0..SLAB_CELLS).map(|_| AtomicU64::new(0)).collect();
        self.free.extend(slab.leak().iter());
        self.free.pop().expect("just filled")
    }
}

/// Where a cell lies in its process, and what it holds while what it stands for stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) address: u64,
    pub(crate) value: u64,
}

/// A cell with a value of its own. Dropping it sets it to 0 before anything that the caller does next.
#[derive(Debug)]
pub(crate) struct Cell {
    word: &'static AtomicU64,
    value: u64,
}

impl Cell {
    pub(crate) fn new() -> Self {
        let mut pool = pool();
        let (word, value) = (pool.free_cell(), pool.fresh_value());
        word.store(value, Ordering::SeqCst);
        Self { word, value }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { address: std::ptr::from_ref(self.word).expose_provenance() as u64, value: self.value }
    }
}

impl Drop for Cell {
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
    fn a_cell_holds_its_value_and_then_nothing_and_no_value_comes_again() {
        let mut values = HashSet::new();
        for _ in 0..3 {
            let cells: Vec<Cell> = (0..2 * SLAB_CELLS).map(|_| Cell::new()).collect();
            for cell in &cells {
                assert_eq!(cell.word.load(Ordering::SeqCst), cell.mark().value);
                assert_eq!(cell.mark().value % 2, 1);
                assert!(values.insert(cell.mark().value));
            }
            let words: Vec<&AtomicU64> = cells.iter().map(|cell| cell.word).collect();
            let places: HashSet<u64> = cells.iter().map(|cell| cell.mark().address).collect();
            assert_eq!(places.len(), cells.len());
            let held: Vec<u64> = cells.iter().map(|cell| cell.value).collect();
            drop(cells);
            // Other tests may have taken them since.
            assert!(words.iter().zip(held).all(|(word, value)| word.load(Ordering::SeqCst) != value));
        }
    }
}
