//! Merging runs to one partition-major file: what a commit writes.
//!
//! ```text
//! run in memory   ──────────────────────▶ pieces ──(1,024 a call)──▶ writev
//! spilled run ──pread──▶ its read buffer ──▶ pieces
//! ```
//!
//! Each run is read once from its start to its end, because it is partition-major itself. So a spilled run needs one
//! buffer, which is refilled when all of it has been written; the segments of partitions, which may be a few bytes
//! each, cost no system call of their own. Behind a partition's sealed frames comes an end mark. All read buffers
//! together have at most [`BUFFER_BYTES`], or [`MIN_BUFFER_BYTES`] a run.

use std::fs::File;
use std::io::IoSlice;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sluice_codec::SealsDigest;
use sluice_mem::{Arena, Lease};

use crate::checksum::{Checksum, ChecksumAlgorithm};
use crate::error::EngineError;
use crate::heap::HeapShare;
use crate::run::{Chunks, Run, Storage};
use crate::sealing::{PassingSeals, Sealing, changed};
use crate::spill::SpillFile;
use crate::vectored::{MAX_PIECES, create, remove_partial, write_pieces};

/// Of the read buffers of all spilled runs of a merge together, if the arena has it.
const BUFFER_BYTES: usize = 16 << 20;
/// What they have when the arena has nothing, from the heap: a commit frees memory, so it must not fail for want of it.
const FEWEST_BYTES: usize = 1 << 20;
/// Of one read buffer.
const MIN_BUFFER_BYTES: usize = 512;

/// What a commit wrote.
#[derive(Debug, PartialEq, Eq)]
pub struct Committed {
    /// Bytes of each partition.
    pub lengths: Vec<i64>,
    /// Spark's checksum of each partition; empty with [`ChecksumAlgorithm::None`].
    pub checksums: Vec<i64>,
    /// Bytes of the file.
    pub total: u64,
}

/// What a merge makes of runs.
#[derive(Clone, Copy)]
pub(crate) struct Merged<'s> {
    pub(crate) partitions: u32,
    /// Of the partitions' checksums.
    pub(crate) algorithm: ChecksumAlgorithm,
    /// Of the runs' frames; the merge adds end marks.
    pub(crate) sealing: Option<&'s Sealing>,
}

/// Writes `runs` (ordered by sequence) partition-major to a new file at `path`. Where that fails, the file is removed.
pub(crate) fn merge(arena: &Arc<Arena>, runs: &[Run], what: Merged<'_>, path: &Path) -> Result<Committed, EngineError> {
    let file = create(path)?;
    let mut buffers = ReadBuffers::for_runs(arena, runs);
    let sources = sources(runs, &mut buffers);
    let merge = Merge { file: &file, path, sources, pieces: Vec::with_capacity(MAX_PIECES), marks: Vec::new() };
    let mut written =
        Committed { lengths: Vec::with_capacity(what.partitions as usize), checksums: Vec::new(), total: 0 };
    let committed = write_partitions(merge, what, 0..what.partitions, &mut written).map(|()| written);
    if committed.is_err() {
        remove_partial(path);
    }
    committed
}

/// Writes a range of partitions of `runs` (ordered by sequence) behind those that are in the file already, and adds to
/// `done` what it has written.
pub(crate) fn merge_range(
    arena: &Arc<Arena>,
    runs: &[Run],
    what: Merged<'_>,
    range: Range<u32>,
    (file, path): (&File, &Path),
    done: &mut Committed,
) -> Result<(), EngineError> {
    let mut buffers = ReadBuffers::for_runs(arena, runs);
    let mut sources = sources(runs, &mut buffers);
    for source in &mut sources {
        source.next = source.ends.partition_point(|end| end.0 < range.start);
    }
    let merge = Merge { file, path, sources, pieces: Vec::with_capacity(MAX_PIECES), marks: Vec::new() };
    write_partitions(merge, what, range, done)
}

/// Writes the segments of each partition in turn.
fn write_partitions(
    mut merge: Merge<'_>,
    what: Merged<'_>,
    range: Range<u32>,
    done: &mut Committed,
) -> Result<(), EngineError> {
    for partition in range {
        let seals = what.sealing.map(|sealing| PassingSeals::of(sealing, partition));
        let mut passing = Passing { checksum: Checksum::new(what.algorithm), seals };
        let mut bytes = 0;
        for source in 0..merge.sources.len() {
            if let Some((start, end)) = merge.sources[source].segment(partition) {
                bytes += end - start;
                merge.put(source, start, end, &mut passing)?;
            }
        }
        if bytes > 0 {
            bytes += merge.put_end_mark(&mut passing)?;
        }
        done.lengths.push(bytes as i64);
        done.total += bytes;
        if what.algorithm != ChecksumAlgorithm::None {
            done.checksums.push(passing.checksum.value());
        }
    }
    merge.flush()?;
    merge.sources.iter().try_for_each(Source::check_seals)
}

/// What is made of a partition's bytes as they pass by.
struct Passing {
    checksum: Checksum,
    /// None when frames are not sealed.
    seals: Option<PassingSeals>,
}

/// The file being written, and what is yet to be written to it.
struct Merge<'a> {
    file: &'a File,
    path: &'a Path,
    sources: Vec<Source<'a>>,
    pieces: Vec<Piece>,
    /// The end marks among the pieces.
    marks: Vec<u8>,
}

/// Bytes that are contiguous in memory until the next flush: of a run, or an end mark.
struct Piece {
    /// None for an end mark.
    source: Option<usize>,
    start: u64,
    end: u64,
}

impl Merge<'_> {
    fn put(&mut self, source: usize, mut start: u64, end: u64, passing: &mut Passing) -> Result<(), EngineError> {
        while start < end {
            let Source { bytes: stored, seals, .. } = &mut self.sources[source];
            let Some(bytes) = stored.at(start, end) else {
                // Pieces refer to what is in the buffer.
                self.flush()?;
                self.sources[source].fill(start)?;
                continue;
            };
            passing.checksum.update(bytes);
            if let Some(passing) = &mut passing.seals {
                let Some(seals) = seals else {
                    return Err(EngineError::invalid(
                        "a run whose frames are not sealed, in an output of sealed frames",
                    ));
                };
                passing.update(bytes, &mut seals.passed)?;
            }
            let piece_end = start + bytes.len() as u64;
            self.add_piece(Piece { source: Some(source), start, end: piece_end })?;
            start = piece_end;
        }
        Ok(())
    }

    /// Writes the end mark of a partition with sealed frames; returns its length.
    fn put_end_mark(&mut self, passing: &mut Passing) -> Result<u64, EngineError> {
        let Some(seals) = passing.seals.take() else { return Ok(0) };
        let mark = seals.finish()?;
        passing.checksum.update(&mark);
        let start = self.marks.len() as u64;
        self.marks.extend_from_slice(&mark);
        self.add_piece(Piece { source: None, start, end: start + mark.len() as u64 })?;
        Ok(mark.len() as u64)
    }

    fn add_piece(&mut self, piece: Piece) -> Result<(), EngineError> {
        self.pieces.push(piece);
        if self.pieces.len() == MAX_PIECES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        let bytes = |piece: &Piece| match piece.source {
            Some(source) => self.sources[source].bytes.at(piece.start, piece.end),
            None => self.marks.get(piece.start as usize..piece.end as usize),
        };
        let slices: Option<Vec<IoSlice<'_>>> = self.pieces.iter().map(|piece| bytes(piece).map(IoSlice::new)).collect();
        let Some(mut slices) = slices else {
            return Err(EngineError::invalid(format!(
                "{}: a buffer was refilled before it was written",
                self.path.display()
            )));
        };
        write_pieces(self.file, self.path, &mut slices)?;
        self.pieces.clear();
        self.marks.clear();
        Ok(())
    }
}

/// A run that is being merged.
struct Source<'a> {
    ends: &'a [(u32, u64)],
    /// Place in `ends` of the first partition that was not merged yet.
    next: usize,
    bytes: Bytes<'a>,
    /// None when the run's frames are not sealed.
    seals: Option<RunSeals>,
}

/// The seals of a run's frames.
struct RunSeals {
    /// Of the frames that have passed by.
    passed: SealsDigest,
    /// What `passed` must be in the end.
    expected: [u8; 32],
}

enum Bytes<'a> {
    Memory(&'a Chunks),
    Spilled { file: &'a SpillFile, base: u64, len: u64, buffer: &'a mut [u8], start: u64, filled: usize },
}

impl Source<'_> {
    /// Where the bytes of `partition` start and end in the run, if it has any. To be asked for each partition in turn.
    fn segment(&mut self, partition: u32) -> Option<(u64, u64)> {
        let (_, end) = *self.ends.get(self.next).filter(|e| e.0 == partition)?;
        let start = if self.next == 0 { 0 } else { self.ends[self.next - 1].1 };
        self.next += 1;
        Some((start, end))
    }

    /// Fails if the frames that were read are not those that were written.
    fn check_seals(&self) -> Result<(), EngineError> {
        match &self.seals {
            Some(seals) if seals.passed.clone().finish() != seals.expected => {
                Err(changed("its frames are not those of the run"))
            }
            _ => Ok(()),
        }
    }

    /// Reads the run's bytes from `at` on, as many as the buffer takes.
    fn fill(&mut self, at: u64) -> Result<(), EngineError> {
        if let Bytes::Spilled { file, base, len, buffer, start, filled } = &mut self.bytes {
            let count = (*len - at).min(buffer.len() as u64) as usize;
            (*start, *filled) = (at, 0);
            file.read_at(*base + at, &mut buffer[..count])?;
            *filled = count;
        }
        Ok(())
    }
}

impl Bytes<'_> {
    /// The bytes at `start`, at most up to `end`, as many as lie together; `None` if they must be read first.
    fn at(&self, start: u64, end: u64) -> Option<&[u8]> {
        match self {
            Bytes::Memory(chunks) => Some(chunks.piece_at(start as usize, end as usize)),
            Bytes::Spilled { buffer, start: first, filled, .. } => {
                let from = usize::try_from(start.checked_sub(*first)?).ok().filter(|from| from < filled)?;
                let to = (from as u64 + (end - start)).min(*filled as u64) as usize;
                Some(&buffer[from..to])
            }
        }
    }
}

fn sources<'a>(runs: &'a [Run], buffers: &'a mut ReadBuffers) -> Vec<Source<'a>> {
    let mut buffers = buffers.each();
    let source = |run: &'a Run| Source {
        ends: run.ends(),
        next: 0,
        seals: run.seals.map(|expected| RunSeals { passed: SealsDigest::default(), expected }),
        bytes: match &run.storage {
            Storage::Memory(chunks) => Bytes::Memory(chunks),
            Storage::Spilled { file, start } => {
                let buffer = buffers.next().unwrap_or_default();
                Bytes::Spilled { file, base: *start, len: run.len(), buffer, start: 0, filled: 0 }
            }
        },
    };
    runs.iter().map(source).collect()
}

/// Equal read buffers, one for each spilled run.
struct ReadBuffers {
    memory: BufferMemory,
    bytes_each: usize,
}

enum BufferMemory {
    Leased(Lease),
    Heap { bytes: Vec<u8>, _share: HeapShare },
}

impl ReadBuffers {
    fn for_runs(arena: &Arc<Arena>, runs: &[Run]) -> Self {
        let spilled = || runs.iter().filter(|run| matches!(run.storage, Storage::Spilled { .. })).map(Run::len);
        let (count, longest) = (spilled().count().max(1), spilled().max().unwrap_or(0) as usize);
        let mut total = BUFFER_BYTES.min(longest.saturating_mul(count));
        loop {
            let bytes_each = (total / count).max(MIN_BUFFER_BYTES);
            if total <= FEWEST_BYTES {
                let bytes = vec![0; bytes_each * count];
                let share = HeapShare::new(bytes.len());
                return Self { memory: BufferMemory::Heap { bytes, _share: share }, bytes_each };
            }
            if let Ok(lease) = arena.lease(bytes_each * count) {
                return Self { memory: BufferMemory::Leased(lease), bytes_each };
            }
            total = (total / 2).max(FEWEST_BYTES);
        }
    }

    fn each(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let bytes = match &mut self.memory {
            BufferMemory::Leased(lease) => lease.as_mut_slice(),
            BufferMemory::Heap { bytes, .. } => &mut bytes[..],
        };
        bytes.chunks_exact_mut(self.bytes_each)
    }
}
