//! A run: the frames of one batch of pages, partition-major, in leased chunks or in a spill file.

use std::sync::Arc;

use sluice_codec::SealsDigest;
use sluice_mem::{Arena, Lease};

use crate::error::EngineError;
use crate::heap::HeapShare;
use crate::spill::SpillFile;
use crate::writer::FrameInFile;

const MIN_CHUNK: usize = 16 << 10;
const MAX_CHUNK: usize = 256 << 10;

/// Bytes in leased chunks of one size; the last is partly filled.
pub(crate) struct Chunks {
    leases: Vec<Lease>,
    chunk_bytes: usize,
    len: usize,
}

impl Chunks {
    /// Empty; the chunk size suits the frames of about so many bytes of rows.
    pub(crate) fn new(row_bytes: usize) -> Self {
        Self { leases: Vec::new(), chunk_bytes: Self::chunk_bytes(row_bytes), len: 0 }
    }

    pub(crate) fn chunk_bytes(row_bytes: usize) -> usize {
        (row_bytes / 32).next_power_of_two().clamp(MIN_CHUNK, MAX_CHUNK)
    }

    /// Leases chunks until there is room for so many bytes more.
    ///
    /// # Errors
    /// `NoMemory` when the arena refuses; what it has leased before stays.
    pub(crate) fn reserve(&mut self, arena: &Arc<Arena>, bytes: usize) -> Result<(), EngineError> {
        while self.leases.len() * self.chunk_bytes - self.len < bytes {
            self.leases.push(arena.lease(self.chunk_bytes)?);
        }
        Ok(())
    }

    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// `NoMemory` when there is no room and the arena refuses; nothing was appended.
    pub(crate) fn append(&mut self, arena: &Arc<Arena>, mut bytes: &[u8]) -> Result<(), EngineError> {
        self.reserve(arena, bytes.len())?;
        while !bytes.is_empty() {
            let at = self.len % self.chunk_bytes;
            let n = bytes.len().min(self.chunk_bytes - at);
            self.leases[self.len / self.chunk_bytes].as_mut_slice()[at..at + n].copy_from_slice(&bytes[..n]);
            self.len += n;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Frees chunks without bytes.
    pub(crate) fn free_reserved(&mut self) {
        self.leases.truncate(self.len.div_ceil(self.chunk_bytes));
    }

    /// The bytes at `start`, at most up to `end`, as many as lie in one chunk.
    pub(crate) fn piece_at(&self, start: usize, end: usize) -> &[u8] {
        let (chunk, from) = (start / self.chunk_bytes, start % self.chunk_bytes);
        let to = self.chunk_bytes.min(from + end - start);
        &self.leases[chunk].as_slice()[from..to]
    }

    /// All bytes, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> + '_ {
        (0..self.len).step_by(self.chunk_bytes).map(|start| self.piece_at(start, self.len))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.leases.iter().map(Lease::len).sum()
    }
}

/// Where a run's bytes are.
pub(crate) enum Storage {
    Memory(Chunks),
    Spilled { file: Arc<SpillFile>, start: u64 },
}

/// The encoded output of one batch, or of some of its rows where an encode was refused in the middle.
pub(crate) struct Run {
    pub(crate) place: Place,
    pub(crate) storage: Storage,
    index: RunIndex,
    /// The digest of its frames' seals, if they are sealed.
    pub(crate) seals: Option<[u8; 32]>,
}

/// Partition and end offset of each partition that has bytes, ascending. It stays in memory when the run is spilled.
pub(crate) struct RunIndex {
    ends: Vec<(u32, u64)>,
    _share: HeapShare,
}

impl RunIndex {
    /// Bytes of memory for each partition that has bytes.
    pub(crate) const BYTES_EACH: usize = size_of::<(u32, u64)>();

    /// Empty, with room for so many partitions.
    pub(crate) fn for_partitions(count: usize) -> Self {
        Self { ends: Vec::with_capacity(count), _share: HeapShare::new(count * Self::BYTES_EACH) }
    }

    /// Notes that the bytes of `partition`, which is the last one or comes after it, end at `end`.
    pub(crate) fn extend(&mut self, partition: u32, end: u64) {
        match self.ends.last_mut() {
            Some(last) if last.0 == partition => last.1 = end,
            _ => self.ends.push((partition, end)),
        }
    }
}

/// Place in the task's order of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Of the batch.
    pub(crate) sequence: i64,
    /// How many of the batch's rows, sorted by partition, come before.
    pub(crate) row: usize,
}

impl Run {
    pub(crate) fn new(place: Place, index: RunIndex, chunks: Chunks, seals: Option<[u8; 32]>) -> Self {
        Self { place, storage: Storage::Memory(chunks), index, seals }
    }

    /// The frame of a row of `partition`, which others have written to `file`.
    pub(crate) fn in_file(sequence: i64, partition: u32, file: Arc<SpillFile>, frame: &FrameInFile<'_>) -> Self {
        let mut index = RunIndex::for_partitions(1);
        index.extend(partition, frame.bytes);
        let storage = Storage::Spilled { file, start: frame.start };
        Self { place: Place { sequence, row: 0 }, storage, index, seals: frame.seal.as_ref().map(SealsDigest::of) }
    }

    pub(crate) fn ends(&self) -> &[(u32, u64)] {
        &self.index.ends
    }

    pub(crate) fn len(&self) -> u64 {
        self.ends().last().map_or(0, |e| e.1)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match &self.storage {
            Storage::Memory(chunks) => chunks.memory_bytes(),
            Storage::Spilled { .. } => 0,
        }
    }
}
