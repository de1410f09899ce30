//! Rows that claim to be `UnsafeRow`s, made by choices: the encoder must give back every bit of them.

use sluice_testkit::{Value, unsafe_row};

use crate::Choices;
use crate::payload::check_round_trip;

/// Makes rows, encodes and decodes them; panics unless they come back.
pub fn run(data: &[u8]) {
    let mut c = Choices::new(data);
    let option = c.below(12);
    let fields = c.pick(&[0usize, 1, 2, 3, 5, 63, 64, 65]);
    let count = if fields < 10 && c.one_in(8) { c.pick(&[63, 64, 65, 511, 512, 513]) } else { 1 + c.below(20) };
    let shapes: Vec<usize> = (0..fields).map(|_| c.below(6)).collect();
    let mut rows: Vec<Vec<u8>> = (0..count).map(|i| row(&mut c, &shapes, i)).collect();
    for _ in 0..c.below(4) {
        damage(&mut c, &mut rows);
    }
    check_round_trip(&rows, fields as u32, option);
}

fn row(c: &mut Choices<'_>, shapes: &[usize], i: usize) -> Vec<u8> {
    let values: Vec<Value> = shapes.iter().map(|shape| value(c, *shape, i)).collect();
    unsafe_row(&values)
}

fn value(c: &mut Choices<'_>, shape: usize, i: usize) -> Value {
    match shape {
        0 => Value::Word(i as u64),
        1 => Value::Word(u64::from(c.byte())),
        2 => Value::Word(c.word()),
        3 if c.one_in(4) => Value::Null,
        3 => Value::Bytes((0..c.below(40)).map(|_| c.byte()).collect()),
        4 => Value::Bytes(vec![c.byte(); c.below(200)]),
        _ if c.one_in(4) => Value::Wide(None),
        _ => Value::Wide(Some((0..c.below(17)).map(|_| c.byte()).collect())),
    }
}

/// Makes a row into one that Spark would not write: dirty padding, a wrong offset, too short, too long.
pub(crate) fn damage(c: &mut Choices<'_>, rows: &mut [Vec<u8>]) {
    let row = &mut rows[c.below(rows.len())];
    match c.below(3) {
        0 => row.truncate(c.below(row.len() + 1)),
        1 => row.extend((0..c.below(20)).map(|_| c.byte())),
        _ if row.is_empty() => {}
        _ => {
            let at = c.below(row.len());
            row[at] = c.byte();
        }
    }
}
