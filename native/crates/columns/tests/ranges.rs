//! Ranges whose bounds come as rows: values that the first eight bytes do not tell apart, and bad bounds. `vectors.rs`
//! compares with Spark, `partitions.rs` with a slow reading of random rows.

mod support;

use sluice_columns::partition::Ranges;
use sluice_columns::{ColumnError, ErrorKind, Formats, SortKey};
use support::decoded;

/// What a row of one field holds.
#[derive(Clone, Copy)]
enum Field<'v> {
    Null,
    Word(u64),
    Bytes(&'v [u8]),
}

fn row(field: Field<'_>) -> Vec<u8> {
    let (null, word, bytes): (u64, u64, &[u8]) = match field {
        Field::Null => (1, 0, &[]),
        Field::Word(word) => (0, word, &[]),
        Field::Bytes(bytes) => (0, 16 << 32 | bytes.len() as u64, bytes),
    };
    let mut row = [null.to_le_bytes(), word.to_le_bytes()].concat();
    row.extend_from_slice(bytes);
    row.resize(row.len().next_multiple_of(8), 0);
    row
}

fn open(format: &str, keys: Vec<SortKey>, rows: &[u8], lengths: &[u32]) -> Result<Ranges, ColumnError> {
    Ranges::of_rows(&Formats::parse([format]).expect("a format"), keys, rows, lengths)
}

fn ranges(format: &str, key: SortKey, bounds: &[Field<'_>]) -> Result<Ranges, ColumnError> {
    let rows: Vec<Vec<u8>> = bounds.iter().map(|bound| row(*bound)).collect();
    let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
    open(format, vec![key], &rows.concat(), &lengths)
}

/// The values rise, some of them are equal; bounds are some of them. The range of a value is the number of bounds that
/// come before it.
fn check(format: &str, values: &[Field<'_>], equal: &[usize]) {
    let formats = [format.to_owned()];
    let rank = |i: usize| i - equal.iter().filter(|same| **same <= i).count();
    let mut with_null = values.to_vec();
    with_null.push(Field::Null);
    let batch = decoded(&with_null.iter().map(|value| row(*value)).collect::<Vec<_>>(), &formats);
    let distinct: Vec<usize> = (0..values.len()).filter(|i| !equal.contains(i)).collect();
    for descending in [false, true] {
        for nulls_first in [false, true] {
            for null_is_bound in [false, true] {
                let key = SortKey { column: 0, descending, nulls_first };
                let mut bounds: Vec<Field<'_>> = distinct.iter().map(|i| values[*i]).collect();
                if descending {
                    bounds.reverse();
                }
                if null_is_bound {
                    bounds.insert(if nulls_first { 0 } else { bounds.len() }, Field::Null);
                }
                let before = usize::from(null_is_bound && nulls_first);
                let place = |i: usize| before + if descending { distinct.len() - 1 - rank(i) } else { rank(i) };
                let mut expected: Vec<u32> = (0..values.len()).map(|i| place(i) as u32).collect();
                expected.push(if nulls_first { 0 } else { distinct.len() as u32 });
                let found = ranges(format, key, &bounds).expect("bounds that rise").of(&batch).expect("ranges");
                assert_eq!(found, expected, "{format} {key:?}, null is a bound: {null_is_bound}");
            }
        }
    }
}

#[test]
fn numbers_that_differ_in_their_lowest_bits() {
    let longs = [i64::MIN, i64::MIN + 1, -3, -2, -1, 0, 1, 2, 3, i64::MAX - 1, i64::MAX];
    check("l", &longs.map(|v| Field::Word(v as u64)), &[]);
    check("i", &[i32::MIN, -1, 0, 1, i32::MAX].map(|v| Field::Word(u64::from(v as u32))), &[]);
    check("c", &[i8::MIN, -1, 0, 1, i8::MAX].map(|v| Field::Word(u64::from(v as u8))), &[]);
    check("b", &[0, 1].map(Field::Word), &[]);
}

#[test]
fn floats_with_zeros_and_nans() {
    let smallest = f64::from_bits(1);
    let doubles = [f64::NEG_INFINITY, -1.5, -smallest, -0.0, 0.0, smallest, 1.5, f64::INFINITY, f64::NAN, -f64::NAN];
    check("g", &doubles.map(|v| Field::Word(v.to_bits())), &[4, 9]);
    check("f", &doubles.map(|v| Field::Word(u64::from((v as f32).to_bits()))), &[3, 4, 5, 9]);
}

#[test]
fn bytes_that_begin_alike_or_end_with_zeros() {
    let texts: [&[u8]; 9] = [
        b"",
        b"\0",
        b"\0\0\0\0\0\0\0\0",
        b"in the s",
        b"in the same folder/a",
        b"in the same folder/b",
        b"in the same folder/b\0",
        b"z",
        "\u{e9}".as_bytes(),
    ];
    check("u", &texts.map(Field::Bytes), &[]);
    let bytes: [&[u8]; 4] = [b"\x7F", b"\x80", b"\xFF", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"];
    check("z", &bytes.map(Field::Bytes), &[]);
}

#[test]
fn wide_decimals_that_are_equal_in_their_high_half() {
    let values = [-(1i128 << 100), -(1 << 64) - 1, -(1 << 64), -1, 0, 1, (1 << 64) - 1, 1 << 64, 1 << 100];
    let bytes = values.map(|value| value.to_be_bytes());
    let fields: Vec<Field<'_>> = bytes.iter().map(|bytes| Field::Bytes(bytes)).collect();
    check("d:38,2", &fields, &[]);
}

#[test]
fn bounds_of_strings_need_not_be_utf8() {
    let key = SortKey { column: 0, descending: false, nulls_first: true };
    let found = ranges("u", key, &[Field::Bytes(b"b\xFF"), Field::Bytes(b"\xFF")]).expect("ranges");
    let rows = ["a", "b", "c", "\u{10FFFF}"].map(|text| row(Field::Bytes(text.as_bytes())));
    assert_eq!(found.of(&decoded(&rows, &["u".to_owned()])), Ok(vec![0, 0, 1, 1]));
}

#[test]
fn times_and_decimals_of_other_layouts_have_the_same_order() {
    let key = SortKey { column: 0, descending: false, nulls_first: true };
    for (rows, bounds) in [("tsu:", "tsu:UTC"), ("tsm:UTC", "tsu:"), ("tdm", "tdD"), ("d:9,2,32", "d:9,2")] {
        let word = |value: i64| Field::Word(value as u64);
        let found = ranges(bounds, key, &[word(-5000), word(7000)]).expect("ranges");
        let batch = decoded(&[-6000, -5000, 7000, 8000].map(|v| row(word(v))), &[rows.to_owned()]);
        assert_eq!(found.of(&batch), Ok(vec![0, 0, 1, 2]), "{rows} and {bounds}");
    }
}

#[test]
fn bad_bounds() {
    let key = SortKey { column: 0, descending: false, nulls_first: true };
    let kind = |ranges: Result<Ranges, ColumnError>| ranges.map_err(|e| e.kind).map(|_| ());
    let word = Field::Word;
    for (bounds, reason) in [([word(2), word(1)], "they fall"), ([word(2), word(2)], "they are equal")] {
        assert_eq!(kind(ranges("l", key, &bounds)), Err(ErrorKind::Unsupported), "{reason}");
    }
    assert_eq!(kind(ranges("tin", key, &[Field::Null])), Err(ErrorKind::Unsupported), "no order");
    assert_eq!(kind(ranges("u", key, &[word(16 << 32 | 9)])), Err(ErrorKind::Invalid), "bytes behind the row");
    let one = row(word(1));
    assert_eq!(kind(open("l", vec![key], &one, &[16])), Ok(()));
    let bad: [(&[u8], &[u32]); 5] = [(&one, &[8, 8]), (&one, &[15]), (&one, &[16, 16]), (&one[..8], &[8]), (&one, &[])];
    for (rows, lengths) in bad {
        assert_eq!(kind(open("l", vec![key], rows, lengths)), Err(ErrorKind::Invalid), "{lengths:?}");
    }
    assert_eq!(kind(open("l", vec![key, key], &one, &[16])), Err(ErrorKind::Invalid), "two keys of one field");
    let batch = decoded(&[row(Field::Bytes(b"text"))], &["u".to_owned()]);
    let numbers = open("l", vec![key], &one, &[16]).expect("ranges");
    assert_eq!(numbers.of(&batch).map_err(|e| e.kind), Err(ErrorKind::Invalid), "another type");
    let other = open("l", vec![SortKey { column: 3, ..key }], &one, &[16]).expect("ranges");
    assert_eq!(other.of(&batch).map_err(|e| e.kind), Err(ErrorKind::Invalid), "no such column");
}
