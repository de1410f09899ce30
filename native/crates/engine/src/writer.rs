//! The writer of one map task's output: encode, spill, commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use sluice_codec::{CodecOptions, Seal};
use sluice_mem::Arena;

use crate::accelerated::encode_accelerated;
use crate::accelerator::{Accelerator, Declined};
use crate::checksum::ChecksumAlgorithm;
use crate::encode::{Batch, EncodeSettings, Encoded, Portion, encode_run};
use crate::encode_needs::{BatchShape, EncodeNeeds};
use crate::error::{EngineError, ErrorKind};
use crate::merge::{Committed, Merged, merge};
use crate::parts::PartCommit;
use crate::phase::{Call, End, Phases};
use crate::row_checksums::RowChecksums;
use crate::run::{Place, Run, Storage};
use crate::sealing::Sealing;
use crate::sort::{FEWEST_SORT_ROWS, Page, SORT_ROWS};
use crate::spill::{SpillFile, write_spill};

/// Most partitions of a shuffle (Spark's own limit for its serialized shuffle).
const MAX_PARTITIONS: u32 = 1 << 24;

/// The writer of one map task's output.
///
/// Any thread may call anything. Encodes and spills may run at once; a commit must be alone, and ends the output. A
/// call in the wrong phase is refused with `WrongPhase` and changes nothing (see the `phase` module). Spill and commit
/// take the runs out while they write, so that no lock is held across I/O.
pub struct MapOutputWriter {
    arena: Arc<Arena>,
    partitions: u32,
    options: CodecOptions,
    sealing: Option<Sealing>,
    accelerator: OnceLock<Arc<dyn Accelerator>>,
    /// Calls that the accelerator has not answered.
    asking: AtomicUsize,
    /// Batches that the accelerator has encoded.
    accelerated: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    phases: Phases,
    /// By place; without those that a spill or commit is writing.
    runs: Vec<Run>,
    /// Of batches that are encoded in part, by sequence: how many rows are in runs.
    unfinished: BTreeMap<i64, usize>,
    /// The partitions of the batch that is encoded in part which are in runs, if it was encoded by ranges of them.
    encoded_until: u32,
    /// A commit in parts that has begun, while no call works on it.
    parts: Option<PartCommit>,
    frames_repeated: u64,
    /// Arena memory of the runs that a spill or commit is writing.
    moving_bytes: usize,
    row_checksums: Option<RowChecksums>,
    /// The file of the last run that came by `add_row`.
    row_file: Option<Arc<SpillFile>>,
}

impl State {
    /// Keeps a run, and counts its rows in the checksums if there are any.
    fn keep(&mut self, run: Run, count: impl FnOnce(&mut RowChecksums)) {
        let at = self.runs.partition_point(|r| r.place < run.place);
        self.runs.insert(at, run);
        if let Some(checksums) = &mut self.row_checksums {
            count(checksums);
        }
    }
}

/// A call that waits for the accelerator's answer; it also ends by a panic.
struct Asking<'w>(&'w AtomicUsize);

impl<'w> Asking<'w> {
    fn begin(calls: &'w AtomicUsize) -> Self {
        calls.fetch_add(1, Relaxed);
        Self(calls)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The frame of one row in a file that the caller has written.
#[derive(Debug, Clone, Copy)]
pub struct FrameInFile<'a> {
    /// Of the file.
    pub path: &'a Path,
    /// Where the frame starts in it.
    pub start: u64,
    /// Length of the frame.
    pub bytes: u64,
    /// XXH64 of the row with seed 0; used only where checksums of rows are kept.
    pub row_hash: u64,
    /// The frame's last bytes; none where frames are not sealed.
    pub seal: Option<Seal>,
}

impl MapOutputWriter {
    /// An empty output.
    ///
    /// # Errors
    /// `Invalid` when `partitions` is not in 1 to 16,777,216.
    pub fn new(arena: Arc<Arena>, partitions: u32, options: CodecOptions) -> Result<Self, EngineError> {
        if partitions == 0 || partitions > MAX_PARTITIONS {
            return Err(EngineError::invalid(format!("{partitions} partitions; 1 to {MAX_PARTITIONS} are possible")));
        }
        let state = State {
            phases: Phases::new(),
            runs: Vec::new(),
            unfinished: BTreeMap::new(),
            encoded_until: 0,
            parts: None,
            frames_repeated: 0,
            moving_bytes: 0,
            row_checksums: None,
            row_file: None,
        };
        let (sealing, accelerator, state) = (None, OnceLock::new(), Mutex::new(state));
        let (asking, accelerated) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Self { arena, partitions, options, sealing, accelerator, asking, accelerated, state })
    }

    /// Partitions of the output.
    pub fn partitions(&self) -> u32 {
        self.partitions
    }

    /// The same output, which also keeps Spark's checksum of its rows.
    #[must_use]
    pub fn with_row_checksums(self) -> Self {
        self.lock().row_checksums = Some(RowChecksums::new(self.partitions));
        self
    }

    /// The same output, whose frames are sealed.
    #[must_use]
    pub fn with_sealing(mut self, sealing: Sealing) -> Self {
        self.sealing = Some(sealing);
        self
    }

    /// Lets an accelerator encode the batches of [`Self::encode_accelerated`] from now on, where it does not decline,
    /// and tells it how long others take. The first one stays.
    pub fn accelerate(&self, accelerator: Arc<dyn Accelerator>) {
        // A second one would make the same bytes.
        let _ = self.accelerator.set(accelerator);
    }

    /// How many calls of [`Self::encode_accelerated`] wait for the accelerator. Those that it has declined, and whose
    /// threads encode, are not among them.
    pub fn waiting_for_accelerator(&self) -> usize {
        self.asking.load(Relaxed)
    }

    /// How many batches the accelerator has encoded.
    pub fn accelerated_batches(&self) -> usize {
        self.accelerated.load(Relaxed)
    }

    /// Spark's checksum of the rows encoded so far, in whatever order; 0 if none is kept.
    ///
    /// # Errors
    /// `Closed`, or `WrongPhase` after a call that panicked.
    pub fn row_checksum(&self) -> Result<u64, EngineError> {
        let state = self.lock();
        state.phases.check_alive()?;
        Ok(state.row_checksums.as_ref().map_or(0, RowChecksums::aggregate))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a call's, and `Operation` then fails the output: what a poisoned lock guards is
        // never used again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes pages to a run and keeps it. Returns the bytes of memory that the batch's runs hold.
    ///
    /// # Errors
    /// `NoMemory` when the arena refuses. The frames that are finished then stay as a run, which a spill may move; the
    /// call must be repeated with the same pages before the commit, and goes on with the rows that follow. `Invalid`
    /// when a page is malformed, `WrongPhase` during or after a commit.
    pub fn encode(&self, sequence: i64, fields: u32, pages: &[Page<'_>]) -> Result<usize, EngineError> {
        self.encode_until(sequence, fields, pages, self.partitions)
    }

    /// As [`Self::encode`]; the accelerator is asked first, if there is one. A device may hold up the calling thread,
    /// so this is not for a thread that must go on.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn encode_accelerated(&self, sequence: i64, fields: u32, pages: &[Page<'_>]) -> Result<usize, EngineError> {
        self.encode_batch(sequence, Batch { fields, pages }, self.partitions, true)
    }

    /// Encodes, as [`Self::encode`] does, the rows of the partitions before `until`. The others must be encoded by
    /// later calls with the same pages before the commit, or before the part of the commit that writes them.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn encode_until(
        &self,
        sequence: i64,
        fields: u32,
        pages: &[Page<'_>],
        until: u32,
    ) -> Result<usize, EngineError> {
        self.encode_batch(sequence, Batch { fields, pages }, until, false)
    }

    fn encode_batch(
        &self,
        sequence: i64,
        batch: Batch<'_, '_>,
        until: u32,
        offered: bool,
    ) -> Result<usize, EngineError> {
        let operation = self.begin(Call::Encode)?;
        let mut refused = self.encode_rest(sequence, batch, until, SORT_ROWS, offered)?;
        if refused.is_some() && batch.rows() > FEWEST_SORT_ROWS {
            // The sort may have held what the run needs.
            refused = self.encode_rest(sequence, batch, until, FEWEST_SORT_ROWS, false)?;
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        operation.done();
        Ok(self.batch_bytes(sequence))
    }

    /// Encodes the rows of a batch that are in no run yet, as far as there is memory. Returns why it ended early.
    fn encode_rest(
        &self,
        sequence: i64,
        batch: Batch<'_, '_>,
        until: u32,
        sort_rows: usize,
        offered: bool,
    ) -> Result<Option<EngineError>, EngineError> {
        let row = self.lock().unfinished.get(&sequence).copied().unwrap_or(0);
        let place = Place { sequence, row };
        // Else there is a way to make room: a smaller sort, or a spill of the runs in memory.
        let try_without_room = batch.rows().min(sort_rows) <= FEWEST_SORT_ROWS && self.memory_bytes() == 0;
        let portion = Portion { place, until, sort_rows, try_without_room };
        let encoded = match self.encode_portion(batch, portion, offered) {
            Err(refused) if refused.kind == ErrorKind::NoMemory => {
                // No run came of it, but the batch must be encoded before the commit.
                self.lock().unfinished.insert(sequence, row);
                return Ok(Some(refused));
            }
            answer => answer?,
        };
        let mut state = self.lock();
        state.phases.check_alive()?;
        state.frames_repeated += encoded.frames_repeated;
        let rows = row + encoded.rows;
        // Even where no later partition has rows: the call for these must not begin with the first row again.
        if encoded.refused.is_some() || until < self.partitions {
            state.unfinished.insert(sequence, rows);
        } else {
            state.unfinished.remove(&sequence);
        }
        if encoded.refused.is_none() {
            state.encoded_until = until;
        }
        if encoded.rows > 0 {
            state.keep(encoded.run, |checksums| checksums.add(&encoded.hashes));
        }
        Ok(encoded.refused)
    }

    /// Encodes rows of a batch: all of them by the accelerator if it is asked and does not decline, else with this
    /// thread's encoder, of which the accelerator is told.
    fn encode_portion(&self, batch: Batch<'_, '_>, portion: Portion, offered: bool) -> Result<Encoded, EngineError> {
        let settings = self.encode_settings();
        let Some(accelerator) = self.accelerator.get().filter(|_| portion.is_whole(&settings, batch)) else {
            return encode_run(&self.arena, settings, batch, portion);
        };
        let declined = match offered.then(|| self.ask(accelerator.as_ref(), settings, batch, portion.place)) {
            Some(Ok(encoded)) => {
                self.accelerated.fetch_add(1, Relaxed);
                return Ok(encoded);
            }
            Some(Err(declined)) => Some(declined),
            None => None,
        };
        let begun = Instant::now();
        let encoded = encode_run(&self.arena, settings, batch, portion)?;
        if encoded.refused.is_none() {
            accelerator.encoded_by_cpu(&settings.for_accelerator(batch), begun.elapsed(), declined);
        }
        Ok(encoded)
    }

    /// Has a whole batch encoded by the accelerator.
    fn ask(
        &self,
        accelerator: &dyn Accelerator,
        settings: EncodeSettings<'_>,
        batch: Batch<'_, '_>,
        place: Place,
    ) -> Result<Encoded, Declined> {
        let _asking = Asking::begin(&self.asking);
        encode_accelerated(accelerator, &self.arena, settings, batch, place)
    }

    /// Bytes of memory that the runs of one batch hold.
    fn batch_bytes(&self, sequence: i64) -> usize {
        let state = self.lock();
        state.runs.iter().filter(|run| run.place.sequence == sequence).map(Run::memory_bytes).sum()
    }

    /// Frames that were made and thrown away, because the arena had no room for them: made again later.
    pub fn frames_repeated(&self) -> u64 {
        self.lock().frames_repeated
    }

    /// Keeps a run that the caller has written: the frame of one row of `partition`, `bytes` long, at `start` of the
    /// file at `path`. It stays as it is until the output is committed or closed; the file may grow.
    ///
    /// # Errors
    /// `Invalid` when there is no such partition, the frame is empty or the file ends before its end, `Io` when the
    /// file cannot be opened, `WrongPhase` during or after a commit.
    pub fn add_row(&self, sequence: i64, partition: u32, frame: &FrameInFile<'_>) -> Result<(), EngineError> {
        let operation = self.begin(Call::Encode)?;
        if partition >= self.partitions {
            return Err(EngineError::invalid(format!("partition {partition} of {}", self.partitions)));
        }
        if self.sealing.is_some() != frame.seal.is_some() {
            return Err(EngineError::invalid("a row's frame is sealed where the output's are not, or the reverse"));
        }
        let file = self.row_file(frame.path)?;
        file.check_holds(frame.start, frame.bytes)?;
        let run = Run::in_file(sequence, partition, file, frame);
        let mut state = self.lock();
        state.phases.check_alive()?;
        state.keep(run, |checksums| checksums.add_row(partition, frame.row_hash));
        drop(state);
        operation.done();
        Ok(())
    }

    /// The file at `path`: as a rule the one that the last row was in, so that many rows need one descriptor.
    fn row_file(&self, path: &Path) -> Result<Arc<SpillFile>, EngineError> {
        if let Some(last) = self.lock().row_file.as_ref().filter(|last| last.path() == path) {
            return Ok(Arc::clone(last));
        }
        let file = Arc::new(SpillFile::open(path)?);
        self.lock().row_file = Some(Arc::clone(&file));
        Ok(file)
    }

    fn encode_settings(&self) -> EncodeSettings<'_> {
        let hash_rows = self.lock().row_checksums.is_some();
        let sealer = self.sealing.as_ref().map(|sealing| &sealing.sealer);
        EncodeSettings { partitions: self.partitions, options: self.options, hash_rows, sealer }
    }

    /// The most memory that [`Self::encode`] takes for such a batch while it runs.
    pub fn encode_needs(&self, batch: &BatchShape) -> EncodeNeeds {
        EncodeNeeds::of(batch, self.encode_settings())
    }

    /// Bytes of arena memory that the runs hold, those included that a spill or commit is writing.
    pub fn memory_bytes(&self) -> usize {
        let state = self.lock();
        state.runs.iter().map(Run::memory_bytes).sum::<usize>() + state.moving_bytes
    }

    /// Moves every run in memory to a new file at `path`; returns the bytes written (0, and no file, if none).
    ///
    /// # Errors
    /// `DiskFull`, `DirectoryFailed` or `Io`; the runs then stay in memory and the half-written file is removed.
    /// `WrongPhase` during or after a commit.
    pub fn spill(&self, path: &Path) -> Result<u64, EngineError> {
        let operation = self.begin(Call::Spill)?;
        let (mut taken, bytes) = self.take_runs(|r| matches!(r.storage, Storage::Memory(_)));
        if taken.is_empty() {
            operation.done();
            return Ok(0);
        }
        let written = write_spill(&mut taken, path);
        self.put_back(taken, bytes);
        if written.is_ok() {
            operation.done();
        }
        written
    }

    /// Writes all runs partition-major to a new file at `path`, and frees them. The output takes no more calls then.
    ///
    /// # Errors
    /// `DiskFull`, `DirectoryFailed` or `Io`, also when spilled frames are sealed and others than those that were
    /// written; the runs then stay, there is no file, and the call may be repeated.
    /// `WrongPhase` when an encode or a spill is under way on another thread, when an encode was refused in the middle
    /// and not repeated, or the output is committed already.
    pub fn commit(&self, path: &Path, algorithm: ChecksumAlgorithm) -> Result<Committed, EngineError> {
        let operation = self.begin(Call::Commit)?;
        if let Some((sequence, rows)) = self.lock().unfinished.first_key_value() {
            return Err(EngineError::new(
                ErrorKind::WrongPhase,
                format!("cannot commit: batch {sequence} was encoded up to row {rows} only, for want of memory"),
            ));
        }
        let (taken, bytes) = self.take_runs(|_| true);
        let what = Merged { partitions: self.partitions, algorithm, sealing: self.sealing.as_ref() };
        let committed = merge(&self.arena, &taken, what, path);
        if committed.is_ok() {
            drop(taken);
            self.lock().row_file = None;
            self.put_back(Vec::new(), bytes);
            operation.done();
        } else {
            self.put_back(taken, bytes);
        }
        committed
    }

    /// Begins to write the data file in parts, beside [`Self::encode_until`] of one last batch. [`Self::end_parts`] or
    /// [`Self::abort_parts`] must follow. One thread makes the calls for parts.
    ///
    /// # Errors
    /// As [`Self::commit`]; `Invalid` where frames are sealed, because seals are checked from a run's first frame on.
    pub fn begin_parts(&self, path: &Path, algorithm: ChecksumAlgorithm) -> Result<(), EngineError> {
        if self.sealing.is_some() {
            return Err(EngineError::invalid("sealed frames are not committed in parts"));
        }
        let operation = self.begin(Call::BeginParts)?;
        if !self.lock().unfinished.is_empty() {
            return Err(EngineError::new(ErrorKind::WrongPhase, "cannot commit in parts: a batch is encoded in part"));
        }
        let parts = PartCommit::begin(path, self.partitions, algorithm)?;
        let mut state = self.lock();
        state.encoded_until = 0;
        state.parts = Some(parts);
        drop(state);
        operation.done();
        Ok(())
    }

    /// Writes the partitions before `until` that are not written yet. All their rows must have been encoded.
    ///
    /// # Errors
    /// Those of [`Self::commit`]; after any, [`Self::abort_parts`] must follow.
    pub fn commit_part(&self, until: u32) -> Result<(), EngineError> {
        let operation = self.begin(Call::Part)?;
        let mut parts = self.take_parts(until)?;
        let (runs, _) = self.take_runs(|_| true);
        let written = parts.add(runs).and_then(|()| parts.write(&self.arena, until));
        let mut state = self.lock();
        if state.phases.check_alive().is_ok() {
            state.parts = Some(parts);
        }
        drop(state);
        if written.is_ok() {
            operation.done();
        }
        written
    }

    fn take_parts(&self, until: u32) -> Result<PartCommit, EngineError> {
        let mut state = self.lock();
        // Without an unfinished batch all partitions are encoded, once one was begun or there was none.
        let encoded = if state.unfinished.is_empty() { self.partitions } else { state.encoded_until };
        if until > encoded.min(self.partitions) {
            let message = format!("cannot commit partitions before {until}: those before {encoded} are encoded");
            return Err(EngineError::new(ErrorKind::WrongPhase, message));
        }
        state.parts.take().ok_or_else(|| EngineError::new(ErrorKind::WrongPhase, "another thread commits a part"))
    }

    /// Ends a commit in parts that has written every partition, and frees the runs. The output takes no more calls
    /// then.
    ///
    /// # Errors
    /// `WrongPhase` when partitions are not written, or an encode is under way: as if it were aborted.
    pub fn end_parts(&self) -> Result<Committed, EngineError> {
        let operation = self.begin(Call::EndParts)?;
        let mut state = self.lock();
        let complete = state.unfinished.is_empty() && state.runs.is_empty();
        let parts = state.parts.take();
        drop(state);
        match parts {
            Some(parts) if complete && parts.next() == self.partitions => {
                let committed = parts.finish();
                let mut state = self.lock();
                state.moving_bytes = 0;
                state.row_file = None;
                drop(state);
                operation.done();
                Ok(committed)
            }
            parts => {
                self.put_all_back(parts);
                Err(EngineError::new(ErrorKind::WrongPhase, "cannot end a commit in parts that is not complete"))
            }
        }
    }

    /// Ends a commit in parts that cannot go on: the file is removed, and all runs stay, so that the output can be
    /// committed again. Encodes may be under way.
    ///
    /// # Errors
    /// `WrongPhase` when none has begun.
    pub fn abort_parts(&self) -> Result<(), EngineError> {
        self.lock().phases.abort_parts()?;
        let parts = self.lock().parts.take();
        self.put_all_back(parts);
        Ok(())
    }

    fn put_all_back(&self, parts: Option<PartCommit>) {
        let bytes = self.lock().moving_bytes;
        self.put_back(parts.map(PartCommit::abort).unwrap_or_default(), bytes);
    }

    /// Frees everything. Calls that are under way finish or fail with `Closed`.
    pub fn close(&self) {
        let mut state = self.lock();
        state.phases.close();
        state.runs.clear();
        state.parts = None;
        state.row_file = None;
    }

    fn begin(&self, call: Call) -> Result<Operation<'_>, EngineError> {
        self.lock().phases.begin(call)?;
        Ok(Operation { writer: self, call, how: End::Refused })
    }

    /// Takes runs out to be written, and the bytes of memory that they hold.
    fn take_runs(&self, which: impl Fn(&Run) -> bool) -> (Vec<Run>, usize) {
        let mut state = self.lock();
        let (taken, kept): (Vec<Run>, Vec<Run>) = std::mem::take(&mut state.runs).into_iter().partition(which);
        state.runs = kept;
        let bytes = taken.iter().map(Run::memory_bytes).sum();
        state.moving_bytes += bytes;
        (taken, bytes)
    }

    fn put_back(&self, taken: Vec<Run>, bytes: usize) {
        let mut state = self.lock();
        state.moving_bytes -= bytes;
        if state.phases.check_alive().is_ok() {
            state.runs.extend(taken);
            state.runs.sort_by_key(|r| r.place);
        }
    }
}

/// A call under way. Dropped without [`Self::done`] it was refused, or it panicked: then the output fails.
struct Operation<'a> {
    writer: &'a MapOutputWriter,
    call: Call,
    how: End,
}

impl Operation<'_> {
    fn done(mut self) {
        self.how = End::Done;
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let mut state = self.writer.lock();
        let panicked = std::thread::panicking();
        state.phases.end(self.call, if panicked { End::Panicked } else { self.how });
        if panicked {
            // The runs that the call had taken out are lost, so the others are of no use.
            state.runs.clear();
            state.parts = None;
            state.moving_bytes = 0;
        }
    }
}
