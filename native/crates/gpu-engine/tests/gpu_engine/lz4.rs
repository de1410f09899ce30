//! LZ4 on the GPU: bodies of all kinds and lengths, compressed as the CPU's library does it.

use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Level};
use sluice_testkit::{Value, unsafe_row, xorshift};

use crate::encode::cases;
use crate::setting::Setting;
use crate::tables::Rows;

const LEVELS: [Level; 2] = [Level::Fast, Level::Small];
/// Longer than a body that the short table is for, in rows that the kernels take.
const LONG: usize = 70_000;
const MOST_VALUE: usize = 40_000;

/// A batch in which the values of each partition are one of the bodies, one after another.
fn of(bodies: &[Vec<u8>]) -> Rows {
    let mut rows = Vec::new();
    for (partition, body) in (0..).zip(bodies) {
        for value in body.chunks(MOST_VALUE) {
            rows.push((partition, unsafe_row(&[Value::Bytes(value.to_vec())])));
        }
    }
    Rows { fields: 1, partitions: bodies.len() as u32, rows, page_rows: 7 }
}

fn check(setting: &Setting, bodies: &[Vec<u8>]) {
    let rows = of(bodies);
    for level in LEVELS {
        rows.check(setting, CodecOptions { codec: Codec::Lz4, level });
    }
}

/// Bytes with more or less that is alike.
fn body(kind: u64, bytes: usize, seed: u64) -> Vec<u8> {
    let random = |i: usize| xorshift(seed ^ (i as u64) << 8);
    let words = [&b"the "[..], b"quick ", b"brown ", b"fox ", b"jumps ", b"over ", b"lazy ", b"dogs "];
    match kind {
        // Matches of all lengths, up to the end.
        0 => vec![b'a'; bytes],
        // Nothing alike: steps grow.
        1 => (0..bytes).map(|i| random(i) as u8).collect(),
        2 => {
            let mut text = Vec::new();
            (0..).take_while(|i| *i < bytes).for_each(|i| text.extend_from_slice(words[(random(i) % 8) as usize]));
            text.truncate(bytes);
            text
        }
        // A period that is no multiple of a lane's bytes, with a change now and then.
        3 => (0..bytes).map(|i| if random(i) % 97 == 0 { 0 } else { (i % 37) as u8 }).collect(),
        // Literals and matches longer than a byte can say.
        4 => (0..bytes).map(|i| if i / 700 % 2 == 0 { random(i) as u8 } else { random(i % 300) as u8 }).collect(),
        // Many values of the same hash.
        _ => (0..bytes).map(|i| (random(i / 3) % 4) as u8).collect(),
    }
}
const KINDS: u64 = 6;

/// A bit of everything: matches and literals, short and long, and steps that grow.
pub fn work(setting: &Setting) {
    check(setting, &[[body(2, 300, 1), body(1, 400, 2), body(0, 600, 3)].concat(), body(4, 900, 5)]);
}

#[test]
fn lengths_at_which_the_choices_change() {
    let Some(setting) = Setting::new() else { return };
    let lengths = [33, 63, 64, 65, 68, 79, 80, 81, 300, 1000, 16_383, 16_384, 16_385, 17_000];
    for kind in 0..KINDS {
        let bodies: Vec<Vec<u8>> = lengths.iter().map(|bytes| body(kind, *bytes, kind)).collect();
        check(&setting, &bodies);
    }
    setting.finish();
}

#[test]
fn bodies_for_each_table() {
    let Some(setting) = Setting::new() else { return };
    for (kind, bytes) in [(2, 65_534), (2, 65_535), (3, LONG), (4, LONG)] {
        check(&setting, &[body(kind, bytes, 1)]);
    }
    setting.finish();
}

/// Texts whose beginning pays and whose rest does not, and the other way round.
#[test]
fn bodies_that_change() {
    let Some(setting) = Setting::new() else { return };
    let join = |a: u64, b: u64| [body(a, 16_384, 3), body(b, 30_000, 4)].concat();
    check(&setting, &[join(2, 1), join(1, 2), join(0, 1)]);
    setting.finish();
}

#[test]
fn any_bodies() {
    let Some(setting) = Setting::new() else { return };
    let piece = (0..KINDS, 1usize..400, any::<u64>()).prop_map(|(kind, bytes, seed)| body(kind, bytes, seed % 3));
    let bodies = prop::collection::vec(prop::collection::vec(piece, 1..8), 1..6);
    proptest!(cases(15, 2000), |(bodies in bodies)| {
        check(&setting, &bodies.iter().map(|pieces| pieces.concat()).collect::<Vec<_>>());
    });
    setting.finish();
}
