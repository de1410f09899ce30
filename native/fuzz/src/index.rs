//! Spark's index file of a map output: big-endian offsets of 64 bits, one more than partitions. Sluice reads it when it
//! keeps no copy of the offsets; it may be damaged, or another attempt's.

use std::fs;

use sluice_engine::MemoryFile;
use sluice_transport::fuzzing::block_extents;

use crate::Choices;
use crate::memory_file::path_of;

/// Publishes offsets that the choices give, with an index file that may be damaged, and asks for blocks. Panics unless
/// each answer is the one that the file's bytes and the published size permit.
pub fn run(data: &[u8]) {
    let mut c = Choices::new(data);
    let offsets = offsets(&mut c);
    let mut content: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_be_bytes()).collect();
    for _ in 0..c.below(4) {
        damage(&mut c, &mut content);
    }
    let blocks: Vec<(u32, u32)> = (0..1 + c.below(12)).map(|_| block(&mut c, offsets.len())).collect();
    let file = MemoryFile::create("index").expect("a memory file");
    fs::write(path_of(&file), &content).expect("written");
    for kept in [false, true] {
        let found = block_extents(&path_of(&file), offsets.clone(), kept, &blocks);
        let may_publish = !offsets.is_empty() && offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        assert_eq!(found.is_ok(), may_publish, "{offsets:?}: {found:?}");
        for (block, extent) in blocks.iter().zip(found.into_iter().flatten()) {
            let expected = if kept {
                expected(block, &offsets, |at| offsets.get(at).copied())
            } else {
                expected(block, &offsets, |at| number_at(&content, at))
            };
            assert_eq!(extent, expected, "{block:?}, offsets kept: {kept}, {offsets:?}, index file {content:?}");
        }
    }
}

/// What a block's extent has to be when `offset` gives the offset of a partition.
fn expected(block: &(u32, u32), published: &[u64], offset: impl Fn(usize) -> Option<u64>) -> Option<(u64, u64)> {
    let (first, end) = (block.0 as usize, block.1 as usize);
    if first > end || end >= published.len() {
        return None;
    }
    let (from, to) = (offset(first)?, offset(end)?);
    let size = *published.last()?;
    (from <= to && to <= size).then_some((from, to))
}

fn number_at(content: &[u8], at: usize) -> Option<u64> {
    content.chunks_exact(8).nth(at).map(|bytes| u64::from_be_bytes(bytes.try_into().expect("8 bytes")))
}

/// Offsets as a commit gives them: ascending, some partitions empty, few of them large. One in eight lists is wrong.
fn offsets(c: &mut Choices<'_>) -> Vec<u64> {
    let (count, wrong) = (c.below(24), c.one_in(8));
    let mut offset = 0u64;
    let mut offsets = vec![0];
    for _ in 0..count {
        offset = offset.saturating_add(match c.below(4) {
            0 => 0,
            1 | 2 => c.below(5_000) as u64,
            _ => c.word() >> c.below(64),
        });
        offsets.push(offset);
    }
    if wrong {
        let at = c.below(offsets.len());
        offsets[at] = c.word();
        offsets.truncate(c.below(offsets.len() + 1));
    }
    offsets
}

/// What can happen to a file: cut, continued, bytes changed, offsets exchanged.
fn damage(c: &mut Choices<'_>, content: &mut Vec<u8>) {
    match c.below(4) {
        0 => content.truncate(c.below(content.len() + 1)),
        1 => content.extend((0..c.below(20)).map(|_| c.byte())),
        _ if content.is_empty() => {}
        2 => {
            let at = c.below(content.len());
            content[at] ^= 1 << c.below(8);
        }
        _ => {
            let offsets = content.len() / 8;
            let (one, other) = (c.below(offsets.max(1)), c.below(offsets.max(1)));
            for byte in 0..8 * offsets.min(1) {
                content.swap(8 * one + byte, 8 * other + byte);
            }
        }
    }
}

/// A block as a reader asks for it: one partition or a range; some beyond the last, some that end before they begin.
fn block(c: &mut Choices<'_>, offsets: usize) -> (u32, u32) {
    let first = c.below(offsets + 1) as u32;
    match c.below(8) {
        0..4 => (first, first + 1),
        4 => (first, first),
        5 => (first, c.below(offsets + 1) as u32),
        6 => (0, offsets.saturating_sub(1) as u32),
        _ => (c.word() as u32, c.word() as u32),
    }
}
