//! Spill files: what a commit makes of files that were cut, continued or changed after they were written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_engine::{ChecksumAlgorithm, MapOutputWriter, Page};
use sluice_mem::Arena;
use sluice_testkit::{Value, unsafe_row};

use crate::Choices;
use crate::folder::Folder;

const OPTIONS: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const FIELDS: u32 = 2;

/// Rows of one batch with their partitions, and whether its run is spilled before the next batch comes.
struct Batch {
    rows: Vec<(u32, Vec<u8>)>,
    spilled: bool,
}

/// A spill file, and its bytes as they were written.
struct Spill {
    path: PathBuf,
    written: Vec<u8>,
}

/// Writes a map output with some spill files, changes these, and commits. Panics unless a file that is too short makes
/// the commit fail and leaves the output as it was, and a changed byte of a file is the only change of the data file.
pub fn run(data: &[u8]) {
    let mut c = Choices::new(data);
    let partitions = 1 + c.below(9) as u32;
    let batches: Vec<Batch> = (0..1 + c.below(4)).map(|_| batch(&mut c, partitions)).collect();
    let folder = Folder::new("spill");
    let clean = {
        let writer = writer(partitions);
        batches.iter().zip(0..).for_each(|(batch, sequence)| encode(&writer, sequence, batch));
        commit(&writer, &folder.path().join("clean")).expect("room on the disk")
    };
    let writer = writer(partitions);
    let spills = write_spills(&writer, &batches, folder.path());
    let Some(chosen) = (!spills.is_empty()).then(|| &spills[c.below(spills.len())]) else { return };
    let changed = change(&mut c, &chosen.written);
    fs::write(&chosen.path, &changed).expect("changed");
    let path = folder.path().join("data");
    let committed = commit(&writer, &path);
    if changed.len() < chosen.written.len() {
        assert!(committed.is_err(), "a spill file of {} bytes was cut to {}", chosen.written.len(), changed.len());
        assert!(!path.exists(), "a failed commit leaves no file");
        fs::write(&chosen.path, &chosen.written).expect("repaired");
        let again = commit(&writer, &path).expect("the runs have stayed");
        assert!(again == clean, "the output after a failed commit is another");
        return;
    }
    let committed = committed.expect("all bytes are there");
    let count = |one: &[u8], other: &[u8]| one.iter().zip(other).filter(|(one, other)| one != other).count();
    assert_eq!(committed.len(), clean.len());
    assert_eq!(count(&committed, &clean), count(&changed, &chosen.written), "bytes of the output that differ");
}

fn arena() -> Arc<Arena> {
    static ARENA: OnceLock<Arc<Arena>> = OnceLock::new();
    Arc::clone(ARENA.get_or_init(|| Arena::host(256 << 20)))
}

fn writer(partitions: u32) -> MapOutputWriter {
    MapOutputWriter::new(arena(), partitions, OPTIONS).expect("a good number of partitions")
}

/// One batch: from no row to a few hundred, so that a run has from one to many segments.
fn batch(c: &mut Choices<'_>, partitions: u32) -> Batch {
    let most = c.pick(&[0, 1, 20, 300]);
    let row = |c: &mut Choices<'_>, i: usize| {
        let bytes = (0..c.below(30)).map(|_| c.byte()).collect();
        unsafe_row(&[Value::Word(i as u64), Value::Bytes(bytes)])
    };
    let rows = (0..most).map(|i| (c.below(partitions as usize) as u32, row(c, i))).collect();
    Batch { rows, spilled: !c.one_in(3) }
}

/// Encodes a batch's rows as a page in the JVM's layout: rows, then from the end (offset, partition) of each.
fn encode(writer: &MapOutputWriter, sequence: i64, batch: &Batch) {
    let mut memory: Vec<u8> = batch.rows.iter().flat_map(|(_, row)| row.clone()).collect();
    let used = memory.len();
    let mut offset = used;
    for (partition, row) in batch.rows.iter().rev() {
        offset -= row.len();
        memory.extend((offset as u32).to_le_bytes());
        memory.extend(partition.to_le_bytes());
    }
    let page = Page { memory: &memory, used, entries: batch.rows.len() };
    writer.encode(sequence, FIELDS, &[page]).expect("a good page, and memory");
}

/// Encodes all batches and spills where they say so.
fn write_spills(writer: &MapOutputWriter, batches: &[Batch], folder: &Path) -> Vec<Spill> {
    let mut spills = Vec::new();
    for (sequence, batch) in batches.iter().enumerate() {
        encode(writer, sequence as i64, batch);
        let path = folder.join(format!("spill-{sequence}"));
        if batch.spilled && writer.spill(&path).expect("room on the disk") > 0 {
            let written = fs::read(&path).expect("a spill file");
            spills.push(Spill { path, written });
        }
    }
    spills
}

/// The bytes with some changed, cut off, or added behind their end.
fn change(c: &mut Choices<'_>, written: &[u8]) -> Vec<u8> {
    let mut changed = written.to_vec();
    match c.below(4) {
        0 => {}
        1 => changed.truncate(c.below(written.len())),
        2 => changed.extend((0..c.below(50)).map(|_| c.byte())),
        _ => {
            for _ in 0..=c.below(4) {
                let at = c.below(changed.len());
                changed[at] ^= 1 << c.below(8);
            }
        }
    }
    changed
}

/// Commits to a new file. Panics unless the lengths are those of the file, and the checksums of its bytes.
fn commit(writer: &MapOutputWriter, path: &Path) -> Result<Vec<u8>, String> {
    let committed = writer.commit(path, ChecksumAlgorithm::Crc32c).map_err(|e| e.message)?;
    let bytes = fs::read(path).expect("a data file");
    let mut rest = &bytes[..];
    for (length, checksum) in committed.lengths.iter().zip(&committed.checksums) {
        let (part, after) = rest.split_at(*length as usize);
        assert_eq!(i64::from(crc32c::crc32c(part)), *checksum, "a partition's checksum");
        rest = after;
    }
    assert!(rest.is_empty(), "bytes of no partition");
    Ok(bytes)
}
