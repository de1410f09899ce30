//! Rows to frames.

use crate::column::ColumnEncoder;
use crate::compress::CONTEXT_BYTES;
use crate::header::{ENCODING_COLUMNAR, ENCODING_PLAIN, FrameHeader, HEADER_BYTES, PATH_ROWS};
use crate::kernels::Kernels;
use crate::layout::{Columns, Kind, bitset_words, predict, stride, words_fit};
use crate::options::{CodecOptions, Level};
use crate::portions::Portions;
use crate::scratch::{RETAINED_LIMIT, Scratch, at_least, clear_for, scratch_of};
use crate::seal::SEAL_BYTES;
use crate::tails;
use crate::vardata::{Slot, VarEncoder};

/// Rows of a frame together have about this many bytes: rows and columns fit a 1 MiB L2 cache together.
const FRAME_BYTES: usize = 160 << 10;
/// Most rows of a frame (zero-field rows have no bytes to count).
pub(crate) const FRAME_ROWS: usize = 4096;
/// Frames are cut at a multiple of this many rows, a whole tile of the bit packing.
const TILE_ROWS: usize = 512;

/// The most bytes of a frame beside its rows: lengths and sizes of all rows, heads of columns, a dictionary that is
/// tried and not used. A sink may seal the frame where it is.
const FRAME_EXTRA: usize = HEADER_BYTES + 4096 + SEAL_BYTES;
/// Bytes, for each row, of the arrays that have one element a row.
const BYTES_PER_ROW: usize = 10 * size_of::<u64>();

/// Takes the frames of [`Encoder::encode_to`].
pub trait FrameSink<'a> {
    /// Why a frame cannot be taken.
    type Error;

    /// Called before a frame of `rows` is made, which will have at most `bytes` bytes.
    ///
    /// # Errors
    /// The frame is not made then.
    fn make_room(&mut self, rows: &[&'a [u8]], bytes: usize) -> Result<(), Self::Error>;

    /// Takes the frame of `rows`; it may change the bytes, and add [`SEAL_BYTES`] to them.
    ///
    /// # Errors
    /// No frame is made after it.
    fn take(&mut self, rows: &[&'a [u8]], frame: &mut Vec<u8>) -> Result<(), Self::Error>;
}

/// A sink that needs no room beforehand.
struct Unbounded<F>(F);

impl<'a, E, F: FnMut(&[u8]) -> Result<(), E>> FrameSink<'a> for Unbounded<F> {
    type Error = E;

    fn make_room(&mut self, _: &[&'a [u8]], _: usize) -> Result<(), E> {
        Ok(())
    }

    fn take(&mut self, _: &[&'a [u8]], frame: &mut Vec<u8>) -> Result<(), E> {
        (self.0)(frame)
    }
}

/// Encodes rows of one shape after another; owns all scratch memory, so that a frame no larger than one before
/// allocates nothing, unless that one made the encoder give memory back. Not shared between threads; make one per
/// thread.
///
/// Memory: while it encodes, an encoder holds at most [`Encoder::scratch_bound`] bytes; between two calls of
/// [`Encoder::encode`] at most [`crate::RETAINED_LIMIT`].
pub struct Encoder {
    pub(crate) options: CodecOptions,
    kernels: &'static Kernels,
    pub(crate) words: Vec<u64>,
    pub(crate) row_bytes: Vec<u64>,
    /// Of rows in columns, before they are cut into frames.
    pub(crate) lengths: Vec<u64>,
    pub(crate) portions: Portions,
    sizes: Vec<u64>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) ends: Vec<u64>,
    slots: Vec<Slot>,
    pub(crate) columns: ColumnEncoder,
    pub(crate) var: VarEncoder,
    pub(crate) frame: Vec<u8>,
}

scratch_of!(Encoder: words, row_bytes, lengths, portions, sizes, kinds, ends, slots, columns, var, frame);

impl Encoder {
    /// An encoder with the best kernels of this CPU.
    pub fn new(options: CodecOptions) -> Self {
        Self::with_kernels(options, Kernels::best())
    }

    /// An encoder with given kernels; all make the same bytes.
    pub fn with_kernels(options: CodecOptions, kernels: &'static Kernels) -> Self {
        Self {
            options,
            kernels,
            words: Vec::new(),
            row_bytes: Vec::new(),
            lengths: Vec::new(),
            portions: Portions::default(),
            sizes: Vec::new(),
            kinds: Vec::new(),
            ends: Vec::new(),
            slots: Vec::new(),
            columns: ColumnEncoder::new(kernels),
            var: VarEncoder::default(),
            frame: Vec::new(),
        }
    }

    /// Changes the options for the frames to come.
    pub fn set_options(&mut self, options: CodecOptions) {
        self.options = options;
    }

    /// Encodes all of `rows`, each of `fields` fields, in order, handing each finished frame to `sink`.
    ///
    /// # Errors
    /// Only those of `sink`; what was handed over before stays valid.
    pub fn encode<E>(
        &mut self,
        rows: &[&[u8]],
        fields: u32,
        sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.encode_to(rows, fields, &mut Unbounded(sink))
    }

    /// Encodes all of `rows`, each of `fields` fields, in order, and asks `sink` for room before each frame.
    ///
    /// # Errors
    /// Only those of `sink`; what it took before stays valid.
    pub fn encode_to<'a, S: FrameSink<'a>>(
        &mut self,
        mut rows: &[&'a [u8]],
        fields: u32,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let mut done = Ok(());
        while !rows.is_empty() && done.is_ok() {
            let (now, later) = rows.split_at(frame_rows(rows.len(), |i| rows[i].len()));
            done = sink.make_room(now, frame_bound(now)).and_then(|()| {
                self.make_frame(now, fields);
                sink.take(now, &mut self.frame)
            });
            rows = later;
        }
        self.keep_within_limit();
        done
    }

    /// Makes one frame of all `rows` (1 to [`crate::MAX_RECORDS`]) and returns its bytes. The frame stays in the
    /// encoder, however large, until the next call.
    pub fn encode_frame(&mut self, rows: &[&[u8]], fields: u32) -> &[u8] {
        self.keep_within_limit();
        self.make_frame(rows, fields);
        &self.frame
    }

    /// Bytes of memory that the encoder holds now: scratch and the contexts of the general codecs.
    pub fn retained_bytes(&self) -> usize {
        self.bytes()
    }

    /// Most bytes of memory that the encoder holds while [`Encoder::encode`] encodes rows of `fields` fields, none
    /// longer than `longest_row` bytes, however many they are: about three times the longest row, 128 bytes a field,
    /// and 6 MiB. [`Encoder::encode_columns`] takes 128 KiB more.
    pub fn scratch_bound(&self, longest_row: usize, fields: u32) -> usize {
        let words = bitset_words(fields as usize) + fields as usize;
        // A frame's rows before its last are shorter than FRAME_BYTES together, and each has all its words.
        let rows = FRAME_BYTES.saturating_add(longest_row);
        let transposed = FRAME_BYTES + words * 8 * 16;
        let arrays = FRAME_ROWS * BYTES_PER_ROW + fields as usize;
        let columnar = if self.options.level == Level::Plain { 0 } else { transposed + 2 * rows + arrays };
        columnar + self.frame_room(rows, FRAME_ROWS, words) + CONTEXT_BYTES + RETAINED_LIMIT
    }

    /// Room for any frame of so many bytes in so many rows, with what compressing takes before it is seen not to pay.
    fn frame_room(&self, bytes: usize, rows: usize, words: usize) -> usize {
        // Beside their values columns and var data take a few bytes each; rows that have fewer words have no columns.
        let heads = (words * 8).min(bytes);
        self.options.codec.bound(bytes).max(bytes) + rows * 8 + heads + FRAME_EXTRA
    }

    fn make_frame(&mut self, rows: &[&[u8]], fields: u32) {
        let decoded: usize = rows.iter().map(|r| r.len()).sum();
        let words = bitset_words(fields as usize) + fields as usize;
        self.begin_frame(decoded, rows.len(), words);
        let columnar = self.options.level != Level::Plain && self.put_columnar(rows, fields as usize, decoded);
        let keep = columnar && self.is_smaller_than_plain(decoded, rows.len());
        if !keep {
            self.put_plain(rows);
        }
        self.finish_frame(keep, rows.len(), fields, decoded);
    }

    /// Makes room for a frame of so many rows, of so many bytes and words, and leaves room for its header.
    pub(crate) fn begin_frame(&mut self, decoded: usize, rows: usize, words: usize) {
        let room = self.frame_room(decoded, rows, words);
        clear_for(&mut self.frame, room);
        self.frame.extend_from_slice(&[0; HEADER_BYTES]);
    }

    pub(crate) fn is_smaller_than_plain(&self, decoded: usize, rows: usize) -> bool {
        self.frame.len() - HEADER_BYTES < decoded + rows * size_of::<u32>()
    }

    /// Writes the header before the payload.
    pub(crate) fn finish_frame(&mut self, columnar: bool, rows: usize, fields: u32, decoded: usize) {
        let payload = &self.frame[HEADER_BYTES..];
        let header = FrameHeader {
            path: PATH_ROWS,
            encoding: if columnar { ENCODING_COLUMNAR } else { ENCODING_PLAIN },
            records: rows as u32,
            fields,
            decoded_bytes: decoded as u32,
            encoded_bytes: payload.len() as u32,
            payload_crc: crc32c::crc32c(payload),
        };
        self.frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
    }

    /// Throws away what was put behind the header.
    pub(crate) fn begin_plain(&mut self) {
        self.frame.truncate(HEADER_BYTES);
    }

    fn put_plain(&mut self, rows: &[&[u8]]) {
        self.begin_plain();
        for row in rows {
            self.frame.extend_from_slice(&(row.len() as u32).to_le_bytes());
        }
        for row in rows {
            self.frame.extend_from_slice(row);
        }
    }

    /// False if some row is too short to have its fields' words.
    fn put_columnar(&mut self, rows: &[&[u8]], fields: usize, decoded: usize) -> bool {
        let words = bitset_words(fields) + fields;
        // Before room is made for all words of all rows; `gather` looks at each row.
        if !words_fit(rows.len(), words, decoded) {
            return false;
        }
        let stride = stride(rows.len());
        at_least(&mut self.words, words * stride);
        clear_for(&mut self.portions.bytes, decoded);
        if !self.kernels.gather(rows, words, stride, &mut self.words, &mut self.portions.bytes) {
            return false;
        }
        clear_for(&mut self.row_bytes, rows.len());
        self.row_bytes.extend(rows.iter().map(|r| r.len() as u64));
        self.portions.index(&self.row_bytes, words * 8);
        let transposed = Columns { words: &self.words[..words * stride], stride, rows: rows.len() };
        predict(&transposed, fields, &self.row_bytes, &mut self.kinds, &mut self.ends);
        self.put_columns(fields, stride, rows.len());
        true
    }

    /// Appends the columnar payload of the rows that are gathered and predicted.
    pub(crate) fn put_columns(&mut self, fields: usize, stride: usize, rows: usize) {
        self.put_word_columns(fields, stride, rows);
        self.sizes.clear();
        self.sizes.extend(self.row_bytes.iter().zip(&self.ends).map(|(bytes, end)| bytes - end));
        let (columns, out) = (&mut self.columns, &mut self.frame);
        tails::encode(&self.portions, &self.ends, &self.sizes, &self.options, columns, &mut self.var, out);
        let first = bitset_words(fields);
        for (field, kind) in self.kinds.iter().enumerate().filter(|(_, k)| **k != Kind::Word) {
            let column = &self.words[(first + field) * stride..][..rows];
            clear_for(&mut self.slots, rows);
            self.slots.extend(column.iter().map(|w| slot(*kind, *w)));
            self.var.encode(&self.portions, &self.slots, &self.options, columns, out);
        }
    }

    /// Appends the kinds of fields, and the columns of words and of size codes.
    pub(crate) fn put_word_columns(&mut self, fields: usize, stride: usize, rows: usize) {
        let first = bitset_words(fields);
        let words = first + fields;
        let transposed = Columns { words: &self.words[..words * stride], stride, rows };
        put_kinds(&self.kinds, &mut self.frame);
        clear_for(&mut self.sizes, rows);
        for w in 0..words {
            let column = transposed.column(w);
            if w < first || self.kinds[w - first] == Kind::Word {
                self.columns.encode(column, &mut self.frame);
            } else {
                self.sizes.clear();
                self.sizes.extend(column.iter().map(|w| size_code(*w)));
                self.columns.encode(&self.sizes, &mut self.frame);
            }
        }
    }
}

/// A word's size, one more so that 0 can stand for the word 0.
#[inline(always)]
fn size_code(word: u64) -> u64 {
    if word == 0 { 0 } else { (word & 0xFFFF_FFFF) + 1 }
}

#[inline(always)]
fn slot(kind: Kind, word: u64) -> Slot {
    let slot = kind.slot_bytes(word) as u32;
    // A slot of 16 is stored whole: its unused bytes are not always zero.
    let size = if kind == Kind::Var16 { slot } else { word as u32 };
    Slot { at: if word == 0 { 0 } else { (word >> 32) as u32 }, slot, size }
}

fn put_kinds(kinds: &[Kind], out: &mut Vec<u8>) {
    for four in kinds.chunks(4) {
        out.push(four.iter().enumerate().fold(0, |b, (i, k)| b | (*k as u8) << (2 * i)));
    }
}

/// Those of its plain form, which is taken where no other is shorter.
fn frame_bound(rows: &[&[u8]]) -> usize {
    HEADER_BYTES + rows.iter().map(|row| size_of::<u32>() + row.len()).sum::<usize>()
}

/// How many of `rows` rows, with these lengths, the next frame has.
pub(crate) fn frame_rows(rows: usize, bytes_of: impl Fn(usize) -> usize) -> usize {
    let mut bytes = 0;
    let most = rows.min(FRAME_ROWS);
    let mut n = 0;
    while n < most && bytes < FRAME_BYTES {
        bytes += bytes_of(n);
        n += 1;
    }
    if n < rows && n > TILE_ROWS { n / TILE_ROWS * TILE_ROWS } else { n }
}
