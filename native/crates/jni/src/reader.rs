//! Decoding frames.

use std::cell::RefCell;

use jni::sys::jlong;
use sluice_codec::{Decoder, FrameHeader};

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::new());
}

native_methods! {
    NativeCore {
        decodeRows = decode_rows(
            source: jlong, source_bytes: jlong, target: jlong, target_bytes: jlong, row_lengths: jlong,
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
) -> Result<i64, CallError> {
    let (source_bytes, target_bytes) = (number(source_bytes, "source")?, number(target_bytes, "target")?);
    if source == 0 || target == 0 || row_lengths == 0 || row_lengths % 4 != 0 {
        return Err(CallError::invalid("null or misaligned address"));
    }
    // SAFETY: the JVM owns all three leases for the length of this call and nobody writes them meanwhile
    // (contract of NativeCore.decodeRows); arena memory is always initialised. The lengths are the caller's;
    // the number of row lengths is the header's record count, for which the caller made room.
    let (frame, target) = unsafe {
        (
            std::slice::from_raw_parts(source as *const u8, source_bytes),
            std::slice::from_raw_parts_mut(target as *mut u8, target_bytes),
        )
    };
    let records = FrameHeader::parse(frame)?.records as usize;
    // SAFETY: as above, and 4-byte aligned as checked.
    let lengths = unsafe { std::slice::from_raw_parts_mut(row_lengths as *mut u32, records) };
    Ok(DECODER.with_borrow_mut(|d| d.decode(frame, target, lengths))? as i64)
}
