//! The tables that benchmarks run on.

use crate::{Value, unsafe_row};

/// Rows back to back, as a map task would see them.
pub struct Table {
    /// Name for reports.
    pub name: &'static str,
    /// Fields of each row.
    pub fields: u32,
    /// All rows.
    pub bytes: Vec<u8>,
    /// Where each row starts, and one past the last.
    pub offsets: Vec<usize>,
}

impl Table {
    fn new(name: &'static str, rows: usize, row: impl Fn(u64) -> Vec<Value>) -> Self {
        let mut table = Self { name, fields: row(0).len() as u32, bytes: Vec::new(), offsets: vec![0] };
        for i in 0..rows as u64 {
            table.bytes.extend_from_slice(&unsafe_row(&row(i)));
            table.offsets.push(table.bytes.len());
        }
        table
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Row `i`'s bytes.
    pub fn row(&self, i: usize) -> &[u8] {
        &self.bytes[self.offsets[i]..self.offsets[i + 1]]
    }
}

/// A fast hash of `x`, standing for Spark's xxhash64.
pub fn xorshift(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn text(s: String) -> Value {
    Value::Bytes(s.into_bytes())
}

fn signed(v: i64) -> Value {
    Value::Word(v as u64)
}

/// The table of `./sluice bench`: 8 columns, about 87 bytes a row.
pub fn bench_table(rows: usize) -> Table {
    Table::new("mixed8", rows, |id| {
        vec![
            Value::Word(id),
            signed(xorshift(id) as i64 % 1_000_000),
            Value::Word(id % 365),
            Value::Word(((xorshift(id ^ 77) >> 11) as f64 / (1u64 << 53) as f64).to_bits()),
            signed(xorshift(id ^ 7 << 40) as i64 % 1000),
            text(format!("name_{}", id % 10_000)),
            Value::Word(3 * id),
            Value::Word(5),
        ]
    })
}

/// A table like TPC-H's lineitem: 16 columns, about 200 bytes a row.
pub fn lineitem(rows: usize) -> Table {
    const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    const WORDS: [&str; 16] = [
        "carefully",
        "quickly",
        "final",
        "requests",
        "sleep",
        "deposits",
        "furiously",
        "even",
        "pending",
        "accounts",
        "regular",
        "ideas",
        "special",
        "packages",
        "blithely",
        "bold",
    ];
    Table::new("lineitem", rows, |i| {
        let r = |salt: u64| xorshift(i ^ salt << 48);
        let order = i / 4;
        let price = 90_000 + r(1) % 10_000_000;
        let comment: Vec<&str> = (0..2 + r(2) % 4).map(|k| WORDS[(r(20 + k) % 16) as usize]).collect();
        let ship = 8000 + r(3) % 2500;
        vec![
            Value::Word(order / 8 * 32 + order % 8),
            Value::Word(1 + r(4) % 200_000),
            Value::Word(1 + r(5) % 10_000),
            Value::Word(i % 4 + 1),
            Value::Word(100 * (1 + r(6) % 50)),
            Value::Word(price),
            Value::Word(r(7) % 11),
            Value::Word(r(8) % 9),
            text(["A", "N", "R"][(r(9) % 3) as usize].into()),
            text(["O", "F"][(r(10) % 2) as usize].into()),
            Value::Word(ship),
            Value::Word(ship + r(11) % 30),
            Value::Word(ship + 1 + r(12) % 30),
            text(INSTRUCTIONS[(r(13) % 4) as usize].into()),
            text(MODES[(r(14) % 7) as usize].into()),
            text(comment.join(" ")),
        ]
    })
}

/// A long and 90 random bytes: nothing to gain but padding.
pub fn incompressible(rows: usize) -> Table {
    Table::new("random90", rows, |i| {
        let bytes = (0..12u64).flat_map(|k| xorshift(i * 12 + k).to_le_bytes()).take(90).collect();
        vec![Value::Word(xorshift(!i)), Value::Bytes(bytes)]
    })
}
