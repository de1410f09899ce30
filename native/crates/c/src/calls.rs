//! The exported functions.
//!
//! For all of them the safety section is the header's: pointers are null or valid, handles are those of this library
//! and not freed, and the threads are as it says. The blocks below rely on that and say no more.
#![expect(clippy::missing_safety_doc, reason = "the header's rules are those of all functions")]

use std::ffi::c_char;
use std::ptr::NonNull;

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_columns::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use sluice_columns::partition;
use sluice_columns::{
    Batch, BatchStream, ColumnDecoder, ColumnEncoder, FrameExtent, OwnedArray, OwnedStream, Schema, SortKey, UnsafeRows,
};

use crate::guard::{self, CallError, guarded};
use crate::handles::{array, borrow, borrow_mut, free, give, place, room};

/// `SLUICE_ABI_VERSION`.
const ABI_VERSION: u32 = 1;

/// `sluice_sort_key`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CSortKey {
    /// Which column.
    pub column: u32,
    /// 1 or 0.
    pub descending: u8,
    /// 1 or 0.
    pub nulls_first: u8,
    /// 0.
    pub reserved: u16,
}

/// `sluice_frame`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CFrame {
    /// Of the frame, in its block.
    pub bytes: u64,
    /// Of its rows together.
    pub row_bytes: u64,
    /// How many rows.
    pub rows: u32,
    /// Fields of each.
    pub fields: u32,
}

/// `sluice_sink`.
pub type Sink = Option<unsafe extern "C" fn(*mut std::ffi::c_void, u32, *const u8, usize) -> i32>;

/// The ABI version.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_abi_version() -> u32 {
    ABI_VERSION
}

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What the last failure on this thread was.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_last_error() -> *const c_char {
    guard::last_error()
}

/// Reads a schema.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_schema_new(schema: *const ArrowSchema, out: *mut *mut Schema) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = place(out)?;
        give(out, Schema::read(schema)?);
        Ok(())
    })
}

/// Frees a schema.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_schema_free(schema: *mut Schema) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(schema);
        Ok(())
    });
}

/// Takes over an array as a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_batch_import(
    schema: *const Schema,
    array: *mut ArrowArray,
    out: *mut *mut Batch,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        // First: the array is released whatever is wrong with the other arguments.
        let array = OwnedArray::take(array);
        let out = place(out)?;
        give(out, Batch::import(array?, borrow(schema, "schema")?)?);
        Ok(())
    })
}

/// Rows of a batch; 0 if it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_batch_rows(batch: *const Batch) -> u64 {
    // SAFETY: the header's rules.
    unsafe { batch.as_ref() }.map_or(0, |batch| batch.rows() as u64)
}

/// Frees a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_batch_free(batch: *mut Batch) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(batch);
        Ok(())
    });
}

/// Takes over a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_stream_open(stream: *mut ArrowArrayStream, out: *mut *mut BatchStream) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let stream = OwnedStream::take(stream);
        let out = place(out)?;
        give(out, BatchStream::open(stream?)?);
        Ok(())
    })
}

/// The next batch of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_stream_next(stream: *mut BatchStream, out: *mut *mut Batch) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = place(out)?;
        if let Some(batch) = borrow_mut(stream, "stream")?.next_batch()? {
            give(out, batch);
        }
        Ok(())
    })
}

/// Frees a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_stream_free(stream: *mut BatchStream) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(stream);
        Ok(())
    });
}

/// Partitions by hash.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_partition_hash(
    batch: *const Batch,
    columns: *const u32,
    n_columns: usize,
    partitions: u32,
    ids: *mut u32,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let batch = borrow(batch, "batch")?;
        let columns: Vec<usize> = array(columns, n_columns, "columns")?.iter().map(|c| *c as usize).collect();
        write_ids(&partition::hash(batch, &columns, partitions)?, ids)
    })
}

/// Partitions by ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_partition_range(
    batch: *const Batch,
    keys: *const CSortKey,
    n_keys: usize,
    bounds: *const Batch,
    ids: *mut u32,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let (batch, bounds) = (borrow(batch, "batch")?, borrow(bounds, "bounds")?);
        let keys: Vec<SortKey> = array(keys, n_keys, "keys")?.iter().map(sort_key).collect::<Result<_, _>>()?;
        write_ids(&partition::range(batch, &keys, bounds)?, ids)
    })
}

fn sort_key(key: &CSortKey) -> Result<SortKey, CallError> {
    if key.descending > 1 || key.nulls_first > 1 || key.reserved != 0 {
        return Err(CallError::Argument(format!("a sort key of {key:?}")));
    }
    Ok(SortKey { column: key.column as usize, descending: key.descending != 0, nulls_first: key.nulls_first != 0 })
}

/// Partitions in turn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_partition_round_robin(
    batch: *const Batch,
    position: i32,
    partitions: u32,
    ids: *mut u32,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let rows = borrow(batch, "batch")?.rows();
        write_ids(&partition::round_robin(rows, position, partitions)?, ids)
    })
}

/// # Safety
/// `to` is null or has room for as many.
unsafe fn write_ids(ids: &[u32], to: *mut u32) -> Result<(), CallError> {
    if ids.is_empty() {
        return Ok(());
    }
    let to = NonNull::new(to).ok_or(CallError::Null("ids"))?;
    // SAFETY: room for as many, as the caller promises; `ids` was made here, so they do not overlap.
    unsafe { to.copy_from_nonoverlapping(NonNull::from(ids).cast(), ids.len()) };
    Ok(())
}

/// Makes an encoder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_encoder_new(codec: i32, level: i32, out: *mut *mut ColumnEncoder) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = place(out)?;
        give(out, ColumnEncoder::new(options(codec, level)?));
        Ok(())
    })
}

/// What the header's numbers say.
pub(crate) fn options(codec: i32, level: i32) -> Result<CodecOptions, CallError> {
    let known = u8::try_from(codec).ok().and_then(Codec::from_id);
    let codec = known.ok_or_else(|| CallError::Argument(format!("codec {codec}")))?;
    let level = match level {
        0 => Level::Plain,
        1 => Level::Fast,
        2 => Level::Small,
        other => return Err(CallError::Argument(format!("level {other}"))),
    };
    Ok(CodecOptions { codec, level })
}

/// Frees an encoder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_encoder_free(encoder: *mut ColumnEncoder) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(encoder);
        Ok(())
    });
}

/// Encodes batches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_encode(
    encoder: *mut ColumnEncoder,
    batches: *const *const Batch,
    n_batches: usize,
    ids: *const *const u32,
    partitions: u32,
    sink: Sink,
    context: *mut std::ffi::c_void,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let encoder = borrow_mut(encoder, "encoder")?;
        let sink = sink.ok_or(CallError::Null("sink"))?;
        let batches = array(batches, n_batches, "batches")?.iter().map(|batch| borrow(*batch, "a batch"));
        let batches: Vec<&Batch> = batches.collect::<Result<_, _>>()?;
        let take = |partition: u32, frame: &[u8]| send(sink, context, partition, frame);
        if ids.is_null() {
            return encoder.encode_all(&batches, |frame| take(0, frame));
        }
        let of = |(batch, ids): (&&Batch, &*const u32)| array(*ids, batch.rows(), "the ids of a batch");
        let ids = batches.iter().zip(array(ids, n_batches, "ids")?).map(of).collect::<Result<Vec<_>, _>>()?;
        encoder.encode_partitions(&batches, &ids, partitions, take)
    })
}

/// Encodes rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_encode_rows(
    encoder: *mut ColumnEncoder,
    rows: *const u8,
    row_bytes: *const u32,
    n_rows: usize,
    fields: u32,
    ids: *const u32,
    partitions: u32,
    sink: Sink,
    context: *mut std::ffi::c_void,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let encoder = borrow_mut(encoder, "encoder")?;
        let sink = sink.ok_or(CallError::Null("sink"))?;
        let lengths = array(row_bytes, n_rows, "row_bytes")?;
        let bytes = lengths.iter().map(|len| *len as usize).sum();
        let rows = UnsafeRows::new(array(rows, bytes, "rows")?, lengths, fields)?;
        let ids = if ids.is_null() { None } else { Some(array(ids, n_rows, "ids")?) };
        encoder.encode_rows(&rows, ids, partitions, |partition, frame| send(sink, context, partition, frame))
    })
}

/// # Safety
/// `sink` and `context` are those of a call.
unsafe fn send(
    sink: unsafe extern "C" fn(*mut std::ffi::c_void, u32, *const u8, usize) -> i32,
    context: *mut std::ffi::c_void,
    partition: u32,
    frame: &[u8],
) -> Result<(), CallError> {
    // SAFETY: the frame is live during the call; the rest is the caller's promise.
    match unsafe { sink(context, partition, frame.as_ptr(), frame.len()) } {
        0 => Ok(()),
        answer => Err(CallError::Sink(answer)),
    }
}

/// What the first frame of a block has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_frame_read(block: *const u8, bytes: usize, out: *mut CFrame) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = NonNull::new(out).ok_or(CallError::Null("out"))?;
        out.write(CFrame { bytes: 0, row_bytes: 0, rows: 0, fields: 0 });
        out.write(frame(FrameExtent::of(array(block, bytes, "block")?)?));
        Ok(())
    })
}

fn frame(extent: FrameExtent) -> CFrame {
    CFrame {
        bytes: extent.bytes as u64,
        row_bytes: extent.row_bytes as u64,
        rows: extent.rows as u32,
        fields: extent.fields,
    }
}

/// Makes a decoder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_decoder_new(out: *mut *mut ColumnDecoder) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = place(out)?;
        give(out, ColumnDecoder::new());
        Ok(())
    })
}

/// Frees a decoder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_decoder_free(decoder: *mut ColumnDecoder) {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        free(decoder);
        Ok(())
    });
}

/// Decodes frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_decode(
    decoder: *mut ColumnDecoder,
    schema: *const Schema,
    block: *const u8,
    bytes: usize,
    most_rows: usize,
    out: *mut ArrowArray,
    read: *mut usize,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = NonNull::new(out).ok_or(CallError::Null("out"))?;
        out.write(ArrowArray::released());
        let read = NonNull::new(read).ok_or(CallError::Null("read"))?;
        read.write(0);
        let (decoder, schema) = (borrow_mut(decoder, "decoder")?, borrow(schema, "schema")?);
        let (decoded, len) = decoder.decode(schema, array(block, bytes, "block")?, most_rows)?;
        out.write(decoded.into_raw());
        read.write(len);
        Ok(())
    })
}

/// Decodes a frame to rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_decode_rows(
    decoder: *mut ColumnDecoder,
    block: *const u8,
    bytes: usize,
    rows: *mut u8,
    room_bytes: usize,
    row_bytes: *mut u32,
    room_rows: usize,
    out: *mut CFrame,
) -> i32 {
    // SAFETY: the header's rules.
    guarded(|| unsafe {
        let out = NonNull::new(out).ok_or(CallError::Null("out"))?;
        out.write(CFrame { bytes: 0, row_bytes: 0, rows: 0, fields: 0 });
        let (decoder, block) = (borrow_mut(decoder, "decoder")?, array(block, bytes, "block")?);
        // What is needed of the room; the decoder refuses what is too little.
        let extent = FrameExtent::of(block)?;
        let rows = room(rows, room_bytes.min(extent.row_bytes), "rows")?;
        let lengths = room(row_bytes, room_rows.min(extent.rows), "row_bytes")?;
        out.write(frame(decoder.decode_rows(block, rows, lengths)?));
        Ok(())
    })
}
