//! A map task's output: encode, spill, commit.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluice_codec::{Encoder, Options};
use sluice_mem::Arena;

use crate::checksum::ChecksumAlgorithm;
use crate::commit::{Committed, VectoredWriter, commit, create};
use crate::error::{EngineError, ErrorKind};
use crate::row_checksums::{Hashes, RowChecksums};
use crate::run::{Chunks, Run, SpillFile, Storage};
use crate::sort::{Page, Sorter};

/// Most partitions of a shuffle (Spark's own limit for its serialized shuffle).
const MAX_PARTITIONS: u32 = 1 << 24;

thread_local! {
    static SCRATCH: RefCell<Option<(Encoder, Sorter)>> = const { RefCell::new(None) };
}

/// One map task's output. Any thread may call anything; several encodes may run at once, and spill and commit
/// take the runs out while they write, so that no lock is held across I/O.
pub struct MapOutput {
    arena: Arc<Arena>,
    partitions: u32,
    options: Options,
    runs: Mutex<Vec<Run>>,
    row_checksums: Option<Mutex<RowChecksums>>,
    closed: AtomicBool,
}

impl MapOutput {
    /// An empty output.
    ///
    /// # Errors
    /// `Invalid` when `partitions` is not in 1 to 16,777,216.
    pub fn new(arena: Arc<Arena>, partitions: u32, options: Options) -> Result<Self, EngineError> {
        if partitions == 0 || partitions > MAX_PARTITIONS {
            return Err(EngineError::invalid(format!("{partitions} partitions; 1 to {MAX_PARTITIONS} are possible")));
        }
        Ok(Self {
            arena,
            partitions,
            options,
            runs: Mutex::new(Vec::new()),
            row_checksums: None,
            closed: AtomicBool::new(false),
        })
    }

    /// The same output, which also keeps Spark's checksum of its rows.
    #[must_use]
    pub fn with_row_checksums(self) -> Self {
        Self { row_checksums: Some(Mutex::new(RowChecksums::new(self.partitions))), ..self }
    }

    /// Spark's checksum of the rows encoded so far, in whatever order; 0 if none is kept.
    pub fn row_checksum(&self) -> u64 {
        let checksums = self.row_checksums.as_ref();
        checksums.map_or(0, |c| c.lock().unwrap_or_else(PoisonError::into_inner).aggregate())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Run>> {
        // Only whole runs are pushed or taken under the lock, so a poisoned lock guards sound data.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes pages to a run and keeps it. Returns the bytes of memory the run holds.
    ///
    /// # Errors
    /// `NoMemory` when the arena refuses (nothing is kept), `Invalid` when a page is malformed.
    pub fn encode(&self, sequence: i64, fields: u32, pages: &[Page<'_>]) -> Result<usize, EngineError> {
        self.check_open()?;
        let (run, hashes) = SCRATCH.with_borrow_mut(|scratch| {
            let (encoder, sorter) = scratch.get_or_insert_with(|| (Encoder::new(self.options), Sorter::default()));
            encoder.set_options(self.options);
            self.make_run(sequence, fields, pages, encoder, sorter)
        })?;
        let bytes = run.memory_bytes();
        let mut runs = self.lock();
        self.check_open()?;
        let place = runs.partition_point(|r| r.sequence < sequence);
        runs.insert(place, run);
        if let Some(checksums) = &self.row_checksums {
            checksums.lock().unwrap_or_else(PoisonError::into_inner).add(&hashes);
        }
        Ok(bytes)
    }

    fn make_run(
        &self,
        sequence: i64,
        fields: u32,
        pages: &[Page<'_>],
        encoder: &mut Encoder,
        sorter: &mut Sorter,
    ) -> Result<(Run, Vec<(u32, Hashes)>), EngineError> {
        let raw: usize = pages.iter().map(|p| p.used).sum();
        let sorted = sorter.sort(pages, self.partitions)?;
        let mut chunks = Chunks::new(raw / 4);
        let mut ends = Vec::new();
        let mut hashes = Vec::new();
        let mut total = 0u64;
        for (partition, rows) in sorted.partitions() {
            // Before the encoder, which then finds the rows in the cache.
            if self.row_checksums.is_some() {
                hashes.push((partition, Hashes::of(rows)));
            }
            encoder.encode(rows, fields, |frame| {
                total += frame.len() as u64;
                chunks.append(&self.arena, frame)
            })?;
            ends.push((partition, total));
        }
        let rows = sorted.rows;
        sorter.reuse(rows);
        Ok((Run { sequence, ends, storage: Storage::Memory(chunks) }, hashes))
    }

    /// Bytes of arena memory that the runs hold.
    pub fn memory_bytes(&self) -> usize {
        self.lock().iter().map(Run::memory_bytes).sum()
    }

    /// Moves every run in memory to a new file at `path`; returns the bytes written (0, and no file, if none).
    ///
    /// # Errors
    /// `DiskFull` or `Io`; the runs then stay in memory and the half-written file is removed.
    pub fn spill(&self, path: &Path) -> Result<u64, EngineError> {
        self.check_open()?;
        let mut taken = self.take_runs(|r| matches!(r.storage, Storage::Memory(_)));
        if taken.is_empty() {
            return Ok(0);
        }
        let written = write_runs(&taken, path);
        let result = match written {
            Ok(file) => {
                let file = Arc::new(file);
                let mut start = 0;
                for run in &mut taken {
                    run.storage = Storage::Spilled { file: Arc::clone(&file), start };
                    start += run.len();
                }
                Ok(start)
            }
            Err(e) => {
                // Best effort: the error that matters is the one being returned.
                let _ = std::fs::remove_file(path);
                Err(e)
            }
        };
        self.put_back(taken);
        result
    }

    /// Writes all runs partition-major to a new file at `path`, and frees them.
    ///
    /// # Errors
    /// `DiskFull` or `Io`; the runs then stay, and the call may be repeated.
    pub fn commit(&self, path: &Path, algorithm: ChecksumAlgorithm) -> Result<Committed, EngineError> {
        self.check_open()?;
        let taken = self.take_runs(|_| true);
        let done = commit(&taken, self.partitions, algorithm, path);
        if done.is_err() {
            self.put_back(taken);
        }
        done
    }

    /// Frees everything. Calls that are under way finish or fail with `Closed`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.lock().clear();
    }

    fn check_open(&self) -> Result<(), EngineError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(EngineError::new(ErrorKind::Closed, "the map output is closed"));
        }
        Ok(())
    }

    fn take_runs(&self, which: impl Fn(&Run) -> bool) -> Vec<Run> {
        let mut runs = self.lock();
        let (taken, kept) = std::mem::take(&mut *runs).into_iter().partition(which);
        *runs = kept;
        taken
    }

    fn put_back(&self, taken: Vec<Run>) {
        let mut runs = self.lock();
        if !self.closed.load(Ordering::Acquire) {
            runs.extend(taken);
            runs.sort_by_key(|r| r.sequence);
        }
    }
}

fn write_runs(runs: &[Run], path: &Path) -> Result<SpillFile, EngineError> {
    let file = create(path)?;
    let mut out = VectoredWriter::new(&file, path);
    for run in runs {
        if let Storage::Memory(chunks) = &run.storage {
            for piece in chunks.pieces(0, run.len() as usize) {
                out.push(piece)?;
            }
        }
    }
    out.flush()?;
    drop(out);
    Ok(SpillFile { file, path: path.to_owned() })
}
