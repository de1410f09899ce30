//! Times in Arrow's units and in those of Spark's rows.

use crate::format::{Type, Unit};

/// How a number of an array becomes the number in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// As it is.
    Same,
    /// Times a number.
    Times(i64),
    /// Divided by a number, without a rest.
    Over(i64),
}

impl Scale {
    /// That of a type of times.
    pub(crate) fn of(ty: Type) -> Self {
        match ty {
            Type::Timestamp { unit, .. } | Type::Duration(unit) => Self::between(unit, Unit::Micro),
            Type::Time(unit) => Self::between(unit, Unit::Nano),
            Type::Date64 => Self::Over(24 * 60 * 60 * 1000),
            _ => Self::Same,
        }
    }

    fn between(from: Unit, to: Unit) -> Self {
        let (from, to) = (from.nanos(), to.nanos());
        match from / to {
            1 => Self::Same,
            0 => Self::Over(to / from),
            times => Self::Times(times),
        }
    }

    /// The number in a row; none if it does not fit.
    pub(crate) fn to_row(self, value: i64) -> Option<i64> {
        match self {
            Self::Same => Some(value),
            Self::Times(n) => value.checked_mul(n),
            Self::Over(n) => (value % n == 0).then(|| value / n),
        }
    }

    /// The number in an array; none if it does not fit.
    pub(crate) fn to_array(self, value: i64) -> Option<i64> {
        match self {
            Self::Same => Some(value),
            Self::Times(n) => Self::Over(n).to_row(value),
            Self::Over(n) => Self::Times(n).to_row(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_scaled_exactly_or_not_at_all() {
        let scale = |unit| Scale::of(Type::Timestamp { unit, zone: true });
        assert_eq!(scale(Unit::Second).to_row(-3), Some(-3_000_000));
        assert_eq!(scale(Unit::Second).to_row(i64::MAX), None);
        assert_eq!(scale(Unit::Micro).to_row(i64::MIN), Some(i64::MIN));
        assert_eq!(scale(Unit::Nano).to_row(-5000), Some(-5));
        assert_eq!(scale(Unit::Nano).to_row(-5001), None);
        assert_eq!(scale(Unit::Milli).to_array(-7000), Some(-7));
        assert_eq!(scale(Unit::Milli).to_array(-7001), None);
        assert_eq!(Scale::of(Type::Time(Unit::Milli)).to_row(2), Some(2_000_000));
        assert_eq!(Scale::of(Type::Date64).to_row(86_400_000), Some(1));
        assert_eq!(Scale::of(Type::Date64).to_row(1), None);
    }
}
