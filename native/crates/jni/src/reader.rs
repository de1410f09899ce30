//! Decoding frames.

use std::cell::Cell;

use jni::sys::{jint, jlong};
use sluice_codec::{Decoder, FrameHeader};
use sluice_engine::HeapShare;

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;

thread_local! {
    /// The decoder of this thread, while no call has it. One that panicked is not put back.
    static DECODER: Cell<Option<(Decoder, HeapShare)>> = const { Cell::new(None) };
}

native_methods! {
    NativeCore {
        decodeRows = decode_rows(
            source: jlong, source_bytes: jlong, target: jlong, target_bytes: jlong, row_lengths: jlong,
            row_lengths_capacity: jint,
        ) -> jlong;
    }
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

/// Decodes from one piece of memory to two others; of each the address, and how many elements there are.
fn decode(source: [i64; 2], target: [i64; 2], row_lengths: [i64; 2]) -> Result<i64, CallError> {
    let (source_bytes, target_bytes) = (number(source[1], "source")?, number(target[1], "target")?);
    let capacity = number(row_lengths[1], "capacity of row lengths")?;
    let [source, target, row_lengths] = [source[0], target[0], row_lengths[0]];
    if source == 0 || target == 0 || row_lengths == 0 || row_lengths % 4 != 0 {
        return Err(CallError::invalid("null or misaligned address"));
    }
    // SAFETY: for all three slices:
    // - live, not written by others until this returns, and disjoint: the contract of NativeCore.decodeRows;
    // - long enough: each length came with its address from the caller that made the lease; none is the frame's;
    // - initialised: arena memory always is;
    // - aligned: bytes are; the lengths' address was checked to be a multiple of 4.
    let (frame, target, lengths) = unsafe {
        (
            std::slice::from_raw_parts(source as *const u8, source_bytes),
            std::slice::from_raw_parts_mut(target as *mut u8, target_bytes),
            std::slice::from_raw_parts_mut(row_lengths as *mut u32, capacity),
        )
    };
    let (mut decoder, mut share) = DECODER.take().unwrap_or_default();
    let decoded = FrameHeader::parse(frame).and_then(|header| {
        share.set(Decoder::scratch_bound(&header));
        decoder.decode(frame, target, lengths)
    });
    share.set(decoder.retained_bytes());
    DECODER.set(Some((decoder, share)));
    Ok(decoded? as i64)
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
        let frame = encoder.encode_frame(&rows, 1);
        let (mut target, mut lengths) = (vec![0u8; 160], vec![u32::MAX; 10]);
        let mut decode_with = |capacity| {
            let answer = decode(
                [frame.as_ptr().expose_provenance() as i64, frame.len() as i64],
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
