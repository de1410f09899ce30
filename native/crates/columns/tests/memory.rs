//! Memory that is not there, or that bytes only claim to need: an error, and nothing large is kept.

mod support;

use sluice_codec::{FrameHeader, RETAINED_LIMIT};
use sluice_columns::partition;
use sluice_columns::{Batch, ColumnDecoder, ColumnEncoder, ColumnError, ErrorKind, OwnedArray, Schema};
use sluice_testkit::memory::{RefusingAllocator, permitting};
use sluice_testkit::{Value, unsafe_row};
use support::producer::{ArraySpec, Releases, SchemaSpec, batch_of};
use support::{options, partition_frames, row_frames};

#[global_allocator]
static ALLOCATOR: RefusingAllocator = RefusingAllocator;

const MOST: usize = 1 << 20;
/// Of which eight bytes each are more than `MOST`, and one byte each is not.
const ROWS: usize = 1 << 18;

fn schema(columns: Vec<SchemaSpec>) -> Schema {
    SchemaSpec::batch(columns).read().expect("a schema")
}

/// Imports a batch of one column, with `MOST` bytes for each allocation.
fn imported(column: ArraySpec, of: SchemaSpec) -> Result<Batch, ErrorKind> {
    let schema = schema(vec![of]);
    let mut array = batch_of(column.length, vec![column]).build(&Releases::default());
    // SAFETY: made by `build`.
    let batch = permitting(MOST, || unsafe { Batch::import(OwnedArray::take(&mut array)?, &schema) });
    batch.map_err(|e| e.kind)
}

#[test]
fn frames_that_claim_more_than_they_have_are_corrupt() {
    let frame = |encoding: u8, records: u32, fields: u32, decoded_bytes: u32| {
        let none = FrameHeader { path: 1, encoding, records, fields, decoded_bytes, encoded_bytes: 0, payload_crc: 0 };
        none.to_bytes()
    };
    let nothing = |fields: usize| schema(vec![SchemaSpec::of("n"); fields]);
    for (frame, schema) in [(frame(0, 1, 1, u32::MAX), nothing(1)), (frame(1, 1 << 16, 600, 256 << 20), nothing(600))] {
        let mut decoder = ColumnDecoder::new();
        let error = permitting(MOST, || decoder.decode(&schema, &frame, 1)).expect_err("it must be refused");
        assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
    }
}

#[test]
fn large_frames_leave_no_large_buffers() {
    let row = unsafe_row(&[Value::Bytes(vec![b'x'; 4 * RETAINED_LIMIT])]);
    let schema = schema(vec![SchemaSpec::of("u")]);
    for options in [options()[0], options()[3]] {
        let block = row_frames(std::slice::from_ref(&row), 1, options).concat();
        let mut decoder = ColumnDecoder::new();
        decoder.decode(&schema, &block, 1).expect("own frames");
        assert!(decoder.retained_bytes() <= 2 * RETAINED_LIMIT, "{options:?}: {} bytes", decoder.retained_bytes());
        // Nor where decoding fails at last.
        let fails = [&block[..], &block[..40]].concat();
        decoder.decode(&schema, &fails, usize::MAX).expect_err("half a frame");
        assert!(decoder.retained_bytes() <= 2 * RETAINED_LIMIT, "{options:?}: {} bytes", decoder.retained_bytes());
    }
}

#[test]
fn what_a_decoder_needs_is_known_before() {
    let large = unsafe_row(&[Value::Bytes(vec![b'x'; 4 * RETAINED_LIMIT])]);
    let small = unsafe_row(&[Value::Bytes(vec![b'x'; 40])]);
    assert_eq!(ColumnDecoder::scratch_bound(&[]), 2 * RETAINED_LIMIT);
    for options in [options()[0], options()[3]] {
        let frames = |row: &Vec<u8>| row_frames(std::slice::from_ref(row), 1, options).concat();
        let block = [frames(&small), frames(&large), frames(&small)].concat();
        let bound = ColumnDecoder::scratch_bound(&block);
        // The slots as columns, or the rows and their words.
        assert!(bound > 2 * RETAINED_LIMIT + 2 * large.len(), "{bound} bytes");
        // The frame alone, and what is no frame behind it.
        assert_eq!(ColumnDecoder::scratch_bound(&[&frames(&large)[..], &[7; 100]].concat()), bound);
        assert_eq!(ColumnDecoder::scratch_bound(&block[..block.len() - 1]), bound);
        permitting(bound, || ColumnDecoder::new().decode(&schema(vec![SchemaSpec::of("u")]), &block, usize::MAX))
            .expect("own frames");
    }
}

/// A column of this many longs.
fn longs(rows: usize) -> ArraySpec {
    ArraySpec { length: rows as i64, buffers: vec![None, Some(vec![7; rows * 8])], ..ArraySpec::default() }
}

/// A column of one value of so many bytes.
fn long_value(bytes: usize) -> ArraySpec {
    let offsets = [0, bytes as i32].map(i32::to_le_bytes).concat();
    ArraySpec { length: 1, buffers: vec![None, Some(offsets), Some(vec![b'x'; bytes])], ..ArraySpec::default() }
}

fn batch(column: ArraySpec, format: &str) -> Batch {
    let mut array = batch_of(column.length, vec![column]).build(&Releases::default());
    // SAFETY: made by `build`.
    unsafe { Batch::import(OwnedArray::take(&mut array).expect("an array"), &schema(vec![SchemaSpec::of(format)])) }
        .expect("a good batch")
}

/// Many rows without slots, then one row whose slots are as many bytes: what is kept for the one is freed for the
/// other.
#[test]
fn sorted_rows_leave_no_more_memory_than_is_said() {
    const MOST: usize = 2 * RETAINED_LIMIT;
    const PARTITIONS: u32 = 100;
    let rows = MOST / 16;
    let (many, large) = (batch(longs(rows), "l"), batch(long_value(MOST - 64), "z"));
    let mut encoder = ColumnEncoder::new(options()[1]).with_most_partitioned(MOST);
    for (batch, rows) in [(&many, rows), (&large, 1), (&many, rows)] {
        partition_frames(&mut encoder, &[batch], &[&vec![1; rows]], PARTITIONS).expect("frames");
        let retained = encoder.retained_bytes();
        assert!(retained >= MOST - 64, "the rows were not copied: {retained} bytes");
        assert!(retained <= MOST + PARTITIONS as usize * 8 + RETAINED_LIMIT, "{retained} bytes");
    }
}

/// Memory that is refused at any of the places where rows are sorted by partition: an error, and the encoder makes the
/// frames of an encoder that has memory afterwards.
#[test]
fn rows_by_partition_can_be_too_many() {
    let (many, large) = (batch(longs(ROWS), "l"), batch(long_value(2 * MOST), "z"));
    let (ids, id) = (vec![1; ROWS], vec![1]);
    let numbers = i32::MAX as u32;
    for (what, batch, ids, partitions, most) in [
        ("sizes of partitions", &many, &ids, numbers, 64 << 20),
        ("words", &many, &ids, 4, 64 << 20),
        ("slots", &large, &id, 4, 64 << 20),
        ("numbers of a partition's rows", &many, &ids, 4, 0),
    ] {
        let mut encoder = ColumnEncoder::new(options()[3]).with_most_partitioned(most);
        let mut frames = 0;
        let refused = permitting(MOST, || {
            encoder.encode_partitions(&[batch], &[ids], partitions, |_, _| {
                frames += 1;
                Ok::<(), ColumnError>(())
            })
        });
        assert_eq!((refused.map_err(|e| e.kind), frames), (Err(ErrorKind::NoMemory), 0), "{what}");
        let again = partition_frames(&mut encoder, &[batch], &[ids], 4).expect("frames");
        let expected = partition_frames(&mut ColumnEncoder::new(options()[3]), &[batch], &[ids], 4).expect("frames");
        assert!(again == expected, "{what}");
        assert!(!again[1].is_empty(), "{what}");
    }
}

#[test]
fn rows_of_nothing_can_be_too_many() {
    let none = ArraySpec { length: 4_000_000_000, ..ArraySpec::default() };
    let batch = imported(none, SchemaSpec::of("n")).expect("a batch of nulls");
    let bounds = imported(ArraySpec { length: 1, ..ArraySpec::default() }, SchemaSpec::of("n")).expect("one null");
    let key = sluice_columns::SortKey { column: 0, descending: false, nulls_first: true };
    let kind = |error: sluice_columns::ColumnError| error.kind;
    let no_memory = Some(ErrorKind::NoMemory);
    permitting(MOST, || {
        assert_eq!(partition::hash(&batch, &[0], 4).err().map(kind), no_memory);
        assert_eq!(partition::range(&batch, &[key], &bounds).err().map(kind), no_memory);
        assert_eq!(partition::round_robin(batch.rows(), 0, 4).err().map(kind), no_memory);
        assert_eq!(partition::single(batch.rows()).err().map(kind), no_memory);
    });
}

#[test]
fn values_in_another_form_can_be_too_many() {
    let of = |width: usize| {
        let buffers = vec![None, Some(vec![0; ROWS * width])];
        ArraySpec { length: ROWS as i64, buffers, ..ArraySpec::default() }
    };
    for (format, width) in [("tsn:", 8), ("d:18,2", 16), ("tdm", 8), ("tts", 4), ("tin", 16)] {
        assert_eq!(imported(of(width), SchemaSpec::of(format)).err(), Some(ErrorKind::NoMemory), "{format}");
    }
    let dictionary = ArraySpec { dictionary: Some(Box::new(ArraySpec { length: 1, ..of(8) })), ..of(1) };
    assert_eq!(imported(dictionary, SchemaSpec::dictionary("c", "l")).err(), Some(ErrorKind::NoMemory));
}
