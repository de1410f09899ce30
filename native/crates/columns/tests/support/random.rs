//! Random batches: the same values as arrays, in any of their layouts, and as fields of rows.

use sluice_testkit::{Value, unsafe_row, xorshift};

use super::producer::{ArraySpec, SchemaSpec, batch_of};

/// Random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(xorshift(seed))
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        xorshift(self.0)
    }

    /// Below `n`; 0 if that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.word() >> 16) as usize % n.max(1)
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.word() as u8).collect()
    }
}

/// Formats whose values are numbers: bytes of a value in an array, of a value in a row, and how many units of the array
/// are one of the row (negative: the other way round).
const NUMBERS: [(&str, usize, usize, i64); 31] = [
    ("c", 1, 1, 1),
    ("s", 2, 2, 1),
    ("i", 4, 4, 1),
    ("l", 8, 8, 1),
    ("C", 1, 1, 1),
    ("S", 2, 2, 1),
    ("I", 4, 4, 1),
    ("f", 4, 4, 1),
    ("g", 8, 8, 1),
    ("tdD", 4, 4, 1),
    ("tdm", 8, 4, 86_400_000),
    ("tts", 4, 8, -1_000_000_000),
    ("ttm", 4, 8, -1_000_000),
    ("ttu", 8, 8, -1_000),
    ("ttn", 8, 8, 1),
    ("tss:", 8, 8, -1_000_000),
    ("tsm:UTC", 8, 8, -1_000),
    ("tsu:", 8, 8, 1),
    ("tsu:Europe/Berlin", 8, 8, 1),
    ("tsn:+01:00", 8, 8, 1_000),
    ("tDs", 8, 8, -1_000_000),
    ("tDm", 8, 8, -1_000),
    ("tDu", 8, 8, 1),
    ("tDn", 8, 8, 1_000),
    ("tiM", 4, 4, 1),
    ("d:9,2,32", 4, 8, 1),
    ("d:18,2,64", 8, 8, 1),
    ("d:7,0", 16, 8, 1),
    ("d:18,18", 16, 8, 1),
    ("d:10,-2,128", 16, 8, 1),
    ("L", 8, 8, 1),
];

/// Formats of values of variable length.
const BYTES: [&str; 6] = ["u", "U", "vu", "z", "Z", "vz"];

/// A column: its schema and its values as fields of rows.
#[derive(Clone)]
pub struct RandomColumn {
    pub schema: SchemaSpec,
    pub values: Vec<Value>,
    array: ArraySpec,
}

/// A batch, and its rows.
pub struct RandomBatch {
    pub schema: SchemaSpec,
    pub array: ArraySpec,
    pub rows: Vec<Vec<u8>>,
    pub values: Vec<Vec<Value>>,
}

/// Formats of some columns, to be given values by [`batch`].
pub fn formats(random: &mut Random, columns: usize) -> Vec<String> {
    (0..columns).map(|_| format(random)).collect()
}

fn format(random: &mut Random) -> String {
    match random.below(10) {
        0 => "b".into(),
        1..=4 => NUMBERS[random.below(NUMBERS.len())].0.into(),
        5..=6 => BYTES[random.below(BYTES.len())].into(),
        7 => ["n", "tin", "w:5", "w:0", "w:40"][random.below(5)].into(),
        _ => ["d:38,10", "d:19,0", "d:25,-3"][random.below(3)].into(),
    }
}

/// All formats.
pub fn every_format() -> Vec<String> {
    let numbers = NUMBERS.iter().map(|n| n.0);
    let others = ["b", "n", "tin", "w:5", "w:0", "w:40", "d:38,10", "d:19,0", "d:25,-3"];
    numbers.chain(BYTES).chain(others).map(str::to_owned).collect()
}

/// A batch of columns of these formats, with random values, nulls, offsets and dictionaries.
pub fn batch(random: &mut Random, formats: &[String], rows: usize) -> RandomBatch {
    batch_with(random, formats, rows, true)
}

/// The same with or without dictionaries.
pub fn batch_with(random: &mut Random, formats: &[String], rows: usize, dictionaries: bool) -> RandomBatch {
    let skip = if random.chance(2) { random.below(20) } else { 0 };
    let columns: Vec<RandomColumn> =
        formats.iter().map(|format| column(random, format, rows, skip, dictionaries)).collect();
    let values: Vec<Vec<Value>> =
        (0..rows).map(|i| columns.iter().map(|column| column.values[i].clone()).collect()).collect();
    let mut array = batch_of(rows as i64, columns.iter().map(|c| c.array.clone()).collect());
    array.offset = skip as i64;
    if random.chance(3) {
        // A mask without nulls.
        array.buffers = vec![Some(vec![0xFF; (rows + skip).div_ceil(8)])];
    }
    RandomBatch {
        schema: SchemaSpec::batch(columns.iter().map(|c| c.schema.clone()).collect()),
        array,
        rows: values.iter().map(|row| unsafe_row(row)).collect(),
        values,
    }
}

/// `skip` values of the array are before those of the rows, and perhaps some behind.
fn column(random: &mut Random, format: &str, rows: usize, skip: usize, dictionaries: bool) -> RandomColumn {
    let more = if skip > 0 { random.below(5) } else { 0 };
    let len = skip + rows + more;
    if dictionaries && random.chance(6) && rows > 0 && format != "n" {
        return dictionary(random, format, rows, skip, len);
    }
    let nulls = random.below(4);
    let values: Vec<(Value, Vec<u8>)> = (0..len).map(|_| value(random, format, nulls)).collect();
    let array = array(random, format, &values);
    let values = values[skip..skip + rows].iter().map(|v| v.0.clone()).collect();
    RandomColumn { schema: SchemaSpec::of(format), values, array }
}

fn dictionary(random: &mut Random, format: &str, rows: usize, skip: usize, len: usize) -> RandomColumn {
    let index = ["c", "s", "i", "l", "C", "S", "I", "L"][random.below(8)];
    let width = NUMBERS.iter().find(|n| n.0 == index).map_or(8, |n| n.1);
    let nulls = random.below(3);
    let distinct: Vec<(Value, Vec<u8>)> = (0..1 + random.below(20)).map(|_| value(random, format, nulls)).collect();
    let (mut values, mut stored, mut null_indices) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..len {
        let (i, null) = (random.below(distinct.len()), random.chance(7));
        // What is below a null is nobody's business.
        let index = if null { random.word() } else { i as u64 };
        values.push(if null { null_of(format) } else { distinct[i].0.clone() });
        stored.push(index.to_le_bytes()[..width].to_vec());
        null_indices.push(null);
    }
    let mut array = fixed(random, &stored, &null_indices);
    array.dictionary = Some(Box::new(self::array(random, format, &distinct)));
    let mut schema = SchemaSpec::dictionary(index, format);
    schema.name = format!("a dictionary of '{format}'");
    RandomColumn { schema, values: values[skip..skip + rows].to_vec(), array }
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Wide(None) | Value::Interval(None))
}

fn null_of(format: &str) -> Value {
    match format {
        "tin" => Value::Interval(None),
        "d:38,10" | "d:19,0" | "d:25,-3" => Value::Wide(None),
        _ => Value::Null,
    }
}

/// A value as a field, and as an array has it. One in four times `nulls` it is null, with anything in the array.
fn value(random: &mut Random, format: &str, nulls: usize) -> (Value, Vec<u8>) {
    let null = format == "n" || nulls > 0 && random.below(4) < nulls;
    let (value, bytes) = some_value(random, format);
    if !null {
        return (value, bytes);
    }
    let junk = random.bytes(bytes.len());
    (null_of(format), junk)
}

fn some_value(random: &mut Random, format: &str) -> (Value, Vec<u8>) {
    let small = random.chance(2);
    match format {
        "n" => (Value::Null, Vec::new()),
        "b" => {
            let bit = random.chance(2);
            (Value::Word(bit.into()), vec![bit.into()])
        }
        "tin" => {
            let (months, days) = (random.word() as i32, random.word() as i32);
            let micros = if small { random.below(1000) as i64 } else { random.word() as i64 / 1000 };
            let stored = |third: i64| [&months.to_le_bytes()[..], &days.to_le_bytes(), &third.to_le_bytes()].concat();
            let row: [u8; 16] = stored(micros).try_into().expect("16 bytes");
            (Value::Interval(Some(row)), stored(micros * 1000))
        }
        "d:38,10" | "d:19,0" | "d:25,-3" => {
            let product = i128::from(random.word() as i64) * i128::from(random.word() as i64);
            let wide = product >> random.below(120);
            (Value::Wide(Some(big_integer(wide))), wide.to_le_bytes().to_vec())
        }
        _ => number(random, format, small).unwrap_or_else(|| {
            let width = format.strip_prefix("w:").map(|w| w.parse().expect("a width"));
            let len = width.unwrap_or_else(|| if random.chance(30) { random.below(400) } else { random.below(40) });
            let letters = random.chance(2);
            let bytes = if letters { vec![b'a' + random.below(3) as u8; len] } else { random.bytes(len) };
            let text = matches!(format, "u" | "U" | "vu");
            let bytes = if text { String::from_utf8_lossy(&bytes).into_owned().into_bytes() } else { bytes };
            (Value::Bytes(bytes.clone()), bytes)
        }),
    }
}

fn number(random: &mut Random, format: &str, small: bool) -> Option<(Value, Vec<u8>)> {
    let (_, width, row_width, units) = *NUMBERS.iter().find(|n| n.0 == format)?;
    let any = if small { random.below(100) as i64 - 50 } else { random.word() as i64 };
    let unsigned = matches!(format, "C" | "S" | "I" | "L");
    let any = if unsigned { any & i64::MAX } else { any };
    // In the row, then in the array.
    let (row, stored) = match units {
        1 => {
            let bits = 64 - 8 * width.min(row_width) as u32;
            let value = if unsigned { ((any as u64) << bits >> bits) as i64 } else { any << bits >> bits };
            (value, value)
        }
        units if units > 0 => {
            let bits = if row_width == 4 { 32 } else { 16 };
            let value = any >> bits;
            (value, value * units)
        }
        units => {
            let value = any >> 40;
            (value * -units, value)
        }
    };
    let mut array = i128::from(stored).to_le_bytes()[..width].to_vec();
    if units == 1 && (format == "f" || format == "g") && random.chance(10) {
        // NaNs keep their bits.
        array.fill(0xFF);
    }
    let row = if array[0] == 0xFF && array.iter().all(|b| *b == 0xFF) && units == 1 { -1 } else { row };
    let word = if row_width == 8 { row as u64 } else { row as u64 & ((1 << (8 * row_width)) - 1) };
    Some((Value::Word(word), array))
}

/// As Java's `BigInteger.toByteArray`, byte by byte.
fn big_integer(value: i128) -> Vec<u8> {
    let mut bytes = value.to_be_bytes().to_vec();
    while bytes.len() > 1 && (bytes[0] == 0 && bytes[1] < 0x80 || bytes[0] == 0xFF && bytes[1] >= 0x80) {
        bytes.remove(0);
    }
    bytes
}

fn array(random: &mut Random, format: &str, values: &[(Value, Vec<u8>)]) -> ArraySpec {
    let nulls: Vec<bool> = values.iter().map(|(value, _)| is_null(value)).collect();
    let stored: Vec<Vec<u8>> = values.iter().map(|(_, stored)| stored.clone()).collect();
    match format {
        "n" => ArraySpec { length: values.len() as i64, null_count: values.len() as i64, ..ArraySpec::default() },
        "b" => {
            let bits: Vec<bool> = stored.iter().map(|b| b[0] & 1 != 0).collect();
            with_mask(random, vec![Some(bitmap(random_bit(&nulls), &bits))], &nulls)
        }
        "u" | "z" => offsets(random, &stored, &nulls, |o| (o as u32).to_le_bytes().to_vec()),
        "U" | "Z" => offsets(random, &stored, &nulls, |o| (o as u64).to_le_bytes().to_vec()),
        "vu" | "vz" => views(random, &stored, &nulls),
        _ => fixed(random, &stored, &nulls),
    }
}

/// The bits behind the last one.
fn random_bit(nulls: &[bool]) -> bool {
    nulls.len().is_multiple_of(2)
}

fn bitmap(behind: bool, bits: &[bool]) -> Vec<u8> {
    let mut bytes = vec![if behind { 0xFF } else { 0 }; bits.len().div_ceil(8)];
    for (i, bit) in bits.iter().enumerate() {
        bytes[i / 8] = bytes[i / 8] & !(1 << (i % 8)) | u8::from(*bit) << (i % 8);
    }
    bytes
}

/// Buffers behind a mask, which may be missing where no value is null.
fn with_mask(random: &mut Random, mut buffers: Vec<Option<Vec<u8>>>, nulls: &[bool]) -> ArraySpec {
    let count = nulls.iter().filter(|null| **null).count();
    let needless = random.chance(2);
    let valid: Vec<bool> = nulls.iter().map(|null| !null).collect();
    buffers.insert(0, (count > 0 || needless).then(|| bitmap(random.chance(2), &valid)));
    let null_count = if random.chance(3) { -1 } else { count as i64 };
    ArraySpec { length: nulls.len() as i64, null_count, buffers, ..ArraySpec::default() }
}

/// Some values before the first may lie in the buffers, but are not the array's.
fn fixed(random: &mut Random, stored: &[Vec<u8>], nulls: &[bool]) -> ArraySpec {
    let before = if random.chance(2) { random.below(10) } else { 0 };
    let width = stored.first().map_or(0, Vec::len);
    let mut data = random.bytes(before * width);
    stored.iter().for_each(|value| data.extend_from_slice(value));
    let shifted: Vec<bool> = vec![false; before].into_iter().chain(nulls.iter().copied()).collect();
    let mut array = with_mask(random, vec![Some(data)], &shifted);
    (array.offset, array.length) = (before as i64, nulls.len() as i64);
    array
}

fn offsets(random: &mut Random, stored: &[Vec<u8>], nulls: &[bool], offset: impl Fn(usize) -> Vec<u8>) -> ArraySpec {
    let mut data = random.bytes(7);
    let mut offsets = offset(data.len());
    for value in stored {
        data.extend_from_slice(value);
        offsets.extend(offset(data.len()));
    }
    with_mask(random, vec![Some(offsets), Some(data)], nulls)
}

fn views(random: &mut Random, stored: &[Vec<u8>], nulls: &[bool]) -> ArraySpec {
    let mut buffers: Vec<Vec<u8>> = (0..1 + random.below(3)).map(|_| random.bytes(3)).collect();
    let mut views = Vec::new();
    for (value, null) in stored.iter().zip(nulls) {
        let mut view = [0u8; 16];
        view[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
        if *null {
            view = random.bytes(16).try_into().expect("16 bytes");
        } else if value.len() <= 12 {
            view[4..4 + value.len()].copy_from_slice(value);
        } else {
            let buffer = random.below(buffers.len());
            view[4..8].copy_from_slice(&value[..4]);
            view[8..12].copy_from_slice(&(buffer as u32).to_le_bytes());
            view[12..].copy_from_slice(&(buffers[buffer].len() as u32).to_le_bytes());
            buffers[buffer].extend_from_slice(value);
        }
        views.extend(view);
    }
    let lengths = buffers.iter().flat_map(|b| (b.len() as u64).to_le_bytes()).collect();
    let mut all = vec![Some(views)];
    all.extend(buffers.into_iter().map(Some));
    all.push(Some(lengths));
    with_mask(random, all, nulls)
}
