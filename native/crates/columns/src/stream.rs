//! Batches from a stream.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use crate::batch::Batch;
use crate::error::{ColumnError, ErrorKind, Result};
use crate::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::owned::{self, OwnedArray, OwnedSchema, OwnedStream};
use crate::schema::Schema;

/// The batches of a stream, all of one schema. One thread at a time; the stream is released when this is dropped.
#[derive(Debug)]
pub struct BatchStream {
    stream: OwnedStream,
    schema: Schema,
    /// How many batches came.
    batches: u64,
}

impl BatchStream {
    /// Asks the stream for its schema.
    ///
    /// # Errors
    /// `Producer` when the stream has an error, else those of [`Schema::read`]. The stream is released then.
    ///
    /// # Safety
    /// The stream's functions are as the interface defines them.
    pub unsafe fn open(mut stream: OwnedStream) -> Result<Self> {
        let raw = stream.stream();
        let Some(get_schema) = raw.get_schema else {
            return Err(ColumnError::invalid("the stream has no function for its schema"));
        };
        let mut schema = MaybeUninit::<ArrowSchema>::zeroed();
        // SAFETY: the function may be called while the stream is not released, one call at a time; all bits 0 are a
        // released schema, and the function writes a whole one where it succeeds.
        let schema = unsafe {
            let errno = get_schema(raw, schema.as_mut_ptr());
            check(errno, raw, "schema")?;
            OwnedSchema(schema.assume_init())
        };
        // SAFETY: the function succeeded, so the schema is one, until it is dropped.
        let schema = unsafe { Schema::read(&schema.0)? };
        Ok(Self { stream, schema, batches: 0 })
    }

    /// That of all batches.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The next batch; none at the end.
    ///
    /// # Errors
    /// `Producer` when the stream has an error, else those of [`Batch::import`].
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let raw = self.stream.stream();
        let Some(get_next) = raw.get_next else {
            return Err(ColumnError::invalid("the stream has no function for its batches"));
        };
        let mut array = ArrowArray::released();
        // SAFETY: the function may be called while the stream is not released, one call at a time: `self` is borrowed
        // mutably.
        unsafe {
            let errno = get_next(raw, &mut array);
            check(errno, raw, "next batch")?;
        }
        if array.release.is_none() {
            return Ok(None);
        }
        let place = self.batches;
        self.batches += 1;
        // SAFETY: the stream's functions are as the interface defines them (`open`), so the array is.
        let batch = OwnedArray::of(array).and_then(|array| unsafe { Batch::import(array, &self.schema) });
        batch.map(Some).map_err(|e| e.at(format_args!("batch {place} of the stream")))
    }
}

/// # Safety
/// The stream is not released.
unsafe fn check(errno: c_int, stream: &mut ArrowArrayStream, what: &str) -> Result<()> {
    if errno == 0 {
        return Ok(());
    }
    // SAFETY: it may be called after a function failed; what it returns is null or a string until the next call.
    let said = stream.get_last_error.and_then(|last| unsafe { owned::text(last(stream)) });
    let said = said.unwrap_or_else(|| "no message".to_owned());
    Err(ColumnError::new(ErrorKind::Producer, format!("the stream's {what}: error {errno}: {said}")))
}
