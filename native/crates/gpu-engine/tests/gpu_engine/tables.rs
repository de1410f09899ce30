//! Batches of pages, what the CPU makes of them, and the comparison.

use sluice_codec::{Codec, CodecOptions, Encoder, FrameHeader, Level};
use sluice_engine::Page;
use sluice_gpu_engine::{Batch, Declined, EncodedBatch, encode};
use sluice_testkit::{Value, unsafe_row, xorshift};

use crate::setting::{Setting, long};

pub const FAST: CodecOptions = CodecOptions { codec: Codec::None, level: Level::Fast };

/// A row and its partition.
pub type Row = (u32, Vec<u8>);

/// Rows of a batch.
#[derive(Debug, Clone)]
pub struct Rows {
    pub fields: u32,
    pub partitions: u32,
    pub rows: Vec<Row>,
    /// Rows of each page but the last.
    pub page_rows: usize,
}

/// A frame: its partition and its bytes.
type Frames = Vec<(u32, Vec<u8>)>;

/// A page as the JVM fills it.
pub fn page(rows: &[Row], gap: usize) -> Vec<u8> {
    let used: usize = rows.iter().map(|row| row.1.len()).sum();
    let mut memory: Vec<u8> = rows.iter().flat_map(|row| row.1.iter().copied()).collect();
    memory.resize(used + gap, 0xEE);
    let mut offset = used;
    for (partition, row) in rows.iter().rev() {
        offset -= row.len();
        memory.extend_from_slice(&(offset as u32).to_le_bytes());
        memory.extend_from_slice(&partition.to_le_bytes());
    }
    memory
}

impl Rows {
    /// What the CPU's encoder makes of them.
    pub fn frames_of_cpu(&self, options: CodecOptions) -> Frames {
        let mut sorted: Vec<&Row> = self.rows.iter().collect();
        sorted.sort_by_key(|row| row.0);
        let mut encoder = Encoder::new(options);
        let mut frames = Frames::new();
        for part in sorted.chunk_by(|a, b| a.0 == b.0) {
            let rows: Vec<&[u8]> = part.iter().map(|row| &row.1[..]).collect();
            let done: Result<(), ()> = encoder.encode(&rows, self.fields, |frame| {
                frames.push((part[0].0, frame.to_vec()));
                Ok(())
            });
            done.unwrap();
        }
        frames
    }

    /// What the GPU makes of them.
    pub fn encode(&self, setting: &Setting, options: CodecOptions) -> Result<EncodedBatch, Declined> {
        let pieces: Vec<&[Row]> = self.rows.chunks(self.page_rows.max(1)).collect();
        let memory: Vec<Vec<u8>> = pieces.iter().enumerate().map(|(i, rows)| page(rows, i % 3 * 8)).collect();
        let mut pages: Vec<Page> = Vec::new();
        for (rows, memory) in pieces.iter().zip(&memory) {
            // Pages without rows make no difference.
            pages.push(Page { memory: &[0; 16], used: 8, entries: 0 });
            pages.push(Page { memory, used: rows.iter().map(|row| row.1.len()).sum(), entries: rows.len() });
        }
        let batch = Batch { fields: self.fields, partitions: self.partitions, pages: &pages, hash_rows: true };
        encode(&setting.kernels, &setting.stream, batch, options, long())
    }

    /// Both make the same bytes, and the GPU says the right things of them.
    pub fn check(&self, setting: &Setting, options: CodecOptions) -> Frames {
        let expected = self.frames_of_cpu(options);
        let made = self.encode(setting, options).unwrap();
        let (mut at, mut done) = (0, 0);
        let mut sorted: Vec<&Row> = self.rows.iter().collect();
        sorted.sort_by_key(|row| row.0);
        for (i, (frame, (partition, bytes))) in made.frames.iter().zip(&expected).enumerate() {
            assert_eq!((frame.partition, frame.start), (*partition, at), "frame {i}");
            let here = &made.bytes[at..at + frame.bytes];
            assert!(here == bytes, "frame {i} of partition {partition}: {}", difference(here, bytes));
            let rows = &sorted[done..done + frame.rows as usize];
            let hashes = rows.iter().map(|row| xxhash_rust::xxh64::xxh64(&row.1, 0));
            let (xor, sum) = hashes.fold((0, 0u64), |(xor, sum), hash| (xor ^ hash, sum.wrapping_add(hash)));
            let told = frame.hashes.unwrap();
            assert_eq!((told.xor, told.sum), (xor, sum), "hashes of frame {i}");
            at += frame.bytes;
            done += frame.rows as usize;
        }
        assert_eq!((made.frames.len(), made.bytes.len(), done), (expected.len(), at, self.rows.len()));
        expected
    }
}

fn difference(made: &[u8], expected: &[u8]) -> String {
    let at = made.iter().zip(expected).position(|(a, b)| a != b);
    let header = |bytes: &[u8]| format!("{:?}", FrameHeader::parse(bytes));
    format!("differs at {at:?}\nmade {}\nexpected {}", header(made), header(expected))
}

/// What a field of a generated table has.
pub fn value(kind: u8, field: u64, seed: u64, i: u64) -> Value {
    let h = xorshift(seed ^ i << 20 ^ field);
    match kind {
        0 => Value::Word(i * 7 + field),
        1 => Value::Word(h % 1000),
        2 => Value::Word(h),
        3 => Value::Word((h & 0x0F0F_0F0F_0F0F_0F0F) | 0x3030_3030_3030_3030),
        4 => Value::Word(xorshift(h % 40)),
        5 => Value::Word(field),
        6 => Value::Bytes(h.to_string().into_bytes()[..(h % 12) as usize].to_vec()),
        7 if h.is_multiple_of(4) => Value::Wide(None),
        7 => Value::Wide(Some(h.to_le_bytes().to_vec())),
        8 if h.is_multiple_of(3) => Value::Null,
        8 => Value::Bytes(vec![b'x'; (h % 100) as usize]),
        9 => Value::Interval(h.is_multiple_of(3).then_some([h as u8; 16])),
        10 => Value::Bytes(vec![h as u8; (h % 33) as usize]),
        11 if h.is_multiple_of(50) => Value::Bytes(vec![7; 3000]),
        11 => Value::Bytes(Vec::new()),
        _ => Value::Null,
    }
}
/// Of [`value`].
pub const KINDS: u8 = 13;

/// A table: kinds of its fields, rows, and how they are spread over partitions (0 evenly, 1 most in one, 2 a few in
/// each, one after another).
pub fn table(kinds: &[u8], rows: u64, partitions: u32, skew: u8, seed: u64) -> Rows {
    let row = |i: u64| {
        let values: Vec<Value> = (0..).zip(kinds).map(|(field, kind)| value(*kind, field, seed, i)).collect();
        let h = xorshift(seed ^ !i) as u32;
        let partition = match skew {
            0 => h % partitions,
            1 if !h.is_multiple_of(10) => partitions / 2,
            1 => h % partitions,
            _ => (i as u32 / 3) % partitions,
        };
        (partition, unsafe_row(&values))
    };
    Rows { fields: kinds.len() as u32, partitions, rows: (0..rows).map(row).collect(), page_rows: 777 }
}
