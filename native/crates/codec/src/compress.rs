//! General compression of byte columns: the libraries behind `spark.io.compression.codec`.

use crate::error::{CodecError, Result};

/// A general-purpose compressor; the numbers are the ones in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// Bytes as they are.
    None = 0,
    /// LZ4 block format.
    Lz4 = 1,
    /// Zstandard frame, level 1.
    Zstd = 2,
    /// Snappy raw format.
    Snappy = 3,
}

const ZSTD_LEVEL: i32 = 1;

impl Codec {
    /// The codec with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        [Self::None, Self::Lz4, Self::Zstd, Self::Snappy].into_iter().find(|c| *c as u8 == id)
    }

    /// Appends `input` compressed. Returns false, and appends nothing, if the library refuses.
    pub(crate) fn compress(self, input: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + self.bound(input.len()), 0);
        let room = &mut out[start..];
        let written = match self {
            Self::None => {
                room.copy_from_slice(input);
                Some(input.len())
            }
            Self::Lz4 => lz4_flex::block::compress_into(input, room).ok(),
            Self::Zstd => zstd::bulk::compress_to_buffer(input, room, ZSTD_LEVEL).ok(),
            Self::Snappy => snap::raw::Encoder::new().compress(input, room).ok(),
        };
        out.truncate(start + written.unwrap_or(0));
        written.is_some()
    }

    fn bound(self, bytes: usize) -> usize {
        match self {
            Self::None => bytes,
            Self::Lz4 => lz4_flex::block::get_maximum_output_size(bytes),
            Self::Zstd => zstd::zstd_safe::compress_bound(bytes),
            Self::Snappy => snap::raw::max_compress_len(bytes),
        }
    }

    /// Fills `out` exactly from compressed `input`.
    pub(crate) fn decompress(self, input: &[u8], out: &mut [u8]) -> Result<()> {
        let expected = out.len();
        let got = match self {
            Self::None => {
                if input.len() == expected {
                    out.copy_from_slice(input);
                }
                Ok(input.len())
            }
            Self::Lz4 => lz4_flex::block::decompress_into(input, out).map_err(|e| e.to_string()),
            Self::Zstd => zstd::bulk::decompress_to_buffer(input, out).map_err(|e| e.to_string()),
            Self::Snappy => decompress_snappy(input, out),
        };
        match got {
            Ok(n) if n == expected => Ok(()),
            Ok(n) => Err(CodecError::new(format!("{self:?} data gives {n} bytes, {expected} expected"))),
            Err(e) => Err(CodecError::new(format!("{self:?} data is corrupt: {e}"))),
        }
    }
}

fn decompress_snappy(input: &[u8], out: &mut [u8]) -> std::result::Result<usize, String> {
    let claimed = snap::raw::decompress_len(input).map_err(|e| e.to_string())?;
    if claimed != out.len() {
        return Ok(claimed);
    }
    snap::raw::Decoder::new().decompress(input, out).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_round_trips_and_refuses_a_wrong_length() {
        let input: Vec<u8> = (0..5000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy] {
            let mut packed = Vec::new();
            assert!(codec.compress(&input, &mut packed));
            let mut back = vec![0; input.len()];
            codec.decompress(&packed, &mut back).expect("own output");
            assert_eq!(back, input, "{codec:?}");
            assert!(codec.decompress(&packed, &mut vec![0; input.len() - 1]).is_err());
            assert!(codec.decompress(&packed, &mut vec![0; input.len() + 1]).is_err());
        }
    }
}
