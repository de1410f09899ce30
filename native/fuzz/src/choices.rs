//! A string of bytes read as decisions.

/// Decisions out of bytes. When the bytes are used up, every decision is the first of its alternatives, so whatever is
/// generated from choices ends; and a change of a byte changes one decision, so a fuzzer can learn what each does.
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Decisions out of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next byte, or 0.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// A number below `n` (at least 1).
    pub fn below(&mut self, n: usize) -> usize {
        let mut value = usize::from(self.byte());
        if n > 256 {
            value |= usize::from(self.byte()) << 8 | usize::from(self.byte()) << 16;
        }
        value % n
    }

    /// Once in `n` times true; never when the bytes are used up.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of the alternatives.
    pub fn pick<T: Copy>(&mut self, alternatives: &[T]) -> T {
        alternatives[self.below(alternatives.len())]
    }

    /// Eight bytes as a number.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |v, i| v | u64::from(self.byte()) << (8 * i))
    }
}
