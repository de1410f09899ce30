//! What this wire puts before the addresses and keys of the wire below it.
//!
//! ```text
//! address   "SlN1" · pid u32 · mark · the inner wire's      (little endian throughout)
//!           pid: 0 when reads from there are not to be made by system calls. The mark is of a validity word that
//!           holds its value as long as the wire lives.
//! key       mark · first address u64 · bytes u64 · the inner wire's
//!           The mark is of the region's own validity word.
//! mark      address of the validity word u64 · what it holds u64
//! ```

use crate::cma::validity::ValidityMark;
use crate::wire::WireError;

const MAGIC: [u8; 4] = *b"SlN1";

/// Where a process says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// As the process itself sees it; 0: it is not to be read from by system calls.
    pub(crate) pid: u32,
    pub(crate) mark: ValidityMark,
}

impl Origin {
    pub(crate) fn encode(self, inner: &[u8]) -> Vec<u8> {
        [&MAGIC, &self.pid.to_le_bytes()[..], &self.mark.encode(), inner].concat()
    }

    /// The origin, and the inner wire's address.
    ///
    /// # Errors
    /// The bytes are no address of this wire.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let parts = || {
            let inner = bytes.strip_prefix(&MAGIC)?;
            let (pid, inner) = inner.split_first_chunk()?;
            let (mark, inner) = ValidityMark::decode(inner)?;
            Some((Self { pid: u32::from_le_bytes(*pid), mark }, inner))
        };
        parts().ok_or_else(|| WireError("the address is malformed".into()))
    }
}

/// A region in its owner's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionKey {
    pub(crate) mark: ValidityMark,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

impl RegionKey {
    pub(crate) fn encode(self, inner: &[u8]) -> Vec<u8> {
        [&self.mark.encode()[..], &self.address.to_le_bytes(), &self.bytes.to_le_bytes(), inner].concat()
    }

    /// The region, and the inner wire's key.
    ///
    /// # Errors
    /// The bytes are no key of this wire.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let parts = || {
            let (mark, inner) = ValidityMark::decode(bytes)?;
            let (address, inner) = word(inner)?;
            let (bytes, inner) = word(inner)?;
            Some((Self { mark, address, bytes }, inner))
        };
        parts().ok_or_else(|| WireError("the key is malformed".into()))
    }

    /// Whether all of these bytes lie in the region.
    pub(crate) fn covers(self, address: u64, bytes: usize) -> bool {
        let offset = address.checked_sub(self.address);
        offset.and_then(|offset| offset.checked_add(bytes as u64)).is_some_and(|end| end <= self.bytes)
    }
}

impl ValidityMark {
    fn encode(self) -> [u8; 16] {
        (u128::from(self.value) << 64 | u128::from(self.address)).to_le_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (address, rest) = word(bytes)?;
        let (value, rest) = word(rest)?;
        Some((Self { address, value }, rest))
    }
}

fn word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    bytes.split_first_chunk().map(|(word, rest)| (u64::from_le_bytes(*word), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn addresses_and_keys_come_back_and_no_short_part_is_one(
            pid: u32, numbers: [u64; 4], inner in prop::collection::vec(any::<u8>(), 0..100), cut in 0usize..24,
        ) {
            let [address, value, first, bytes] = numbers;
            let mark = ValidityMark { address, value };
            let origin = Origin { pid, mark };
            let encoded = origin.encode(&inner);
            prop_assert_eq!(Origin::decode(&encoded), Ok((origin, &inner[..])));
            prop_assert!(Origin::decode(&encoded[..cut]).is_err());
            let key = RegionKey { mark, address: first, bytes };
            let encoded = key.encode(&inner);
            prop_assert_eq!(RegionKey::decode(&encoded), Ok((key, &inner[..])));
            prop_assert!(RegionKey::decode(&encoded[..cut]).is_err());
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(Origin::decode(&bytes).is_err());
            let _ = RegionKey::decode(&bytes);
        }
    }

    #[test]
    fn a_region_covers_what_lies_in_it() {
        let mark = ValidityMark { address: 0, value: 0 };
        let key = RegionKey { mark, address: 100, bytes: 10 };
        let cases =
            [(100, 10, true), (109, 1, true), (100, 11, false), (99, 1, false), (110, 1, false), (101, 10, false)];
        for (address, bytes, covered) in cases {
            assert_eq!(key.covers(address, bytes), covered, "{address} {bytes}");
        }
        assert!(!RegionKey { mark, address: 1, bytes: u64::MAX }.covers(u64::MAX, usize::MAX));
    }
}
