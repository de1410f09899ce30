//! Writing runs to files: one partition-major data file at commit, whole runs at spill.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::Path;

use crate::checksum::{Checksum, ChecksumAlgorithm};
use crate::error::EngineError;
use crate::run::Run;
use crate::spill::SpillFile;

/// Most pieces of one vectored write (Linux takes 1024).
const MAX_PIECES: usize = 1024;
/// Buffer for bytes that come back from spill files.
const READ_BYTES: usize = 1 << 20;

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

pub(crate) fn create(path: &Path) -> Result<File, EngineError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(|e| EngineError::writing("creating", path, &e))
}

/// Collects pieces and writes many with one call.
pub(crate) struct VectoredWriter<'a> {
    file: &'a File,
    path: &'a Path,
    pieces: Vec<IoSlice<'a>>,
}

impl<'a> VectoredWriter<'a> {
    pub(crate) fn new(file: &'a File, path: &'a Path) -> Self {
        Self { file, path, pieces: Vec::with_capacity(MAX_PIECES) }
    }

    pub(crate) fn push(&mut self, piece: &'a [u8]) -> Result<(), EngineError> {
        self.pieces.push(IoSlice::new(piece));
        if self.pieces.len() == MAX_PIECES { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self) -> Result<(), EngineError> {
        let written = write_all(self.file, &mut self.pieces);
        self.pieces.clear();
        written.map_err(|e| EngineError::writing("writing", self.path, &e))
    }
}

fn write_all(mut file: &File, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !pieces.is_empty() {
        match file.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut pieces, n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Writes `runs` (ordered by sequence) partition-major to a new file at `path`.
pub(crate) fn commit(
    runs: &[Run],
    partitions: u32,
    algorithm: ChecksumAlgorithm,
    path: &Path,
) -> Result<Committed, EngineError> {
    let file = create(path)?;
    let mut out = VectoredWriter::new(&file, path);
    let mut next: Vec<usize> = vec![0; runs.len()];
    let mut done = Committed { lengths: Vec::with_capacity(partitions as usize), checksums: Vec::new(), total: 0 };
    for partition in 0..partitions {
        let mut checksum = Checksum::new(algorithm);
        let mut bytes = 0;
        for (run, next) in runs.iter().zip(&mut next) {
            let Some(&(_, end)) = run.ends.get(*next).filter(|e| e.0 == partition) else {
                continue;
            };
            let start = if *next == 0 { 0 } else { run.ends[*next - 1].1 };
            *next += 1;
            bytes += end - start;
            put_segment(run, start, end, &file, &mut out, &mut checksum)?;
        }
        done.lengths.push(bytes as i64);
        done.total += bytes;
        if algorithm != ChecksumAlgorithm::None {
            done.checksums.push(checksum.value());
        }
    }
    out.flush()?;
    Ok(done)
}

fn put_segment<'a>(
    run: &'a Run,
    start: u64,
    end: u64,
    mut file: &File,
    out: &mut VectoredWriter<'a>,
    checksum: &mut Checksum,
) -> Result<(), EngineError> {
    let checksum = std::cell::RefCell::new(checksum);
    let out = std::cell::RefCell::new(out);
    run.read(
        start,
        end,
        |piece| {
            checksum.borrow_mut().update(piece);
            out.borrow_mut().push(piece)
        },
        |spill: &SpillFile, from, to| {
            // What is collected goes first, then the spilled bytes straight after it.
            out.borrow_mut().flush()?;
            let mut buffer = vec![0; READ_BYTES.min((to - from) as usize)];
            let mut at = from;
            while at < to {
                let n = buffer.len().min((to - at) as usize);
                spill.read_at(at, &mut buffer[..n])?;
                checksum.borrow_mut().update(&buffer[..n]);
                let path = out.borrow().path;
                file.write_all(&buffer[..n]).map_err(|e| EngineError::writing("writing", path, &e))?;
                at += n as u64;
            }
            Ok(())
        },
    )
}
