//! Slots to var data.

use super::compressed::put_bytes;
use super::{FULL, MAX_WORDS, TRIM, WORDS};
use crate::column::ColumnEncoder;
use crate::compress::Compressor;
use crate::layout::Kind;
use crate::options::CodecOptions;
use crate::portions::Portions;
use crate::scratch::{at_least, clear_for, scratch_of};

/// One slot: where it starts in its row, its length, and the value's length (at most the slot's).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    pub at: u32,
    pub slot: u32,
    pub size: u32,
}

/// The values of one field.
pub(crate) trait Values {
    /// Calls `each` with `i` and the value for every row `i` that has a slot, in order.
    fn for_each(&self, each: impl FnMut(usize, &[u8]));
}

/// Encodes var data; owns its scratch memory.
#[derive(Default)]
pub(crate) struct VarEncoder {
    words: [Vec<u64>; MAX_WORDS],
    bytes: Vec<u8>,
    compressor: Compressor,
}

scratch_of!(VarEncoder: words, bytes, compressor);

#[inline(always)]
fn load(word: &[u8]) -> u64 {
    word.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}

/// The 8 bytes at `at`, with zeros from the value's end on.
#[inline(always)]
fn padded_word(value: &[u8], at: usize) -> u64 {
    let rest = value.get(at..).unwrap_or(&[]);
    if let Some(whole) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*whole);
    }
    // Loads of constant length that overlap: a copy of so few bytes would be a call.
    let n = rest.len();
    if let (Some(low), Some(high)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << (8 * (n - 4))
    } else if n > 0 {
        u64::from(rest[0]) | u64::from(rest[n / 2]) << (8 * (n / 2)) | u64::from(rest[n - 1]) << (8 * (n - 1))
    } else {
        0
    }
}

impl VarEncoder {
    /// Appends the var data of one field; `slots[i]` lies inside row `i` and is a multiple of 8 long.
    pub(crate) fn encode(
        &mut self,
        rows: &Portions,
        slots: &[Slot],
        options: &CodecOptions,
        columns: &mut ColumnEncoder,
        out: &mut Vec<u8>,
    ) {
        let longest = slots.iter().map(|s| s.slot).max().unwrap_or(0) as usize;
        if longest <= MAX_WORDS * 8 {
            return self.encode_words(rows, slots, columns, out);
        }
        let padded = slots.iter().enumerate().any(|(row, s)| !padding_is_zero(rows, row, s));
        let values = slots.iter().map(|s| (s.at, if padded { s.slot } else { s.size }));
        self.encode_bytes(if padded { FULL } else { TRIM }, rows, values, options, out);
    }

    /// Appends the var data of one field whose values do not lie in rows: what [`Self::encode`] appends where each slot
    /// has zeros behind its value. The slots are those that `kind` gives the field's words.
    pub(crate) fn encode_values(
        &mut self,
        field: &[u64],
        kind: Kind,
        values: &impl Values,
        options: &CodecOptions,
        columns: &mut ColumnEncoder,
        out: &mut Vec<u8>,
    ) {
        // A slot is shorter than 2^31; largest of 32 bits are found several at a time.
        let longest = field.iter().fold(0, |longest, word| longest.max(kind.slot_bytes(*word) as u32)) as usize;
        if longest > MAX_WORDS * 8 {
            clear_for(&mut self.bytes, field.iter().map(|word| kind.slot_bytes(*word) as usize).sum());
            values.for_each(|_, value| self.bytes.extend_from_slice(value));
            return put_bytes(TRIM, &self.bytes, options, &mut self.compressor, out);
        }
        let mut filled = [0usize; MAX_WORDS];
        self.words[..longest / 8].iter_mut().for_each(|words| at_least(words, field.len()));
        // Arrays of slices, so that the loop below looks up no vector.
        let [first, second, third, fourth] = &mut self.words;
        let mut to = [&mut first[..], &mut second[..], &mut third[..], &mut fourth[..]];
        values.for_each(|i, value| {
            let slot = kind.slot_bytes(field[i]) as usize / 8;
            let mut put = |k: usize, word: u64| {
                to[k][filled[k]] = word;
                filled[k] += 1;
            };
            match value.last_chunk::<8>() {
                // Most values: their last bytes are in the slot's last word, and loaded with some before them.
                Some(last) if value.len() > 8 * (slot - 1) => {
                    for (k, word) in value.as_chunks::<8>().0.iter().take(slot - 1).enumerate() {
                        put(k, u64::from_le_bytes(*word));
                    }
                    put(slot - 1, u64::from_le_bytes(*last) >> (8 * (8 * slot - value.len())));
                }
                _ => (0..slot).for_each(|k| put(k, padded_word(value, k * 8))),
            }
        });
        self.put_words(filled, columns, out);
    }

    /// Appends the var data of the rows' tails: of row `i`, `sizes[i]` bytes from `ends[i]` on.
    pub(crate) fn encode_tails(
        &mut self,
        rows: &Portions,
        ends: &[u64],
        sizes: &[u64],
        options: &CodecOptions,
        out: &mut Vec<u8>,
    ) {
        let tails = ends.iter().zip(sizes).map(|(end, size)| (*end as u32, *size as u32));
        self.encode_bytes(FULL, rows, tails, options, out);
    }

    fn encode_words(&mut self, rows: &Portions, slots: &[Slot], columns: &mut ColumnEncoder, out: &mut Vec<u8>) {
        let mut filled = [0usize; MAX_WORDS];
        for words in &mut self.words {
            at_least(words, slots.len());
        }
        for (row, slot) in slots.iter().enumerate() {
            let bytes = rows.slice(row, slot.at, slot.slot);
            for ((word, column), n) in bytes.chunks_exact(8).zip(&mut self.words).zip(&mut filled) {
                column[*n] = load(word);
                *n += 1;
            }
        }
        self.put_words(filled, columns, out);
    }

    /// Appends the first so many words of each column.
    fn put_words(&self, filled: [usize; MAX_WORDS], columns: &mut ColumnEncoder, out: &mut Vec<u8>) {
        out.push(WORDS);
        for (words, n) in self.words.iter().zip(filled).filter(|(_, n)| *n > 0) {
            columns.encode(&words[..n], out);
        }
    }

    /// Appends bytes of the rows (of row `i`, the `i`th position and length) one after another.
    fn encode_bytes(
        &mut self,
        mode: u8,
        rows: &Portions,
        values: impl Iterator<Item = (u32, u32)>,
        options: &CodecOptions,
        out: &mut Vec<u8>,
    ) {
        // Values lie in the rows' variable-length portions and do not overlap, so they are never more bytes.
        clear_for(&mut self.bytes, rows.bytes.len());
        for (row, (at, len)) in values.enumerate() {
            self.bytes.extend_from_slice(rows.slice(row, at, len));
        }
        put_bytes(mode, &self.bytes, options, &mut self.compressor, out);
    }
}

fn padding_is_zero(rows: &Portions, row: usize, s: &Slot) -> bool {
    rows.slice(row, s.at + s.size, s.slot - s.size).iter().all(|b| *b == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_padded_with_zeros() {
        let bytes: Vec<u8> = (1..=20).collect();
        for (len, at) in (0..=20).flat_map(|len| [0, 8, 16, 24].map(|at| (len, at))) {
            let mut padded = bytes[..len].to_vec();
            padded.resize(40, 0);
            assert_eq!(padded_word(&bytes[..len], at), load(&padded[at..]), "{len} bytes at {at}");
        }
    }
}
