//! arrow-rs as producer and consumer: its arrays become frames, and what frames become is equal to its arrays.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, IntervalUnit, Schema as ArrowRsSchema, TimeUnit};
use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Level};
use sluice_columns::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use sluice_columns::{Batch, BatchStream, ColumnDecoder, ColumnEncoder, ColumnError, OwnedArray, OwnedStream, Schema};
use sluice_testkit::xorshift;

const OPTIONS: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        xorshift(self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.word() >> 16) as usize % n.max(1)
    }

    /// Values of which some are null.
    fn some<T>(&mut self, rows: usize, value: impl Fn(u64) -> T) -> Vec<Option<T>> {
        let nulls = self.below(3);
        (0..rows).map(|_| (nulls == 0 || self.below(4) >= nulls).then(|| value(self.word()))).collect()
    }

    fn texts(&mut self, rows: usize) -> Vec<Option<String>> {
        self.some(rows, |word| "déjà vu ".repeat(word as usize % 5)[..].chars().take(word as usize % 31).collect())
    }

    fn bytes(&mut self, rows: usize) -> Vec<Option<Vec<u8>>> {
        self.some(rows, |word| word.to_le_bytes().repeat(5)[..word as usize % 41].to_vec())
    }
}

fn primitive<T: ArrowPrimitiveType>(random: &mut Random, rows: usize, of: impl Fn(u64) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter(random.some(rows, of)))
}

fn decimal(random: &mut Random, rows: usize, precision: u8, scale: i8, of: impl Fn(u64) -> i128) -> ArrayRef {
    let values = Decimal128Array::from_iter(random.some(rows, of));
    Arc::new(values.with_precision_and_scale(precision, scale).expect("a decimal type"))
}

const KINDS: usize = 37;

fn array(random: &mut Random, kind: usize, rows: usize) -> ArrayRef {
    let texts = |random: &mut Random| random.texts(rows);
    match kind {
        0 => Arc::new(BooleanArray::from_iter(random.some(rows, |w| w & 1 != 0))),
        1 => primitive::<Int8Type>(random, rows, |w| w as i8),
        2 => primitive::<Int16Type>(random, rows, |w| w as i16),
        3 => primitive::<Int32Type>(random, rows, |w| w as i32),
        4 => primitive::<Int64Type>(random, rows, |w| w as i64),
        5 => primitive::<UInt8Type>(random, rows, |w| w as u8),
        6 => primitive::<UInt16Type>(random, rows, |w| w as u16),
        7 => primitive::<UInt32Type>(random, rows, |w| w as u32),
        8 => primitive::<UInt64Type>(random, rows, |w| w >> 1),
        9 => primitive::<Float32Type>(random, rows, |w| w as i32 as f32 / 3.0),
        10 => primitive::<Float64Type>(random, rows, |w| w as i64 as f64 / 3.0),
        11 => primitive::<Date32Type>(random, rows, |w| w as i32),
        12 => primitive::<Date64Type>(random, rows, |w| i64::from(w as i32) * 86_400_000),
        13 => primitive::<Time32SecondType>(random, rows, |w| (w % 86_400) as i32),
        14 => primitive::<Time32MillisecondType>(random, rows, |w| (w % 86_400_000) as i32),
        15 => primitive::<Time64MicrosecondType>(random, rows, |w| (w % 86_400_000_000) as i64),
        16 => primitive::<Time64NanosecondType>(random, rows, |w| (w % 86_400_000_000_000) as i64),
        17 => primitive::<TimestampSecondType>(random, rows, |w| w as i32 as i64),
        18 => primitive::<TimestampMillisecondType>(random, rows, |w| w as i64 >> 12),
        19 => primitive::<TimestampMicrosecondType>(random, rows, |w| w as i64),
        20 => primitive::<TimestampNanosecondType>(random, rows, |w| w as i64 / 1000 * 1000),
        21 => primitive::<DurationSecondType>(random, rows, |w| w as i32 as i64),
        22 => primitive::<DurationMillisecondType>(random, rows, |w| w as i64 >> 12),
        23 => primitive::<DurationMicrosecondType>(random, rows, |w| w as i64),
        24 => primitive::<DurationNanosecondType>(random, rows, |w| w as i64 / 1000 * 1000),
        25 => primitive::<IntervalYearMonthType>(random, rows, |w| w as i32),
        26 => primitive::<IntervalMonthDayNanoType>(random, rows, |w| {
            IntervalMonthDayNanoType::make_value(w as i32, (w >> 32) as i32, w as i64 / 1000 * 1000)
        }),
        27 => decimal(random, rows, 18, 2, |w| i128::from(w as i64 % 1_000_000_000_000_000_000)),
        28 => decimal(random, rows, 38, 10, |w| i128::from(w as i64) * i128::from(w >> 7)),
        29 => Arc::new(StringArray::from_iter(texts(random))),
        30 => Arc::new(LargeStringArray::from_iter(texts(random))),
        31 => {
            let mut views = StringViewBuilder::new().with_fixed_block_size(64);
            texts(random).iter().for_each(|text| views.append_option(text.as_ref()));
            Arc::new(views.finish())
        }
        32 => Arc::new(BinaryArray::from_iter(random.bytes(rows))),
        33 => Arc::new(LargeBinaryArray::from_iter(random.bytes(rows))),
        34 => {
            let mut views = BinaryViewBuilder::new();
            random.bytes(rows).iter().for_each(|bytes| views.append_option(bytes.as_ref()));
            Arc::new(views.finish())
        }
        35 => {
            let values = random.some(rows, |w| w.to_le_bytes());
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), 8).expect("8 bytes each"))
        }
        _ => Arc::new(NullArray::new(rows)),
    }
}

/// An array, perhaps the middle of a longer one.
fn sliced(random: &mut Random, kind: usize, rows: usize) -> ArrayRef {
    if random.below(2) == 0 {
        return array(random, kind, rows);
    }
    let before = random.below(20);
    let longer = before + rows + random.below(5);
    array(random, kind, longer).slice(before, rows)
}

/// A dictionary of an array of this kind, and the same values without one.
fn dictionary(random: &mut Random, kind: usize, rows: usize) -> (ArrayRef, ArrayRef) {
    let count = 1 + random.below(30);
    let values = sliced(random, kind, count);
    let keys = Int32Array::from_iter(random.some(rows, |w| (w % count as u64) as i32));
    let decoded = arrow_select::take::take(&values, &keys, None).expect("values");
    (Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("keys in range")), decoded)
}

fn batch_of(columns: &[ArrayRef]) -> StructArray {
    let fields = columns.iter().enumerate();
    let fields: Vec<Field> = fields.map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true)).collect();
    StructArray::new(fields.into(), columns.to_vec(), None)
}

fn schema_of(batch: &StructArray) -> Schema {
    let schema = FFI_ArrowSchema::try_from(batch.data_type()).expect("a schema");
    // SAFETY: arrow-rs's struct is the interface's.
    unsafe { Schema::read((&raw const schema).cast::<ArrowSchema>()).expect("a schema") }
}

fn import(batch: &StructArray) -> Batch {
    let (mut array, _) = to_ffi(&batch.to_data()).expect("an array");
    // SAFETY: arrow-rs's struct is the interface's; the one here is left released, so its destructor does nothing.
    unsafe {
        let array = OwnedArray::take((&raw mut array).cast::<ArrowArray>()).expect("an array");
        Batch::import(array, &schema_of(batch)).expect("a good batch")
    }
}

fn encode(batch: &Batch) -> Vec<u8> {
    let mut block = Vec::new();
    let done = ColumnEncoder::new(OPTIONS).encode_all(&[batch], |frame| {
        block.extend_from_slice(frame);
        Ok::<(), ColumnError>(())
    });
    done.expect("frames");
    block
}

/// Decodes a block and gives it to arrow-rs, which validates it.
fn decode(block: &[u8], like: &StructArray) -> StructArray {
    let (array, _) = ColumnDecoder::new().decode(&schema_of(like), block, usize::MAX).expect("own frames");
    let schema = FFI_ArrowSchema::try_from(like.data_type()).expect("a schema");
    // SAFETY: the interface's struct is arrow-rs's, which releases it.
    let data = unsafe {
        from_ffi(std::mem::transmute::<ArrowArray, FFI_ArrowArray>(array.into_raw()), &schema).expect("an array")
    };
    data.validate_full().expect("a valid array");
    StructArray::from(data)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn arrow_rs_gets_back_what_it_gave(seed: u64, columns in 1usize..8, rows in 0usize..300) {
        let mut random = Random(seed);
        let (mut given, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..columns {
            let kind = random.below(KINDS);
            if random.below(4) == 0 && kind < KINDS - 1 {
                let (encoded, decoded) = dictionary(&mut random, kind, rows);
                given.push(encoded);
                expected.push(decoded);
            } else {
                let array = sliced(&mut random, kind, rows);
                given.push(Arc::clone(&array));
                expected.push(array);
            }
        }
        let (given, expected) = (batch_of(&given), batch_of(&expected));
        let sliced = random.below(rows + 1);
        let (given, expected) = (given.slice(sliced, rows - sliced), expected.slice(sliced, rows - sliced));
        let decoded = decode(&encode(&import(&given)), &expected);
        prop_assert_eq!(decoded.columns().len(), columns);
        for (decoded, expected) in decoded.columns().iter().zip(expected.columns()) {
            let ty = expected.data_type();
            prop_assert!(decoded.to_data() == expected.to_data(), "{ty:?}: {decoded:?}, not {expected:?}");
        }
    }
}

#[test]
fn every_kind_is_of_another_type_and_comes_back() {
    let mut types = Vec::new();
    for kind in 0..KINDS {
        let mut random = Random(kind as u64);
        let column = sliced(&mut random, kind, 100);
        let batch = batch_of(&[Arc::clone(&column)]);
        let decoded = decode(&encode(&import(&batch)), &batch);
        assert!(decoded.column(0).to_data() == column.to_data(), "{:?}", column.data_type());
        assert!(!types.contains(column.data_type()), "{:?} twice", column.data_type());
        types.push(column.data_type().clone());
    }
    assert!(types.contains(&DataType::Interval(IntervalUnit::MonthDayNano)));
    assert!(types.contains(&DataType::Timestamp(TimeUnit::Nanosecond, None)));
}

/// What Arrow says, but for views: it counts the buffers of all values, whether a slice has them or not.
fn value_bytes(array: &ArrayRef) -> usize {
    let long = |len: usize| if len > 12 { len } else { 0 };
    let bytes: usize = match array.data_type() {
        DataType::Utf8View => array.as_string_view().iter().flatten().map(|text| long(text.len())).sum(),
        DataType::BinaryView => array.as_binary_view().iter().flatten().map(|bytes| long(bytes.len())).sum(),
        _ => return array.to_data().get_slice_memory_size().expect("a size"),
    };
    let bits = if array.nulls().is_some() { array.len().div_ceil(8) } else { 0 };
    16 * array.len() + bytes + bits
}

#[test]
fn values_have_the_bytes_that_arrow_rs_counts() {
    for kind in 0..KINDS {
        let mut random = Random(kind as u64);
        let column = array(&mut random, kind, 131).slice(17, 100);
        let without_nulls = {
            let places: Vec<u64> = (0..100).filter(|row| column.is_valid(*row as usize)).collect();
            arrow_select::take::take(&column, &UInt64Array::from(places), None).expect("values")
        };
        let (indices, decoded) = dictionary(&mut random, kind.min(KINDS - 2), 100);
        for (given, expected) in [(&column, &column), (&without_nulls, &without_nulls), (&indices, &decoded)] {
            let bytes = import(&batch_of(&[Arc::clone(given)])).value_bytes();
            assert_eq!(bytes, value_bytes(expected) as u64, "{:?}", given.data_type());
        }
    }
}

#[test]
fn nested_types_are_left_to_rows() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None]);
    let batch = batch_of(&[Arc::new(lists)]);
    let schema = FFI_ArrowSchema::try_from(batch.data_type()).expect("a schema");
    // SAFETY: arrow-rs's struct is the interface's.
    let error = unsafe { Schema::read((&raw const schema).cast::<ArrowSchema>()).expect_err("nested") };
    assert_eq!(error.kind, sluice_columns::ErrorKind::Unsupported);
    assert!(error.to_string().contains("column 0: nested type, format '+l'"), "{error}");
}

#[test]
fn a_stream_of_arrow_rs_is_read_to_its_end() {
    let mut random = Random(9);
    let columns: Vec<ArrayRef> = [4, 29, 28].map(|kind| array(&mut random, kind, 50)).to_vec();
    let batch = RecordBatch::from(batch_of(&columns));
    let schema: Arc<ArrowRsSchema> = batch.schema();
    let reader = RecordBatchIterator::new(vec![Ok(batch.clone()), Ok(batch.slice(10, 7))], schema);
    let mut stream = FFI_ArrowArrayStream::new(Box::new(reader));
    // SAFETY: arrow-rs's struct is the interface's; the one here is left released.
    let mut stream = unsafe {
        let stream = OwnedStream::take((&raw mut stream).cast::<ArrowArrayStream>()).expect("a stream");
        BatchStream::open(stream).expect("a schema")
    };
    for expected in [batch.clone(), batch.slice(10, 7)] {
        let next = stream.next_batch().expect("no error").expect("a batch");
        let expected = StructArray::from(expected);
        assert!(decode(&encode(&next), &expected).to_data() == expected.to_data());
    }
    assert!(stream.next_batch().expect("no error").is_none());
}
