//! A commit in parts: partitions are written while the frames of later ones are still being made.
//!
//! ```text
//! begin ──▶ part(until 25) ──▶ part(until 50) ──▶ … ──▶ end       abort: the file is removed, all runs stay
//!      encode_until(25) ▲   encode_until(50) ▲
//! ```
//!
//! The last batch of a map task is encoded by ranges of partitions, each of which becomes a run; a range is written
//! when it has been encoded, by another thread. Partitions that are written are closed: a run that has bytes for one of
//! them is an error, and so is a part whose partitions are not encoded yet.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluice_mem::Arena;

use crate::checksum::ChecksumAlgorithm;
use crate::error::EngineError;
use crate::merge::{Committed, Merged, merge_range};
use crate::run::Run;
use crate::vectored::{create, remove_partial};

/// What a commit in parts has written, and the runs that it writes.
pub(crate) struct PartCommit {
    file: File,
    path: PathBuf,
    partitions: u32,
    algorithm: ChecksumAlgorithm,
    /// By place.
    runs: Vec<Run>,
    written: Committed,
}

impl PartCommit {
    /// Creates the file.
    pub(crate) fn begin(path: &Path, partitions: u32, algorithm: ChecksumAlgorithm) -> Result<Self, EngineError> {
        let written = Committed { lengths: Vec::with_capacity(partitions as usize), checksums: Vec::new(), total: 0 };
        Ok(Self { file: create(path)?, path: path.to_owned(), partitions, algorithm, runs: Vec::new(), written })
    }

    /// The first partition that is not written.
    pub(crate) fn next(&self) -> u32 {
        self.written.lengths.len() as u32
    }

    /// Takes over runs that have no bytes for partitions that are written.
    ///
    /// # Errors
    /// `Invalid`, and all runs are taken over nevertheless.
    pub(crate) fn add(&mut self, runs: Vec<Run>) -> Result<(), EngineError> {
        let next = self.next();
        let late = runs.iter().find_map(|run| run.ends().first().filter(|end| end.0 < next).map(|end| end.0));
        self.runs.extend(runs);
        self.runs.sort_by_key(|run| run.place);
        match late {
            Some(late) => Err(EngineError::invalid(format!("rows of partition {late} after it was written"))),
            None => Ok(()),
        }
    }

    /// Writes the partitions from the next one on to before `until`.
    pub(crate) fn write(&mut self, arena: &Arc<Arena>, until: u32) -> Result<(), EngineError> {
        let what = Merged { partitions: self.partitions, algorithm: self.algorithm, sealing: None };
        let range = self.next()..until;
        merge_range(arena, &self.runs, what, range, (&self.file, &self.path), &mut self.written)
    }

    /// What was written; frees the runs.
    pub(crate) fn finish(self) -> Committed {
        self.written
    }

    /// Removes the file and gives the runs back.
    pub(crate) fn abort(self) -> Vec<Run> {
        remove_partial(&self.path);
        self.runs
    }
}
