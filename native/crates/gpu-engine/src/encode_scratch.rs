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
/// Of the self-test, whose frames then come in several pieces; and these have room for the longest of its frames.
const FEW_FRAMES: usize = 64;
const FEW_BYTES: usize = 256 << 10;

/// Memory of the host for one encode at a time.
pub(crate) struct EncodeScratch {
    pub(crate) staging: Staging,
    /// Those that are handed over next.
    pub(crate) frames: Vec<DeviceFrame>,
    /// How many frames are described at a time.
    most_frames: usize,
    /// Of a frame that the CPU makes: where its rows are.
    pub(crate) row_at: Vec<u64>,
    pub(crate) encoder: FrameEncoder,
}

impl EncodeScratch {
    /// For a few encodes. Its memory is not pinned.
    pub(crate) fn plain(context: &Context) -> Result<Self, Declined> {
        Staging::plain(context, STAGING_BYTES).map(|staging| Self::of(staging, MOST_FRAMES))
    }

    /// For many encodes, with pinned memory.
    pub(crate) fn pinned(context: &Context) -> Result<Self, Declined> {
        Staging::pinned(context, STAGING_BYTES).map(|staging| Self::of(staging, MOST_FRAMES))
    }

    /// For the self-test: as [`Self::pinned`], with less room.
    pub(crate) fn small(context: &Context) -> Result<Self, Declined> {
        Staging::pinned(context, FEW_BYTES).map(|staging| Self::of(staging, FEW_FRAMES))
    }

    fn of(staging: Staging, most_frames: usize) -> Self {
        Self { staging, frames: Vec::new(), most_frames, row_at: Vec::new(), encoder: FrameEncoder::default() }
    }

    /// Gets the descriptions of frames from number `first` on: of `most`, or of as many as are got at a time. Returns
    /// their number.
    pub(crate) fn get_frames(&mut self, rows: &Rows<'_, '_>, first: usize, most: usize) -> Result<usize, Declined> {
        let count = most.min(self.most_frames);
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
