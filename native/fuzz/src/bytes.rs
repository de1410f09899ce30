//! Reading of the parts of an input, one after another.

/// The rest of an input.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `n` bytes, or `None` if there are fewer.
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// A number in its `n` low bytes.
    pub(crate) fn number(&mut self, n: usize) -> Option<u64> {
        Some(self.take(n)?.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
    }
}
