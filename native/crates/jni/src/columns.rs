//! Batches of columns, by Arrow's C Data Interface: rows to pages, frames to batches.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use jni::objects::{JByteArray, JLongArray, JString};
use jni::sys::{jint, jlong};
use sluice_columns::ffi::{ArrowArray, ArrowSchema};
use sluice_columns::partition::{self, Ranges};
use sluice_columns::{Batch, ColumnDecoder, Formats, OwnedArray, OwnedSchema, PageFiller, PageRows, SortKey};
use sluice_engine::HeapShare;

use crate::arguments::{Call, number};
use crate::error::CallError;
use crate::exports::native_methods;
use crate::handles::HandleTable;

static BATCHES: HandleTable<PartitionedBatch> = HandleTable::new();
static DECODERS: HandleTable<Mutex<BatchDecoder>> = HandleTable::new();
static RANGES: HandleTable<Ranges> = HandleTable::new();

/// `NativeColumns.SINGLE`, `HASH`, `ROUND_ROBIN` and `RANGE`.
const SINGLE: i64 = 0;
const HASH: i64 = 1;
const ROUND_ROBIN: i64 = 2;
const RANGE: i64 = 3;

thread_local! {
    /// What this thread fills pages with, while no call has it. One that panicked is not put back.
    static FILLER: Cell<Option<PageFiller>> = const { Cell::new(None) };
}

native_methods! {
    NativeColumns {
        arrayBytes = array_bytes() -> jint;
        schemaBytes = schema_bytes() -> jint;
        releaseStructs = release_structs(arrays: jlong, schemas: jlong, columns: jint) -> jint;
        callersArrayRelease = callers_array_release() -> jlong;
        callersSchemaRelease = callers_schema_release() -> jlong;
        batchOpen = batch_open(
            arrays: jlong, schemas: jlong, columns: jint, rows: jint, types: JString<'_>,
            partitioning: JLongArray<'_>,
        ) -> jlong;
        batchToPage = batch_to_page(
            batch: jlong, first: jint, page: jlong, capacity: jlong, filled: JLongArray<'_>,
        ) -> jint;
        batchRowBytes = batch_row_bytes(batch: jlong, row: jint) -> jlong;
        batchValueBytes = batch_value_bytes(batch: jlong) -> jlong;
        batchPartition = batch_partition(batch: jlong, row: jint) -> jint;
        batchClose = batch_close(batch: jlong) -> jint;
        rangesOpen = ranges_open(
            types: JString<'_>, keys: JLongArray<'_>, rows: JByteArray<'_>, lengths: JLongArray<'_>,
        ) -> jlong;
        rangesClose = ranges_close(ranges: jlong) -> jint;
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

fn callers_array_release(_: &mut Call<'_>) -> Result<i64, CallError> {
    let callback: unsafe extern "C" fn(*mut ArrowArray) = release_callers_array;
    Ok(callback as usize as i64)
}

fn callers_schema_release(_: &mut Call<'_>) -> Result<i64, CallError> {
    let callback: unsafe extern "C" fn(*mut ArrowSchema) = release_callers_schema;
    Ok(callback as usize as i64)
}

/// The callback of an array whose buffers its producer frees itself, after the batch has been closed.
///
/// # Safety
/// `array` is valid for reads and writes.
unsafe extern "C" fn release_callers_array(array: *mut ArrowArray) {
    // SAFETY: valid, as the caller promises.
    unsafe { (*array).release = None };
}

/// The same for a schema.
///
/// # Safety
/// `schema` is valid for reads and writes.
unsafe extern "C" fn release_callers_schema(schema: *mut ArrowSchema) {
    // SAFETY: valid, as the caller promises.
    unsafe { (*schema).release = None };
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
    let arguments = call.text(&types).and_then(|types| Ok((types, call.longs(&partitioning)?)));
    let (types, partitioning) = match arguments {
        Ok(arguments) => arguments,
        Err(e) => {
            // The JVM may have thrown that it has no memory, and what releases the structs may call it.
            call.with_nothing_thrown(|| drop(structs.take()))?;
            return Err(e);
        }
    };
    open(&structs, rows, &types, &partitioning).map(|batch| BATCHES.insert(batch))
}

/// Takes the structs over before anything can fail: from there on they are released in any case.
fn open(structs: &Structs, rows: i32, types: &str, partitioning: &[i64]) -> Result<PartitionedBatch, CallError> {
    let (arrays, schemas) = structs.take();
    let (rows, types) = (number(rows, "number of rows")?, formats(types)?);
    let (columns, want) = (structs.columns, types.schema().fields.len());
    // Which ones are released is not known any more: what is left must not be taken for neighbours.
    if arrays.len() != columns || schemas.len() != columns || want != columns {
        let (arrays, schemas) = (arrays.len(), schemas.len());
        return Err(CallError::invalid(format!(
            "{arrays} arrays and {schemas} schemas of {columns} are not released, and there are {want} types"
        )));
    }
    // SAFETY: the structs are as the interface defines them, by the contract of NativeColumns.batchOpen.
    let batch = unsafe { Batch::of_columns(arrays, schemas, rows, &types)? };
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
        (RANGE, [ranges]) => {
            let ranges = RANGES.get(*ranges)?;
            if ranges.partitions() != partitions {
                let have = ranges.partitions();
                return Err(CallError::invalid(format!("{partitions} partitions of {have} ranges")));
            }
            ranges.of(batch)?
        }
        _ => return Err(CallError::invalid(format!("partitioning {partitioning:?}"))),
    })
}

/// Of each key three numbers: its column, whether it is descending, whether nulls are first.
fn ranges_open(
    call: &mut Call<'_>,
    types: JString<'_>,
    keys: JLongArray<'_>,
    rows: JByteArray<'_>,
    lengths: JLongArray<'_>,
) -> Result<i64, CallError> {
    let formats = formats(&call.text(&types)?)?;
    let key = |[column, descending, nulls_first]: [i64; 3]| {
        let column = number(column, "a key column")?;
        Ok(SortKey { column, descending: descending != 0, nulls_first: nulls_first != 0 })
    };
    let keys = call.records::<3>(&keys, "keys")?.into_iter().map(key).collect::<Result<Vec<_>, CallError>>()?;
    let lengths = call.longs(&lengths)?.into_iter().map(|len| number(len, "bytes of a bound"));
    let lengths = lengths.collect::<Result<Vec<u32>, _>>()?;
    Ok(RANGES.insert(Ranges::of_rows(&formats, keys, &call.bytes(&rows)?, &lengths)?))
}

fn ranges_close(_: &mut Call<'_>, ranges: i64) -> Result<i32, CallError> {
    RANGES.remove(ranges).map(|_| 0)
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

fn batch_value_bytes(_: &mut Call<'_>, batch: i64) -> Result<i64, CallError> {
    Ok(BATCHES.get(batch)?.batch.value_bytes() as i64)
}

fn batch_partition(_: &mut Call<'_>, batch: i64, row: i32) -> Result<i32, CallError> {
    let batch = BATCHES.get(batch)?;
    let partition = batch.ids.get(number::<usize>(row, "row")?);
    let partition = partition.ok_or_else(|| CallError::invalid(format!("row {row} of {}", batch.ids.len())))?;
    Ok(*partition as i32)
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
    share.set(ColumnDecoder::scratch_bound(frames));
    let decoded = decoder.decode(formats.schema(), frames, usize::MAX);
    share.set(decoder.retained_bytes());
    let (batch, _) = decoded?;
    structs.give(&batch, formats)?;
    Ok(batch.array().length)
}

fn decoder_close(_: &mut Call<'_>, decoder: i64) -> Result<i32, CallError> {
    DECODERS.remove(decoder).map(|_| 0)
}

#[cfg(test)]
mod tests {
    use std::ffi::{CStr, c_void};
    use std::ptr::{null, null_mut};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Reason;

    /// How often the arrays and the schemas of a test were released.
    #[derive(Default)]
    struct Releases {
        arrays: AtomicUsize,
        schemas: AtomicUsize,
    }

    /// Of arrays, of schemas.
    type Count = (usize, usize);

    unsafe extern "C" fn release_array(array: *mut ArrowArray) {
        // SAFETY: `columns` sets this callback, and `private_data` with it to counts that live as long as the test.
        unsafe {
            (*(*array).private_data.cast::<Releases>()).arrays.fetch_add(1, Ordering::SeqCst);
            (*array).release = None;
        }
    }

    unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
        // SAFETY: as for arrays.
        unsafe {
            (*(*schema).private_data.cast::<Releases>()).schemas.fetch_add(1, Ordering::SeqCst);
            (*schema).release = None;
        }
    }

    fn schema(format: &CStr, releases: &Releases) -> ArrowSchema {
        ArrowSchema {
            format: format.as_ptr(),
            name: null(),
            metadata: null(),
            flags: 2,
            n_children: 0,
            children: null_mut(),
            dictionary: null_mut(),
            release: Some(release_schema),
            private_data: std::ptr::from_ref(releases).cast_mut().cast(),
        }
    }

    /// Opens a batch of two columns of two longs each, after `change` has been at the structs. Says whether that went
    /// well, and how many arrays and schemas had been released before and after the batch was dropped.
    fn open_columns(
        types: &str,
        partitioning: &[i64],
        change: impl FnOnce(&mut [ArrowArray], &mut [ArrowSchema]),
    ) -> (Result<Vec<u32>, CallError>, [Count; 2]) {
        let releases = Releases::default();
        let values = [1i64, 2];
        let mut buffers: [*const c_void; 2] = [null(), values.as_ptr().cast()];
        let addresses = buffers.as_mut_ptr();
        let array = || ArrowArray {
            length: 2,
            n_buffers: 2,
            buffers: addresses,
            release: Some(release_array),
            private_data: std::ptr::from_ref(&releases).cast_mut().cast(),
            ..ArrowArray::released()
        };
        let (mut arrays, mut schemas) = ([array(), array()], [schema(c"l", &releases), schema(c"l", &releases)]);
        change(&mut arrays, &mut schemas);
        let structs = Structs { arrays: arrays.as_mut_ptr(), schemas: schemas.as_mut_ptr(), columns: 2 };
        let count = || (releases.arrays.load(Ordering::SeqCst), releases.schemas.load(Ordering::SeqCst));
        let opened = open(&structs, 2, types, partitioning);
        let before = count();
        let opened = opened.map(|batch| batch.ids.clone());
        assert!(arrays.iter().all(|a| a.release.is_none()) && schemas.iter().all(|s| s.release.is_none()));
        (opened, [before, count()])
    }

    #[test]
    fn a_batch_keeps_its_arrays_until_it_is_dropped_and_not_its_schemas() {
        let (ids, releases) = open_columns("l\nl", &[ROUND_ROBIN, 3, i64::from(i32::MAX)], |_, _| {});
        // Spark's counter goes on at -2^31, whose modulus by 3 is 1.
        assert_eq!(ids.expect("a batch"), [1, 2]);
        assert_eq!(releases, [(0, 2), (2, 2)]);
    }

    #[test]
    fn structs_of_the_callers_own_buffers_count_as_released_and_the_buffers_stay() {
        let (ids, releases) = open_columns("l\nl", &[SINGLE, 1], |arrays, schemas| {
            arrays.iter_mut().for_each(|array| array.release = Some(release_callers_array));
            schemas.iter_mut().for_each(|schema| schema.release = Some(release_callers_schema));
        });
        assert_eq!(ids.expect("a batch"), [0, 0]);
        assert_eq!(releases, [(0, 0); 2]);
    }

    /// Two ranges of the second column, up to 1 and above.
    fn ranges() -> i64 {
        let rows = [0u64.to_le_bytes(), 1u64.to_le_bytes()].concat();
        let key = SortKey { column: 1, descending: false, nulls_first: true };
        RANGES.insert(Ranges::of_rows(&formats("l").expect("a type"), vec![key], &rows, &[16]).expect("ranges"))
    }

    #[test]
    fn ranges_are_found_by_their_handle_while_it_lives() {
        let handle = ranges();
        let (ids, releases) = open_columns("l\nl", &[RANGE, 2, handle], |_, _| {});
        assert_eq!(ids.expect("a batch"), [0, 1]);
        assert_eq!(releases, [(0, 2), (2, 2)]);
        let (opened, releases) = open_columns("l\nl", &[RANGE, 3, handle], |_, _| {});
        let error = opened.expect_err("another number of ranges");
        assert!(error.message.contains("3 partitions of 2 ranges"), "{}", error.message);
        assert_eq!(releases, [(2, 2); 2]);
        RANGES.remove(handle).expect("live");
        let (opened, releases) = open_columns("l\nl", &[RANGE, 2, handle], |_, _| {});
        assert_eq!(opened.map_err(|e| e.reason), Err(Reason::StaleHandle));
        assert_eq!(releases, [(2, 2); 2]);
    }

    #[test]
    fn whatever_is_refused_is_released_once() {
        for (types, partitioning, reason) in [
            ("l\nl", &[][..], Reason::Invalid),
            ("l\nl", &[HASH, 0, 0], Reason::Invalid),
            ("l\nl", &[HASH, 3, 2], Reason::Invalid),
            ("l\nl", &[RANGE, 2], Reason::Invalid),
            ("l", &[SINGLE, 1], Reason::Invalid),
            ("l\ntsu:a\0b", &[SINGLE, 1], Reason::Invalid),
            ("l\ni", &[SINGLE, 1], Reason::Unsupported),
            ("l\n+s", &[SINGLE, 1], Reason::Unsupported),
        ] {
            let (opened, releases) = open_columns(types, partitioning, |_, _| {});
            assert_eq!(opened.map_err(|e| e.reason), Err(reason), "{types:?} {partitioning:?}");
            assert_eq!(releases, [(2, 2); 2], "{types:?} {partitioning:?}");
        }
    }

    #[test]
    fn what_is_left_when_others_are_released_already_is_no_batch() {
        // The second array would get the first schema, and the types would be those of one column.
        let (opened, releases) = open_columns("l", &[SINGLE, 1], |arrays, schemas| {
            arrays[0].release = None;
            schemas[1].release = None;
        });
        let error = opened.expect_err("no batch");
        assert_eq!(error.reason, Reason::Invalid);
        assert!(error.message.contains("1 arrays and 1 schemas of 2 are not released"), "{}", error.message);
        assert_eq!(releases, [(1, 1); 2]);
    }

    #[test]
    fn a_value_that_no_row_can_hold_sends_the_rows_another_way() {
        let (opened, releases) = open_columns("l\nL", &[SINGLE, 1], |_, schemas| {
            schemas[1].format = c"L".as_ptr();
        });
        assert!(opened.is_ok());
        assert_eq!(releases, [(0, 2), (2, 2)]);
        // One value of 16 bytes: 2^64 + 1.
        let wide = [1i64, 1];
        let mut buffers: [*const c_void; 2] = [null(), wide.as_ptr().cast()];
        let addresses = buffers.as_mut_ptr();
        let releases = Releases::default();
        let mut array = ArrowArray {
            length: 1,
            n_buffers: 2,
            buffers: addresses,
            release: Some(release_array),
            private_data: std::ptr::from_ref(&releases).cast_mut().cast(),
            ..ArrowArray::released()
        };
        let mut schema = schema(c"d:18,2", &releases);
        let structs = Structs { arrays: &mut array, schemas: &mut schema, columns: 1 };
        let error = open(&structs, 1, "d:18,2", &[SINGLE, 1]).map(|_| ()).expect_err("no long");
        assert_eq!(error.reason, Reason::Unsupported);
        assert!(error.message.contains("column 0: row 0: the decimal has more than 18 digits"), "{}", error.message);
        assert_eq!((releases.arrays.into_inner(), releases.schemas.into_inner()), (1, 1));
    }
}
