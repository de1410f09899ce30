//! Rows to frames.

use crate::column::ColumnEncoder;
use crate::compress::Codec;
use crate::header::{ENCODING_COLUMNAR, ENCODING_PLAIN, FrameHeader, HEADER_BYTES, PATH_ROWS};
use crate::kernels::Kernels;
use crate::layout::{Columns, Kind, bitset_words, predict};
use crate::portions::Portions;
use crate::vardata::{Slot, VarEncoder, encode_tails};

/// How hard to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Rows verbatim.
    Plain,
    /// By column; the general codec only where it removes a third or more.
    Fast,
    /// By column; the general codec wherever it helps.
    Small,
}

/// What an encoder makes.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The general codec for long byte columns.
    pub codec: Codec,
    /// How hard to compress.
    pub level: Level,
}

/// Rows of a frame together have about this many bytes: rows and columns fit a 1 MiB L2 cache together.
const FRAME_BYTES: usize = 160 << 10;
/// Most rows of a frame (zero-field rows have no bytes to count).
const FRAME_ROWS: usize = 4096;
/// Frames are cut at a multiple of this many rows, a whole tile of the bit packing.
const TILE_ROWS: usize = 512;

/// Encodes rows of one shape after another; owns all scratch memory, so that a frame allocates nothing once
/// warm. Not shared between threads; make one per thread.
pub struct Encoder {
    options: Options,
    kernels: &'static Kernels,
    words: Vec<u64>,
    row_bytes: Vec<u64>,
    portions: Portions,
    sizes: Vec<u64>,
    kinds: Vec<Kind>,
    ends: Vec<u64>,
    slots: Vec<Slot>,
    columns: ColumnEncoder,
    var: VarEncoder,
    frame: Vec<u8>,
}

impl Encoder {
    /// An encoder with the best kernels of this CPU.
    pub fn new(options: Options) -> Self {
        Self::with_kernels(options, Kernels::best())
    }

    /// An encoder with given kernels; all make the same bytes.
    pub fn with_kernels(options: Options, kernels: &'static Kernels) -> Self {
        Self {
            options,
            kernels,
            words: Vec::new(),
            row_bytes: Vec::new(),
            portions: Portions::default(),
            sizes: Vec::new(),
            kinds: Vec::new(),
            ends: Vec::new(),
            slots: Vec::new(),
            columns: ColumnEncoder::new(kernels),
            var: VarEncoder::new(),
            frame: Vec::new(),
        }
    }

    /// Changes the options for the frames to come.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// Encodes all of `rows`, each of `fields` fields, in order, handing each finished frame to `sink`.
    ///
    /// # Errors
    /// Only those of `sink`; what was handed over before stays valid.
    pub fn encode<E>(
        &mut self,
        mut rows: &[&[u8]],
        fields: u32,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(frame_rows(rows));
            self.encode_frame(now, fields);
            sink(&self.frame)?;
            rows = later;
        }
        Ok(())
    }

    /// Makes one frame of all `rows` (1 to [`crate::MAX_RECORDS`]) and returns its bytes.
    pub fn encode_frame(&mut self, rows: &[&[u8]], fields: u32) -> &[u8] {
        let decoded: usize = rows.iter().map(|r| r.len()).sum();
        self.frame.clear();
        self.frame.extend_from_slice(&[0; HEADER_BYTES]);
        let columnar = self.options.level != Level::Plain && self.put_columnar(rows, fields as usize);
        let plain_bytes = decoded + rows.len() * 4;
        let keep = columnar && self.frame.len() - HEADER_BYTES < plain_bytes;
        if !keep {
            self.put_plain(rows);
        }
        let payload = &self.frame[HEADER_BYTES..];
        let header = FrameHeader {
            path: PATH_ROWS,
            encoding: if keep { ENCODING_COLUMNAR } else { ENCODING_PLAIN },
            records: rows.len() as u32,
            fields,
            decoded_bytes: decoded as u32,
            encoded_bytes: payload.len() as u32,
            payload_crc: crc32c::crc32c(payload),
        };
        self.frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        &self.frame
    }

    fn put_plain(&mut self, rows: &[&[u8]]) {
        self.frame.truncate(HEADER_BYTES);
        for row in rows {
            self.frame.extend_from_slice(&(row.len() as u32).to_le_bytes());
        }
        for row in rows {
            self.frame.extend_from_slice(row);
        }
    }

    /// False if some row is too short to have its fields' words.
    fn put_columnar(&mut self, rows: &[&[u8]], fields: usize) -> bool {
        let words = bitset_words(fields) + fields;
        let stride = stride(rows.len());
        self.words.resize((words * stride).max(self.words.len()), 0);
        self.portions.bytes.clear();
        if !self.kernels.gather(rows, words, stride, &mut self.words, &mut self.portions.bytes) {
            return false;
        }
        self.row_bytes.clear();
        self.row_bytes.extend(rows.iter().map(|r| r.len() as u64));
        self.portions.index(&self.row_bytes, words * 8);
        let transposed = Columns { words: &self.words[..words * stride], stride, rows: rows.len() };
        predict(&transposed, fields, &self.row_bytes, &mut self.kinds, &mut self.ends);
        put_kinds(&self.kinds, &mut self.frame);
        let first = bitset_words(fields);
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
        self.sizes.clear();
        self.sizes.extend(self.row_bytes.iter().zip(&self.ends).map(|(bytes, end)| bytes - end));
        encode_tails(&self.portions, &self.ends, &self.sizes, &self.options, &mut self.columns, &mut self.frame);
        for (field, kind) in self.kinds.iter().enumerate().filter(|(_, k)| **k != Kind::Word) {
            self.slots.clear();
            self.slots.extend(transposed.column(first + field).iter().map(|w| slot(*kind, *w)));
            self.var.encode(&self.portions, &self.slots, &self.options, &mut self.columns, &mut self.frame);
        }
        true
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

/// Room between the columns of a transposed frame: a multiple of 8 that is odd in cache lines, so that the
/// columns of one row do not compete for the same cache sets.
pub(crate) fn stride(rows: usize) -> usize {
    let lines = rows.div_ceil(8);
    (lines | 1) * 8
}

fn frame_rows(rows: &[&[u8]]) -> usize {
    let mut bytes = 0;
    let most = rows.len().min(FRAME_ROWS);
    let mut n = 0;
    while n < most && bytes < FRAME_BYTES {
        bytes += rows[n].len();
        n += 1;
    }
    if n < rows.len() && n > TILE_ROWS { n / TILE_ROWS * TILE_ROWS } else { n }
}
