//! Decoding frames.

use std::cell::Cell;

use jni::objects::JByteArray;
use jni::sys::{jint, jlong};
use sluice_codec::{CodecError, Decoder, FrameHeader, FrameKey, OutputId};
use sluice_engine::HeapShare;

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;

thread_local! {
    /// The decoder of this thread, while no call has it. One that panicked is not put back.
    static DECODER: Cell<Option<(Decoder, HeapShare)>> = const { Cell::new(None) };
    /// The key of this thread's last sealed frame: mostly that of the next one too.
    static KEY: Cell<Option<KnownKey>> = const { Cell::new(None) };
}

native_methods! {
    NativeCore {
        decodeRows = decode_rows(
            source: jlong, source_bytes: jlong, target: jlong, target_bytes: jlong, row_lengths: jlong,
            row_lengths_capacity: jint,
        ) -> jlong;
        decodeSealedRows = decode_sealed_rows(
            source: jlong, source_bytes: jlong, target: jlong, target_bytes: jlong, row_lengths: jlong,
            row_lengths_capacity: jint, shuffle: jint, map: jlong, key: JByteArray<'_>,
        ) -> jlong;
        unsealFrame = unseal_frame(
            frame: jlong, frame_bytes: jlong, shuffle: jint, map: jlong, key: JByteArray<'_>,
        ) -> jlong;
    }
}

/// A key that Java has passed, ready to be used.
struct KnownKey {
    bytes: Vec<u8>,
    output: OutputId,
    key: FrameKey,
}

fn decode_rows(
    _: &mut Call<'_>,
    source: i64,
    source_bytes: i64,
    target: i64,
    target_bytes: i64,
    row_lengths: i64,
    row_lengths_capacity: i32,
) -> Result<i64, CallError> {
    decode([source, source_bytes], [target, target_bytes], [row_lengths, row_lengths_capacity.into()])
}

#[expect(clippy::too_many_arguments, reason = "those of the Java method")]
fn decode_sealed_rows(
    call: &mut Call<'_>,
    source: i64,
    source_bytes: i64,
    target: i64,
    target_bytes: i64,
    row_lengths: i64,
    row_lengths_capacity: i32,
    shuffle: i32,
    map: i64,
    key: JByteArray<'_>,
) -> Result<i64, CallError> {
    with_key(call, shuffle, map, &key, |key| {
        let lengths = [row_lengths, row_lengths_capacity.into()];
        let memory = Memory::of([source, source_bytes], [target, target_bytes], lengths)?;
        let header = FrameHeader::parse_sealed(memory.source)?;
        with_decoder(&header, |decoder| decoder.decode_sealed(memory.source, key, memory.target, memory.lengths))
    })
}

fn unseal_frame(
    call: &mut Call<'_>,
    frame: i64,
    frame_bytes: i64,
    shuffle: i32,
    map: i64,
    key: JByteArray<'_>,
) -> Result<i64, CallError> {
    with_key(call, shuffle, map, &key, |key| {
        let bytes = number(frame_bytes, "frame")?;
        if frame == 0 {
            return Err(CallError::invalid("a frame at address 0"));
        }
        // SAFETY: the frame's bytes are live, initialised, and nobody else's until the call returns (contract of
        // NativeCore.unsealFrame).
        let frame = unsafe { std::slice::from_raw_parts_mut(frame as *mut u8, bytes) };
        Ok(key.unseal(frame)? as i64)
    })
}

/// Calls with a map output's key, which is kept for this thread's next call.
fn with_key(
    call: &mut Call<'_>,
    shuffle: i32,
    map: i64,
    key: &JByteArray<'_>,
    use_key: impl FnOnce(&FrameKey) -> Result<i64, CallError>,
) -> Result<i64, CallError> {
    let (bytes, output) = (call.bytes(key)?, OutputId { shuffle: shuffle as u32, map: map as u64 });
    let known = KEY.take().filter(|known| known.output == output && known.bytes == bytes);
    let known = match known {
        Some(known) => known,
        None => KnownKey { key: FrameKey::new(output, &bytes)?, bytes, output },
    };
    let result = use_key(&known.key);
    KEY.set(Some(known));
    result
}

/// Decodes from one piece of memory to two others; of each the address, and how many elements there are.
fn decode(source: [i64; 2], target: [i64; 2], row_lengths: [i64; 2]) -> Result<i64, CallError> {
    let memory = Memory::of(source, target, row_lengths)?;
    let header = FrameHeader::parse(memory.source)?;
    with_decoder(&header, |decoder| decoder.decode(memory.source, memory.target, memory.lengths))
}

/// Decodes a frame with this thread's decoder.
fn with_decoder(
    header: &FrameHeader,
    decode: impl FnOnce(&mut Decoder) -> Result<usize, CodecError>,
) -> Result<i64, CallError> {
    let (mut decoder, mut share) = DECODER.take().unwrap_or_default();
    share.set(Decoder::scratch_bound(header));
    let decoded = decode(&mut decoder);
    share.set(decoder.retained_bytes());
    DECODER.set(Some((decoder, share)));
    Ok(decoded? as i64)
}

/// A frame, and where its rows and their lengths go.
struct Memory<'m> {
    source: &'m mut [u8],
    target: &'m mut [u8],
    lengths: &'m mut [u32],
}

impl Memory<'_> {
    /// Of each the address, and how many elements there are.
    fn of(source: [i64; 2], target: [i64; 2], row_lengths: [i64; 2]) -> Result<Self, CallError> {
        let (source_bytes, target_bytes) = (number(source[1], "source")?, number(target[1], "target")?);
        let capacity = number(row_lengths[1], "capacity of row lengths")?;
        let [source, target, row_lengths] = [source[0], target[0], row_lengths[0]];
        if source == 0 || target == 0 || row_lengths == 0 || row_lengths % 4 != 0 {
            return Err(CallError::invalid("null or misaligned address"));
        }
        // SAFETY: for all three slices:
        // - live, neither read nor written by others until the call returns, and disjoint: the contract of
        //   NativeCore.decodeRows and decodeSealedRows; the slices do not outlive the call, whose arguments they are;
        // - long enough: each length came with its address from the caller that made the lease; none is the frame's;
        // - initialised: arena memory always is;
        // - aligned: bytes are; the lengths' address was checked to be a multiple of 4.
        unsafe {
            Ok(Self {
                source: std::slice::from_raw_parts_mut(source as *mut u8, source_bytes),
                target: std::slice::from_raw_parts_mut(target as *mut u8, target_bytes),
                lengths: std::slice::from_raw_parts_mut(row_lengths as *mut u32, capacity),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_codec::{Codec, CodecOptions, Encoder, Level};

    use super::*;
    use crate::error::Reason;

    #[test]
    fn a_frame_of_more_rows_than_there_is_room_for_lengths_is_corrupt_and_writes_no_length() {
        let rows = [&[7u8; 16][..]; 10];
        let mut encoder = Encoder::new(CodecOptions { codec: Codec::None, level: Level::Plain });
        let mut frame = encoder.encode_frame(&rows, 1).to_vec();
        let (mut target, mut lengths) = (vec![0u8; 160], vec![u32::MAX; 10]);
        let mut decode_with = |capacity| {
            let answer = decode(
                [frame.as_mut_ptr().expose_provenance() as i64, frame.len() as i64],
                [target.as_mut_ptr().expose_provenance() as i64, 160],
                [lengths.as_mut_ptr().expose_provenance() as i64, capacity],
            );
            (answer.map_err(|e| e.reason), lengths.clone())
        };
        assert_eq!(decode_with(9), (Err(Reason::Corrupt), vec![u32::MAX; 10]));
        assert_eq!(decode_with(-1).0, Err(Reason::Invalid));
        assert_eq!(decode_with(10), (Ok(10), vec![16; 10]));
    }
}
