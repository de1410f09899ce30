//! What an encode needs of the host beside its pages, kept from one to the next.

use sluice_codec::{CodecOptions, Encoder};
use sluice_cuda::Context;
use sluice_engine::HeapShare;

use crate::declined::Declined;
use crate::encode::Rows;
use crate::encode_job::DeviceFrame;
use crate::staging::Staging;

/// A frame of the CPU's encoder has less than a sixteenth of it, with rows of up to 64 KiB.
pub(crate) const STAGING_BYTES: usize = 4 << 20;
/// Frames that are described at a time: 72 KiB.
const MOST_FRAMES: usize = 1024;

/// Memory of the host for one encode at a time.
pub(crate) struct EncodeScratch {
    pub(crate) staging: Staging,
    /// Those that are handed over next.
    pub(crate) frames: Vec<DeviceFrame>,
    /// Of a frame that the CPU makes: where its rows are.
    pub(crate) row_at: Vec<u64>,
    pub(crate) encoder: FrameEncoder,
}

impl EncodeScratch {
    /// For a few encodes. Its memory is not pinned.
    pub(crate) fn plain(context: &Context) -> Result<Self, Declined> {
        Self::of(Staging::plain(context, STAGING_BYTES))
    }

    /// For many encodes, with memory that the driver pins, if it can.
    pub(crate) fn pinned(context: &Context) -> Result<Self, Declined> {
        Self::of(Staging::pinned(context, STAGING_BYTES))
    }

    fn of(staging: Option<Staging>) -> Result<Self, Declined> {
        let staging = staging.ok_or(Declined::NotTaken("the host has no memory for a buffer"))?;
        Ok(Self { staging, frames: Vec::new(), row_at: Vec::new(), encoder: FrameEncoder::default() })
    }

    /// Gets the descriptions of frames from number `first` on: of `most`, or of as many as are got at a time. Returns
    /// their number.
    pub(crate) fn get_frames(&mut self, rows: &Rows<'_, '_>, first: usize, most: usize) -> Result<usize, Declined> {
        let count = most.min(MOST_FRAMES);
        let source = rows.job.frames + (first * size_of::<DeviceFrame>()) as u64;
        // SAFETY: the job has as many frames (`encode::check`), and any bytes are a frame.
        let found = unsafe { self.staging.get::<DeviceFrame>(rows.stream, source, count, rows.wait)? };
        self.frames.clear();
        self.frames.extend_from_slice(found);
        Ok(count)
    }
}

/// The CPU's encoder, made when it is first needed.
#[derive(Default)]
pub(crate) struct FrameEncoder {
    encoder: Option<Encoder>,
    share: HeapShare,
}

impl FrameEncoder {
    /// The encoder, with these options.
    pub(crate) fn of(&mut self, options: CodecOptions) -> &mut Encoder {
        let encoder = self.encoder.get_or_insert_with(|| Encoder::new(options));
        // What the last frame has left.
        self.share.set(encoder.retained_bytes());
        encoder.set_options(options);
        encoder
    }
}
