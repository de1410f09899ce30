//! Sealed map outputs: what a commit adds to their frames and checks of them.
//!
//! Frames are sealed when they are encoded, so a run in memory, a spill file and the data file have the same bytes. The
//! commit adds an end mark behind each partition's frames, which is made of their seals. The seals that it reads from a
//! spill file could be another's work, so each run keeps a digest of its own in memory.

use sluice_codec::{EndMark, EndMarkKey, FrameHeader, HEADER_BYTES, SEAL_BYTES, Seal, Sealer, SealsDigest};

use crate::error::{EngineError, ErrorKind};

/// How the frames of a map output are sealed.
pub struct Sealing {
    /// Seals the frames.
    pub sealer: Sealer,
    /// Of the same map output.
    pub end_marks: EndMarkKey,
}

/// The seals of the run or partition whose bytes pass by.
pub(crate) struct PassingSeals {
    mark: EndMark,
    finder: SealFinder,
}

impl PassingSeals {
    pub(crate) fn of(sealing: &Sealing, partition: u32) -> Self {
        Self { mark: sealing.end_marks.start(partition), finder: SealFinder::new() }
    }

    /// Adds the next bytes of the partition, which are of the run that has this `digest`.
    pub(crate) fn update(&mut self, bytes: &[u8], digest: &mut SealsDigest) -> Result<(), EngineError> {
        let Self { mark, finder } = self;
        finder.feed(bytes, |seal| {
            mark.add(seal);
            digest.add(seal);
        })
    }

    /// The end mark, behind the last frame.
    pub(crate) fn finish(self) -> Result<Vec<u8>, EngineError> {
        if self.finder.is_inside_frame() {
            return Err(changed("the last frame of a partition is cut"));
        }
        Ok(self.mark.finish().to_vec())
    }
}

/// What was written is not what is read.
pub(crate) fn changed(what: &str) -> EngineError {
    EngineError::new(
        ErrorKind::SpillChanged,
        format!("a spill of sealed frames was changed after it was written: {what}"),
    )
}

/// Finds the seals of frames whose bytes come in pieces.
struct SealFinder {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    /// Of the payload, its seal included.
    payload_left: usize,
    seal: Seal,
}

impl SealFinder {
    fn new() -> Self {
        Self { header: [0; HEADER_BYTES], header_filled: 0, payload_left: 0, seal: [0; SEAL_BYTES] }
    }

    fn feed(&mut self, mut bytes: &[u8], mut found: impl FnMut(&Seal)) -> Result<(), EngineError> {
        while !bytes.is_empty() {
            let taken =
                if self.header_filled < HEADER_BYTES { self.take_header(bytes)? } else { self.take_payload(bytes) };
            bytes = &bytes[taken..];
            if self.header_filled == HEADER_BYTES && self.payload_left == 0 {
                found(&self.seal);
                self.header_filled = 0;
            }
        }
        Ok(())
    }

    fn take_header(&mut self, bytes: &[u8]) -> Result<usize, EngineError> {
        let taken = bytes.len().min(HEADER_BYTES - self.header_filled);
        self.header[self.header_filled..self.header_filled + taken].copy_from_slice(&bytes[..taken]);
        self.header_filled += taken;
        if self.header_filled == HEADER_BYTES {
            let header = FrameHeader::parse_sealed(&self.header).map_err(|e| changed(&e.to_string()))?;
            self.payload_left = header.encoded_bytes as usize;
            if self.payload_left < SEAL_BYTES {
                return Err(changed("a frame is shorter than its seal"));
            }
        }
        Ok(taken)
    }

    fn take_payload(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.payload_left);
        // The seal is the last bytes of the payload: those of `bytes` that are among them, and where they go.
        let before = self.payload_left.saturating_sub(SEAL_BYTES).min(taken);
        let at = SEAL_BYTES.saturating_sub(self.payload_left);
        self.seal[at..at + taken - before].copy_from_slice(&bytes[before..taken]);
        self.payload_left -= taken;
        taken
    }

    fn is_inside_frame(&self) -> bool {
        self.header_filled > 0
    }
}

#[cfg(test)]
mod tests {
    use sluice_codec::{Codec, CodecOptions, Encoder, FrameKey, Level, OutputId};

    use super::*;

    fn sealed_frames() -> (Vec<u8>, Vec<Seal>) {
        let output = OutputId { shuffle: 1, map: 2 };
        let sealer = Sealer::new(FrameKey::new(output, &[1; 16]).expect("a key"), 3);
        let mut encoder = Encoder::new(CodecOptions { codec: Codec::None, level: Level::Fast });
        let mut bytes = Vec::new();
        let seals = (1..6usize)
            .map(|rows| {
                let mut frame = encoder.encode_frame(&vec![&[7u8; 16][..]; rows * rows], 1).to_vec();
                let seal = sealer.seal(4, &mut frame).expect("sealed");
                bytes.extend_from_slice(&frame);
                seal
            })
            .collect();
        (bytes, seals)
    }

    #[test]
    fn seals_are_found_in_pieces_of_every_size() {
        let (bytes, seals) = sealed_frames();
        for size in (1..bytes.len() + 1).filter(|size| *size < 150 || size % 97 == 0) {
            let (mut finder, mut found) = (SealFinder::new(), Vec::new());
            for piece in bytes.chunks(size) {
                finder.feed(piece, |seal| found.push(*seal)).expect("frames");
            }
            assert_eq!(found, seals, "{size}");
            assert!(!finder.is_inside_frame());
        }
    }

    #[test]
    fn a_cut_frame_and_bytes_that_are_no_frames_are_noticed() {
        let (bytes, _) = sealed_frames();
        let mut finder = SealFinder::new();
        finder.feed(&bytes[..bytes.len() - 1], |_| ()).expect("frames");
        assert!(finder.is_inside_frame());
        assert!(SealFinder::new().feed(&[0; HEADER_BYTES], |_| ()).is_err());
    }
}
