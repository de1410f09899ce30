//! The rule for size classes and for the bins of free extents: exact up to 8, then 8 steps per doubling.
//!
//! ```text
//! value  1 2 … 8 9 … 15 | 16 18 20 … 30 | 32 36 … 60 | 64 72 …
//! step   1 2 … 8 9 … 15 | 16 17 18 … 23 | 24 25 … 31 | 32 33 …
//! ```
//!
//! The distance between neighbours is at most an eighth of the smaller one, so rounding a value up to the next step
//! adds less than 1/8, and taking a value down to its step loses less than 1/8. Both tests below check that.

/// Steps per doubling, as a power of two.
const STEP_BITS: u32 = 3;

/// The step whose value is the largest one not above `value` (`value >= 1`).
pub(crate) const fn floor_step(value: usize) -> usize {
    if value < 1 << STEP_BITS {
        return value;
    }
    let doublings = value.ilog2() - STEP_BITS;
    ((doublings as usize) << STEP_BITS) + (value >> doublings)
}

/// The step whose value is the smallest one not below `value` (`value >= 1`).
pub(crate) const fn ceil_step(value: usize) -> usize {
    let step = floor_step(value);
    if value_of(step) == value { step } else { step + 1 }
}

/// The value of a step; the inverse of [`floor_step`] on its own results.
pub(crate) const fn value_of(step: usize) -> usize {
    if step < 2 << STEP_BITS {
        return step;
    }
    let doublings = (step >> STEP_BITS) - 1;
    ((step & ((1 << STEP_BITS) - 1)) + (1 << STEP_BITS)) << doublings
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn steps_are_dense_and_rise() {
        for step in 1..200 {
            assert!(value_of(step) < value_of(step + 1), "step {step}");
            assert_eq!(floor_step(value_of(step)), step);
            assert_eq!(ceil_step(value_of(step)), step);
            assert_eq!(floor_step(value_of(step + 1) - 1), step);
        }
    }

    #[test]
    fn neighbours_differ_by_at_most_an_eighth() {
        for step in 8..200 {
            let (low, high) = (value_of(step), value_of(step + 1));
            assert!((high - low) * 8 <= low, "step {step}: {low} {high}");
        }
    }

    #[test]
    fn floor_and_ceil_enclose_every_value() {
        for value in 1..100_000 {
            assert!(value_of(floor_step(value)) <= value);
            assert!(value_of(ceil_step(value)) >= value);
            assert!(ceil_step(value) - floor_step(value) <= 1);
        }
    }
}
