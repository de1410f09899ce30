//! Payloads that break a rule: a number in the header that is not right, a part that is missing, twice, elsewhere,
//! cut or too long, a byte that is another.

use super::grammar::Draft;
use crate::Choices;

/// Applies one to three mutations.
pub(super) fn apply(c: &mut Choices<'_>, draft: &mut Draft) {
    for _ in 0..=c.below(3) {
        if c.one_in(3) { change_header(c, draft) } else { change_part(c, draft) }
    }
}

/// A number close to `value`, or one of the ends of its range.
fn near(c: &mut Choices<'_>, value: u32) -> u32 {
    match c.below(8) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value.wrapping_add(8),
        3 => value.wrapping_sub(8),
        4 => 0,
        5 => value.wrapping_mul(2),
        6 => 1 << c.below(32),
        _ => u32::MAX,
    }
}

fn change_header(c: &mut Choices<'_>, draft: &mut Draft) {
    let header = &mut draft.header;
    match c.below(4) {
        0 => header.records = near(c, header.records),
        1 => header.fields = near(c, header.fields),
        2 => header.decoded_bytes = near(c, header.decoded_bytes),
        _ => header.encoding ^= 1,
    }
}

fn change_part(c: &mut Choices<'_>, draft: &mut Draft) {
    let parts = &mut draft.parts;
    if parts.is_empty() {
        return;
    }
    let (at, other) = (c.below(parts.len()), c.below(parts.len()));
    match c.below(6) {
        0 => drop(parts.remove(at)),
        1 => parts.insert(other, parts[at].clone()),
        2 => parts.swap(at, other),
        3 => {
            let keep = c.below(parts[at].len() + 1);
            parts[at].truncate(keep);
        }
        4 => parts[at].push(c.byte()),
        _ => change_byte(c, &mut parts[at]),
    }
}

fn change_byte(c: &mut Choices<'_>, part: &mut [u8]) {
    if part.is_empty() {
        return;
    }
    // Most rules are about a part's first bytes: tags, widths, counts.
    let at = if c.one_in(2) { c.below(part.len()) } else { c.below(part.len().min(4)) };
    part[at] = match c.below(4) {
        0 => part[at] ^ 1 << c.below(8),
        1 => part[at].wrapping_add(1),
        2 => c.pick(&[0, 1, 7, 8, 9, 63, 64, 65, 0x7F, 0x80, 0xFF]),
        _ => c.byte(),
    };
}
