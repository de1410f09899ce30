//! Rows of batches that are copied to pages are those that the batches stand for; columns that come one by one are a
//! batch, and are released once whatever happens.

mod support;

use proptest::prelude::*;
use sluice_columns::ffi::{ArrowArray, ArrowSchema};
use sluice_columns::{Batch, ColumnError, ErrorKind, Formats, OwnedArray, OwnedSchema, PageFiller, PageRows};
use support::producer::{ArraySpec, Releases, SchemaSpec, import};
use support::random::{self, Random};

/// The rows of a page with their partitions, in order.
fn rows_of(page: &[u8], used: usize, entries: usize) -> Vec<(u32, Vec<u8>)> {
    let entry = |i: usize| {
        let at = page.len() - 8 * (i + 1);
        u64::from_le_bytes(page[at..at + 8].try_into().expect("8 bytes"))
    };
    let start = |i: usize| if i < entries { entry(i) as u32 as usize } else { used };
    (0..entries).map(|i| ((entry(i) >> 32) as u32, page[start(i)..start(i + 1)].to_vec())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pages_have_the_rows_and_their_partitions(
        seed: u64, columns in 0usize..12, rows in 0usize..300, room in 0usize..4,
    ) {
        let mut random = Random::new(seed);
        let formats = random::formats(&mut random, columns);
        let made = random::batch(&mut random, &formats, rows);
        let batch = import(&made.array, &made.schema).0.expect("a good batch");
        let ids: Vec<u32> = (0..rows).map(|_| random.below(7) as u32).collect();
        let longest = made.rows.iter().map(Vec::len).max().unwrap_or(0);
        let (mut filler, mut found, mut at) = (PageFiller::new(), Vec::new(), 0);
        while at < rows {
            // What was there before is not 0, as in a page that is used again.
            let mut memory = vec![0xA5; longest + 8 + random.below(1 + 4096 * room)];
            let mut page = PageRows::of(&mut memory, 0, 0).expect("a page");
            let copied = filler.fill(&batch, &ids, at, &mut page).expect("rows");
            prop_assert!(copied > 0);
            prop_assert_eq!(filler.row_bytes(&batch, at).expect("a row"), made.rows[at].len());
            let (used, entries) = (page.used(), page.entries());
            prop_assert_eq!(entries, copied);
            let full = at + copied == rows || used + made.rows[at + copied].len() + 8 * (entries + 1) > memory.len();
            prop_assert!(full, "there was room for another row");
            found.extend(rows_of(&memory, used, entries));
            at += copied;
        }
        let expected: Vec<_> = ids.iter().copied().zip(made.rows.clone()).collect();
        prop_assert!(found == expected, "{:?}", formats);
    }
}

#[test]
fn a_page_goes_on_behind_the_rows_that_it_has() {
    let (batch, _) = import(&ints(&[1, 2, 3]), &SchemaSpec::batch(vec![SchemaSpec::of("i")]));
    let batch = batch.expect("a good batch");
    let (mut memory, mut filler) = ([0xFF; 3 * 24 + 16], PageFiller::new());
    let (mut used, mut entries) = (0, 0);
    for first in 0..3 {
        let mut page = PageRows::of(&mut memory, used, entries).expect("a page");
        // The rows before it are in the page already.
        assert_eq!(filler.fill(&batch, &[4, 5, 6], first, &mut page).expect("rows"), 3 - first);
        (used, entries) = (16 * (first + 1), first + 1);
    }
    let values = |rows: Vec<(u32, Vec<u8>)>| rows.iter().map(|(id, row)| (*id, row[8])).collect::<Vec<_>>();
    assert_eq!(values(rows_of(&memory, used, entries)), [(4, 1), (5, 2), (6, 3)]);
    assert!(filler.fill(&batch, &[4, 5], 0, &mut PageRows::of(&mut memory, 0, 0).expect("a page")).is_err());
    assert!(filler.fill(&batch, &[4, 5, 6], 4, &mut PageRows::of(&mut memory, 0, 0).expect("a page")).is_err());
    assert!(filler.row_bytes(&batch, 3).is_err());
    for (used, entries) in [(88, 1), (4, 0), (0, 12), (usize::MAX - 7, 1), (0, usize::MAX)] {
        assert!(PageRows::of(&mut memory, used, entries).is_err(), "{used} {entries}");
    }
}

fn int_array(values: &[i32]) -> ArraySpec {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    ArraySpec { length: values.len() as i64, buffers: vec![None, Some(bytes)], ..ArraySpec::default() }
}

fn ints(values: &[i32]) -> ArraySpec {
    support::producer::batch_of(values.len() as i64, vec![int_array(values)])
}

/// The columns of a batch, each an array of its own, whose releases are counted together.
fn of_columns(
    columns: &[(ArraySpec, SchemaSpec)],
    rows: usize,
    types: &[&str],
) -> (Result<Batch, ColumnError>, Releases) {
    let releases = Releases::default();
    let mut arrays: Vec<ArrowArray> = columns.iter().map(|(array, _)| array.build(&releases)).collect();
    let mut schemas: Vec<ArrowSchema> = columns.iter().map(|(_, schema)| schema.build()).collect();
    // SAFETY: all made by `build`.
    let batch = unsafe {
        let owned = arrays.iter_mut().map(|array| OwnedArray::take(array).expect("an array")).collect();
        let types = Formats::parse(types.iter().copied()).expect("types");
        let schemas = schemas.iter_mut().map(|schema| OwnedSchema::take(schema).expect("a schema")).collect();
        Batch::of_columns(owned, schemas, rows, types.schema())
    };
    assert!(arrays.iter().all(|array| array.release.is_none()) && schemas.iter().all(|s| s.release.is_none()));
    (batch, releases)
}

#[test]
fn columns_that_come_one_by_one_are_a_batch_and_are_released_once() {
    let columns = [(int_array(&[1, 2]), SchemaSpec::of("i")), (int_array(&[3, 4]), SchemaSpec::of("tdD"))];
    let (batch, releases) = of_columns(&columns, 2, &["i", "tdD"]);
    let batch = batch.expect("a batch");
    let mut memory = [0; 64 + 16];
    let mut page = PageRows::of(&mut memory, 0, 0).expect("a page");
    assert_eq!(PageFiller::new().fill(&batch, &[1, 0], 0, &mut page).expect("rows"), 2);
    assert_eq!(page.used(), 48);
    let words: Vec<u64> = memory[..48].chunks(8).map(|w| u64::from_le_bytes(w.try_into().expect("8"))).collect();
    assert_eq!(words, [0, 1, 3, 0, 2, 4]);
    assert_eq!(releases.count(), 0);
    drop(batch);
    assert_eq!(releases.count(), 2);
}

#[test]
fn columns_of_other_types_or_lengths_are_refused_and_released() {
    let column = || (int_array(&[1, 2]), SchemaSpec::of("i"));
    let refused = |columns: &[(ArraySpec, SchemaSpec)], rows, types: &[&str], kind, message: &str| {
        let (batch, releases) = of_columns(columns, rows, types);
        let e = batch.expect_err(message);
        assert!(e.kind == kind && e.to_string().contains(message), "{:?} {e}", e.kind);
        assert_eq!(releases.count(), columns.len());
    };
    refused(&[column()], 2, &["l"], ErrorKind::Unsupported, "column 0: ('a 'i'') has values of type Int32");
    refused(&[column()], 3, &["i"], ErrorKind::Invalid, "column 0");
    refused(&[column(), column()], 2, &["i"], ErrorKind::Invalid, "2 arrays and 2 schemas for 1 columns");
    let nested = SchemaSpec { children: vec![SchemaSpec::of("i")], ..SchemaSpec::of("+l") };
    refused(&[(int_array(&[]), nested)], 0, &["i"], ErrorKind::Unsupported, "column 0");
    let released = SchemaSpec::of("i");
    let mut schema = released.build();
    // SAFETY: made by `build`; taken and so released once.
    unsafe {
        drop(OwnedSchema::take(&mut schema).expect("a schema"));
        assert!(OwnedSchema::take(&mut schema).is_err() && OwnedSchema::take(std::ptr::null_mut()).is_err());
    }
}

#[test]
fn exported_schemas_are_those_that_are_asked_for() {
    let formats = Formats::parse(["d:12,2", "tsu:UTC", "u"]).expect("types");
    for (i, format) in [c"d:12,2", c"tsu:UTC", c"u"].into_iter().enumerate() {
        let mut schema = formats.export(i);
        // SAFETY: just made.
        unsafe {
            assert_eq!(std::ffi::CStr::from_ptr(schema.format), format);
            drop(OwnedSchema::take(&mut schema).expect("a schema"));
        }
    }
    assert_eq!(Formats::parse(["i", "+l"]).map_err(|e| e.kind).err(), Some(ErrorKind::Unsupported));
}
