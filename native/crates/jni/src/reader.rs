//! Decoding frames.

use std::cell::RefCell;

use jni::JNIEnv;
use jni::objects::JClass;
use jni::sys::jlong;
use sluice_codec::{Decoder, FrameHeader};
use sluice_engine::{EngineError, Reason};

use crate::guard::guard;
use crate::memory::size;

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::new());
}

/// `NativeCore.decodeRows`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_sluice_nativebridge_NativeCore_decodeRows(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    source: jlong,
    source_bytes: jlong,
    target: jlong,
    target_bytes: jlong,
    row_lengths: jlong,
) -> jlong {
    guard(|| {
        let (source_bytes, target_bytes) = (size(source_bytes, "source")?, size(target_bytes, "target")?);
        if source == 0 || target == 0 || row_lengths == 0 || row_lengths % 4 != 0 {
            return Err(EngineError::invalid("null or misaligned address"));
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
        let records = FrameHeader::parse(frame).map_err(corrupt)?.records as usize;
        // SAFETY: as above, and 4-byte aligned as checked.
        let lengths = unsafe { std::slice::from_raw_parts_mut(row_lengths as *mut u32, records) };
        let rows = DECODER.with_borrow_mut(|d| d.decode(frame, target, lengths)).map_err(corrupt)?;
        Ok(rows as i64)
    })
}

fn corrupt(e: sluice_codec::CodecError) -> EngineError {
    EngineError::new(Reason::Corrupt, e.to_string())
}
