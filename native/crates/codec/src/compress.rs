//! General compression of byte columns: the libraries behind `spark.io.compression.codec`.
//!
//! Their contexts (LZ4's and Snappy's hash tables, Zstandard's workspaces) are made on first use and kept: making one
//! costs as much as compressing several KiB. A context that is used again gives the same bytes as a new one.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

use crate::error::{CodecError, Result};
use crate::scratch::Scratch;

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
/// From this many bytes on LZ4 needs positions of 32 bits. The two tables hash differently, so the bytes depend on it.
const LZ4_LARGE: usize = u16::MAX as usize;
/// What LZ4's two tables take: 4,096 positions of 16 and of 32 bits.
const LZ4_TABLE_BYTES: [usize; 2] = [4096 * 2, 4096 * 4];
/// What Snappy's encoder takes: itself, with its small table, and a table of 16,384 positions of 16 bits.
const SNAPPY_BYTES: usize = size_of::<snap::raw::Encoder>() + 16_384 * 2;
/// More than all contexts of a [`Compressor`] together take, at any length of input (a test holds it to that).
pub(crate) const CONTEXT_BYTES: usize = 1 << 20;

impl Codec {
    /// The codec with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        [Self::None, Self::Lz4, Self::Zstd, Self::Snappy].into_iter().find(|c| *c as u8 == id)
    }

    /// Room that compressing `bytes` bytes needs, however little comes out.
    pub(crate) fn bound(self, bytes: usize) -> usize {
        match self {
            Self::None => bytes,
            Self::Lz4 => get_maximum_output_size(bytes),
            Self::Zstd => zstd_safe::compress_bound(bytes),
            Self::Snappy => snap::raw::max_compress_len(bytes),
        }
    }
}

/// Compresses; keeps each library's context once it was needed.
#[derive(Default)]
pub(crate) struct Compressor {
    lz4: [Option<CompressTable>; 2],
    zstd: Option<CCtx<'static>>,
    snappy: Option<Box<snap::raw::Encoder>>,
}

impl Compressor {
    /// Appends `input` compressed. Returns false, and appends nothing, if the library refuses.
    pub(crate) fn compress(&mut self, codec: Codec, input: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + codec.bound(input.len()), 0);
        let room = &mut out[start..];
        let written = match codec {
            Codec::None => {
                room.copy_from_slice(input);
                Some(input.len())
            }
            Codec::Lz4 => self.lz4(input, room),
            Codec::Zstd => self.zstd(input, room),
            Codec::Snappy => {
                self.snappy.get_or_insert_with(|| Box::new(snap::raw::Encoder::new())).compress(input, room).ok()
            }
        };
        out.truncate(start + written.unwrap_or(0));
        written.is_some()
    }

    fn lz4(&mut self, input: &[u8], room: &mut [u8]) -> Option<usize> {
        let large = input.len() >= LZ4_LARGE;
        let make = if large { CompressTable::large } else { CompressTable::small };
        let table = self.lz4[usize::from(large)].get_or_insert_with(make);
        compress_into_with_table(input, room, table).ok()
    }

    fn zstd(&mut self, input: &[u8], room: &mut [u8]) -> Option<usize> {
        if self.zstd.is_none() {
            let mut context = CCtx::try_create()?;
            context.set_parameter(CParameter::CompressionLevel(ZSTD_LEVEL)).ok()?;
            self.zstd = Some(context);
        }
        self.zstd.as_mut()?.compress2(room, input).ok()
    }
}

impl Scratch for Compressor {
    fn bytes(&self) -> usize {
        let lz4: usize =
            self.lz4.iter().zip(LZ4_TABLE_BYTES).filter(|(t, _)| t.is_some()).map(|(_, bytes)| bytes).sum();
        lz4 + self.zstd.as_ref().map_or(0, CCtx::sizeof) + if self.snappy.is_some() { SNAPPY_BYTES } else { 0 }
    }

    /// Frees nothing: contexts are of limited size, whatever they compress, and costly to create.
    fn give_back(&mut self) {}
}

/// Decompresses; keeps Zstandard's context, the only one there is.
#[derive(Default)]
pub(crate) struct Decompressor {
    zstd: Option<DCtx<'static>>,
}

impl Decompressor {
    /// Fills `out` exactly from compressed `input`.
    pub(crate) fn decompress(&mut self, codec: Codec, input: &[u8], out: &mut [u8]) -> Result<()> {
        let expected = out.len();
        let got = match codec {
            Codec::None => {
                if input.len() == expected {
                    out.copy_from_slice(input);
                }
                Ok(input.len())
            }
            Codec::Lz4 => decompress_into(input, out).map_err(|e| e.to_string()),
            Codec::Zstd => self.zstd(input, out),
            Codec::Snappy => decompress_snappy(input, out),
        };
        match got {
            Ok(n) if n == expected => Ok(()),
            Ok(n) => Err(CodecError::new(format!("{codec:?} data gives {n} bytes, {expected} expected"))),
            Err(e) => Err(CodecError::new(format!("{codec:?} data is corrupt: {e}"))),
        }
    }

    fn zstd(&mut self, input: &[u8], out: &mut [u8]) -> std::result::Result<usize, String> {
        if self.zstd.is_none() {
            self.zstd = Some(DCtx::try_create().ok_or("no memory for its context")?);
        }
        let context = self.zstd.as_mut().ok_or("no context")?;
        context.decompress(out, input).map_err(|code| zstd_safe::get_error_name(code).to_owned())
    }
}

impl Scratch for Decompressor {
    fn bytes(&self) -> usize {
        self.zstd.as_ref().map_or(0, DCtx::sizeof)
    }

    /// Frees nothing: the context's size is constant.
    fn give_back(&mut self) {}
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
    use sluice_testkit::xorshift;

    const CODECS: [Codec; 4] = [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy];

    #[test]
    fn every_codec_round_trips_and_refuses_a_wrong_length() {
        let input: Vec<u8> = (0..5000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let (mut compressor, mut decompressor) = (Compressor::default(), Decompressor::default());
        for codec in CODECS {
            let mut packed = Vec::new();
            assert!(compressor.compress(codec, &input, &mut packed));
            for room in [input.len() - 1, input.len(), input.len() + 1] {
                let mut back = vec![0; room];
                let done = decompressor.decompress(codec, &packed, &mut back);
                assert_eq!(done.is_ok(), room == input.len(), "{codec:?}");
                assert!(done.is_err() || back == input, "{codec:?}");
            }
        }
    }

    /// Texts of many lengths, short and long ones in turn, so that a context still contains data of texts of other
    /// lengths.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        (0..60u64).map(|i| {
            let words = [100, 70_000, 9, 4_000, 1][i as usize % 5] + xorshift(i) % 50;
            (0..words).flat_map(|j| format!("{} ", xorshift(i * 1000 + j) % 3000).into_bytes()).collect()
        })
    }

    #[test]
    fn a_kept_context_gives_the_bytes_of_a_new_one() {
        let (mut kept, mut decompressor) = (Compressor::default(), Decompressor::default());
        for (text, codec) in texts().flat_map(|t| CODECS.map(|c| (t.clone(), c))) {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            assert!(kept.compress(codec, &text, &mut old) && Compressor::default().compress(codec, &text, &mut new));
            assert!(old == new, "{codec:?}, {} bytes", text.len());
            let mut back = vec![0; text.len()];
            // A truncated frame leaves the context in the middle of a frame; the next frame must be decompressed
            // correctly all the same.
            assert!(text.len() < 10 || decompressor.decompress(codec, &old[..old.len() / 2], &mut back).is_err());
            decompressor.decompress(codec, &old, &mut back).expect("own output");
            assert!(back == text, "{codec:?}");
        }
    }

    #[test]
    fn contexts_stay_small_whatever_they_compress() {
        let mut compressor = Compressor::default();
        let text: Vec<u8> = texts().flatten().collect::<Vec<u8>>().repeat(20);
        for codec in CODECS {
            for bytes in [64, 16 << 10, 256 << 10, text.len()] {
                assert!(compressor.compress(codec, &text[..bytes], &mut Vec::new()));
            }
        }
        assert!(compressor.bytes() > 64 << 10 && compressor.bytes() < CONTEXT_BYTES, "{}", compressor.bytes());
    }
}
