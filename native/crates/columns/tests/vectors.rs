//! Partitions of columns are those of Spark and of the row exchange (`HashColumn`, in Java): vectors that
//! `ColumnVectorsTest` (`jvm/spark`) computes with Spark's own expressions, writes and checks.

mod support;

use std::collections::BTreeMap;

use sluice_columns::partition::{self, Ranges};
use sluice_columns::{Formats, SortKey};
use support::decoded;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

/// Rows, and the partition of each.
#[derive(Default)]
struct Partitioned {
    rows: Vec<Vec<u8>>,
    partitions: Vec<u32>,
}

/// `formats|partitions|row|partition`, a line for each row.
#[test]
fn hashes_are_those_of_spark_and_of_the_row_exchange() {
    let text = include_str!("vectors/hash.txt");
    let mut tables: BTreeMap<(&str, u32), Partitioned> = BTreeMap::new();
    for line in text.lines() {
        let [formats, partitions, row, id] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let table = tables.entry((formats, partitions.parse().expect("a number"))).or_default();
        table.rows.push(hex(row));
        table.partitions.push(id.parse().expect("a number"));
    }
    let mut rows_compared = 0;
    for ((formats, partitions), Partitioned { rows, partitions: expected }) in tables {
        let formats: Vec<String> = formats.split(' ').map(str::to_owned).collect();
        let columns: Vec<usize> = (0..formats.len()).collect();
        let ids = partition::hash(&decoded(&rows, &formats), &columns, partitions).expect("ids");
        assert_eq!(ids, expected, "{formats:?}");
        rows_compared += ids.len();
    }
    assert!(rows_compared > 500);
}

/// `formats|order|bounds|row|partition`: the order has two letters a column, `a` or `d` and where nulls are, `f` or
/// `l`; bounds are separated by spaces.
#[test]
fn ranges_are_those_of_spark() {
    let mut rows_compared = 0;
    for line in include_str!("vectors/range.txt").lines() {
        let [formats, order, bounds, row, id] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let formats: Vec<String> = formats.split(' ').map(str::to_owned).collect();
        let keys: Vec<SortKey> = order
            .split(' ')
            .enumerate()
            .map(|(column, o)| SortKey { column, descending: o.starts_with('d'), nulls_first: o.ends_with('f') })
            .collect();
        let bounds: Vec<Vec<u8>> = bounds.split(' ').filter(|b| !b.is_empty()).map(hex).collect();
        let row = decoded(&[hex(row)], &formats);
        let ids = partition::range(&row, &keys, &decoded(&bounds, &formats)).expect("ids");
        assert_eq!(ids, [id.parse::<u32>().expect("a number")], "{line}");
        let lengths: Vec<u32> = bounds.iter().map(|bound| bound.len() as u32).collect();
        let types = Formats::parse(formats.iter().map(String::as_str)).expect("formats");
        let ranges = Ranges::of_rows(&types, keys, &bounds.concat(), &lengths).expect("bounds that rise");
        assert_eq!(ranges.partitions() as usize, bounds.len() + 1);
        assert_eq!(ranges.of(&row).expect("ids"), ids, "{line}");
        rows_compared += 1;
    }
    assert!(rows_compared > 300);
}
