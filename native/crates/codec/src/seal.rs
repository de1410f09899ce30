//! Sealed frames: frames whose payload is encrypted and authenticated with AES-GCM, for `spark.io.encryption.enabled`.
//!
//! ```text
//! frame    = header (32) · ciphertext · tag (16) · nonce (12) · partition (4)      the last 32 bytes are the *seal*
//! end mark = header (32) · HMAC of the partition's seals (16) · partition (4)
//! ```
//!
//! One key a map output; a nonce is the sealer's number and the number of the frame among those it has sealed. The
//! associated data are the header's lengths and kinds, the map output's ids and the partition, so a frame is bound to
//! where it lies. The end mark is bound to the partition's frames and their order. `docs/decisions/0024` has the
//! reasons, `docs/block-format.md` every byte.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};

use crate::error::{CodecError, Result};
use crate::header::{FrameHeader, HEADER_BYTES};

/// Bytes that sealing adds to a frame, at its end.
pub const SEAL_BYTES: usize = 32;
/// Length of an end mark.
pub const END_MARK_BYTES: usize = HEADER_BYTES + END_PAYLOAD_BYTES;

const TAG_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const PARTITION_BYTES: usize = 4;
const MAC_BYTES: usize = 16;
const END_PAYLOAD_BYTES: usize = MAC_BYTES + PARTITION_BYTES;
/// The header's bytes before its checksums.
const AUTHENTICATED_HEADER_BYTES: usize = 24;
const AAD_BYTES: usize = AUTHENTICATED_HEADER_BYTES + OUTPUT_ID_BYTES + PARTITION_BYTES;
const OUTPUT_ID_BYTES: usize = 12;
/// Frames that one sealer may seal: the nonce has 32 bits for their number.
const MAX_FRAMES: u64 = 1 << 32;

/// The last bytes of a sealed frame: tag, nonce and partition.
pub type Seal = [u8; SEAL_BYTES];

/// The map output that sealed frames belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputId {
    /// Spark's shuffle id.
    pub shuffle: u32,
    /// Spark's map id: the id of the task attempt that writes it.
    pub map: u64,
}

impl OutputId {
    fn to_bytes(self) -> [u8; OUTPUT_ID_BYTES] {
        let mut bytes = [0; OUTPUT_ID_BYTES];
        bytes[..4].copy_from_slice(&self.shuffle.to_le_bytes());
        bytes[4..].copy_from_slice(&self.map.to_le_bytes());
        bytes
    }
}

/// The key of one map output's frames. Any thread.
pub struct FrameKey {
    key: LessSafeKey,
    output: OutputId,
}

impl FrameKey {
    /// A key of 16 bytes is for AES-128, one of 32 for AES-256.
    ///
    /// # Errors
    /// When the key has another length.
    pub fn new(output: OutputId, key: &[u8]) -> Result<Self> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            32 => &AES_256_GCM,
            other => return Err(CodecError::new(format!("a frame key has 16 or 32 bytes, not {other}"))),
        };
        let key = UnboundKey::new(algorithm, key).map_err(|_| CodecError::new("the AES key was refused"))?;
        Ok(Self { key: LessSafeKey::new(key), output })
    }

    fn associated_data(&self, header: &[u8], partition: [u8; PARTITION_BYTES]) -> Aad<[u8; AAD_BYTES]> {
        let mut bytes = [0; AAD_BYTES];
        bytes[..AUTHENTICATED_HEADER_BYTES].copy_from_slice(&header[..AUTHENTICATED_HEADER_BYTES]);
        bytes[AUTHENTICATED_HEADER_BYTES..AAD_BYTES - PARTITION_BYTES].copy_from_slice(&self.output.to_bytes());
        bytes[AAD_BYTES - PARTITION_BYTES..].copy_from_slice(&partition);
        Aad::from(bytes)
    }

    /// Checks one whole sealed frame and decrypts its payload in place: the header, and where the payload is.
    ///
    /// # Errors
    /// When the frame is corrupt or not sealed, or, [`CodecError::is_not_authentic`], when it was not sealed with this
    /// key for this map output and the partition that it names. The payload's bytes hold no promise then.
    pub fn open<'f>(&self, frame: &'f mut [u8]) -> Result<(FrameHeader, &'f [u8])> {
        let header = FrameHeader::parse_sealed(frame)?;
        header.check_payload(&frame[HEADER_BYTES..])?;
        let sealed_bytes = header.encoded_bytes as usize;
        let Some(plain_bytes) = sealed_bytes.checked_sub(SEAL_BYTES) else {
            return Err(CodecError::new(format!("a sealed payload of {sealed_bytes} bytes has no room for its seal")));
        };
        let (head, payload) = frame.split_at_mut(HEADER_BYTES);
        let (sealed, rest) = payload.split_at_mut(plain_bytes + TAG_BYTES);
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&rest[..NONCE_BYTES]);
        let mut partition = [0; PARTITION_BYTES];
        partition.copy_from_slice(&rest[NONCE_BYTES..]);
        let data = self.associated_data(head, partition);
        let plain = self.key.open_in_place(Nonce::assume_unique_for_key(nonce), data, sealed).map_err(|_| {
            CodecError::not_authentic(format!(
                "the frame of partition {} was not sealed with the key of shuffle {}, map id {}, or it was changed",
                u32::from_le_bytes(partition),
                self.output.shuffle,
                self.output.map
            ))
        })?;
        Ok((FrameHeader { encoded_bytes: plain.len() as u32, ..header }, plain))
    }

    /// As [`FrameKey::open`], and puts the frame that was sealed in the place of the sealed one: how many bytes it has,
    /// [`SEAL_BYTES`] fewer.
    ///
    /// # Errors
    /// Those of [`FrameKey::open`].
    pub fn unseal(&self, frame: &mut [u8]) -> Result<usize> {
        let (header, plain) = self.open(frame)?;
        let (bytes, payload_crc) = (HEADER_BYTES + plain.len(), crc32c::crc32c(plain));
        frame[..HEADER_BYTES].copy_from_slice(&FrameHeader { payload_crc, ..header }.to_bytes());
        Ok(bytes)
    }
}

/// Seals the frames of one map output. Any thread; no two frames get one nonce.
pub struct Sealer {
    key: FrameKey,
    id: u64,
    frames: AtomicU64,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealer of {:?}", self.key.output)
    }
}

impl Sealer {
    /// `id` is a random number, so that two sealers with one key have two ids.
    pub fn new(key: FrameKey, id: u64) -> Self {
        Self { key, id, frames: AtomicU64::new(0) }
    }

    /// Seals a finished frame, which is for `partition`, in place; its length grows by [`SEAL_BYTES`].
    ///
    /// # Errors
    /// When the sealer has sealed 2³² frames, or the bytes are no frame; the frame must not be used then.
    pub fn seal(&self, partition: u32, frame: &mut Vec<u8>) -> Result<Seal> {
        let plain = FrameHeader::parse(frame)?;
        let nonce = self.next_nonce()?;
        let too_long = || CodecError::new(format!("a payload of {} bytes is too long to seal", plain.encoded_bytes));
        let encoded_bytes = plain.encoded_bytes.checked_add(SEAL_BYTES as u32).ok_or_else(too_long)?;
        let header = FrameHeader { encoded_bytes, ..plain };
        let data = self.key.associated_data(&header.to_sealed_bytes(), partition.to_le_bytes());
        let payload = &mut frame[HEADER_BYTES..];
        let tag = self.key.key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), data, payload);
        let mut seal = [0; SEAL_BYTES];
        seal[..TAG_BYTES].copy_from_slice(tag.map_err(|_| too_long())?.as_ref());
        seal[TAG_BYTES..TAG_BYTES + NONCE_BYTES].copy_from_slice(&nonce);
        seal[TAG_BYTES + NONCE_BYTES..].copy_from_slice(&partition.to_le_bytes());
        frame.extend_from_slice(&seal);
        let payload_crc = crc32c::crc32c(&frame[HEADER_BYTES..]);
        let header = FrameHeader { payload_crc, ..header };
        frame[..HEADER_BYTES].copy_from_slice(&header.to_sealed_bytes());
        Ok(seal)
    }

    /// A number is used once, also when what is sealed with it is thrown away.
    fn next_nonce(&self) -> Result<[u8; NONCE_BYTES]> {
        let number = self.frames.fetch_add(1, Relaxed);
        if number >= MAX_FRAMES {
            // Far from where the counter itself would wrap.
            self.frames.store(MAX_FRAMES, Relaxed);
            return Err(CodecError::new("a map task has sealed 4294967296 frames; use more, smaller map tasks"));
        }
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&self.id.to_le_bytes());
        nonce[8..].copy_from_slice(&(number as u32).to_le_bytes());
        Ok(nonce)
    }
}

/// The key of one map output's end marks. Any thread.
pub struct EndMarkKey {
    key: hmac::Key,
    output: OutputId,
}

impl EndMarkKey {
    /// A key of 32 bytes.
    pub fn new(output: OutputId, key: &[u8]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), output }
    }

    /// The end mark of `partition`, which has no frame yet.
    pub fn start(&self, partition: u32) -> EndMark {
        let mut mac = hmac::Context::with_key(&self.key);
        mac.update(&self.output.to_bytes());
        mac.update(&partition.to_le_bytes());
        EndMark { mac, partition }
    }
}

/// The end mark of a partition whose frames are being written.
pub struct EndMark {
    mac: hmac::Context,
    partition: u32,
}

impl EndMark {
    /// Adds the partition's next frame.
    pub fn add(&mut self, seal: &Seal) {
        self.mac.update(seal);
    }

    /// The bytes that follow the partition's last frame.
    pub fn finish(self) -> [u8; END_MARK_BYTES] {
        let mut payload = [0; END_PAYLOAD_BYTES];
        payload[..MAC_BYTES].copy_from_slice(&self.mac.sign().as_ref()[..MAC_BYTES]);
        payload[MAC_BYTES..].copy_from_slice(&self.partition.to_le_bytes());
        let mut mark = [0; END_MARK_BYTES];
        let head = FrameHeader::end_mark(END_PAYLOAD_BYTES as u32, crc32c::crc32c(&payload));
        mark[..HEADER_BYTES].copy_from_slice(&head);
        mark[HEADER_BYTES..].copy_from_slice(&payload);
        mark
    }
}

/// A digest of the seals of frames, in their order: tells whether frames that come back from a disk are those that were
/// written.
#[derive(Clone)]
pub struct SealsDigest(digest::Context);

impl Default for SealsDigest {
    fn default() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }
}

impl SealsDigest {
    /// The digest of one frame's seal.
    pub fn of(seal: &Seal) -> [u8; 32] {
        let mut one = Self::default();
        one.add(seal);
        one.finish()
    }

    /// Adds the next frame.
    pub fn add(&mut self, seal: &Seal) {
        self.0.update(seal);
    }

    /// The digest of all frames.
    pub fn finish(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.finish().as_ref());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Codec, CodecOptions, Decoder, Encoder, Level};

    const OUTPUT: OutputId = OutputId { shuffle: 3, map: 77 };
    const MARKER: &[u8; 8] = b"S3CRETS!";

    fn sealer(key: &[u8], id: u64) -> Sealer {
        Sealer::new(FrameKey::new(OUTPUT, key).expect("a key"), id)
    }

    fn frame() -> Vec<u8> {
        let mut encoder = Encoder::new(CodecOptions { codec: Codec::None, level: Level::Plain });
        encoder.encode_frame(&[&MARKER.repeat(2)[..]; 3], 1).to_vec()
    }

    fn decode(frame: &[u8], key: &FrameKey) -> Result<Vec<u8>> {
        let (mut rows, mut lengths) = (vec![0; 48], [0; 3]);
        Decoder::new().decode_sealed(&mut frame.to_vec(), key, &mut rows, &mut lengths)?;
        Ok(rows)
    }

    #[test]
    fn a_sealed_frame_hides_its_rows_and_gives_them_back() {
        for key in [&[7u8; 16][..], &[7; 32]] {
            let mut sealed = frame();
            let seal = sealer(key, 1).seal(5, &mut sealed).expect("sealed");
            assert!(!sealed.windows(8).any(|bytes| bytes == MARKER));
            assert!(sealed.ends_with(&seal) && seal.ends_with(&5u32.to_le_bytes()));
            let rows = decode(&sealed, &FrameKey::new(OUTPUT, key).expect("a key"));
            assert_eq!(rows, Ok(MARKER.repeat(6)));
        }
    }

    #[test]
    fn unsealed_frames_are_those_that_were_sealed() {
        let (plain, mut sealed) = (frame(), frame());
        sealer(&[7; 16], 1).seal(5, &mut sealed).expect("sealed");
        let key = FrameKey::new(OUTPUT, &[7; 16]).expect("a key");
        let mut opened = sealed.clone();
        assert_eq!(key.unseal(&mut opened), Ok(plain.len()));
        assert_eq!(opened[..plain.len()], plain);
        assert!(key.unseal(&mut opened).is_err(), "it is not sealed any more");
        let other = FrameKey::new(OUTPUT, &[8; 16]).expect("a key");
        assert!(other.unseal(&mut sealed.clone()).is_err_and(|e| e.is_not_authentic()));
        sealed[HEADER_BYTES] ^= 1;
        assert!(key.unseal(&mut sealed).is_err_and(|e| !e.is_not_authentic()), "the checksum tells first");
    }

    #[test]
    fn another_key_map_output_or_shuffle_is_refused_as_not_authentic() {
        let mut sealed = frame();
        sealer(&[7; 16], 1).seal(5, &mut sealed).expect("sealed");
        let keys = [
            (OUTPUT, [8; 16]),
            (OutputId { map: 78, ..OUTPUT }, [7; 16]),
            (OutputId { shuffle: 4, ..OUTPUT }, [7; 16]),
        ];
        for (output, key) in keys {
            let opened = decode(&sealed, &FrameKey::new(output, &key).expect("a key"));
            assert!(opened.is_err_and(|e| e.is_not_authentic()), "{output:?}");
        }
        assert!(FrameKey::new(OUTPUT, &[7; 24]).is_err());
    }

    /// With checksums that fit, as somebody who means it would write them.
    #[test]
    fn every_changed_byte_is_refused_as_not_authentic() {
        let mut sealed = frame();
        sealer(&[7; 16], 1).seal(5, &mut sealed).expect("sealed");
        let key = FrameKey::new(OUTPUT, &[7; 16]).expect("a key");
        // Bytes of the header that may have another value: encoding, records, fields, decoded bytes.
        for at in [5, 8, 9, 12, 13, 14].into_iter().chain(16..20).chain(HEADER_BYTES..sealed.len()) {
            let mut forged = sealed.clone();
            forged[at] ^= 1;
            let payload_crc = crc32c::crc32c(&forged[HEADER_BYTES..]).to_le_bytes();
            forged[24..28].copy_from_slice(&payload_crc);
            let header_crc = crc32c::crc32c(&forged[..28]).to_le_bytes();
            forged[28..32].copy_from_slice(&header_crc);
            let opened = key.open(&mut forged).map(|_| ());
            assert!(opened.is_err_and(|e| e.is_not_authentic()), "byte {at}");
        }
        // Any byte of the header before its checksums; with 3, "SLF2" becomes "SLF1".
        for (at, change) in (0..24).flat_map(|at| [(at, 1), (at, 3), (at, 0x80)]) {
            let mut forged = sealed.clone();
            forged[at] ^= change;
            let header_crc = crc32c::crc32c(&forged[..28]).to_le_bytes();
            forged[28..32].copy_from_slice(&header_crc);
            assert!(decode(&forged, &key).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_damaged_byte_is_corruption_and_a_plain_frame_is_no_sealed_one() {
        let key = FrameKey::new(OUTPUT, &[7; 16]).expect("a key");
        let mut sealed = frame();
        sealer(&[7; 16], 1).seal(5, &mut sealed).expect("sealed");
        sealed[HEADER_BYTES] ^= 1;
        assert!(decode(&sealed, &key).is_err_and(|e| !e.is_not_authentic()));
        assert!(decode(&frame(), &key).is_err());
        sealed[HEADER_BYTES] ^= 1;
        let refused = Decoder::new().decode(&sealed, &mut [0; 48], &mut [0; 3]);
        assert!(refused.is_err(), "a reader without a key");
        for length in 0..sealed.len() {
            assert!(decode(&sealed[..length], &key).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn no_two_frames_have_one_nonce() {
        let (one, other) = (sealer(&[7; 16], 1), sealer(&[7; 16], 2));
        let seals = || {
            let seal = |sealer: &Sealer| sealer.seal(0, &mut frame()).expect("sealed")[TAG_BYTES..28].to_vec();
            (0..500).flat_map(|_| [seal(&one), seal(&other)]).collect::<Vec<_>>()
        };
        let nonces: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(seals)).collect();
            threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
        });
        assert_eq!(nonces.iter().collect::<HashSet<_>>().len(), 4000);
    }

    #[test]
    fn a_sealer_stops_before_its_numbers_repeat() {
        let sealer = sealer(&[7; 16], 1);
        sealer.frames.store(MAX_FRAMES - 1, Relaxed);
        let mut last = frame();
        sealer.seal(0, &mut last).expect("the last one");
        assert_eq!(last[last.len() - 8..last.len() - 4], [0xFF; 4]);
        for _ in 0..3 {
            assert!(sealer.seal(0, &mut frame()).is_err());
        }
    }

    #[test]
    fn an_end_mark_tells_frames_their_order_and_their_partition_apart() {
        let key = EndMarkKey::new(OUTPUT, &[9; 32]);
        let mark = |partition, seals: &[u8]| {
            let mut mark = key.start(partition);
            seals.iter().for_each(|byte| mark.add(&[*byte; SEAL_BYTES]));
            mark.finish()
        };
        let marks = [mark(1, &[1, 2]), mark(1, &[2, 1]), mark(1, &[1]), mark(1, &[1, 1, 2]), mark(2, &[1, 2])];
        assert_eq!(marks.iter().collect::<HashSet<_>>().len(), marks.len());
        assert_eq!(mark(1, &[1, 2]), marks[0]);
        assert!(FrameHeader::parse_sealed(&marks[0]).is_err(), "an end mark has no rows");
    }
}
