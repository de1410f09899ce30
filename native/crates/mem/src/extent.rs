//! The free extents of the global arena: binned by length, address-ordered within a bin.
//!
//! A search starts in the bin of the wanted length and goes up, and takes the lowest address that fits in the first bin
//! where one does: best fit to within 1/8 ([`crate::log_linear`]), and the lowest address among equals, which keeps
//! high regions empty. Memory grows with the number of free extents only.

use crate::geometry::MAX_GRANULES;
use crate::log_linear::floor_step;

const BINS: usize = floor_step(MAX_GRANULES - 1) + 1;
const WORDS: usize = BINS.div_ceil(64);

/// A run of granules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// First granule (address / 4 KiB).
    pub(crate) start: usize,
    /// Length in granules, at least 1.
    pub(crate) granules: usize,
}

impl Extent {
    /// First granule after the extent.
    pub(crate) fn end(&self) -> usize {
        self.start + self.granules
    }

    /// The lowest part of `granules` granules whose start is a multiple of `align`, if there is one.
    pub(crate) fn part(&self, granules: usize, align: usize) -> Option<Extent> {
        let start = self.start.next_multiple_of(align);
        (start + granules <= self.end()).then_some(Extent { start, granules })
    }
}

/// Free extents by length and address.
#[derive(Debug)]
pub(crate) struct FreeExtents {
    /// Each by falling address: the lowest is popped from the end.
    bins: Vec<Vec<Extent>>,
    nonempty: [u64; WORDS],
    granules: usize,
}

impl FreeExtents {
    pub(crate) fn new() -> Self {
        Self { bins: vec![Vec::new(); BINS], nonempty: [0; WORDS], granules: 0 }
    }

    /// Granules in all free extents.
    pub(crate) fn granules(&self) -> usize {
        self.granules
    }

    /// The free extents of the bins that hold those of `granules` granules and more; a few may be shorter.
    pub(crate) fn at_least(&self, granules: usize) -> impl Iterator<Item = &Extent> {
        self.bins[floor_step(granules)..].iter().flatten()
    }

    /// Every free extent, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Extent> {
        self.bins.iter().flatten()
    }

    /// The extent to cut `granules` granules aligned to `align` from; it stays in.
    pub(crate) fn find(&self, granules: usize, align: usize) -> Option<Extent> {
        let mut bin = self.next_bin(floor_step(granules));
        while let Some(index) = bin {
            let fits = |extent: &&Extent| extent.part(granules, align).is_some();
            if let Some(extent) = self.bins[index].iter().rev().find(fits) {
                return Some(*extent);
            }
            bin = self.next_bin(index + 1);
        }
        None
    }

    /// The first bin from `index` on that is not empty.
    fn next_bin(&self, index: usize) -> Option<usize> {
        let mut word = index / 64;
        let mut bits = self.nonempty.get(word)? & (u64::MAX << (index % 64));
        while bits == 0 {
            word += 1;
            bits = *self.nonempty.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Adds an extent that overlaps none here.
    pub(crate) fn insert(&mut self, extent: Extent) {
        let index = floor_step(extent.granules);
        let bin = &mut self.bins[index];
        let at = bin.partition_point(|other| other.start > extent.start);
        bin.insert(at, extent);
        self.nonempty[index / 64] |= 1 << (index % 64);
        self.granules += extent.granules;
    }

    /// Takes an extent out; false when it is not here.
    pub(crate) fn remove(&mut self, extent: Extent) -> bool {
        let index = floor_step(extent.granules);
        let Some(at) = self.position(extent) else {
            return false;
        };
        self.bins[index].remove(at);
        if self.bins[index].is_empty() {
            self.nonempty[index / 64] &= !(1 << (index % 64));
        }
        self.granules -= extent.granules;
        true
    }

    /// Puts `new` in the place of `old`; they overlap, so in one bin the order stays. False when `old` is not here.
    pub(crate) fn replace(&mut self, old: Extent, new: Extent) -> bool {
        let index = floor_step(old.granules);
        if index != floor_step(new.granules) {
            let known = self.remove(old);
            self.insert(new);
            return known;
        }
        let Some(at) = self.position(old) else {
            return false;
        };
        self.bins[index][at] = new;
        self.granules = self.granules + new.granules - old.granules;
        true
    }

    fn position(&self, extent: Extent) -> Option<usize> {
        let bin = &self.bins[floor_step(extent.granules)];
        let at = bin.partition_point(|other| other.start > extent.start);
        (bin.get(at) == Some(&extent)).then_some(at)
    }

    /// Whether this very extent is here.
    pub(crate) fn contains(&self, extent: Extent) -> bool {
        self.position(extent).is_some()
    }

    /// Checks order, bins, the bitmap and the sum.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (index, bin) in self.bins.iter().enumerate() {
            if bin.iter().any(|extent| floor_step(extent.granules) != index) {
                return Err(format!("free extents: bin {index} holds a wrong length: {bin:?}"));
            }
            if !bin.is_sorted_by(|left, right| left.start > right.start) {
                return Err(format!("free extents: bin {index} is not ordered by address: {bin:?}"));
            }
            if bin.is_empty() == (self.nonempty[index / 64] & (1 << (index % 64)) != 0) {
                return Err(format!("free extents: bin {index}'s bit is wrong"));
            }
        }
        let sum: usize = self.iter().map(|extent| extent.granules).sum();
        if sum != self.granules {
            return Err(format!("free extents: sum is {sum}, counted {}", self.granules));
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn extent(start: usize, granules: usize) -> Extent {
        Extent { start, granules }
    }

    fn extents(all: &[Extent]) -> FreeExtents {
        let mut free = FreeExtents::new();
        all.iter().for_each(|&extent| free.insert(extent));
        free.check().expect("invariants");
        free
    }

    #[test]
    fn finds_the_best_bin_and_the_lowest_address() {
        let free = extents(&[extent(0, 1000), extent(5000, 40), extent(3000, 40), extent(9000, 7)]);
        assert_eq!(free.find(7, 1), Some(extent(9000, 7)));
        assert_eq!(free.find(8, 1), Some(extent(3000, 40)));
        assert_eq!(free.find(41, 1), Some(extent(0, 1000)), "own bin holds only shorter ones");
        assert_eq!(free.find(1000, 1), Some(extent(0, 1000)));
        assert_eq!(free.find(1001, 1), None);
    }

    #[test]
    fn alignment_skips_extents_that_only_fit_unaligned() {
        let free = extents(&[extent(1, 64), extent(129, 128), extent(1000, 64)]);
        assert_eq!(free.find(64, 64), Some(extent(129, 128)));
        assert_eq!(extent(129, 128).part(64, 64), Some(extent(192, 64)));
        assert_eq!(free.find(66, 64), None);
    }

    #[test]
    fn replaces_within_and_across_bins() {
        let mut free = extents(&[extent(10, 100), extent(200, 100)]);
        assert!(free.replace(extent(10, 100), extent(11, 99)), "same bin");
        assert!(free.replace(extent(200, 100), extent(290, 10)), "other bin");
        assert!(!free.remove(extent(10, 100)), "stale");
        free.check().expect("invariants");
        assert_eq!(free.granules(), 109);
        assert!(free.remove(extent(11, 99)) && free.remove(extent(290, 10)));
        assert_eq!((free.granules(), free.find(1, 1)), (0, None));
    }
}
