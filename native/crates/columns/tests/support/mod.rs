//! A producer of arrays, written from the interface's definition and not with the crate's own exporter; and random
//! batches with the rows that they stand for.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod producer;
pub mod random;

use sluice_codec::{Codec, CodecOptions, Encoder, Level};
use sluice_columns::{Batch, ColumnDecoder, ColumnEncoder, ColumnError, RowId};

use producer::SchemaSpec;

/// Options of every kind.
pub fn options() -> Vec<CodecOptions> {
    let mut all = vec![CodecOptions { codec: Codec::None, level: Level::Plain }];
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy] {
        all.push(CodecOptions { codec, level: Level::Fast });
        all.push(CodecOptions { codec, level: Level::Small });
    }
    all
}

/// The frames of rows.
pub fn row_frames(rows: &[Vec<u8>], fields: usize, options: CodecOptions) -> Vec<Vec<u8>> {
    let refs: Vec<&[u8]> = rows.iter().map(|r| &r[..]).collect();
    let mut frames = Vec::new();
    let done: Result<(), ()> = Encoder::new(options).encode(&refs, fields as u32, |frame| {
        frames.push(frame.to_vec());
        Ok(())
    });
    done.expect("no error of the sink");
    frames
}

/// The frames of rows of batches.
pub fn column_frames(batches: &[&Batch], rows: &[RowId], options: CodecOptions) -> Result<Vec<Vec<u8>>, ColumnError> {
    let mut frames = Vec::new();
    ColumnEncoder::new(options).encode(batches, rows, |frame| {
        frames.push(frame.to_vec());
        Ok::<(), ColumnError>(())
    })?;
    Ok(frames)
}

/// The frames of all rows of batches.
pub fn all_frames(batches: &[&Batch], options: CodecOptions) -> Result<Vec<Vec<u8>>, ColumnError> {
    let mut frames = Vec::new();
    ColumnEncoder::new(options).encode_all(batches, |frame| {
        frames.push(frame.to_vec());
        Ok::<(), ColumnError>(())
    })?;
    Ok(frames)
}

/// The frames of each partition.
pub fn partition_frames(
    encoder: &mut ColumnEncoder,
    batches: &[&Batch],
    ids: &[&[u32]],
    partitions: u32,
) -> Result<Vec<Vec<Vec<u8>>>, ColumnError> {
    let mut frames = vec![Vec::new(); partitions as usize];
    let mut last = 0;
    encoder.encode_partitions(batches, ids, partitions, |partition, frame| {
        assert!(partition >= last, "partitions come in ascending order");
        last = partition;
        frames[partition as usize].push(frame.to_vec());
        Ok::<(), ColumnError>(())
    })?;
    Ok(frames)
}

/// All rows of a batch, which is number `batch`.
pub fn all_rows(batch: u32, rows: usize) -> Vec<RowId> {
    (0..rows as u32).map(|row| RowId { batch, row }).collect()
}

/// Rows as a batch.
pub fn decoded(rows: &[Vec<u8>], formats: &[String]) -> Batch {
    let schema = SchemaSpec::batch(formats.iter().map(|format| SchemaSpec::of(format)).collect());
    let schema = schema.read().expect("a schema");
    let options = CodecOptions { codec: Codec::None, level: Level::Fast };
    let block = if rows.is_empty() { Vec::new() } else { row_frames(rows, formats.len(), options).concat() };
    let (array, _) = ColumnDecoder::new().decode(&schema, &block, usize::MAX).expect("own frames");
    // SAFETY: made by the crate.
    unsafe { Batch::import(array, &schema).expect("own array") }
}
