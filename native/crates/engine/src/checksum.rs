//! Spark's per-partition checksums, over the bytes of each partition in the data file.

/// The algorithms of `spark.shuffle.checksum.algorithm`; the numbers are those of `NativeCore`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum ChecksumAlgorithm {
    /// Checksums are off.
    None = 0,
    /// `java.util.zip.Adler32`.
    Adler32 = 1,
    /// `java.util.zip.CRC32`.
    Crc32 = 2,
    /// `java.util.zip.CRC32C`.
    Crc32c = 3,
}

impl ChecksumAlgorithm {
    /// The algorithm with this number.
    pub fn from_id(id: i32) -> Option<Self> {
        [Self::None, Self::Adler32, Self::Crc32, Self::Crc32c].into_iter().find(|a| *a as i32 == id)
    }
}

/// A checksum being computed.
pub(crate) enum Checksum {
    None,
    Adler32(simd_adler32::Adler32),
    Crc32(crc32fast::Hasher),
    Crc32c(u32),
}

impl Checksum {
    pub(crate) fn new(algorithm: ChecksumAlgorithm) -> Self {
        match algorithm {
            ChecksumAlgorithm::None => Self::None,
            ChecksumAlgorithm::Adler32 => Self::Adler32(simd_adler32::Adler32::new()),
            ChecksumAlgorithm::Crc32 => Self::Crc32(crc32fast::Hasher::new()),
            ChecksumAlgorithm::Crc32c => Self::Crc32c(0),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::None => {}
            Self::Adler32(a) => a.write(bytes),
            Self::Crc32(c) => c.update(bytes),
            Self::Crc32c(c) => *c = crc32c::crc32c_append(*c, bytes),
        }
    }

    pub(crate) fn value(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Adler32(a) => i64::from(a.finish()),
            Self::Crc32(c) => i64::from(c.finalize()),
            Self::Crc32c(c) => i64::from(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_in_pieces() {
        // The check values of the catalogue of parametrised CRC algorithms, and RFC 1950's Adler-32.
        let cases = [
            (ChecksumAlgorithm::None, 0),
            (ChecksumAlgorithm::Adler32, 0x091E_01DE),
            (ChecksumAlgorithm::Crc32, 0xCBF4_3926),
            (ChecksumAlgorithm::Crc32c, 0xE306_9283),
        ];
        for (algorithm, expected) in cases {
            let mut c = Checksum::new(algorithm);
            c.update(b"1234");
            c.update(b"");
            c.update(b"56789");
            assert_eq!(c.value(), expected, "{algorithm:?}");
        }
        assert_eq!(Checksum::new(ChecksumAlgorithm::Adler32).value(), 1, "an empty partition's, as Java gives it");
    }
}
