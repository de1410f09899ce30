//! The fixed 32 bytes before every payload.

use crate::error::{CodecError, Result};

/// Length of a frame header.
pub const HEADER_BYTES: usize = 32;
/// "SLF1", little-endian: Sluice frame, format 1.
pub const MAGIC: u32 = 0x3146_4C53;
/// "SLF2", little-endian: what sealed frames and end marks begin with.
pub const SEALED_MAGIC: u32 = 0x3246_4C53;
/// Flag of a sealed frame.
const FLAG_SEALED: u8 = 1;
/// Flags of an end mark.
const FLAGS_END_MARK: u8 = 3;
/// Most records in one frame.
pub const MAX_RECORDS: u32 = 1 << 16;
/// Most fields of a row.
pub const MAX_FIELDS: u32 = 1 << 20;

/// Record path: SQL rows.
pub const PATH_ROWS: u8 = 1;
/// Payload encoding: row lengths, then the rows verbatim.
pub const ENCODING_PLAIN: u8 = 0;
/// Payload encoding: by column.
pub const ENCODING_COLUMNAR: u8 = 1;

/// A frame's header; see `docs/block-format.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Record path, [`PATH_ROWS`].
    pub path: u8,
    /// [`ENCODING_PLAIN`] or [`ENCODING_COLUMNAR`].
    pub encoding: u8,
    /// Number of records, 1 to [`MAX_RECORDS`].
    pub records: u32,
    /// Fields of each row, at most [`MAX_FIELDS`].
    pub fields: u32,
    /// Bytes of all rows together.
    pub decoded_bytes: u32,
    /// Bytes of the payload.
    pub encoded_bytes: u32,
    /// CRC32C of the payload.
    pub payload_crc: u32,
}

impl FrameHeader {
    /// The header's bytes, its own checksum included.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        self.bytes_of(MAGIC, 0)
    }

    /// The same as the header of a sealed frame.
    pub fn to_sealed_bytes(&self) -> [u8; HEADER_BYTES] {
        self.bytes_of(SEALED_MAGIC, FLAG_SEALED)
    }

    /// The header of an end mark.
    pub(crate) fn end_mark(encoded_bytes: u32, payload_crc: u32) -> [u8; HEADER_BYTES] {
        let mark = Self {
            path: PATH_ROWS,
            encoding: ENCODING_PLAIN,
            records: 0,
            fields: 0,
            decoded_bytes: 0,
            encoded_bytes,
            payload_crc,
        };
        mark.bytes_of(SEALED_MAGIC, FLAGS_END_MARK)
    }

    fn bytes_of(&self, magic: u32, flags: u8) -> [u8; HEADER_BYTES] {
        let mut out = [0u8; HEADER_BYTES];
        out[0..4].copy_from_slice(&magic.to_le_bytes());
        out[4] = self.path;
        out[5] = self.encoding;
        out[6] = flags;
        out[8..12].copy_from_slice(&self.records.to_le_bytes());
        out[12..16].copy_from_slice(&self.fields.to_le_bytes());
        out[16..20].copy_from_slice(&self.decoded_bytes.to_le_bytes());
        out[20..24].copy_from_slice(&self.encoded_bytes.to_le_bytes());
        out[24..28].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&out[..28]);
        out[28..32].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads and checks a header: magic, checksum, and every field's range.
    ///
    /// # Errors
    /// When the bytes are too short, corrupt, sealed, or of a version or path this build does not know.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::parse_as(bytes, MAGIC, 0)
    }

    /// As [`Self::parse`], of a sealed frame.
    ///
    /// # Errors
    /// As [`Self::parse`], and when the frame is not sealed.
    pub fn parse_sealed(bytes: &[u8]) -> Result<Self> {
        Self::parse_as(bytes, SEALED_MAGIC, FLAG_SEALED)
    }

    fn parse_as(bytes: &[u8], magic: u32, flags: u8) -> Result<Self> {
        let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(CodecError::new(format!(
                "frame header needs {HEADER_BYTES} bytes, only {} are there",
                bytes.len()
            )));
        };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if word(0) != magic {
            return Err(CodecError::new(match word(0) {
                MAGIC => "a frame that is not sealed, where sealed ones are expected".to_owned(),
                SEALED_MAGIC => "a sealed frame, and there is no key to open it".to_owned(),
                other => other_magic(other),
            }));
        }
        let actual = crc32c::crc32c(&head[..28]);
        if word(28) != actual {
            return Err(CodecError::new(format!(
                "frame header checksum is {:#010x}, its bytes give {actual:#010x}",
                word(28)
            )));
        }
        let header = Self {
            path: head[4],
            encoding: head[5],
            records: word(8),
            fields: word(12),
            decoded_bytes: word(16),
            encoded_bytes: word(20),
            payload_crc: word(24),
        };
        if head[6] != flags || head[7] != 0 {
            return Err(CodecError::new(format!("unknown frame flags {:#04x} {:#04x}", head[6], head[7])));
        }
        header.check()?;
        Ok(header)
    }

    /// Checks length and checksum of the payload.
    pub fn check_payload(&self, payload: &[u8]) -> Result<()> {
        if payload.len() != self.encoded_bytes as usize {
            return Err(CodecError::new(format!(
                "frame has {} bytes of payload, its header says {}",
                payload.len(),
                self.encoded_bytes
            )));
        }
        let crc = crc32c::crc32c(payload);
        if crc != self.payload_crc {
            return Err(CodecError::new(format!(
                "payload checksum is {:#010x}, its {} bytes give {crc:#010x}",
                self.payload_crc,
                payload.len()
            )));
        }
        Ok(())
    }

    /// Checks the range of every field.
    pub(crate) fn check(&self) -> Result<()> {
        if self.path != PATH_ROWS {
            return Err(CodecError::new(format!("unknown record path {}", self.path)));
        }
        if self.encoding > ENCODING_COLUMNAR {
            return Err(CodecError::new(format!("unknown payload encoding {}", self.encoding)));
        }
        if self.records == 0 || self.records > MAX_RECORDS {
            return Err(CodecError::new(format!("frame of {} records", self.records)));
        }
        if self.fields > MAX_FIELDS {
            return Err(CodecError::new(format!("rows of {} fields", self.fields)));
        }
        Ok(())
    }
}

/// What is wrong with a frame whose magic is neither of this build's: "SLF", then the character of the version.
fn other_magic(magic: u32) -> String {
    let [name @ .., version] = magic.to_le_bytes();
    if MAGIC.to_le_bytes().starts_with(&name) {
        return format!(
            "a frame of format version '{}', this version of Sluice reads '1' and '2': written by another version of \
             Sluice? The driver and all executors must have the same jar",
            version.escape_ascii()
        );
    }
    format!("not a Sluice frame: magic is {magic:#010x}, expected {MAGIC:#010x} or {SEALED_MAGIC:#010x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> FrameHeader {
        FrameHeader {
            path: PATH_ROWS,
            encoding: ENCODING_COLUMNAR,
            records: 7,
            fields: 3,
            decoded_bytes: 336,
            encoded_bytes: 40,
            payload_crc: 0xDEAD_BEEF,
        }
    }

    #[test]
    fn round_trips() {
        assert_eq!(FrameHeader::parse(&sample().to_bytes()), Ok(sample()));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let good = sample().to_bytes();
        for bit in 0..HEADER_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(FrameHeader::parse(&bad).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn short_input_is_an_error() {
        for len in 0..HEADER_BYTES {
            assert!(FrameHeader::parse(&sample().to_bytes()[..len]).is_err());
        }
    }

    #[test]
    fn frames_of_other_versions_are_named() {
        let mut other = sample().to_bytes();
        other[3] = b'3';
        for parse in [FrameHeader::parse, FrameHeader::parse_sealed] {
            let error = parse(&other).expect_err("another version").to_string();
            assert!(
                error.starts_with("a frame of format version '3', this version of Sluice reads '1' and '2'"),
                "{error}"
            );
            assert!(error.contains("must have the same jar"), "{error}");
            other[3] = 0xE9;
            assert!(parse(&other).expect_err("another version").to_string().contains(r"version '\xe9'"));
            other[3] = b'3';
        }
        other[0] = b'X';
        let error = FrameHeader::parse(&other).expect_err("no frame").to_string();
        assert_eq!(error, "not a Sluice frame: magic is 0x33464c58, expected 0x31464c53 or 0x32464c53");
    }
}
