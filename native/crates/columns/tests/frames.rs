//! Columns give the frames that the same rows give, and frames give columns, whoever wrote them.

mod support;

use proptest::prelude::*;
use sluice_codec::CodecOptions;
use sluice_columns::{Batch, ColumnDecoder, ErrorKind, Field, RowId, Schema};
use support::producer::import;
use support::random::{self, Random, RandomBatch};
use support::{all_frames, all_rows, column_frames, options, row_frames};

fn imported(batch: &RandomBatch) -> Batch {
    import(&batch.array, &batch.schema).0.expect("a good batch")
}

/// The schema that frames are decoded to: that of the batch, without dictionaries.
fn decoded_schema(schema: &Schema) -> Schema {
    Schema { fields: schema.fields.iter().map(|field| Field { index: None, ..field.clone() }).collect() }
}

/// Frames to arrays, and those to frames again.
fn there_and_back(frames: &[Vec<u8>], schema: &Schema, options: CodecOptions) -> Vec<Vec<u8>> {
    let block = frames.concat();
    let (array, read) = ColumnDecoder::new().decode(schema, &block, usize::MAX).expect("own frames");
    assert_eq!(read, block.len());
    // SAFETY: made by the crate.
    let batch = unsafe { Batch::import(array, schema).expect("own array") };
    column_frames(&[&batch], &all_rows(0, batch.rows()), options).expect("frames")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any columns, rows of several batches picked in any order; then back to columns from frames.
    #[test]
    fn columns_give_the_frames_of_rows(
        seed: u64, columns in 0usize..12, rows in 0usize..200, batches in 1usize..4, which in 0usize..9,
    ) {
        let mut random = Random::new(seed);
        let formats = random::formats(&mut random, columns);
        let all: Vec<RandomBatch> =
            (0..batches).map(|_| { let n = random.below(rows + 1); random::batch(&mut random, &formats, n) }).collect();
        let imported: Vec<Batch> = all.iter().map(imported).collect();
        let refs: Vec<&Batch> = imported.iter().collect();
        let table: Vec<Vec<u8>> = all.iter().flat_map(|batch| batch.rows.clone()).collect();
        let expected = row_frames(&table, columns, options()[which]);
        let frames = all_frames(&refs, options()[which]).expect("frames");
        prop_assert!(frames == expected, "all of {formats:?}");
        let mut ids: Vec<RowId> =
            all.iter().enumerate().flat_map(|(i, batch)| all_rows(i as u32, batch.rows.len())).collect();
        if random.chance(2) {
            let picked = if ids.is_empty() { 0 } else { random.below(2 * rows + 1) };
            ids = (0..picked).map(|_| ids[random.below(ids.len())]).collect();
        }
        let picked: Vec<Vec<u8>> = ids.iter().map(|id| all[id.batch as usize].rows[id.row as usize].clone()).collect();
        let expected = row_frames(&picked, columns, options()[which]);
        let frames = column_frames(&refs, &ids, options()[which]).expect("frames");
        prop_assert!(frames == expected, "{formats:?}");
        let schema = decoded_schema(imported[0].schema());
        prop_assert!(there_and_back(&expected, &schema, options()[which]) == expected, "{formats:?}");
    }

    /// Frames that columns cannot take as they are: rows with tails, fields whose slots lie elsewhere, other schemas.
    /// They decode by way of rows, or not, and never wrongly: what is decoded gives the same values again.
    #[test]
    fn any_rows_decode_or_fail(
        seed: u64, columns in 1usize..6, rows in 1usize..60, which in 0usize..9,
    ) {
        let mut random = Random::new(seed);
        let written = random::formats(&mut random, columns);
        let wanted = if random.chance(2) { random::formats(&mut random, columns) } else { written.clone() };
        let mut table = random::batch(&mut random, &written, rows).rows;
        for row in &mut table {
            if random.chance(4) {
                row.extend_from_slice(&[9; 8]);
            }
            if random.chance(10) {
                let at = random.below(row.len());
                row[at] = random.word() as u8;
            }
        }
        let schema = random::batch(&mut random, &wanted, 0).schema.read().expect("a schema");
        let block = row_frames(&table, columns, options()[which]).concat();
        if let Ok((array, _)) = ColumnDecoder::new().decode(&decoded_schema(&schema), &block, usize::MAX) {
            // SAFETY: made by the crate.
            let batch = unsafe { Batch::import(array, &decoded_schema(&schema)) };
            prop_assert!(batch.is_ok_and(|batch| batch.rows() == rows));
        }
    }
}

/// Frames are cut where those of rows are, also between windows of measured lengths.
#[test]
fn many_rows_are_cut_into_the_same_frames() {
    for (seed, formats, rows) in [
        (1, vec!["l"], 40_000),
        (2, vec!["u", "i", "d:38,10", "b"], 30_000),
        (3, vec!["u"], 17_000),
        (4, vec![], 20_000),
        (5, vec!["w:40"; 70], 700),
    ] {
        let formats: Vec<String> = formats.into_iter().map(str::to_owned).collect();
        let batch = random::batch(&mut Random::new(seed), &formats, rows);
        let imported = imported(&batch);
        for options in [options()[0], options()[3]] {
            let expected = row_frames(&batch.rows, formats.len(), options);
            let frames = column_frames(&[&imported], &all_rows(0, rows), options).expect("frames");
            assert!(expected.len() > 1 && frames == expected, "{formats:?}");
            let schema = decoded_schema(imported.schema());
            assert!(there_and_back(&expected, &schema, options) == expected, "{formats:?}");
        }
    }
}

/// Frames are cut where those of rows are, wherever batches end: within a frame, at its end, and with none of its rows.
#[test]
fn batches_end_anywhere_in_frames() {
    let formats = ["l", "u", "d:38,10"].map(str::to_owned);
    let all: Vec<RandomBatch> = [0, 1, 1500, 512, 0, 9000, 1, 4096, 0]
        .iter()
        .enumerate()
        .map(|(seed, rows)| random::batch(&mut Random::new(seed as u64), &formats, *rows))
        .collect();
    let imported: Vec<Batch> = all.iter().map(imported).collect();
    let refs: Vec<&Batch> = imported.iter().collect();
    let table: Vec<Vec<u8>> = all.iter().flat_map(|batch| batch.rows.clone()).collect();
    for options in [options()[0], options()[3]] {
        let expected = row_frames(&table, formats.len(), options);
        assert!(expected.len() > 3 && all_frames(&refs, options).expect("frames") == expected);
    }
    assert!(all_frames(&[], options()[3]).expect("nothing").is_empty());
    assert!(all_frames(&refs[..1], options()[3]).expect("nothing").is_empty());
}

/// Numbers that look like offsets deceive the predictor; the frames are those of rows all the same.
#[test]
fn numbers_that_look_like_offsets_give_the_frames_of_rows() {
    use support::producer::{ArraySpec, SchemaSpec, batch_of};
    let rows = 600usize;
    // 3 fields: words end at 32. The first column's numbers say "8 bytes at 32".
    let numbers: Vec<u8> = (0..rows).flat_map(|_| (32u64 << 32 | 8).to_le_bytes()).collect();
    let texts: Vec<u8> = (0..rows).flat_map(|i| format!("{i:08}").into_bytes()).collect();
    let offsets: Vec<u8> = (0..=rows as u32).flat_map(|i| (8 * i).to_le_bytes()).collect();
    let number = ArraySpec { length: rows as i64, buffers: vec![None, Some(numbers)], ..ArraySpec::default() };
    let buffers = vec![None, Some(offsets), Some(texts)];
    let text = ArraySpec { length: rows as i64, buffers, ..ArraySpec::default() };
    let schema = SchemaSpec::batch(vec![SchemaSpec::of("l"), SchemaSpec::of("u"), SchemaSpec::of("u")]);
    let array = batch_of(rows as i64, vec![number, text.clone(), text]);
    let imported = import(&array, &schema).0.expect("a good batch");
    let table: Vec<Vec<u8>> = (0..rows)
        .map(|i| {
            let text = sluice_testkit::Value::Bytes(format!("{i:08}").into_bytes());
            sluice_testkit::unsafe_row(&[sluice_testkit::Value::Word(32 << 32 | 8), text.clone(), text])
        })
        .collect();
    for options in options() {
        let expected = row_frames(&table, 3, options);
        let frames = column_frames(&[&imported], &all_rows(0, rows), options).expect("frames");
        assert!(frames == expected, "{options:?}");
        assert!(there_and_back(&expected, imported.schema(), options) == expected, "{options:?}");
    }
}

/// A block is taken in batches of as many rows as are wanted.
#[test]
fn blocks_are_decoded_frame_by_frame() {
    let formats = vec!["l".to_owned(), "u".to_owned()];
    let batch = random::batch(&mut Random::new(7), &formats, 20_000);
    let schema = decoded_schema(imported(&batch).schema());
    let block = row_frames(&batch.rows, 2, options()[3]).concat();
    let (mut decoder, mut at, mut rows) = (ColumnDecoder::new(), 0, 0);
    while at < block.len() {
        let (array, read) = decoder.decode(&schema, &block[at..], 5000).expect("own frames");
        let n = array.array().length;
        assert!(n > 0 && n <= 5000 && read > 0);
        (at, rows) = (at + read, rows + n);
    }
    assert_eq!((at, rows), (block.len(), 20_000));
}

/// Spark has strings that are not UTF-8; Arrow has none. Null ones are not looked at, and binary may be anything.
#[test]
fn strings_that_are_not_utf8_can_only_be_taken_as_binary() {
    use sluice_testkit::{Value, unsafe_row};
    use support::producer::SchemaSpec;
    let row = |bytes: &[u8]| unsafe_row(&[Value::Word(1), Value::Bytes(bytes.to_vec())]);
    // Halves of one character in two rows: none of them is a string.
    let table = [row("grün".as_bytes()), row(&[b'a', 0xC3]), row(&[0xBC, b'z'])];
    for options in options() {
        let block = row_frames(&table, 2, options).concat();
        let decode = |format: &str| {
            let schema = SchemaSpec::batch(vec![SchemaSpec::of("l"), SchemaSpec::of(format)]);
            ColumnDecoder::new().decode(&schema.read().expect("a schema"), &block, usize::MAX)
        };
        for format in ["u", "U", "vu"] {
            let error = decode(format).expect_err("no UTF-8");
            let what = format!("column 1 ('a '{format}''): row 1: the string is not UTF-8");
            assert!(error.kind == ErrorKind::Unsupported && error.to_string().contains(&what), "{error}");
        }
        assert!(["z", "Z", "vz"].into_iter().all(|format| decode(format).is_ok()));
    }
}

#[test]
fn what_is_no_block_of_this_schema_is_corrupt() {
    let formats = vec!["l".to_owned(), "u".to_owned()];
    let batch = random::batch(&mut Random::new(8), &formats, 300);
    let imported = imported(&batch);
    let schema = decoded_schema(imported.schema());
    let block = row_frames(&batch.rows, 2, options()[3]).concat();
    let error = |schema: &Schema, block: &[u8]| {
        let decoded = ColumnDecoder::new().decode(schema, block, usize::MAX);
        let error = decoded.expect_err("an error");
        (error.kind, error.to_string())
    };
    let fewer = Schema { fields: schema.fields[..1].to_vec() };
    let (kind, what) = error(&fewer, &block);
    assert!(kind == ErrorKind::Corrupt && what.contains("frame at byte 0") && what.contains("2 fields"), "{what}");
    let (kind, what) = error(&schema, &block[..block.len() - 1]);
    assert!(kind == ErrorKind::Corrupt && what.contains("are there"), "{what}");
    let twice = [&block[..], &block[..40]].concat();
    let (kind, what) = error(&schema, &twice);
    assert!(kind == ErrorKind::Corrupt && what.contains(&format!("frame at byte {}", block.len())), "{what}");
    let mut flipped = block.clone();
    flipped[100] ^= 1;
    assert_eq!(error(&schema, &flipped).0, ErrorKind::Corrupt);
    let dictionary = Field { index: Some(sluice_columns::Type::Int32), ..schema.fields[0].clone() };
    let (kind, what) = error(&Schema { fields: vec![dictionary, schema.fields[1].clone()] }, &block);
    assert!(kind == ErrorKind::Unsupported && what.contains("dictionary"), "{what}");
}
