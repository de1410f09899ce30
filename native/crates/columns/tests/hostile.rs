//! Arrays that contradict themselves, their schema or each other: an error that says what and where, and every array is
//! released exactly once, when its batch is dropped or could not be made.

mod support;

use sluice_columns::ffi::{ArrowArray, ArrowSchema};
use sluice_columns::{Batch, BatchStream, ColumnError, ErrorKind, OwnedArray, OwnedStream, RowId, Schema};
use support::producer::{ArraySpec, Releases, SchemaSpec, StreamSpec, batch_of, import};
use support::random::{self, Random};
use support::{all_rows, column_frames, options};

fn longs(values: &[i64]) -> ArraySpec {
    let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    ArraySpec { length: values.len() as i64, buffers: vec![None, Some(data)], ..ArraySpec::default() }
}

fn texts(offsets: &[i32], bytes: usize) -> ArraySpec {
    let data = offsets.iter().flat_map(|o| o.to_le_bytes()).collect();
    let length = offsets.len() as i64 - 1;
    ArraySpec { length, buffers: vec![None, Some(data), Some(vec![b'x'; bytes])], ..ArraySpec::default() }
}

/// Views of these lengths, buffers and positions; one buffer of 100 bytes.
fn views(views: &[(i32, i32, i32)]) -> ArraySpec {
    let view = |(len, buffer, at): &(i32, i32, i32)| {
        [len.to_le_bytes(), *b"xxxx", buffer.to_le_bytes(), at.to_le_bytes()].concat()
    };
    let data = views.iter().flat_map(view).collect();
    let buffers = vec![None, Some(data), Some(vec![b'x'; 100]), Some(100i64.to_le_bytes().to_vec())];
    ArraySpec { length: views.len() as i64, buffers, ..ArraySpec::default() }
}

fn dictionary(indices: &[i64], values: ArraySpec) -> ArraySpec {
    ArraySpec { dictionary: Some(Box::new(values)), ..longs(indices) }
}

/// Imports a batch of one column, which must fail; its array must have been released once.
fn refused(format: &str, rows: i64, column: ArraySpec) -> (ErrorKind, String) {
    refused_batch(&batch_of(rows, vec![column]), &SchemaSpec::batch(vec![SchemaSpec::of(format)]))
}

fn refused_batch(batch: &ArraySpec, schema: &SchemaSpec) -> (ErrorKind, String) {
    let (imported, releases) = import(batch, schema);
    let error = imported.expect_err("it must be refused");
    assert_eq!(releases.count(), 1, "{error}");
    (error.kind, error.to_string())
}

#[track_caller]
fn assert_invalid(refused: (ErrorKind, String), what: &str) {
    assert_eq!(refused.0, ErrorKind::Invalid, "{}", refused.1);
    assert!(refused.1.contains(what), "'{}' should contain '{what}'", refused.1);
}

#[test]
fn lengths_that_are_negative_overflow_or_do_not_fit() {
    let three = longs(&[1, 2, 3]);
    assert_invalid(refused("l", 4, three.clone()), "column 0 ('a 'l''): 3 values, the batch needs 4");
    assert_invalid(refused("l", -1, three.clone()), "length is -1");
    assert_invalid(refused("l", 3, ArraySpec { length: -3, ..three.clone() }), "length is -3");
    assert_invalid(refused("l", 3, ArraySpec { offset: -8, ..three.clone() }), "offset is -8");
    assert_invalid(refused("l", 3, ArraySpec { offset: i64::MAX, ..three.clone() }), "offset is 9223372036854775807");
    assert_invalid(refused("l", 3, ArraySpec { length: i64::MAX, ..three.clone() }), "length is 9223372036854775807");
    let offset = ArraySpec { offset: 1, ..batch_of(3, vec![three.clone()]) };
    let schema = SchemaSpec::batch(vec![SchemaSpec::of("l")]);
    assert_invalid(refused_batch(&offset, &schema), "3 values, the batch needs 4");
    let (kind, what) = refused("l", 1 << 33, three);
    assert_eq!(kind, ErrorKind::Unsupported, "{what}");
}

#[test]
fn counts_of_buffers_children_and_nulls_that_are_wrong() {
    let good = longs(&[1, 2, 3]);
    let with = |buffers: Vec<Option<Vec<u8>>>| ArraySpec { buffers, ..good.clone() };
    assert_invalid(refused("l", 3, with(vec![None])), "1 buffers, a Int64 has 2");
    assert_invalid(refused("l", 3, with(vec![None; 3])), "3 buffers, a Int64 has 2");
    assert_invalid(refused("l", 3, with(vec![None, None])), "buffer 1 is null, 24 bytes are needed");
    assert_invalid(refused("u", 3, good.clone()), "2 buffers");
    assert_invalid(refused("n", 3, good.clone()), "2 buffers");
    assert_invalid(refused("vu", 3, with(vec![None; 2])), "2 buffers");
    assert_invalid(refused("l", 3, ArraySpec { n_buffers: Some(-2), ..good.clone() }), "-2 buffers");
    assert_invalid(refused("l", 3, ArraySpec { null_count: 1, ..good.clone() }), "1 nulls, but no mask");
    assert_invalid(refused("l", 3, ArraySpec { null_count: 4, ..good.clone() }), "4 nulls among 3 values");
    assert_invalid(refused("l", 3, ArraySpec { null_count: -2, ..good.clone() }), "-2 nulls");
    let masked = ArraySpec { null_count: 2, buffers: vec![Some(vec![0b101]), good.buffers[1].clone()], ..good.clone() };
    assert_invalid(refused("l", 3, masked), "2 nulls, but the mask has 1");
    assert_invalid(refused("l", 3, ArraySpec { children: vec![good.clone()], ..good.clone() }), "1 children");
    // Where nothing is said of nulls, only the batch's values are looked at, whatever else the array claims to have.
    let long = ArraySpec { length: 1 << 40, null_count: -1, ..good.clone() };
    let long = import_one("l", 3, ArraySpec { buffers: vec![Some(vec![0b101]), good.buffers[1].clone()], ..long });
    assert!(long.is_ok());
    let batch = |columns: Vec<ArraySpec>| batch_of(3, columns);
    let schema = SchemaSpec::batch(vec![SchemaSpec::of("l"); 2]);
    assert_invalid(refused_batch(&batch(vec![good.clone()]), &schema), "1 columns, the schema has 2");
    let huge = ArraySpec { n_children: Some(i64::MAX), ..batch(vec![good.clone()]) };
    assert_invalid(refused_batch(&huge, &schema), "columns, the schema has 2");
    let negative = ArraySpec { n_children: Some(-1), ..batch(vec![good.clone()]) };
    assert_invalid(refused_batch(&negative, &schema), "-1 columns");
    let null_rows = ArraySpec { null_count: 1, buffers: vec![Some(vec![0b110])], ..batch(vec![good.clone(); 2]) };
    assert_eq!(refused_batch(&null_rows, &schema).0, ErrorKind::Unsupported);
    let mask_too_much = ArraySpec { buffers: vec![None; 2], ..batch(vec![good; 2]) };
    assert_invalid(refused_batch(&mask_too_much, &schema), "a struct with 2 buffers");
}

#[test]
fn offsets_and_views_that_point_outside() {
    assert_invalid(refused("u", 3, texts(&[0, 5, 3, 9], 9)), "row 1: offsets go back, from 5 to 3");
    assert_invalid(refused("z", 1, texts(&[-1, 4], 4)), "the first offset is -1");
    assert_invalid(refused("u", 2, texts(&[0, 4, i32::MIN], 4)), "row 1: offsets go back");
    let no_bytes = ArraySpec { buffers: vec![None, texts(&[0, 4], 0).buffers[1].clone(), None], ..texts(&[0, 4], 0) };
    assert_invalid(refused("u", 1, no_bytes), "buffer 2 is null, 4 bytes");
    let no_offsets = ArraySpec { buffers: vec![None, None, None], ..texts(&[0, 4], 0) };
    assert_invalid(refused("u", 1, no_offsets), "buffer 1 is null, 8 bytes");
    let large: Vec<u8> = [0i64, i64::MAX].iter().flat_map(|o| o.to_le_bytes()).collect();
    let large = ArraySpec { length: 1, buffers: vec![None, Some(large), Some(vec![0; 8])], ..ArraySpec::default() };
    assert_eq!(refused("U", 1, large).0, ErrorKind::Unsupported);

    assert!(import_one("vu", 3, views(&[(12, -7, -7), (0, 9, 9), (100, 0, 0)])).is_ok());
    assert_invalid(refused("vu", 1, views(&[(-1, 0, 0)])), "row 0: a view of -1 bytes");
    assert_invalid(refused("vz", 2, views(&[(1, 0, 0), (13, 1, 0)])), "row 1: a view of 13 bytes at 0 of buffer 1");
    assert_invalid(refused("vu", 1, views(&[(13, -1, 0)])), "a view of 13 bytes");
    assert_invalid(refused("vu", 1, views(&[(13, 0, -1)])), "a view of 13 bytes");
    assert_invalid(refused("vu", 1, views(&[(13, 0, 88)])), "a view of 13 bytes at 88 of buffer 0");
    let mut lengths = views(&[(13, 0, 0)]);
    lengths.buffers[3] = Some((-5i64).to_le_bytes().to_vec());
    assert_invalid(refused("vu", 1, lengths.clone()), "length is -5");
    lengths.buffers[3] = None;
    assert_invalid(refused("vu", 1, lengths), "buffer 3 is null");
    let mut bytes = views(&[(13, 0, 0)]);
    bytes.buffers[2] = None;
    assert_invalid(refused("vu", 1, bytes), "buffer 2 is null, 100 bytes");
}

fn import_one(format: &str, rows: i64, column: ArraySpec) -> Result<Batch, ColumnError> {
    import(&batch_of(rows, vec![column]), &SchemaSpec::batch(vec![SchemaSpec::of(format)])).0
}

#[test]
fn dictionaries_that_do_not_fit() {
    let refused = |schema: SchemaSpec, column: ArraySpec| {
        let rows = column.length;
        refused_batch(&batch_of(rows, vec![column]), &SchemaSpec::batch(vec![schema]))
    };
    let words = SchemaSpec::dictionary("l", "u");
    let values = texts(&[0, 1, 2], 2);
    assert_invalid(
        refused(words.clone(), dictionary(&[0, 2], values.clone())),
        "row 1: index 2, the dictionary has 2 values",
    );
    assert_invalid(refused(words.clone(), dictionary(&[-1], values.clone())), "row 0: index -1");
    assert_invalid(refused(words.clone(), dictionary(&[0], texts(&[0], 0))), "index 0, the dictionary has 0 values");
    assert_invalid(refused(words.clone(), dictionary(&[0], texts(&[3, 1], 3))), "dictionary: row 0: offsets go back");
    assert_invalid(refused(words.clone(), longs(&[0])), "the schema has a dictionary, the array has none");
    assert_invalid(
        refused(SchemaSpec::of("l"), dictionary(&[0], values)),
        "the array has a dictionary, its schema has none",
    );
    assert_invalid(
        refused(SchemaSpec::dictionary("l", "l"), dictionary(&[0], dictionary(&[0], longs(&[7])))),
        "the dictionary's array has a dictionary, its schema has none",
    );
    let negative = ArraySpec { length: -1, ..texts(&[0, 1], 1) };
    assert_invalid(refused(words, dictionary(&[0], negative)), "length of the dictionary is -1");
}

#[test]
fn values_that_rows_do_not_have() {
    let value = |refused: (ErrorKind, String), message: &str| {
        assert!(refused.0 == ErrorKind::Value && refused.1.contains(message), "{refused:?}");
    };
    let wide =
        |v: i128| ArraySpec { length: 1, buffers: vec![None, Some(v.to_le_bytes().to_vec())], ..ArraySpec::default() };
    value(refused("d:18,2", 1, wide(i128::from(i64::MAX) + 1)), "row 0: the decimal has more than 18 digits");
    value(refused("L", 2, longs(&[1, -1])), "row 1: the number does not fit Spark's long");
    value(refused("tsn:", 2, longs(&[1000, 1001])), "row 1: the time is no whole number");
    value(refused("tss:UTC", 1, longs(&[i64::MAX])), "row 0: the time is no whole number");
    value(refused("tdm", 1, longs(&[1])), "row 0: the date is no whole number of days");
    value(refused("tdm", 1, longs(&[86_400_000 * (1 << 31)])), "row 0: the date is no whole number of days");
    // Of an index it is an index outside.
    let index = refused_batch(
        &batch_of(1, vec![dictionary(&[-1], texts(&[0, 1], 1))]),
        &SchemaSpec::batch(vec![SchemaSpec::dictionary("L", "u")]),
    );
    assert_invalid(index, "row 0: the number does not fit");
    value(refused("tin", 1, wide(1i128 << 64)), "1 ns are no whole number of microseconds");
}

#[test]
fn what_was_released_before_is_noticed() {
    let column = longs(&[1]);
    let schema = SchemaSpec::batch(vec![SchemaSpec::of("l")]);
    let (batch, releases) = import(&ArraySpec { released: true, ..batch_of(1, vec![column.clone()]) }, &schema);
    assert!(batch.expect_err("released").to_string().contains("released already"));
    assert_eq!(releases.count(), 1, "by its producer");
    let moved_out = ArraySpec { released: true, ..column };
    assert_invalid(
        refused_batch(&batch_of(1, vec![moved_out]), &schema),
        "column 0 ('a 'l''): the array has been released",
    );
    // SAFETY: null is allowed.
    let null = unsafe { OwnedArray::take(std::ptr::null_mut::<ArrowArray>()) };
    assert!(null.is_err());
    // SAFETY: null is allowed.
    let null = unsafe { Schema::read(std::ptr::null::<ArrowSchema>()) };
    assert!(null.is_err());
}

#[test]
fn a_producer_that_does_not_say_that_it_released_is_called_once_all_the_same() {
    let batch = ArraySpec { keeps_release: true, ..batch_of(1, vec![longs(&[1])]) };
    let (imported, releases) = import(&batch, &SchemaSpec::batch(vec![SchemaSpec::of("l")]));
    assert_eq!(releases.count(), 0);
    drop(imported);
    assert_eq!(releases.count(), 1);
    let (_, releases) = import(&batch, &SchemaSpec::batch(vec![SchemaSpec::of("u")]));
    assert_eq!(releases.count(), 1);
}

#[test]
fn batches_are_released_after_their_last_use() {
    let mut random = Random::new(11);
    let formats = random::every_format();
    let batch = random::batch(&mut random, &formats, 50);
    let (imported, releases) = import(&batch.array, &batch.schema);
    let imported = imported.expect("a good batch");
    column_frames(&[&imported], &all_rows(0, 50), options()[1]).expect("frames");
    assert_eq!(releases.count(), 0);
    drop(imported);
    assert_eq!(releases.count(), 1);
}

/// What a producer does, and what AddressSanitizer says of it; it says nothing of the first.
#[cfg(sluice_asan)]
const FAULTS: [(&str, Option<&str>); 5] = [
    ("frees after its release", None),
    ("frees early", Some("heap-use-after-free")),
    ("frees twice", Some("heap-use-after-free")),
    ("has a short mask", Some("heap-buffer-overflow")),
    ("has short data", Some("heap-buffer-overflow")),
];

/// Each in a process of its own, which the sanitizer ends where this crate does what the producer has made wrong.
#[cfg(sluice_asan)]
#[test]
fn a_producer_that_breaks_its_promises_is_found_by_the_sanitizer() {
    const NAME: &str = "a_producer_that_breaks_its_promises_is_found_by_the_sanitizer";
    const FAULT: &str = "SLUICE_TEST_FAULT";
    if let Ok(fault) = std::env::var(FAULT) {
        return encode_what_a_producer_has(&fault);
    }
    for (fault, found) in FAULTS {
        let program = std::env::current_exe().expect("this program");
        let run = std::process::Command::new(program).args(["--exact", NAME, "--nocapture"]).env(FAULT, fault).output();
        let run = run.expect("a process");
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.success(), found.is_none(), "{fault}: {said}");
        match found {
            Some(found) => {
                assert!(said.contains(found), "{fault}: {said}");
                assert!(said.contains("sluice_columns"), "{fault}: not by this crate: {said}");
            }
            None => assert!(!said.contains("AddressSanitizer"), "{fault}: {said}"),
        }
    }
}

#[cfg(sluice_asan)]
fn encode_what_a_producer_has(fault: &str) {
    const ROWS: i64 = 100;
    let values: Vec<i64> = (0..ROWS).collect();
    let column = match fault {
        "has a short mask" => {
            let mut column = longs(&values);
            column.buffers[0] = Some(vec![0xff]);
            ArraySpec { null_count: -1, ..column }
        }
        "has short data" => ArraySpec { length: ROWS, ..longs(&values[1..]) },
        _ => longs(&values),
    };
    let releases = support::producer::Releases::default();
    let mut array = batch_of(ROWS, vec![column]).build(&releases);
    let schema = SchemaSpec::batch(vec![SchemaSpec::of("l")]).read().expect("a schema");
    // SAFETY: the batch has one column.
    let column = unsafe { *array.children };
    // SAFETY: the test never uses both.
    let mut producers = unsafe { std::ptr::read(&array) };
    // SAFETY: `build` made it. What follows is the fault that the sanitizer is to find, here and below.
    let batch = unsafe { OwnedArray::take(&mut array).and_then(|array| Batch::import(array, &schema)) }.expect("good");
    match fault {
        // SAFETY: as above.
        "frees early" => unsafe { support::producer::free_buffers_early(column) },
        // SAFETY: as above.
        "frees twice" => unsafe { producers.release.expect("not released")(&mut producers) },
        _ => {}
    }
    if fault != "frees twice" {
        column_frames(&[&batch], &all_rows(0, ROWS as usize), options()[1]).expect("frames");
    }
    drop(batch);
    assert_eq!(releases.count(), 1);
}

#[test]
fn schemas_that_are_none() {
    let error = |schema: SchemaSpec| {
        let error = schema.read().expect_err("an error");
        (error.kind, error.to_string())
    };
    assert_invalid(error(SchemaSpec::of("l")), "a batch is a struct");
    assert_invalid(
        error(SchemaSpec::batch(vec![SchemaSpec::of("l"), SchemaSpec::of("?")])),
        "column 1: unknown format '?'",
    );
    assert_invalid(
        error(SchemaSpec::batch(vec![SchemaSpec::dictionary("g", "u")])),
        "dictionary indices of type Float64",
    );
    for nested in ["+l", "+vL", "+w:3", "+s", "+m", "+ud:0,1", "+r"] {
        let (kind, what) = error(SchemaSpec::batch(vec![SchemaSpec::of(nested)]));
        assert!(kind == ErrorKind::Unsupported && what.contains("column 0: nested type"), "{what}");
    }
    let released = SchemaSpec { released: true, ..SchemaSpec::of("l") };
    assert_invalid(
        error(SchemaSpec::batch(vec![released.clone()])),
        "schema of column 0: the schema has been released",
    );
    let of_released = SchemaSpec { dictionary: Some(Box::new(released)), ..SchemaSpec::of("i") };
    assert_invalid(error(SchemaSpec::batch(vec![of_released])), "column 0: dictionary: the schema has been released");
    let twice = SchemaSpec { dictionary: Some(Box::new(SchemaSpec::dictionary("i", "u"))), ..SchemaSpec::of("i") };
    assert_eq!(error(SchemaSpec::batch(vec![twice])).0, ErrorKind::Unsupported);
}

#[test]
fn batches_of_other_columns_do_not_go_into_one_call() {
    let one = import_one("l", 2, longs(&[1, 2])).expect("a good batch");
    let other = import_one("u", 1, texts(&[0, 1], 1)).expect("a good batch");
    let error = column_frames(&[&one, &other], &[], options()[1]).expect_err("other columns").to_string();
    assert!(error.contains("batch 1: the schema changed: column 0") && error.contains("Utf8"), "{error}");
    let none = import(&batch_of(3, vec![]), &SchemaSpec::batch(vec![])).0.expect("a good batch");
    let error = column_frames(&[&one, &none], &[], options()[1]).expect_err("other columns").to_string();
    assert!(error.contains("0 columns, 1 before"), "{error}");
    let error =
        column_frames(&[&one], &[RowId { batch: 0, row: 2 }], options()[1]).expect_err("no such row").to_string();
    assert!(error.contains("no row 2 of batch 0"), "{error}");
    assert!(column_frames(&[], &[RowId { batch: 0, row: 0 }], options()[1]).is_err());
}

/// A stream's batches, or its error; how often batches and the stream were released at the end.
fn read_stream(spec: StreamSpec) -> (Result<Vec<usize>, ColumnError>, usize, usize) {
    let (batches, releases) = (Releases::default(), Releases::default());
    let mut stream = spec.build(&batches, &releases);
    // SAFETY: made by `build`.
    let opened = unsafe { OwnedStream::take(&mut stream).and_then(|stream| BatchStream::open(stream)) };
    let read = opened.and_then(|mut stream| {
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch()? {
            rows.push(batch.rows());
        }
        Ok(rows)
    });
    (read, batches.count(), releases.count())
}

#[test]
fn streams_end_fail_or_change_and_are_released_once() {
    let good = batch_of(2, vec![longs(&[1, 2])]);
    let schema = SchemaSpec::batch(vec![SchemaSpec::of("l")]);
    let stream = |batches, error| StreamSpec { schema: schema.clone(), batches, error, schema_error: false };
    let (read, batches, streams) = read_stream(stream(vec![good.clone(), good.clone()], None));
    assert_eq!((read, batches, streams), (Ok(vec![2, 2]), 2, 1));

    let (read, batches, streams) = read_stream(stream(vec![good.clone()], Some("the disk is full")));
    let error = read.expect_err("an error");
    assert_eq!((error.kind, batches, streams), (ErrorKind::Producer, 1, 1));
    assert!(error.to_string().contains("error 22: the disk is full"), "{error}");

    // The schema changes in the middle: an array of texts where numbers are announced.
    let changed = batch_of(1, vec![texts(&[0, 1], 1)]);
    let (read, batches, streams) = read_stream(stream(vec![good.clone(), changed, good.clone()], None));
    let error = read.expect_err("an error").to_string();
    assert!(error.contains("batch 1 of the stream: column 0") && error.contains("3 buffers"), "{error}");
    assert_eq!((batches, streams), (2, 1));

    let broken = StreamSpec { schema_error: true, ..stream(vec![good.clone()], None) };
    let (read, batches, streams) = read_stream(broken);
    assert_eq!((read.expect_err("an error").kind, batches, streams), (ErrorKind::Producer, 0, 1));
    let nested = StreamSpec { schema: SchemaSpec::batch(vec![SchemaSpec::of("+l")]), ..stream(vec![good], None) };
    let (read, _, streams) = read_stream(nested);
    assert_eq!((read.expect_err("an error").kind, streams), (ErrorKind::Unsupported, 1));
}

/// Every number of a good batch replaced by a wrong one: an error or a batch, and one release; under a sanitizer, no
/// access outside.
#[test]
fn damaged_batches_are_refused_or_harmless() {
    let mut random = Random::new(5);
    let formats = random::every_format();
    let mut refused = 0;
    for round in 0..400 {
        let mut batch = random::batch(&mut random, &formats[round % formats.len()..][..1], 40);
        let column = &mut batch.array.children[0];
        let wrong = [-1, i64::MIN, i64::MAX, 1 << 40, 41][random.below(5)];
        match random.below(5) {
            0 => column.null_count = wrong,
            1 => column.n_buffers = Some([-1, 0, 1, i64::MIN][random.below(4)]),
            2 => column.length = [-1, 0, 39, i64::MIN][random.below(4)],
            3 => column.offset = [-1, i64::MIN, i64::MAX, i64::MAX - 10][random.below(4)],
            _ => {
                let n = column.buffers.len();
                if n > 0 {
                    column.buffers[random.below(n)] = None;
                }
            }
        }
        let (imported, releases) = import(&batch.array, &batch.schema);
        refused += usize::from(imported.is_err());
        if let Ok(batch) = imported {
            column_frames(&[&batch], &all_rows(0, batch.rows()), options()[1]).expect("frames");
        }
        assert_eq!(releases.count(), 1);
    }
    assert!(refused > 150, "only {refused} of 400");
}
