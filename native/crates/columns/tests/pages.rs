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
        seed: u64, narrow in 0usize..12, rows in 0usize..300, room in 0usize..4,
    ) {
        let mut random = Random::new(seed);
        // Some rows have more than one word of null bits.
        let columns = if random.chance(8) { 60 + random.below(81) } else { narrow };
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
            let (used, entries) = (page.used(), page.entries());
            // Between rows and entries nothing is written.
            let free = used..memory.len() - 8 * entries;
            prop_assert!(memory[free].iter().all(|byte| *byte == 0xA5));
            prop_assert_eq!(filler.row_bytes(&batch, at).expect("a row"), made.rows[at].len());
            prop_assert_eq!(entries, copied);
            let full = at + copied == rows || used + made.rows[at + copied].len() + 8 * (entries + 1) > memory.len();
            prop_assert!(full, "there was room for another row");
            found.extend(rows_of(&memory, used, entries));
            at += copied;
        }
        let expected: Vec<_> = ids.iter().copied().zip(made.rows.clone()).collect();
        prop_assert!(found == expected, "{:?}", formats);
    }

    #[test]
    fn columns_one_by_one_have_the_rows_of_their_batch(seed: u64, columns in 0usize..12, rows in 0usize..100) {
        let mut random = Random::new(seed);
        let formats = random::formats(&mut random, columns);
        let mut made = random::batch(&mut random, &formats, rows);
        // A batch's offset is its columns'; one that comes alone has it in itself.
        let skip = made.array.offset;
        for array in &mut made.array.children {
            array.offset += skip;
            array.length = array.length.saturating_sub(skip);
            if array.null_count > 0 {
                array.null_count = -1;
            }
        }
        let all: Vec<_> = made.array.children.clone().into_iter().zip(made.schema.children.clone()).collect();
        let types: Vec<&str> = formats.iter().map(String::as_str).collect();
        let (batch, releases) = of_columns(&all, rows, &types);
        let batch = batch.expect("a good batch");
        let bytes: usize = made.rows.iter().map(Vec::len).sum();
        let mut memory = vec![0xA5; bytes + 8 * rows];
        let mut page = PageRows::of(&mut memory, 0, 0).expect("a page");
        prop_assert_eq!(PageFiller::new().fill(&batch, &vec![0; rows], 0, &mut page).expect("rows"), rows);
        let (used, entries) = (page.used(), page.entries());
        let found: Vec<_> = rows_of(&memory, used, entries).into_iter().map(|(_, row)| row).collect();
        prop_assert!(found == made.rows, "{:?}", formats);
        drop(batch);
        prop_assert_eq!(releases.count(), columns);
    }
}

#[test]
fn rows_that_are_too_wide_for_a_whole_chunk_are_copied_in_smaller_ones() {
    let columns: i32 = 1000;
    let arrays = (0..columns).map(|c| int_array(&(0..70).map(|row| row * columns + c).collect::<Vec<_>>())).collect();
    let array = support::producer::batch_of(70, arrays);
    let batch = import(&array, &SchemaSpec::batch(vec![SchemaSpec::of("i"); 1000])).0.expect("a good batch");
    let mut memory = vec![0xA5; 70 * (8 * 1016 + 8)];
    let mut page = PageRows::of(&mut memory, 0, 0).expect("a page");
    assert_eq!(PageFiller::new().fill(&batch, &[3; 70], 0, &mut page).expect("rows"), 70);
    let (used, entries) = (page.used(), page.entries());
    for (i, (_, row)) in (0..).zip(rows_of(&memory, used, entries)) {
        let words: Vec<u64> = row.chunks(8).map(|w| u64::from_le_bytes(w.try_into().expect("8"))).collect();
        let expected: Vec<u64> = (0..columns).map(|c| (i * columns + c) as u64).collect();
        assert!(words[..16].iter().all(|word| *word == 0) && words[16..] == expected, "row {i}");
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
        // What the next call does not write itself is not what this one has left there.
        let free = used..memory.len() - 8 * entries;
        memory[free].fill(0xA5);
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
        Batch::of_columns(owned, schemas, rows, &types)
    };
    assert!(arrays.iter().all(|array| array.release.is_none()) && schemas.iter().all(|s| s.release.is_none()));
    for (_, schema) in columns {
        assert_eq!(schema.releases.count(), 1, "a batch keeps no schema");
    }
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
    refused(
        &[column()],
        2,
        &["l"],
        ErrorKind::Unsupported,
        "column 0 ('a 'i'') has values of format 'i', 'l' is expected",
    );
    let no_name = SchemaSpec { name: String::new(), ..SchemaSpec::dictionary("i", "u") };
    let texts = ArraySpec { length: 0, buffers: vec![None; 3], ..ArraySpec::default() };
    let words = ArraySpec { dictionary: Some(Box::new(texts)), ..int_array(&[]) };
    refused(
        &[(words, no_name)],
        0,
        &["z"],
        ErrorKind::Unsupported,
        "column 0 has values of format 'u', 'z' is expected",
    );
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

/// One value that is null, or none, as an array of a format.
fn one_null(format: &str) -> ArraySpec {
    let valid = Some(vec![0]);
    let buffers = match format {
        "u" | "z" => vec![valid, Some(vec![0; 8]), None],
        "U" | "Z" => vec![valid, Some(vec![0; 16]), None],
        "vu" | "vz" => vec![valid, Some(vec![0; 16]), None],
        _ => vec![valid, Some(vec![0; 16])],
    };
    ArraySpec { length: 1, null_count: 1, buffers, ..ArraySpec::default() }
}

#[test]
fn a_layout_may_be_another_and_values_may_not() {
    let values = [
        &["u", "U", "vu"][..],
        &["z", "Z", "vz"],
        &["tss:", "tsm:UTC", "tsu:Europe/Berlin", "tsn:"],
        &["d:9,2,32", "d:9,2,64", "d:9,2"],
        &["d:9,3"],
        &["d:10,2"],
        &["d:38,2"],
        &["i"],
        &["l"],
        &["I"],
        &["tdD"],
        &["tdm"],
        &["ttu"],
        &["ttn"],
        &["tDu"],
        &["tiM"],
        &["tin"],
        &["w:5"],
        &["f"],
        &["g"],
        &["b"],
    ];
    for (one, given) in values.iter().enumerate().flat_map(|(i, all)| all.iter().map(move |format| (i, format))) {
        for (other, wanted) in values.iter().enumerate().flat_map(|(i, all)| all.iter().map(move |f| (i, f))) {
            let (batch, _) = of_columns(&[(one_null(given), SchemaSpec::of(given))], 1, &[wanted]);
            match batch {
                Ok(_) => assert_eq!(one, other, "'{given}' for '{wanted}'"),
                Err(e) => assert!(one != other && e.kind == ErrorKind::Unsupported, "'{given}' for '{wanted}': {e}"),
            }
        }
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
    let invalid = |e: ColumnError, message: &str| {
        assert!(e.kind == ErrorKind::Invalid && e.to_string().contains(message), "{e}");
    };
    invalid(Formats::parse(["i", "tsu:a\0"]).expect_err("no string of C's"), "column 1: format 'tsu:a\\0' has a 0");
    let many = std::iter::repeat_n("n", (1 << 20) + 1);
    invalid(Formats::parse(many).expect_err("too many"), "more than 1048576 columns");
    assert_eq!(Formats::parse(["i", "+l"]).map_err(|e| e.kind).err(), Some(ErrorKind::Unsupported));
}
