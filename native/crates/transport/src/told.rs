//! What is kept of what owners tell: the keys of their regions, until the last read with each has begun, and where the
//! blocks' ranges are, until they are read. An owner that is hostile or damaged could tell of more than any memory
//! holds, so both count against one budget of the owner's connection and one of all connections.
//!
//! An honest owner tells of at most [`MAX_OPEN_QUESTIONS`](crate::owner::MAX_OPEN_QUESTIONS) questions of 512 blocks
//! at once, which are 32 MiB of ranges, and of as many regions as it may map, 16,384 by default. Messages that are
//! waited for may name the same region again and again: its key is kept once.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use crate::message::{Found, Key, MAX_KEY_BYTES};

/// What is kept of one connection's owner at most, in bytes.
pub(crate) const MOST_OF_ONE: usize = 64 << 20;
/// What is kept of all at most, in bytes.
pub(crate) const MOST_OF_ALL: usize = 256 << 20;
/// What a key takes beside its bytes: its own fields, and its place in the table.
const BESIDE_A_KEY: usize = size_of::<ToldKey>() + 64;

/// The budget of all connections.
pub(crate) struct ToldBudget {
    of_one: usize,
    of_all: usize,
    kept: Cell<usize>,
}

impl ToldBudget {
    /// With these limits, in bytes.
    pub(crate) fn new(of_one: usize, of_all: usize) -> Rc<Self> {
        Rc::new(Self { of_one, of_all, kept: Cell::new(0) })
    }

    /// Bytes that are kept now.
    pub(crate) fn kept(&self) -> usize {
        self.kept.get()
    }
}

/// What is kept of one connection's owner. It counts as long as any of its keys or ranges is there, the connection's
/// end notwithstanding.
pub(crate) struct Told {
    all: Rc<ToldBudget>,
    kept: Cell<usize>,
    /// By the owner's number of the region.
    keys: RefCell<HashMap<u64, Weak<ToldKey>>>,
}

/// A key; it goes with the last range that needs it.
pub(crate) struct ToldKey {
    region: u64,
    bytes: Box<[u8]>,
    of: Rc<Told>,
}

/// Counts as kept until it is dropped.
pub(crate) struct Charge {
    of: Rc<Told>,
    bytes: usize,
}

impl Told {
    pub(crate) fn new(all: &Rc<ToldBudget>) -> Rc<Self> {
        Rc::new(Self { all: Rc::clone(all), kept: Cell::new(0), keys: RefCell::default() })
    }

    /// Keeps the keys of an answer; those that were told of before are not kept twice. `range_bytes` is what each of
    /// the ranges will take, which [`Told::charge`] counts.
    ///
    /// # Errors
    /// With the ranges it would be more than may be kept, or a key is too long. Nothing of it is kept.
    pub(crate) fn keep(
        self: &Rc<Self>,
        keys: &[Key],
        found: &[Found],
        range_bytes: usize,
    ) -> Result<Vec<Rc<ToldKey>>, String> {
        let ranges: usize = found.iter().flatten().map(Vec::len).sum();
        let new = keys.iter().filter(|key| self.known(key).is_none());
        let bytes: usize = new.map(|key| BESIDE_A_KEY + key.bytes.len()).sum::<usize>() + ranges * range_bytes;
        check_key_length(keys.iter().map(|key| key.bytes.len()).max().unwrap_or_default())?;
        let ToldBudget { of_one, of_all, .. } = *self.all;
        for (kept, most, whose) in [(self.kept.get(), of_one, "one owner"), (self.all.kept(), of_all, "all owners")] {
            if kept.saturating_add(bytes) > most {
                return Err(format!(
                    "it told of {} keys and {ranges} ranges at once, {bytes} bytes beside the {kept} that are kept \
                     already: at most {most} bytes are kept of {whose}",
                    keys.len()
                ));
            }
        }
        Ok(keys.iter().map(|key| self.known(key).unwrap_or_else(|| self.add(key))).collect())
    }

    /// The same key as it was told of before.
    fn known(&self, key: &Key) -> Option<Rc<ToldKey>> {
        let known = self.keys.borrow().get(&key.region).and_then(Weak::upgrade);
        known.filter(|known| *known.bytes == *key.bytes)
    }

    fn add(self: &Rc<Self>, key: &Key) -> Rc<ToldKey> {
        let added = Rc::new(ToldKey { region: key.region, bytes: key.bytes.as_slice().into(), of: Rc::clone(self) });
        self.change(|kept| kept + added.cost());
        self.keys.borrow_mut().insert(key.region, Rc::downgrade(&added));
        added
    }

    /// Counts so many bytes as kept.
    pub(crate) fn charge(self: &Rc<Self>, bytes: usize) -> Charge {
        self.change(|kept| kept + bytes);
        Charge { of: Rc::clone(self), bytes }
    }

    fn change(&self, change: impl Fn(usize) -> usize) {
        self.kept.update(&change);
        self.all.kept.update(&change);
    }
}

/// Whether a key may be so long.
///
/// # Errors
/// It is too long for any wire.
pub(crate) fn check_key_length(bytes: usize) -> Result<(), String> {
    if bytes > MAX_KEY_BYTES {
        return Err(format!("it told of a key of {bytes} bytes: none has more than {MAX_KEY_BYTES}"));
    }
    Ok(())
}

impl ToldKey {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whose it is.
    pub(crate) fn told(&self) -> &Rc<Told> {
        &self.of
    }

    fn cost(&self) -> usize {
        BESIDE_A_KEY + self.bytes.len()
    }
}

impl Drop for ToldKey {
    fn drop(&mut self) {
        let mut keys = self.of.keys.borrow_mut();
        // Another one may have come in its place, if the owner has told of other bytes for the same region.
        if keys.get(&self.region).is_some_and(|known| known.strong_count() == 0) {
            keys.remove(&self.region);
        }
        drop(keys);
        self.of.change(|kept| kept - self.cost());
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.of.change(|kept| kept - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Range;

    const RANGE_BYTES: usize = 64;

    fn key(region: u64, bytes: usize) -> Key {
        Key { region, bytes: vec![region as u8; bytes] }
    }

    fn ranges(count: usize) -> Vec<Found> {
        vec![Ok(vec![Range { key: 0, address: 1, bytes: 1 }; count])]
    }

    #[test]
    fn a_key_is_kept_once_however_often_it_is_told_of_and_goes_with_its_last_use() {
        let all = ToldBudget::new(10_000, 10_000);
        let told = Told::new(&all);
        let first = told.keep(&[key(1, 100), key(2, 100), key(1, 100)], &[], RANGE_BYTES).expect("few");
        assert!(!Rc::ptr_eq(&first[0], &first[1]) && Rc::ptr_eq(&first[0], &first[2]));
        let again = told.keep(&[key(1, 100)], &[], RANGE_BYTES).expect("few");
        assert!(Rc::ptr_eq(&first[0], &again[0]));
        assert_eq!(all.kept(), 2 * (100 + BESIDE_A_KEY));
        let other = told.keep(&[key(1, 50)], &[], RANGE_BYTES).expect("few");
        assert_eq!((other[0].bytes().len(), again[0].bytes().len()), (50, 100), "another key for the same region");
        drop((first, again));
        assert_eq!(all.kept(), 50 + BESIDE_A_KEY);
        assert!(Rc::ptr_eq(&told.keep(&[key(1, 50)], &[], RANGE_BYTES).expect("few")[0], &other[0]));
        drop(other);
        assert_eq!((all.kept(), told.keys.borrow().len()), (0, 0));
    }

    fn refused(told: &Rc<Told>, keys: &[Key], found: &[Found]) -> String {
        told.keep(keys, found, RANGE_BYTES).err().expect("too much")
    }

    #[test]
    fn more_than_the_budget_of_an_owner_or_of_all_is_refused_and_nothing_of_it_is_kept() {
        let all = ToldBudget::new(10_000, 12_000);
        let (one, other) = (Told::new(&all), Told::new(&all));
        let keys = |keys: std::ops::Range<u64>| keys.map(|region| key(region, 100)).collect::<Vec<Key>>();
        let kept = one.keep(&keys(0..20), &ranges(10), RANGE_BYTES).expect("within the budget");
        let charges: Vec<Charge> = (0..10).map(|_| kept[0].told().charge(RANGE_BYTES)).collect();
        let before = all.kept();
        let why = refused(&one, &[], &ranges(100));
        assert!(why.contains("100 ranges") && why.contains("at most 10000 bytes are kept of one owner"), "{why}");
        assert!(refused(&one, &keys(50..90), &[]).contains("40 keys"));
        let why = refused(&other, &keys(0..45), &[]);
        assert!(why.contains("at most 12000 bytes are kept of all owners"), "{why}");
        assert_eq!(all.kept(), before);
        drop((kept, charges));
        assert_eq!(all.kept(), 0);
        assert!(other.keep(&keys(0..45), &[], RANGE_BYTES).is_ok());
    }

    #[test]
    fn keys_without_bytes_and_long_ones_are_bounded_too() {
        let all = ToldBudget::new(10_000, 10_000);
        let told = Told::new(&all);
        let empty: Vec<Key> = (0..1000).map(|region| key(region, 0)).collect();
        assert!(told.keep(&empty, &[], RANGE_BYTES).is_err());
        assert!(told.keep(&[key(1, MAX_KEY_BYTES)], &[], RANGE_BYTES).is_ok());
        assert!(refused(&told, &[key(1, MAX_KEY_BYTES + 1)], &[]).contains("4097 bytes"));
    }
}
