//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, from 1 byte to 1 GiB: 512, 64k, 1m.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let (digits, unit) = match lower.as_bytes().last() {
            Some(b'k') => (&lower[..lower.len() - 1], 1 << 10),
            Some(b'm') => (&lower[..lower.len() - 1], 1 << 20),
            Some(b'g') => (&lower[..lower.len() - 1], 1 << 30),
            _ => (lower.as_str(), 1),
        };
        let bytes = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
        match bytes {
            Some(bytes @ 1..=0x4000_0000) => Ok(Self(bytes)),
            _ => Err(format!("'{text}' is no size from 1 to 1g")),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes % (1 << 20) == 0 => write!(f, "{}m", bytes >> 20),
            bytes if bytes % (1 << 10) == 0 => write!(f, "{}k", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [("1", 1), ("64k", 65_536), ("1M", 1 << 20), ("1g", 1 << 30), ("1000", 1000)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
        for bad in ["", "0", "k", "2g", "-1", "1x", "99999999999999999999k"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
        assert_eq!([Bytes(65_536), Bytes(1 << 20), Bytes(1000)].map(|b| b.to_string()), ["64k", "1m", "1000"]);
    }
}
