//! Frames to arrays.

use sluice_codec::{
    CodecError, DecodedColumns, Decoder, FrameHeader, HEADER_BYTES, RETAINED_LIMIT, Slots, Value, bitset_words,
};

use crate::builder::{Builder, FieldOfRows};
use crate::error::{ColumnError, ErrorKind, Result};
use crate::export::Made;
use crate::format::Type;
use crate::owned::OwnedArray;
use crate::schema::{Field, Schema};

/// Decodes frames to arrays, whoever wrote the frames; owns its scratch memory, of which between two calls it keeps at
/// most twice [`RETAINED_LIMIT`]. One thread at a time.
#[derive(Default)]
pub struct ColumnDecoder {
    pub(crate) decoder: Decoder,
    rows: Rows,
}

impl ColumnDecoder {
    /// A decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes frames from the beginning of `block`, as long as they have no more than `most_rows` rows together, but
    /// at least one. Returns the batch, and how many bytes of the block it was in.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are no frames, or their rows none of this schema; `Unsupported` for a schema with
    /// dictionaries (give the types of their values), for more bytes than the type's offsets can number, and for
    /// strings that are not UTF-8 (Spark has such; take them as binary).
    pub fn decode(&mut self, schema: &Schema, block: &[u8], most_rows: usize) -> Result<(OwnedArray, usize)> {
        let decoded = self.decode_frames(schema, block, most_rows);
        self.decoder.trim();
        self.rows.trim();
        decoded
    }

    /// The most bytes that the decoder holds while it decodes these frames; the arrays that it makes are not in it.
    /// What is no frame counts nothing, nor what is behind it: it is an error of [`ColumnDecoder::decode`].
    pub fn scratch_bound(frames: &[u8]) -> usize {
        let (mut at, mut codec, mut bytes, mut rows) = (0, RETAINED_LIMIT, 0, 0);
        while let Ok((header, frame)) = next_frame(&frames[at..]) {
            let decoded = header.decoded_bytes as usize;
            // Columns' slots are beside the codec's own scratch memory.
            codec = codec.max(Decoder::scratch_bound(&header) + decoded);
            bytes = bytes.max(decoded);
            rows = rows.max(header.records as usize);
            at += frame.len();
        }
        // `Rows`: the rows, their lengths, and their words, which are no more than the rows.
        codec + 2 * bytes + rows * size_of::<u32>() + RETAINED_LIMIT
    }

    /// Bytes of scratch memory that the decoder holds now.
    pub fn retained_bytes(&self) -> usize {
        self.decoder.retained_bytes() + self.rows.retained_bytes()
    }

    fn decode_frames(&mut self, schema: &Schema, block: &[u8], most_rows: usize) -> Result<(OwnedArray, usize)> {
        let builders = schema.fields.iter().enumerate().map(|(i, field)| match field.index {
            Some(_) => Err(ColumnError::unsupported(format!("{} has a dictionary", field.place(i)))),
            None => Builder::new(field.ty, i),
        });
        let mut builders = builders.collect::<Result<Vec<_>>>()?;
        let slots: Vec<Slots> = schema.fields.iter().map(|field| slots(field.ty)).collect();
        let (mut at, mut rows) = (0, 0usize);
        while at < block.len() {
            let place = |e: ColumnError| e.at(format_args!("frame at byte {at}"));
            let (header, frame) = next_frame(&block[at..]).map_err(place)?;
            if rows > 0 && rows + header.records as usize > most_rows {
                break;
            }
            self.append(&header, frame, &slots, schema, &mut builders).map_err(place)?;
            rows += header.records as usize;
            at += frame.len();
            if rows == header.records as usize && at < block.len() {
                let more = rows_like(header.records as usize, at, &block[at..], most_rows);
                builders.iter_mut().for_each(|builder| builder.reserve(more));
            }
        }
        let children = builders.into_iter().map(Builder::finish).collect::<Result<_>>()?;
        Ok((Made { rows, nulls: 0, buffers: vec![None], children }.export(), at))
    }

    fn append(
        &mut self,
        header: &FrameHeader,
        frame: &[u8],
        slots: &[Slots],
        schema: &Schema,
        builders: &mut [Builder],
    ) -> Result<()> {
        let place = |e: ColumnError, i: usize| e.at(schema.fields[i].place(i));
        if let Some(columns) = self.decoder.decode_columns(frame, slots).map_err(undecoded)? {
            for (i, builder) in builders.iter_mut().enumerate() {
                builder.append(&Decoded { columns: &columns, field: i }).map_err(|e| place(e, i))?;
            }
            return Ok(());
        }
        self.rows.decode(&mut self.decoder, header, frame, slots.len())?;
        for (i, builder) in builders.iter_mut().enumerate() {
            builder.append(&FieldInRows { rows: &self.rows, field: i }).map_err(|e| place(e, i))?;
        }
        Ok(())
    }
}

/// The array of rows that lie one behind the other, of so many bytes each.
///
/// # Errors
/// `Corrupt` when they are no rows of this schema; else those of [`ColumnDecoder::decode`].
pub(crate) fn array_of_rows(schema: &Schema, bytes: &[u8], lengths: &[u32]) -> Result<OwnedArray> {
    let total: u64 = lengths.iter().map(|len| u64::from(*len)).sum();
    if total != bytes.len() as u64 {
        return Err(ColumnError::corrupt(format!("rows of {total} bytes in {} bytes", bytes.len())));
    }
    let mut rows = Rows { bytes: bytes.to_vec(), lengths: lengths.to_vec(), ..Rows::default() };
    rows.split_words(schema.fields.len())?;
    let column = |(i, field): (usize, &Field)| {
        let mut builder = Builder::new(field.ty, i)?;
        builder.append(&FieldInRows { rows: &rows, field: i }).map_err(|e| e.at(field.place(i)))?;
        builder.finish()
    };
    let children = schema.fields.iter().enumerate().map(column).collect::<Result<_>>()?;
    Ok(Made { rows: lengths.len(), nulls: 0, buffers: vec![None], children }.export())
}

/// How many rows the frames of `block` may have that go to the batch which begins with a frame of `rows` rows in
/// `bytes` bytes: what their headers say, but no more than if each took as few bytes as those.
fn rows_like(rows: usize, bytes: usize, block: &[u8], most_rows: usize) -> usize {
    let (mut at, mut claimed) = (0, 0);
    while let Some((header, frame)) = block.get(at..).and_then(|rest| next_frame(rest).ok()) {
        if rows + claimed + header.records as usize > most_rows {
            break;
        }
        claimed += header.records as usize;
        at += frame.len();
    }
    claimed.min((rows as u128 * at as u128 / bytes.max(1) as u128) as usize)
}

/// The frame that the bytes begin with.
pub(crate) fn next_frame(bytes: &[u8]) -> Result<(FrameHeader, &[u8])> {
    let header = FrameHeader::parse(bytes).map_err(undecoded)?;
    let len = HEADER_BYTES + header.encoded_bytes as usize;
    let frame = bytes
        .get(..len)
        .ok_or_else(|| ColumnError::corrupt(format!("the frame has {len} bytes, {} are there", bytes.len())))?;
    Ok((header, frame))
}

pub(crate) fn undecoded(e: CodecError) -> ColumnError {
    let kind = if e.is_no_memory() { ErrorKind::NoMemory } else { ErrorKind::Corrupt };
    ColumnError::new(kind, e.to_string())
}

/// What values of a type take behind the words of their rows.
fn slots(ty: Type) -> Slots {
    match ty {
        Type::MonthDayNano => Slots::Sixteen,
        Type::Utf8(_) | Type::Binary(_) | Type::FixedBinary(_) => Slots::Rounded,
        _ if ty.is_wide_decimal() => Slots::Sixteen,
        _ => Slots::None,
    }
}

/// A field of a frame that was decoded to columns.
struct Decoded<'d> {
    columns: &'d DecodedColumns<'d>,
    field: usize,
}

impl FieldOfRows for Decoded<'_> {
    fn nulls(&self) -> &[u64] {
        self.columns.null_words(self.field / 64)
    }

    fn words(&self) -> &[u64] {
        self.columns.words(self.field)
    }

    fn back_to_back(&self) -> Option<&[u8]> {
        self.columns.back_to_back(self.field)
    }

    fn bytes_behind(&self) -> usize {
        self.columns.bytes_behind(self.field)
    }

    fn values(&self) -> impl Iterator<Item = Result<Value<'_>>> {
        self.columns.values(self.field).map(Ok)
    }
}

/// Rows of a frame, for those that do not decode to columns.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    /// Word `w` of row `i` at `w * rows + i`.
    words: Vec<u64>,
    /// Words of null bits.
    first: usize,
}

impl Rows {
    fn retained_bytes(&self) -> usize {
        self.bytes.capacity() + self.lengths.capacity() * size_of::<u32>() + self.words.capacity() * size_of::<u64>()
    }

    /// Gives memory back if more than [`RETAINED_LIMIT`] is held.
    fn trim(&mut self) {
        if self.retained_bytes() > RETAINED_LIMIT {
            *self = Self::default();
        }
    }

    /// Decodes a frame of which [`Decoder::decode_columns`] has found that its rows have as many bytes as its header
    /// says.
    fn decode(&mut self, decoder: &mut Decoder, header: &FrameHeader, frame: &[u8], fields: usize) -> Result<()> {
        let (rows, bytes) = (header.records as usize, header.decoded_bytes as usize);
        resize(&mut self.bytes, bytes)?;
        resize(&mut self.lengths, rows)?;
        decoder.decode(frame, &mut self.bytes, &mut self.lengths).map_err(undecoded)?;
        self.split_words(fields)
    }

    /// Takes the words of rows with so many fields.
    fn split_words(&mut self, fields: usize) -> Result<()> {
        let rows = self.lengths.len();
        self.first = bitset_words(fields);
        let words = self.first + fields;
        if let Some(i) = self.lengths.iter().position(|len| (*len as usize) < words * 8) {
            let len = self.lengths[i];
            return Err(ColumnError::corrupt(format!("row {i} has {len} bytes, {fields} fields need {}", words * 8)));
        }
        resize(&mut self.words, words * rows)?;
        for (i, row) in rows_of(&self.bytes, &self.lengths).enumerate() {
            for (w, word) in row.as_chunks::<8>().0[..words].iter().enumerate() {
                self.words[w * rows + i] = u64::from_le_bytes(*word);
            }
        }
        Ok(())
    }
}

fn resize<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) -> Result<()> {
    buffer.clear();
    buffer.try_reserve_exact(len).map_err(|_| {
        ColumnError::new(ErrorKind::NoMemory, format!("no memory for {} bytes of rows", len * size_of::<T>()))
    })?;
    buffer.resize(len, T::default());
    Ok(())
}

fn rows_of<'r>(mut bytes: &'r [u8], lengths: &'r [u32]) -> impl Iterator<Item = &'r [u8]> {
    lengths.iter().map(move |len| {
        let (row, rest) = bytes.split_at(*len as usize);
        bytes = rest;
        row
    })
}

/// A field of rows.
struct FieldInRows<'r> {
    rows: &'r Rows,
    field: usize,
}

impl FieldInRows<'_> {
    fn column(&self, w: usize) -> &[u64] {
        let rows = self.rows.lengths.len();
        &self.rows.words[w * rows..(w + 1) * rows]
    }
}

impl FieldOfRows for FieldInRows<'_> {
    fn nulls(&self) -> &[u64] {
        self.column(self.field / 64)
    }

    fn words(&self) -> &[u64] {
        self.column(self.rows.first + self.field)
    }

    fn back_to_back(&self) -> Option<&[u8]> {
        None
    }

    fn bytes_behind(&self) -> usize {
        self.rows.bytes.len()
    }

    fn values(&self) -> impl Iterator<Item = Result<Value<'_>>> {
        let (nulls, words, bit) = (self.nulls(), self.words(), self.field % 64);
        rows_of(&self.rows.bytes, &self.rows.lengths).enumerate().map(move |(i, row)| {
            let (start, size) = ((words[i] >> 32) as usize, (words[i] & 0xFFFF_FFFF) as usize);
            // Of a null nobody asks where it is.
            let value = if nulls[i] >> bit & 1 != 0 {
                Value::new(row, 0)
            } else {
                row.get(start..).and_then(|from| Value::new(from, size))
            };
            value.ok_or_else(|| {
                ColumnError::corrupt(format!("row {i}: {size} bytes at {start} of a row of {}", row.len()))
            })
        })
    }
}
