//! Frames to rows.

use crate::bytes::{Input, round8};
use crate::decode_columns::Place;
use crate::error::{CodecError, Result};
use crate::header::{ENCODING_PLAIN, FrameHeader, HEADER_BYTES};
use crate::kernels::Kernels;
use crate::layout::{Kind, bitset_words, stride, words_fit};
use crate::scratch::{RETAINED_LIMIT, Scratch, clear_for, scratch_of};
use crate::seal::FrameKey;
use crate::tails;
use crate::vardata::{TargetSlot, VarDecoder};

/// Bytes, for each row, of the arrays that have one element a row.
const BYTES_PER_ROW: usize = 5 * size_of::<u64>();
/// Bytes by which arrays are rounded up, and of Zstandard's context.
const EXTRA_BYTES: usize = 256 << 10;

/// Decodes frames; owns all scratch memory. Not shared between threads; make one per thread.
///
/// Memory: while it decodes a frame, a decoder holds at most [`Decoder::scratch_bound`] bytes; between two calls at
/// most [`crate::RETAINED_LIMIT`].
pub struct Decoder {
    pub(crate) kernels: &'static Kernels,
    pub(crate) words: Vec<u64>,
    pub(crate) kinds: Vec<Kind>,
    /// Where the predicted part of each row ends, then where each row's next slot starts in the target.
    pub(crate) ends: Vec<u64>,
    pub(crate) tails: Vec<u64>,
    pub(crate) slots: Vec<TargetSlot>,
    pub(crate) var: VarDecoder,
    /// Values by field, for those who want columns.
    pub(crate) values: Vec<u8>,
    /// Where each field's values lie there.
    pub(crate) places: Vec<Place>,
}

scratch_of!(Decoder: words, kinds, ends, tails, slots, var, values, places);

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with the best kernels of this CPU.
    pub fn new() -> Self {
        Self::with_kernels(Kernels::best())
    }

    /// A decoder with given kernels; all give the same rows.
    pub fn with_kernels(kernels: &'static Kernels) -> Self {
        Self {
            kernels,
            words: Vec::new(),
            kinds: Vec::new(),
            ends: Vec::new(),
            tails: Vec::new(),
            slots: Vec::new(),
            var: VarDecoder::default(),
            values: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Verifies and decodes one whole frame. The rows go to `target`, back to back, and their lengths to
    /// `row_bytes`; both may be longer than needed. Returns the number of rows.
    ///
    /// # Errors
    /// When the frame is corrupt, does not fit, or takes more memory than there is; `target` then holds no promise.
    pub fn decode(&mut self, frame: &[u8], target: &mut [u8], row_bytes: &mut [u32]) -> Result<usize> {
        let header = FrameHeader::parse(frame)?;
        let payload = &frame[HEADER_BYTES..];
        header.check_payload(payload)?;
        self.decode_payload(&header, payload, target, row_bytes)
    }

    /// As [`Decoder::decode`], of a sealed frame, whose payload is decrypted in place.
    ///
    /// # Errors
    /// As [`Decoder::decode`], and those of [`FrameKey::open`].
    pub fn decode_sealed(
        &mut self,
        frame: &mut [u8],
        key: &FrameKey,
        target: &mut [u8],
        row_bytes: &mut [u32],
    ) -> Result<usize> {
        let (header, payload) = key.open(frame)?;
        self.decode_payload(&header, payload, target, row_bytes)
    }

    /// Bytes of memory that the decoder holds now: scratch and the context of Zstandard.
    pub fn retained_bytes(&self) -> usize {
        self.bytes()
    }

    /// Gives memory back if more than [`RETAINED_LIMIT`] is held: for those who are done with decoded columns.
    pub fn trim(&mut self) {
        self.keep_within_limit();
    }

    /// Most bytes of memory that the decoder holds while it decodes a frame with this header. Rows of many fields,
    /// few of them in a frame, need up to eight times their bytes; others two times.
    pub fn scratch_bound(header: &FrameHeader) -> usize {
        let (rows, fields, bytes) = (header.records as usize, header.fields as usize, header.decoded_bytes as usize);
        let words = bitset_words(fields) + fields;
        if header.encoding == ENCODING_PLAIN || !words_fit(rows, words, bytes) {
            return RETAINED_LIMIT;
        }
        let arrays = rows * BYTES_PER_ROW + fields + EXTRA_BYTES;
        words * stride(rows) * 8 + bytes + arrays + RETAINED_LIMIT
    }

    /// Decodes a payload whose checksum is not looked at: for fuzzing, which cannot guess checksums.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode_payload(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        target: &mut [u8],
        row_bytes: &mut [u32],
    ) -> Result<usize> {
        header.check()?;
        let (rows, bytes) = (header.records as usize, header.decoded_bytes as usize);
        if bytes > target.len() || rows > row_bytes.len() {
            return Err(CodecError::new(format!(
                "{rows} rows of {bytes} bytes do not fit room for {} lengths and {} bytes",
                row_bytes.len(),
                target.len()
            )));
        }
        let (target, row_bytes) = (&mut target[..bytes], &mut row_bytes[..rows]);
        let mut input = Input::new(payload);
        if header.encoding == ENCODING_PLAIN {
            decode_plain(&mut input, target, row_bytes)?;
        } else {
            let done = self.decode_columnar(header.fields as usize, &mut input, target, row_bytes);
            self.keep_within_limit();
            done?;
        }
        if !input.is_empty() {
            return Err(CodecError::new(format!("{} bytes after the payload's end", input.remaining())));
        }
        Ok(rows)
    }

    fn decode_columnar(
        &mut self,
        fields: usize,
        input: &mut Input<'_>,
        target: &mut [u8],
        row_bytes: &mut [u32],
    ) -> Result<()> {
        let (rows, first) = (row_bytes.len(), bitset_words(fields));
        let words = first + fields;
        if !words_fit(rows, words, target.len()) {
            return Err(CodecError::new(format!("{rows} rows of {words} words do not fit {} bytes", target.len())));
        }
        let stride = stride(rows);
        self.read_words(input, rows, fields, target.len())?;
        tails::read_lengths(self.kernels, input, rows, &mut self.tails)?;
        self.place_rows(words, stride, target, row_bytes)?;
        // `place_rows` left in `ends` where each row's tail lies, and in `row_bytes` the lengths.
        self.read_tail_bytes(input, target)?;
        self.read_slots(input, first, stride, target, row_bytes)
    }

    pub(crate) fn read_kinds(&mut self, input: &mut Input<'_>, fields: usize) -> Result<()> {
        let packed = input.take(fields.div_ceil(4), "field kinds")?;
        clear_for(&mut self.kinds, fields);
        for field in 0..fields {
            let bits = packed[field / 4] >> (2 * (field % 4)) & 3;
            let kind = Kind::from_bits(bits).ok_or_else(|| CodecError::new("unknown field kind 3"))?;
            self.kinds.push(kind);
        }
        Ok(())
    }

    /// Lays the rows out in `target` and writes their words.
    fn place_rows(&mut self, words: usize, stride: usize, target: &mut [u8], row_bytes: &mut [u32]) -> Result<()> {
        let mut start = 0u64;
        let limit = target.len() as u64;
        for (i, (end, length)) in self.ends.iter_mut().zip(row_bytes.iter_mut()).enumerate() {
            let tail = self.tails.get(i).copied().unwrap_or(0);
            let Some(bytes) = end.checked_add(tail).filter(|b| *b <= limit) else {
                return Err(CodecError::new(format!("row {i} is longer than its frame's {limit} bytes")));
            };
            *end += start;
            start += bytes;
            *length = bytes as u32;
        }
        if start != limit {
            return Err(CodecError::new(format!("rows have {start} bytes, the header says {limit}")));
        }
        let source = self.words.as_ptr();
        let mut row = target.as_mut_ptr();
        for (i, bytes) in row_bytes.iter().enumerate() {
            for w in 0..words {
                // SAFETY: `words` has words * stride elements and i < rows <= stride; the row's length is at
                // least words * 8 (`ends` starts there) and the lengths add up to `target.len()`, checked
                // above, so the write is inside `target`.
                unsafe { row.add(w * 8).cast::<u64>().write_unaligned(*source.add(w * stride + i)) };
            }
            // SAFETY: the lengths add up to `target.len()`, so this is at most one past its end.
            row = unsafe { row.add(*bytes as usize) };
        }
        Ok(())
    }

    fn read_tail_bytes(&mut self, input: &mut Input<'_>, target: &mut [u8]) -> Result<()> {
        if self.tails.is_empty() {
            return Ok(());
        }
        clear_for(&mut self.slots, self.ends.len());
        for (at, bytes) in self.ends.iter().zip(&self.tails) {
            let (at, bytes) = (*at as u32, *bytes as u32);
            self.slots.push(TargetSlot { at, slot: bytes, size: bytes });
        }
        self.var.decode(self.kernels, input, &self.slots, target)
    }

    fn read_slots(
        &mut self,
        input: &mut Input<'_>,
        first: usize,
        stride: usize,
        target: &mut [u8],
        row_bytes: &[u32],
    ) -> Result<()> {
        for (field, kind) in self.kinds.iter().enumerate().filter(|(_, k)| **k != Kind::Word) {
            let column = &self.words[(first + field) * stride..][..row_bytes.len()];
            clear_for(&mut self.slots, self.ends.len());
            match kind {
                Kind::Var16 => place_slots(column, row_bytes, &mut self.slots, |_| (16, 16)),
                _ => place_slots(column, row_bytes, &mut self.slots, |word| (round8(word & 0xFFFF_FFFF), word)),
            }
            self.var.decode(self.kernels, input, &self.slots, target)?;
        }
        Ok(())
    }
}

/// Says where each row's slot lies; `slot_and_size` gives their lengths for a word that is not 0.
#[inline(always)]
fn place_slots(
    words: &[u64],
    row_bytes: &[u32],
    slots: &mut Vec<TargetSlot>,
    slot_and_size: impl Fn(u64) -> (u64, u64),
) {
    let mut row = 0u32;
    slots.extend(words.iter().zip(row_bytes).map(|(word, bytes)| {
        let (slot, size) = if *word == 0 { (0, 0) } else { slot_and_size(*word) };
        // The offset is below the row's length (`restore_words`), and the rows' lengths add up to a u32.
        let at = row + (*word >> 32) as u32;
        row += *bytes;
        TargetSlot { at, slot: slot as u32, size: size as u32 }
    }));
}

/// Turns size codes back into words, and moves each row's end past the slot.
pub(crate) fn restore_words(kind: Kind, column: &mut [u64], ends: &mut [u64], limit: usize) -> Result<()> {
    let (mut sizes, mut furthest) = (0u64, 0u64);
    for (code, end) in column.iter_mut().zip(ends) {
        let size = code.wrapping_sub(1);
        let word = if *code == 0 { 0 } else { *end << 32 | (size & 0xFFFF_FFFF) };
        sizes |= if *code == 0 { 0 } else { size };
        *end += kind.slot_bytes(word);
        furthest = furthest.max(*end);
        *code = word;
    }
    if sizes > u64::from(u32::MAX) || furthest > limit as u64 {
        return Err(CodecError::new(format!("a value reaches {furthest} bytes into a row, its frame has {limit}")));
    }
    Ok(())
}

fn decode_plain(input: &mut Input<'_>, target: &mut [u8], row_bytes: &mut [u32]) -> Result<()> {
    let lengths = input.take(row_bytes.len() * 4, "row lengths")?;
    let mut total = 0u64;
    for (out, b) in row_bytes.iter_mut().zip(lengths.chunks_exact(4)) {
        *out = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        total += u64::from(*out);
    }
    if total != target.len() as u64 {
        return Err(CodecError::new(format!("rows have {total} bytes, the header says {}", target.len())));
    }
    target.copy_from_slice(input.take(target.len(), "rows")?);
    Ok(())
}
