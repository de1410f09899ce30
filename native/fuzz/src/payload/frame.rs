//! Whole frames: a generated payload behind its header, and changes of what the header says.

use sluice_codec::HEADER_BYTES;

use super::{generate, repair_checksums};
use crate::Choices;

/// A frame. Half of them have checksums and lengths that are right; of the others bytes were changed, and in some of
/// these the checksums are right all the same.
pub fn generate_frame(c: &mut Choices<'_>) -> Vec<u8> {
    // Chosen first: a large payload takes all choices that there are.
    let (change, at, value) = (c.below(6), c.word() as usize, c.byte());
    let case = generate(c);
    let mut frame = [&case.header.to_bytes()[..], &case.payload].concat();
    repair_checksums(&mut frame);
    match change {
        0..3 => {}
        // Another header, with its own checksum: the ranges of its numbers decide.
        3 => {
            frame[at % (HEADER_BYTES - 4)] = value;
            repair_header_checksum(&mut frame);
        }
        // A length of the payload that is not right, and nothing else.
        4 => {
            let bytes = (case.payload.len() as u32).wrapping_add(if value % 2 == 0 { 1 } else { u32::MAX });
            frame[20..24].copy_from_slice(&bytes.to_le_bytes());
            repair_header_checksum(&mut frame);
        }
        // Bytes changed on the way: the checksums decide.
        _ if value % 4 == 0 => frame.truncate(at % frame.len()),
        _ => {
            let at = at % frame.len();
            frame[at] ^= 1 << (value % 8);
        }
    }
    frame
}

fn repair_header_checksum(frame: &mut [u8]) {
    let crc = crc32c::crc32c(&frame[..HEADER_BYTES - 4]);
    frame[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
}
