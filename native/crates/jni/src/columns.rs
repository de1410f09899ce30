//! Batches of columns, by Arrow's C Data Interface: rows to pages, frames to batches.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use jni::objects::{JLongArray, JString};
use jni::sys::{jint, jlong};
use sluice_columns::ffi::{ArrowArray, ArrowSchema};
use sluice_columns::{Batch, ColumnDecoder, Formats, OwnedArray, OwnedSchema, PageFiller, PageRows, partition};
use sluice_engine::HeapShare;

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;
use crate::handles::HandleTable;

static BATCHES: HandleTable<PartitionedBatch> = HandleTable::new();
static DECODERS: HandleTable<Mutex<BatchDecoder>> = HandleTable::new();

/// `NativeColumns.SINGLE`, `HASH` and `ROUND_ROBIN`.
const SINGLE: i64 = 0;
const HASH: i64 = 1;
const ROUND_ROBIN: i64 = 2;

thread_local! {
    /// What this thread fills pages with, while no call has it. One that panicked is not put back.
    static FILLER: Cell<Option<PageFiller>> = const { Cell::new(None) };
}

native_methods! {
    NativeColumns {
        arrayBytes = array_bytes() -> jint;
        schemaBytes = schema_bytes() -> jint;
        releaseStructs = release_structs(arrays: jlong, schemas: jlong, columns: jint) -> jint;
        batchOpen = batch_open(
            arrays: jlong, schemas: jlong, columns: jint, rows: jint, types: JString<'_>,
            partitioning: JLongArray<'_>,
        ) -> jlong;
        batchToPage = batch_to_page(
            batch: jlong, first: jint, page: jlong, capacity: jlong, filled: JLongArray<'_>,
        ) -> jint;
        batchRowBytes = batch_row_bytes(batch: jlong, row: jint) -> jlong;
        batchClose = batch_close(batch: jlong) -> jint;
        decoderOpen = decoder_open(types: JString<'_>) -> jlong;
        decoderDecode = decoder_decode(
            decoder: jlong, source: jlong, source_bytes: jlong, arrays: jlong, schemas: jlong,
        ) -> jlong;
        decoderClose = decoder_close(decoder: jlong) -> jint;
    }
}

/// A batch and the partition of each of its rows.
struct PartitionedBatch {
    batch: Batch,
    ids: Vec<u32>,
}

/// Decodes the frames of one reader.
struct BatchDecoder {
    decoder: ColumnDecoder,
    formats: Formats,
    share: HeapShare,
}

fn array_bytes(_: &mut Call<'_>) -> Result<i32, CallError> {
    Ok(size_of::<ArrowArray>() as i32)
}

fn schema_bytes(_: &mut Call<'_>) -> Result<i32, CallError> {
    Ok(size_of::<ArrowSchema>() as i32)
}

/// The structs of a batch's columns, one behind the other.
struct Structs {
    arrays: *mut ArrowArray,
    schemas: *mut ArrowSchema,
    columns: usize,
}

impl Structs {
    fn at(arrays: i64, schemas: i64, columns: usize) -> Result<Self, CallError> {
        if arrays == 0 || schemas == 0 || arrays % 8 != 0 || schemas % 8 != 0 {
            return Err(CallError::invalid("null or misaligned address of Arrow's structs"));
        }
        Ok(Self { arrays: arrays as *mut ArrowArray, schemas: schemas as *mut ArrowSchema, columns })
    }

    /// Takes all over that are not released; the memory counts as released then.
    fn take(&self) -> (Vec<OwnedArray>, Vec<OwnedSchema>) {
        // SAFETY: by the contract of NativeColumns the addresses are those of `columns` structs each, in memory that
        // nobody else uses during the call; each is all zeros (released) or as the interface defines it.
        unsafe {
            let arrays = (0..self.columns).filter_map(|i| OwnedArray::take(self.arrays.add(i)).ok());
            let arrays = arrays.collect();
            let schemas = (0..self.columns).filter_map(|i| OwnedSchema::take(self.schemas.add(i)).ok());
            (arrays, schemas.collect())
        }
    }

    /// Hands the columns of a batch that was made here to the caller, who releases them.
    fn give(&self, batch: &OwnedArray, formats: &Formats) -> Result<(), CallError> {
        let children = batch.array().children;
        for i in 0..self.columns {
            // SAFETY: the batch has `columns` children, which are valid; the targets are as in `take`, and are written
            // without being read.
            unsafe {
                let column = OwnedArray::take(*children.add(i))?;
                self.arrays.add(i).write(column.into_raw());
                self.schemas.add(i).write(formats.export(i));
            }
        }
        Ok(())
    }
}

fn release_structs(_: &mut Call<'_>, arrays: i64, schemas: i64, columns: i32) -> Result<i32, CallError> {
    let structs = Structs::at(arrays, schemas, number(columns, "number of columns")?)?;
    drop(structs.take());
    Ok(0)
}

fn formats(types: &str) -> Result<Formats, CallError> {
    Ok(Formats::parse(types.lines())?)
}

fn batch_open(
    call: &mut Call<'_>,
    arrays: i64,
    schemas: i64,
    columns: i32,
    rows: i32,
    types: JString<'_>,
    partitioning: JLongArray<'_>,
) -> Result<i64, CallError> {
    let structs = Structs::at(arrays, schemas, number(columns, "number of columns")?)?;
    // Before anything can fail: from here on the structs are released in any case.
    let (arrays, schemas) = structs.take();
    let types = formats(&call.text(&types)?)?;
    let partitioning = call.longs(&partitioning)?;
    open(arrays, schemas, number(rows, "number of rows")?, &types, &partitioning).map(|batch| BATCHES.insert(batch))
}

fn open(
    arrays: Vec<OwnedArray>,
    schemas: Vec<OwnedSchema>,
    rows: usize,
    types: &Formats,
    partitioning: &[i64],
) -> Result<PartitionedBatch, CallError> {
    // SAFETY: the structs are as the interface defines them, by the contract of NativeColumns.batchOpen.
    let batch = unsafe { Batch::of_columns(arrays, schemas, rows, types.schema())? };
    let ids = ids(&batch, partitioning)?;
    Ok(PartitionedBatch { batch, ids })
}

/// The partitions of a batch's rows. The first number says how they are found, the second how many there are; what
/// follows are the key columns, or Spark's position in the round.
fn ids(batch: &Batch, partitioning: &[i64]) -> Result<Vec<u32>, CallError> {
    let [kind, partitions, rest @ ..] = partitioning else {
        return Err(CallError::invalid("no partitioning"));
    };
    let partitions: u32 = number(*partitions, "number of partitions")?;
    Ok(match (*kind, rest) {
        (SINGLE, []) => partition::single(batch.rows())?,
        (HASH, keys) => {
            let keys = keys.iter().map(|key| number(*key, "a key column")).collect::<Result<Vec<usize>, _>>()?;
            partition::hash(batch, &keys, partitions)?
        }
        (ROUND_ROBIN, [position]) => partition::round_robin(batch.rows(), *position as i32, partitions)?,
        _ => return Err(CallError::invalid(format!("partitioning {partitioning:?}"))),
    })
}

fn batch_to_page(
    call: &mut Call<'_>,
    batch: i64,
    first: i32,
    page: i64,
    capacity: i64,
    filled: JLongArray<'_>,
) -> Result<i32, CallError> {
    let batch = BATCHES.get(batch)?;
    let [[used, entries]] = call.records::<2>(&filled, "what a page has")?[..] else {
        return Err(CallError::invalid("what more than one page has"));
    };
    if page == 0 {
        return Err(CallError::invalid("page at address 0"));
    }
    // SAFETY: the page is a live lease of `capacity` bytes that nobody else uses during the call (contract of
    // NativeColumns.batchToPage); arena memory is always initialised.
    let memory = unsafe { std::slice::from_raw_parts_mut(page as *mut u8, number(capacity, "page capacity")?) };
    let mut page = PageRows::of(memory, number(used, "bytes of rows")?, number(entries, "number of entries")?)?;
    let rows =
        with_filler(|filler| Ok(filler.fill(&batch.batch, &batch.ids, number(first, "first row")?, &mut page)?))?;
    call.fill(&filled, &[page.used() as i64, page.entries() as i64])?;
    Ok(rows as i32)
}

fn batch_row_bytes(_: &mut Call<'_>, batch: i64, row: i32) -> Result<i64, CallError> {
    let batch = BATCHES.get(batch)?;
    Ok(with_filler(|filler| Ok(filler.row_bytes(&batch.batch, number(row, "row")?)?))? as i64)
}

/// Runs with this thread's filler.
fn with_filler<T>(work: impl FnOnce(&mut PageFiller) -> Result<T, CallError>) -> Result<T, CallError> {
    let mut filler = FILLER.take().unwrap_or_default();
    let done = work(&mut filler);
    FILLER.set(Some(filler));
    done
}

fn batch_close(_: &mut Call<'_>, batch: i64) -> Result<i32, CallError> {
    BATCHES.remove(batch).map(|_| 0)
}

fn decoder_open(call: &mut Call<'_>, types: JString<'_>) -> Result<i64, CallError> {
    let formats = formats(&call.text(&types)?)?;
    let decoder = BatchDecoder { decoder: ColumnDecoder::new(), formats, share: HeapShare::default() };
    Ok(DECODERS.insert(Mutex::new(decoder)))
}

fn decoder_decode(
    _: &mut Call<'_>,
    decoder: i64,
    source: i64,
    source_bytes: i64,
    arrays: i64,
    schemas: i64,
) -> Result<i64, CallError> {
    let decoder = DECODERS.get(decoder)?;
    // A decoder clears its scratch memory before it uses it, so one whose call panicked is still good.
    let mut decoder = decoder.lock().unwrap_or_else(PoisonError::into_inner);
    if source == 0 {
        return Err(CallError::invalid("frames at address 0"));
    }
    // SAFETY: the frames are live for the call and nobody writes to them (contract of NativeColumns.decoderDecode).
    let frames = unsafe { std::slice::from_raw_parts(source as *const u8, number(source_bytes, "bytes of frames")?) };
    let BatchDecoder { decoder, formats, share } = &mut *decoder;
    let structs = Structs::at(arrays, schemas, formats.schema().fields.len())?;
    let decoded = decoder.decode(formats.schema(), frames, usize::MAX);
    share.set(decoder.retained_bytes());
    let (batch, _) = decoded?;
    structs.give(&batch, formats)?;
    Ok(batch.array().length)
}

fn decoder_close(_: &mut Call<'_>, decoder: i64) -> Result<i32, CallError> {
    DECODERS.remove(decoder).map(|_| 0)
}
