//! Frames to columns, without rows in between.
//!
//! A frame's columns are the words of its rows; the values behind them lie by field. So a reader that wants columns
//! gets them as they are, if the frame's fields have slots where the reader's types have ([`Slots`]). They have not in
//! plain frames, where rows have tails, and where the encoder took numbers for offsets; such a frame must be decoded to
//! rows. Of these too the lengths of the rows have been found to be those that the header gives, so that nobody makes
//! room for rows that a frame of a few bytes only claims to have.

use crate::bytes::Input;
use crate::column;
use crate::columns::Slots;
use crate::decode::{Decoder, restore_words};
use crate::error::{CodecError, Result};
use crate::header::{ENCODING_PLAIN, FrameHeader, HEADER_BYTES};
use crate::layout::{Kind, bitset_words, stride, words_fit};
use crate::scratch::{Scratch, clear_for, try_at_least};
use crate::tails;
use crate::vardata::TargetSlot;

/// The rows of a frame, by column.
pub struct DecodedColumns<'d> {
    rows: usize,
    first: usize,
    stride: usize,
    words: &'d [u64],
    kinds: &'d [Kind],
    places: &'d [Place],
    values: &'d [u8],
}

/// Where the values of a field lie among those of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    start: usize,
    bytes: usize,
    /// Whether each value has its slot, with padding; else they lie back to back.
    slots: bool,
}

impl DecodedColumns<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Of each row the `w`th word of null bits.
    pub fn null_words(&self, w: usize) -> &[u64] {
        &self.words[w * self.stride..][..self.rows]
    }

    /// Of each row the field's word; for a value with a slot, its size in the low 32 bits.
    pub fn words(&self, field: usize) -> &[u64] {
        self.null_words(self.first + field)
    }

    /// The field's values, if they lie back to back.
    pub fn back_to_back(&self, field: usize) -> Option<&[u8]> {
        let place = self.places[field];
        (!place.slots).then(|| &self.values[place.start..][..place.bytes])
    }

    /// Bytes that the field's values take together, with their padding.
    pub fn bytes_behind(&self, field: usize) -> usize {
        self.places[field].bytes
    }

    /// Of each row in order the value behind the words; an empty one where there is none.
    pub fn values(&self, field: usize) -> impl Iterator<Item = Value<'_>> {
        let place = self.places[field];
        // As `Kind::slot_bytes`, without a question in the loop.
        let (padding, of_size, fixed) = match self.kinds[field] {
            Kind::Word => (0, 0, 0),
            Kind::Var if place.slots => (7, !7, 0),
            Kind::Var => (0, !0, 0),
            Kind::Var16 => (0, 0, 16),
        };
        let mut rest = &self.values[place.start..];
        self.words(field).iter().map(move |word| {
            let size = *word & 0xFFFF_FFFF;
            let slot = (size + padding) & of_size | if *word == 0 { 0 } else { fixed };
            let value = Value { from: rest, size: size.min(slot) as usize };
            let slot = slot as usize;
            rest = &rest[slot..];
            value
        })
    }
}

/// A value behind the words of its row: some bytes, and whatever lies behind them in memory.
#[derive(Debug, Clone, Copy)]
pub struct Value<'d> {
    from: &'d [u8],
    size: usize,
}

impl<'d> Value<'d> {
    /// The first `size` bytes of `from`; none if there are fewer.
    pub fn new(from: &'d [u8], size: usize) -> Option<Self> {
        (size <= from.len()).then_some(Self { from, size })
    }

    /// Its bytes.
    #[inline(always)]
    pub fn bytes(self) -> &'d [u8] {
        &self.from[..self.size]
    }

    /// How many bytes it has.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.size
    }

    /// The bytes where it begins, if so many can be read there. What a shorter value is followed by means nothing, but
    /// to copy a fixed number of bytes takes no branch on its size.
    #[inline(always)]
    pub fn first<const N: usize>(self) -> Option<&'d [u8; N]> {
        self.from.first_chunk()
    }
}

impl Decoder {
    /// Verifies and decodes one whole frame to columns, if its fields have these slots; else none, and the frame is one
    /// for [`Decoder::decode`].
    ///
    /// This takes up to the frame's decoded bytes more than [`Decoder::scratch_bound`], until the next call or
    /// [`Decoder::trim`].
    ///
    /// # Errors
    /// When the frame is corrupt, has another number of fields, or takes more memory than there is.
    pub fn decode_columns<'d>(&'d mut self, frame: &[u8], slots: &[Slots]) -> Result<Option<DecodedColumns<'d>>> {
        let header = FrameHeader::parse(frame)?;
        let payload = &frame[HEADER_BYTES..];
        header.check_payload(payload)?;
        self.decode_payload_columns(&header, payload, slots)
    }

    /// Decodes a payload whose checksum is not looked at: for fuzzing, which cannot guess checksums.
    ///
    /// # Errors
    /// As [`Decoder::decode_columns`].
    pub fn decode_payload_columns<'d>(
        &'d mut self,
        header: &FrameHeader,
        payload: &[u8],
        slots: &[Slots],
    ) -> Result<Option<DecodedColumns<'d>>> {
        header.check()?;
        self.keep_within_limit();
        let (rows, fields, bytes) = (header.records as usize, header.fields as usize, header.decoded_bytes as usize);
        if fields != slots.len() {
            return Err(CodecError::new(format!("rows of {fields} fields, {} wanted", slots.len())));
        }
        let words = bitset_words(fields) + fields;
        if header.encoding == ENCODING_PLAIN {
            return match rows * 4 + bytes {
                whole if whole == payload.len() => Ok(None),
                whole => Err(CodecError::new(format!("{whole} bytes of rows in {} of payload", payload.len()))),
            };
        }
        if !words_fit(rows, words, bytes) {
            return Err(CodecError::new(format!("{rows} rows of {words} words do not fit {bytes} bytes")));
        }
        let mut input = Input::new(payload);
        self.read_words(&mut input, rows, fields, bytes)?;
        tails::read_lengths(self.kernels, &mut input, rows, &mut self.tails)?;
        let total = self.ends.iter().chain(&self.tails).try_fold(0u64, |sum, part| sum.checked_add(*part));
        if total != Some(bytes as u64) {
            return Err(CodecError::new(format!("the rows' lengths do not add up to {bytes} bytes")));
        }
        if !self.tails.is_empty() || !self.fit(slots, rows) {
            return Ok(None);
        }
        self.read_values(&mut input, rows, fields, bytes - rows * words * 8)?;
        if !input.is_empty() {
            return Err(CodecError::new(format!("{} bytes after the payload's end", input.remaining())));
        }
        let (first, stride) = (bitset_words(fields), stride(rows));
        Ok(Some(DecodedColumns {
            rows,
            first,
            stride,
            words: &self.words,
            kinds: &self.kinds,
            places: &self.places,
            values: &self.values,
        }))
    }

    /// Kinds and words, and where each row's slots end.
    pub(crate) fn read_words(&mut self, input: &mut Input<'_>, rows: usize, fields: usize, limit: usize) -> Result<()> {
        let (first, stride) = (bitset_words(fields), stride(rows));
        let words = first + fields;
        self.read_kinds(input, fields)?;
        try_at_least(&mut self.words, words * stride)?;
        clear_for(&mut self.ends, rows);
        self.ends.resize(rows, words as u64 * 8);
        for w in 0..words {
            let column = &mut self.words[w * stride..(w + 1) * stride];
            column::decode(self.kernels, input, rows, column)?;
            if w >= first && self.kinds[w - first] != Kind::Word {
                restore_words(self.kinds[w - first], &mut column[..rows], &mut self.ends, limit)?;
            }
        }
        Ok(())
    }

    /// Whether each field has slots if and only if it should.
    fn fit(&self, slots: &[Slots], rows: usize) -> bool {
        let (first, stride) = (bitset_words(slots.len()), stride(rows));
        slots.iter().zip(&self.kinds).enumerate().all(|(field, (slots, kind))| match (slots, kind) {
            (Slots::None, kind) => *kind == Kind::Word,
            // Nulls and empty values have no slots, so a field of only these can be one of words.
            (Slots::Rounded, Kind::Word) => {
                self.words[(first + field) * stride..][..rows].iter().all(|word| word & 0xFFFF_FFFF == 0)
            }
            (Slots::Sixteen, Kind::Word) => false,
            (_, Kind::Var16) => {
                self.words[(first + field) * stride..][..rows].iter().all(|word| word & 0xFFFF_FFFF <= 16)
            }
            _ => true,
        })
    }

    /// The values of all fields with slots, by field; their slots take `bytes` together.
    fn read_values(&mut self, input: &mut Input<'_>, rows: usize, fields: usize, bytes: usize) -> Result<()> {
        let (first, stride) = (bitset_words(fields), stride(rows));
        try_at_least(&mut self.values, bytes)?;
        clear_for(&mut self.places, fields);
        let mut start = 0;
        for (field, kind) in self.kinds.iter().enumerate() {
            if *kind == Kind::Word {
                self.places.push(Place { start, bytes: 0, slots: true });
                continue;
            }
            let words = &self.words[(first + field) * stride..][..rows];
            let sizes = words.iter().map(|word| (*word & 0xFFFF_FFFF) as usize).sum();
            if *kind == Kind::Var && self.var.decode_trimmed(input, sizes, &mut self.values[start..bytes])? {
                self.places.push(Place { start, bytes: sizes, slots: false });
                start += sizes;
                continue;
            }
            clear_for(&mut self.slots, rows);
            let mut at = start;
            self.slots.extend(words.iter().map(|word| {
                let slot = kind.slot_bytes(*word) as usize;
                let size = if *kind == Kind::Var16 { slot } else { (*word & 0xFFFF_FFFF) as usize };
                let target =
                    TargetSlot { at: at as u32, slot: slot as u32, size: if slot == 0 { 0 } else { size as u32 } };
                at += slot;
                target
            }));
            self.var.decode(self.kernels, input, &self.slots, &mut self.values[..bytes])?;
            self.places.push(Place { start, bytes: at - start, slots: true });
            start = at;
        }
        Ok(())
    }
}
