//! Memory that is not there, or that bytes only claim to need: an error, and nothing large is kept.

mod support;

use sluice_codec::{FrameHeader, RETAINED_LIMIT};
use sluice_columns::partition::{self, RowsByPartition};
use sluice_columns::{Batch, ColumnDecoder, ErrorKind, OwnedArray, Schema};
use sluice_testkit::memory::{RefusingAllocator, permitting};
use sluice_testkit::{Value, unsafe_row};
use support::producer::{ArraySpec, Releases, SchemaSpec, batch_of};
use support::{options, row_frames};

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
        assert_eq!(partition::all_rows(&[&batch]).err().map(kind), no_memory);
        assert_eq!(RowsByPartition::of(&[], i32::MAX as u32).err().map(kind), no_memory);
    });
    let ids = vec![0; ROWS];
    permitting(MOST, || assert_eq!(RowsByPartition::of(&[&ids], 1).err().map(kind), no_memory));
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
