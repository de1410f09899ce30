//! Encodes and decodes rows that are Spark's `UnsafeRow`s already: for nested types, which are no columns here.

use sluice_codec::{FrameHeader, MAX_FIELDS, bitset_words};

use crate::decode::{ColumnDecoder, next_frame, undecoded};
use crate::encode::ColumnEncoder;
use crate::error::{ColumnError, Result};
use crate::partition::check;
use crate::room::{repeated, room};

/// The longest row: Spark has its length in a signed number, and it is a multiple of eight.
const MOST_ROW_BYTES: u32 = i32::MAX as u32 & !7;

/// Rows of equally many fields, where they lie.
#[derive(Debug)]
pub struct UnsafeRows<'r> {
    rows: Vec<&'r [u8]>,
    fields: u32,
}

impl<'r> UnsafeRows<'r> {
    /// Rows that lie one behind the other in `bytes`, of so many bytes each.
    ///
    /// # Errors
    /// `Invalid` when they are no rows of so many fields, or `bytes` are not as many as they have; `NoMemory`.
    pub fn new(bytes: &'r [u8], lengths: &[u32], fields: u32) -> Result<Self> {
        if fields > MAX_FIELDS {
            return Err(ColumnError::invalid(format!("{fields} fields, there may be {MAX_FIELDS}")));
        }
        let least = (bitset_words(fields as usize) + fields as usize) * 8;
        let (mut rows, mut rest) = (room(lengths.len())?, bytes);
        for (i, len) in lengths.iter().enumerate() {
            if (*len as usize) < least || len % 8 != 0 || *len > MOST_ROW_BYTES {
                return Err(ColumnError::invalid(format!(
                    "row {i} has {len} bytes; one of {fields} fields has a multiple of eight, from {least} to \
                     {MOST_ROW_BYTES}"
                )));
            }
            let Some((row, behind)) = rest.split_at_checked(*len as usize) else {
                return Err(ColumnError::invalid(format!("row {i} has {len} bytes, {} are left", rest.len())));
            };
            rows.push(row);
            rest = behind;
        }
        match rest {
            [] => Ok(Self { rows, fields }),
            rest => Err(ColumnError::invalid(format!("{} bytes are behind the last row", rest.len()))),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows by partition, those of one in the order in which they come, and where each partition's end.
    fn by_partition(&self, ids: &[u32], partitions: u32) -> Result<(Vec<&'r [u8]>, Vec<usize>)> {
        check(partitions)?;
        if ids.len() != self.rows.len() {
            return Err(ColumnError::invalid(format!("{} ids for {} rows", ids.len(), self.rows.len())));
        }
        let mut ends = repeated(0usize, partitions as usize)?;
        for (i, id) in ids.iter().enumerate() {
            let of = ends.get_mut(*id as usize);
            *of.ok_or_else(|| ColumnError::invalid(format!("row {i}: partition {id} of {partitions}")))? += 1;
        }
        let mut next = 0;
        for end in &mut ends {
            (*end, next) = (next, next + *end);
        }
        // From here on each is where the next row of its partition goes, and in the end where they end.
        let mut sorted: Vec<&[u8]> = repeated(&[][..], self.rows.len())?;
        for (row, id) in self.rows.iter().zip(ids) {
            let at = &mut ends[*id as usize];
            sorted[*at] = row;
            *at += 1;
        }
        Ok((sorted, ends))
    }
}

impl ColumnEncoder {
    /// Encodes rows by partition, in ascending order, those of one partition in the order in which they come, handing
    /// each finished frame and its partition to `sink`. `ids` are the rows' partitions; without, all are in
    /// partition 0. The rows are not copied: with `ids` 16 bytes for each are kept during the call, and 8 for each
    /// partition.
    ///
    /// # Errors
    /// `Invalid` when an id is missing or no partition; `NoMemory`; those of `sink`.
    pub fn encode_rows<E: From<ColumnError>>(
        &mut self,
        rows: &UnsafeRows<'_>,
        ids: Option<&[u32]>,
        partitions: u32,
        mut sink: impl FnMut(u32, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Some(ids) = ids else {
            return self.encoder.encode(&rows.rows, rows.fields, |frame| sink(0, frame));
        };
        let (sorted, ends) = rows.by_partition(ids, partitions)?;
        let mut from = 0;
        for (partition, end) in (0..).zip(ends) {
            self.encoder.encode(&sorted[from..end], rows.fields, |frame| sink(partition, frame))?;
            from = end;
        }
        Ok(())
    }
}

/// Sizes of a frame, from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameExtent {
    /// Of the frame, in its block.
    pub bytes: usize,
    /// Of its rows together.
    pub row_bytes: usize,
    /// How many rows.
    pub rows: usize,
    /// Fields of each.
    pub fields: u32,
}

impl FrameExtent {
    /// Of the frame that `block` begins with, by its header.
    ///
    /// # Errors
    /// `Corrupt` when it begins with none, or not the whole frame is there.
    pub fn of(block: &[u8]) -> Result<Self> {
        next_frame(block).map(|(header, frame)| Self::of_frame(&header, frame))
    }

    fn of_frame(header: &FrameHeader, frame: &[u8]) -> Self {
        Self {
            bytes: frame.len(),
            row_bytes: header.decoded_bytes as usize,
            rows: header.records as usize,
            fields: header.fields,
        }
    }
}

impl ColumnDecoder {
    /// Decodes the frame that `block` begins with: its rows to `rows`, one behind the other, and their lengths to
    /// `lengths`. Bytes beyond them are not changed.
    ///
    /// # Errors
    /// `Corrupt` when it is no frame; `Invalid` when there is less room than its [`FrameExtent`] says; `NoMemory`.
    pub fn decode_rows(&mut self, block: &[u8], rows: &mut [u8], lengths: &mut [u32]) -> Result<FrameExtent> {
        let (header, frame) = next_frame(block)?;
        let extent = FrameExtent::of_frame(&header, frame);
        let (bytes_of_room, rows_of_room) = (rows.len(), lengths.len());
        let (Some(rows), Some(lengths)) = (rows.get_mut(..extent.row_bytes), lengths.get_mut(..extent.rows)) else {
            return Err(ColumnError::invalid(format!(
                "room for {rows_of_room} rows of {bytes_of_room} bytes, the frame has {} of {}",
                extent.rows, extent.row_bytes
            )));
        };
        self.decoder.decode(frame, rows, lengths).map_err(undecoded)?;
        Ok(extent)
    }
}

#[cfg(test)]
mod tests {
    use sluice_codec::{Codec, CodecOptions, Level};

    use super::*;
    use crate::error::ErrorKind;

    /// Rows of two fields, a number and what is behind the words: one, two, … words.
    fn row(number: u64, words: usize) -> Vec<u8> {
        let mut row = [0, number, (24 << 32) | (words as u64 * 8)].map(u64::to_le_bytes).concat();
        row.extend((0..words).flat_map(|word| (number + word as u64).to_le_bytes()));
        row
    }

    fn some(count: u64) -> (Vec<Vec<u8>>, Vec<u8>, Vec<u32>) {
        let rows: Vec<Vec<u8>> = (0..count).map(|i| row(i, i as usize % 5)).collect();
        let lengths = rows.iter().map(|row| row.len() as u32).collect();
        let bytes = rows.concat();
        (rows, bytes, lengths)
    }

    fn encoder() -> ColumnEncoder {
        ColumnEncoder::new(CodecOptions { codec: Codec::Lz4, level: Level::Fast })
    }

    fn decoded(block: &[u8]) -> Vec<Vec<u8>> {
        let (mut decoder, mut at, mut all) = (ColumnDecoder::new(), 0, Vec::new());
        while at < block.len() {
            let extent = FrameExtent::of(&block[at..]).expect("a frame");
            // More room than is needed.
            let (mut rows, mut lengths) = (vec![0; extent.row_bytes + 8], vec![0; extent.rows + 1]);
            assert_eq!(decoder.decode_rows(&block[at..], &mut rows, &mut lengths), Ok(extent));
            let mut from = 0;
            for len in &lengths[..extent.rows] {
                all.push(rows[from..from + *len as usize].to_vec());
                from += *len as usize;
            }
            assert_eq!(from, extent.row_bytes);
            at += extent.bytes;
        }
        all
    }

    #[test]
    fn rows_come_back_in_their_partitions_and_in_their_order() {
        let (rows, bytes, lengths) = some(10_000);
        let all = UnsafeRows::new(&bytes, &lengths, 2).expect("rows");
        let ids: Vec<u32> = (0..all.len() as u32).map(|i| i * 7 % 3 * 2).collect();
        let mut blocks = vec![Vec::new(); 6];
        let mut last = 0;
        let put = |partition: u32, frame: &[u8]| {
            assert!(partition >= last, "ascending");
            last = partition;
            blocks[partition as usize].extend_from_slice(frame);
            Ok::<_, ColumnError>(())
        };
        encoder().encode_rows(&all, Some(&ids), 6, put).expect("encoded");
        for (partition, block) in (0..).zip(&blocks) {
            let expected = rows.iter().zip(&ids).filter(|(_, id)| **id == partition).map(|(row, _)| row.clone());
            assert_eq!(decoded(block), expected.collect::<Vec<_>>(), "partition {partition}");
        }
    }

    #[test]
    fn without_ids_all_are_in_partition_0() {
        let (rows, bytes, lengths) = some(100);
        let all = UnsafeRows::new(&bytes, &lengths, 2).expect("rows");
        let mut block = Vec::new();
        let put = |partition: u32, frame: &[u8]| {
            assert_eq!(partition, 0);
            block.extend_from_slice(frame);
            Ok::<_, ColumnError>(())
        };
        encoder().encode_rows(&all, None, 1, put).expect("encoded");
        assert_eq!(decoded(&block), rows);
    }

    #[test]
    fn what_are_no_rows_is_invalid() {
        let (_, bytes, lengths) = some(3);
        let kind = |bytes: &[u8], lengths: &[u32], fields: u32| {
            UnsafeRows::new(bytes, lengths, fields).err().map(|e| (e.kind, e.to_string()))
        };
        let is = |found: Option<(ErrorKind, String)>, text: &str| {
            assert!(
                found.as_ref().is_some_and(|(kind, what)| *kind == ErrorKind::Invalid && what.contains(text)),
                "{found:?}"
            );
        };
        assert_eq!(kind(&bytes, &lengths, 2), None);
        is(kind(&bytes, &lengths, 3), "row 0 has 24 bytes");
        is(kind(&bytes, &lengths, MAX_FIELDS + 1), "fields, there may be");
        is(kind(&bytes, &[24, 31, 41], 2), "row 1 has 31 bytes");
        is(kind(&bytes, &lengths[..2], 2), "bytes are behind the last row");
        is(kind(&bytes[..80], &lengths, 2), "are left");
        is(kind(&bytes, &[24, u32::MAX - 7], 2), "row 1 has 4294967288 bytes");
    }

    #[test]
    fn wrong_partitions_and_short_rooms_are_invalid_and_other_bytes_corrupt() {
        let (_, bytes, lengths) = some(3);
        let all = UnsafeRows::new(&bytes, &lengths, 2).expect("rows");
        let mut block = Vec::new();
        let mut encode = |ids: &[u32], partitions: u32| {
            encoder().encode_rows(&all, Some(ids), partitions, |_, frame| {
                block.extend_from_slice(frame);
                Ok::<_, ColumnError>(())
            })
        };
        assert!(encode(&[0, 1], 2).is_err_and(|e| e.to_string().contains("2 ids for 3 rows")));
        assert!(encode(&[0, 1, 2], 2).is_err_and(|e| e.to_string().contains("row 2: partition 2 of 2")));
        assert!(encode(&[0, 0, 0], 0).is_err_and(|e| e.kind == ErrorKind::Invalid));
        encode(&[0, 0, 0], 1).expect("encoded");
        let mut decoder = ColumnDecoder::new();
        let mut decode = |block: &[u8], bytes: usize, rows: usize| {
            decoder.decode_rows(block, &mut vec![0; bytes], &mut vec![0; rows]).map_err(|e| e.kind)
        };
        let bytes = bytes.len();
        assert_eq!(decode(&block, bytes - 1, 3), Err(ErrorKind::Invalid));
        assert_eq!(decode(&block, bytes, 2), Err(ErrorKind::Invalid));
        assert_eq!(decode(&block[..block.len() - 1], bytes, 3), Err(ErrorKind::Corrupt));
        assert!(decode(&block, bytes, 3).is_ok());
        *block.last_mut().expect("a byte") ^= 1;
        assert_eq!(decode(&block, bytes, 3), Err(ErrorKind::Corrupt));
    }
}
