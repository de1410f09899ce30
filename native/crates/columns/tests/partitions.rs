//! Partitions of columns are those of the same rows, compared with a slow reading of the rows; `vectors.rs` compares
//! them with Spark's.

mod support;

use std::cmp::Ordering;

use proptest::prelude::*;
use sluice_codec::CodecOptions;
use sluice_columns::partition::{self, Ranges};
use sluice_columns::{Batch, ColumnEncoder, ColumnError, ErrorKind, Formats, RowId, SortKey};
use sluice_testkit::Value;
use support::producer::import;
use support::random::{self, Random, RandomBatch};
use support::{column_frames, decoded, options, partition_frames, row_frames};

/// Murmur3 as Spark's sources describe it, in 64-bit arithmetic.
struct Murmur(u64);

impl Murmur {
    fn add(&mut self, word: u32) {
        let times = |a: u64, b: u64| a * b % (1 << 32);
        let rotate = |a: u64, by: u32| (a << by | a >> (32 - by)) % (1 << 32);
        let k = times(rotate(times(u64::from(word), 0xcc9e2d51), 15), 0x1b873593);
        self.0 = (times(rotate(self.0 ^ k, 13), 5) + 0xe6546b64) % (1 << 32);
    }

    fn end(self, bytes: u64) -> u64 {
        let times = |a: u64, b: u64| a * b % (1 << 32);
        let h = self.0 ^ bytes;
        let h = times(h ^ h >> 16, 0x85ebca6b);
        let h = times(h ^ h >> 13, 0xc2b2ae35);
        h ^ h >> 16
    }
}

fn int(value: u32, seed: u64) -> u64 {
    let mut murmur = Murmur(seed);
    murmur.add(value);
    murmur.end(4)
}

fn long(value: u64, seed: u64) -> u64 {
    let mut murmur = Murmur(seed);
    murmur.add(value as u32);
    murmur.add((value >> 32) as u32);
    murmur.end(8)
}

fn bytes(value: &[u8], seed: u64) -> u64 {
    let mut murmur = Murmur(seed);
    let whole = value.len() / 4 * 4;
    for i in (0..whole).step_by(4) {
        murmur.add(u32::from_le_bytes([value[i], value[i + 1], value[i + 2], value[i + 3]]));
    }
    for byte in &value[whole..] {
        murmur.add(i32::from(*byte as i8) as u32);
    }
    murmur.end(value.len() as u64)
}

/// The hash of a field of a row, begun with that of the fields before; none if Spark has to compute it.
fn hash(format: &str, value: &Value, seed: u64) -> Option<u64> {
    let word = match value {
        Value::Null | Value::Wide(None) => return Some(seed),
        Value::Interval(_) => return None,
        Value::Bytes(value) | Value::Wide(Some(value)) => return Some(bytes(value, seed)),
        Value::Word(word) => *word,
    };
    Some(match format {
        "c" => int(word as i8 as i32 as u32, seed),
        "s" => int(word as i16 as i32 as u32, seed),
        "b" | "i" | "C" | "S" | "tdD" | "tdm" | "tiM" => int(word as u32, seed),
        "f" => {
            let float = f32::from_bits(word as u32);
            int(
                if float == 0.0 {
                    0
                } else if float.is_nan() {
                    0x7fc00000
                } else {
                    word as u32
                },
                seed,
            )
        }
        "g" => {
            let float = f64::from_bits(word);
            long(
                if float == 0.0 {
                    0
                } else if float.is_nan() {
                    0x7ff8 << 48
                } else {
                    word
                },
                seed,
            )
        }
        _ => long(word, seed),
    })
}

/// Spark's order of two fields.
fn order(format: &str, one: &Value, other: &Value) -> Ordering {
    let words = |f: fn(u64) -> i64| match (one, other) {
        (Value::Word(one), Value::Word(other)) => f(*one).cmp(&f(*other)),
        _ => panic!("{format}: {one:?}, {other:?}"),
    };
    let floats = |f: fn(u64) -> f64| match (one, other) {
        (Value::Word(one), Value::Word(other)) => {
            let (one, other) = (f(*one), f(*other));
            match (one.is_nan(), other.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ if one == other => Ordering::Equal,
                _ => {
                    if one < other {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                }
            }
        }
        _ => panic!("{format}: {one:?}, {other:?}"),
    };
    match (one, other) {
        (Value::Bytes(one), Value::Bytes(other)) => return one.cmp(other),
        (Value::Wide(Some(one)), Value::Wide(Some(other))) => return big(one).cmp(&big(other)),
        _ => {}
    }
    match format {
        "c" => words(|w| i64::from(w as i8)),
        "s" => words(|w| i64::from(w as i16)),
        "i" | "tdD" | "tdm" | "tiM" => words(|w| i64::from(w as i32)),
        "f" => floats(|w| f64::from(f32::from_bits(w as u32))),
        "g" => floats(f64::from_bits),
        _ => words(|w| w as i64),
    }
}

fn big(bytes: &[u8]) -> i128 {
    let sign = if bytes[0] & 0x80 != 0 { -1 } else { 0 };
    bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte))
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Wide(None) | Value::Interval(None))
}

fn order_of_rows(formats: &[String], keys: &[SortKey], row: &[Value], bound: &[Value]) -> Ordering {
    for (i, key) in keys.iter().enumerate() {
        let (one, other) = (&row[key.column], &bound[i]);
        let order = match (is_null(one), is_null(other)) {
            (true, true) => Ordering::Equal,
            (true, false) => {
                if key.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if key.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            _ => {
                let order = order(&formats[key.column], one, other);
                if key.descending { order.reverse() } else { order }
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hashes_of_columns_are_those_of_rows(seed: u64, columns in 1usize..6, partitions in 1u32..3000) {
        let mut random = Random::new(seed);
        let formats = random::formats(&mut random, columns);
        let batch = random::batch(&mut random, &formats, 60);
        let imported = import(&batch.array, &batch.schema).0.expect("a good batch");
        let keys: Vec<usize> = (0..1 + random.below(3)).map(|_| random.below(columns)).collect();
        let expected: Option<Vec<u32>> = batch.values.iter().map(|row| {
            let hash = keys.iter().try_fold(42, |seed, key| hash(&formats[*key], &row[*key], seed))?;
            Some((hash as u32 as i32).rem_euclid(partitions as i32) as u32)
        }).collect();
        let ids = partition::hash(&imported, &keys, partitions);
        match (expected, ids) {
            (Some(expected), ids) => prop_assert_eq!(expected, ids.expect("ids"), "{:?} by {:?}", formats, keys),
            (None, ids) => prop_assert_eq!(ids.map_err(|e| e.kind), Err(ErrorKind::Unsupported)),
        }
    }

    #[test]
    fn ranges_of_columns_are_those_of_rows(seed: u64, columns in 1usize..5, bounds in 0usize..20) {
        let mut random = Random::new(seed);
        let mut formats = random::formats(&mut random, columns);
        formats.iter_mut().filter(|format| *format == "tin").for_each(|format| *format = "l".into());
        let rows = random::batch(&mut random, &formats, 60);
        let keys: Vec<SortKey> = (0..1 + random.below(3)).map(|_| SortKey {
            column: random.below(columns), descending: random.chance(2), nulls_first: random.chance(2),
        }).collect();
        let key_formats: Vec<String> = keys.iter().map(|key| formats[key.column].clone()).collect();
        let mut bound_keys = keys.clone();
        bound_keys.iter_mut().enumerate().for_each(|(i, key)| key.column = i);
        // Bounds rise strictly, as Spark's do.
        let mut picked = random::batch(&mut random, &key_formats, bounds);
        let mut order: Vec<usize> = (0..bounds).collect();
        let compare = |one: &usize, other: &usize| {
            order_of_rows(&key_formats, &bound_keys, &picked.values[*one], &picked.values[*other])
        };
        order.sort_by(compare);
        order.dedup_by(|one, other| compare(one, other).is_eq());
        let sorted: Vec<Vec<u8>> = order.iter().map(|i| picked.rows[*i].clone()).collect();
        picked.values = order.iter().map(|i| picked.values[*i].clone()).collect();
        let rows_imported = import(&rows.array, &rows.schema).0.expect("a good batch");
        let bounds_imported = decoded(&sorted, &key_formats);
        let ids = partition::range(&rows_imported, &keys, &bounds_imported).expect("ids");
        let lengths: Vec<u32> = sorted.iter().map(|row| row.len() as u32).collect();
        let types = Formats::parse(key_formats.iter().map(String::as_str)).expect("formats");
        let ranges = Ranges::of_rows(&types, keys.clone(), &sorted.concat(), &lengths).expect("ranges");
        prop_assert_eq!(&ranges.of(&rows_imported).expect("ids"), &ids);
        for (row, id) in rows.values.iter().zip(ids) {
            let below = picked.values.iter().filter(|b| order_of_rows(&formats, &keys, row, b).is_gt()).count();
            prop_assert_eq!(id as usize, below, "{:?} by {:?}", &formats, &keys);
        }
    }

    /// Each partition's frames are those of its rows, over several batches.
    #[test]
    fn partitions_of_batches_give_the_frames_of_rows(seed: u64, batches in 1usize..4, partitions in 1u32..20) {
        let mut random = Random::new(seed);
        let formats = random::formats(&mut random, 4);
        let all: Vec<_> = (0..batches).map(|_| random::batch(&mut random, &formats, 80)).collect();
        let imported: Vec<Batch> =
            all.iter().map(|b| import(&b.array, &b.schema).0.expect("a good batch")).collect();
        let ids: Vec<Vec<u32>> =
            all.iter().map(|b| b.rows.iter().map(|_| random.below(partitions as usize) as u32).collect()).collect();
        let batches: Vec<&Batch> = imported.iter().collect();
        for partition in 0..partitions {
            let picked: Vec<RowId> = (0..).zip(&ids).flat_map(|(batch, ids)| {
                (0..).zip(ids).filter(|(_, id)| **id == partition).map(move |(row, _)| RowId { batch, row })
            }).collect();
            let rows: Vec<Vec<u8>> =
                picked.iter().map(|id| all[id.batch as usize].rows[id.row as usize].clone()).collect();
            let expected = if rows.is_empty() { Vec::new() } else { row_frames(&rows, 4, options()[3]) };
            prop_assert!(column_frames(&batches, &picked, options()[3]).expect("frames") == expected);
        }
    }

    /// All partitions at once, many or few, some of them without rows, batches too; and with memory for only some of
    /// the rows at a time. The encoder has encoded something else before.
    #[test]
    fn partitions_at_once_give_the_frames_of_rows(
        seed: u64, columns in 0usize..12, batches in 0usize..5, partitions in 1u32..400, which in 0usize..9,
        most in prop_oneof![Just(64 << 20), 0usize..40_000],
    ) {
        let mut random = Random::new(seed);
        let formats = random::formats(&mut random, columns);
        let mut encoder = ColumnEncoder::new(options()[which]).with_most_partitioned(most);
        for _ in 0..2 {
            let cases = PartitionedBatches::of(&mut random, &formats, batches, 300, partitions);
            let frames = cases.frames(&mut encoder).expect("frames");
            prop_assert!(frames == cases.expected(columns, options()[which]), "{formats:?}");
        }
    }
}

/// Batches of random rows, and the partition of each.
struct PartitionedBatches {
    all: Vec<RandomBatch>,
    imported: Vec<Batch>,
    ids: Vec<Vec<u32>>,
    partitions: u32,
}

impl PartitionedBatches {
    /// Each of at most `rows` rows.
    fn of(random: &mut Random, formats: &[String], batches: usize, rows: usize, partitions: u32) -> Self {
        let all: Vec<RandomBatch> = (0..batches)
            .map(|_| {
                let rows = random.below(rows + 1);
                random::batch(random, formats, rows)
            })
            .collect();
        let imported = all.iter().map(|b| import(&b.array, &b.schema).0.expect("a good batch")).collect();
        // Some partitions get most of the rows, and many none.
        let few = 1 + random.below(partitions as usize);
        let id = |random: &mut Random| {
            let below = if random.chance(4) { partitions as usize } else { few };
            random.below(below) as u32
        };
        let ids = all.iter().map(|b| b.rows.iter().map(|_| id(random)).collect()).collect();
        Self { all, imported, ids, partitions }
    }

    fn frames(&self, encoder: &mut ColumnEncoder) -> Result<Vec<Vec<Vec<u8>>>, ColumnError> {
        let ids: Vec<&[u32]> = self.ids.iter().map(|ids| &ids[..]).collect();
        partition_frames(encoder, &self.imported.iter().collect::<Vec<_>>(), &ids, self.partitions)
    }

    /// The frames of each partition's rows.
    fn expected(&self, columns: usize, options: CodecOptions) -> Vec<Vec<Vec<u8>>> {
        let mut rows = vec![Vec::new(); self.partitions as usize];
        for (batch, ids) in self.all.iter().zip(&self.ids) {
            batch.rows.iter().zip(ids).for_each(|(row, id)| rows[*id as usize].push(row.clone()));
        }
        rows.iter().map(|rows| row_frames(rows, columns, options)).collect()
    }
}

/// More rows than are copied at a time, more fields than one word has null bits for, and partitions of several frames.
#[test]
fn large_batches_give_the_frames_of_rows() {
    for (seed, formats, rows, partitions) in [
        (1, vec!["l", "u", "b", "tin", "vz"], 9000, 3),
        (2, vec!["i"; 130], 1500, 40),
        (3, [vec!["l"; 64], vec!["n"], vec!["u"; 70]].concat(), 1100, 5),
        (4, vec![], 9000, 2),
        (5, vec!["d:38,10", "w:40", "Z"], 5000, 2),
        (7, vec!["l", "u"], 5000, 1),
        (6, vec!["l", "u"], 5000, 20_000),
    ] {
        let formats: Vec<String> = formats.into_iter().map(str::to_owned).collect();
        let batches = PartitionedBatches::of(&mut Random::new(seed), &formats, 4, rows, partitions);
        for most in [64 << 20, 1 << 20, 100_000] {
            let mut encoder = ColumnEncoder::new(options()[3]).with_most_partitioned(most);
            let frames = batches.frames(&mut encoder).expect("frames");
            assert!(frames == batches.expected(formats.len(), options()[3]), "{most} bytes, {} columns", formats.len());
        }
    }
}

#[test]
fn ids_that_do_not_go_with_batches() {
    let formats = ["l", "u"].map(str::to_owned);
    let batch = |formats: &[String]| {
        let batch = random::batch(&mut Random::new(1), formats, 3);
        import(&batch.array, &batch.schema).0.expect("a good batch")
    };
    let (one, other, fewer) = (batch(&formats), batch(&formats), batch(&formats[..1]));
    let error = |batches: &[&Batch], ids: &[&[u32]], partitions: u32| {
        let frames = partition_frames(&mut ColumnEncoder::new(options()[3]), batches, ids, partitions);
        let error = frames.expect_err("an error");
        assert_eq!(error.kind, ErrorKind::Invalid);
        error.to_string()
    };
    assert_eq!(error(&[&one], &[&[0, 1, 2]], 2), "row 2 of batch 0: partition 2 of 2");
    assert_eq!(error(&[&one, &other], &[&[0; 3], &[0, u32::MAX, 2]], 3), "row 1 of batch 1: partition 4294967295 of 3");
    assert_eq!(error(&[&one], &[&[0; 2]], 2), "2 ids for the 3 rows of batch 0");
    assert_eq!(error(&[&one], &[&[0; 4]], 2), "4 ids for the 3 rows of batch 0");
    assert_eq!(error(&[&one, &other], &[&[0; 3]], 2), "ids of 1 batches, there are 2");
    assert_eq!(error(&[&one], &[&[0; 3]], 0), "0 partitions");
    assert_eq!(error(&[&one, &fewer], &[&[0; 3], &[0; 3]], 1), "batch 1: the schema changed: 1 columns, 2 before");
}

#[derive(Debug, PartialEq)]
enum Refused {
    BySink,
    ByEncoder(ColumnError),
}

impl From<ColumnError> for Refused {
    fn from(error: ColumnError) -> Self {
        Self::ByEncoder(error)
    }
}

/// What a sink refuses ends the call; the encoder can be used again.
#[test]
fn a_sink_that_fails_ends_the_call() {
    let formats = ["l", "u"].map(str::to_owned);
    let batches = PartitionedBatches::of(&mut Random::new(2), &formats, 3, 500, 10);
    let refs: Vec<&Batch> = batches.imported.iter().collect();
    let ids: Vec<&[u32]> = batches.ids.iter().map(|ids| &ids[..]).collect();
    for most in [64 << 20, 1000] {
        let mut encoder = ColumnEncoder::new(options()[3]).with_most_partitioned(most);
        let mut taken = 0;
        let done = encoder.encode_partitions(&refs, &ids, 10, |_, _| {
            taken += 1;
            if taken < 3 { Ok(()) } else { Err(Refused::BySink) }
        });
        assert_eq!((done, taken), (Err(Refused::BySink), 3));
        assert!(batches.frames(&mut encoder).expect("frames") == batches.expected(2, options()[3]));
    }
}

#[test]
fn arguments_that_do_not_go_together() {
    let mut random = Random::new(3);
    let formats: Vec<String> = ["l", "u", "tin"].map(str::to_owned).to_vec();
    let batch = random::batch(&mut random, &formats, 10);
    let batch = import(&batch.array, &batch.schema).0.expect("a good batch");
    let key = |column| SortKey { column, descending: false, nulls_first: true };
    let kind = |ids: Result<Vec<u32>, sluice_columns::ColumnError>| ids.map_err(|e| e.kind);
    assert_eq!(kind(partition::hash(&batch, &[0], 0)), Err(ErrorKind::Invalid));
    assert_eq!(kind(partition::hash(&batch, &[0], 1 << 31)), Err(ErrorKind::Invalid));
    assert_eq!(kind(partition::hash(&batch, &[3], 5)), Err(ErrorKind::Invalid));
    assert_eq!(kind(partition::hash(&batch, &[2], 5)), Err(ErrorKind::Unsupported));
    assert_eq!(partition::hash(&batch, &[], 5), Ok(vec![42 % 5; 10]));
    assert_eq!(kind(partition::range(&batch, &[key(0)], &batch)), Err(ErrorKind::Invalid));
    assert_eq!(kind(partition::range(&batch, &[key(1), key(0), key(2)], &batch)), Err(ErrorKind::Invalid));
    assert_eq!(kind(partition::range(&batch, &[key(0), key(1), key(2)], &batch)), Err(ErrorKind::Unsupported));
    assert_eq!(partition::single(3).expect("ids"), [0; 3]);
}
