//! Arrow's types, and the Spark types whose rows they become.

use crate::error::{ColumnError, Result};

/// How variable-length values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Offsets of 4 bytes.
    Offsets32,
    /// Offsets of 8 bytes.
    Offsets64,
    /// Views of 16 bytes.
    Views,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Second,
    /// Milliseconds.
    Milli,
    /// Microseconds.
    Micro,
    /// Nanoseconds.
    Nano,
}

impl Unit {
    fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b's' => Self::Second,
            b'm' => Self::Milli,
            b'u' => Self::Micro,
            b'n' => Self::Nano,
            _ => return None,
        })
    }

    /// How many nanoseconds it has.
    pub(crate) fn nanos(self) -> i64 {
        match self {
            Self::Second => 1_000_000_000,
            Self::Milli => 1_000_000,
            Self::Micro => 1_000,
            Self::Nano => 1,
        }
    }
}

/// A type of Arrow's of which there are columns here, and the Spark type that its values become.
///
/// Values that the Spark type cannot hold are an error: an unsigned long above 2^63 − 1, a timestamp in nanoseconds
/// that is no whole number of microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `NullType`.
    Null,
    /// `BooleanType`.
    Boolean,
    /// `ByteType`.
    Int8,
    /// `ShortType`.
    Int16,
    /// `IntegerType`.
    Int32,
    /// `LongType`.
    Int64,
    /// `ShortType`.
    UInt8,
    /// `IntegerType`.
    UInt16,
    /// `LongType`.
    UInt32,
    /// `LongType`.
    UInt64,
    /// `FloatType`.
    Float32,
    /// `DoubleType`.
    Float64,
    /// `DecimalType(precision, scale)`: a long up to 18 digits.
    Decimal {
        /// Digits, at most 38.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
        /// Bytes of a value in an array: 4, 8 or 16.
        bytes: u8,
    },
    /// `DateType`: days.
    Date32,
    /// `DateType`, from milliseconds that are whole days.
    Date64,
    /// `TimeType`: nanoseconds since midnight.
    Time(Unit),
    /// `TimestampType` with a time zone, `TimestampNTZType` without: microseconds.
    Timestamp {
        /// Of the array's values.
        unit: Unit,
        /// Whether a time zone is given; which one makes no difference to the values.
        zone: bool,
    },
    /// `DayTimeIntervalType`: microseconds.
    Duration(Unit),
    /// `YearMonthIntervalType`: months.
    Months,
    /// `CalendarIntervalType`: months, days, and whole microseconds.
    MonthDayNano,
    /// `StringType`.
    Utf8(Layout),
    /// `BinaryType`.
    Binary(Layout),
    /// `BinaryType`, of values that all have so many bytes.
    FixedBinary(u32),
}

/// Digits of the longest decimal that Spark's rows hold as a long.
pub(crate) const MOST_DIGITS_OF_LONG: u8 = 18;
const MOST_DIGITS: u8 = 38;

impl Type {
    /// The type with this format string.
    pub(crate) fn parse(format: &str) -> Result<Self> {
        let simple = match format {
            "n" => Self::Null,
            "b" => Self::Boolean,
            "c" => Self::Int8,
            "s" => Self::Int16,
            "i" => Self::Int32,
            "l" => Self::Int64,
            "C" => Self::UInt8,
            "S" => Self::UInt16,
            "I" => Self::UInt32,
            "L" => Self::UInt64,
            "f" => Self::Float32,
            "g" => Self::Float64,
            "u" => Self::Utf8(Layout::Offsets32),
            "U" => Self::Utf8(Layout::Offsets64),
            "vu" => Self::Utf8(Layout::Views),
            "z" => Self::Binary(Layout::Offsets32),
            "Z" => Self::Binary(Layout::Offsets64),
            "vz" => Self::Binary(Layout::Views),
            "tdD" => Self::Date32,
            "tdm" => Self::Date64,
            "tiM" => Self::Months,
            "tin" => Self::MonthDayNano,
            "e" => return Err(ColumnError::unsupported("format 'e': Spark has no floats of 16 bits")),
            "tiD" => {
                return Err(ColumnError::unsupported("format 'tiD': Spark has no intervals of days and milliseconds"));
            }
            _ => return Self::parse_long(format),
        };
        Ok(simple)
    }

    fn parse_long(format: &str) -> Result<Self> {
        let unknown = || ColumnError::invalid(format!("unknown format '{}'", format.escape_debug()));
        if format.starts_with('+') {
            return Err(ColumnError::unsupported(format!("nested type, format '{}'", format.escape_debug())));
        }
        if let Some(digits) = format.strip_prefix("d:") {
            return Self::parse_decimal(digits).unwrap_or_else(|| Err(unknown()));
        }
        if let Some(bytes) = format.strip_prefix("w:") {
            let bytes = bytes.parse::<u32>().ok().filter(|b| *b <= i32::MAX as u32);
            return bytes.map(Self::FixedBinary).ok_or_else(unknown);
        }
        let [b't', kind, unit, rest @ ..] = format.as_bytes() else { return Err(unknown()) };
        let unit = Unit::of(*unit).ok_or_else(unknown)?;
        match (kind, rest) {
            (b't', []) => Ok(Self::Time(unit)),
            (b'D', []) => Ok(Self::Duration(unit)),
            (b's', [b':', zone @ ..]) => Ok(Self::Timestamp { unit, zone: !zone.is_empty() }),
            _ => Err(unknown()),
        }
    }

    /// None if these are no numbers.
    fn parse_decimal(digits: &str) -> Option<Result<Self>> {
        let mut numbers = digits.split(',');
        let precision: i32 = numbers.next()?.parse().ok()?;
        let scale: i32 = numbers.next()?.parse().ok()?;
        let bits: i32 = numbers.next().map_or(Some(128), |b| b.parse().ok())?;
        if numbers.next().is_some() || precision < 1 {
            return None;
        }
        let most = match bits {
            32 => 9,
            64 => i32::from(MOST_DIGITS_OF_LONG),
            128 => i32::from(MOST_DIGITS),
            _ => return Some(Err(ColumnError::unsupported(format!("decimals of {bits} bits")))),
        };
        let scale = i8::try_from(scale).ok().filter(|_| precision <= most)?;
        Some(Ok(Self::Decimal { precision: precision as u8, scale, bytes: (bits / 8) as u8 }))
    }

    /// Buffers of an array of this type, those with the bytes of views not counted.
    pub(crate) fn buffers(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Utf8(Layout::Offsets32 | Layout::Offsets64) | Self::Binary(Layout::Offsets32 | Layout::Offsets64) => {
                3
            }
            _ => 2,
        }
    }

    /// Whether a dictionary's indices can be of this type.
    pub(crate) fn is_index(self) -> bool {
        use Type::*;
        matches!(self, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
    }

    /// Whether its numbers have a sign.
    pub(crate) fn is_signed(self) -> bool {
        !matches!(self, Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64)
    }

    /// How its variable-length values are stored; none if it has none.
    pub(crate) fn layout(self) -> Option<Layout> {
        match self {
            Self::Utf8(layout) | Self::Binary(layout) => Some(layout),
            _ => None,
        }
    }

    /// Whether it is a decimal that does not fit a long.
    pub(crate) fn is_wide_decimal(self) -> bool {
        matches!(self, Self::Decimal { precision, .. } if precision > MOST_DIGITS_OF_LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn formats_are_read() {
        for (format, expected) in [
            ("d:10,2", Type::Decimal { precision: 10, scale: 2, bytes: 16 }),
            ("d:38,-3", Type::Decimal { precision: 38, scale: -3, bytes: 16 }),
            ("d:9,2,32", Type::Decimal { precision: 9, scale: 2, bytes: 4 }),
            ("w:12", Type::FixedBinary(12)),
            ("ttn", Type::Time(Unit::Nano)),
            ("tDm", Type::Duration(Unit::Milli)),
            ("tsu:", Type::Timestamp { unit: Unit::Micro, zone: false }),
            ("tss:Europe/Berlin", Type::Timestamp { unit: Unit::Second, zone: true }),
        ] {
            assert_eq!(Type::parse(format), Ok(expected), "{format}");
        }
    }

    #[test]
    fn what_is_no_format_is_invalid_and_what_has_no_rows_is_unsupported() {
        let kind = |format| Type::parse(format).map_err(|e| e.kind);
        let malformed = ["", "x", "t", "td", "ts", "tsu", "tsx:", "ttu:", "uu", "vx", "w:", "w:-1", "w:2147483648"];
        let decimals = ["d:", "d:1", "d:0,0", "d:39,2", "d:19,0,64", "d:10,0,32", "d:5,1000", "d:1,2,64,4"];
        for format in malformed.into_iter().chain(decimals) {
            assert_eq!(kind(format), Err(ErrorKind::Invalid), "{format}");
        }
        for format in ["e", "tiD", "+s", "+l", "+vl", "+w:3", "+m", "+ud:1,2", "+r", "d:70,2,256", "d:5,2,7"] {
            assert_eq!(kind(format), Err(ErrorKind::Unsupported), "{format}");
        }
    }
}
