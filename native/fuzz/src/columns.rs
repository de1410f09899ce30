//! Frames decoded to arrays of Arrow types: frames of rows that have these types, of rows that claim to, and frames
//! that somebody has changed and made checksums for.

use std::cell::RefCell;

use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, Level};
use sluice_columns::{Batch, ColumnDecoder, ColumnEncoder, ColumnError, Formats, Schema};
use sluice_testkit::{Value, unsafe_row};

use crate::Choices;
use crate::payload::repair_checksums;
use crate::rows::damage;

/// Larger claims are not tried: the decoder takes as much memory as the header asks for.
const MOST_BYTES: u32 = 1 << 20;

/// A column's type, and what its values are like.
#[derive(Clone, Copy)]
struct Column {
    format: &'static str,
    value: fn(&mut Choices<'_>) -> Value,
}

const COLUMNS: [Column; 9] = [
    Column { format: "l", value: |c| Value::Word(c.word()) },
    Column { format: "l", value: |c| Value::Word(u64::from(c.byte())) },
    Column { format: "i", value: |c| Value::Word(c.word() >> 33) },
    Column { format: "b", value: |c| Value::Word(u64::from(c.byte() & 1)) },
    Column { format: "g", value: |c| Value::Word(f64::from(c.byte()).to_bits()) },
    Column { format: "u", value: |c| Value::Bytes((0..c.below(40)).map(|_| b'a' + c.byte() % 26).collect()) },
    Column { format: "vz", value: |c| Value::Bytes((0..c.below(40)).map(|_| c.byte()).collect()) },
    Column { format: "Z", value: |c| Value::Bytes(vec![c.byte(); c.below(200)]) },
    // Two bytes and more, none of which could be left out.
    Column { format: "d:38,10", value: |c| Value::Wide(Some([&[1][..], &vec![c.byte(); 1 + c.below(12)]].concat())) },
];

thread_local! {
    /// Kept, as engines keep them: what a bad frame leaves behind must not harm the next.
    static DECODER: RefCell<ColumnDecoder> = RefCell::new(ColumnDecoder::new());
}

/// Panics unless rows of these types come back, whole or as an error where something else was done to them: what is
/// decoded is a batch of as many rows as the headers say, which is the same when it is encoded and decoded again.
pub fn run(data: &[u8]) {
    let mut c = Choices::new(data);
    let columns: Vec<Column> = (0..c.below(6)).map(|_| c.pick(&COLUMNS)).collect();
    let schema = schema(&mut c, &columns);
    let mut good = schema.1;
    let mut block = Vec::new();
    for _ in 0..1 + c.below(3) {
        let mut rows = rows(&mut c, &columns);
        if c.one_in(3) {
            damage(&mut c, &mut rows);
            good = false;
        }
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let level = c.pick(&[Level::Fast, Level::Small, Level::Plain]);
        let mut encoder = Encoder::new(CodecOptions { codec: Codec::Lz4, level });
        let mut frame = encoder.encode_frame(&rows, columns.len() as u32).to_vec();
        if c.one_in(3) {
            for _ in 0..1 + c.below(3) {
                let at = c.below(frame.len());
                frame[at] = c.byte();
            }
            repair_checksums(&mut frame);
            good = false;
            if FrameHeader::parse(&frame).is_ok_and(|header| header.decoded_bytes > MOST_BYTES) {
                return;
            }
        }
        block.append(&mut frame);
    }
    let decoded = DECODER.with_borrow_mut(|decoder| decode(decoder, &schema.0, &block));
    assert!(decoded.is_ok() || !good, "rows of these types do not decode: {:?}", decoded.err());
    let Ok(batch) = decoded else { return };
    assert_eq!(batch.rows(), rows_of_block(&block), "as many as the headers say");
    let again = encode(&batch);
    let other = decode(&mut ColumnDecoder::new(), &schema.0, &again).expect("what was decoded decodes");
    assert!(encode(&other) == again, "other values than were decoded");
    if good {
        assert!(decoded_rows(&again) == decoded_rows(&block), "other rows than were encoded");
    }
}

/// That of the columns, or once in a while of other types; and whether it is the columns'.
fn schema(c: &mut Choices<'_>, columns: &[Column]) -> (Schema, bool) {
    let other = c.one_in(4);
    let format = |c: &mut Choices<'_>, column: &Column| if other { c.pick(&COLUMNS).format } else { column.format };
    let formats: Vec<&str> = columns.iter().map(|column| format(c, column)).collect();
    (Formats::parse(formats).expect("formats").schema().clone(), !other)
}

fn rows(c: &mut Choices<'_>, columns: &[Column]) -> Vec<Vec<u8>> {
    let count = if c.one_in(8) { c.pick(&[63, 64, 65, 512, 513]) } else { 1 + c.below(20) };
    let nulls = c.one_in(2);
    let value = |c: &mut Choices<'_>, column: &Column| match (nulls && c.one_in(4), column.format) {
        (false, _) => (column.value)(c),
        (true, "d:38,10") => Value::Wide(None),
        (true, _) => Value::Null,
    };
    (0..count).map(|_| unsafe_row(&columns.iter().map(|column| value(c, column)).collect::<Vec<_>>())).collect()
}

/// All frames of the block as one batch.
fn decode(decoder: &mut ColumnDecoder, schema: &Schema, block: &[u8]) -> Result<Batch, ColumnError> {
    let (array, read) = decoder.decode(schema, block, usize::MAX)?;
    assert_eq!(read, block.len(), "all of the block");
    // SAFETY: made by the crate.
    Ok(unsafe { Batch::import(array, schema) }.expect("what was decoded is a good batch"))
}

fn encode(batch: &Batch) -> Vec<u8> {
    let mut block = Vec::new();
    let mut encoder = ColumnEncoder::new(CodecOptions { codec: Codec::None, level: Level::Fast });
    let put = |frame: &[u8]| {
        block.extend_from_slice(frame);
        Ok::<_, ColumnError>(())
    };
    encoder.encode_all(&[batch], put).expect("encoded");
    block
}

fn frames(mut block: &[u8]) -> impl Iterator<Item = (FrameHeader, &[u8])> {
    std::iter::from_fn(move || {
        let header = FrameHeader::parse(block).ok()?;
        let (frame, rest) = block.split_at(sluice_codec::HEADER_BYTES + header.encoded_bytes as usize);
        block = rest;
        Some((header, frame))
    })
}

fn rows_of_block(block: &[u8]) -> usize {
    frames(block).map(|(header, _)| header.records as usize).sum()
}

fn decoded_rows(block: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for (header, frame) in frames(block) {
        let (mut rows, mut lengths) = (vec![0; header.decoded_bytes as usize], vec![0; header.records as usize]);
        Decoder::new().decode(frame, &mut rows, &mut lengths).expect("a good frame");
        all.append(&mut rows);
    }
    all
}
