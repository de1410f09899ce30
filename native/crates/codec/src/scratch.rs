//! Scratch memory: buffers that an encoder or a decoder keeps from one frame to the next, so that frames of usual size
//! allocate nothing.
//!
//! Two rules bound it. While a frame is made or read, each buffer grows to exactly what that frame needs, never by
//! doubling; so the need of a frame can be computed beforehand (`scratch_bound` of [`crate::Encoder`] and
//! [`crate::Decoder`]). Afterwards, when all buffers together hold more than [`RETAINED_LIMIT`], each gives back what
//! it has above [`KEPT_BYTES`]: one giant row leaves no giant buffers behind.

use crate::error::{CodecError, Result};

/// Most bytes that an encoder or a decoder keeps between two calls. Frames of usual size (160 KiB) need under 0.7 MiB.
pub const RETAINED_LIMIT: usize = 4 << 20;
/// Most bytes that one buffer keeps when memory is given back. An encoder has 18 buffers, and contexts of at most 1
/// MiB.
const KEPT_BYTES: usize = 128 << 10;

/// Something that holds scratch memory.
pub(crate) trait Scratch {
    /// Bytes of memory held, in use or not.
    fn bytes(&self) -> usize;

    /// Frees what is held above [`KEPT_BYTES`]; the contents are lost.
    fn give_back(&mut self);

    /// Gives back if more than [`RETAINED_LIMIT`] is held.
    fn keep_within_limit(&mut self) {
        if self.bytes() > RETAINED_LIMIT {
            self.give_back();
        }
    }
}

impl<T> Scratch for Vec<T> {
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }

    fn give_back(&mut self) {
        let keep = KEPT_BYTES / size_of::<T>();
        if self.capacity() > keep {
            self.truncate(keep);
            self.shrink_to(keep);
        }
    }
}

impl<T, const N: usize> Scratch for [Vec<T>; N] {
    fn bytes(&self) -> usize {
        self.iter().map(Scratch::bytes).sum()
    }

    fn give_back(&mut self) {
        self.iter_mut().for_each(Scratch::give_back);
    }
}

/// Implements [`Scratch`] for a struct as the sum of the fields named.
macro_rules! scratch_of {
    ($type:ty: $($field:ident),+) => {
        impl $crate::scratch::Scratch for $type {
            fn bytes(&self) -> usize {
                0 $(+ self.$field.bytes())+
            }

            fn give_back(&mut self) {
                $(self.$field.give_back();)+
            }
        }
    };
}
pub(crate) use scratch_of;

/// Empties the buffer and makes room for `len` elements, no more.
pub(crate) fn clear_for<T>(buffer: &mut Vec<T>, len: usize) {
    buffer.clear();
    buffer.reserve_exact(len);
}

/// As [`at_least`], where a frame's header says how many: it may claim far more than its bytes would suggest.
pub(crate) fn try_at_least<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) -> Result<()> {
    let more = len.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| CodecError::no_memory(len * size_of::<T>()))?;
    at_least(buffer, len);
    Ok(())
}

/// Makes the buffer at least `len` elements long; those it had keep whatever they are.
pub(crate) fn at_least<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        buffer.reserve_exact(len - buffer.len());
        buffer.resize(len, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_gives_back_and_a_small_one_keeps() {
        let mut large = vec![0u64; RETAINED_LIMIT];
        large.keep_within_limit();
        assert_eq!(large.bytes(), KEPT_BYTES);
        let mut usual = vec![0u64; RETAINED_LIMIT / 8];
        usual.keep_within_limit();
        assert_eq!(usual.bytes(), RETAINED_LIMIT);
    }

    #[test]
    fn buffers_grow_to_what_is_asked_for() {
        let mut buffer: Vec<u32> = Vec::new();
        for len in [100, 101, 50, 200] {
            clear_for(&mut buffer, len);
            at_least(&mut buffer, len);
        }
        assert_eq!(buffer.capacity(), 200);
    }
}
