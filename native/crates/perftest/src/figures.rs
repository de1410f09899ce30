//! What is measured, as numbers, and the middle of several runs.

use crate::plan::Load;

/// One size's figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) size: usize,
    pub(crate) load: Load,
    pub(crate) mb_per_s: f64,
    pub(crate) latency_us: f64,
    /// Processor seconds of the process that is read, per second of reading.
    pub(crate) owner_cpu: f64,
    /// MB per second of the same reads by the wire alone, without the protocol above it; measured with
    /// [`Load::Gets`].
    pub(crate) wire_mb_per_s: Option<f64>,
}

impl Figure {
    /// Of each value the middle one of several runs, of which there is at least one.
    pub(crate) fn median(runs: &[Figure]) -> Figure {
        let of = |value: fn(&Figure) -> f64| median(&mut runs.iter().map(value).collect::<Vec<_>>());
        let (mb_per_s, latency_us) = (of(|run| run.mb_per_s), of(|run| run.latency_us));
        let mut wire: Vec<f64> = runs.iter().filter_map(|run| run.wire_mb_per_s).collect();
        let wire_mb_per_s = (!wire.is_empty()).then(|| median(&mut wire));
        Figure { mb_per_s, latency_us, owner_cpu: of(|run| run.owner_cpu), wire_mb_per_s, ..runs[0] }
    }
}

/// What the bare library comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BareFigure {
    /// MB (10^6 bytes) per second of pipelined reads.
    pub(crate) mb_per_s: f64,
    /// Microseconds of one read alone: the median.
    pub(crate) latency_us: f64,
}

impl BareFigure {
    /// Of each value the middle one of several runs, of which there is at least one.
    pub(crate) fn median(runs: &[Self]) -> Self {
        let of = |value: fn(&Self) -> f64| median(&mut runs.iter().map(value).collect::<Vec<_>>());
        Self { mb_per_s: of(|run| run.mb_per_s), latency_us: of(|run| run.latency_us) }
    }
}

/// The middle of the values; of none, not a number.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }
}
