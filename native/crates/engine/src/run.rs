//! A run: the frames of one batch of pages, partition-major, in leased chunks or in a spill file.

use std::sync::Arc;

use sluice_mem::{Arena, Lease};

use crate::error::EngineError;
use crate::spill::SpillFile;

const MIN_CHUNK: usize = 16 << 10;
const MAX_CHUNK: usize = 256 << 10;

/// Bytes in leased chunks of one size; the last is partly filled.
pub(crate) struct Chunks {
    leases: Vec<Lease>,
    chunk_bytes: usize,
    len: usize,
}

impl Chunks {
    /// Empty; the chunk size suits about `expected` bytes.
    pub(crate) fn new(expected: usize) -> Self {
        let chunk_bytes = (expected / 8).next_power_of_two().clamp(MIN_CHUNK, MAX_CHUNK);
        Self { leases: Vec::new(), chunk_bytes, len: 0 }
    }

    pub(crate) fn append(&mut self, arena: &Arc<Arena>, mut bytes: &[u8]) -> Result<(), EngineError> {
        while !bytes.is_empty() {
            let at = self.len % self.chunk_bytes;
            if at == 0 && self.len == self.leases.len() * self.chunk_bytes {
                self.leases.push(arena.lease(self.chunk_bytes)?);
            }
            let n = bytes.len().min(self.chunk_bytes - at);
            if let Some(last) = self.leases.last_mut() {
                last.as_mut_slice()[at..at + n].copy_from_slice(&bytes[..n]);
            }
            self.len += n;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// The pieces of `start..end`, in order.
    pub(crate) fn pieces(&self, start: usize, end: usize) -> impl Iterator<Item = &[u8]> + '_ {
        let mut at = start;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (chunk, from) = (at / self.chunk_bytes, at % self.chunk_bytes);
            let to = self.chunk_bytes.min(from + end - at);
            at += to - from;
            Some(&self.leases[chunk].as_slice()[from..to])
        })
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

/// The encoded output of one batch.
pub(crate) struct Run {
    /// Place in the task's order of records.
    pub sequence: i64,
    /// Partition and end offset of each partition that has bytes, ascending.
    pub ends: Vec<(u32, u64)>,
    pub storage: Storage,
}

impl Run {
    pub(crate) fn len(&self) -> u64 {
        self.ends.last().map_or(0, |e| e.1)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match &self.storage {
            Storage::Memory(chunks) => chunks.memory_bytes(),
            Storage::Spilled { .. } => 0,
        }
    }

    /// Hands the bytes of `start..end` to `sink`, piece by piece; `buffer` is scratch for spilled bytes.
    pub(crate) fn read<'a>(
        &'a self,
        start: u64,
        end: u64,
        mut memory: impl FnMut(&'a [u8]) -> Result<(), EngineError>,
        mut spilled: impl FnMut(&SpillFile, u64, u64) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match &self.storage {
            Storage::Memory(chunks) => {
                for piece in chunks.pieces(start as usize, end as usize) {
                    memory(piece)?;
                }
                Ok(())
            }
            Storage::Spilled { file, start: base } => spilled(file, base + start, base + end),
        }
    }
}
